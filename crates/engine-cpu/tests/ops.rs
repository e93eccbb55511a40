//! Compares every elementwise operation on every dtype that it lists, and every conversion, with the reference.

mod support;

use numelt_engine_cpu::{CpuEngine, Isa, Jit, Options};
use numelt_ir::interp::{apply, cast};
use numelt_ir::{Complex64, Complex128, DType, Op, OpKind, Scalar};
use numelt_testing::closeness::{Closeness, of_result};
use numelt_testing::compare::{Tolerance, agree};
use support::Build;

/// Difficult values of a dtype: limits, zeros of both signs, NaN, infinities, fractions.
fn values(dtype: DType) -> Vec<Scalar> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        3.0,
        -3.0,
        0.5,
        2.5,
        -2.5,
        100.25,
        -7.75,
        1e-310,
        1e30,
        -3e9,
        5e9,
        1e19,
        -1e20,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let integers = [
        0i64,
        1,
        2,
        3,
        5,
        7,
        -1,
        -2,
        -3,
        -7,
        31,
        33,
        64,
        100,
        i64::MAX,
        i64::MIN,
        i32::MAX as i64,
        i32::MIN as i64,
        127,
        -128,
        200,
        40000,
    ];
    let distinct = |mut list: Vec<Scalar>| {
        let mut seen: Vec<[u8; 16]> = Vec::new();
        list.retain(|s| !seen.contains(&s.to_bytes()) && (seen.push(s.to_bytes()), true).1);
        list
    };
    match dtype {
        DType::C64 | DType::C128 => {
            let parts = [0.0, -0.0, 1.0, -2.0, 2.5, 3.0, 1e20, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let pairs = parts.iter().flat_map(|&re| parts.iter().map(move |&im| (re, im)));
            pairs
                .map(|(re, im)| match dtype {
                    DType::C64 => Scalar::C64(Complex64 { re: re as f32, im: im as f32 }),
                    _ => Scalar::C128(Complex128 { re, im }),
                })
                .collect()
        }
        DType::F16 | DType::F32 | DType::F64 => distinct(floats.iter().map(|&x| cast(Scalar::F64(x), dtype)).collect()),
        _ => distinct(integers.iter().map(|&x| cast(Scalar::I64(x), dtype)).collect()),
    }
}

fn bytes(values: &[Scalar]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_bytes()[..v.dtype().size()].to_vec()).collect()
}

/// Aligned memory with these bytes at the front.
fn memory(bytes: &[u8]) -> Vec<u128> {
    let mut out = vec![0u128; bytes.len().div_ceil(16) + 1];
    for (i, chunk) in bytes.chunks(16).enumerate() {
        let mut word = [0u8; 16];
        word[..chunk.len()].copy_from_slice(chunk);
        out[i] = u128::from_ne_bytes(word);
    }
    out
}

fn read(memory: &[u128], dtype: DType, n: usize) -> Vec<Scalar> {
    let all: Vec<u8> = memory.iter().flat_map(|w| w.to_ne_bytes()).collect();
    (0..n).map(|i| Scalar::from_bytes(dtype, &all[i * dtype.size()..])).collect()
}

fn engines() -> Vec<CpuEngine> {
    Isa::ALL
        .map(|isa| CpuEngine::new(Options { threads: 1, jit: Jit::Off, isa: Some(isa), ..Options::default() }))
        .into()
}

/// How closely a result is determined if the inputs are exact.
fn closeness(op: Op, ty: DType) -> Closeness {
    let view = |dtype| numelt_ir::View::contiguous(0, dtype, &[1]);
    let instr = numelt_ir::Instr {
        op,
        ty,
        out: view(op.output_dtype(ty)),
        ins: (0..op.arity()).map(|i| numelt_ir::Operand::View(view(op.input_dtype(ty, i)))).collect(),
        axes: numelt_ir::Axes::default(),
        watch: 0,
    };
    of_result(&instr, |_| Closeness::Exact)
}

