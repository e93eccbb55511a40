//! Exponentials, circular functions and erf in native f32 lanes.
//!
//! The schemes are those of f64 or simpler ones, with shorter polynomials. What is not in the files `single*` goes
//! through f64 lanes.

use super::erf::SPLIT;
use crate::coeffs::{
    COS_F32, COSH_F32, ERF_LARGE_F32, ERF_SMALL_F32, EXP_F32, EXP2_F32, EXPM1_F32, INV_LN2_F32, LN2_F32, LN2_HI_F32,
    LN2_LO_F32, PIO2_1_F32, PIO2_2_F32, SIN_F32, SINH_F32, TAN_F32, TANH_F32, TWO_OVER_PI_F32,
};
use crate::func::unary;
use crate::vector::{F32s, fast_two_sum, horner, poly, two_prod};

/// e^(r + rl) = hi + lo for |r| < 0.348.
#[inline(always)]
fn exp_reduced<V: F32s>(r: V, rl: V) -> (V, V) {
    let one = V::of(1.0);
    let hi = one + r;
    let lo = ((one - hi) + r) + rl;
    (hi, (r * r).fma(poly(r, EXP_F32), lo))
}

/// y and k with e^(h + l) = 2^k y.
#[inline(always)]
fn exp_pair_parts<V: F32s>(h: V, l: V) -> (V, V) {
    let k = (h * V::of(INV_LN2_F32)).round();
    let r1 = (-k).fma(V::of(LN2_HI_F32), h);
    let (r, rl) = fast_two_sum(r1, (-k).fma(V::of(LN2_LO_F32), l));
    let (hi, lo) = exp_reduced(r, rl);
    (hi + lo, k)
}

/// e^(h + l), for |l| at most about an ULP of h.
#[inline(always)]
pub(super) fn exp_pair<V: F32s>(h: V, l: V) -> V {
    let (y, k) = exp_pair_parts(h, l);
    y.ldexp(k)
}

/// The same for |h| < 86.
#[inline(always)]
pub(super) fn exp_pair_inside<V: F32s>(h: V, l: V) -> V {
    let (y, k) = exp_pair_parts(h, l);
    y.scale(k)
}

