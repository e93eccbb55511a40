//! The hot functions in native f32 lanes: exp, exp2, log, sin, cos, tanh, erf.
//!
//! The same schemes as in f64 with shorter polynomials. All other f32 functions are the
//! f64 ones rounded to f32.

use super::erf::SPLIT;
use crate::coeffs::{
    COS_F32, ERF_LARGE_F32, ERF_SMALL_F32, EXP_F32, INV_LN2_F32, LN2_ERR_F32, LN2_F32, LN2_HI_F32, LN2_LO_F32, LOG_F32,
    PIO2_1_F32, PIO2_2_F32, SIN_F32, TWO_OVER_PI_F32,
};
use crate::func::unary;
use crate::vector::{F32s, divide, fast_two_sum, poly, two_sum};

/// e^(r + rl) = hi + lo for |r| < 0.348.
#[inline(always)]
fn exp_reduced<V: F32s>(r: V, rl: V) -> (V, V) {
    let one = V::of(1.0);
    let hi = one + r;
    let lo = ((one - hi) + r) + rl;
    (hi, (r * r).fma(poly(r, EXP_F32), lo))
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<V: F32s>(x: V) -> V {
    let x = V::of(-110.0).max(V::of(100.0).min(x));
    let k = (x * V::of(INV_LN2_F32)).round();
    let r = (-k).fma(V::of(LN2_LO_F32), (-k).fma(V::of(LN2_HI_F32), x));
    let one = V::of(1.0);
    let hi = one + r;
    let lo = (r * r).fma(poly(r, EXP_F32), (one - hi) + r);
    (hi + lo).ldexp(k)
}

/// 2^x.
#[inline(always)]
pub(crate) fn exp2<V: F32s>(x: V) -> V {
    let x = V::of(-160.0).max(V::of(140.0).min(x));
    let k = x.round();
    let f = x - k;
    let r = f * V::of(LN2_F32);
    let rl = f.fma(V::of(LN2_ERR_F32), f.fma(V::of(LN2_F32), -r));
    let (hi, lo) = exp_reduced(r, rl);
    (hi + lo).ldexp(k)
}

/// Hyperbolic tangent, as in f64.
#[inline(always)]
pub(crate) fn tanh<V: F32s>(x: V) -> V {
    let ax = V::of(10.0).min(x.abs());
    let one = V::of(1.0);
    let x2 = ax + ax;
    let k = (x2 * V::of(INV_LN2_F32)).round();
    let r1 = (-k).fma(V::of(LN2_HI_F32), x2);
    let w = k * V::of(LN2_LO_F32);
    let r = r1 - w;
    let scale = one.ldexp(k);
    let (a, b) = fast_two_sum(scale - one, r * scale);
    let low = (r * r).fma(poly(r, EXP_F32), (r1 - r) - w);
    let (nh, nl) = fast_two_sum(a, scale.fma(low, b));
    let (dh, dl) = two_sum(nh, V::of(2.0));
    let (q, ql) = divide(nh, nl, dh, dl + nl, one);
    (q + ql).copysign(x)
}

const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
const ONE_BITS: u32 = 0x3f80_0000;
const MANTISSA: u32 = 0x007f_ffff;
/// 2^23, whose low bits hold an integer added to it.
const TWO23_BITS: u32 = 0x4b00_0000;
const TWO23_BIAS: f32 = 8388608.0 + 127.0;

/// Positive finite x = 2^k m with m in [sqrt(1/2), sqrt 2).
#[inline(always)]
fn split<V: F32s>(x: V) -> (V, V) {
    let tiny = V::lt(x, V::of(f32::MIN_POSITIVE));
    let x = V::select(tiny, x * V::of(33554432.0), x);
    let t = V::iadd(x.bits(), V::int(ONE_BITS - SQRT_HALF_BITS));
    let e = V::from_bits(V::ior(V::shr::<23>(t), V::int(TWO23_BITS))) - V::of(TWO23_BIAS);
    let m = V::iadd(V::iand(t, V::int(MANTISSA)), V::int(SQRT_HALF_BITS));
    (V::select(tiny, e - V::of(25.0), e), V::from_bits(m))
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: F32s>(x: V) -> V {
    let (k, m) = split(x);
    let f = m - V::of(1.0);
    let s = f / (V::of(2.0) + f);
    let z = s * s;
    let half_square = V::of(0.5) * f * f;
    let t = s.fma(z.fma(poly(z, LOG_F32), half_square), -half_square);
    let (hi, lo) = fast_two_sum(k * V::of(LN2_HI_F32), f);
    let r = hi + (lo + k.fma(V::of(LN2_LO_F32), t));
    let (zero, inf) = (V::of(0.0), V::of(f32::INFINITY));
    let good = V::both(V::lt(zero, x), V::lt(x, inf));
    if !V::any(V::not(good)) {
        return r;
    }
    let r = V::select(good, r, x + x);
    let r = V::select(V::eq(x, zero), -inf, r);
    V::select(V::lt(x, zero), V::of(f32::NAN), r)
}

/// Largest argument of the f32 reduction, and its closest approach to k pi/2.
const FAST_LIMIT: f32 = 32768.0;
const CLOSE: f32 = 1.0 / 1048576.0;
/// 1.5 * 2^23.
const MAGIC: f32 = 12582912.0;

/// |x| = k pi/2 + r with k as integer, sin and cos of r, and the lanes where that is not good.
#[inline(always)]
fn both<V: F32s>(ax: V) -> (V::Int, V, V, V::Mask) {
    let kf = ax.fma(V::of(TWO_OVER_PI_F32), V::of(MAGIC));
    let k = kf - V::of(MAGIC);
    let r1 = (-k).fma(V::of(PIO2_1_F32), ax);
    let r = (-k).fma(V::of(PIO2_2_F32), r1);
    let rl = (-k).fma(V::of(PIO2_2_F32), r1 - r);
    let good = V::le(ax * V::of(CLOSE), V::of(FAST_LIMIT * CLOSE).min(r.abs()));
    let one = V::of(1.0);
    let z = r * r;
    let s = r + (r * z).fma(poly(z, SIN_F32), rl);
    let h = V::of(0.5) * z;
    let c1 = one - h;
    let c = c1 + (z * z).fma(poly(z, COS_F32), (-r).fma(rl, (one - c1) - h));
    (kf.bits(), s, c, V::not(good))
}

/// The sine or, where `q` is odd, the cosine; negated where q & 2.
#[inline(always)]
fn pick<V: F32s>(s: V, c: V, q: V::Int) -> V {
    let odd = V::from_bits(V::ior(V::shl::<31>(q), V::of(1.0).bits()));
    let flip = V::iand(V::shl::<30>(q), V::sign_bit());
    V::select(V::lt(odd, V::of(0.0)), c, s).flip(flip)
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
    if V::any(bad) {
        return V::select(bad, x.via64::<unary::Sin>(), y);
    }
    y
}

/// Cosine; lanes that are large or near a zero take the f64 path.
#[inline(always)]
pub(crate) fn cos<V: F32s>(x: V) -> V {
    let (q, s, c, bad) = both(x.abs());
    let y = pick(s, c, V::iadd(q, V::int(1)));
    if V::any(bad) {
        return V::select(bad, x.via64::<unary::Cos>(), y);
    }
    y
}

/// Error function, as in f64.
#[inline(always)]
pub(crate) fn erf<V: F32s>(x: V) -> V {
    let ax = x.abs();
    let z = ax * ax;
    let small = ax.fma(poly(z, ERF_SMALL_F32), ax);
    let u = V::of(4.0 - SPLIT as f32).min(ax - V::of(SPLIT as f32));
    let [first, rest @ ..] = ERF_LARGE_F32;
    let (g, gl) = fast_two_sum(V::of(first), u * poly(u, rest));
    let k = (g * V::of(INV_LN2_F32)).round();
    let r1 = (-k).fma(V::of(LN2_HI_F32), g);
    let (r, rl) = fast_two_sum(r1, (-k).fma(V::of(LN2_LO_F32), gl));
    let (hi, lo) = exp_reduced(r, rl);
    let large = V::of(1.0) - (hi + lo).ldexp(k);
    V::select(V::lt(ax, V::of(SPLIT as f32)), small, large).copysign(x)
}
