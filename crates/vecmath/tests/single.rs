//! f32 functions against the f64 functions, which the accuracy tests compare with MPFR: within one unit in the last
//! place at numbers all over the range, in every binade and of both signs.

use numelt_vecmath::{Func1, Func2, Isa, binary_f32, binary_f64, unary_f32, unary_f64};

/// Steps from one f32 to the next that is looked at.
const STEP: usize = 1021;

/// One unit in the last place of an f32 near `x`.
fn unit(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2.0f64.powi((exponent - 23).max(-149))
}

/// Whether `got` is the rounded `want`, or at most one unit in the last place of it away.
fn close(got: f32, want: f64) -> bool {
    let nearest = want as f32;
    if got.to_bits() == nearest.to_bits() || got.is_nan() && nearest.is_nan() {
        return true;
    }
    // beyond the largest number stands the power of two after it
    let shown = if got.is_infinite() { 2.0f64.powi(128).copysign(f64::from(got)) } else { f64::from(got) };
    nearest != 0.0 && want.is_finite() && (shown - want).abs() <= unit(want)
}

#[test]
fn functions_of_one_argument() {
    let x: Vec<f32> = (0..=u32::MAX).step_by(STEP).map(f32::from_bits).collect();
    let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
    let (mut got, mut want) = (vec![0.0f32; x.len()], vec![0.0f64; x.len()]);
    for &f in Func1::ALL {
        // SAFETY: all slices have the length of `x`; the instruction set was detected.
        unsafe {
            unary_f32(f, Isa::detect())(x.as_ptr(), got.as_mut_ptr(), x.len());
            unary_f64(f, Isa::detect())(wide.as_ptr(), want.as_mut_ptr(), x.len());
        }
        for ((x, &got), &want) in x.iter().zip(&got).zip(&want) {
            assert!(close(got, want), "{}({x:e}): {got:e}, not {want:e}", f.name());
        }
    }
}

fn check(f: Func2, x: &[f32], y: &[f32]) {
    let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (mut got, mut want) = (vec![0.0f32; x.len()], vec![0.0f64; x.len()]);
    // SAFETY: all slices have the length of `x`; the instruction set was detected.
    unsafe {
        binary_f32(f, Isa::detect())(x.as_ptr(), y.as_ptr(), got.as_mut_ptr(), x.len());
        binary_f64(f, Isa::detect())(wide(x).as_ptr(), wide(y).as_ptr(), want.as_mut_ptr(), x.len());
    }
    for (i, (&got, &want)) in got.iter().zip(&want).enumerate() {
        assert!(close(got, want), "{}({:e}, {:e}): {got:e}, not {want:e}", f.name(), x[i], y[i]);
    }
}

const SPECIAL: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    -3.0,
    2.7,
    -2.5,
    1e-45,
    -1e-40,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

#[test]
fn powers() {
    // bases of all sizes and exponents whose powers are in range, beside special values
    let base = |i: u32| f32::from_bits(i.wrapping_mul(2_654_435_761) & 0x7fff_ffff);
    let (x, y): (Vec<f32>, Vec<f32>) = (0..500_000u32)
        .map(|i| {
            let x = base(i);
            let size = f64::from(x).ln().abs().max(1e-30);
            (x, ((f64::from(i.wrapping_mul(40_503) % 2001) / 1000.0 - 1.0) * 95.0 / size) as f32)
        })
        .chain(SPECIAL.into_iter().flat_map(|x| SPECIAL.map(move |y| (x, y))))
        .unzip();
    check(Func2::Pow, &x, &y);
}

/// Points of all sizes and directions, axes and the smallest numbers among them.
#[test]
fn points() {
    let number = |i: u32| f32::from_bits(i.wrapping_mul(2_654_435_761));
    let near = |i: u32| (f64::from(i.wrapping_mul(40_503) % 4001) / 1000.0 - 2.0) as f32;
    let (x, y): (Vec<f32>, Vec<f32>) = (0..500_000u32)
        .flat_map(|i| {
            let x = number(i);
            [(x, x * near(i)), (x * near(i), x), (x, number(i ^ 0x5555)), (near(i), near(i * 7))]
        })
        .chain(SPECIAL.into_iter().flat_map(|x| SPECIAL.map(move |y| (x, y))))
        .unzip();
    check(Func2::Arctan2, &x, &y);
    check(Func2::Hypot, &x, &y);
}
