//! The conformance suite for engines: random programs, every partition, against the reference interpreter.
//!
//! ```text
//! #[test]
//! fn conforms() {
//!     numelt_testing::engine::conforms(&CpuEngine::new(…), 2000);
//! }
//! ```

use crate::compare::Tolerance;
use crate::conformance::{CheckOptions, check_program};
use crate::generator::{Limits, generate};
use crate::targets::keeps_to;
use numelt_ir::{Error, Instr, OpKind, Operand as IrOperand, Program, Result, Scalar, View};
use numelt_opt::{ArgKind, Fuse, Kernel, KernelStep, NestStep, Node, Options, Plan, Stage, Step, Target};
use numelt_runtime::{Engine, Executable, Launch, LibraryCall, NestLaunch, Operand, PutCall, StageLaunch};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes around a base that nobody may touch.
const GUARD: usize = 64;
/// What guards and fresh memory hold.
const FILL: u8 = 0xA5;

/// Runs the random programs of seeds `0..programs` through the optimizer and the engine, with every
/// partition. Programs with an operation that the engine does not support are left out.
///
/// # Panics
/// With the first failing program, cut down and in text form.
pub fn conforms(engine: &dyn Engine, programs: u64) {
    conforms_for(engine, engine.target(), programs);
}

/// The same with plans for another target than the engine's: an engine runs any plan.
///
/// # Panics
/// With the first failing program, cut down and in text form.
pub fn conforms_for(engine: &dyn Engine, target: &Target, programs: u64) {
    let limits = Limits::default();
    let mut compiled = Compiled::default();
    for seed in 0..programs {
        let program = generate(seed, &limits);
        let fuse = Fuse::ALL[seed as usize % Fuse::ALL.len()];
        let options = Options { fuse, target: *target, ..Options::default() };
        check_on(engine, &program, seed, &options, &mut compiled)
            .unwrap_or_else(|message| panic!("seed {seed}: {message}"));
    }
}

/// Checks one program with one partition on an engine.
///
/// # Errors
/// The failing program, cut down, and what differs.
pub fn check_engine(engine: &dyn Engine, program: &Program, seed: u64, fuse: Fuse) -> std::result::Result<(), String> {
    let options = Options { fuse, target: *engine.target(), ..Options::default() };
    check_on(engine, program, seed, &options, &mut Compiled::default())
}

fn check_on(
    engine: &dyn Engine,
    program: &Program,
    seed: u64,
    options: &Options,
    compiled: &mut Compiled,
) -> std::result::Result<(), String> {
    let check = CheckOptions { seed, tolerance: Tolerance::ENGINE };
    let mut executor = |program: &Program, memory: &mut [Vec<u8>]| {
        let plan = numelt_opt::plan(program, options)?;
        keeps_to(&options.target, &plan).map_err(Error::Invalid)?;
        if supports(engine, &plan) {
            run_on(engine, &plan, memory, compiled)
        } else {
            numelt_ir::interpret(program, memory)
        }
    };
    check_program(program, &check, &mut executor)
        .map_err(|failure| format!("engine {}, {options:?}\n{failure}", engine.name()))
}

/// Kernels that were compiled, by structure.
type Compiled = HashMap<Arc<Kernel>, Arc<dyn Executable>>;

/// Does the engine support everything that a plan asks for?
pub fn supports(engine: &dyn Engine, plan: &Plan) -> bool {
    plan.steps.iter().all(|step| match step {
        Step::Call(index) => {
            let instr = &plan.program.instrs[*index];
            engine.supports(instr.op, instr.ty)
        }
        Step::Kernel(_) | Step::Nest(_) => step.kernels().all(|step| {
            step.kernel.body.iter().all(|node| match node {
                Node::Op(op, ty, _) => engine.supports(*op, *ty),
                Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => true,
            }) && step.kernel.reductions.iter().all(|fold| engine.supports(fold.op, fold.ty))
        }),
    })
}

