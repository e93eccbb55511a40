//! Running a finished plan: allocate at first use, launch, free at last use.

use crate::base::{BaseCell, BaseRef, POOL};
use crate::batch::{Candidates, Packed, Places, Track};
use crate::cache::Executables;
use crate::engine::{Engine, Executable, Launch, LibraryCall, NestLaunch, Operand, PutCall, StageLaunch};
use crate::lost;
use crate::report::{self, Warning};
use crate::shared::Shared;
use crate::zeros::{Fill, is_zero};
use numelt_ir::{Base, Error, Instr, Operand as IrOperand, Program, Result, Scalar, View, warn};
use numelt_opt::{Arg, ArgGeometry, ArgKind, KernelStep, NestStep, Plan, Put, Recipe, Step};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A plan with its kernels prepared, ready to be run any number of times.
pub(crate) struct ReadyPlan {
    /// The instructions as recorded, to tell real hits from hash collisions, and their bases.
    pub recorded: Packed,
    pub bases: Box<[Base]>,
    /// What its instructions must meet to be repeated quickly.
    pub track: Track,
    pub plan: Plan,
    steps: Vec<ReadyStep>,
    /// Bytes of each buffer that a run asks for.
    pub buffer_bytes: Vec<usize>,
    pub contracted: usize,
    /// Steps that are no library calls.
    pub kernels: usize,
    /// When it was used last, on the cache's clock.
    pub used: AtomicU64,
    /// Has it been the first piece of a batch that was too long? Then the next such batch is cut here, too.
    pub cut: AtomicBool,
    /// Where the instructions were recorded, as far as they could warn.
    pub places: Mutex<Places>,
    /// Values that its runs leave to be computed when they are asked for.
    pub recipes: Vec<Recipe>,
    /// Was one of them asked for? Then the next plan for the program leaves none.
    pub regretted: AtomicBool,
    /// Plans that ran right after this one, the latest first.
    next: Mutex<SmallVec<[Weak<ReadyPlan>; NEXT]>>,
}

/// What a plan keeps of the program that it was made for.
pub(crate) struct Kept {
    recorded: Packed,
    bases: Box<[Base]>,
    track: Track,
}

impl Kept {
    pub fn of(program: &Program) -> Kept {
        let recorded = Packed::new(&program.instrs);
        let track = Track::new(&program.instrs, &program.bases, &recorded);
        Kept { recorded, bases: program.bases.as_slice().into(), track }
    }

    /// The instructions.
    pub fn instrs(&self) -> Vec<Instr> {
        self.recorded.instrs()
    }
}

/// Successors of a plan that are remembered.
const NEXT: usize = 3;

struct ReadyStep {
    executables: Executables,
    /// Conditions that some instruction of the step wants reported.
    watch: u8,
    /// Is it nothing but one number for all of a large base?
    fill: Option<Fill>,
    /// What earlier reports of the step have found.
    memory: Mutex<report::Memory>,
    /// Bases that get memory before the step.
    alloc: SmallVec<[u32; 2]>,
    /// Bases that nobody needs after the step.
    free: SmallVec<[u32; 4]>,
}

