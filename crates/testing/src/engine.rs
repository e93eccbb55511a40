//! The conformance suite for engines: random programs with every partition, compared with the reference interpreter.
//!
//! The programs run in the engine's own memory: values are uploaded, every base lies between guard bytes, and the
//! results are downloaded. So the same suite serves engines in host memory and on devices:
//!
//! ```text
//! #[test]
//! fn conforms() {
//!     numelt_testing::engine::conforms(&MyEngine::new(…), 2000);
//! }
//! ```

use crate::compare::Tolerance;
use crate::conformance::{CheckOptions, check_program};
use crate::generator::{Limits, generate};
use crate::targets::keeps_to;
use numelt_ir::{Error, Instr, OpKind, Operand as IrOperand, Program, Result, Scalar, View};
use numelt_opt::{ArgKind, Fuse, Kernel, KernelStep, NestStep, Options, Plan, Stage, Step, Target};
use numelt_runtime::{
    Buffer, Engine, Executable, Host, Launch, LibraryCall, NestLaunch, Operand, PutCall, StageLaunch, Task, Ticket,
    Work, run,
};
use std::collections::HashMap;
use std::sync::Arc;

/// The number of guard bytes on each side of a base, which nobody may change.
const GUARD: usize = 64;
/// The value of guard bytes and of fresh memory.
const FILL: u8 = 0xA5;

/// An engine under test.
#[derive(Clone, Copy)]
pub struct Tested<'a> {
    engine: &'a dyn Engine,
    /// The same engine as a host engine, if it is one.
    host: Option<&'a dyn Host>,
}

impl<'a> Tested<'a> {
    /// An engine with memory of its own.
    pub fn device(engine: &'a dyn Engine) -> Tested<'a> {
        Tested { engine, host: None }
    }

    /// An engine that computes in host memory.
    pub fn host(host: &'a dyn Host) -> Tested<'a> {
        Tested { engine: host, host: Some(host) }
    }
}

/// Runs the random programs of seeds `0..programs` through the optimizer and the engine, with every partition. Programs
/// with a step that the engine does not support are left out.
///
/// # Panics
/// With the first failing program, shrunk and in text form.
pub fn conforms(tested: Tested<'_>, programs: u64) {
    conforms_for(tested, tested.engine.target(), programs);
}

/// Like [`conforms`], with plans for another target than the engine's, because an engine must run any plan.
///
/// # Panics
/// With the first failing program, shrunk and in text form.
pub fn conforms_for(tested: Tested<'_>, target: &Target, programs: u64) {
    let limits = Limits::default();
    let mut compiled = Compiled::default();
    for seed in 0..programs {
        let program = generate(seed, &limits);
        let fuse = Fuse::ALL[seed as usize % Fuse::ALL.len()];
        let options = Options { fuse, target: *target, ..Options::default() };
        check_on(tested, &program, seed, &options, &mut compiled)
            .unwrap_or_else(|message| panic!("seed {seed}: {message}"));
    }
}

/// Checks one program with one partition on an engine.
///
/// # Errors
/// The failing program, shrunk, and what differs.
pub fn check_engine(tested: Tested<'_>, program: &Program, seed: u64, fuse: Fuse) -> std::result::Result<(), String> {
    let options = Options { fuse, target: *tested.engine.target(), ..Options::default() };
    check_on(tested, program, seed, &options, &mut Compiled::default())
}

fn check_on(
    tested: Tested<'_>,
    program: &Program,
    seed: u64,
    options: &Options,
    compiled: &mut Compiled,
) -> std::result::Result<(), String> {
    let check = CheckOptions { seed, tolerance: Tolerance::ENGINE };
    let mut executor = |program: &Program, memory: &mut [Vec<u8>]| {
        let plan = numelt_opt::plan(program, options)?;
        keeps_to(&options.target, &plan).map_err(Error::Invalid)?;
        if supports(tested.engine, &plan) {
            run_on(tested, &plan, memory, compiled)
        } else {
            numelt_ir::interpret(program, memory)
        }
    };
    check_program(program, &check, &mut executor)
        .map_err(|failure| format!("engine {}, {options:?}\n{failure}", tested.engine.name()))
}

/// The compiled kernels, by their structure.
type Compiled = HashMap<Arc<Kernel>, Arc<dyn Executable>>;

/// Whether the engine supports everything that a plan needs.
pub fn supports(engine: &dyn Engine, plan: &Plan) -> bool {
    let call = |instr: &Instr| engine.supports(&Task::Call(instr.op, instr.ty));
    plan.steps.iter().all(|step| match step {
        Step::Call(at) => call(&plan.program.instrs[*at]),
        Step::Nest(nest) => engine.supports(&Task::Nest(nest)),
        Step::Kernel(step) => {
            engine.supports(&Task::Kernel(&step.kernel, step.delay.as_ref()))
                && step.puts.iter().all(|put| call(&plan.program.instrs[put.instr]))
        }
    })
}

/// Runs a plan on an engine, with every base between guard bytes.
fn run_on(tested: Tested<'_>, plan: &Plan, memory: &mut [Vec<u8>], compiled: &mut Compiled) -> Result<()> {
    let engine = tested.engine;
    let bases = plan.program.bases.iter().enumerate();
    let buffers = bases.map(|(id, base)| Guarded::new(engine, id, base.nbytes, memory.get(id).map(Vec::as_slice)));
    let buffers: Vec<Guarded<'_>> = buffers.collect::<Result<_>>()?;
    let starts: Vec<Buffer> = buffers.iter().map(Guarded::start).collect();
    let mut on = On { tested, plan, starts: &starts, compiled };
    for step in &plan.steps {
        match step {
            Step::Kernel(step) => on.launch(step)?,
            Step::Nest(nest) => on.nest(nest)?,
            Step::Call(index) => on.call(&plan.program.instrs[*index])?,
        }
    }
    for (id, buffer) in buffers.iter().enumerate() {
        let bytes = buffer.bytes()?.ok_or_else(|| Error::Invalid(format!("memory around %{id} was overwritten")))?;
        if let Some(slot) = memory.get_mut(id) {
            *slot = bytes;
        }
    }
    Ok(())
}

/// A plan that is being run on an engine.
struct On<'a> {
    tested: Tested<'a>,
    plan: &'a Plan,
    /// The memory of each base.
    starts: &'a [Buffer],
    compiled: &'a mut Compiled,
}

impl On<'_> {
    fn launch(&mut self, step: &KernelStep) -> Result<()> {
        let executable = self.executable(step)?;
        let (buffers, params) = self.operands(step);
        let launch = Launch { geometry: &step.geometry, buffers: &buffers, params: &params };
        if !step.puts.is_empty() {
            return self.puts(step, &*executable, &launch);
        }
        run(self.tested.engine, &Work::Kernel(&*executable, &launch, step.delay.as_ref())).map(drop)
    }