/// Runs a plan on an engine, every base between guards.
fn run_on(engine: &dyn Engine, plan: &Plan, memory: &mut [Vec<u8>], compiled: &mut Compiled) -> Result<()> {
    let mut buffers: Vec<Guarded> = plan
        .program
        .bases
        .iter()
        .enumerate()
        .map(|(id, base)| Guarded::new(id, base.nbytes, memory.get(id).map(Vec::as_slice)))
        .collect();
    let starts: Vec<*mut u8> = buffers.iter_mut().map(Guarded::start).collect();
    for step in &plan.steps {
        match step {
            Step::Kernel(step) => launch(engine, plan, step, &starts, compiled)?,
            Step::Nest(nest) => launch_nest(engine, plan, nest, &starts, compiled)?,
            Step::Call(index) => call(engine, plan, &plan.program.instrs[*index], &starts)?,
        }
    }
    engine.sync()?;
    for (id, buffer) in buffers.iter().enumerate() {
        let bytes = buffer.bytes().ok_or_else(|| Error::Invalid(format!("memory around %{id} was overwritten")))?;
        if let Some(slot) = memory.get_mut(id) {
            *slot = bytes;
        }
    }
    Ok(())
}

fn launch(
    engine: &dyn Engine,
    plan: &Plan,
    step: &KernelStep,
    starts: &[*mut u8],
    compiled: &mut Compiled,
) -> Result<()> {
    let executable = executable(engine, step, compiled)?;
    let (pointers, params) = operands(plan, step, starts);
    let launch = Launch { geometry: &step.geometry, pointers: &pointers, params: &params };
    if !step.puts.is_empty() {
        return launch_puts(engine, plan, step, &*executable, &launch, starts);
    }
    match &step.delay {
        Some(delay) => engine.launch_delayed(&*executable, &launch, delay),
        None => engine.launch(&*executable, &launch),
    }
    .map(drop)
}

/// A kernel whose results are put where positions say.
fn launch_puts(
    engine: &dyn Engine,
    plan: &Plan,
    step: &KernelStep,
    executable: &dyn Executable,
    launch: &Launch<'_>,
    starts: &[*mut u8],
) -> Result<()> {
    let operand = |view| Operand { view, pointer: address(view, starts) };
    let instrs: Vec<&Instr> = step.puts.iter().map(|put| &plan.program.instrs[put.instr]).collect();
    let operands: Vec<Vec<Operand<'_>>> = instrs.iter().map(|instr| instr.reads().map(operand).collect()).collect();
    let puts = step.puts.iter().zip(&instrs).zip(&operands).map(|((put, instr), ins)| {
        let call = LibraryCall { op: instr.op, ty: instr.ty, axes: instr.axes, out: operand(&instr.out), ins };
        let argument = |arg: Option<u32>| arg.map(|arg| arg as usize);
        PutCall { call, values: argument(put.values), positions: argument(put.positions), gathers: put.gathers }
    });
    if engine.launch_puts(executable, launch, &puts.collect::<Vec<_>>())?.is_none() {
        engine.launch(executable, launch)?;
        instrs.iter().try_for_each(|instr| call(engine, plan, instr, starts))?;
    }
    Ok(())
}

fn address(view: &View, starts: &[*mut u8]) -> *mut u8 {
    starts[view.base as usize].wrapping_offset(view.offset as isize)
}

fn executable(engine: &dyn Engine, step: &KernelStep, compiled: &mut Compiled) -> Result<Arc<dyn Executable>> {
    if let Some(known) = compiled.get(&step.kernel) {
        return Ok(known.clone());
    }
    let fresh = engine.compile(&step.kernel)?;
    compiled.insert(step.kernel.clone(), fresh.clone());
    Ok(fresh)
}

