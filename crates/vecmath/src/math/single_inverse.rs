//! arcsin, arccos, arctan, arctan2 and cbrt in native f32 lanes.

use super::single_log::{half_inverse, sqrt_sum};
use crate::coeffs::{ASIN_F32, ATAN_F32, CBRT2_F32, PIO2_1_F32, PIO2_2_F32, RCBRT_F32};
use crate::vector::{F32s, fast_two_sum, horner, two_prod};

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

/// arctan(t + tl) - t + more for |t| <= 1, tl and `more` tiny.
#[inline(always)]
fn arctan_rest<V: F32s>(t: V, tl: V, more: V) -> V {
    let z = t * t;
    let (cube, rest) = two_prod(t, z);
    let p = horner(z, ATAN_F32);
    // d arctan = dt / (1 + t^2), and dt is small
    cube.fma(p, rest.fma(p, V::of(-0.5).fma(z * tl, tl) + more))
}

/// Inverse tangent; above 1 that of 1/x, taken from pi/2.
#[inline(always)]
pub(crate) fn arctan<V: F32s>(x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let ax = V::of(LARGEST).min(x.abs());
    let high = V::lt(one, ax);
    if !V::any(high) {
        return (ax + arctan_rest(ax, zero, zero)).copysign(x);
    }
    // the other lanes' inverses would raise flags
    let d = ax.max(one);
    let inverse = one / d;
    let low = (-inverse).fma(d, one) * inverse;
    let t = V::select(high, -inverse, ax);
    let tl = V::select(high, -low, zero);
    let base = V::select(high, V::of(PIO2_1_F32), zero);
    let base_lo = V::select(high, V::of(PIO2_2_F32), zero);
    let (hi, lo) = fast_two_sum(base, t);
    (hi + arctan_rest(t, tl, lo + base_lo)).copysign(x)
}

/// 2^100. Larger arguments have its arctan.
const LARGEST: f32 = 1267650600228229401496703205376.0;
/// 2^-30, 2^60, 2^90 and 2^-60.
const SMALL: f32 = 1.0 / 1073741824.0;
const UP: f32 = 1152921504606846976.0;
const HUGE: f32 = 1237940039285380274899124224.0;
const DOWN: f32 = 1.0 / 1152921504606846976.0;

/// Larger and smaller of two magnitudes, brought to where products and quotients of them are safe, infinities made finite
/// without changing the angle.
#[inline(always)]
fn balanced<V: F32s>(big: V, small: V) -> (V, V) {
    let (one, inf) = (V::of(1.0), V::of(f32::INFINITY));
    let endless = V::eq(big, inf);
    let small = V::select(endless, V::select(V::eq(small, inf), one, V::of(0.0)), small);
    let big = V::select(V::either(endless, V::eq(big, V::of(0.0))), one, big);
    let factor = V::select(V::lt(big, V::of(SMALL)), V::of(UP), one);
    let factor = V::select(V::lt(V::of(HUGE), big), V::of(DOWN), factor);
    // twice up, for subnormal numbers
    let again = V::select(V::lt(big, V::of(SMALL * DOWN)), V::of(UP), one);
    (big * factor * again, small * factor * again)
}

/// Angle of the point (x, y).
#[inline(always)]
pub(crate) fn arctan2<V: F32s>(y: V, x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let (ay, ax) = (y.abs(), x.abs());
    let swap = V::lt(ax, ay);
    let (d, n) = (V::select(swap, ay, ax), V::select(swap, ax, ay));
    let plain = V::both(V::le(V::of(SMALL), d), V::le(d, V::of(HUGE)));
    let (d, n) = if V::any(V::not(plain)) { balanced(d, n) } else { (d, n) };
    let t = n / d;
    let inverse = half_inverse(d);
    // the residual of a tiny number is none
    let tl = V::select(V::lt(t, V::of(SMALL)), zero, (-t).fma(d, n) * (inverse + inverse));
    // the angle is turns * pi/2 + sense * arctan t
    let left = V::lt(one.copysign(x), zero);
    let turns = V::select(swap, one, V::select(left, V::of(2.0), zero));
    let sense = V::ixor(V::select(swap, -zero, zero).bits(), V::select(left, -zero, zero).bits());
    let base = turns * V::of(PIO2_1_F32);
    let base_lo = turns * V::of(PIO2_2_F32);
    let (hi, lo) = fast_two_sum(base, t.flip(sense));
    let angle = hi + arctan_rest(t, tl, (lo + base_lo).flip(sense)).flip(sense);
    let nan = V::not(V::both(V::eq(x, x), V::eq(y, y)));
    V::select(nan, x + y, angle.copysign(y))
}

/// Cube root of 2^k m.
#[inline(always)]
fn cbrt_of<V: F32s>(k: V, m: V) -> V {
    let third = V::of(1.0 / 3.0);
    let q = (k * third).round();
    let left = q.fma(V::of(-3.0), k);
    // 2^left and 2^(-left/3) for -1, 0, 1
    let a = m * left.fma(left.fma(V::of(0.25), V::of(0.75)), V::of(1.0));
    let [odd, even] = CBRT2_F32;
    let factor = left.fma(left.fma(V::of(even), V::of(odd)), V::of(1.0));
    let r = horner(m, RCBRT_F32) * factor;
    // Newton on y = a r^2
    let r2 = r * r;
    let y = a * r2;
    let rest = (-(y * y)).fma(y, a);
    rest.fma(r2 * third, y).scale(q)
}

/// Cube root where all lanes are finite normal numbers.
#[inline(always)]
pub(crate) fn cbrt_quick<V: F32s>(x: V) -> Option<V> {
    let ax = x.abs();
    let good = V::both(V::le(V::of(f32::MIN_POSITIVE), ax), V::lt(ax, V::of(f32::INFINITY)));
    if V::any(V::not(good)) {
        return None;
    }
    let (k, m) = ax.split();
    Some(cbrt_of(k, m).copysign(x))
}

/// Cube root.
#[inline(always)]
pub(crate) fn cbrt<V: F32s>(x: V) -> V {
    let ax = x.abs();
    let tiny = V::lt(ax, V::of(f32::MIN_POSITIVE));
    let (k, m) = (ax * V::select(tiny, V::of(33554432.0), V::of(1.0))).split();
    let y = cbrt_of(V::select(tiny, k - V::of(25.0), k), m).copysign(x);
    let good = V::both(V::lt(V::of(0.0), ax), V::lt(ax, V::of(f32::INFINITY)));
    V::select(good, y, x)
}