    /// Runs a kernel whose results are scattered to positions.
    fn puts(&self, step: &KernelStep, executable: &dyn Executable, launch: &Launch<'_>) -> Result<()> {
        let operand = |view| self.operand(view);
        let instrs: Vec<&Instr> = step.puts.iter().map(|put| &self.plan.program.instrs[put.instr]).collect();
        let operands: Vec<Vec<Operand<'_>>> = instrs.iter().map(|instr| instr.reads().map(operand).collect()).collect();
        let puts = step.puts.iter().zip(&instrs).zip(&operands).map(|((put, instr), ins)| {
            let call = LibraryCall { op: instr.op, ty: instr.ty, axes: instr.axes, out: operand(&instr.out), ins };
            let argument = |arg: Option<u32>| arg.map(|arg| arg as usize);
            PutCall { call, values: argument(put.values), positions: argument(put.positions), gathers: put.gathers }
        });
        let done = match self.tested.host {
            Some(host) => host.puts(executable, launch, &puts.collect::<Vec<_>>())?,
            None => None,
        };
        if done.is_none() {
            run(self.tested.engine, &Work::Kernel(executable, launch, None))?;
            instrs.iter().try_for_each(|instr| self.call(instr))?;
        }
        Ok(())
    }

    fn operand<'v>(&self, view: &'v View) -> Operand<'v> {
        Operand { view, buffer: self.starts[view.base as usize].moved(view.offset) }
    }

    fn executable(&mut self, step: &KernelStep) -> Result<Arc<dyn Executable>> {
        if let Some(known) = self.compiled.get(&step.kernel) {
            return Ok(known.clone());
        }
        let fresh = self.tested.engine.compile(&step.kernel)?;
        self.compiled.insert(step.kernel.clone(), fresh.clone());
        Ok(fresh)
    }

    /// The positions of a kernel's arguments, and its literals.
    fn operands(&self, step: &KernelStep) -> (Vec<Buffer>, Vec<Scalar>) {
        let places = step.kernel.args.iter().zip(&step.geometry.args).zip(&step.bases);
        let buffers = places.map(|((arg, place), base)| match arg.kind {
            ArgKind::Index => Buffer::NONE,
            ArgKind::Load | ArgKind::Gather | ArgKind::Store | ArgKind::Reduced => {
                self.starts[*base as usize].moved(place.offset)
            }
        });
        (buffers.collect(), step.params.iter().map(|&id| self.plan.program.consts[id as usize]).collect())
    }

    fn nest(&mut self, nest: &NestStep) -> Result<()> {
        let mut all = Vec::new();
        for Stage { step, places, .. } in &nest.stages {
            let (mut buffers, params) = self.operands(step);
            for ((buffer, place), at) in buffers.iter_mut().zip(places).zip(&step.geometry.args) {
                if let Some(scratch) = place.map(|p| nest.scratch[p as usize]) {
                    *buffer = Buffer::NONE.moved(at.offset - scratch.low);
                }
            }
            all.push((self.executable(step)?, buffers, params));
        }
        let stages: Vec<StageLaunch<'_>> = nest
            .stages
            .iter()
            .zip(&all)
            .map(|(stage, (executable, buffers, params))| StageLaunch {
                executable: &**executable,
                launch: Launch { geometry: &stage.step.geometry, buffers, params },
                shared: stage.shared,
                places: &stage.places,
            })
            .collect();
        let pitches: Vec<usize> = nest.scratch.iter().map(|s| s.pitch as usize).collect();
        let launch = NestLaunch { stages: &stages, extent: nest.extent, grain: nest.grain, pitches: &pitches };
        run(self.tested.engine, &Work::Nest(&launch)).map(drop)
    }

    fn call(&self, instr: &Instr) -> Result<()> {
        debug_assert!(matches!(instr.op.kind(), OpKind::Scan | OpKind::Library));
        let ins: Result<Vec<Operand<'_>>> = instr
            .ins
            .iter()
            .map(|operand| match operand {
                IrOperand::View(view) => Ok(self.operand(view)),
                IrOperand::Const(_) => Err(Error::Invalid(format!("`{instr}` has a literal operand in {}", self.plan))),
            })
            .collect();
        let (op, ty, axes) = (instr.op, instr.ty, instr.axes);
        let call = LibraryCall { op, ty, axes, out: self.operand(&instr.out), ins: &ins? };
        run(self.tested.engine, &Work::Call(&call)).map(drop)
    }
}

