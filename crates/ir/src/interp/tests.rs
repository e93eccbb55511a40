//! Facts checked against NumPy 2.4 on x86-64.

use super::{apply, cast, interpret, memory_order, pairwise_sum};
use crate::{Complex128, DType, Op, Program, Scalar, View};

fn f64_bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

fn to_f64(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// Runs a program on f64 bases and returns base `result`.
fn run(text: &str, memory: &[&[f64]], result: usize) -> Vec<f64> {
    let program: Program = text.parse().unwrap();
    let mut memory: Vec<Vec<u8>> = memory.iter().map(|v| f64_bytes(v)).collect();
    interpret(&program, &mut memory).unwrap();
    to_f64(&memory[result])
}

fn f(op: Op, a: f64, b: f64) -> f64 {
    let ins = [Scalar::F64(a), Scalar::F64(b)];
    match apply(op, DType::F64, &ins[..op.arity()]).unwrap() {
        Scalar::F64(v) => v,
        other => panic!("{other:?}"),
    }
}

fn i8s(op: Op, a: i8, b: i8) -> i8 {
    let ins = [Scalar::I8(a), Scalar::I8(b)];
    match apply(op, DType::I8, &ins[..op.arity()]).unwrap() {
        Scalar::I8(v) => v,
        other => panic!("{other:?}"),
    }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn float_division_rounds_down_like_python() {
    for (a, b, quotient, rest) in [
        (2.5, -1.0, -3.0, -0.5),
        (-2.5, 2.5, -1.0, 0.0),
        (-0.0, 1.0, -0.0, 0.0),
        (0.0, -1.0, -0.0, -0.0),
        (1.0, 0.0, INF, NAN),
        (-1.0, 0.0, -INF, NAN),
        (0.0, 0.0, NAN, NAN),
        (1.0, INF, 0.0, 1.0),
        (-1.0, INF, -1.0, INF),
        (1.0, -INF, -1.0, -INF),
        (INF, 1.0, NAN, NAN),
        (NAN, 1.0, NAN, NAN),
        (1.0, 5e-324, INF, 0.0),
        (-2.5, 1e308, -1.0, 1e308),
    ] {
        assert!(same(f(Op::FloorDivide, a, b), quotient), "{a} // {b}");
        assert!(same(f(Op::Remainder, a, b), rest), "{a} % {b}");
    }
    assert!(same(f(Op::Fmod, -2.5, 2.5), -0.0));
}

#[test]
fn integer_division_and_shifts() {
    for (a, b, quotient, rest, truncated) in
        [(7, -3, -3, -2, 1), (-7, 3, -3, 2, -1), (-128, -1, -128, 0, 0), (5, 0, 0, 0, 0), (-7, -3, 2, -1, -1)]
    {
        assert_eq!(i8s(Op::FloorDivide, a, b), quotient, "{a} // {b}");
        assert_eq!(i8s(Op::Remainder, a, b), rest, "{a} % {b}");
        assert_eq!(i8s(Op::Fmod, a, b), truncated, "fmod({a}, {b})");
    }
    for (a, n, left, right) in
        [(-7, 1, -14, -4), (-7, 8, 0, -1), (-7, -1, 0, -1), (7, 100, 0, 0), (127, 7, -128, 0), (-128, 7, 0, -1)]
    {
        assert_eq!(i8s(Op::LeftShift, a, n), left, "{a} << {n}");
        assert_eq!(i8s(Op::RightShift, a, n), right, "{a} >> {n}");
    }
    assert_eq!(i8s(Op::Power, 3, 7), -117);
    assert_eq!(i8s(Op::Power, -128, 3), 0);
    assert_eq!(i8s(Op::Power, 0, 0), 1);
    assert_eq!(i8s(Op::Absolute, -128, 0), -128);
    assert_eq!(i8s(Op::Reciprocal, 0, 0), 0);
    assert_eq!(apply(Op::Reciprocal, DType::I64, &[Scalar::I64(0)]).unwrap(), Scalar::I64(i64::MIN));
}

#[test]
fn maxima_and_minima() {
    assert!(f(Op::Maximum, NAN, 1.0).is_nan() && f(Op::Maximum, 1.0, NAN).is_nan());
    assert!(f(Op::Minimum, NAN, 1.0).is_nan() && f(Op::Minimum, 1.0, NAN).is_nan());
    assert_eq!((f(Op::Fmax, NAN, 1.0), f(Op::Fmax, 1.0, NAN), f(Op::Fmin, NAN, 1.0)), (1.0, 1.0, 1.0));
    assert!(f(Op::Fmax, NAN, NAN).is_nan());
    assert!(same(f(Op::Maximum, 0.0, -0.0), -0.0) && same(f(Op::Maximum, -0.0, 0.0), 0.0));
    assert!(same(f(Op::Minimum, 0.0, -0.0), -0.0) && same(f(Op::Minimum, -0.0, 0.0), 0.0));
    assert!(f(Op::Sign, NAN, 0.0).is_nan() && same(f(Op::Sign, -0.0, 0.0), 0.0));
    assert_eq!((f(Op::Rint, 0.5, 0.0), f(Op::Rint, 1.5, 0.0), f(Op::Rint, 2.5, 0.0)), (0.0, 2.0, 2.0));
}

#[test]
fn complex_arithmetic() {
    let c = |re, im| Scalar::C128(Complex128 { re, im });
    let two = |op, a, b| apply(op, DType::C128, &[a, b]).unwrap();
    let one = |op, a| apply(op, DType::C128, &[a]).unwrap();
    assert_eq!(two(Op::Multiply, c(1.0, 2.0), c(3.0, -1.0)), c(5.0, 5.0));
    assert_eq!(two(Op::Divide, c(5.0, 5.0), c(3.0, -1.0)), c(1.0, 1.9999999999999998));
    assert_eq!(two(Op::Divide, c(1.0, 2.0), c(-0.0, 0.0)), c(INF, INF));
    assert_eq!(one(Op::Absolute, c(INF, NAN)), Scalar::F64(INF));
    assert_eq!(one(Op::Sign, c(3.0, 4.0)), c(0.6, 0.8));
    assert_eq!(one(Op::Sign, c(1.0, -INF)), c(0.0, -1.0));
    assert_eq!(one(Op::Sqrt, c(-4.0, -0.0)), c(0.0, -2.0));
    assert_eq!(two(Op::Power, c(2.0, 3.0), c(3.0, 0.0)), c(-46.0, 9.0));
    assert_eq!(two(Op::Power, c(0.0, 0.0), c(2.0, 0.0)), c(0.0, 0.0));
    for (a, b, less, less_equal) in [
        (c(1.0, 2.0), c(1.0, 3.0), true, true),
        (c(1.0, NAN), c(2.0, 1.0), false, false),
        (c(1.0, 1.0), c(2.0, NAN), false, false),
        (c(1.0, 2.0), c(1.0, 2.0), false, true),
    ] {
        assert_eq!(two(Op::Less, a, b), Scalar::Bool(less), "{a} < {b}");
        assert_eq!(two(Op::LessEqual, a, b), Scalar::Bool(less_equal), "{a} <= {b}");
    }
    assert_eq!(two(Op::Maximum, c(2.0, 0.0), c(1.0, NAN)).to_string(), "(1.0, nan)");
    assert_eq!(one(Op::Log, c(0.6, 0.8)).to_string().split(',').next(), Some("(2.2204460492503132e-17"));
}

#[test]
fn casts_of_numbers_that_do_not_fit() {
    let to = |v: f64, t| cast(Scalar::F64(v), t);
    assert_eq!(to(200.0, DType::I8), Scalar::I8(-56));
    assert_eq!(to(-1.9, DType::U8), Scalar::U8(255));
    assert_eq!(to(3e9, DType::I16), Scalar::I16(0));
    assert_eq!(to(3e9, DType::I32), Scalar::I32(i32::MIN));
    assert_eq!(to(NAN, DType::I64), Scalar::I64(i64::MIN));
    assert_eq!(to(-1.0, DType::U32), Scalar::U32(u32::MAX));
    assert_eq!(to(1e10, DType::U32), Scalar::U32(1410065408));
    assert_eq!(to(1.8e19, DType::U64), Scalar::U64(18_000_000_000_000_000_000));
    assert_eq!(to(-1.0, DType::U64), Scalar::U64(u64::MAX));
    assert_eq!(to(INF, DType::U64), Scalar::U64(0));
    assert_eq!(to(NAN, DType::Bool), Scalar::Bool(true));
    assert_eq!(cast(Scalar::C128(Complex128 { re: 0.0, im: NAN }), DType::Bool), Scalar::Bool(true));
    assert_eq!(cast(Scalar::I16(-1), DType::U64), Scalar::U64(u64::MAX));
    assert_eq!(cast(Scalar::U64(u64::MAX), DType::F32), Scalar::F32(18446744073709551615.0));
}

/// These sums differ from sums in another order.
#[test]
fn pairwise_order() {
    let x: Vec<f64> = (0..300).map(|i| 1.0 / f64::from(i + 1)).collect();
    let sum = |n: usize| pairwise_sum(n, &mut |i| x[i]);
    assert_eq!(sum(7), x[..7].iter().fold(-0.0, |a, b| a + b));
    let eight = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    assert_eq!(sum(9), eight + x[8]);
    let (left, right) = (sum(144), pairwise_sum(156, &mut |i| x[144 + i]));
    assert_eq!(sum(300), left + right);
    // numpy.sum(1 / numpy.arange(1, 301.0)), in f64, f32 and complex128
    assert_eq!(sum(300), 6.282663880299504);
    assert_eq!(f64::from(pairwise_sum(300, &mut |i| x[i] as f32)), 6.282664775848389);
    assert_eq!(pairwise_sum(300, &mut |i| Complex128 { re: x[i], im: 0.0 }).re, 6.282663880299504);
}

#[test]
fn sums_of_minus_zeros_are_plus_zero_but_running_sums_keep_the_sign() {
    let program = "base %0 32 in\nbase %1 8 out\n%1[f64 (1)] = sum.f64 %0[f64 (4)] axes=(0)";
    assert!(same(run(program, &[&[-0.0; 4], &[1.0]], 1)[0], 0.0));
    let program = "base %0 32 in\nbase %1 32 out\n%1[f64 (4)] = cumsum.f64 %0[f64 (4)] axes=(0)";
    assert!(same(run(program, &[&[-0.0; 4], &[1.0; 4]], 1)[3], -0.0));
}

#[test]
fn memory_order_follows_strides_not_axes() {
    for (shape, strides, want) in [
        (&[3, 4][..], &[32, 8][..], &[0, 1][..]),
        (&[3, 4], &[8, 24], &[1, 0]),
        (&[3, 4], &[-8, 24], &[1, 0]),
        (&[3, 1, 4], &[8, 0, 24], &[2, 0]),
        (&[3, 4], &[0, 8], &[0, 1]),
        (&[3, 4], &[8, 0], &[0, 1]),
        (&[2, 3, 4], &[8, 0, 16], &[1, 2, 0]),
        (&[2, 2], &[8, 8], &[0, 1]),
    ] {
        let view = View {
            base: 0,
            dtype: DType::F64,
            offset: 0,
            shape: crate::Dims::from_slice(shape),
            strides: crate::Dims::from_slice(strides),
        };
        assert_eq!(memory_order(&view).as_slice(), want, "{view}");
    }
}

#[test]
fn inputs_are_read_before_outputs_are_written() {
    let shift = "base %0 40 in out\n%0[f64 +8 (4)] = copy.f64 %0[f64 (4)]";
    assert_eq!(run(shift, &[&[1.0, 2.0, 3.0, 4.0, 5.0]], 0), [1.0, 1.0, 2.0, 3.0, 4.0]);
    let reverse = "base %0 40 in out\n%0[f64 (5)] = copy.f64 %0[f64 +32 (5):(-8)]";
    assert_eq!(run(reverse, &[&[1.0, 2.0, 3.0, 4.0, 5.0]], 0), [5.0, 4.0, 3.0, 2.0, 1.0]);
}

#[test]
fn reductions_over_axis_sets() {
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let text = |op: &str, shape: &str, axes: &str| {
        format!("base %0 48 in\nbase %1 24 out\n%1[f64 {shape}] = {op}.f64 %0[f64 (2, 3)] axes={axes}")
    };
    assert_eq!(run(&text("sum", "(1, 3)", "(0)"), &[&x, &[0.0; 3]], 1), [3.0, 5.0, 7.0]);
    assert_eq!(run(&text("max", "(2, 1)", "(1)"), &[&x, &[0.0; 3]], 1), [2.0, 5.0, 0.0]);
    assert_eq!(run(&text("prod", "(1, 1)", "(0, 1)"), &[&x[..6], &[9.0; 3]], 1)[0], 0.0);
    let arg = "base %0 48 in\nbase %1 8 out\n%1[i64 (1, 1)] = argmax.f64 %0[f64 (2, 3)] axes=(0, 1)";
    let mut memory = [f64_bytes(&[1.0, NAN, 9.0, NAN, 1.0, 2.0]), vec![0; 8]];
    interpret(&arg.parse().unwrap(), &mut memory).unwrap();
    assert_eq!(i64::from_ne_bytes(memory[1][..].try_into().unwrap()), 1);
}

#[test]
fn matmul_of_batches_and_of_nothing() {
    let text =
        "base %0 48 in\nbase %1 48 in\nbase %2 32 out\n%2[f64 (2, 2)] = matmul.f64 %0[f64 (2, 3)], %1[f64 (3, 2)]";
    let a: Vec<f64> = (0..6).map(f64::from).collect();
    assert_eq!(run(text, &[&a, &a, &[0.0; 4]], 2), [10.0, 13.0, 28.0, 40.0]);
    let text = "base %0 48 in\nbase %2 32 out\n%1[f64 (2, 2)] = matmul.f64 %0[f64 (2, 0)], %0[f64 (0, 2)]";
    assert_eq!(run(&text.replace("%2 32", "%1 32"), &[&a, &[7.0; 4]], 1), [0.0; 4]);
}

#[test]
fn ranges_multiply() {
    let text = "base %0 80 out\nconst $0 = f64 0.0\nconst $1 = f64 0.1\n%0[f64 (10)] = range.f64 $0, $1";
    assert_eq!(run(text, &[&[0.0; 10]], 0)[3], 0.30000000000000004);
}

#[test]
fn every_elementwise_operation_exists_for_every_dtype_of_its_row() {
    for &op in Op::ALL.iter().filter(|op| op.kind() == crate::OpKind::Elementwise) {
        for ty in op.info().dtypes.iter() {
            let ins: Vec<Scalar> = (0..op.arity()).map(|i| cast(Scalar::I8(1), op.input_dtype(ty, i))).collect();
            let result = apply(op, ty, &ins).unwrap_or_else(|e| panic!("{}.{ty}: {e}", op.name()));
            assert_eq!(result.dtype(), op.output_dtype(ty), "{}.{ty}", op.name());
        }
    }
}

#[test]
fn streams_are_those_of_numpys_bit_generators() {
    // seed 12345: words 0, 1 and 999
    let lcg = [0x1905_e033_5aae_9634, 0x9199_b0d0_9775_add5, 0xc9c7_353e_6e2b_1f28, 0x7d76_1f2d_4027_fae7];
    let counter = [0, 0, 0, 0, 0xb5ae_6482_a03d_837c, 0xbbe2_996f_fa1f_7a2f];
    for (op, first, state, words) in [
        (Op::Pcg64, 0, &lcg[..], [0x3a32_b18d_b2ff_c19d, 0x5117_1315_c9e4_c4de, 0x6eac_be43_e08d_92f2]),
        (Op::Pcg64Dxsm, 0, &lcg[..], [0xee9c_e7d9_1fd0_146f, 0x5666_c45f_046a_0883, 0x3370_bfbf_3bc5_607b]),
        (Op::Philox, 4, &counter[..], [0x6bb6_8ec5_e088_7940, 0xa736_3669_9d49_8901, 0x687b_1a4f_177d_fc46]),
    ] {
        let at = |ty: DType, position: u64| {
            let ins: Vec<Scalar> = [position].iter().chain(state).map(|w| Scalar::U64(*w)).collect();
            apply(op, ty, &ins).unwrap()
        };
        for (place, word) in [0, 1, 999].into_iter().zip(words) {
            assert_eq!(at(DType::U64, first + place), Scalar::U64(word), "{op:?}");
            assert_eq!(at(DType::F64, first + place), Scalar::F64((word >> 11) as f64 / 2f64.powi(53)));
            assert_eq!(at(DType::U32, 2 * (first + place)), Scalar::U32(word as u32));
            assert_eq!(at(DType::F32, 2 * (first + place) + 1), Scalar::F32((word >> 40) as f32 / 2f32.powi(24)));
        }
    }
}
