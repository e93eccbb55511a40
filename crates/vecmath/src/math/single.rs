//! Exponentials, circular functions and erf in native f32 lanes.
//!
//! The schemes are those of f64 or simpler ones, with shorter polynomials. What is not in the files `single*` goes
//! through f64 lanes.

use super::erf::SPLIT;
use super::tangent::single::tan_by_table;
use crate::coeffs::{
    COS_F32, COSH_F32, ERF_LARGE_F32, ERF_SMALL_F32, EXP_F32, EXP2_F32, EXPM1_F32, INV_LN2_F32, LN2_ERR_F32, LN2_F32,
    LN2_HI_F32, LN2_LO_F32, PIO2_1_F32, PIO2_2_F32, SIN_F32, SINH_F32, TANH_F32, TANH_F32_CENTER, TANH_F32_VALUE,
    TWO_OVER_PI_F32,
};
use crate::func::unary;
use crate::vector::{F32s, fast_two_sum, horner, poly};

/// y and k with e^(h + l) = 2^k y, and the bits of a number whose last bits are k. The sums are in such an order that
/// the last one's rounding error is that of y, and that of the one before is at most a quarter ULP.
#[inline(always)]
fn exp_pair_parts<V: F32s>(h: V, l: V) -> (V, V, V::Int) {
    let sum = (h + l).fma(V::of(INV_LN2_F32), V::of(MAGIC));
    let k = sum - V::of(MAGIC);
    let high = (-k).fma(V::of(LN2_HI_F32), h);
    let low = (-k).fma(V::of(LN2_LO_F32), l);
    let r = high + low;
    let less = high + (r * r).fma(poly(r, EXP_F32), low);
    (V::of(1.0) + less, k, sum.bits())
}

/// e^(h + l), for |l| at most a thousandth of |h|.
#[inline(always)]
pub(super) fn exp_pair<V: F32s>(h: V, l: V) -> V {
    let (y, k, _) = exp_pair_parts(h, l);
    y.ldexp(k)
}

