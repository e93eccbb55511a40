//! Measures what code for one geometry gains: launches on one thread with the code for all geometries, with variants
//! for every tile, and with those that the engine selects. The kernels are stencils of one to four axes, the update
//! step of Gauss elimination and LU, and kernels on arrays of short rows. Run with `--release`.
//!
//! `cargo run --release -p numelt-engine-cpu --example variants` prints one line of JSON per case.

use numelt_engine_cpu::{CpuEngine, Jit, Options as EngineOptions, Variants};
use numelt_ir::{Program, Scalar};
use numelt_opt::{KernelStep, Options, Step, plan};
use numelt_runtime::{Buffer, Engine, Executable, Launch, Work, run};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

/// A stencil of two neighbours along each axis and the middle element.
fn stencil(extents: &[i64]) -> String {
    let padded: Vec<i64> = extents.iter().map(|n| n + 2).collect();
    let mut strides = vec![8i64; padded.len()];
    for axis in (0..padded.len() - 1).rev() {
        strides[axis] = strides[axis + 1] * padded[axis + 1];
    }
    let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let (shape, steps) = (list(extents), list(&strides));
    let view = |base: usize, offset: i64| format!("%{base}[f64 +{offset} ({shape}):({steps})]");
    let whole = |base: usize| format!("%{base}[f64 ({shape})]");
    let middle: i64 = strides.iter().sum();
    let points: i64 = extents.iter().product();
    let neighbours: Vec<i64> = strides.iter().flat_map(|s| [middle - s, middle + s]).collect();
    let mut text = format!("base %0 {} in\nbase %1 {} out\n", 8 * padded.iter().product::<i64>(), 8 * points);
    for k in 0..neighbours.len() {
        let _ = writeln!(text, "base %{} {}", k + 2, 8 * points);
    }
    text += "const $0 = f64 0.2\n";
    let mut sum = view(0, middle);
    for (k, offset) in neighbours.iter().enumerate() {
        let _ = writeln!(text, "{} = add.f64 {sum}, {}", whole(k + 2), view(0, *offset));
        sum = whole(k + 2);
    }
    let _ = writeln!(text, "{} = multiply.f64 {sum}, $0", whole(1));
    text
}

/// The step of Gauss elimination and LU on the rows below the pivot, in a matrix of 600 columns.
fn elimination(rows: i64, columns: i64) -> String {
    let pitch = 8 * 600;
    format!(
        "base %0 {0} in out\nbase %1 {1} in\nbase %2 {0} in\nbase %3 {2}\n\
         %3[f64 ({rows}, {columns})] = multiply.f64 %1[f64 ({rows}, {columns}):(8, 0)], %2[f64 ({rows}, {columns}):(0, 8)]\n\
         %0[f64 ({rows}, {columns}):({pitch}, 8)] = subtract.f64 %0[f64 ({rows}, {columns}):({pitch}, 8)], %3[f64 ({rows}, {columns})]\n",
        pitch * rows,
        8 * rows,
        8 * rows * columns,
    )
}

/// `(a - row) * column` on rows of this many elements, perhaps summed by rows.
fn rows(n: i64, inner: i64, sums: bool) -> String {
    let shape = format!("({n}, {inner})");
    let bytes = 8 * n * inner;
    let mut text = format!("base %0 {bytes} in\nbase %1 {} in\nbase %2 {} in\nbase %3 {bytes}\n", 8 * inner, 8 * n);
    let mut line = |line: String| text += &(line + "\n");
    if sums {
        line(format!("base %4 {bytes}\nbase %5 {} out", 8 * n));
    } else {
        line(format!("base %4 {bytes} out"));
    }
    line(format!("%3[f64 {shape}] = subtract.f64 %0[f64 {shape}], %1[f64 {shape}:(0, 8)]"));
    line(format!("%4[f64 {shape}] = multiply.f64 %3[f64 {shape}], %2[f64 {shape}:(8, 0)]"));
    if sums {
        line(format!("%5[f64 ({n}, 1)] = sum.f64 %4[f64 {shape}] axes=(1)"));
    }
    text
}

/// A kernel with memory for its arguments.
struct Case {
    step: KernelStep,
    buffers: Vec<Buffer>,
    params: Vec<Scalar>,
    _memory: Vec<Vec<f64>>,
}

/// An engine that has prepared a case.
struct Prepared {
    engine: CpuEngine,
    executable: Arc<dyn Executable>,
}

