//! Logarithms in native f32 lanes: log, log2, log10, log1p, arcsinh, arccosh, arctanh.
//!
//! All are made of the logarithm by a table (`log_table`). Each function has a part for arguments inside its domain,
//! which is all that `*_quick` computes, and the values elsewhere.

use super::log_table;
use super::log_table::single::{
    Base, Exact, log_anywhere, log_beyond_one, log_inside, log_of, log_positive, log_sum, parts, parts_of_any,
};
use crate::coeffs::{
    ASINH_F32, BINARY_F32_INVERSE, BINARY_F32_LOG, BINARY_F32_REST, DECIMAL_F32_INVERSE, DECIMAL_F32_LOG,
    DECIMAL_F32_REST, INV_LN2_F32, INV_LN2_LO_F32, INV_LN10_F32, INV_LN10_LO_F32, LN2_HI_F32, LN2_LO_F32,
    LOG10_2_HI_F32, LOG10_2_LO_F32, NATURAL_F32_INVERSE, NATURAL_F32_LOG, NATURAL_F32_REST, POW_INVERSE_F32,
    POW_LOG_F32, POW_LOG_HI_F32, POW_LOG_LO_F32,
};
use crate::vector::{F32s, fast_two_sum, horner, two_prod};

pub(super) const NATURAL: Base = Base {
    inverse: &NATURAL_F32_INVERSE,
    log: &NATURAL_F32_LOG,
    octave: [LN2_HI_F32, LN2_LO_F32],
    first: [1.0, 0.0],
    rest: NATURAL_F32_REST,
};
const POWER: Exact = Exact {
    inverse: &POW_INVERSE_F32,
    log: &POW_LOG_HI_F32,
    log_low: &POW_LOG_LO_F32,
    octave: [LN2_HI_F32, LN2_LO_F32],
};
const BINARY: Base = Base {
    inverse: &BINARY_F32_INVERSE,
    log: &BINARY_F32_LOG,
    octave: [1.0, 0.0],
    first: [INV_LN2_F32, INV_LN2_LO_F32],
    rest: BINARY_F32_REST,
};
const DECIMAL: Base = Base {
    inverse: &DECIMAL_F32_INVERSE,
    log: &DECIMAL_F32_LOG,
    octave: [LOG10_2_HI_F32, LOG10_2_LO_F32],
    first: [INV_LN10_F32, INV_LN10_LO_F32],
    rest: DECIMAL_F32_REST,
};

/// Natural logarithm where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log_quick<V: F32s>(x: V) -> Option<V> {
    log_inside(&NATURAL, x)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: F32s>(x: V) -> V {
    log_anywhere(&NATURAL, x)
}

/// Logarithm to base 2 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log2_quick<V: F32s>(x: V) -> Option<V> {
    log_inside(&BINARY, x)
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: F32s>(x: V) -> V {
    log_anywhere(&BINARY, x)
}

/// Logarithm to base 10 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log10_quick<V: F32s>(x: V) -> Option<V> {
    log_inside(&DECIMAL, x)
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: F32s>(x: V) -> V {
    log_anywhere(&DECIMAL, x)
}

