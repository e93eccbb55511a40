//! Speed of the interpreter and the folds: nanoseconds per point and bandwidth, on one thread (processor time) and on
//! all threads (elapsed time).
//!
//! Run with `cargo run --release -p numelt-engine-cpu --example speed [-- threads…]`.

#[path = "../tests/support/mod.rs"]
mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_ir::{DType, Op, Scalar};
use numelt_runtime::{Engine, Launch, Work, run};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Build, noise};

const F: DType = DType::F64;

/// The processor time of this thread, which other processes do not disturb; for one thread only.
fn cpu_time() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// The time by the appropriate clock: processor time for one thread, elapsed time for several.
fn now(threads: usize) -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    if threads == 1 { cpu_time() } else { START.get_or_init(Instant::now).elapsed() }
}

/// The shortest time of several launches, in nanoseconds.
fn best(engine: &CpuEngine, b: &Build) -> f64 {
    let executable = engine.compile(&Arc::new(b.kernel.clone())).expect("compiles");
    let buffers = b.buffers();
    let launch = Launch { geometry: &b.geometry, buffers: &buffers, params: &b.params };
    let mut least = f64::INFINITY;
    let begin = Instant::now();
    let mut runs = 0;
    while runs < 5 || (begin.elapsed().as_millis() < 300 && runs < 2000) {
        let start = now(engine.threads());
        run(engine, &Work::Kernel(&*executable, &launch, None)).expect("runs");
        least = least.min((now(engine.threads()) - start).as_nanos() as f64);
        runs += 1;
    }
    least
}

fn report(name: &str, points: usize, bytes: usize, nanoseconds: f64) {
    let per_point = nanoseconds / points as f64;
    println!(
        "  {name:44} {per_point:8.3} ns/point {:8.1} GB/s {:10.3} ms",
        bytes as f64 / nanoseconds,
        nanoseconds / 1e6
    );
}

fn copies(n: usize) {
    let (src, mut dst) = (noise(n), vec![0.0; n]);
    let mut least = f64::INFINITY;
    for _ in 0..10 {
        let start = cpu_time();
        dst.copy_from_slice(&src);
        least = least.min((cpu_time() - start).as_nanos() as f64);
    }
    report("memcpy", n, 16 * n, least);
}

fn elementwise(engine: &CpuEngine, n: usize) {
    let (x, y, mut z) = (noise(n), noise(n), vec![0.0f64; n]);
    let len = n as i64;
    let out: *mut u8 = z.as_mut_ptr().cast();
    let mut b = Build::new(&[(len, false)]);
    let a = b.load(F, x.as_ptr().cast(), &[8]);
    b.store(a, out, &[8]);
    report("copy", n, 16 * n, best(engine, &b));

    let mut b = Build::new(&[(len, false)]);
    let (a, c) = (b.load(F, x.as_ptr().cast(), &[8]), b.load(F, y.as_ptr().cast(), &[8]));
    let v = b.op(Op::Add, F, &[a, c]);
    b.store(v, out, &[8]);
    report("x + y", n, 24 * n, best(engine, &b));

    let mut b = Build::new(&[(len, false)]);
    let (a, c) = (b.load(F, x.as_ptr().cast(), &[8]), b.load(F, y.as_ptr().cast(), &[8]));
    let two = b.param(Scalar::F64(2.0));
    let xx = b.op(Op::Multiply, F, &[a, a]);
    let tx = b.op(Op::Multiply, F, &[two, a]);
    let txy = b.op(Op::Multiply, F, &[tx, c]);
    let s = b.op(Op::Add, F, &[xx, txy]);
    let yy = b.op(Op::Multiply, F, &[c, c]);
    let v = b.op(Op::Add, F, &[s, yy]);
    b.store(v, out, &[8]);
    report("x*x + 2*x*y + y*y", n, 24 * n, best(engine, &b));

    let mut b = Build::new(&[(len, false)]);
    let a = b.load(F, out, &[8]);
    let c = b.load(F, x.as_ptr().cast(), &[8]);
    let v = b.op(Op::Maximum, F, &[a, c]);
    b.store(v, out, &[8]);
    report("z = maximum(z, x) in place", n, 24 * n, best(engine, &b));

    let mut b = Build::new(&[(len, false)]);
    let a = b.load(F, x.as_ptr().cast(), &[8]);
    let c = b.load(F, y.as_ptr().cast(), &[8]);
    let less = b.op(Op::Less, F, &[a, c]);
    let v = b.op(Op::Where, F, &[less, a, c]);
    b.store(v, out, &[8]);
    report("where(x < y, x, y)", n, 24 * n, best(engine, &b));
}

