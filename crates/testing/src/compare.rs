//! Whether two results are equal, as exactly as the program determines them.

use crate::closeness::Closeness;
use numelt_ir::{DType, F16, Scalar};

/// By how much values may differ if their last places are not determined.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// Units in the last place (of the modulus, for complex values).
    pub ulps: u64,
}

impl Tolerance {
    /// For executions that use the interpreter's functions.
    pub const NONE: Tolerance = Tolerance { ulps: 0 };
    /// For engines with functions of their own, whose error is at most one unit.
    pub const ENGINE: Tolerance = Tolerance { ulps: 4 };
}

/// The first element in which two byte strings of equal length differ: its number and both values.
pub fn first_difference(
    want: &[u8],
    got: &[u8],
    dtype: DType,
    closeness: Closeness,
    tolerance: Tolerance,
) -> Option<(usize, Scalar, Scalar)> {
    if closeness == Closeness::Unknown {
        return None;
    }
    let size = dtype.size();
    (0..want.len() / size).find_map(|i| {
        let (a, b) = (&want[i * size..][..size], &got[i * size..][..size]);
        let (a, b) = (Scalar::from_bytes(dtype, a), Scalar::from_bytes(dtype, b));
        (!agree(a, b, closeness, tolerance)).then_some((i, a, b))
    })
}

/// Whether two values of one type agree.
pub fn agree(a: Scalar, b: Scalar, closeness: Closeness, tolerance: Tolerance) -> bool {
    match (a, b) {
        (Scalar::F16(x), Scalar::F16(y)) => float(x.to_f64(), y.to_f64(), closeness, steps16(x, y), tolerance),
        (Scalar::F32(x), Scalar::F32(y)) => float(f64::from(x), f64::from(y), closeness, steps32(x, y), tolerance),
        (Scalar::F64(x), Scalar::F64(y)) => float(x, y, closeness, steps64(x, y), tolerance),
        (Scalar::C64(x), Scalar::C64(y)) => {
            let wide = |v: f32| f64::from(v);
            complex([wide(x.re), wide(x.im)], [wide(y.re), wide(y.im)], closeness, tolerance, f64::from(f32::EPSILON))
        }
        (Scalar::C128(x), Scalar::C128(y)) => complex([x.re, x.im], [y.re, y.im], closeness, tolerance, f64::EPSILON),
        _ => a == b,
    }
}

/// The number of representable steps between two values, where zeros of both signs count as one.
fn steps64(x: f64, y: f64) -> u64 {
    let place = |v: f64| {
        let bits = v.to_bits() as i64;
        if bits < 0 { i64::MIN - bits } else { bits }
    };
    place(x).abs_diff(place(y))
}

fn steps32(x: f32, y: f32) -> u64 {
    let place = |v: f32| {
        let bits = v.to_bits() as i32;
        if bits < 0 { i32::MIN - bits } else { bits }
    };
    u64::from(place(x).abs_diff(place(y)))
}

fn steps16(x: F16, y: F16) -> u64 {
    let place = |v: F16| if v.0 & 0x8000 != 0 { -i32::from(v.0 & 0x7FFF) } else { i32::from(v.0) };
    u64::from(place(x).abs_diff(place(y)))
}

fn float(x: f64, y: f64, closeness: Closeness, steps: u64, tolerance: Tolerance) -> bool {
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    match closeness {
        Closeness::Exact => x == y && x.is_sign_negative() == y.is_sign_negative(),
        Closeness::ZeroSign => x == y,
        Closeness::Ulps => steps <= tolerance.ulps,
        Closeness::Unknown => true,
    }
}

fn complex(x: [f64; 2], y: [f64; 2], closeness: Closeness, tolerance: Tolerance, epsilon: f64) -> bool {
    let part = |i: usize, closeness| float(x[i], y[i], closeness, u64::MAX, tolerance);
    if closeness != Closeness::Ulps {
        return part(0, closeness) && part(1, closeness);
    }
    let is_nan = |v: [f64; 2]| v[0].is_nan() || v[1].is_nan();
    if is_nan(x) || is_nan(y) {
        return is_nan(x) && is_nan(y);
    }
    if part(0, Closeness::ZeroSign) && part(1, Closeness::ZeroSign) {
        return true;
    }
    // if one part is the same infinity in both, the other part decides how close they are
    let apart = |i: usize| if x[i] == y[i] { 0.0 } else { x[i] - y[i] };
    let finite = |i: usize| if x[i].is_finite() { x[i] } else { 0.0 };
    apart(0).hypot(apart(1)) <= finite(0).hypot(finite(1)) * epsilon * tolerance.ulps as f64 * 4.0
}
