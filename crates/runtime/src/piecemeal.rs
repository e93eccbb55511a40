//! Batches that run operation by operation, without a plan.
//!
//! Making a plan takes microseconds per instruction. If a batch has little work and may never be repeated, that is
//! most of its time. Such a batch runs as it was recorded: a launch or call for each instruction. Memory is freed after
//! its last use, as with a plan. Its kernels depend on one instruction each (`numelt_opt::Outline`), not on extents. A
//! batch that is repeated is planned when the time that a plan saves adds up to the time of making it ([`Sightings`]).
//! Batches that are inspected, traced or explained are always planned, as are those under settings that choose passes
//! or a partition.

use crate::batch::{Remaining, Turn, wanted_by_holders};
use crate::cache::Caches;
use crate::engine::{Buffer, Launch, Operand, SmallCall, SmallInput, SmallView, Work, run};
use crate::exec::{self, ExecutionContext, ReadyPlan};
use crate::heap::base::BaseRef;
use crate::heap::cell::BaseCell;
use crate::heap::shared::Shared;
use crate::heap::{lost, zeros};
use crate::host::Host;
use crate::journal::Journal;
use crate::overwritten::Overwritten;
use crate::placement::Placement;
use crate::planned::{PassingBases, PlannedProgram};
use crate::progress::Progress;
use crate::report::{self, Warning};
use crate::stats::Stats;
use numelt_ir::{Axes, Base, Instr, Op, OpKind, Operand as IrOperand, Program, Result, Scalar, View, warn};
use numelt_opt::{ArgSource, KernelStep, Options, Outline, PlanningCosts, copied_before, dense_like, overlaps_itself};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, Mutex};

/// The most batches that are remembered.
const REMEMBERED: usize = 100_000;

/// The time that plans would have saved for each batch seen since a plan was last made, and how many plans were made.
pub(crate) struct Sightings {
    seen: FxHashMap<u64, (u64, u32)>,
    costs: PlanningCosts,
}

impl Sightings {
    /// The state before any batch.
    pub fn new(costs: PlanningCosts) -> Sightings {
        Sightings { seen: FxHashMap::default(), costs }
    }

    /// Whether a plan for the batch with this key is worth making, if the batch will be repeated as often as it has
    /// been so far. A batch whose plan was made and forgotten before must save twice as much.
    pub fn deserves_plan(&mut self, key: u64, instructions: usize, work: u64) -> bool {
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        let PlanningCosts { plan_ns, instruction_ns, launch_ns, elements_per_ns } = self.costs;
        let instructions = instructions as u64;
        let (saved, plans) = self.seen.entry(key).or_default();
        if *saved >= (plan_ns + instruction_ns * instructions) << *plans {
            (*saved, *plans) = (0, (*plans + 1).min(16));
            return true;
        }
        *saved += launch_ns * (instructions - 1) + work / elements_per_ns;
        false
    }
}

/// The base number of a temporary, which occurs in no program.
const TEMPORARY: u32 = u32::MAX;

/// A batch that is being run.
pub(crate) struct Piecemeal<'a> {
    pub engine: &'a dyn Host,
    pub caches: &'a mut Caches,
    pub stats: &'a mut Stats,
    pub warnings: &'a mut Vec<Warning>,
    pub program: &'a Program,
    pub slots: &'a [Shared<BaseCell>],
    /// The temporary for the result of an instruction that reads what it overwrites.
    pub temporary: Option<BaseRef>,
    /// The numbers of instructions that have not run for want of memory.
    pub left: Vec<u32>,
}

