//! exp, exp2, expm1, sinh, cosh, tanh in f64.
//!
//! All start from x = k ln 2 + r, |r| <= ln 2 / 2, and e^r kept as an unevaluated sum
//! `hi + lo` with hi = 1 + r rounded, so that the last addition is the only rounding
//! that counts.

use crate::coeffs::{EXP, EXP_TO_SINGLE, INV_LN2, LN2, LN2_ERR, LN2_HI, LN2_LO, SINH};
use crate::vector::{F64s, divide, fast_two_sum, poly, two_prod, two_sum};

// `expm1_pair` takes the r^2 term apart as exactly r^2 / 2
const _: () = assert!(EXP[0] == 0.5);

/// x = k ln 2 + r + rl.
#[inline(always)]
fn reduce<V: F64s>(x: V) -> (V, V, V) {
    let k = (x * V::of(INV_LN2)).round();
    let r1 = (-k).fma(V::of(LN2_HI), x);
    let w = k * V::of(LN2_LO);
    let r = r1 - w;
    (k, r, (r1 - r) - w)
}

/// e^(r + rl) = hi + lo for |r| < 0.348.
#[inline(always)]
fn exp_reduced<V: F64s>(r: V, rl: V) -> (V, V) {
    let one = V::of(1.0);
    let hi = one + r;
    let lo = ((one - hi) + r) + rl;
    (hi, (r * r).fma(poly(r, EXP), lo))
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<V: F64s>(x: V) -> V {
    exp_within(V::of(-760.0).max(V::of(720.0).min(x)))
}

/// e^(h + l), for |l| at most about an ULP of h.
#[inline(always)]
pub(crate) fn exp_pair<V: F64s>(h: V, l: V) -> V {
    let k = (h * V::of(INV_LN2)).round();
    let r1 = (-k).fma(V::of(LN2_HI), h);
    let (r, rl) = fast_two_sum(r1, (-k).fma(V::of(LN2_LO), l));
    let (hi, lo) = exp_reduced(r, rl);
    (hi + lo).ldexp(k)
}

/// e^x for |x| < 1000.
#[inline(always)]
pub(crate) fn exp_within<V: F64s>(x: V) -> V {
    let k = (x * V::of(INV_LN2)).round();
    let r = (-k).fma(V::of(LN2_LO), (-k).fma(V::of(LN2_HI), x));
    let one = V::of(1.0);
    let hi = one + r;
    let lo = (r * r).fma(poly(r, EXP), (one - hi) + r);
    (hi + lo).ldexp(k)
}

/// e^x where every lane's argument and result are far from the ends of the range, or the result is zero: the same bits as
/// [`exp`] in two thirds of its instructions, and nothing to report.
#[inline(always)]
pub(crate) fn exp_inside<V: F64s>(x: V) -> Option<V> {
    let outside = outside(x);
    if !V::any(outside) {
        return Some(exp_middle(x));
    }
    // what is hidden by minus infinity comes in long rows; numbers on the way to zero take the processor a hundred cycles
    let gone = V::lt(x, V::of(-746.0));
    let rest = V::both(outside, V::not(gone));
    if V::any(rest) { None } else { Some(V::select(gone, V::of(0.0), exp_middle(V::of(-708.0).max(x)))) }
}

/// Lanes whose argument or result may be near the ends of the range.
#[inline(always)]
fn outside<V: F64s>(x: V) -> V::Mask {
    V::not_lt(x.abs(), V::of(EXPONENTIAL.limit))
}

/// e^x for |x| < 708.
#[inline(always)]
fn exp_middle<V: F64s>(x: V) -> V {
    let k = (x * V::of(INV_LN2)).round();
    let r = (-k).fma(V::of(LN2_LO), (-k).fma(V::of(LN2_HI), x));
    let one = V::of(1.0);
    let hi = one + r;
    let lo = (r * r).fma(poly(r, EXP), (one - hi) + r);
    V::from_bits(V::iadd((hi + lo).bits(), added(k)))
}

/// Sums with this number have units of one.
const UNIT: f64 = 6_755_399_441_055_744.0;

/// What e^x is made of where its argument and result are far from the ends of the range, for who puts the steps in place.
#[derive(Debug)]
pub struct Exponential {
    /// No argument is larger in size.
    pub limit: f64,
    /// 1 / ln 2.
    pub inverse: f64,
    /// ln 2 in two parts.
    pub high: f64,
    /// What the first part lacks.
    pub low: f64,
    /// (e^r - 1 - r) / r^2 in powers of r.
    pub series: [f64; 11],
    /// A number that sums with units of one have.
    pub unit: f64,
}

/// The numbers of [`Exponential`].
pub const EXPONENTIAL: Exponential =
    Exponential { limit: 708.0, inverse: INV_LN2, high: LN2_HI, low: LN2_LO, series: EXP, unit: UNIT };

/// 2^x.
#[inline(always)]
pub(crate) fn exp2<V: F64s>(x: V) -> V {
    let x = V::of(-1100.0).max(V::of(1040.0).min(x));
    let k = x.round();
    let f = x - k;
    let r = f * V::of(LN2);
    let rl = f.fma(V::of(LN2_ERR), f.fma(V::of(LN2), -r));
    let (hi, lo) = exp_reduced(r, rl);
    (hi + lo).ldexp(k)
}

/// e^x - 1 as a normalised pair, for `scale` 2^k; or half of it, for 2^(k-1) and `one` 1/2.
#[inline(always)]
fn expm1_pair<V: F64s>(r: V, rl: V, scale: V, one: V) -> (V, V) {
    let (a, b) = fast_two_sum(scale - one, r * scale);
    // r^2 / 2 is kept exact: its rounding would show where 2^k - 1 and 2^k r cancel
    let (u, ue) = two_prod(r, r);
    let [_, rest @ ..] = EXP;
    let half = V::of(0.5);
    let rl = rl.fma(r, rl);
    let low = half.fma(u, (u * r).fma(poly(r, rest), half.fma(ue, rl)));
    fast_two_sum(a, scale.fma(low, b))
}

/// e^x - 1.
#[inline(always)]
pub(crate) fn expm1<V: F64s>(x: V) -> V {
    let xc = V::of(-60.0).max(V::of(710.0).min(x));
    let (k, r, rl) = reduce(xc);
    // half size above 2^1000, so that 2^k itself cannot overflow
    let top = V::lt(V::of(1000.0), k);
    let one = V::of(1.0);
    let half = V::select(top, V::of(0.5), one);
    let kk = V::select(top, k - one, k);
    let (h, _) = expm1_pair(r, rl, one.ldexp(kk), half);
    V::select(V::eq(x, V::of(0.0)), x, h * V::select(top, V::of(2.0), one))
}

/// e^x - 1 = scale p + (scale - 1) for |x| < 700, as scale and p: good to f32.
#[inline(always)]
fn exp_parts_to_single<V: F64s>(x: V) -> (V, V) {
    let k = (x * V::of(INV_LN2)).round();
    let r = (-k).fma(V::of(LN2), x);
    (V::from_bits(V::iadd(V::of(1.0).bits(), added(k))), (r * r).fma(poly(r, EXP_TO_SINGLE), r))
}

/// What is added to the bits of a number to multiply it by 2^k: the last bits of a sum whose unit is one.
#[inline(always)]
fn added<V: F64s>(k: V) -> V::Int {
    V::shl::<52>((k + V::of(UNIT)).bits())
}

/// e^x for |x| < 700, good to f32.
#[inline(always)]
pub(crate) fn exp_inside_to_single<V: F64s>(x: V) -> V {
    let (scale, p) = exp_parts_to_single(x);
    scale.fma(p, scale)
}

/// e^x - 1 of an f32, good to f32.
#[inline(always)]
pub(crate) fn expm1_to_single<V: F64s>(x: V) -> V {
    let (scale, p) = exp_parts_to_single(V::of(-60.0).max(V::of(100.0).min(x)));
    V::select(V::eq(x, V::of(0.0)), x, scale.fma(p, scale - V::of(1.0)))
}

/// (e^|x| 2^-1) as hi + lo, and e^-|x| / 2.
#[inline(always)]
fn half_exp<V: F64s>(ax: V) -> (V, V, V) {
    let (k, r, rl) = reduce(V::of(720.0).min(ax));
    let (hi, lo) = exp_reduced(r, rl);
    let k = k - V::of(1.0);
    let (h, l) = (hi.ldexp(k), lo.ldexp(k));
    (h, l, V::of(0.25) / (h + l))
}

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let z = ax * ax;
    let small = (ax * z).fma(poly(z, SINH), ax);
    let (h, l, inv) = half_exp(ax);
    V::select(V::lt(ax, V::of(1.0)), small, h + (l - inv)).copysign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<V: F64s>(x: V) -> V {
    let (h, l, inv) = half_exp(x.abs());
    h + (l + inv)
}

/// Hyperbolic tangent: (e^2x - 1) / (e^2x + 1), numerator and denominator as pairs.
#[inline(always)]
pub(crate) fn tanh<V: F64s>(x: V) -> V {
    let ax = V::of(22.0).min(x.abs());
    let one = V::of(1.0);
    let (k, r, rl) = reduce(ax + ax);
    let (nh, nl) = expm1_pair(r, rl, one.ldexp(k), one);
    let (dh, dl) = two_sum(nh, V::of(2.0));
    let (q, ql) = divide(nh, nl, dh, dl + nl, one);
    (q + ql).copysign(x)
}
