//! Measures how fast an engine is.
//!
//! A few tiny programs are planned for the engine, compiled and run on its own memory, by the methods that every engine
//! has. Of several runs the fastest counts, because whatever disturbs a run makes it slower. All of it takes about
//! [`BUDGET`] on an engine that is not very slow.

use super::rates::Rates;
use crate::engine::{Buffer, Engine, Executables, Launch, Operand as CallOperand, Task, Ticket, Work, run};
use crate::operands::{argument_buffers, library_call};
use numelt_ir::{Axes, Base, DType, Error, Instr, Op, Operand, Program, Result, Scalar, View};
use numelt_opt::{Cost, KernelStep, Options, Plan, Step};
use smallvec::SmallVec;
use std::time::{Duration, Instant};

/// How long the programs are repeated, so that a compiler in the background can finish.
const BUDGET: Duration = Duration::from_millis(50);
/// The fewest runs of each program.
const FEWEST: usize = 3;
/// Elements of the arrays of programs that do not measure memory, and of the smallest ones.
const MIDDLE: i64 = 1 << 16;
const FEW: i64 = 16;
/// Elements of the largest arrays: far more than caches hold, or as many as an engine has memory for.
const MANY: [i64; 3] = [1 << 21, 1 << 18, 1 << 15];
/// The size of large copies in bytes.
const COPIED: usize = 4 << 20;
/// How many small copies are made.
const COPIES: usize = 8;
/// How many units of work a unit of serial work is taken for, if an engine can do nothing serial that could be
/// measured.
const SERIAL: f64 = 1000.0;
/// The smallest part of a measured time that is not attributed to the launch.
const LEAST: f64 = 0.05;

/// Measures an engine; `is_far` says whether values have to be copied there and back.
///
/// # Errors
/// The engine's errors, and [`Error::Engine`] for an engine that can do nothing that could be measured.
pub(super) fn measure(engine: &dyn Engine, is_far: bool) -> Result<Rates> {
    for elements in MANY {
        match with(engine, elements, is_far) {
            Err(Error::OutOfMemory(_)) => {}
            outcome => return outcome,
        }
    }
    Err(Error::OutOfMemory(MANY[MANY.len() - 1] as usize * 16))
}

fn with(engine: &dyn Engine, many: i64, is_far: bool) -> Result<Rates> {
    let trial = |makers: &[fn(DType, i64) -> Program], n| Trial::first(engine, makers, n);
    let missing = || Error::Engine(format!("{} does nothing that could be measured", engine.name()));
    let small = trial(&[addition], FEW)?.ok_or_else(missing)?;
    let large = trial(&[addition], many)?.ok_or_else(missing)?;
    let heavy = trial(&[sines, products], MIDDLE)?.ok_or_else(missing)?;
    let serial = trial(&[running_sum, sum_of_rows], MIDDLE)?;
    let mut times = [f64::MAX; 4];
    let started = Instant::now();
    for round in 0.. {
        if round >= FEWEST && started.elapsed() >= BUDGET {
            break;
        }
        for (time, trial) in times.iter_mut().zip([Some(&small), Some(&large), Some(&heavy), serial.as_ref()]) {
            if let Some(trial) = trial {
                *time = time.min(trial.nanos()?);
            }
        }
    }
    let launch = times[0];
    let rate = |nanos: f64, units: u64| (nanos - launch).max(nanos * LEAST) / units.max(1) as f64;
    let work = rate(times[2], heavy.cost().work);
    let [upload, download, latency] = if is_far { large.copies()? } else { [0.0; 3] };
    Ok(Rates {
        launch,
        byte: rate(times[1], large.cost().bytes()),
        work,
        serial: serial.map_or(work * SERIAL, |trial| rate(times[3], trial.cost().serial)),
        upload,
        download,
        latency,
    })
}

/// A program on an engine, in memory of its own.
struct Trial<'e> {
    engine: &'e dyn Engine,
    plan: Plan,
    executables: Vec<Executables>,
    /// The memory of each base; zero for bases that need none.
    handles: Vec<u64>,
}

