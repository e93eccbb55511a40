//! Logarithms in native f32 lanes: log, log2, log10, log1p, arcsinh, arccosh, arctanh.
//!
//! x = 2^k (1 + f) with 0.75 <= 1 + f < 1.5, and a polynomial in f without a division. Each function has a part for
//! arguments inside its domain, which is all that `*_quick` computes, and the values elsewhere.

use crate::coeffs::{
    ACOSH_F32, ASINH_F32, ATANH_F32, INV_LN2_F32, INV_LN2_LO_F32, INV_LN10_F32, INV_LN10_LO_F32, LN2_HI_F32,
    LN2_LO_F32, LOG_F32, LOG10_2_HI_F32, LOG10_2_LO_F32,
};
use crate::vector::{F32s, fast_two_sum, horner, two_prod};

/// The lanes of positive finite normal numbers.
#[inline(always)]
fn is_normal<V: F32s>(x: V) -> V::Mask {
    V::both(V::le(V::of(f32::MIN_POSITIVE), x), V::lt(x, V::of(f32::INFINITY)))
}

/// The logarithm to a base (0 for e, 2 or 10) of 2^k m. A function as an argument would not be inlined, and code of other
/// instruction sets would be called.
#[inline(always)]
fn log_to<V: F32s, const BASE: u32>(k: V, m: V) -> V {
    match BASE {
        2 => log2_of(k, m),
        10 => log10_of(k, m),
        _ => log_of(k, m),
    }
}

/// The logarithm where all lanes are positive, finite and normal.
#[inline(always)]
fn inside<V: F32s, const BASE: u32>(x: V) -> Option<V> {
    if V::any(V::not(is_normal(x))) {
        return None;
    }
    let (k, m) = x.split();
    Some(log_to::<V, BASE>(k, m))
}

/// The logarithm of any number.
#[inline(always)]
fn anywhere<V: F32s, const BASE: u32>(x: V) -> V {
    let (zero, inf) = (V::of(0.0), V::of(f32::INFINITY));
    let tiny = V::lt(x, V::of(f32::MIN_POSITIVE));
    let (k, m) = (x * V::select(tiny, V::of(33554432.0), V::of(1.0))).split();
    let r = log_to::<V, BASE>(V::select(tiny, k - V::of(25.0), k), m);
    let r = V::select(V::both(V::lt(zero, x), V::lt(x, inf)), r, x + x);
    let r = V::select(V::eq(x, zero), -inf, r);
    V::select(V::lt(x, zero), V::of(f32::NAN), r)
}

/// log(1 + f) - f + low, for a small `low`.
#[inline(always)]
fn log_rest<V: F32s>(f: V, low: V) -> V {
    let cube = f * f * f;
    (V::of(-0.5) * f).fma(f, cube.fma(horner(f, LOG_F32), low))
}

/// k ln 2 + log(1 + f) + low, for a small `low`. The largest parts are added exactly: where k is 1 or -1 and they
/// nearly cancel, their rounding would show.
#[inline(always)]
fn assemble<V: F32s>(k: V, f: V, low: V) -> V {
    let (hi, lo) = fast_two_sum(k * V::of(LN2_HI_F32), f);
    hi + log_rest(f, k.fma(V::of(LN2_LO_F32), lo + low))
}

/// log(2^k m).
#[inline(always)]
fn log_of<V: F32s>(k: V, m: V) -> V {
    let f = m - V::of(1.0);
    let (hi, lo) = fast_two_sum(k * V::of(LN2_HI_F32), f);
    hi + log_rest(f, k.fma(V::of(LN2_LO_F32), lo))
}

/// c log(1 + f) + whole + low, for c as two parts. The product of f and c is kept exact, and so is its sum with `whole`.
#[inline(always)]
fn log_times<V: F32s>(f: V, c: f32, c_low: f32, whole: V, low: V) -> V {
    let c = V::of(c);
    let (p, pe) = two_prod(f, c);
    let (hi, lo) = fast_two_sum(whole, p);
    let half = V::of(-0.5) * f;
    let rest = f * f * f * horner(f, LOG_F32);
    let low = half.fma(pe, f.fma(V::of(c_low), lo + pe) + low);
    hi + half.fma(p, rest.fma(c, low))
}

