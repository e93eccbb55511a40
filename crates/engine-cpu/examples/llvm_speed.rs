//! Compile time and speed of the LLVM tier on three kernels, on one thread: a polynomial, a five-point stencil with a
//! fold, and Black-Scholes. Run with `--release`.
//!
//! `cargo run --release -p numelt-engine-cpu --example llvm_speed [asm|ir]`

use numelt_codegen::{Body, Tile};
use numelt_engine_cpu::llvm;
use numelt_ir::{DType, Op, Scalar};
use numelt_opt::{Arg, ArgKind, Kernel, Node, Reduction, Store, StrideClass};
use numelt_vecmath::Isa;
use smallvec::smallvec;
use std::sync::Arc;
use std::time::Instant;

const F64: DType = DType::F64;

/// Builds kernels of f64 operations.
struct Maker(Kernel);

impl Maker {
    fn new() -> Maker {
        Maker(Kernel {
            reduced: smallvec![false, false],
            args: vec![],
            params: vec![],
            body: vec![],
            stores: vec![],
            reductions: vec![],
        })
    }

    fn arg(&mut self, kind: ArgKind, class: StrideClass) -> u32 {
        self.0.args.push(Arg { kind, dtype: F64, strides: smallvec![StrideClass::Any, class], near: None });
        self.0.args.len() as u32 - 1
    }

    fn node(&mut self, node: Node) -> u32 {
        self.0.body.push(node);
        self.0.body.len() as u32 - 1
    }

    fn load(&mut self, class: StrideClass) -> u32 {
        let arg = self.arg(ArgKind::Load, class);
        self.node(Node::Load(arg))
    }

    fn param(&mut self) -> u32 {
        self.0.params.push(F64);
        self.node(Node::Param(self.0.params.len() as u32 - 1))
    }

    fn op(&mut self, op: Op, args: &[u32]) -> u32 {
        self.node(Node::Op(op, F64, args.iter().copied().collect()))
    }

    fn store(&mut self, value: u32, class: StrideClass) {
        let arg = self.arg(ArgKind::Store, class);
        self.0.stores.push(Store { arg, value });
    }
}

/// x*x + 2*x*y + y*y, with all operands of one stride class.
fn polynomial(class: StrideClass) -> Kernel {
    let mut m = Maker::new();
    let (x, y, two) = (m.load(class), m.load(class), m.param());
    let xx = m.op(Op::Multiply, &[x, x]);
    let yy = m.op(Op::Multiply, &[y, y]);
    let two_x = m.op(Op::Multiply, &[two, x]);
    let cross = m.op(Op::Multiply, &[two_x, y]);
    let sum = m.op(Op::Add, &[xx, cross]);
    let sum = m.op(Op::Add, &[sum, yy]);
    m.store(sum, class);
    m.0
}

/// 0.2 * (c + n + s + w + e), and |new - c|, which is summed.
fn stencil() -> Kernel {
    let mut m = Maker::new();
    let loads: Vec<u32> = (0..5).map(|_| m.load(StrideClass::Unit)).collect();
    let fifth = m.param();
    let mut sum = loads[0];
    for load in &loads[1..] {
        sum = m.op(Op::Add, &[sum, *load]);
    }
    let new = m.op(Op::Multiply, &[fifth, sum]);
    let change = m.op(Op::Subtract, &[new, loads[0]]);
    let size = m.op(Op::Absolute, &[change]);
    m.store(new, StrideClass::Unit);
    let arg = m.arg(ArgKind::Reduced, StrideClass::Zero);
    m.0.reductions.push(Reduction { op: Op::Sum, ty: F64, value: size, arg });
    m.0
}

/// Call, put and vega of European options.
fn black_scholes() -> Kernel {
    let mut m = Maker::new();
    let [s, k, t] = [(); 3].map(|()| m.load(StrideClass::Unit));
    let [rate, sigma, half, one, root2, norm] = [(); 6].map(|()| m.param());
    let ratio = m.op(Op::Divide, &[s, k]);
    let log = m.op(Op::Log, &[ratio]);
    let variance = m.op(Op::Square, &[sigma]);
    let half_variance = m.op(Op::Multiply, &[variance, half]);
    let drift = m.op(Op::Add, &[rate, half_variance]);
    let drift_t = m.op(Op::Multiply, &[drift, t]);
    let up = m.op(Op::Add, &[log, drift_t]);
    let root_t = m.op(Op::Sqrt, &[t]);
    let spread = m.op(Op::Multiply, &[sigma, root_t]);
    let d1 = m.op(Op::Divide, &[up, spread]);
    let d2 = m.op(Op::Subtract, &[d1, spread]);
    let cdf = |m: &mut Maker, d: u32| {
        let scaled = m.op(Op::Divide, &[d, root2]);
        let erf = m.op(Op::Erf, &[scaled]);
        let shifted = m.op(Op::Add, &[erf, one]);
        m.op(Op::Multiply, &[shifted, half])
    };
    let (n1, n2) = (cdf(&mut m, d1), cdf(&mut m, d2));
    let decay = m.op(Op::Multiply, &[rate, t]);
    let decay = m.op(Op::Negative, &[decay]);
    let decay = m.op(Op::Exp, &[decay]);
    let strike = m.op(Op::Multiply, &[k, decay]);
    let gain = m.op(Op::Multiply, &[s, n1]);
    let cost = m.op(Op::Multiply, &[strike, n2]);
    let call = m.op(Op::Subtract, &[gain, cost]);
    let put = m.op(Op::Subtract, &[call, s]);
    let put = m.op(Op::Add, &[put, strike]);
    let square = m.op(Op::Square, &[d1]);
    let square = m.op(Op::Multiply, &[square, half]);
    let square = m.op(Op::Negative, &[square]);
    let density = m.op(Op::Exp, &[square]);
    let density = m.op(Op::Multiply, &[density, norm]);
    let vega = m.op(Op::Multiply, &[s, density]);
    let vega = m.op(Op::Multiply, &[vega, root_t]);
    for value in [call, put, vega] {
        m.store(value, StrideClass::Unit);
    }
    m.0
}

