//! log, log2, log10, log1p, arcsinh, arccosh, arctanh in f64, and the pair log of pow.
//!
//! x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt 2), and log(1 + f) = f + t, where t
//! comes from the odd series of atanh(f / (2 + f)). f is exact, so t carries all error.

use crate::coeffs::{
    INV_LN2, INV_LN2_LO, INV_LN10, INV_LN10_LO, LN2, LN2_HI, LN2_LO, LOG, LOG_TO_SINGLE, LOG10_2_HI, LOG10_2_LO,
    POW_LOG, THIRD, THIRD_LO,
};
use crate::vector::{F64s, divide, fast_two_sum, poly, two_prod, two_sum};

const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE_BITS: u64 = 0x3ff0_0000_0000_0000;
const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
/// 2^52, whose low bits hold an integer added to it.
const TWO52_BITS: u64 = 0x4330_0000_0000_0000;
const TWO52_BIAS: f64 = 4503599627370496.0 + 1023.0;

/// Normal positive x = 2^k m.
#[inline(always)]
fn split<V: F64s>(x: V) -> (V, V) {
    let t = V::iadd(x.bits(), V::int(ONE_BITS - SQRT_HALF_BITS));
    let e = V::from_bits(V::ior(V::shr::<52>(t), V::int(TWO52_BITS)));
    let m = V::iadd(V::iand(t, V::int(MANTISSA)), V::int(SQRT_HALF_BITS));
    (e - V::of(TWO52_BIAS), V::from_bits(m))
}

/// Positive finite x = 2^k m, subnormals too.
#[inline(always)]
pub(crate) fn split_any<V: F64s>(x: V) -> (V, V) {
    let tiny = V::lt(x, V::of(f64::MIN_POSITIVE));
    // the factor is chosen, not the product: that of a large x would overflow
    let (k, m) = split(x * V::select(tiny, V::of(18014398509481984.0), V::of(1.0)));
    (V::select(tiny, k - V::of(54.0), k), m)
}

/// t with log(1 + f) = f + t.
#[inline(always)]
fn log_rest<V: F64s>(f: V) -> V {
    let s = f / (V::of(2.0) + f);
    let z = s * s;
    let half_square = V::of(0.5) * f * f;
    s.fma(z.fma(poly(z, LOG), half_square), -half_square)
}

/// log(1 + f) = g + t as [`log_rest`], but with f^2 / 2 exact: for the functions that
/// round again after it.
#[inline(always)]
fn log_parts<V: F64s>(f: V) -> (V, V) {
    let s = f / (V::of(2.0) + f);
    let z = s * s;
    let half = V::of(0.5) * f;
    let (h, he) = two_prod(half, f);
    let (g, ge) = fast_two_sum(f, -h);
    (g, ge + s.fma(z.fma(poly(z, LOG), h), -he))
}

/// k ln 2 + f + t, largest parts first.
#[inline(always)]
fn assemble<V: F64s>(k: V, f: V, t: V) -> V {
    let (hi, lo) = fast_two_sum(k * V::of(LN2_HI), f);
    hi + (lo + k.fma(V::of(LN2_LO), t))
}

/// The values of a logarithm outside (0, inf).
#[inline(always)]
fn outside<V: F64s>(x: V, r: V) -> V {
    let (zero, inf) = (V::of(0.0), V::of(f64::INFINITY));
    let good = V::both(V::lt(zero, x), V::lt(x, inf));
    if !V::any(V::not(good)) {
        return r;
    }
    let r = V::select(good, r, x + x);
    let r = V::select(V::eq(x, zero), -inf, r);
    V::select(V::lt(x, zero), V::of(f64::NAN), r)
}