impl<'e> Trial<'e> {
    /// The first program that the engine supports, of doubles if possible.
    fn first(engine: &'e dyn Engine, makers: &[fn(DType, i64) -> Program], n: i64) -> Result<Option<Trial<'e>>> {
        let dtypes = [DType::F64, DType::F32];
        let programs = makers.iter().flat_map(|make| dtypes.map(|dtype| make(dtype, n)));
        for program in programs {
            let options = Options { target: *engine.target(), ..Options::default() };
            let plan = numelt_opt::plan_owned(program, &options)?;
            if plan.steps.iter().all(|step| is_supported(engine, &plan, step)) {
                return Trial::new(engine, plan).map(Some);
            }
        }
        Ok(None)
    }

    fn new(engine: &'e dyn Engine, plan: Plan) -> Result<Trial<'e>> {
        let kernels = |step: &Step| step.kernels().map(|step| engine.compile(&step.kernel)).collect();
        let executables = plan.steps.iter().map(kernels).collect::<Result<_>>()?;
        let mut trial = Trial { engine, plan, executables, handles: Vec::new() };
        for (base, &contracted) in trial.plan.program.bases.iter().zip(&trial.plan.contracted) {
            let handle = if contracted { 0 } else { engine.alloc(base.nbytes)? };
            trial.handles.push(handle);
        }
        // zeros are ordinary numbers; new memory may hold numbers that slow arithmetic down
        engine.upload(&vec![0; trial.plan.program.bases[0].nbytes], trial.place(0))?;
        Ok(trial)
    }

    fn place(&self, base: u32) -> Buffer {
        Buffer { handle: self.handles[base as usize], offset: 0 }
    }

    fn cost(&self) -> Cost {
        let sum = |a: Cost, b: &Cost| Cost {
            read: a.read + b.read,
            written: a.written + b.written,
            work: a.work + b.work,
            serial: a.serial + b.serial,
        };
        self.plan.costs.iter().fold(Cost::default(), sum)
    }

    /// Runs it once.
    fn nanos(&self) -> Result<f64> {
        let start = Instant::now();
        for (step, executables) in self.plan.steps.iter().zip(&self.executables) {
            match step {
                Step::Kernel(kernel) => self.kernel(kernel, executables)?,
                Step::Call(at) => {
                    let operand = |view| self.operand(view);
                    let instr = &self.plan.program.instrs[*at];
                    library_call(instr, operand, |call| run(self.engine, &Work::Call(call)))?
                }
                Step::Nest(_) => return Err(Error::Engine("a nest of a single instruction".into())),
            };
        }
        Ok(start.elapsed().as_nanos() as f64)
    }

    fn kernel(&self, step: &KernelStep, executables: &Executables) -> Result<u8> {
        let params: SmallVec<[Scalar; 4]> =
            step.params.iter().map(|&id| self.plan.program.consts[id as usize]).collect();
        let buffers = argument_buffers(step, |base| self.place(base));
        let launch = Launch { geometry: &step.geometry, buffers: &buffers, params: &params };
        run(self.engine, &Work::Kernel(&*executables[0], &launch, step.delay.as_ref()))
    }

    fn operand<'v>(&self, view: &'v View) -> CallOperand<'v> {
        CallOperand { view, buffer: self.place(view.base).moved(view.offset) }
    }

    /// Nanoseconds for each byte there and back, and for each copy.
    fn copies(&self) -> Result<[f64; 3]> {
        let nbytes = self.plan.program.bases[0].nbytes.min(COPIED);
        let (mut few, mut many) = ([0; 8], vec![0; nbytes]);
        let [mut there, mut back, mut latency] = [f64::MAX; 3];
        let place = self.place(0);
        for _ in 0..COPIES {
            latency = latency.min(nanos(|| self.engine.download(place, &mut few))?);
        }
        for _ in 0..FEWEST {
            // an upload may be queued: a download of a few bytes waits for it
            let both = || self.engine.upload(&many, place).and_then(|()| self.engine.download(place, &mut few));
            there = there.min(nanos(both)?);
            back = back.min(nanos(|| self.engine.download(place, &mut many))?);
        }
        let rate = |nanos: f64| (nanos - latency).max(nanos * LEAST) / nbytes as f64;
        Ok([rate(there), rate(back), latency])
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        for (base, &handle) in self.plan.program.bases.iter().zip(&self.handles) {
            if handle != 0 {
                // all work has been waited for already
                self.engine.free(handle, base.nbytes, Ticket::default());
            }
        }
    }
}

fn nanos(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work().map(|()| start.elapsed().as_nanos() as f64)
}

