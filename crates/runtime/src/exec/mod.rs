//! Running a finished plan: allocate at first use, launch, free at last use.
//!
//! Each step runs where the placement says (`placement/`): on the host (`host.rs`), or on a device (`device.rs`). What
//! a device cannot do, or has no memory for, runs on the host.

mod device;
mod host;
mod memory;
mod placing;
mod unsettled;

pub(crate) use self::device::supports;
pub(crate) use self::host::call;
use self::memory::Memory;
use self::unsettled::Unsettled;

use crate::engine::Executables;
use crate::heap::cell::BaseCell;
use crate::heap::copies::Device;
use crate::heap::shared::Shared;
use crate::heap::zeros::Fill;
use crate::host::Host;
use crate::journal::Journal;
use crate::packed::PackedProgram;
use crate::placement::{Decisions, Placement, StepEngines};
use crate::planned::{PassingBases, PlannedProgram, SourcePositions};
use crate::progress::Progress;
use crate::recipes::Recipes;
use crate::report::{self, Warning};
use crate::track::Track;
use numelt_ir::{Base, Error, Program, Result, Scalar, warn};
use numelt_opt::{ArgKind, KernelStep, Plan, Recipe, Step};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

/// A plan with its kernels prepared, ready to be run any number of times.
pub(crate) struct ReadyPlan {
    /// The instructions as they were recorded, to tell real hits from hash collisions, and their bases.
    pub recorded: PackedProgram,
    pub bases: Box<[Base]>,
    /// Bases that their holders were about to release.
    pub passing: PassingBases,
    /// The compact form that operations are compared with while a batch repeats the plan.
    pub track: Track,
    pub plan: Plan,
    steps: Vec<ReadyStep>,
    /// The size in bytes of each buffer that a run allocates.
    pub buffer_bytes: Vec<usize>,
    pub contracted: usize,
    /// The number of steps that are not library calls.
    pub kernels: usize,
    /// When it was used last, by the cache's clock.
    pub used: AtomicU64,
    /// Whether it was the first piece of a batch that was too long. Then the next such batch is cut here, too.
    pub cut: AtomicBool,
    /// The positions at which those instructions were recorded that could warn.
    pub positions: Mutex<SourcePositions>,
    /// The values that its runs put off.
    pub recipes: Arc<Recipes>,
    /// The plans that ran right after this one, the latest first.
    next: Mutex<SmallVec<[Weak<ReadyPlan>; NEXT]>>,
    /// The number of the device for which it was made, as the home of its arrays; zero for none.
    pub home: u8,
    /// The engines that were chosen for its steps.
    pub decisions: Decisions,
}

/// Plans whose programs start as a batch does.
pub(crate) type Candidates = SmallVec<[Arc<ReadyPlan>; 3]>;

/// The most successors of a plan that are remembered.
const NEXT: usize = 3;

/// A device by its number, and the kernels of a step that it has prepared.
type DeviceExecutables = (usize, Option<Executables>);

struct ReadyStep {
    /// Its kernels, as the host engine prepared them.
    executables: Executables,
    /// Its kernels as devices prepared them, by number; `None` if the device cannot do the step.
    on_devices: Mutex<SmallVec<[DeviceExecutables; 1]>>,
    /// The conditions that some instruction of the step reports.
    watch: u8,
    /// The fill of a large base that the step is, if it is nothing else.
    fill: Option<Fill>,
    /// The results of earlier reports of the step.
    memory: Mutex<report::AuditCache>,
    /// The bases that get memory before the step.
    alloc: SmallVec<[u32; 2]>,
    /// The bases that nobody needs after the step.
    free: SmallVec<[u32; 4]>,
}

