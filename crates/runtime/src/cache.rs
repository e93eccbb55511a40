//! The two caches: the exact one, from a batch to its finished plan, and the parametric one, from a kernel's
//! structure to its executable.

use crate::batch::Batch;
use crate::engine::{Engine, Executable, Executables};
use crate::exec::ReadyPlan;
use numelt_ir::{Instr, Result, Scalar, warn};
use numelt_opt::{Kernel, OneKernel, OneKey, Outline, Step};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// All cached plans together hold at most this many instructions; beyond that, the half used longest ago is dropped.
/// An instruction takes half a kilobyte.
const PLAN_BUDGET: usize = 1 << 16;
/// The most executables that are kept.
const KERNEL_BUDGET: usize = 20_000;

/// The executables of a plan's steps, and how many of them had to be prepared.
type Prepared = (Vec<Executables>, u64);

#[derive(Default)]
pub(crate) struct Caches {
    plans: FxHashMap<u64, Vec<Arc<ReadyPlan>>>,
    held: usize,
    clock: u64,
    kernels: FxHashMap<Arc<Kernel>, Arc<dyn Executable>>,
    ones: FxHashMap<OneKey, Arc<One>>,
}

/// The kernel of one instruction, which can be launched with any extents.
pub(crate) struct One {
    pub kernel: OneKernel,
    pub executable: Arc<dyn Executable>,
    /// The conditions that it reports.
    pub watch: u8,
}

impl Caches {
    /// The finished plan of a batch that has been seen before.
    pub fn find(&mut self, key: u64, batch: &mut Batch) -> Option<Arc<ReadyPlan>> {
        let (passing, home) = (batch.passing().clone(), batch.home);
        let program = batch.program();
        let plan = self.plans.get(&key)?.iter().find(|plan| plan.home == home && plan.matches(program, &passing))?;
        Some(Arc::clone(plan))
    }

    /// Forgets the plan of a batch if it put values off that were read after all. Returns whether there was one.
    pub fn forget_regretted(&mut self, key: u64, batch: &mut Batch) -> bool {
        let (passing, home) = (batch.passing().clone(), batch.home);
        let program = batch.program();
        let Some(list) = self.plans.get_mut(&key) else { return false };
        let before = list.len();
        list.retain(|plan| !(plan.is_regretted() && plan.home == home && plan.is_of(program, &passing)));
        self.held -= (before - list.len()) * program.instrs.len();
        list.len() < before
    }

    /// Marks a plan as used now.
    pub fn used(&mut self, plan: &ReadyPlan) {
        self.clock += 1;
        plan.used.store(self.clock, Ordering::Relaxed);
    }

    /// Keeps a plan, and drops the half used longest ago if there are too many.
    pub fn keep(&mut self, key: u64, plan: Arc<ReadyPlan>) {
        self.held += plan.recorded.len();
        self.plans.entry(key).or_default().push(plan);
        if self.held > PLAN_BUDGET {
            self.drop_oldest_half();
        }
    }

    fn drop_oldest_half(&mut self) {
        let used = |plan: &Arc<ReadyPlan>| plan.used.load(Ordering::Relaxed);
        let mut ages: Vec<u64> = self.plans.values().flatten().map(used).collect();
        ages.sort_unstable();
        let middle = ages[ages.len() / 2];
        self.plans.retain(|_, list| {
            list.retain(|plan| used(plan) > middle);
            !list.is_empty()
        });
        self.held = self.plans.values().flatten().map(|plan| plan.recorded.len()).sum();
    }

    /// Executables for a plan's steps, and how many had to be prepared.
    pub fn executables(&mut self, engine: &dyn Engine, steps: &mut [Step]) -> Result<Prepared> {
        let mut prepared = 0;
        let mut out = Vec::with_capacity(steps.len());
        for step in steps {
            let mut own = Executables::new();
            match step {
                Step::Kernel(step) => own.push(self.executable(engine, &mut step.kernel, &mut prepared)?),
                Step::Nest(nest) => {
                    for stage in &mut nest.stages {
                        own.push(self.executable(engine, &mut stage.step.kernel, &mut prepared)?);
                    }
                }
                Step::Call(_) => {}
            }
            out.push(own);
        }
        Ok((out, prepared))
    }

    fn executable(
        &mut self,
        engine: &dyn Engine,
        wanted: &mut Arc<Kernel>,
        prepared: &mut u64,
    ) -> Result<Arc<dyn Executable>> {
        if let Some((kernel, executable)) = self.kernels.get_key_value(wanted) {
            *wanted = Arc::clone(kernel);
            return Ok(Arc::clone(executable));
        }
        if self.kernels.len() >= KERNEL_BUDGET {
            self.kernels.clear();
        }
        let executable = engine.compile(wanted)?;
        *prepared += 1;
        self.kernels.insert(Arc::clone(wanted), Arc::clone(&executable));
        Ok(executable)
    }

    /// The kernel of one instruction, and whether it had to be prepared; `None` if the instruction needs a plan.
    pub fn one(
        &mut self,
        engine: &dyn Engine,
        outline: &Outline,
        instr: &Instr,
        consts: &[Scalar],
    ) -> Result<Option<(Arc<One>, bool)>> {
        if let Some(one) = self.ones.get(&outline.key) {
            return Ok(Some((Arc::clone(one), false)));
        }
        let Some(mut kernel) = outline.kernel(instr, consts) else { return Ok(None) };
        let mut prepared = 0;
        let executable = self.executable(engine, &mut kernel.kernel, &mut prepared)?;
        if self.ones.len() >= KERNEL_BUDGET {
            self.ones.clear();
        }
        let watch = kernel.watch.iter().fold(0, |all, w| all | w.bits) & warn::ALL;
        let one = Arc::new(One { kernel, executable, watch });
        self.ones.insert(outline.key, Arc::clone(&one));
        Ok(Some((one, prepared > 0)))
    }

    /// Forgets everything, because the engine or the options have changed.
    pub fn clear(&mut self) {
        *self = Caches { clock: self.clock, ..Caches::default() };
    }
}