/// log(1 + x) where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log1p_quick<V: F32s>(x: V) -> Option<V> {
    // 2^-126 has to be normal
    let good = V::both(V::lt(V::of(-1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(log_beyond_one(&NATURAL, x, None).copysign(x)) }
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<V: F32s>(x: V) -> V {
    let (bottom, inf) = (V::of(-1.0), V::of(f32::INFINITY));
    let large = V::le(V::of(LARGE), x);
    let r = V::select(large, log_positive(&NATURAL, x), log_beyond_one(&NATURAL, x, None).copysign(x));
    let r = V::select(V::both(V::lt(bottom, x), V::lt(x, inf)), r, x);
    let r = V::select(V::eq(x, bottom), -inf, r);
    V::select(V::lt(x, bottom), V::of(f32::NAN), r)
}

/// 2^60. From here on 1 + x and sqrt(x^2 + 1) are x, and x^2 overflows soon.
const LARGE: f32 = 1152921504606846976.0;
/// Below this the inverse hyperbolics are polynomials.
const SMALL: f32 = 0.5;

/// sqrt(h + l) as the sum of two parts, of which the second has a few correct bits. The root of 0 is 0.
#[inline(always)]
pub(super) fn sqrt_sum<V: F32s>(h: V, l: V) -> (V, V) {
    let s = h.sqrt();
    (s, ((-s).fma(s, h) + l) * half_inverse(s))
}

/// 1 / (2 x) within an eighth, for normal x: the bits of a number are nearly its logarithm.
#[inline(always)]
pub(super) fn half_inverse<V: F32s>(x: V) -> V {
    V::from_bits(V::isub(V::int(0x7e73_11c3), x.bits()))
}

/// arcsinh of |x| < 2^60.
#[inline(always)]
fn arcsinh_inside<V: F32s>(ax: V) -> V {
    let one = V::of(1.0);
    // powers of large numbers would overflow
    let near = one.min(ax);
    let z = near * near;
    let small = (near * z).fma(horner(z, ASINH_F32), near);
    let w = ax.fma(ax, one);
    let (s, sl) = sqrt_sum(w, ax.fma(ax, one - w));
    let (h, l) = fast_two_sum(s, ax);
    V::select(V::lt(ax, V::of(SMALL)), small, log_sum(&NATURAL, h, l + sl))
}

/// Inverse hyperbolic sine where all lanes are below 2^60 in size.
#[inline(always)]
pub(crate) fn arcsinh_quick<V: F32s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(LARGE))) { None } else { Some(arcsinh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn arcsinh<V: F32s>(x: V) -> V {
    let ax = x.abs();
    V::select(V::lt(ax, V::of(LARGE)), arcsinh_inside(ax), log_twice(ax)).copysign(x)
}

/// log(2 x) of a large x, infinities and NaN as they are.
#[inline(always)]
fn log_twice<V: F32s>(x: V) -> V {
    let (k, m, sixteenth) = parts_of_any(x);
    let log = log_of(&NATURAL, k + V::of(1.0), m, sixteenth);
    V::select(V::lt(x, V::of(f32::INFINITY)), log, x)
}

/// arccosh of 1 <= x < 2^60: log(1 + t + sqrt(t (t + 2))), t = x - 1.
#[inline(always)]
fn arccosh_inside<V: F32s>(x: V) -> V {
    let one = V::of(1.0);
    let (t, sum) = (x - one, x + one);
    let (w, we) = two_prod(t, sum);
    let (s, sl) = sqrt_sum(w, t.fma(x - (sum - one), we));
    let (u, ul) = fast_two_sum(s, t);
    log_beyond_one(&NATURAL, u, Some(ul + sl))
}

/// Inverse hyperbolic cosine where all lanes are from 1 to 2^60.
#[inline(always)]
pub(crate) fn arccosh_quick<V: F32s>(x: V) -> Option<V> {
    let good = V::both(V::le(V::of(1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(arccosh_inside(x)) }
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(crate) fn arccosh<V: F32s>(x: V) -> V {
    let r = V::select(V::lt(x, V::of(LARGE)), arccosh_inside(x), log_twice(x));
    V::select(V::lt(x, V::of(1.0)), V::of(f32::NAN), r)
}

/// arctanh of |x| < 1: log(1 + 2 x / (1 - x)) / 2.
#[inline(always)]
fn arctanh_inside<V: F32s>(ax: V) -> V {
    let one = V::of(1.0);
    let (d, dl) = fast_two_sum(one, -ax);
    let n = ax + ax;
    let u = n / d;
    let rest = (-u).fma(dl, (-u).fma(d, n));
    // 1 / (1 - x) = 1 + u / 2
    let inverse = u.fma(V::of(0.5), one);
    V::of(0.5) * log_beyond_one(&NATURAL, u, Some(rest * inverse))
}

/// Inverse hyperbolic tangent where all lanes are below 1 in size.
#[inline(always)]
pub(crate) fn arctanh_quick<V: F32s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(1.0))) { None } else { Some(arctanh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(crate) fn arctanh<V: F32s>(x: V) -> V {
    let (ax, one) = (x.abs(), V::of(1.0));
    let r = V::select(V::lt(ax, one), arctanh_inside(ax), V::of(f32::NAN));
    V::select(V::eq(ax, one), V::of(f32::INFINITY), r).copysign(x)
}

/// The logarithm of a positive normal number as a pair with eleven bits more than an f32.
#[inline(always)]
pub(super) fn log_pair<V: F32s>(x: V) -> (V, V) {
    log_table::single::log_pair(&POWER, POW_LOG_F32, parts(x))
}

/// The same of any positive finite number.
#[inline(always)]
pub(super) fn log_pair_of_any<V: F32s>(x: V) -> (V, V) {
    log_table::single::log_pair(&POWER, POW_LOG_F32, parts_of_any(x))
}