impl ReadyPlan {
    /// Makes a plan ready to run.
    pub fn new(made: PlannedProgram, mut plan: Plan, recipes: Vec<Recipe>, executables: Vec<Executables>) -> ReadyPlan {
        let mut steps: Vec<ReadyStep> = executables
            .into_iter()
            .zip(&plan.steps)
            .map(|(executables, step)| ReadyStep {
                executables,
                on_devices: Mutex::default(),
                watch: watched(&plan, step),
                fill: Fill::of(&plan, step),
                memory: Mutex::default(),
                alloc: SmallVec::new(),
                free: SmallVec::new(),
            })
            .collect();
        let buffer_bytes = arrange_allocation(&plan, &mut steps);
        let contracted = plan.contracted.iter().filter(|&&c| c).count();
        let (used, cut, next) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        let kernels = plan.steps.iter().filter(|step| !matches!(step, Step::Call(_))).count();
        let PlannedProgram { recorded, bases, passing, track } = made;
        keep_calls(&mut plan);
        plan.steps.shrink_to_fit();
        let recipes = Arc::new(Recipes { list: recipes, ..Recipes::default() });
        ReadyPlan {
            recorded,
            bases,
            passing,
            track,
            plan,
            steps,
            buffer_bytes,
            contracted,
            kernels,
            used,
            cut,
            positions: Mutex::default(),
            recipes,
            next,
            home: 0,
            decisions: Decisions::default(),
        }
    }

    /// Notes that `plan` ran right after this one.
    pub fn followed_by(&self, plan: &Arc<ReadyPlan>) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if next.first().is_some_and(|first| std::ptr::eq(first.as_ptr(), Arc::as_ptr(plan))) {
            return;
        }
        next.retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(plan)));
        next.truncate(NEXT - 1);
        next.insert(0, Arc::downgrade(plan));
    }

    /// The plans that are likely to run next, the most likely first.
    pub fn successors(&self) -> Candidates {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether this is the plan of `program`, or of one that differs only in literals that the plan does not depend
    /// on.
    pub fn matches(&self, program: &Program, passing: &PassingBases) -> bool {
        self.is_of(program, passing) && !self.is_regretted()
    }

    /// Like [`ReadyPlan::matches`], whether the plan is still in use or not.
    pub fn is_of(&self, program: &Program, passing: &PassingBases) -> bool {
        *self.bases == *program.bases
            && self.passing == *passing
            && self.recorded.holds(&program.instrs)
            && self.plan.accepts(&program.consts)
    }

    /// Whether it has put off a value that was read after all.
    pub fn is_regretted(&self) -> bool {
        self.recipes.regretted.load(Ordering::Relaxed)
    }

    /// The tier of each kernel step's next launch.
    pub fn tiers(&self) -> Vec<&'static str> {
        self.steps.iter().flat_map(|s| s.executables.iter().map(|e| e.tier())).collect()
    }

    /// Runs every step. `slots` are the recorded bases; bases that passes added are temporary.
    ///
    /// # Errors
    /// The first failure, usually for want of memory. The steps from there on have not been done then.
    pub fn run(
        &self,
        context: &ExecutionContext<'_>,
        consts: &[Scalar],
        slots: &[Shared<BaseCell>],
        warnings: &mut Vec<Warning>,
    ) -> std::result::Result<(), Stopped> {
        let mut memory = Memory::new(self, slots);
        let mut unsettled = Unsettled::default();
        let engines = placing::choose_engines(self, context, &memory);
        let times = context.journal.times_steps();
        context.progress.begin(self.steps.len());
        for (at, (step, ready)) in self.plan.steps.iter().zip(&self.steps).enumerate() {
            let start = times.then(Instant::now);
            let run = Run { plan: self, at, step, ready, consts };
            let mut done =
                run.execute(context, &engines, &mut memory, &mut unsettled, warnings).map_err(|why| (why, at));
            if times && done.is_ok() {
                done = unsettled.settle(context.host, &mut memory, warnings).map_err(|why| (why, at + 1));
            }
            if let Err((error, at)) = done {
                // the steps before this one have been done
                let _ = unsettled.settle(context.host, &mut memory, warnings);
                return Err(Stopped { error, at, temporaries: memory.into_cells() });
            }
            for &base in &ready.free {
                unsettled.free(base, &memory);
            }
            context.progress.reach(at + 1);
            if let Some(start) = start {
                context.journal.took(start.elapsed().as_nanos() as u64);
            }
        }
        if !context.devices.is_empty()
            && let Err(error) =
                unsettled.settle(context.host, &mut memory, warnings).and_then(|()| memory.move_visible_to_host())
        {
            return Err(Stopped { error, at: self.steps.len(), temporaries: memory.into_cells() });
        }
        Ok(())
    }

    /// The bases that a step uses, each once, and whether it writes them.
    pub fn uses(&self, at: usize) -> SmallVec<[(u32, bool); 8]> {
        let step = &self.plan.steps[at];
        let written = written_bases(&self.plan, step);
        let mut bases = step_bases(&self.plan, step);
        bases.sort_unstable();
        bases.dedup();
        bases.into_iter().map(|base| (base, written.contains(&base))).collect()
    }

    /// The remaining part of the program that this plan was made for, from step `at` on, as instructions of the
    /// program of `again`, a second plan of the same program. `None` if `again` is a different plan.
    pub fn left_of(&self, mut again: Plan, at: usize) -> Option<Program> {
        let alike = |(a, b): (&Step, &Step)| step_bases(&again, a) == step_bases(&self.plan, b);
        let same = again.steps.len() == self.plan.steps.len()
            && again.program.bases == self.plan.program.bases
            && again.steps.iter().zip(&self.plan.steps).all(alike);
        if !same {
            return None;
        }
        let mut wanted = vec![false; again.program.instrs.len()];
        for step in &again.steps[at..] {
            if let Step::Call(instr) = step {
                wanted[*instr] = true;
            }
            for kernel in step.kernels() {
                kernel.instrs.iter().for_each(|&instr| wanted[instr] = true);
                kernel.puts.iter().for_each(|put| wanted[put.instr] = true);
            }
        }
        let mut wanted = wanted.into_iter();
        again.program.instrs.retain(|_| wanted.next() == Some(true));
        Some(again.program)
    }
}

