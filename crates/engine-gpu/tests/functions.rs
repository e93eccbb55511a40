//! Functions have the same bits as on the CPU.

mod support;

use numelt_ir::{DType, Op};
use numelt_opt::Node;
use numelt_vecmath::{Func1, Func2, Isa, binary_f32, binary_f64, unary_f32, unary_f64};
use support::{device, kernel, run};

/// Numbers of all sizes, near the ends of domains, of any bits, and the special ones.
fn numbers(count: usize) -> Vec<f64> {
    let special = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        1.5,
        8.0,
        0.84375,
        22.0,
        88.7,
        103.9,
        708.4,
        709.7,
        710.5,
        745.2,
        1e-310,
        5e-324,
        1e-40,
        1e-45,
        1e300,
        1e22,
        3.4e38,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NAN,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::PI,
    ];
    let mut all: Vec<f64> = special.iter().flat_map(|&x| [x, -x]).collect();
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 29
    };
    while all.len() < count {
        let (bits, kind) = (next(), next() >> 60);
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        all.push(match kind {
            0..=2 => f64::from_bits(bits),
            3..=5 => unit * 2.0 - 1.0,
            6..=8 => (unit - 0.5) * 20.0,
            9..=10 => (unit - 0.5) * 1500.0,
            // near multiples of pi / 2, of any size
            11..=12 => ((bits >> 20) % 1000) as f64 * std::f64::consts::FRAC_PI_2,
            13 => unit * 1e6,
            _ => f64::from(f32::from_bits(bits as u32)),
        });
    }
    all
}

fn bytes64(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn bytes32(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn check64(name: &str, got: &[u8], want: &[f64], inputs: &[&[f64]]) {
    for (at, (got, want)) in got.as_chunks().0.iter().zip(want).enumerate() {
        let got = f64::from_le_bytes(*got);
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        let of: Vec<f64> = inputs.iter().map(|values| values[at]).collect();
        assert!(same, "{name}.f64 of {of:?}: {got:e} instead of {want:e}");
    }
}

fn check32(name: &str, got: &[u8], want: &[f32], inputs: &[&[f32]]) {
    for (at, (got, want)) in got.as_chunks().0.iter().zip(want).enumerate() {
        let got = f32::from_le_bytes(*got);
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        let of: Vec<f32> = inputs.iter().map(|values| values[at]).collect();
        assert!(same, "{name}.f32 of {of:?}: {got:e} instead of {want:e}");
    }
}

fn op(name: &str) -> Op {
    Op::from_name(if name == "pow" { "power" } else { name }).unwrap()
}

const COUNT: usize = 20_000;

/// The functions that one kernel computes; compiling a kernel takes as long for one function as for a few.
const TOGETHER: usize = 4;

#[test]
fn functions_of_one_argument() {
    let Some(device) = device() else { return };
    let wide = numbers(COUNT);
    let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
    for functions in Func1::ALL.chunks(TOGETHER) {
        let nodes = |ty| functions.iter().map(|f| Node::Op(op(f.name()), ty, [0].into_iter().collect())).collect();
        let (doubles, _) = run(&*device, kernel(&[DType::F64], nodes(DType::F64)), &[bytes64(&wide)], COUNT);
        for (&f, doubles) in functions.iter().zip(&doubles) {
            let mut want = vec![0.0; COUNT];
            // SAFETY: both slices hold as many elements, and the instruction set was detected.
            unsafe { unary_f64(f, Isa::detect())(wide.as_ptr(), want.as_mut_ptr(), COUNT) };
            check64(f.name(), doubles, &want, &[&wide]);
        }
        let (singles, _) = run(&*device, kernel(&[DType::F32], nodes(DType::F32)), &[bytes32(&narrow)], COUNT);
        for (&f, singles) in functions.iter().zip(&singles) {
            let mut want = vec![0.0; COUNT];
            // SAFETY: as above.
            unsafe { unary_f32(f, Isa::detect())(narrow.as_ptr(), want.as_mut_ptr(), COUNT) };
            check32(f.name(), singles, &want, &[&narrow]);
        }
    }
}

#[test]
fn functions_of_two_arguments() {
    let Some(device) = device() else { return };
    let a = numbers(COUNT);
    // including small integral and half-integral exponents
    let halves = |(at, x): (usize, &f64)| if at % 3 == 0 { ((at / 3 % 41) as f64 - 20.0) / 2.0 } else { *x };
    let b: Vec<f64> = numbers(COUNT + 991)[991..].iter().enumerate().map(halves).collect();
    let [a32, b32] = [&a, &b].map(|v| v.iter().map(|&x| x as f32).collect::<Vec<_>>());
    let node = |f: &Func2, ty| Node::Op(op(f.name()), ty, [0, 1].into_iter().collect());
    let nodes = |ty| Func2::ALL.iter().map(|f| node(f, ty)).collect();
    let [f32, f64] = [DType::F32, DType::F64];
    let (doubles, _) = run(&*device, kernel(&[f64, f64], nodes(f64)), &[bytes64(&a), bytes64(&b)], COUNT);
    for (&f, doubles) in Func2::ALL.iter().zip(&doubles) {
        let mut want = vec![0.0; COUNT];
        // SAFETY: all slices hold as many elements, and the instruction set was detected.
        unsafe { binary_f64(f, Isa::detect())(a.as_ptr(), b.as_ptr(), want.as_mut_ptr(), COUNT) };
        check64(f.name(), doubles, &want, &[&a, &b]);
    }
    let (singles, _) = run(&*device, kernel(&[f32, f32], nodes(f32)), &[bytes32(&a32), bytes32(&b32)], COUNT);
    for (&f, singles) in Func2::ALL.iter().zip(&singles) {
        let mut want = vec![0.0; COUNT];
        // SAFETY: as above.
        unsafe { binary_f32(f, Isa::detect())(a32.as_ptr(), b32.as_ptr(), want.as_mut_ptr(), COUNT) };
        check32(f.name(), singles, &want, &[&a32, &b32]);
    }
}
