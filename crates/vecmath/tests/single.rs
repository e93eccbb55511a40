//! f32 functions with algorithms of their own in f64 lanes: the f64 functions, rounded.

use numelt_vecmath::{Func1, Func2, Isa, binary_f32, binary_f64, unary_f32, unary_f64};

/// Steps from one f32 to the next that is looked at.
const STEP: usize = 4099;

fn alike(name: &str, x: f32, got: f32, want: f64) {
    let want = want as f32;
    assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{name}({x:e}): {got:e}, not {want:e}");
}

#[test]
fn functions_of_one_argument() {
    for f in [Func1::Log1p, Func1::Expm1, Func1::Arctan, Func1::Log2, Func1::Log10, Func1::Arcsinh] {
        let x: Vec<f32> = (0..=u32::MAX).step_by(STEP).map(f32::from_bits).collect();
        let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        let (mut got, mut want) = (vec![0.0f32; x.len()], vec![0.0f64; x.len()]);
        // SAFETY: all slices have the length of `x`; the instruction set was detected.
        unsafe {
            unary_f32(f, Isa::detect())(x.as_ptr(), got.as_mut_ptr(), x.len());
            unary_f64(f, Isa::detect())(wide.as_ptr(), want.as_mut_ptr(), x.len());
        }
        x.iter().zip(got).zip(want).for_each(|((&x, got), want)| alike(f.name(), x, got, want));
    }
}

#[test]
fn powers() {
    // bases of all sizes and exponents whose powers are in range, beside special values
    let base = |i: u32| f32::from_bits(i.wrapping_mul(2_654_435_761) & 0x7fff_ffff);
    let (x, y): (Vec<f32>, Vec<f32>) =
        (0..500_000u32)
            .map(|i| {
                let x = base(i);
                let size = f64::from(x).ln().abs().max(1e-30);
                (x, ((f64::from(i.wrapping_mul(40_503) % 2001) / 1000.0 - 1.0) * 95.0 / size) as f32)
            })
            .chain([0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NAN, -2.5].into_iter().flat_map(|x| {
                [0.0, -0.0, 0.3, -3.0, 2.7, f32::INFINITY, f32::NEG_INFINITY, f32::NAN].map(move |y| (x, y))
            }))
            .unzip();
    let (wide, exponents): (Vec<f64>, Vec<f64>) = x.iter().zip(&y).map(|(&x, &y)| (f64::from(x), f64::from(y))).unzip();
    let (mut got, mut want) = (vec![0.0f32; x.len()], vec![0.0f64; x.len()]);
    // SAFETY: all slices have the length of `x`; the instruction set was detected.
    unsafe {
        binary_f32(Func2::Pow, Isa::detect())(x.as_ptr(), y.as_ptr(), got.as_mut_ptr(), x.len());
        binary_f64(Func2::Pow, Isa::detect())(wide.as_ptr(), exponents.as_ptr(), want.as_mut_ptr(), x.len());
    }
    x.iter().zip(got).zip(want).for_each(|((&x, got), want)| alike("pow", x, got, want));
}
