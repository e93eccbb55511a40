//! Would code for one geometry pay? Dynamic kernels against variants with constant extents and strides: stencils of
//! one to four dimensions, and the update step of Gauss and LU. One thread. Run with `--release`.
//!
//! `cargo run --release -p numelt-engine-cpu --example variants` prints one line of JSON per case.

use numelt_engine_cpu::body::{Body, Tile};
use numelt_engine_cpu::llvm::{self, Constants};
use numelt_ir::{Program, Scalar};
use numelt_opt::{KernelStep, Options, Step, plan};
use numelt_vecmath::Isa;
use std::fmt::Write;
use std::time::Instant;

/// A stencil of two neighbours along each axis, and its middle.
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

/// What Gauss elimination and LU do to the rows below the pivot, in a matrix of 600 columns.
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

/// A kernel with memory for its arguments.
struct Case {
    step: KernelStep,
    pointers: Vec<*mut u8>,
    _memory: Vec<Vec<f64>>,
}

impl Case {
    fn new(text: &str) -> Case {
        let program: Program = text.parse().expect("a program");
        let plan = plan(&program, &Options::default()).expect("a plan");
        let [Step::Kernel(step)] = &plan.steps[..] else { panic!("more than one kernel:\n{program}") };
        let mut memory: Vec<Vec<f64>> = program.bases.iter().map(|b| vec![0.5; b.nbytes.div_ceil(8) + 8]).collect();
        let bases: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr().cast()).collect();
        let place =
            |(base, arg): (&u32, &numelt_opt::ArgGeometry)| bases[*base as usize].wrapping_offset(arg.offset as isize);
        let pointers = step.bases.iter().zip(&step.geometry.args).map(place).collect();
        Case { step: step.clone(), pointers, _memory: memory }
    }

    fn extents(&self) -> &[i64] {
        &self.step.geometry.extents
    }

    /// Strides of all arguments along a loop; zero where there is no such loop.
    fn strides(&self, from_last: usize) -> Vec<i64> {
        let at = |s: &[i64]| s.len().checked_sub(from_last + 1).map_or(0, |l| s[l]);
        self.step.geometry.args.iter().map(|a| at(&a.strides)).collect()
    }

    fn constants(&self) -> Constants {
        let inner = *self.extents().last().expect("a loop");
        Constants { inner, inner_strides: self.strides(0), outer_strides: self.strides(1) }
    }

    /// Evaluates every point: tiles over the two innermost loops, as the driver does.
    fn run(&self, body: &dyn Body) {
        let (inner, outer) = (self.strides(0), self.strides(1));
        let extents = self.extents();
        let rows = if extents.len() < 2 { 1 } else { extents[extents.len() - 2] };
        let kept = &extents[..extents.len().saturating_sub(2)];
        let params = [Aligned(Scalar::F64(0.2).to_bytes())];
        debug_assert_eq!(params[0].0.len(), 16);
        let mut index = vec![0i64; kept.len()];
        loop {
            let shift = |arg: usize| {
                let strides = &self.step.geometry.args[arg].strides;
                index.iter().zip(strides).map(|(i, s)| i * s).sum::<i64>() as isize
            };
            let pointers: Vec<*mut u8> =
                self.pointers.iter().enumerate().map(|(arg, p)| p.wrapping_offset(shift(arg))).collect();
            let tile = Tile {
                bypass: 0,
                pointers: pointers.as_ptr(),
                inner_strides: inner.as_ptr(),
                outer_strides: outer.as_ptr(),
                params: params.as_ptr().cast(),
                inner: *extents.last().expect("a loop"),
                outer: rows,
            };
            // SAFETY: the tile lies inside the kernel's iteration space, whose memory `self` holds.
            unsafe { body.run(&tile) };
            let Some(axis) = (0..kept.len()).rev().find(|&a| index[a] + 1 < kept[a]) else { return };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }

    /// How many runs take long enough for the clock.
    fn batch(&self, body: &dyn Body) -> u32 {
        let start = Instant::now();
        self.run(body);
        (20e-6 / start.elapsed().as_secs_f64().max(1e-9)).ceil() as u32
    }

    /// Seconds of one run, on average over a batch.
    fn seconds(&self, body: &dyn Body, batch: u32) -> f64 {
        let start = Instant::now();
        (0..batch).for_each(|_| self.run(body));
        start.elapsed().as_secs_f64() / f64::from(batch)
    }
}

#[repr(align(16))]
struct Aligned([u8; 16]);

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
    let isa = Isa::detect();
    for (name, shape, case) in &cases {
        let kernel = &case.step.kernel;
        let start = Instant::now();
        let dynamic = llvm::compile(kernel, isa).expect("compiles");
        let compile = start.elapsed().as_secs_f64();
        let constant = llvm::compile_with_constants(kernel, &case.constants(), isa).expect("compiles");
        let (mut best, batch) = ([f64::INFINITY; 2], case.batch(&*dynamic));
        for _ in 0..rounds {
            for (best, body) in best.iter_mut().zip([&dynamic, &constant]) {
                *best = best.min(case.seconds(&**body, batch));
            }
        }
        println!(
            "{{\"name\": \"{name}\", \"shape\": {shape:?}, \"dynamic_us\": {:.3}, \"constant_us\": {:.3}, \"compile_ms\": {:.3}}}",
            best[0] * 1e6,
            best[1] * 1e6,
            compile * 1e3
        );
    }
}