impl Piecemeal<'_> {
    /// Runs every instruction that gets memory. The others are added to `left`, with those that need their results,
    /// unless nobody needs their own results.
    ///
    /// # Errors
    /// The first failure.
    pub fn run(&mut self) -> Result<()> {
        let last = last_uses(self.program, self.slots.len());
        let (mut failure, mut left) = (None, Remaining::new(self.slots));
        // used only after memory has run out
        let mut wanted = Vec::new();
        for (at, instr) in self.program.instrs.iter().enumerate() {
            let told = self.warnings.len();
            let outcome = match wanted.get(at) {
                Some(false) => Ok(true),
                _ => match left.turn(self.program, self.slots, instr) {
                    Turn::Run => self.attempt(instr).map(|()| true),
                    Turn::Wait => Ok(false),
                    Turn::Lost => Ok(true),
                },
            };
            self.warnings[told..].iter_mut().for_each(|warning| warning.place = instr.out.base);
            if outcome != Ok(true) {
                if wanted.is_empty() {
                    wanted = wanted_by_holders(self.program, self.slots);
                }
                if wanted[at] {
                    left.add(self.program, at);
                    failure = failure.or(outcome.err());
                }
            }
            each_base(instr, |base| {
                let cell = &self.slots[base as usize];
                // no more instructions use the base, and only the batch holds it
                if last[base as usize] == at as u32 && cell.count() == 1 && !left.touches(base) {
                    cell.release();
                }
            });
        }
        left.mark_bases(&self.program.instrs, self.slots);
        self.left = left.instrs;
        failure.map_or(Ok(()), Err)
    }

    /// Runs an instruction. If one of its bases gets no memory, memory that another base got for it is freed.
    fn attempt(&mut self, instr: &Instr) -> Result<()> {
        let out = &self.slots[instr.out.base as usize];
        let fresh = !out.has_value();
        let result = self.run_one(instr);
        if result.is_err() && fresh {
            out.release();
        }
        result
    }

    fn run_one(&mut self, instr: &Instr) -> Result<()> {
        if instr.out.size() == 0 {
            return Ok(());
        }
        let kind = instr.op.kind();
        // the operands of an elementwise operation have the shape of its result
        if kind != OpKind::Elementwise && instr.reads().any(|view| view.size() == 0) {
            return self.planned(instr);
        }
        for operand in &instr.ins {
            if let IrOperand::View(view) = operand {
                self.provide(view.base)?;
            }
        }
        let out = &self.slots[instr.out.base as usize];
        if !out.has_value() && zeros::fills_with_zeros(instr, out.nbytes, self.program) {
            self.stats.buffers += 1;
            let is_zero = out.provide_zeroed();
            if is_zero.map_err(|error| lost::named(error, &self.program.instrs, instr.out.base))? {
                return Ok(());
            }
        }
        let fresh = self.provide(instr.out.base)?;
        self.slots[instr.out.base as usize].touch();
        if matches!(kind, OpKind::Elementwise | OpKind::Reduction) && self.small(instr, fresh) {
            self.stats.kernels += 1;
            return Ok(());
        }
        if overlaps_itself(instr) { self.by_temporary(instr) } else { self.launch_or_call(instr) }
    }

    /// Copies a base's values to the host, or allocates its memory if it has no value; returns whether it had none.
    #[inline]
    fn provide(&mut self, base: u32) -> Result<bool> {
        let cell = &self.slots[base as usize];
        let fresh = !cell.has_value();
        let there = if fresh { cell.provide() } else { cell.copy_to_host() };
        there.map_err(|error| lost::named(error, &self.program.instrs, base))?;
        self.stats.buffers += u64::from(fresh);
        Ok(fresh)
    }

    /// Runs an operation on few elements without a kernel, if the engine can.
    fn small(&self, instr: &Instr, fresh: bool) -> bool {
        if instr.out.size() > SmallCall::MOST as i64 || instr.ins.len() > 3 {
            return false;
        }
        let mut ins = [SmallInput::Const(Scalar::Bool(false)); 3];
        for (input, operand) in ins.iter_mut().zip(&instr.ins) {
            *input = match operand {
                IrOperand::View(view) => SmallInput::View(self.small_view(view)),
                IrOperand::Const(id) => SmallInput::Const(self.program.consts[*id as usize]),
            };
        }
        let ins = &ins[..instr.ins.len()];
        let (op, ty, axes) = (instr.op, instr.ty, instr.axes);
        let call = SmallCall { op, ty, axes, out: self.small_view(&instr.out), fresh, ins };
        self.engine.small(&call, instr.watch & warn::ALL)
    }

    fn small_view<'v>(&self, view: &'v View) -> SmallView<'v> {
        SmallView {
            pointer: self.buffer(view).address(),
            dtype: view.dtype,
            shape: &view.shape,
            strides: &view.strides,
        }
    }

    fn base_buffer(&self, base: u32) -> Buffer {
        Buffer::at(match &self.temporary {
            Some(temporary) if base == TEMPORARY => temporary.0.host_address(),
            Some(_) | None => self.slots[base as usize].host_address(),
        })
    }

    fn buffer(&self, view: &View) -> Buffer {
        self.base_buffer(view.base).moved(view.offset)
    }

    /// Runs an instruction that reads what it overwrites: its result goes to a temporary first, or the few elements
    /// that it reads do.
    fn by_temporary(&mut self, instr: &Instr) -> Result<()> {
        let mut nbytes = 0;
        let dense = |view: &View| {
            let (view, size) = dense_like(view, TEMPORARY);
            nbytes = size;
            view
        };
        if let Some((copy, instr)) = copied_before(instr, dense) {
            return self.run_pair(nbytes, &copy, &instr);
        }
        let (view, nbytes) = dense_like(&instr.out, TEMPORARY);
        let copy = Instr {
            op: Op::Copy,
            ty: view.dtype,
            out: instr.out.clone(),
            ins: smallvec![IrOperand::View(view.clone())],
            axes: Axes::default(),
            watch: 0,
        };
        self.run_pair(nbytes, &Instr { out: view, ..instr.clone() }, &copy)
    }

    /// Runs two instructions, the first of which writes a temporary that the second reads.
    fn run_pair(&mut self, nbytes: usize, first: &Instr, second: &Instr) -> Result<()> {
        let base = BaseRef::new(&self.slots[0].heap, nbytes);
        base.0.provide()?;
        self.temporary = Some(base);
        let outcome = self.launch_or_call(first).and_then(|()| self.launch_or_call(second));
        self.temporary = None;
        outcome
    }

    fn launch_or_call(&mut self, instr: &Instr) -> Result<()> {
        self.stats.bytes_moved += instr.bytes_touched();
        if matches!(instr.op.kind(), OpKind::Scan | OpKind::Library) {
            self.stats.calls += 1;
            let met = exec::call(self.engine, instr, |view| Operand { view, buffer: self.buffer(view) })?;
            report::call(instr, met & report::watched_call(instr), self.warnings);
            return Ok(());
        }
        let consts = &self.program.consts;
        let Some(outline) = Outline::new(instr, |id| consts[id as usize].dtype()) else { return self.planned(instr) };
        let (one, prepared) = match self.caches.one(self.engine, &outline, instr, consts)? {
            Some(found) => found,
            None => return self.planned(instr),
        };
        self.stats.kernels_compiled += u64::from(prepared);
        self.stats.kernels += 1;
        let buffers: SmallVec<[Buffer; 6]> = outline
            .sources
            .iter()
            .zip(&outline.geometry.args)
            .map(|(source, place)| match base_of(*source, instr) {
                Some(base) => self.base_buffer(base).moved(place.offset),
                None => Buffer::NONE,
            })
            .collect();
        let params: SmallVec<[Scalar; 3]> =
            one.kernel.params.iter().filter_map(|&at| literal(&instr.ins[at as usize], consts)).collect();
        let launch = Launch { geometry: &outline.geometry, buffers: &buffers, params: &params };
        let bases: SmallVec<[u32; 6]> =
            outline.sources.iter().map(|s| base_of(*s, instr).unwrap_or(u32::MAX)).collect();
        let kernel = &one.kernel.kernel;
        let before = Overwritten::before(self.engine, &launch, (kernel, &bases), one.watch);
        let met = run(self.engine, &Work::Kernel(&*one.executable, &launch, None))? & one.watch;
        if met != 0 {
            let step = KernelStep {
                kernel: Arc::clone(kernel),
                geometry: outline.geometry.clone(),
                bases: bases.into_vec(),
                params: Vec::new(),
                watch: one.kernel.watch.clone(),
                instrs: Vec::new(),
                delay: None,
                puts: Vec::new(),
            };
            let step = (&step, &before);
            report::kernel(self.engine, &*one.executable, &launch, step, met, &Mutex::default(), self.warnings);
        }
        Ok(())
    }

    /// Plans and runs one instruction: a reduction, one without inputs, or one too large for a key.
    fn planned(&mut self, instr: &Instr) -> Result<()> {
        let mut instr = instr.clone();
        let (mut cells, mut bases): (Vec<Shared<BaseCell>>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut number = |view: &mut View| {
            let known = bases.iter().position(|&base| base == view.base);
            view.base = known.unwrap_or_else(|| {
                bases.push(view.base);
                let temporary = self.temporary.as_ref().filter(|_| view.base == TEMPORARY);
                cells.push(temporary.map_or_else(|| &self.slots[view.base as usize], |t| &t.0).clone());
                cells.len() - 1
            }) as u32;
        };
        for operand in &mut instr.ins {
            if let IrOperand::View(view) = operand {
                number(view);
            }
        }
        number(&mut instr.out);
        // the plan runs where there are no devices, even if it only states the result of an operation without
        // elements
        for cell in &cells {
            cell.copy_to_host()?;
        }
        cells[instr.out.base as usize].touch();
        let base = |cell: &Shared<BaseCell>| Base { nbytes: cell.nbytes, input: cell.has_value(), output: true };
        let program = Program {
            bases: cells.iter().map(base).collect(),
            consts: self.program.consts.clone(),
            instrs: vec![instr],
        };
        let made = PlannedProgram::of(&program, &PassingBases::new());
        let options = Options { target: *self.engine.target(), ..Options::default() };
        let mut plan = numelt_opt::plan_owned(program, &options)?;
        let (executables, prepared) = self.caches.executables(self.engine, &mut plan.steps)?;
        self.stats.kernels_compiled += prepared;
        let ready = ReadyPlan::new(made, plan, Vec::new(), executables);
        self.stats.kernels += ready.kernels as u64;
        let (placement, journal, progress) = (Placement::host(), Journal::default(), Progress::default());
        let (placement, journal, progress) = (&placement, &journal, &progress);
        let context = ExecutionContext { host: self.engine, devices: &[], placement, home: None, journal, progress };
        ready.run(&context, &self.program.consts, &cells, self.warnings).map_err(|stopped| stopped.error)
    }
}

/// The base of an argument.
fn base_of(source: ArgSource, instr: &Instr) -> Option<u32> {
    match source {
        ArgSource::Out => Some(instr.out.base),
        ArgSource::In(at) => match &instr.ins[at as usize] {
            IrOperand::View(view) => Some(view.base),
            IrOperand::Const(_) => None,
        },
        ArgSource::Index => None,
    }
}

fn literal(operand: &IrOperand, consts: &[Scalar]) -> Option<Scalar> {
    match operand {
        IrOperand::Const(id) => Some(consts[*id as usize]),
        IrOperand::View(_) => None,
    }
}

/// For each base, the number of the last instruction that uses it.
fn last_uses(program: &Program, bases: usize) -> SmallVec<[u32; 64]> {
    let mut last = SmallVec::from_elem(0, bases);
    for (at, instr) in (0..).zip(&program.instrs) {
        each_base(instr, |base| last[base as usize] = at);
    }
    last
}

/// Calls `f` with the base of each operand, and of the result last.
#[inline(always)]
fn each_base(instr: &Instr, mut f: impl FnMut(u32)) {
    for operand in &instr.ins {
        if let IrOperand::View(view) = operand {
            f(view.base);
        }
    }
    f(instr.out.base);
}
