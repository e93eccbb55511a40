//! log, log2, log10, log1p, arcsinh, arccosh, arctanh in f64, and the pair log of pow.
//!
//! All but the last are made of the logarithm by a table (`log_table`).

use super::log_table;
use super::log_table::double::{
    Base, Exact, log_anywhere, log_beyond_one, log_inside, log_of, log_positive, log_sum, parts, parts_of_any,
};
use crate::coeffs::{
    ASINH, BINARY_INVERSE, BINARY_LOG, BINARY_REST, DECIMAL_INVERSE, DECIMAL_LOG, DECIMAL_REST, INV_LN2, INV_LN2_LO,
    INV_LN10, INV_LN10_LO, LN2_HI, LN2_LO, LOG10_2_HI, LOG10_2_LO, NATURAL_INVERSE, NATURAL_LOG, NATURAL_REST,
    POW_INVERSE, POW_LOG, POW_LOG_HI, POW_LOG_LO,
};
use crate::vector::{F64s, fast_two_sum, poly, two_prod};

pub(super) const NATURAL: Base = Base {
    inverse: &NATURAL_INVERSE,
    log: &NATURAL_LOG,
    octave: [LN2_HI, LN2_LO],
    first: [1.0, 0.0],
    rest: NATURAL_REST,
};
const POWER: Exact = Exact { inverse: &POW_INVERSE, log: &POW_LOG_HI, log_low: &POW_LOG_LO, octave: [LN2_HI, LN2_LO] };
const BINARY: Base = Base {
    inverse: &BINARY_INVERSE,
    log: &BINARY_LOG,
    octave: [1.0, 0.0],
    first: [INV_LN2, INV_LN2_LO],
    rest: BINARY_REST,
};
const DECIMAL: Base = Base {
    inverse: &DECIMAL_INVERSE,
    log: &DECIMAL_LOG,
    octave: [LOG10_2_HI, LOG10_2_LO],
    first: [INV_LN10, INV_LN10_LO],
    rest: DECIMAL_REST,
};

/// Natural logarithm where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log_quick<V: F64s>(x: V) -> Option<V> {
    log_inside(&NATURAL, x)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: F64s>(x: V) -> V {
    log_anywhere(&NATURAL, x)
}

/// Logarithm to base 2 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log2_quick<V: F64s>(x: V) -> Option<V> {
    log_inside(&BINARY, x)
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: F64s>(x: V) -> V {
    log_anywhere(&BINARY, x)
}

/// Logarithm to base 10 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log10_quick<V: F64s>(x: V) -> Option<V> {
    log_inside(&DECIMAL, x)
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: F64s>(x: V) -> V {
    log_anywhere(&DECIMAL, x)
}

