//! Elementwise kernels larger than a tile, in place, transposed, with several stores; and scans.

mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_ir::{Axes, DType, Dims, Op, Scalar, View};
use numelt_runtime::{Buffer, Engine, LibraryCall, Operand, Work, run};
use support::{Build, engine, engines, noise};

const F: DType = DType::F64;

#[test]
fn arrays_swap_in_one_kernel() {
    for engine in engines() {
        let (mut a, mut b) = (noise(3000), noise(6000)[3000..].to_vec());
        let (a0, b0) = (a.clone(), b.clone());
        let mut k = Build::new(&[(3000, false)]);
        let (pa, pb): (*mut u8, *mut u8) = (a.as_mut_ptr().cast(), b.as_mut_ptr().cast());
        let (x, y) = (k.load(F, pa, &[8]), k.load(F, pb, &[8]));
        k.store(y, pa, &[8]);
        k.store(x, pb, &[8]);
        k.run(&engine);
        assert_eq!((&a, &b), (&b0, &a0));
    }
}

#[test]
fn several_stores_in_place() {
    for engine in engines() {
        let (mut a, mut b) = (noise(5000), noise(10_000)[5000..].to_vec());
        let (a0, b0) = (a.clone(), b.clone());
        let mut k = Build::new(&[(5000, false)]);
        let (pa, pb): (*mut u8, *mut u8) = (a.as_mut_ptr().cast(), b.as_mut_ptr().cast());
        let (x, y) = (k.load(F, pa, &[8]), k.load(F, pb, &[8]));
        let sum = k.op(Op::Add, F, &[x, y]);
        let product = k.op(Op::Multiply, F, &[x, y]);
        k.store(sum, pa, &[8]);
        k.store(product, pb, &[8]);
        k.run(&engine);
        for i in 0..a.len() {
            assert_eq!((a[i], b[i]), (a0[i] + b0[i], a0[i] * b0[i]));
        }
    }
}

#[test]
fn transposed_and_reversed_operands() {
    let (rows, columns) = (301usize, 703usize);
    let x = noise(rows * columns);
    for engine in engines().iter().filter(|e| e.threads() != 3) {
        let mut out = vec![0.0f64; rows * columns];
        let mut k = Build::new(&[(columns as i64, false), (rows as i64, false)]);
        let t = k.load(F, x.as_ptr().cast(), &[8, columns as i64 * 8]);
        let last = x[x.len() - 1..].as_ptr().cast();
        let r = k.load(F, last, &[-8 * rows as i64, -8]);
        let row = k.load(F, x.as_ptr().cast(), &[0, 8]);
        let column = k.load(F, x.as_ptr().cast(), &[8, 0]);
        let index = k.index(5, &[1000, 1]);
        let index = k.cast(F, index);
        let two = k.param(Scalar::F64(2.0));
        let a = k.op(Op::Multiply, F, &[t, two]);
        let b = k.op(Op::Add, F, &[a, r]);
        let c = k.op(Op::Subtract, F, &[row, column]);
        let d = k.op(Op::Multiply, F, &[b, c]);
        let e = k.op(Op::Add, F, &[d, index]);
        k.store(e, out.as_mut_ptr().cast(), &[rows as i64 * 8, 8]);
        k.run(engine);
        for c in 0..columns {
            for r in 0..rows {
                let at = c * rows + r;
                let want = (x[r * columns + c] * 2.0 + x[x.len() - 1 - at]) * (x[r] - x[c]) + (5 + 1000 * c + r) as f64;
                assert_eq!(out[at].to_bits(), want.to_bits(), "{c} {r}");
            }
        }
    }
}

fn scan(op: Op, input: (*const f64, &View), out: (*mut f64, &View), axis: usize, engine: &CpuEngine) {
    let call = LibraryCall {
        op,
        ty: F,
        axes: Axes::default().with(axis),
        out: Operand { view: out.1, buffer: Buffer::at(out.0.cast()) },
        ins: &[Operand { view: input.1, buffer: Buffer::at(input.0.cast_mut().cast()) }],
    };
    run(engine, &Work::Call(&call)).unwrap();
}

#[test]
fn scans_along_each_axis() {
    let shape = [7usize, 1500, 3];
    let dims = shape.map(|n| n as i64);
    let x = noise(shape.iter().product());
    let view = View::contiguous(0, F, &dims);
    let turned = View { strides: Dims::from_slice(&[8, 56, 8 * 7 * 1500]), ..view.clone() };
    for (threads, op) in [(1, Op::Cumsum), (3, Op::Cumsum), (2, Op::Cumprod)] {
        let engine = engine(threads, 0);
        for axis in 0..3 {
            let step = [4500, 3, 1][axis];
            let mut want = x.clone();
            for i in 0..want.len() {
                if i / step % shape[axis] > 0 {
                    want[i] = if op == Op::Cumsum { want[i - step] + x[i] } else { want[i - step] * x[i] };
                }
            }
            let mut same = x.clone();
            let place = same.as_mut_ptr();
            scan(op, (place, &view), (place, &view), axis, &engine);
            assert!(same.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()), "axis {axis} in place");
            let mut other = vec![0.0; x.len()];
            scan(op, (x.as_ptr(), &view), (other.as_mut_ptr(), &turned), axis, &engine);
            for (i, want) in want.iter().enumerate() {
                let at = i / 4500 + i / 3 % 1500 * 7 + i % 3 * 7 * 1500;
                assert_eq!(other[at].to_bits(), want.to_bits(), "axis {axis} turned");
            }
        }
    }
}

#[test]
fn kernels_move_to_compiled_code() {
    let engine = CpuEngine::new(Options { threads: 1, jit: Jit::On, ..Options::default() });
    let x = noise(50_000);
    let mut out = vec![0.0f64; x.len()];
    let mut k = Build::new(&[(x.len() as i64, false)]);
    let v = k.load(F, x.as_ptr().cast(), &[8]);
    let s = k.op(Op::Multiply, F, &[v, v]);
    k.store(s, out.as_mut_ptr().cast(), &[8]);
    let executable = engine.compile(&std::sync::Arc::new(k.kernel.clone())).unwrap();
    assert_eq!(executable.tier(), "interp");
    let buffers = k.buffers();
    let launch = numelt_runtime::Launch { geometry: &k.geometry, buffers: &buffers, params: &k.params };
    let begin = std::time::Instant::now();
    while executable.tier() == "interp" && begin.elapsed().as_secs() < 20 {
        run(&engine, &Work::Kernel(&*executable, &launch, None)).unwrap();
    }
    assert_eq!(executable.tier(), "llvm");
    out.fill(0.0);
    run(&engine, &Work::Kernel(&*executable, &launch, None)).unwrap();
    assert!(out.iter().zip(&x).all(|(o, x)| *o == x * x));
}
