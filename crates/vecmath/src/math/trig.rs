//! sin, cos, tan in f64.
//!
//! For sin and cos, arguments up to 2^25 are reduced by k pi/2 with two constants; the table of `tangent` does it for
//! tan. Lanes that are larger, or within x 2^-45 of such a multiple, go one by one through the exact reduction of
//! [`super::reduce`]. Each lane's path depends on that lane alone.

use super::reduce;
use super::tangent::double::tan_by_table;
use crate::coeffs::{COS, FRAC_PI_2, FRAC_PI_2_LO, SIN, TAN, TWO_OVER_PI};
use crate::vector::{F64s, fast_two_sum, poly, two_prod};

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

/// sin(r + rl) and cos(r + rl).
#[inline(always)]
fn both<V: F64s>(r: V, rl: V) -> (V, V) {
    let one = V::of(1.0);
    let z = r * r;
    let s = r + (r * z).fma(poly(z, SIN), rl);
    let h = V::of(0.5) * z;
    let c1 = one - h;
    let c = c1 + (z * z).fma(poly(z, COS), (-r).fma(rl, (one - c1) - h));
    (s, c)
}

/// sin(r + rl) or, where `q` is odd, cos(r + rl); negated where q & 2.
#[inline(always)]
pub(crate) fn quadrant<V: F64s>(r: V, rl: V, q: V::Int) -> V {
    let (s, c) = both(r, rl);
    pick(s, c, q)
}

/// The sine or, where `q` is odd, the cosine; negated where q & 2.
#[inline(always)]
fn pick<V: F64s>(s: V, c: V, q: V::Int) -> V {
    let odd = V::is_odd(q);
    let flip = V::iand(V::shl::<62>(q), V::sign_bit());
    V::select(odd, c, s).flip(flip)
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

/// 2^-200: no tangent that is inverted is smaller.
const TINY: f64 = f64::from_bits(0x3370_0000_0000_0000);

/// tan(r + rl), or -1/tan where `q` is odd.
#[inline(always)]
pub(crate) fn tan_quadrant<V: F64s>(r: V, rl: V, q: V::Int) -> V {
    let one = V::of(1.0);
    let z = r * r;
    // the first term, which is the largest, is added last
    let [first, rest @ ..] = TAN;
    let (w, we) = two_prod(r * z, z.fma(poly(z, rest), V::of(first)));
    let (t, tl) = fast_two_sum(r, w);
    // d tan = (1 + tan^2) dr
    let tl = rl.fma(t.fma(t, one), tl + we);
    let odd = V::is_odd(q);
    if !V::any(odd) {
        return t + tl;
    }
    // other lanes may be tiny, and their inverse would raise flags; a selected divisor would be divided by before the
    // selection
    let c = -one / V::of(TINY).max(t.abs()).copysign(t);
    let rest = c.fma(tl, c.fma(t, one));
    V::select(odd, c.fma(rest, c), t + tl)
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