impl Case {
    fn new(text: &str) -> Case {
        let program: Program = text.parse().expect("a program");
        let plan = plan(&program, &Options::default()).expect("a plan");
        let [Step::Kernel(step)] = &plan.steps[..] else { panic!("more than one kernel:\n{program}") };
        let mut memory: Vec<Vec<f64>> = program.bases.iter().map(|b| vec![0.5; b.nbytes.div_ceil(8) + 8]).collect();
        let bases: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr().cast()).collect();
        let place = |(base, arg): (&u32, &numelt_opt::ArgGeometry)| Buffer::at(bases[*base as usize]).moved(arg.offset);
        let buffers = step.bases.iter().zip(&step.geometry.args).map(place).collect();
        let params = step.params.iter().map(|&p| plan.program.consts[p as usize]).collect();
        Case { step: step.clone(), buffers, params, _memory: memory }
    }

    fn prepare(&self, variants: Variants) -> Prepared {
        let options =
            EngineOptions { threads: 1, jit: Jit::Sync, variants, serial_below: 1, ..EngineOptions::default() };
        let engine = CpuEngine::new(options);
        let executable = engine.compile(&self.step.kernel).expect("compiles");
        Prepared { engine, executable }
    }

    fn run(&self, on: &Prepared) {
        let launch = Launch { geometry: &self.step.geometry, buffers: &self.buffers, params: &self.params };
        run(&on.engine, &Work::Kernel(&*on.executable, &launch, None)).expect("runs");
    }

    /// Seconds of one launch, on average over a batch.
    fn seconds(&self, on: &Prepared, batch: u32) -> f64 {
        let start = Instant::now();
        (0..batch).for_each(|_| self.run(on));
        start.elapsed().as_secs_f64() / f64::from(batch)
    }

    /// Runs until the engine has chosen its code; returns how many launches take long enough to be timed.
    fn settle(&self, on: &Prepared) -> u32 {
        let start = Instant::now();
        let mut launches = 0;
        while launches < 200 || start.elapsed().as_millis() < 60 {
            self.run(on);
            launches += 1;
        }
        (20e-6 * f64::from(launches) / start.elapsed().as_secs_f64()).ceil() as u32
    }
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(200, |r| r.parse().expect("a number of rounds"));
    let shapes: [&[i64]; 10] = [
        &[1_000_000],
        &[1000],
        &[1000, 1000],
        &[100, 100],
        &[100, 100, 100],
        &[20, 20, 20],
        &[32, 32, 32, 32],
        &[10, 10, 10, 10],
        &[8, 8, 8, 8],
        &[3, 3, 3, 3],
    ];
    let mut cases: Vec<(String, Vec<i64>, Case)> =
        shapes.iter().map(|s| (format!("stencil, {}-D", s.len()), s.to_vec(), Case::new(&stencil(s)))).collect();
    for n in [599, 300, 64, 16] {
        cases.push(("elimination step".into(), vec![n, n], Case::new(&elimination(n, n))));
    }
    for inner in [2, 3, 4, 5, 7, 9, 19, 30] {
        let n = 60_000 / inner;
        cases.push(("(a - row) * column".into(), vec![n, inner], Case::new(&rows(n, inner, false))));
    }
    for inner in [3, 9, 30] {
        let n = 60_000 / inner;
        cases.push(("the same, summed by rows".into(), vec![n, inner], Case::new(&rows(n, inner, true))));
    }
    for (name, shape, case) in &cases {
        let start = Instant::now();
        let dynamic = case.prepare(Variants::Dynamic);
        let compile = start.elapsed().as_secs_f64();
        let all = [dynamic, case.prepare(Variants::Fixed), case.prepare(Variants::Selected)];
        let batch = all.iter().map(|on| case.settle(on)).min().expect("three");
        let mut best = [f64::INFINITY; 3];
        for _ in 0..rounds {
            for (best, on) in best.iter_mut().zip(&all) {
                *best = best.min(case.seconds(on, batch));
            }
        }
        let [dynamic, fixed, selected] = best.map(|seconds| seconds * 1e6);
        println!(
            "{{\"name\": \"{name}\", \"shape\": {shape:?}, \"dynamic_us\": {dynamic:.3}, \"fixed_us\": {fixed:.3}, \
             \"selected_us\": {selected:.3}, \"tier\": \"{}\", \"compile_ms\": {:.3}}}",
            all[2].executable.tier(),
            compile * 1e3
        );
    }
}