#[repr(align(16))]
struct Slot([u8; 16]);

/// Nanoseconds per point, the shortest of several runs over `rows` rows of `inner` points.
fn time(kernel: &Kernel, body: &Arc<dyn Body>, inner: usize, rows: usize, stride: usize) -> f64 {
    let n = inner * rows * stride + 64;
    let mut arrays: Vec<Vec<f64>> = kernel.args.iter().map(|_| vec![0.75; n]).collect();
    let pointers: Vec<*mut u8> = arrays.iter_mut().map(|a| a.as_mut_ptr().cast()).collect();
    let strides = vec![8 * stride as i64; pointers.len()];
    let outer_strides = vec![8 * (inner * stride) as i64; pointers.len()];
    let values = [0.05, 0.2, 0.5, 1.0, std::f64::consts::SQRT_2, 0.398];
    let params: Vec<Slot> = values.iter().map(|v| Slot(Scalar::F64(*v).to_bytes())).collect();
    debug_assert_eq!(params[0].0.len(), 16);
    let tile = Tile {
        bypass: 0,
        pointers: pointers.as_ptr(),
        inner_strides: strides.as_ptr(),
        outer_strides: outer_strides.as_ptr(),
        params: params.as_ptr().cast(),
        inner: inner as i64,
        outer: rows as i64,
    };
    let points = (inner * rows) as f64;
    let repeat = (1 << 22) / (inner * rows) + 3;
    let mut best = f64::INFINITY;
    for _ in 0..repeat.min(3000) {
        let start = Instant::now();
        // SAFETY: every argument has its own array that covers the tile.
        unsafe { body.run(&tile) };
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / points
}

fn main() {
    let isa = Isa::detect();
    let what = std::env::args().nth(1).unwrap_or_default();
    let kernels = [
        ("polynomial", polynomial(StrideClass::Unit), 1),
        ("polynomial, stride 2", polynomial(StrideClass::Any), 2),
        ("stencil", stencil(), 1),
        ("black_scholes", black_scholes(), 1),
    ];
    println!("{isa:?}; compile and load from disk in ms (best), run in ns/point");
    let mut bodies = Vec::new();
    for (name, kernel, stride) in &kernels {
        if what == "ir" {
            println!("{}", llvm::ir_text(kernel, isa).expect("compiles"));
        } else if what == "asm" {
            println!("{}", llvm::assembly_text(kernel, isa).expect("compiles"));
        }
        let mut best = f64::INFINITY;
        let mut body = None;
        for _ in 0..30 {
            let start = Instant::now();
            body = Some(llvm::compile(kernel, isa).expect("compiles"));
            best = best.min(start.elapsed().as_secs_f64());
        }
        let body = body.expect("compiled above");
        bodies.push((*name, kernel, *stride, body, best));
    }
    // From here on, objects are stored on disk: the first compilation writes them, the others read them.
    let directory = std::env::temp_dir().join(format!("numelt-speed-{}", std::process::id()));
    llvm::set_options(llvm::Options {
        cache_dir: Some(directory.clone()),
        secret_file: Some(directory.join("key")),
        ..Default::default()
    });
    for (name, kernel, stride, body, compile) in &bodies {
        let mut load = f64::INFINITY;
        for _ in 0..30 {
            let start = Instant::now();
            llvm::compile(kernel, isa).expect("compiles");
            load = load.min(start.elapsed().as_secs_f64());
        }
        let run = |inner, rows| time(kernel, body, inner, rows, *stride);
        println!(
            "{name:22} compile {:.2}  load {:.3}  512 x 1 {:.3}  8 x 64 {:.3}  3 x 100 {:.3}  8M {:.3}",
            compile * 1e3,
            load * 1e3,
            run(512, 1),
            run(8, 64),
            run(3, 100),
            run(1 << 23, 1),
        );
    }
    let _ = std::fs::remove_dir_all(directory);
}