/// The same for |h| < 86.
#[inline(always)]
pub(super) fn exp_pair_inside<V: F32s>(h: V, l: V) -> V {
    let (y, _, last) = exp_pair_parts(h, l);
    V::from_bits(V::iadd(y.bits(), V::shl::<23>(last)))
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

/// The parts of x = k ln 2 + r.
struct Reduced<V: F32s> {
    k: V,
    /// The bits of a number whose last bits are k.
    last: V::Int,
    /// x - k LN2_F32, which is exact because it is a multiple of 2^-25.
    first: V,
    /// k LN2_ERR_F32, which is still to be subtracted. For small k it is tiny.
    low: V,
    /// `first - low`, rounded.
    r: V,
}

#[inline(always)]
fn reduce<V: F32s>(x: V) -> Reduced<V> {
    let sum = x.fma(V::of(INV_LN2_F32), V::of(MAGIC));
    let k = sum - V::of(MAGIC);
    let first = (-k).fma(V::of(LN2_F32), x);
    let low = k * V::of(LN2_ERR_F32);
    Reduced { k, last: sum.bits(), first, low, r: first - low }
}

/// 2^k for a number whose last bits are k, of `biased` k = 0: where that is a normal number, or zero one place below.
#[inline(always)]
fn power_of_two<V: F32s>(last: V::Int, biased: u32) -> V {
    V::from_bits(V::iadd(V::shl::<23>(last), V::int(biased << 23)))
}

/// e^x - 1.
#[inline(always)]
pub(crate) fn expm1<V: F32s>(x: V) -> V {
    let reduced = reduce(V::of(-20.0).max(V::of(89.0).min(x)));
    // at half size, so that 2^k does not overflow
    let scale = V::of(1.0).scale(reduced.k - V::of(1.0));
    let y = expm1_of(&reduced, scale, V::of(0.5));
    V::select(V::lt(x.abs(), V::of(TINY)), x, y + y)
}

/// e^x - 1 where no result is infinite.
#[inline(always)]
pub(crate) fn expm1_quick<V: F32s>(x: V) -> Option<V> {
    if !all_below(x, 85.0) {
        return None;
    }
    let reduced = reduce(x);
    Some(expm1_of(&reduced, power_of_two::<V>(reduced.last, 127), V::of(1.0)).copysign(x))
}

/// (e^x - 1) `one` for a `scale` of 2^k `one`.
#[inline(always)]
fn expm1_of<V: F32s>(x: &Reduced<V>, scale: V, one: V) -> V {
    let less = scale - one;
    // Above 2^24, adding one does not change the number.
    let lost = (scale - less) - one;
    let rest = (x.r * x.r).fma(horner(x.r, EXPM1_F32), -x.low);
    let high = scale.fma(x.first, less);
    let low = scale.fma(x.first, (less - high) + lost);
    high + scale.fma(rest, low)
}

/// Odd functions of numbers below this are their arguments.
const TINY: f32 = 1.0 / 67108864.0;

/// From here on sinh and cosh are infinite.
const HYPERBOLIC_END: f32 = 89.5;
/// Below this, they are not, and powers of two have the bits that [`power_of_two`] puts together.
const HYPERBOLIC_LIMIT: f32 = 87.0;

/// 2^(k-1) and 2^(-k-1), at half size so that they do not overflow.
#[inline(always)]
fn halves_of_powers<V: F32s>(k: V) -> (V, V) {
    // beyond, the smaller power is of no account
    (V::of(1.0).scale(k - V::of(2.0)), V::of(0.25).scale(-V::of(60.0).min(k)))
}

/// The same at full size, for |k| < 127.
#[inline(always)]
fn powers<V: F32s>(last: V::Int) -> (V, V) {
    let down = V::isub(V::int(126 << 23), V::shl::<23>(last));
    (power_of_two::<V>(last, 126), V::from_bits(down))
}

/// sinh r - `first` and cosh r - 1.
#[inline(always)]
fn odd_and_even<V: F32s>(x: &Reduced<V>) -> (V, V) {
    let z = x.r * x.r;
    ((x.r * z).fma(horner(z, SINH_F32), -x.low), z * horner(z, COSH_F32))
}

/// Hyperbolic sine as a cosh r + b sinh r for a = sinh(k ln 2) and b = cosh(k ln 2), made of these halves of powers of
/// two. Only the last sum's rounding counts: what is added to `a` is at most 0.71 of the result, or the sum is exact.
#[inline(always)]
fn sinh_of<V: F32s>(x: &Reduced<V>, (up, down): (V, V)) -> V {
    let (odd, even) = odd_and_even(x);
    let (a, a_low) = fast_two_sum(up, -down);
    let (b, b_low) = fast_two_sum(up, down);
    let low = b_low.fma(x.r, a_low);
    a + b.fma(x.first, b.fma(odd, a.fma(even, low)))
}

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<V: F32s>(x: V) -> V {
    let ax = x.abs();
    let reduced = reduce(V::of(HYPERBOLIC_END).min(ax));
    let y = sinh_of(&reduced, halves_of_powers(reduced.k));
    V::select(V::lt(ax, V::of(TINY)), ax, y + y).copysign(x)
}

/// Hyperbolic sine where no result is infinite.
#[inline(always)]
pub(crate) fn sinh_quick<V: F32s>(x: V) -> Option<V> {
    if !all_below(x, HYPERBOLIC_LIMIT) {
        return None;
    }
    let reduced = reduce(x.abs());
    Some(sinh_of(&reduced, powers::<V>(reduced.last)).copysign(x))
}

/// Hyperbolic cosine as the sum of 2^(k-1) e^r and 2^(-k-1) e^-r, for these halves of powers of two, whose sum comes
/// last.
#[inline(always)]
fn cosh_of<V: F32s>(x: &Reduced<V>, (up, down): (V, V)) -> V {
    let (odd, even) = odd_and_even(x);
    let (a, low) = fast_two_sum(up, down);
    let falling = even - (x.first + odd);
    a + up.fma(x.first, up.fma(odd + even, down.fma(falling, low)))
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<V: F32s>(x: V) -> V {
    let reduced = reduce(V::of(HYPERBOLIC_END).min(x.abs()));
    let y = cosh_of(&reduced, halves_of_powers(reduced.k));
    y + y
}

/// Hyperbolic cosine where no result is infinite.
#[inline(always)]
pub(crate) fn cosh_quick<V: F32s>(x: V) -> Option<V> {
    if !all_below(x, HYPERBOLIC_LIMIT) {
        return None;
    }
    let reduced = reduce(x.abs());
    Some(cosh_of(&reduced, powers::<V>(reduced.last)))
}

/// From here on tanh is 1.
const TANH_END: f32 = 9.25;

/// Hyperbolic tangent: in each quarter of an octave of |x| + 1, a polynomial of the difference to a number near to the
/// middle; in the first, of x itself.
#[inline(always)]
pub(crate) fn tanh<V: F32s>(x: V) -> V {
    let ax = V::of(TANH_END).min(x.abs());
    let part = ax + V::of(1.0);
    let quarter = V::shr::<21>(part.bits());
    let d = ax - V::lookup(&TANH_F32_CENTER, quarter);
    let value = V::select(V::lt(part, V::of(1.25)), ax, V::lookup(&TANH_F32_VALUE, quarter));
    let [first @ .., last] = &TANH_F32;
    let mut sum = V::lookup(last, quarter);
    for table in first.iter().rev() {
        sum = sum.fma(d, V::lookup(table, quarter));
    }
    d.fma(sum, value).copysign(x)
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

/// The sine or, where `q` is odd, the cosine; negated where q & 2.
#[inline(always)]
fn pick<V: F32s>(s: V, c: V, q: V::Int) -> V {
    let flip = V::iand(V::shl::<30>(q), V::sign_bit());
    V::select(V::is_odd(q), c, s).flip(flip)
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

/// Tangent; lanes that are large or near a multiple of pi/16 take the f64 path.
#[inline(always)]
pub(crate) fn tan<V: F32s>(x: V) -> V {
    let (y, bad) = tan_by_table(x);
    if V::any(bad) { V::select(bad, x.via64::<unary::Tan>(), y) } else { y }
}

/// Tangent where no lane takes the f64 path.
#[inline(always)]
pub(crate) fn tan_quick<V: F32s>(x: V) -> Option<V> {
    let (y, bad) = tan_by_table(x);
    if V::any(bad) { None } else { Some(y) }
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
