//! arcsin, arccos, arctan, arctan2 in f64.
//!
//! arctan reduces to |t| <= tan(pi/8) by one pair division; arcsin above 1/2 goes through
//! arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2), the root kept as a pair.

use super::log::sqrt_pair;
use crate::coeffs::{ASIN, ATAN, FRAC_PI_2, FRAC_PI_2_LO, FRAC_PI_4, FRAC_PI_4_LO, PI, PI_LO};
use crate::vector::{F64s, divide, fast_two_sum, poly, two_sum};

const TAN_PI_8: f64 = 0.414213562373095;
/// 2^500 and 2^990.
const TWO_500: f64 = f64::from_bits(0x5f30_0000_0000_0000);
const TWO_990: f64 = f64::from_bits(0x7dd0_0000_0000_0000);
const TAN_3PI_8: f64 = 2.414213562373095;

/// arctan(t + tl) - t for |t| <= tan(pi/8).
#[inline(always)]
fn arctan_rest<V: F64s>(t: V, tl: V) -> V {
    let z = t * t;
    // d arctan = dt / (1 + t^2)
    (t * z).fma(poly(z, ATAN), (-z).fma(tl, tl))
}

/// Inverse tangent.
#[inline(always)]
pub(crate) fn arctan<V: F64s>(x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let ax = V::of(1e300).min(x.abs());
    let low = V::le(ax, V::of(TAN_PI_8));
    let high = V::lt(V::of(TAN_3PI_8), ax);
    let (n, nl) = two_sum(ax, -one);
    let (d, dl) = two_sum(ax, one);
    let outer = V::either(low, high);
    let n = V::select(low, ax, V::select(high, -one, n));
    let nl = V::select(outer, zero, nl);
    let d = V::select(low, one, V::select(high, ax, d));
    let dl = V::select(outer, zero, dl);
    let (t, tl) = divide(n, nl, d, dl, one);
    let base = V::select(low, zero, V::select(high, V::of(FRAC_PI_2), V::of(FRAC_PI_4)));
    let base_lo = V::select(low, zero, V::select(high, V::of(FRAC_PI_2_LO), V::of(FRAC_PI_4_LO)));
    let (hi, lo) = fast_two_sum(base, t);
    (hi + (lo + (base_lo + arctan_rest(t, tl)))).copysign(x)
}

/// Larger and smaller of two magnitudes, brought to where products and quotients of
/// them are safe, infinities made finite without changing the angle.
#[inline(always)]
fn balanced<V: F64s>(big: V, small: V) -> (V, V) {
    let (one, inf) = (V::of(1.0), V::of(f64::INFINITY));
    let endless = V::eq(big, inf);
    let small = V::select(endless, V::select(V::eq(small, inf), one, V::of(0.0)), small);
    let big = V::select(V::either(endless, V::eq(big, V::of(0.0))), one, big);
    // high up, so that no residual of the division is subnormal
    let low = V::lt(big, V::of(TWO_500));
    let top = V::lt(V::of(TWO_990), big);
    let factor = V::select(low, V::of(TWO_500), one);
    let factor = V::select(top, V::of(1.0 / 1073741824.0), factor);
    (big * factor, small * factor)
}

/// Angle of the point (x, y).
#[inline(always)]
pub(crate) fn arctan2<V: F64s>(y: V, x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let (ay, ax) = (y.abs(), x.abs());
    let swap = V::lt(ax, ay);
    let (b, a) = balanced(V::select(swap, ay, ax), V::select(swap, ax, ay));
    // past pi/8 measure from the diagonal instead
    let mid = V::lt(b * V::of(TAN_PI_8), a);
    let (n, nl) = two_sum(a, -b);
    let (d, dl) = two_sum(a, b);
    let (t, tl) =
        divide(V::select(mid, n, a), V::select(mid, nl, zero), V::select(mid, d, b), V::select(mid, dl, zero), one);
    // the angle is units * pi/4 + sense * arctan t
    let units = V::select(mid, one, zero);
    let units = V::select(swap, V::of(2.0) - units, units);
    let left = V::lt(one.copysign(x), zero);
    let units = V::select(left, V::of(4.0) - units, units);
    let sense = V::ixor(V::select(swap, -zero, zero).bits(), V::select(left, -zero, zero).bits());
    let base = units * V::of(FRAC_PI_4);
    let base_lo = units.fma(V::of(FRAC_PI_4_LO), units.fma(V::of(FRAC_PI_4), -base));
    let (hi, lo) = fast_two_sum(base, t.flip(sense));
    let angle = hi + (lo + (base_lo + arctan_rest(t, tl).flip(sense)));
    let nan = V::not(V::both(V::eq(x, x), V::eq(y, y)));
    V::select(nan, x + y, angle.copysign(y))
}

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
