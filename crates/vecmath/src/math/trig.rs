//! sin, cos, tan in f64.
//!
//! For sin and cos, arguments up to 2^25 are reduced by k pi/2 with two constants; the table of `tangent` does it for
//! tan. Lanes that are larger, or within x 2^-45 of such a multiple, go one by one through the exact reduction of
//! [`super::reduce`]. Each lane's path depends on that lane alone.

use super::quadrant::{both, pick, quadrant};
use super::reduce;
use super::tangent::double::tan_by_table;
use crate::coeffs::{FRAC_PI_2, FRAC_PI_2_LO, TWO_OVER_PI};
use crate::vector::F64s;

/// Largest argument of the fast reduction.
const FAST_LIMIT: f64 = 33554432.0;
/// Closest approach to a multiple of pi/2, relative to x, of the fast reduction.
const CLOSE: f64 = 1.0 / 35184372088832.0;
/// 1.5 * 2^52: the low bits of `k + MAGIC` are k.
const MAGIC: f64 = 6755399441055744.0;

/// |x| = k pi/2 + r + rl, with k as integer, and the lanes where that is not good.
#[inline(always)]
fn reduce_fast<V: F64s>(ax: V) -> (V::Int, V, V, V::Mask) {
    let kf = ax.fma(V::of(TWO_OVER_PI), V::of(MAGIC));
    let k = kf - V::of(MAGIC);
    let r1 = (-k).fma(V::of(FRAC_PI_2), ax);
    let r = (-k).fma(V::of(FRAC_PI_2_LO), r1);
    let rl = (-k).fma(V::of(FRAC_PI_2_LO), r1 - r);
    let good = V::le(ax * V::of(CLOSE), V::of(FAST_LIMIT * CLOSE).min(r.abs()));
    (kf.bits(), r, rl, V::not(good))
}

/// Sine.
#[inline(always)]
pub(crate) fn sin<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let (q, r, rl, bad) = reduce_fast(ax);
    let y = quadrant(r, rl, q).flip(x.sign());
    if V::any(bad) { y.patch::<reduce::Sin>(bad, x) } else { y }
}

/// Sine where no lane takes the exact reduction.
#[inline(always)]
pub(crate) fn sin_quick<V: F64s>(x: V) -> Option<V> {
    let (q, r, rl, bad) = reduce_fast(x.abs());
    if V::any(bad) { None } else { Some(quadrant(r, rl, q).flip(x.sign())) }
}

/// Cosine.
#[inline(always)]
pub(crate) fn cos<V: F64s>(x: V) -> V {
    let (q, r, rl, bad) = reduce_fast(x.abs());
    let y = quadrant(r, rl, V::iadd(q, V::int(1)));
    if V::any(bad) { y.patch::<reduce::Cos>(bad, x) } else { y }
}

/// Cosine where no lane takes the exact reduction.
#[inline(always)]
pub(crate) fn cos_quick<V: F64s>(x: V) -> Option<V> {
    let (q, r, rl, bad) = reduce_fast(x.abs());
    if V::any(bad) { None } else { Some(quadrant(r, rl, V::iadd(q, V::int(1)))) }
}

/// Sine and cosine, the same bits as one after the other, for hardly more than the price of one.
#[inline(always)]
pub(crate) fn sincos<V: F64s>(x: V) -> (V, V) {
    let (q, r, rl, bad) = reduce_fast(x.abs());
    let (s, c) = both(r, rl);
    let (sine, cosine) = (pick(s, c, q).flip(x.sign()), pick(s, c, V::iadd(q, V::int(1))));
    if V::any(bad) {
        return (sine.patch::<reduce::Sin>(bad, x), cosine.patch::<reduce::Cos>(bad, x));
    }
    (sine, cosine)
}

/// Tangent.
#[inline(always)]
pub(crate) fn tan<V: F64s>(x: V) -> V {
    let (y, bad) = tan_by_table(x);
    if V::any(bad) { y.patch::<reduce::Tan>(bad, x) } else { y }
}

/// Tangent where no lane takes the exact reduction.
#[inline(always)]
pub(crate) fn tan_quick<V: F64s>(x: V) -> Option<V> {
    let (y, bad) = tan_by_table(x);
    if V::any(bad) { None } else { Some(y) }
}