impl ReadyPlan {
    /// Orders allocation and release around the steps.
    pub fn new(kept: Kept, mut plan: Plan, recipes: Vec<Recipe>, executables: Vec<Executables>) -> ReadyPlan {
        let count = plan.program.bases.len();
        let mut first = vec![usize::MAX; count];
        let mut last = vec![usize::MAX; count];
        for (at, step) in plan.steps.iter().enumerate() {
            for base in step_bases(&plan, step) {
                let base = base as usize;
                if first[base] == usize::MAX {
                    first[base] = at;
                }
                last[base] = at;
            }
        }
        let mut steps: Vec<ReadyStep> = executables
            .into_iter()
            .zip(&plan.steps)
            .map(|(executables, step)| ReadyStep {
                executables,
                watch: watched(&plan, step),
                fill: Fill::of(&plan, step),
                memory: Mutex::default(),
                alloc: SmallVec::new(),
                free: SmallVec::new(),
            })
            .collect();
        let mut buffer_bytes = Vec::new();
        for (id, base) in plan.program.bases.iter().enumerate() {
            if first[id] == usize::MAX {
                continue;
            }
            if !base.input {
                steps[first[id]].alloc.push(id as u32);
                buffer_bytes.push(base.nbytes);
            }
            if !base.output {
                steps[last[id]].free.push(id as u32);
            }
        }
        let contracted = plan.contracted.iter().filter(|&&c| c).count();
        let (used, cut, next) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        let kernels = plan.steps.iter().filter(|step| !matches!(step, Step::Call(_))).count();
        let Kept { recorded, bases, track } = kept;
        keep_calls(&mut plan);
        plan.steps.shrink_to_fit();
        let regretted = AtomicBool::new(false);
        ReadyPlan {
            recorded,
            bases,
            track,
            plan,
            steps,
            buffer_bytes,
            contracted,
            kernels,
            used,
            cut,
            places: Mutex::default(),
            recipes,
            regretted,
            next,
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

    /// The plans that are likely to run next, the likeliest first.
    pub fn successors(&self) -> Candidates {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.iter().filter_map(Weak::upgrade).collect()
    }

    /// Is this the plan of `program`, or of one that differs in literals that the plan does not depend on?
    pub fn matches(&self, program: &Program) -> bool {
        self.is_of(program) && !self.is_regretted()
    }

    /// The same, be the plan still in use or not.
    pub fn is_of(&self, program: &Program) -> bool {
        *self.bases == *program.bases && self.recorded.is_of(&program.instrs) && self.plan.accepts(&program.consts)
    }

    /// Has it put off what was asked for?
    pub fn is_regretted(&self) -> bool {
        self.regretted.load(Ordering::Relaxed)
    }

    /// The tier of each kernel step's next launch.
    pub fn tiers(&self) -> Vec<&'static str> {
        self.steps.iter().flat_map(|s| s.executables.iter().map(|e| e.tier())).collect()
    }

    /// Runs every step. `slots` are the recorded bases; bases that passes added are temporary.
    ///
    /// # Errors
    /// The first failure, mostly for want of memory; what has not been done then is the steps from there on.
    pub fn run(
        &self,
        engine: &dyn Engine,
        consts: &[Scalar],
        slots: &[Shared<BaseCell>],
        warnings: &mut Vec<Warning>,
    ) -> std::result::Result<(), Stopped> {
        let mut memory = Memory::new(self, slots);
        for (at, (step, ready)) in self.plan.steps.iter().zip(&self.steps).enumerate() {
            if let Err(error) = self.step(engine, step, ready, consts, &mut memory, warnings) {
                return Err(Stopped { error, at, temporaries: memory.into_cells() });
            }
            for &base in &ready.free {
                memory.free(base);
            }
        }
        let at = self.steps.len();
        engine.sync().map_err(|error| Stopped { error, at, temporaries: memory.into_cells() })
    }

    /// What is left to do of the program that this plan was made for, once more planned as `again`, from step `at` on:
    /// instructions of the plan's program. `None` where `again` is another plan.
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

    fn step(
        &self,
        engine: &dyn Engine,
        step: &Step,
        ready: &ReadyStep,
        consts: &[Scalar],
        memory: &mut Memory<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if let Some(fill) = ready.fill
            && is_zero(self.literal(fill.literal, consts))
            && memory
                .provide_zeroed(fill.base)
                .map_err(|error| lost::named(error, &self.recorded.instrs(), fill.base))?
        {
            return Ok(());
        }
        let mut fresh: SmallVec<[u32; 2]> = SmallVec::new();
        for &base in &ready.alloc {
            match memory.alloc(base) {
                Ok(true) => fresh.push(base),
                Ok(false) => {}
                Err(error) => {
                    fresh.iter().for_each(|&base| memory.release(base));
                    return Err(lost::named(error, &self.recorded.instrs(), base));
                }
            }
        }
        match step {
            Step::Kernel(kernel) if !kernel.puts.is_empty() => {
                self.puts(engine, kernel, ready, consts, memory, warnings)?;
            }
            Step::Kernel(kernel) => {
                let params = self.literals(kernel, consts);
                let pointers = memory.pointers(kernel);
                let launch = Launch { geometry: &kernel.geometry, pointers: &pointers, params: &params };
                let executable = &*ready.executables[0];
                let met = match &kernel.delay {
                    Some(delay) => engine.launch_delayed(executable, &launch, delay)?,
                    None => engine.launch(executable, &launch)?,
                };
                let met = met & ready.watch;
                if met != 0 {
                    report::kernel(engine, executable, &launch, kernel, met, &ready.memory, warnings);
                }
            }
            Step::Nest(nest) => self.nest(engine, nest, ready, consts, memory, warnings)?,
            Step::Call(at) => {
                let instr = &self.plan.program.instrs[*at];
                let met = call(engine, instr, |view| memory.operand(view))? & ready.watch;
                report::call(instr, met, warnings);
            }
        }
        Ok(())
    }

    /// A kernel whose results are put where positions say.
    fn puts(
        &self,
        engine: &dyn Engine,
        kernel: &KernelStep,
        ready: &ReadyStep,
        consts: &[Scalar],
        memory: &mut Memory<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        let executable = &*ready.executables[0];
        let params = self.literals(kernel, consts);
        let mut pointers = memory.pointers(kernel);
        let instr = |put: &Put| &self.plan.program.instrs[put.instr];
        let launch = Launch { geometry: &kernel.geometry, pointers: &pointers, params: &params };
        let mut met = launch_puts(engine, executable, &launch, kernel, instr, memory)?;
        let mut made: SmallVec<[u32; 2]> = SmallVec::new();
        if met.is_none() {
            made.extend(streamed(kernel));
            for &base in &made {
                memory.alloc(base).map_err(|error| lost::named(error, &self.recorded.instrs(), base))?;
            }
            pointers = memory.pointers(kernel);
            let launch = Launch { geometry: &kernel.geometry, pointers: &pointers, params: &params };
            let own = engine.launch(executable, &launch)?;
            let calls = kernel.puts.iter().map(|put| call(engine, instr(put), |view| memory.operand(view)));
            met = Some([own, calls.collect::<Result<SmallVec<[u8; 2]>>>()?.iter().fold(0, |all, met| all | met)]);
        }
        let [own, puts] = met.unwrap_or_default();
        let watched = kernel.watch.iter().fold(0, |all, w| all | w.bits);
        if own & watched & warn::ALL != 0 {
            let launch = Launch { geometry: &kernel.geometry, pointers: &pointers, params: &params };
            report::kernel(engine, executable, &launch, kernel, own & watched, &ready.memory, warnings);
        }
        kernel.puts.iter().for_each(|put| report::call(instr(put), puts, warnings));
        made.into_iter().for_each(|base| memory.free(base));
        Ok(())
    }

    fn nest(
        &self,
        engine: &dyn Engine,
        nest: &NestStep,
        ready: &ReadyStep,
        consts: &[Scalar],
        memory: &Memory<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        type Operands = (SmallVec<[Scalar; 8]>, SmallVec<[*mut u8; 16]>);
        let operands: SmallVec<[Operands; 4]> = nest
            .stages
            .iter()
            .map(|stage| {
                let mut pointers = memory.pointers(&stage.step);
                for (at, place) in stage.places.iter().enumerate() {
                    if let Some(scratch) = place.map(|p| &nest.scratch[p as usize]) {
                        let inside = stage.step.geometry.args[at].offset - scratch.low;
                        pointers[at] = std::ptr::without_provenance_mut(inside as usize);
                    }
                }
                (self.literals(&stage.step, consts), pointers)
            })
            .collect();
        let stages: SmallVec<[StageLaunch<'_>; 4]> = nest
            .stages
            .iter()
            .zip(&operands)
            .zip(&ready.executables)
            .map(|((stage, (params, pointers)), executable)| StageLaunch {
                executable: &**executable,
                launch: Launch { geometry: &stage.step.geometry, pointers, params },
                shared: stage.shared,
                places: &stage.places,
            })
            .collect();
        let pitches: SmallVec<[usize; 4]> = nest.scratch.iter().map(|s| s.pitch as usize).collect();
        let launch = NestLaunch { stages: &stages, extent: nest.extent, grain: nest.grain, pitches: &pitches };
        let met = engine.launch_nest(&launch)? & ready.watch;
        if met != 0 {
            report::nest(engine, &launch, nest, met, warnings);
        }
        Ok(())
    }

    fn literals(&self, step: &KernelStep, consts: &[Scalar]) -> SmallVec<[Scalar; 8]> {
        step.params.iter().map(|&c| self.literal(c, consts)).collect()
    }

    /// Literals of the recorded program come with the run; passes may have appended their own.
    fn literal(&self, id: u32, consts: &[Scalar]) -> Scalar {
        consts.get(id as usize).copied().unwrap_or_else(|| self.plan.program.consts[id as usize])
    }
}

/// Drops the planned program's instructions but for those that are steps: plans are kept, and half of what they take is
/// that.
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

/// Conditions that some instruction of a step wants reported.
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
    /// The bases that passes added, with what they hold.
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

/// Bases of what a kernel's puts take from it.
fn streamed(kernel: &KernelStep) -> SmallVec<[u32; 2]> {
    let mut bases: SmallVec<[u32; 2]> = kernel.bases.iter().copied().filter(|&base| kernel.streams(base)).collect();
    bases.sort_unstable();
    bases.dedup();
    bases
}

/// Asks the engine to put what a kernel makes as it makes it.
fn launch_puts<'v>(
    engine: &dyn Engine,
    executable: &dyn Executable,
    launch: &Launch<'_>,
    kernel: &KernelStep,
    instr: impl Fn(&Put) -> &'v Instr,
    memory: &Memory<'_>,
) -> Result<Option<[u8; 2]>> {
    let operands: SmallVec<[SmallVec<[Operand<'_>; 3]>; 1]> =
        kernel.puts.iter().map(|put| instr(put).reads().map(|view| memory.operand(view)).collect()).collect();
    let puts: SmallVec<[PutCall<'_>; 1]> = kernel
        .puts
        .iter()
        .zip(&operands)
        .map(|(put, ins)| {
            let Instr { op, ty, axes, out, .. } = instr(put);
            let call = LibraryCall { op: *op, ty: *ty, axes: *axes, out: memory.operand(out), ins };
            let argument = |arg: Option<u32>| arg.map(|arg| arg as usize);
            PutCall { call, values: argument(put.values), positions: argument(put.positions), gathers: put.gathers }
        })
        .collect();
    engine.launch_puts(executable, launch, &puts)
}

/// Bases of some arguments of a step's kernels; those that lie in scratch, or have no memory, are nobody's business.
fn kernel_bases<const N: usize>(step: &Step, wanted: impl Fn(ArgKind) -> bool) -> SmallVec<[u32; N]>
where
    [u32; N]: smallvec::Array<Item = u32>,
{
    let scratch = |base: &u32| matches!(step, Step::Nest(nest) if nest.scratch.iter().any(|s| s.base == *base));
    let streams = |base: &u32| step.kernels().any(|kernel| kernel.streams(*base));
    let args = step.kernels().flat_map(|k| k.bases.iter().zip(&k.kernel.args));
    args.filter(|(base, arg)| wanted(arg.kind) && !scratch(base) && !streams(base)).map(|(&base, _)| base).collect()
}

/// Runs an instruction that is a library call or a scan.
pub(crate) fn call<'v>(engine: &dyn Engine, instr: &'v Instr, operand: impl Fn(&'v View) -> Operand<'v>) -> Result<u8> {
    let mut ins: SmallVec<[Operand<'_>; 2]> = SmallVec::new();
    for input in &instr.ins {
        match input {
            IrOperand::View(view) => ins.push(operand(view)),
            IrOperand::Const(_) => {
                return Err(Error::Invalid(format!("{} with a literal operand", instr.op.name())));
            }
        }
    }
    engine.call(&LibraryCall { op: instr.op, ty: instr.ty, axes: instr.axes, out: operand(&instr.out), ins: &ins })
}

/// Addresses of the bases during one run; temporaries are freed with it, also on errors.
struct Memory<'a> {
    slots: &'a [Shared<BaseCell>],
    /// Addresses of the bases that passes added, after the slots.
    temps: Vec<(*mut u8, usize)>,
}

impl<'a> Memory<'a> {
    fn new(plan: &ReadyPlan, slots: &'a [Shared<BaseCell>]) -> Memory<'a> {
        let added = &plan.plan.program.bases[slots.len()..];
        Memory { slots, temps: added.iter().map(|b| (std::ptr::null_mut(), b.nbytes)).collect() }
    }

    /// Gives a base memory; false where it has some.
    fn alloc(&mut self, base: u32) -> Result<bool> {
        match self.slots.get(base as usize) {
            Some(cell) if !cell.address().is_null() => return Ok(false),
            Some(cell) => cell.set_address(POOL.alloc(cell.nbytes)?),
            None => {
                let temp = &mut self.temps[base as usize - self.slots.len()];
                temp.0 = POOL.alloc(temp.1)?;
            }
        }
        Ok(true)
    }

    /// Takes back what [`Memory::alloc`] gave a base that nothing has been written to.
    fn release(&mut self, base: u32) {
        match self.slots.get(base as usize) {
            Some(cell) => cell.release(),
            None => release_temp(&mut self.temps[base as usize - self.slots.len()]),
        }
    }

    /// The temporaries as bases of their own.
    fn into_cells(mut self) -> Vec<Shared<BaseCell>> {
        let cell = |(address, nbytes)| {
            let base = BaseRef::new(nbytes);
            base.0.set_address(address);
            base.into_shared()
        };
        std::mem::take(&mut self.temps).into_iter().map(cell).collect()
    }

    /// Gives a recorded base without memory some. Is all of it zero already?
    fn provide_zeroed(&mut self, base: u32) -> Result<bool> {
        match self.slots.get(base as usize) {
            Some(cell) if cell.address().is_null() => cell.provide_zeroed(),
            Some(_) | None => Ok(false),
        }
    }

    fn free(&mut self, base: u32) {
        match self.slots.get(base as usize) {
            // Nobody but the batch holds it; the count can't rise again, since shares are only cloned from shares.
            Some(cell) if cell.count() == 1 => cell.release(),
            Some(_) => {}
            None => {
                let temp = &mut self.temps[base as usize - self.slots.len()];
                release_temp(temp);
            }
        }
    }

    fn base(&self, base: u32) -> *mut u8 {
        match self.slots.get(base as usize) {
            Some(cell) => cell.address(),
            None => self.temps[base as usize - self.slots.len()].0,
        }
    }

    fn pointers(&self, step: &KernelStep) -> SmallVec<[*mut u8; 16]> {
        let address = |((arg, &base), geometry): ((&Arg, &u32), &ArgGeometry)| match arg.kind {
            ArgKind::Index => std::ptr::null_mut(),
            ArgKind::Load | ArgKind::Gather | ArgKind::Store | ArgKind::Reduced => {
                self.base(base).wrapping_offset(geometry.offset as isize)
            }
        };
        step.kernel.args.iter().zip(&step.bases).zip(&step.geometry.args).map(address).collect()
    }

    fn operand<'v>(&self, view: &'v View) -> Operand<'v> {
        Operand { view, pointer: self.base(view.base).wrapping_offset(view.offset as isize) }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.temps.iter_mut().for_each(release_temp);
    }
}

fn release_temp(temp: &mut (*mut u8, usize)) {
    let address = std::mem::replace(&mut temp.0, std::ptr::null_mut());
    if !address.is_null() {
        // SAFETY: the address came from `POOL.alloc` with this size and has just been taken out.
        unsafe { POOL.free(address, temp.1) };
    }
}