/// A call option's price: the arithmetic of Black-Scholes with two error functions.
fn black_scholes(engine: &CpuEngine, n: usize) {
    let positive = |scale: f64| noise(n).iter().map(|v| scale * (v.abs() + 0.5)).collect::<Vec<f64>>();
    let (s, k, t) = (positive(100.0), positive(100.0), positive(1.0));
    let mut out = vec![0.0f64; n];
    let mut b = Build::new(&[(n as i64, false)]);
    let (s, k, t) =
        (b.load(F, s.as_ptr().cast(), &[8]), b.load(F, k.as_ptr().cast(), &[8]), b.load(F, t.as_ptr().cast(), &[8]));
    let (rate, vol, half, one) =
        (b.param(Scalar::F64(0.02)), b.param(Scalar::F64(0.3)), b.param(Scalar::F64(0.5)), b.param(Scalar::F64(1.0)));
    let root = b.param(Scalar::F64(std::f64::consts::FRAC_1_SQRT_2));
    let drift = b.param(Scalar::F64(0.02 + 0.045));
    let ratio = b.op(Op::Divide, F, &[s, k]);
    let log = b.op(Op::Log, F, &[ratio]);
    let dt = b.op(Op::Multiply, F, &[drift, t]);
    let top = b.op(Op::Add, F, &[log, dt]);
    let sqrt = b.op(Op::Sqrt, F, &[t]);
    let sd = b.op(Op::Multiply, F, &[vol, sqrt]);
    let d1 = b.op(Op::Divide, F, &[top, sd]);
    let d2 = b.op(Op::Subtract, F, &[d1, sd]);
    let normal = |b: &mut Build, d: u32| {
        let scaled = b.op(Op::Multiply, F, &[d, root]);
        let erf = b.op(Op::Erf, F, &[scaled]);
        let sum = b.op(Op::Add, F, &[one, erf]);
        b.op(Op::Multiply, F, &[half, sum])
    };
    let (n1, n2) = (normal(&mut b, d1), normal(&mut b, d2));
    let rt = b.op(Op::Multiply, F, &[rate, t]);
    let minus = b.op(Op::Negative, F, &[rt]);
    let discount = b.op(Op::Exp, F, &[minus]);
    let kd = b.op(Op::Multiply, F, &[k, discount]);
    let (left, right) = (b.op(Op::Multiply, F, &[s, n1]), b.op(Op::Multiply, F, &[kd, n2]));
    let price = b.op(Op::Subtract, F, &[left, right]);
    b.store(price, out.as_mut_ptr().cast(), &[8]);
    report("Black-Scholes call (24 ops)", n, 32 * n, best(engine, &b));
}

fn reductions(engine: &CpuEngine, n: usize) {
    let (x, y) = (noise(n), noise(n));
    let mut out = vec![0.0f64; n];
    let target: *mut u8 = out.as_mut_ptr().cast();
    for (op, name) in [(Op::Sum, "sum(x)"), (Op::Max, "max(x)"), (Op::Argmax, "argmax(x)"), (Op::Prod, "prod(x)")] {
        let mut b = Build::new(&[(n as i64, true)]);
        let a = b.load(F, x.as_ptr().cast(), &[8]);
        b.reduce(op, a, op.output_dtype(F), target, &[0]);
        report(name, n, 8 * n, best(engine, &b));
    }
    let integers: Vec<i64> = x.iter().map(|v| (v * 1e6) as i64).collect();
    let mut b = Build::new(&[(n as i64, true)]);
    let a = b.load(DType::I64, integers.as_ptr().cast(), &[8]);
    b.reduce(Op::Sum, a, DType::I64, target, &[0]);
    report("sum of i64", n, 8 * n, best(engine, &b));

    let mut b = Build::new(&[(n as i64, true)]);
    let (a, c) = (b.load(F, x.as_ptr().cast(), &[8]), b.load(F, y.as_ptr().cast(), &[8]));
    let d = b.op(Op::Subtract, F, &[a, c]);
    let v = b.op(Op::Absolute, F, &[d]);
    b.reduce(Op::Sum, v, F, target, &[0]);
    report("sum(abs(x - y))", n, 16 * n, best(engine, &b));

    for columns in [2usize, 3, 8, 30, 100, 1000, 100_000].into_iter().filter(|c| *c <= n) {
        let rows = n / columns;
        let stride = columns as i64 * 8;
        let mut b = Build::new(&[(rows as i64, false), (columns as i64, true)]);
        let a = b.load(F, x.as_ptr().cast(), &[stride, 8]);
        b.reduce(Op::Sum, a, F, target, &[8, 0]);
        report(&format!("row sums of {columns}"), n, 8 * n, best(engine, &b));
        let sq = b.op(Op::Multiply, F, &[a, a]);
        b.kernel.reductions[0].value = sq;
        report(&format!("row sums of squares of {columns}"), n, 8 * n, best(engine, &b));
        let mut b = Build::new(&[(rows as i64, true), (columns as i64, false)]);
        let a = b.load(F, x.as_ptr().cast(), &[stride, 8]);
        b.reduce(Op::Sum, a, F, target, &[0, 8]);
        report(&format!("column sums, {columns} columns"), n, 8 * n, best(engine, &b));
    }
}

fn main() {
    let mut threads: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    if threads.is_empty() {
        threads = vec![1, 0];
    }
    for t in threads {
        let engine = CpuEngine::new(Options { threads: t, jit: Jit::Off, ..Options::default() });
        println!("{} threads, {:?}", engine.threads(), engine.isa());
        for (n, size) in [(100usize, "100 points"), (10_000, "10,000 points"), (32_000_000, "32,000,000 points")] {
            println!(" {size}");
            copies(n);
            elementwise(&engine, n);
        }
        println!(" 4,000,000 points");
        black_scholes(&engine, 4_000_000);
        for (n, size) in [(2_400, "2,400 points"), (16_000_000, "16,000,000 points")] {
            println!(" {size}");
            reductions(&engine, n);
        }
    }
}