fn is_supported(engine: &dyn Engine, plan: &Plan, step: &Step) -> bool {
    match step {
        Step::Kernel(step) => step.puts.is_empty() && engine.supports(&Task::Kernel(&step.kernel, step.delay.as_ref())),
        Step::Call(at) => {
            let instr = &plan.program.instrs[*at];
            engine.supports(&Task::Call(instr.op, instr.ty))
        }
        Step::Nest(_) => false,
    }
}

/// A program of one array that is read and one that is written.
fn program(from: View, to: View, steps: impl IntoIterator<Item = (Op, Axes)>) -> Program {
    let ty = from.dtype;
    let nbytes = |view: &View| view.size() as usize * ty.size();
    let bases = vec![
        Base { nbytes: nbytes(&from), input: true, output: true },
        Base { nbytes: nbytes(&to), input: false, output: true },
    ];
    let literal = if ty == DType::F32 { Scalar::F32(1.25) } else { Scalar::F64(1.25) };
    let mut source = from;
    let instrs = steps.into_iter().map(|(op, axes)| {
        let array = Operand::View(std::mem::replace(&mut source, to.clone()));
        let is_binary = matches!(op, Op::Add | Op::Multiply);
        let ins = [Some(array), is_binary.then_some(Operand::Const(0))].into_iter().flatten().collect();
        Instr { op, ty, out: to.clone(), ins, axes, watch: 0 }
    });
    let instrs = instrs.collect();
    Program { bases, consts: vec![literal], instrs }
}

fn elementwise<const N: usize>(dtype: DType, n: i64, ops: [Op; N]) -> Program {
    let array = |base| View::contiguous(base, dtype, &[n]);
    program(array(0), array(1), ops.map(|op| (op, Axes::default())))
}

/// A program with hardly any work, to measure memory or the launch alone.
fn addition(dtype: DType, n: i64) -> Program {
    elementwise(dtype, n, [Op::Add])
}

/// A program with much work on few bytes.
fn sines(dtype: DType, n: i64) -> Program {
    elementwise(dtype, n, [Op::Sin, Op::Exp, Op::Sin, Op::Exp])
}

/// Like [`sines`], for an engine that has no such functions.
fn products(dtype: DType, n: i64) -> Program {
    elementwise(dtype, n, [Op::Multiply; 64])
}

/// A program of additions each of which needs the one before.
fn running_sum(dtype: DType, n: i64) -> Program {
    let array = |base| View::contiguous(base, dtype, &[n]);
    program(array(0), array(1), [(Op::Cumsum, Axes::all(1))])
}

/// Like [`running_sum`], for an engine that has no scans: many such chains side by side.
fn sum_of_rows(dtype: DType, n: i64) -> Program {
    let (rows, columns) = (n / FEW, FEW);
    let from = View::contiguous(0, dtype, &[rows, columns]);
    program(from, View::contiguous(1, dtype, &[1, columns]), [(Op::Sum, Axes::all(1))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null::NullEngine;

    #[test]
    fn the_programs_are_valid_and_cost_what_they_are_for() {
        for make in [addition, sines, products, running_sum, sum_of_rows] as [fn(DType, i64) -> Program; 5] {
            for dtype in [DType::F64, DType::F32] {
                assert_eq!(numelt_ir::verify(&make(dtype, MIDDLE)), Ok(()));
            }
        }
        let cost = |make: fn(DType, i64) -> Program| {
            let trial = Trial::first(&NullEngine, &[make], MIDDLE).unwrap().unwrap();
            assert_eq!(trial.plan.steps.len(), 1);
            trial.cost()
        };
        let heavy = [cost(sines), cost(products)];
        assert!(heavy.iter().all(|cost| cost.work > 2 * cost.bytes() && cost.serial == 0), "{heavy:?}");
        assert_eq!(cost(addition), Cost { read: 1 << 19, written: 1 << 19, work: 1 << 16, serial: 0 });
        assert_eq!([cost(running_sum), cost(sum_of_rows)].map(|cost| cost.serial), [(1 << 16) - 1, (1 << 12) - 1]);
    }

    #[test]
    fn every_rate_of_an_engine_makes_sense() {
        for is_far in [false, true] {
            let rates = measure(&NullEngine, is_far).unwrap();
            let Rates { launch, byte, work, serial, upload, download, latency } = rates;
            let all = [launch, byte, work, serial, upload, download, latency];
            assert!(all.iter().all(|rate| (0.0..1e9).contains(rate)), "{rates:?}");
            assert_eq!(upload > 0.0 && download > 0.0, is_far);
        }
    }
}