/// log of a positive finite x.
#[inline(always)]
pub(crate) fn log_positive<V: F64s>(x: V) -> V {
    let (k, m) = split_any(x);
    let f = m - V::of(1.0);
    assemble(k, f, log_rest(f))
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: F64s>(x: V) -> V {
    outside(x, log_positive(x))
}

/// Logarithm to a base: `c + c_lo` is 1/log(base), `step + step_lo` is the log of 2.
#[inline(always)]
fn log_base<V: F64s>(x: V, c: f64, c_lo: f64, step: f64, step_lo: f64) -> V {
    let (k, m) = split_any(x);
    let f = m - V::of(1.0);
    let (g, t) = log_parts(f);
    let (p, pe) = two_prod(g, V::of(c));
    let low = t.fma(V::of(c), g.fma(V::of(c_lo), pe));
    let (hi, lo) = fast_two_sum(k * V::of(step), p);
    outside(x, hi + (lo + k.fma(V::of(step_lo), low)))
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: F64s>(x: V) -> V {
    log_base(x, INV_LN2, INV_LN2_LO, 1.0, 0.0)
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: F64s>(x: V) -> V {
    log_base(x, INV_LN10, INV_LN10_LO, LOG10_2_HI, LOG10_2_LO)
}

/// log(1 + h + l) + more ln 2, for h > -1, h finite.
#[inline(always)]
fn log1p_pair<V: F64s>(h: V, l: V, more: V) -> V {
    let one = V::of(1.0);
    let (u, ul) = two_sum(one, h);
    let (k, m) = split(u);
    let whole = V::eq(k, V::of(0.0));
    let f = V::select(whole, h, m - one);
    // above 2^900 the low part is far below notice, and 2^-k would be subnormal
    let down = V::of(-900.0).max(-k);
    let fl = V::select(whole, l, (ul + l) * one.ldexp(down));
    let (g, t) = log_parts(f);
    assemble(k + more, g, t + fl / (one + f))
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<V: F64s>(x: V) -> V {
    let zero = V::of(0.0);
    log1p_ends(x, log1p_pair(x, zero, zero))
}

/// `r`, which is log(1 + x) for x > -1, x finite, with the other values put in.
#[inline(always)]
fn log1p_ends<V: F64s>(x: V, r: V) -> V {
    let (zero, bottom, inf) = (V::of(0.0), V::of(-1.0), V::of(f64::INFINITY));
    let good = V::both(V::lt(bottom, x), V::lt(x, inf));
    let r = V::select(V::both(good, V::not(V::eq(x, zero))), r, x);
    let r = V::select(V::eq(x, bottom), -inf, r);
    V::select(V::lt(x, bottom), V::of(f64::NAN), r)
}

/// log(1 + f) of a split, good to f32.
#[inline(always)]
fn log_to_single<V: F64s>(f: V) -> V {
    let s = f / (V::of(2.0) + f);
    let z = s * s;
    s * z.fma(poly(z, LOG_TO_SINGLE), V::of(2.0))
}

/// log of a positive finite f32, good to f32.
#[inline(always)]
pub(crate) fn log_positive_to_single<V: F64s>(x: V) -> V {
    let (k, m) = split(x);
    k.fma(V::of(LN2), log_to_single(m - V::of(1.0)))
}

/// Logarithm of an f32 to base 2, good to f32.
#[inline(always)]
pub(crate) fn log2_to_single<V: F64s>(x: V) -> V {
    let (k, m) = split(x);
    outside(x, log_to_single(m - V::of(1.0)).fma(V::of(INV_LN2), k))
}

/// Logarithm of an f32 to base 10, good to f32.
#[inline(always)]
pub(crate) fn log10_to_single<V: F64s>(x: V) -> V {
    let (k, m) = split(x);
    let rest = log_to_single(m - V::of(1.0)) * V::of(INV_LN10);
    outside(x, k.fma(V::of(LOG10_2_HI + LOG10_2_LO), rest))
}

/// log(1 + x) for x > -1, x finite, good to f32. Where 1 + x is rounded so that it shows, x is the split's rest itself.
#[inline(always)]
fn log1p_inside_to_single<V: F64s>(x: V) -> V {
    let one = V::of(1.0);
    let (k, m) = split(one + x);
    let f = V::select(V::eq(k, V::of(0.0)), x, m - one);
    k.fma(V::of(LN2), log_to_single(f))
}

/// log(1 + x) of an f32, good to f32.
#[inline(always)]
pub(crate) fn log1p_to_single<V: F64s>(x: V) -> V {
    log1p_ends(x, log1p_inside_to_single(x))
}

/// Inverse hyperbolic sine of an f32, good to f32.
#[inline(always)]
pub(crate) fn arcsinh_to_single<V: F64s>(x: V) -> V {
    let (ax, one) = (x.abs(), V::of(1.0));
    let z = ax * ax;
    let r = log1p_inside_to_single(ax + z / (one + (one + z).sqrt()));
    V::select(V::lt(ax, V::of(f64::INFINITY)), r, ax).copysign(x)
}

/// From here on arcsinh x = arccosh x = log 2x.
const ASYMPTOTIC: f64 = 1152921504606846976.0;

/// Inverse hyperbolic sine: log1p(x + x^2 / (1 + sqrt(1 + x^2))).
#[inline(always)]
pub(crate) fn arcsinh<V: F64s>(x: V) -> V {
    let (ax, one, zero) = (x.abs(), V::of(1.0), V::of(0.0));
    let large = V::le(V::of(ASYMPTOTIC), ax);
    let a = V::select(large, one, ax);
    let (z, ze) = two_prod(a, a);
    let (w, we) = two_sum(one, z);
    let (s, sl) = sqrt_pair(w, we + ze);
    let (d, dl) = two_sum(one, s);
    let (q, ql) = divide(z, ze, d, dl + sl, one);
    let (h, l) = fast_two_sum(a, q);
    let h = V::select(large, ax, h);
    let l = V::select(large, zero, l + ql);
    let r = log1p_pair(h, l, V::select(large, one, zero));
    V::select(V::lt(ax, V::of(f64::INFINITY)), r, ax).copysign(x)
}

/// Inverse hyperbolic cosine: log1p(t + sqrt(t (t + 2))), t = x - 1.
#[inline(always)]
pub(crate) fn arccosh<V: F64s>(x: V) -> V {
    let (one, zero) = (V::of(1.0), V::of(0.0));
    let large = V::le(V::of(ASYMPTOTIC), x);
    let (t, tl) = two_sum(V::select(large, one, x), -one);
    let (sq, sq_lo) = two_prod(t, t);
    let (p, pl) = two_sum(t + t, sq);
    let (s, sl) = sqrt_pair(p, pl + sq_lo);
    let (h, l) = two_sum(s, t);
    let h = V::select(large, x, h);
    let l = V::select(large, zero, l + (sl + tl));
    let r = log1p_pair(h, l, V::select(large, one, zero));
    let r = V::select(V::lt(x, V::of(f64::INFINITY)), r, x);
    V::select(V::lt(x, one), V::of(f64::NAN), r)
}

/// sqrt(h + l) as a pair, 0 for 0.
#[inline(always)]
pub(crate) fn sqrt_pair<V: F64s>(h: V, l: V) -> (V, V) {
    let s = h.sqrt();
    let rest = (-s).fma(s, h) + l;
    (s, rest / V::of(f64::MIN_POSITIVE).max(s + s))
}

/// Inverse hyperbolic tangent: log1p(2x / (1 - x)) / 2.
#[inline(always)]
pub(crate) fn arctanh<V: F64s>(x: V) -> V {
    let (ax, one, zero) = (x.abs(), V::of(1.0), V::of(0.0));
    let (d, dl) = two_sum(one, -ax);
    let (q, ql) = divide(ax + ax, zero, d, dl, one);
    let r = V::of(0.5) * log1p_pair(q, ql, zero);
    let r = V::select(V::lt(ax, one), r, V::of(f64::NAN));
    let r = V::select(V::eq(ax, one), V::of(f64::INFINITY), r);
    r.copysign(x)
}

/// log of a positive finite x as a pair, relative error about 2^-66.
#[inline(always)]
pub(crate) fn log_pair<V: F64s>(x: V) -> (V, V) {
    let (k, m) = split_any(x);
    let (one, two) = (V::of(1.0), V::of(2.0));
    let f = m - one;
    let dh = two + f;
    let (s, sl) = divide(f, V::of(0.0), dh, f - (dh - two), one);
    let (z, ze) = two_prod(s, s);
    let zl = (s + s).fma(sl, ze);
    // v = 1/3 + z/5 + ...
    let p = poly(z, POW_LOG);
    let (u, ue) = two_prod(z, p);
    let (v, ve) = fast_two_sum(V::of(THIRD), u);
    let vl = ve + (zl.fma(p, ue) + V::of(THIRD_LO));
    // atanh s = s + s z v
    let (w, we) = two_prod(z, v);
    let wl = z.fma(vl, zl.fma(v, we));
    let (t, te) = two_prod(s, w);
    let tl = s.fma(wl, sl.fma(w, te));
    let (a, ae) = fast_two_sum(s, t);
    let al = ae + (sl + tl);
    let (h, he) = fast_two_sum(k * V::of(LN2_HI), a + a);
    fast_two_sum(h, he + k.fma(V::of(LN2_LO), al + al))
}
