//! exp, exp2, expm1, sinh, cosh, tanh in f64.
//!
//! All start from x = k ln 2 + r, |r| <= ln 2 / 2, and e^r kept as an unevaluated sum
//! `hi + lo` with hi = 1 + r rounded, so that the last addition is the only rounding
//! that counts.

use crate::coeffs::{COSH, EXP, INV_LN2, LN2, LN2_ERR, LN2_HI, LN2_LO, SINH, TANH};
use crate::vector::{F64s, fast_two_sum, poly, two_prod};

// `expm1_pair` takes the r^2 term apart as exactly r^2 / 2
const _: () = assert!(EXP[0] == 0.5);

/// x = k ln 2 + r + rl.
#[inline(always)]
fn reduce<V: F64s>(x: V) -> (V, V, V) {
    let k = x.fma(V::of(INV_LN2), V::of(UNIT)) - V::of(UNIT);
    let r1 = (-k).fma(V::of(LN2_HI), x);
    let w = k * V::of(LN2_LO);
    let r = r1 - w;
    (k, r, (r1 - r) - w)
}

/// e^(r + rl) = hi + lo for |r| < 0.348.
#[inline(always)]
pub(super) fn exp_reduced<V: F64s>(r: V, rl: V) -> (V, V) {
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

/// e^(h + l) as [`exp_pair`], for |h| < 700.
#[inline(always)]
pub(crate) fn exp_pair_inside<V: F64s>(h: V, l: V) -> V {
    let k = (h * V::of(INV_LN2)).round();
    let r1 = (-k).fma(V::of(LN2_HI), h);
    let (r, rl) = fast_two_sum(r1, (-k).fma(V::of(LN2_LO), l));
    let (hi, lo) = exp_reduced(r, rl);
    (hi + lo).scale(k)
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

/// e^x where every lane's argument and result are far from the ends of the range, or the result is zero: the same bits
/// as [`exp`] in two thirds of its instructions, and nothing to report.
#[inline(always)]
pub(crate) fn exp_inside<V: F64s>(x: V) -> Option<V> {
    let outside = outside(x);
    if !V::any(outside) {
        return Some(exp_middle(x));
    }
    // what is hidden by minus infinity comes in long rows; numbers on the way to zero take the processor a hundred
    // cycles
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
pub(super) const UNIT: f64 = 6_755_399_441_055_744.0;

/// What e^x is made of where its argument and result are far from the ends of the range, for who puts the steps in
/// place.
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
    let (y, k) = exp2_parts(V::of(-1100.0).max(V::of(1040.0).min(x)));
    y.ldexp(k)
}

/// Are all lanes smaller in size than this?
#[inline(always)]
fn all_below<V: F64s>(x: V, limit: f64) -> bool {
    !V::any(V::not_lt(x.abs(), V::of(limit)))
}

/// 2^x where all results are normal numbers.
#[inline(always)]
pub(crate) fn exp2_quick<V: F64s>(x: V) -> Option<V> {
    if !all_below(x, 1022.0) {
        return None;
    }
    let (y, k) = exp2_parts(x);
    Some(y.scale(k))
}

/// y and k with 2^x = 2^k y.
#[inline(always)]
fn exp2_parts<V: F64s>(x: V) -> (V, V) {
    let k = x.round();
    let f = x - k;
    let r = f * V::of(LN2);
    let rl = f.fma(V::of(LN2_ERR), f.fma(V::of(LN2), -r));
    let (hi, lo) = exp_reduced(r, rl);
    (hi + lo, k)
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

/// e^x - 1 where no result is infinite.
#[inline(always)]
pub(crate) fn expm1_quick<V: F64s>(x: V) -> Option<V> {
    if !all_below(x, 690.0) {
        return None;
    }
    let (k, r, rl) = reduce(V::of(-60.0).max(x));
    let one = V::of(1.0);
    let (h, _) = expm1_pair(r, rl, one.scale(k), one);
    Some(V::select(V::eq(x, V::of(0.0)), x, h))
}

/// What is added to the bits of a number to multiply it by 2^k: the last bits of a sum whose unit is one.
#[inline(always)]
fn added<V: F64s>(k: V) -> V::Int {
    V::shl::<52>((k + V::of(UNIT)).bits())
}

/// From here on sinh and cosh are infinite.
const HYPERBOLIC_END: f64 = 710.48;
/// Below this, they are not, and powers of two have the bits that [`powers`] puts together.
const HYPERBOLIC_LIMIT: f64 = 708.0;

/// The parts of x = k ln 2 + r.
struct Reduced<V: F64s> {
    k: V,
    /// The bits of a number whose last bits are k.
    last: V::Int,
    /// x - k LN2, which is exact because it is a multiple of 2^-54.
    first: V,
    /// k LN2_ERR, which is still to be subtracted. For small k it is tiny.
    low: V,
    /// `first - low`, rounded.
    r: V,
}

#[inline(always)]
fn reduce_shortly<V: F64s>(x: V) -> Reduced<V> {
    let sum = x.fma(V::of(INV_LN2), V::of(UNIT));
    let k = sum - V::of(UNIT);
    let first = (-k).fma(V::of(LN2), x);
    let low = k * V::of(LN2_ERR);
    Reduced { k, last: sum.bits(), first, low, r: first - low }
}

/// 2^(k-1) and 2^(-k-1), at half size so that they do not overflow.
#[inline(always)]
fn halves_of_powers<V: F64s>(k: V) -> (V, V) {
    // beyond, the smaller power is of no account
    (V::of(1.0).scale(k - V::of(2.0)), V::of(0.25).scale(-V::of(120.0).min(k)))
}

/// The same at full size, for |k| < 1023.
#[inline(always)]
fn powers<V: F64s>(last: V::Int) -> (V, V) {
    let (k, half) = (V::shl::<52>(last), V::int(1022 << 52));
    (V::from_bits(V::iadd(half, k)), V::from_bits(V::isub(half, k)))
}

/// sinh r - `first` and cosh r - 1.
#[inline(always)]
fn odd_and_even<V: F64s>(x: &Reduced<V>) -> (V, V) {
    let z = x.r * x.r;
    ((x.r * z).fma(poly(z, SINH), -x.low), z * poly(z, COSH))
}

/// Hyperbolic sine as a cosh r + b sinh r for a = sinh(k ln 2) and b = cosh(k ln 2), made of these halves of powers of
/// two. Only the last sum's rounding counts: what is added to `a` is at most 0.71 of the result, or the sum is exact.
#[inline(always)]
fn sinh_of<V: F64s>(x: &Reduced<V>, (up, down): (V, V)) -> V {
    let (odd, even) = odd_and_even(x);
    let (a, a_low) = fast_two_sum(up, -down);
    let (b, b_low) = fast_two_sum(up, down);
    let low = b_low.fma(x.r, a_low);
    a + b.fma(x.first, b.fma(odd, a.fma(even, low)))
}

/// Odd functions of numbers below this are their arguments.
const TINY: f64 = 1.0 / 36028797018963968.0;

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let reduced = reduce_shortly(V::of(HYPERBOLIC_END).min(ax));
    let y = sinh_of(&reduced, halves_of_powers(reduced.k));
    V::select(V::lt(ax, V::of(TINY)), ax, y + y).copysign(x)
}

/// Hyperbolic sine where no result is infinite.
#[inline(always)]
pub(crate) fn sinh_quick<V: F64s>(x: V) -> Option<V> {
    if !all_below(x, HYPERBOLIC_LIMIT) {
        return None;
    }
    let reduced = reduce_shortly(x.abs());
    Some(sinh_of(&reduced, powers::<V>(reduced.last)).copysign(x))
}

/// Hyperbolic cosine as the sum of 2^(k-1) e^r and 2^(-k-1) e^-r, for these halves of powers of two, whose sum comes
/// last.
#[inline(always)]
fn cosh_of<V: F64s>(x: &Reduced<V>, (up, down): (V, V)) -> V {
    let (odd, even) = odd_and_even(x);
    let (a, low) = fast_two_sum(up, down);
    let falling = even - (x.first + odd);
    a + up.fma(x.first, up.fma(odd + even, down.fma(falling, low)))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<V: F64s>(x: V) -> V {
    let reduced = reduce_shortly(V::of(HYPERBOLIC_END).min(x.abs()));
    let y = cosh_of(&reduced, halves_of_powers(reduced.k));
    y + y
}

/// Hyperbolic cosine where no result is infinite.
#[inline(always)]
pub(crate) fn cosh_quick<V: F64s>(x: V) -> Option<V> {
    if !all_below(x, HYPERBOLIC_LIMIT) {
        return None;
    }
    let reduced = reduce_shortly(x.abs());
    Some(cosh_of(&reduced, powers::<V>(reduced.last)))
}

/// Hyperbolic tangent: a polynomial below 1, then 1 - 2 / (e^2x + 1).
#[inline(always)]
pub(crate) fn tanh<V: F64s>(x: V) -> V {
    let (ax, one) = (V::of(22.0).min(x.abs()), V::of(1.0));
    let z = ax * ax;
    let [first, rest @ ..] = TANH;
    let small = (ax * z).fma(z.fma(poly(z, rest), V::of(first)), ax);
    let x2 = ax + ax;
    let k = x2.fma(V::of(INV_LN2), V::of(UNIT)) - V::of(UNIT);
    let r = (-k).fma(V::of(LN2_LO), (-k).fma(V::of(LN2_HI), x2));
    let e = (r * r).fma(poly(r, EXP), r);
    let scale = one.scale(k);
    let large = one - V::of(2.0) / (scale.fma(e, scale) + one);
    V::select(V::lt(ax, one), small, large).copysign(x)
}