/// log2(2^k m).
#[inline(always)]
fn log2_of<V: F32s>(k: V, m: V) -> V {
    log_times(m - V::of(1.0), INV_LN2_F32, INV_LN2_LO_F32, k, V::of(0.0))
}

/// log10(2^k m).
#[inline(always)]
fn log10_of<V: F32s>(k: V, m: V) -> V {
    let whole = k * V::of(LOG10_2_HI_F32);
    log_times(m - V::of(1.0), INV_LN10_F32, INV_LN10_LO_F32, whole, k * V::of(LOG10_2_LO_F32))
}

/// Natural logarithm where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log_quick<V: F32s>(x: V) -> Option<V> {
    inside::<V, 0>(x)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: F32s>(x: V) -> V {
    anywhere::<V, 0>(x)
}

/// Logarithm to base 2 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log2_quick<V: F32s>(x: V) -> Option<V> {
    inside::<V, 2>(x)
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: F32s>(x: V) -> V {
    anywhere::<V, 2>(x)
}

/// Logarithm to base 10 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log10_quick<V: F32s>(x: V) -> Option<V> {
    inside::<V, 10>(x)
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: F32s>(x: V) -> V {
    anywhere::<V, 10>(x)
}

/// log(1 + x) for finite x > -1. 1 + x only chooses k; 2^-k (1 + x) - 1 is computed from x itself.
#[inline(always)]
fn log1p_inside<V: F32s>(x: V) -> V {
    let one = V::of(1.0);
    let (k, _) = (one + x).split();
    let down = one.scale(-k);
    let less = down - one;
    let f = x.fma(down, less);
    let low = x.fma(down, less - f);
    assemble(k, f, low).copysign(x)
}

