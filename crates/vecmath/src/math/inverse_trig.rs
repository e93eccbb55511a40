//! arcsin, arccos in f64.
//!
//! arcsin above 1/2 goes through arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2), the root kept as a pair.

use super::log::sqrt_pair;
use crate::coeffs::{ASIN, FRAC_PI_2, FRAC_PI_2_LO, PI, PI_LO};
use crate::vector::{F64s, fast_two_sum, poly};

/// For |x| <= 1/2: (x, arcsin x - x); above: (s, rest) with arcsin sqrt((1-|x|)/2) = s + rest.
#[inline(always)]
fn arcsin_parts<V: F64s>(ax: V, small: V::Mask) -> (V, V) {
    let half = V::of(0.5);
    let w = (-half).fma(ax, half);
    let (s, sl) = sqrt_pair(w, V::of(0.0));
    let z = V::select(small, ax * ax, w);
    let s = V::select(small, ax, s);
    let sl = V::select(small, V::of(0.0), sl);
    // d arcsin = ds / sqrt(1 - s^2)
    (s, (s * z).fma(poly(z, ASIN), (half * z).fma(sl, sl)))
}

/// Inverse sine where all lanes have one.
#[inline(always)]
pub(crate) fn arcsin_quick<V: F64s>(x: V) -> Option<V> {
    if V::any(V::not(V::le(x.abs(), V::of(1.0)))) { None } else { Some(arcsin(x)) }
}

/// Inverse sine.
#[inline(always)]
pub(crate) fn arcsin<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let small = V::le(ax, V::of(0.5));
    let (s, rest) = arcsin_parts(ax, small);
    let two = V::of(2.0);
    let (hi, lo) = fast_two_sum(V::of(FRAC_PI_2), -(s + s));
    let large = hi + (lo + (-two).fma(rest, V::of(FRAC_PI_2_LO)));
    V::select(small, s + rest, large).copysign(x)
}

/// Inverse cosine where all lanes have one.
#[inline(always)]
pub(crate) fn arccos_quick<V: F64s>(x: V) -> Option<V> {
    if V::any(V::not(V::le(x.abs(), V::of(1.0)))) { None } else { Some(arccos(x)) }
}

/// Inverse cosine.
#[inline(always)]
pub(crate) fn arccos<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let small = V::le(ax, V::of(0.5));
    let (s, rest) = arcsin_parts(ax, small);
    let two = V::of(2.0);
    // pi/2 - x, or pi - 2 s left of -1/2, or 2 s right of 1/2
    let left = V::lt(x, V::of(0.0));
    let zero = V::of(0.0);
    let far = V::select(left, V::of(PI), zero);
    let far_lo = V::select(left, V::of(PI_LO), zero);
    let base = V::select(small, V::of(FRAC_PI_2), far);
    let base_lo = V::select(small, V::of(FRAC_PI_2_LO), far_lo);
    let factor = V::select(small, V::of(1.0).copysign(x), V::select(left, two, -two));
    let (hi, lo) = fast_two_sum(base, -(factor * s));
    hi + (lo + (-factor).fma(rest, base_lo))
}
