//! arcsin, arccos in native f32 lanes.

use super::single_log::sqrt_sum;
use crate::coeffs::{ASIN_F32, PIO2_1_F32, PIO2_2_F32};
use crate::vector::{F32s, fast_two_sum, horner};

/// For |x| <= 1/2: (x, arcsin x - x); above: (s, rest) with arcsin sqrt((1 - |x|)/2) = s + rest.
#[inline(always)]
fn arcsin_parts<V: F32s>(ax: V, small: V::Mask) -> (V, V) {
    let half = V::of(0.5);
    let w = (-half).fma(ax, half);
    let (root, low) = sqrt_sum(w, V::of(0.0));
    let z = V::select(small, ax * ax, w);
    let s = V::select(small, ax, root);
    (s, (s * z).fma(horner(z, ASIN_F32), V::select(small, V::of(0.0), low)))
}

/// Inverse sine where all lanes have one.
#[inline(always)]
pub(crate) fn arcsin_quick<V: F32s>(x: V) -> Option<V> {
    if V::any(V::not(V::le(x.abs(), V::of(1.0)))) { None } else { Some(arcsin(x)) }
}

/// Inverse sine.
#[inline(always)]
pub(crate) fn arcsin<V: F32s>(x: V) -> V {
    let ax = x.abs();
    let small = V::le(ax, V::of(0.5));
    let (s, rest) = arcsin_parts(ax, small);
    let (hi, lo) = fast_two_sum(V::of(PIO2_1_F32), -(s + s));
    let large = hi + (lo + V::of(-2.0).fma(rest, V::of(PIO2_2_F32)));
    V::select(small, s + rest, large).copysign(x)
}

/// Inverse cosine where all lanes have one.
#[inline(always)]
pub(crate) fn arccos_quick<V: F32s>(x: V) -> Option<V> {
    if V::any(V::not(V::le(x.abs(), V::of(1.0)))) { None } else { Some(arccos(x)) }
}

/// Inverse cosine: pi/2 - x, or pi - 2 s left of -1/2, or 2 s right of 1/2.
#[inline(always)]
pub(crate) fn arccos<V: F32s>(x: V) -> V {
    let (ax, zero, two) = (x.abs(), V::of(0.0), V::of(2.0));
    let small = V::le(ax, V::of(0.5));
    let (s, rest) = arcsin_parts(ax, small);
    let left = V::lt(x, zero);
    let base = V::select(small, V::of(PIO2_1_F32), V::select(left, V::of(2.0 * PIO2_1_F32), zero));
    let base_lo = V::select(small, V::of(PIO2_2_F32), V::select(left, V::of(2.0 * PIO2_2_F32), zero));
    let factor = V::select(small, V::of(1.0).copysign(x), V::select(left, two, -two));
    let (hi, lo) = fast_two_sum(base, -(factor * s));
    hi + (lo + (-factor).fma(rest, base_lo))
}