/// All combinations of the operands' values.
fn operands(op: Op, ty: DType) -> Vec<Vec<Scalar>> {
    let mut rows: Vec<Vec<Scalar>> = vec![vec![]];
    for i in 0..op.arity() {
        let choices = values(op.input_dtype(ty, i));
        rows = rows.iter().flat_map(|r| choices.iter().map(move |c| [r.clone(), vec![*c]].concat())).collect();
    }
    rows.truncate(4000);
    if ty.is_complex() && closeness(op, ty) == Closeness::Unknown {
        // huge, infinite and undefined parts are computed by the C library, as in NumPy, whereas the reference uses the
        // formulas; the Python tests compare special values with NumPy
        rows.retain(|r| r.iter().all(|v| modest(*v)));
    }
    (0..op.arity()).map(|i| rows.iter().map(|r| r[i]).collect()).collect()
}

fn modest(value: Scalar) -> bool {
    let small = |x: f64| x.abs() < 100.0;
    match value {
        Scalar::C64(v) => small(v.re.into()) && small(v.im.into()),
        Scalar::C128(v) => small(v.re) && small(v.im),
        _ => true,
    }
}

#[test]
fn operations() {
    let engines = engines();
    let mut wrong = Vec::new();
    for &op in Op::ALL.iter().filter(|op| op.kind() == OpKind::Elementwise) {
        for ty in op.info().dtypes.iter() {
            let ins = operands(op, ty);
            let n = ins[0].len();
            let inputs: Vec<Vec<u128>> = ins.iter().map(|v| memory(&bytes(v))).collect();
            let want: Vec<Scalar> =
                (0..n).map(|i| apply(op, ty, &ins.iter().map(|v| v[i]).collect::<Vec<_>>()).unwrap()).collect();
            for engine in &engines {
                let out_ty = op.output_dtype(ty);
                let mut out = memory(&vec![0; n * out_ty.size()]);
                let mut b = Build::new(&[(n as i64, false)]);
                let loads: Vec<u32> = (0..op.arity())
                    .map(|i| {
                        let dtype = op.input_dtype(ty, i);
                        b.load(dtype, inputs[i].as_ptr().cast(), &[dtype.size() as i64])
                    })
                    .collect();
                let v = b.op(op, ty, &loads);
                b.store(v, out.as_mut_ptr().cast(), &[out_ty.size() as i64]);
                b.run(engine);
                let got = read(&out, out_ty, n);
                for i in 0..n {
                    if !agree(want[i], got[i], closeness(op, ty), Tolerance::ENGINE) {
                        let args: Vec<Scalar> = ins.iter().map(|v| v[i]).collect();
                        wrong.push(format!(
                            "{} {ty} {:?}: {args:?} gives {:?}, not {:?}",
                            op.name(),
                            engine.isa(),
                            got[i],
                            want[i]
                        ));
                    }
                }
            }
        }
    }
    let shown: Vec<_> = wrong.iter().take(60).cloned().collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), shown.join("\n"));
}

#[test]
fn conversions() {
    for engine in engines() {
        for from in DType::ALL {
            let ins = values(from);
            let input = memory(&bytes(&ins));
            for to in DType::ALL {
                let mut out = memory(&vec![0; ins.len() * to.size()]);
                let mut b = Build::new(&[(ins.len() as i64, false)]);
                let v = b.load(from, input.as_ptr().cast(), &[from.size() as i64]);
                let v = b.cast(to, v);
                b.store(v, out.as_mut_ptr().cast(), &[to.size() as i64]);
                b.run(&engine);
                for (x, got) in ins.iter().zip(read(&out, to, ins.len())) {
                    let want = cast(*x, to);
                    assert!(
                        agree(want, got, Closeness::Exact, Tolerance::NONE),
                        "{x:?} to {to}: {got:?}, not {want:?}"
                    );
                }
            }
        }
    }
}