/// Are all lanes smaller in size than this?
#[inline(always)]
fn all_below<V: F32s>(x: V, limit: f32) -> bool {
    !V::any(V::not_lt(x.abs(), V::of(limit)))
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<V: F32s>(x: V) -> V {
    let (y, k) = exp_parts(V::of(-110.0).max(V::of(100.0).min(x)));
    y.ldexp(k)
}

/// e^x where all results are normal numbers.
#[inline(always)]
pub(crate) fn exp_quick<V: F32s>(x: V) -> Option<V> {
    if !all_below(x, 87.0) {
        return None;
    }
    let (y, k) = exp_parts(x);
    Some(y.scale(k))
}

/// y and k with e^x = 2^k y.
#[inline(always)]
fn exp_parts<V: F32s>(x: V) -> (V, V) {
    let k = (x * V::of(INV_LN2_F32)).round();
    let r = (-k).fma(V::of(LN2_LO_F32), (-k).fma(V::of(LN2_HI_F32), x));
    let one = V::of(1.0);
    let hi = one + r;
    let lo = (r * r).fma(poly(r, EXP_F32), (one - hi) + r);
    (hi + lo, k)
}

/// 2^x.
#[inline(always)]
pub(crate) fn exp2<V: F32s>(x: V) -> V {
    let (y, k) = exp2_parts(V::of(-160.0).max(V::of(140.0).min(x)));
    y.ldexp(k)
}

/// 2^x where all results are normal numbers.
#[inline(always)]
pub(crate) fn exp2_quick<V: F32s>(x: V) -> Option<V> {
    if !all_below(x, 126.0) {
        return None;
    }
    let (y, k) = exp2_parts(x);
    Some(y.scale(k))
}

/// y and k with 2^x = 2^k y.
#[inline(always)]
fn exp2_parts<V: F32s>(x: V) -> (V, V) {
    let k = (x + V::of(MAGIC)) - V::of(MAGIC);
    let f = x - k;
    (f.fma(f.fma(horner(f, EXP2_F32), V::of(LN2_F32)), V::of(1.0)), k)
}

/// x = k ln 2 + r + rl.
#[inline(always)]
fn reduce<V: F32s>(x: V) -> (V, V, V) {
    let k = x.fma(V::of(INV_LN2_F32), V::of(MAGIC)) - V::of(MAGIC);
    let r1 = (-k).fma(V::of(LN2_HI_F32), x);
    let w = k * V::of(LN2_LO_F32);
    let r = r1 - w;
    (k, r, (r1 - r) - w)
}

/// e^x - 1.
#[inline(always)]
pub(crate) fn expm1<V: F32s>(x: V) -> V {
    expm1_of(x, V::of(-20.0).max(V::of(89.0).min(x)))
}

/// e^x - 1 where no result is infinite.
#[inline(always)]
pub(crate) fn expm1_quick<V: F32s>(x: V) -> Option<V> {
    if all_below(x, 85.0) { Some(expm1_of(x, x)) } else { None }
}

/// e^x - 1, computed at half size so that 2^k does not overflow; `near` is x, or has the same result.
#[inline(always)]
fn expm1_of<V: F32s>(x: V, near: V) -> V {
    let (k, r, rl) = reduce(near);
    let half = V::of(0.5);
    let scale = V::of(1.0).scale(k - V::of(1.0));
    let less = scale - half;
    // above 2^24 the half is rounded away
    let lost = (scale - less) - half;
    let (a, b) = fast_two_sum(less, r.fma(scale, lost));
    // r^2 / 2 is kept exact
    let cube = r * r * r;
    let low = (half * r).fma(r, cube.fma(horner(r, EXPM1_F32), rl));
    let y = a + scale.fma(low, b);
    V::select(V::lt(x.abs(), V::of(TINY)), x, y + y)
}

/// Odd functions of numbers below this are their arguments.
const TINY: f32 = 1.0 / 67108864.0;

/// From here on sinh and cosh are infinite.
const HYPERBOLIC_END: f32 = 89.5;
/// Below this, they are not.
const HYPERBOLIC_LIMIT: f32 = 89.0;

/// The parts of sinh and cosh of |x| = k ln 2 + r: r, its rest, (sinh r - r), (cosh r - 1), and 2^(k-2) and 2^(-k-2).
#[inline(always)]
fn hyperbolic<V: F32s>(ax: V) -> [V; 5] {
    let (k, r, rl) = reduce(ax);
    let z = r * r;
    let odd = (r * z).fma(horner(z, SINH_F32), rl);
    let even = z * horner(z, COSH_F32);
    // beyond, the smaller power is of no account
    [r, odd, even, V::of(1.0).scale(k - V::of(2.0)), V::of(0.25).scale(-V::of(60.0).min(k))]
}

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<V: F32s>(x: V) -> V {
    sinh_of(x, V::of(HYPERBOLIC_END).min(x.abs()))
}

/// Hyperbolic sine where no result is infinite.
#[inline(always)]
pub(crate) fn sinh_quick<V: F32s>(x: V) -> Option<V> {
    if all_below(x, HYPERBOLIC_LIMIT) { Some(sinh_of(x, x.abs())) } else { None }
}

/// Hyperbolic sine as sinh r cosh(k ln 2) + cosh r sinh(k ln 2). `ax` is |x|, or has the same result.
#[inline(always)]
fn sinh_of<V: F32s>(x: V, ax: V) -> V {
    let [r, odd, even, up, down] = hyperbolic(ax);
    let ((a, ae), b) = (fast_two_sum(up, -down), up + down);
    let hi = b.fma(r, a);
    let lo = b.fma(r, a - hi) + ae;
    let y = hi + a.fma(even, b.fma(odd, lo));
    V::select(V::lt(x.abs(), V::of(TINY)), x.abs(), y + y).copysign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<V: F32s>(x: V) -> V {
    cosh_of(V::of(HYPERBOLIC_END).min(x.abs()))
}

/// Hyperbolic cosine where no result is infinite.
#[inline(always)]
pub(crate) fn cosh_quick<V: F32s>(x: V) -> Option<V> {
    if all_below(x, HYPERBOLIC_LIMIT) { Some(cosh_of(x.abs())) } else { None }
}

/// Hyperbolic cosine as cosh r cosh(k ln 2) + sinh r sinh(k ln 2). `ax` is |x|, or has the same result.
#[inline(always)]
fn cosh_of<V: F32s>(ax: V) -> V {
    let [r, odd, even, up, down] = hyperbolic(ax);
    let ((a, ae), b) = (fast_two_sum(up, down), up - down);
    let hi = b.fma(r, a);
    let lo = b.fma(r, a - hi) + ae;
    let y = hi + a.fma(even, b.fma(odd, lo));
    y + y
}

/// Hyperbolic tangent: a polynomial below 1, then 1 - 2 / (e^2x + 1).
#[inline(always)]
pub(crate) fn tanh<V: F32s>(x: V) -> V {
    let (ax, one) = (V::of(10.0).min(x.abs()), V::of(1.0));
    let z = ax * ax;
    let small = (ax * z).fma(horner(z, TANH_F32), ax);
    let x2 = ax + ax;
    let k = x2.fma(V::of(INV_LN2_F32), V::of(MAGIC)) - V::of(MAGIC);
    let r = (-k).fma(V::of(LN2_LO_F32), (-k).fma(V::of(LN2_HI_F32), x2));
    let e = (r * r).fma(horner(r, EXP_F32), r);
    let scale = one.scale(k);
    let large = one - V::of(2.0) / (scale.fma(e, scale) + one);
    V::select(V::lt(ax, one), small, large).copysign(x)
}

/// Largest argument of the f32 reduction, and its closest approach to k pi/2.
const FAST_LIMIT: f32 = 32768.0;
const CLOSE: f32 = 1.0 / 1048576.0;
/// 1.5 * 2^23.
const MAGIC: f32 = 12582912.0;

/// |x| = k pi/2 + r + rl with k as integer, and the lanes where that is not good.
#[inline(always)]
fn reduce_trig<V: F32s>(ax: V) -> (V::Int, V, V, V::Mask) {
    let kf = ax.fma(V::of(TWO_OVER_PI_F32), V::of(MAGIC));
    let k = kf - V::of(MAGIC);
    let r1 = (-k).fma(V::of(PIO2_1_F32), ax);
    let r = (-k).fma(V::of(PIO2_2_F32), r1);
    let rl = (-k).fma(V::of(PIO2_2_F32), r1 - r);
    let good = V::le(ax * V::of(CLOSE), V::of(FAST_LIMIT * CLOSE).min(r.abs()));
    (kf.bits(), r, rl, V::not(good))
}

/// The integer k of |x| = k pi/2 + r, sin and cos of r, and the lanes where that is not good.
#[inline(always)]
fn both<V: F32s>(ax: V) -> (V::Int, V, V, V::Mask) {
    let (q, r, rl, bad) = reduce_trig(ax);
    let one = V::of(1.0);
    let z = r * r;
    let s = r + (r * z).fma(poly(z, SIN_F32), rl);
    let h = V::of(0.5) * z;
    let c1 = one - h;
    let c = c1 + (z * z).fma(poly(z, COS_F32), (-r).fma(rl, (one - c1) - h));
    (q, s, c, bad)
}

/// Lanes whose lowest bit is set: that bit made the sign of a one.
#[inline(always)]
fn is_odd<V: F32s>(q: V::Int) -> V::Mask {
    V::lt(V::from_bits(V::ior(V::shl::<31>(q), V::of(1.0).bits())), V::of(0.0))
}

/// The sine or, where `q` is odd, the cosine; negated where q & 2.
#[inline(always)]
fn pick<V: F32s>(s: V, c: V, q: V::Int) -> V {
    let flip = V::iand(V::shl::<30>(q), V::sign_bit());
    V::select(is_odd::<V>(q), c, s).flip(flip)
}

/// Sine and cosine, the same bits as one after the other.
#[inline(always)]
pub(crate) fn sincos<V: F32s>(x: V) -> (V, V) {
    let (q, s, c, bad) = both(x.abs());
    let (sine, cosine) = (pick(s, c, q).flip(x.sign()), pick(s, c, V::iadd(q, V::int(1))));
    if V::any(bad) {
        return (V::select(bad, x.via64::<unary::Sin>(), sine), V::select(bad, x.via64::<unary::Cos>(), cosine));
    }
    (sine, cosine)
}

/// Sine; lanes that are large or near a zero take the f64 path.
#[inline(always)]
pub(crate) fn sin<V: F32s>(x: V) -> V {
    let (q, s, c, bad) = both(x.abs());
    let y = pick(s, c, q).flip(x.sign());
    if V::any(bad) { V::select(bad, x.via64::<unary::Sin>(), y) } else { y }
}

/// Sine where no lane takes the f64 path.
#[inline(always)]
pub(crate) fn sin_quick<V: F32s>(x: V) -> Option<V> {
    let (q, s, c, bad) = both(x.abs());
    if V::any(bad) { None } else { Some(pick(s, c, q).flip(x.sign())) }
}

/// Cosine; lanes that are large or near a zero take the f64 path.
#[inline(always)]
pub(crate) fn cos<V: F32s>(x: V) -> V {
    let (q, s, c, bad) = both(x.abs());
    let y = pick(s, c, V::iadd(q, V::int(1)));
    if V::any(bad) { V::select(bad, x.via64::<unary::Cos>(), y) } else { y }
}

/// Cosine where no lane takes the f64 path.
#[inline(always)]
pub(crate) fn cos_quick<V: F32s>(x: V) -> Option<V> {
    let (q, s, c, bad) = both(x.abs());
    if V::any(bad) { None } else { Some(pick(s, c, V::iadd(q, V::int(1)))) }
}

/// Tangent; lanes that are large or near a multiple of pi/2 take the f64 path.
#[inline(always)]
pub(crate) fn tan<V: F32s>(x: V) -> V {
    let (q, r, rl, bad) = reduce_trig(x.abs());
    let y = tan_near(q, r, rl).flip(x.sign());
    if V::any(bad) { V::select(bad, x.via64::<unary::Tan>(), y) } else { y }
}

/// Tangent where no lane takes the f64 path.
#[inline(always)]
pub(crate) fn tan_quick<V: F32s>(x: V) -> Option<V> {
    let (q, r, rl, bad) = reduce_trig(x.abs());
    if V::any(bad) { None } else { Some(tan_near(q, r, rl).flip(x.sign())) }
}

/// tan(r + rl), or -1/tan where `q` is odd.
#[inline(always)]
fn tan_near<V: F32s>(q: V::Int, r: V, rl: V) -> V {
    let one = V::of(1.0);
    let z = r * r;
    let (w, we) = two_prod(r * z, horner(z, TAN_F32));
    let (t, tl) = fast_two_sum(r, w);
    // d tan = (1 + tan^2) dr
    let tl = rl.fma(t.fma(t, one), tl + we);
    // -1 / (t + tl) where k is odd
    let odd = is_odd::<V>(q);
    let mut y = t + tl;
    if V::any(odd) {
        // as in f64, without the flags of tiny lanes' inverses
        let c = -one / V::of(TINY).max(t.abs()).copysign(t);
        let rest = c.fma(tl, c.fma(t, one));
        y = V::select(odd, c.fma(rest, c), y);
    }
    y
}

/// Error function, as in f64.
#[inline(always)]
pub(crate) fn erf<V: F32s>(x: V) -> V {
    let ax = x.abs();
    // powers of large numbers would overflow
    let near = V::of(1.0).min(ax);
    let small = near.fma(poly(near * near, ERF_SMALL_F32), near);
    let u = V::of(4.0 - SPLIT as f32).min(ax - V::of(SPLIT as f32));
    let [first, rest @ ..] = ERF_LARGE_F32;
    let (g, gl) = fast_two_sum(V::of(first), u * poly(u, rest));
    let large = V::of(1.0) - exp_pair(g, gl);
    V::select(V::lt(ax, V::of(SPLIT as f32)), small, large).copysign(x)
}