/// Lets each base of a plan get memory before the first step that uses it, and lose it after the last. Returns the
/// sizes in bytes of all that a run allocates.
fn arrange_allocation(plan: &Plan, steps: &mut [ReadyStep]) -> Vec<usize> {
    let mut uses: Vec<Option<(usize, usize)>> = vec![None; plan.program.bases.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        for base in step_bases(plan, step) {
            uses[base as usize].get_or_insert((at, at)).1 = at;
        }
    }
    let mut buffer_bytes = Vec::new();
    for ((id, base), used) in (0..).zip(&plan.program.bases).zip(uses) {
        let Some((first, last)) = used else { continue };
        if !base.input {
            steps[first].alloc.push(id);
            buffer_bytes.push(base.nbytes);
        }
        if !base.output {
            steps[last].free.push(id);
        }
    }
    buffer_bytes
}

/// The engines on which a plan runs, and what else a run needs.
pub(crate) struct ExecutionContext<'a> {
    pub host: &'a dyn Host,
    pub devices: &'a [Arc<Device>],
    pub placement: &'a Placement,
    /// The number of the device that is the home of the plan's arrays, if they have one.
    pub home: Option<usize>,
    pub journal: &'a Journal,
    pub progress: &'a Progress,
}

/// One step of a plan that is being run.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    plan: &'a ReadyPlan,
    /// Its number.
    at: usize,
    step: &'a Step,
    ready: &'a ReadyStep,
    consts: &'a [Scalar],
}

impl<'a> Run<'a> {
    /// Runs the step where it is placed.
    fn execute(
        self,
        context: &ExecutionContext<'_>,
        engines: &StepEngines,
        memory: &mut Memory<'_>,
        unsettled: &mut Unsettled<'a>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if context.devices.is_empty() {
            return self.on_host(context.host, memory, warnings);
        }
        if unsettled.precede(self) {
            unsettled.settle(context.host, memory, warnings)?;
        }
        unsettled.go_on();
        if let Some(device) = context.placement.device_for(engines, self.at, context.devices) {
            let there = self.on_device(device, memory, unsettled)?;
            context.placement.note(there);
            if there {
                context.journal.ran_on(device.engine.name());
                return Ok(());
            }
            if let StepEngines::Decided(_) = engines {
                self.plan.decisions.refuse(self.at, device.number());
            }
            context.journal.declined(&self.plan.plan, self.step);
        }
        context.journal.ran_on(context.host.name());
        // warnings come in the order of the steps
        if self.ready.watch != 0 {
            unsettled.settle(context.host, memory, warnings)?;
        }
        memory.move_to_host(&self.plan.plan, self.step)?;
        self.on_host(context.host, memory, warnings)
    }

    fn literals(self, step: &KernelStep) -> SmallVec<[Scalar; 8]> {
        step.params.iter().map(|&c| self.literal(c)).collect()
    }

    // literals of the recorded program come with the run; passes may have added others
    fn literal(self, id: u32) -> Scalar {
        self.consts.get(id as usize).copied().unwrap_or_else(|| self.plan.plan.program.consts[id as usize])
    }
}