/// log(1 + x) where all lanes are inside its domain and below 2^60.
#[inline(always)]
pub(crate) fn log1p_quick<V: F64s>(x: V) -> Option<V> {
    let good = V::both(V::lt(V::of(-1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(log_beyond_one(&NATURAL, x, None).copysign(x)) }
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<V: F64s>(x: V) -> V {
    let (bottom, inf) = (V::of(-1.0), V::of(f64::INFINITY));
    let large = V::le(V::of(LARGE), x);
    let r = V::select(large, log_positive(&NATURAL, x), log_beyond_one(&NATURAL, x, None).copysign(x));
    let r = V::select(V::both(V::lt(bottom, x), V::lt(x, inf)), r, x);
    let r = V::select(V::eq(x, bottom), -inf, r);
    V::select(V::lt(x, bottom), V::of(f64::NAN), r)
}

/// 2^60. From here on 1 + x and sqrt(x^2 + 1) are x.
const LARGE: f64 = 1152921504606846976.0;
/// Below this the inverse hyperbolics are polynomials.
const SMALL: f64 = 0.5;

/// sqrt(h + l) as the sum of two parts, of which the second has a few correct bits. The root of 0 is 0.
#[inline(always)]
pub(crate) fn sqrt_pair<V: F64s>(h: V, l: V) -> (V, V) {
    let s = h.sqrt();
    (s, ((-s).fma(s, h) + l) * half_inverse(s))
}

/// 1 / (2 x) within an eighth, for normal x: the bits of a number are nearly its logarithm.
#[inline(always)]
fn half_inverse<V: F64s>(x: V) -> V {
    V::from_bits(V::isub(V::int(0x7fce_6238_5024_84ba), x.bits()))
}

/// arcsinh of |x| < 2^60.
#[inline(always)]
fn arcsinh_inside<V: F64s>(ax: V) -> V {
    let one = V::of(1.0);
    // powers of large numbers would overflow
    let near = one.min(ax);
    let z = near * near;
    let small = (near * z).fma(poly(z, ASINH), near);
    let w = ax.fma(ax, one);
    let (s, sl) = sqrt_pair(w, ax.fma(ax, one - w));
    let (h, l) = fast_two_sum(s, ax);
    V::select(V::lt(ax, V::of(SMALL)), small, log_sum(&NATURAL, h, l + sl))
}

/// Inverse hyperbolic sine where all lanes are below 2^60 in size.
#[inline(always)]
pub(crate) fn arcsinh_quick<V: F64s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(LARGE))) { None } else { Some(arcsinh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn arcsinh<V: F64s>(x: V) -> V {
    let ax = x.abs();
    V::select(V::lt(ax, V::of(LARGE)), arcsinh_inside(ax), log_twice(ax)).copysign(x)
}

/// log(2 x) of a large x, infinities and NaN as they are.
#[inline(always)]
fn log_twice<V: F64s>(x: V) -> V {
    let (k, m, sixteenth) = parts_of_any(x);
    let log = log_of(&NATURAL, k + V::of(1.0), m, sixteenth);
    V::select(V::lt(x, V::of(f64::INFINITY)), log, x)
}

/// arccosh of 1 <= x < 2^60: log(1 + t + sqrt(t (t + 2))), t = x - 1.
#[inline(always)]
fn arccosh_inside<V: F64s>(x: V) -> V {
    let one = V::of(1.0);
    let (t, sum) = (x - one, x + one);
    let (w, we) = two_prod(t, sum);
    let (s, sl) = sqrt_pair(w, t.fma(x - (sum - one), we));
    let (u, ul) = fast_two_sum(s, t);
    log_beyond_one(&NATURAL, u, Some(ul + sl))
}

/// Inverse hyperbolic cosine where all lanes are from 1 to 2^60.
#[inline(always)]
pub(crate) fn arccosh_quick<V: F64s>(x: V) -> Option<V> {
    let good = V::both(V::le(V::of(1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(arccosh_inside(x)) }
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(crate) fn arccosh<V: F64s>(x: V) -> V {
    let r = V::select(V::lt(x, V::of(LARGE)), arccosh_inside(x), log_twice(x));
    V::select(V::lt(x, V::of(1.0)), V::of(f64::NAN), r)
}

/// arctanh of |x| < 1: log(1 + 2 x / (1 - x)) / 2.
#[inline(always)]
fn arctanh_inside<V: F64s>(ax: V) -> V {
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
pub(crate) fn arctanh_quick<V: F64s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(1.0))) { None } else { Some(arctanh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(crate) fn arctanh<V: F64s>(x: V) -> V {
    let (ax, one) = (x.abs(), V::of(1.0));
    let r = V::select(V::lt(ax, one), arctanh_inside(ax), V::of(f64::NAN));
    V::select(V::eq(ax, one), V::of(f64::INFINITY), r).copysign(x)
}

/// The logarithm of a positive normal number as a pair with eleven bits more than an f64.
#[inline(always)]
pub(crate) fn log_pair<V: F64s>(x: V) -> (V, V) {
    joined(log_table::double::log_pair(&POWER, POW_LOG, parts(x)))
}

/// The same of any positive finite number.
#[inline(always)]
pub(crate) fn log_pair_of_any<V: F64s>(x: V) -> (V, V) {
    joined(log_table::double::log_pair(&POWER, POW_LOG, parts_of_any(x)))
}

/// A pair whose second number is no more than the first one's rounding error. Exponents of f64 are so large that the
/// rounding errors of products with a larger second number would count.
#[inline(always)]
fn joined<V: F64s>((high, low): (V, V)) -> (V, V) {
    fast_two_sum(high, low)
}