/// log(1 + x) where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log1p_quick<V: F32s>(x: V) -> Option<V> {
    // 2^-126 has to be normal
    let good = V::both(V::lt(V::of(-1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(log1p_inside(x)) }
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<V: F32s>(x: V) -> V {
    let (bottom, inf) = (V::of(-1.0), V::of(f32::INFINITY));
    let large = V::le(V::of(LARGE), x);
    let (k, m) = x.split();
    let r = V::select(large, log_of(k, m), log1p_inside(x));
    let r = V::select(V::both(V::lt(bottom, x), V::lt(x, inf)), r, x);
    let r = V::select(V::eq(x, bottom), -inf, r);
    V::select(V::lt(x, bottom), V::of(f32::NAN), r)
}

/// 2^60. From here on 1 + x and sqrt(x^2 + 1) are x, and x^2 overflows soon.
const LARGE: f32 = 1152921504606846976.0;
/// Below this the inverse hyperbolics are polynomials.
const SMALL: f32 = 0.5;

/// log(h + l) for normal h and l of the order of its rounding error.
#[inline(always)]
fn log_sum<V: F32s>(h: V, l: V) -> V {
    let (k, m) = h.split();
    let f = m - V::of(1.0);
    let fl = l.scale(-k);
    // d log(1 + f) = df / (1 + f), and df is small
    let low = (-f).fma(fl, fl);
    assemble(k, f, low)
}

/// The root of h + l as two parts, the second to a few bits; zero for zero.
#[inline(always)]
pub(super) fn sqrt_sum<V: F32s>(h: V, l: V) -> (V, V) {
    let s = h.sqrt();
    (s, ((-s).fma(s, h) + l) * half_inverse(s))
}

/// 1 / (2 x) within an eighth, for normal x: the bits of a number are nearly its logarithm.
#[inline(always)]
pub(super) fn half_inverse<V: F32s>(x: V) -> V {
    V::from_bits(V::isub(V::int(0x7e73_11c3), x.bits()))
}

/// arcsinh of |x| < 2^60.
#[inline(always)]
fn arcsinh_inside<V: F32s>(ax: V) -> V {
    let one = V::of(1.0);
    // powers of large numbers would overflow
    let near = one.min(ax);
    let z = near * near;
    let small = (near * z).fma(horner(z, ASINH_F32), near);
    let w = ax.fma(ax, one);
    let (s, sl) = sqrt_sum(w, ax.fma(ax, one - w));
    let (h, l) = fast_two_sum(s, ax);
    V::select(V::lt(ax, V::of(SMALL)), small, log_sum(h, l + sl))
}

/// Inverse hyperbolic sine where all lanes are below 2^60 in size.
#[inline(always)]
pub(crate) fn arcsinh_quick<V: F32s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(LARGE))) { None } else { Some(arcsinh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn arcsinh<V: F32s>(x: V) -> V {
    let ax = x.abs();
    V::select(V::lt(ax, V::of(LARGE)), arcsinh_inside(ax), log_twice(ax)).copysign(x)
}

/// log(2 x) of a large x, infinities and NaN as they are.
#[inline(always)]
fn log_twice<V: F32s>(x: V) -> V {
    let (k, m) = x.split();
    V::select(V::lt(x, V::of(f32::INFINITY)), log_of(k + V::of(1.0), m), x)
}

/// arccosh of 1 <= x < 2^60.
#[inline(always)]
fn arccosh_inside<V: F32s>(x: V) -> V {
    let one = V::of(1.0);
    let near = V::lt(x, V::of(1.0 + SMALL));
    // sqrt(2 t) (1 + t P(t)), t = x - 1; else log(x + sqrt(x^2 - 1))
    let t = one.min(x - one);
    let square = x * x;
    let (w, we) = fast_two_sum(square, -one);
    let wl = we + x.fma(x, -square);
    let (s, sl) = sqrt_sum(V::select(near, t + t, w), V::select(near, V::of(0.0), wl));
    let small = s + (s * t).fma(horner(t, ACOSH_F32), sl);
    let (h, l) = fast_two_sum(x, s);
    V::select(near, small, log_sum(h, l + sl))
}

/// Inverse hyperbolic cosine where all lanes are from 1 to 2^60.
#[inline(always)]
pub(crate) fn arccosh_quick<V: F32s>(x: V) -> Option<V> {
    let good = V::both(V::le(V::of(1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(arccosh_inside(x)) }
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(crate) fn arccosh<V: F32s>(x: V) -> V {
    let r = V::select(V::lt(x, V::of(LARGE)), arccosh_inside(x), log_twice(x));
    V::select(V::lt(x, V::of(1.0)), V::of(f32::NAN), r)
}

/// arctanh of |x| < 1: log((1 + x) / (1 - x)) / 2.
#[inline(always)]
fn arctanh_inside<V: F32s>(ax: V) -> V {
    let one = V::of(1.0);
    let z = ax * ax;
    let small = (ax * z).fma(horner(z, ATANH_F32), ax);
    let (n, nl) = fast_two_sum(one, ax);
    let d = one - ax;
    let q = n / d;
    let rest = (-q).fma(d, n) + nl;
    let inverse = half_inverse(d);
    V::select(V::lt(ax, V::of(SMALL)), small, V::of(0.5) * log_sum(q, rest * (inverse + inverse)))
}

/// Inverse hyperbolic tangent where all lanes are below 1 in size.
#[inline(always)]
pub(crate) fn arctanh_quick<V: F32s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(1.0))) { None } else { Some(arctanh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(crate) fn arctanh<V: F32s>(x: V) -> V {
    let (ax, one) = (x.abs(), V::of(1.0));
    let r = V::select(V::lt(ax, one), arctanh_inside(ax), V::of(f32::NAN));
    V::select(V::eq(ax, one), V::of(f32::INFINITY), r).copysign(x)
}