/// Addresses and literals of a kernel.
fn operands(plan: &Plan, step: &KernelStep, starts: &[*mut u8]) -> (Vec<*mut u8>, Vec<Scalar>) {
    let places = step.kernel.args.iter().zip(&step.geometry.args).zip(&step.bases);
    let pointers = places.map(|((arg, place), base)| match arg.kind {
        ArgKind::Index => std::ptr::null_mut(),
        ArgKind::Load | ArgKind::Gather | ArgKind::Store | ArgKind::Reduced => {
            starts[*base as usize].wrapping_offset(place.offset as isize)
        }
    });
    (pointers.collect(), step.params.iter().map(|&id| plan.program.consts[id as usize]).collect())
}

fn launch_nest(
    engine: &dyn Engine,
    plan: &Plan,
    nest: &NestStep,
    starts: &[*mut u8],
    compiled: &mut Compiled,
) -> Result<()> {
    let mut all = Vec::new();
    for Stage { step, places, .. } in &nest.stages {
        let (mut pointers, params) = operands(plan, step, starts);
        for ((pointer, place), at) in pointers.iter_mut().zip(places).zip(&step.geometry.args) {
            if let Some(scratch) = place.map(|p| nest.scratch[p as usize]) {
                *pointer = std::ptr::without_provenance_mut((at.offset - scratch.low) as usize);
            }
        }
        all.push((executable(engine, step, compiled)?, pointers, params));
    }
    let stages: Vec<StageLaunch<'_>> = nest
        .stages
        .iter()
        .zip(&all)
        .map(|(stage, (executable, pointers, params))| StageLaunch {
            executable: &**executable,
            launch: Launch { geometry: &stage.step.geometry, pointers, params },
            shared: stage.shared,
            places: &stage.places,
        })
        .collect();
    let pitches: Vec<usize> = nest.scratch.iter().map(|s| s.pitch as usize).collect();
    let launch = NestLaunch { stages: &stages, extent: nest.extent, grain: nest.grain, pitches: &pitches };
    engine.launch_nest(&launch).map(drop)
}

fn call(engine: &dyn Engine, plan: &Plan, instr: &Instr, starts: &[*mut u8]) -> Result<()> {
    debug_assert!(matches!(instr.op.kind(), OpKind::Scan | OpKind::Library));
    let ins: Result<Vec<Operand<'_>>> = instr
        .ins
        .iter()
        .map(|operand| match operand {
            IrOperand::View(view) => Ok(Operand { view, pointer: address(view, starts) }),
            IrOperand::Const(_) => Err(Error::Invalid(format!("`{instr}` has a literal operand in {plan}"))),
        })
        .collect();
    let out = Operand { view: &instr.out, pointer: address(&instr.out, starts) };
    engine.call(&LibraryCall { op: instr.op, ty: instr.ty, axes: instr.axes, out, ins: &ins? }).map(drop)
}

/// Memory at a cache line's start.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The bytes of a base between guards.
struct Guarded {
    lines: Vec<Line>,
    /// Where the base starts: NumPy aligns memory to 16 bytes only, so do we.
    at: usize,
    nbytes: usize,
}

impl Guarded {
    fn new(id: usize, nbytes: usize, values: Option<&[u8]>) -> Guarded {
        let at = GUARD + id % 4 * 16;
        let lines = vec![Line([FILL; 64]); (at + nbytes + GUARD).div_ceil(64)];
        let mut buffer = Guarded { lines, at, nbytes };
        for (i, byte) in values.unwrap_or_default().iter().take(nbytes).enumerate() {
            buffer.lines[(at + i) / 64].0[(at + i) % 64] = *byte;
        }
        buffer
    }

    fn start(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().cast::<u8>().wrapping_add(self.at)
    }

    /// The base's bytes; none if a guard was touched.
    fn bytes(&self) -> Option<Vec<u8>> {
        let all: Vec<u8> = self.lines.iter().flat_map(|line| line.0).collect();
        let (before, rest) = all.split_at(self.at);
        let (bytes, after) = rest.split_at(self.nbytes);
        before.iter().chain(after).all(|b| *b == FILL).then(|| bytes.to_vec())
    }
}
