//! sin, cos, tan of an f64 that has been reduced modulo pi/2.

use crate::coeffs::{COS, SIN, TAN};
use crate::vector::{F64s, fast_two_sum, poly, two_prod};

/// sin(r + rl) and cos(r + rl).
#[inline(always)]
pub(super) fn both<V: F64s>(r: V, rl: V) -> (V, V) {
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
pub(super) fn pick<V: F64s>(s: V, c: V, q: V::Int) -> V {
    let odd = V::is_odd(q);
    let flip = V::iand(V::shl::<62>(q), V::sign_bit());
    V::select(odd, c, s).flip(flip)
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