/// The bytes of a base between guard bytes, in the engine's memory.
struct Guarded<'a> {
    engine: &'a dyn Engine,
    handle: u64,
    /// The size in bytes, including the guard bytes.
    whole: usize,
    /// The offset of the base. It is aligned to 16 bytes only, as NumPy's memory is.
    at: usize,
    nbytes: usize,
}

impl<'a> Guarded<'a> {
    fn new(engine: &'a dyn Engine, id: usize, nbytes: usize, values: Option<&[u8]>) -> Result<Guarded<'a>> {
        let at = GUARD + id % 4 * 16;
        let whole = (at + nbytes + GUARD).next_multiple_of(64);
        let mut bytes = vec![FILL; whole];
        let values = values.unwrap_or_default();
        let given = values.len().min(nbytes);
        bytes[at..at + given].copy_from_slice(&values[..given]);
        let handle = engine.alloc(whole)?;
        let guarded = Guarded { engine, handle, whole, at, nbytes };
        engine.upload(&bytes, Buffer { handle, offset: 0 })?;
        Ok(guarded)
    }

    fn start(&self) -> Buffer {
        Buffer { handle: self.handle, offset: self.at as i64 }
    }

    /// The bytes of the base; `None` if a guard byte has changed.
    fn bytes(&self) -> Result<Option<Vec<u8>>> {
        let mut all = vec![0; self.whole];
        self.engine.download(Buffer { handle: self.handle, offset: 0 }, &mut all)?;
        let (before, rest) = all.split_at(self.at);
        let (bytes, after) = rest.split_at(self.nbytes);
        Ok(before.iter().chain(after).all(|b| *b == FILL).then(|| bytes.to_vec()))
    }
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        self.engine.free(self.handle, self.whole, Ticket(u64::MAX));
    }
}