/// Drops the instructions of the planned program that are not steps. They are half of the memory of a plan, and plans
/// are kept.
fn keep_calls(plan: &mut Plan) {
    let instrs = std::mem::take(&mut plan.program.instrs);
    let mut kept = Vec::new();
    for step in &mut plan.steps {
        match step {
            Step::Kernel(kernel) => {
                kernel.instrs = Vec::new();
                for put in &mut kernel.puts {
                    kept.push(instrs[put.instr].clone());
                    put.instr = kept.len() - 1;
                }
            }
            Step::Nest(nest) => nest.stages.iter_mut().for_each(|stage| stage.step.instrs = Vec::new()),
            Step::Call(at) => {
                kept.push(instrs[*at].clone());
                *at = kept.len() - 1;
            }
        }
    }
    plan.program.instrs = kept;
}

/// The conditions that some instruction of a step reports.
fn watched(plan: &Plan, step: &Step) -> u8 {
    match step {
        Step::Kernel(_) | Step::Nest(_) => {
            step.kernels().flat_map(|kernel| &kernel.watch).fold(0, |all, w| all | w.bits) & warn::ALL
        }
        Step::Call(at) => report::watched_call(&plan.program.instrs[*at]),
    }
}

/// A plan that could not be run to its end.
pub(crate) struct Stopped {
    pub error: Error,
    /// The step that failed; it has written nothing.
    pub at: usize,
    /// The bases that passes added, with their values.
    pub temporaries: Vec<Shared<BaseCell>>,
}

fn step_bases(plan: &Plan, step: &Step) -> SmallVec<[u32; 16]> {
    match step {
        Step::Kernel(_) | Step::Nest(_) => {
            let mut bases = kernel_bases(step, |kind| kind != ArgKind::Index);
            for kernel in step.kernels() {
                let operands = kernel.puts.iter().flat_map(|put| plan.program.instrs[put.instr].reads());
                bases.extend(operands.map(|view| view.base).filter(|&base| !kernel.streams(base)));
            }
            bases
        }
        Step::Call(at) => {
            let instr = &plan.program.instrs[*at];
            instr.reads().map(|v| v.base).chain([instr.out.base]).collect()
        }
    }
}

/// The bases that a step writes.
fn written_bases(plan: &Plan, step: &Step) -> SmallVec<[u32; 8]> {
    if let Step::Call(at) = step {
        return SmallVec::from_iter([plan.program.instrs[*at].out.base]);
    }
    let mut written: SmallVec<[u32; 8]> = kernel_bases(step, |kind| matches!(kind, ArgKind::Store | ArgKind::Reduced));
    written.extend(step.kernels().flat_map(|kernel| kernel.puts.iter().map(|put| put.target)));
    written
}

/// The bases of a kernel's scattered results, which the scatters take from the kernel.
fn streamed(kernel: &KernelStep) -> SmallVec<[u32; 2]> {
    let mut bases: SmallVec<[u32; 2]> = kernel.bases.iter().copied().filter(|&base| kernel.streams(base)).collect();
    bases.sort_unstable();
    bases.dedup();
    bases
}

/// The bases of some arguments of a step's kernels, without arguments in scratch memory or without memory.
fn kernel_bases<const N: usize>(step: &Step, wanted: impl Fn(ArgKind) -> bool) -> SmallVec<[u32; N]>
where
    [u32; N]: smallvec::Array<Item = u32>,
{
    let scratch = |base: &u32| matches!(step, Step::Nest(nest) if nest.scratch.iter().any(|s| s.base == *base));
    let streams = |base: &u32| step.kernels().any(|kernel| kernel.streams(*base));
    let args = step.kernels().flat_map(|k| k.bases.iter().zip(&k.kernel.args));
    args.filter(|(base, arg)| wanted(arg.kind) && !scratch(base) && !streams(base)).map(|(&base, _)| base).collect()
}
