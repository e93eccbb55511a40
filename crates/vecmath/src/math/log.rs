//! log, log2, log10, log1p, arcsinh, arccosh, arctanh in f64, and the pair log of pow.
//!
//! x = 2^k (1 + f) with 1 + f in [3/4, 3/2), and log(1 + f) = f + t, where t
//! comes from the odd series of atanh(f / (2 + f)). f is exact, so t carries all error.

use crate::coeffs::{
    ACOSH, ASINH, ATANH, INV_LN2, INV_LN2_LO, INV_LN10, INV_LN10_LO, LN2_HI, LN2_LO, LOG, LOG10_2_HI, LOG10_2_LO,
    POW_LOG, THIRD, THIRD_LO,
};
use crate::vector::{F64s, divide, fast_two_sum, poly, two_prod};

/// Positive finite x = 2^k m, subnormals too.
#[inline(always)]
pub(crate) fn split_any<V: F64s>(x: V) -> (V, V) {
    let tiny = V::lt(x, V::of(f64::MIN_POSITIVE));
    // the factor is chosen, not the product: that of a large x would overflow
    let (k, m) = (x * V::select(tiny, V::of(18014398509481984.0), V::of(1.0))).split();
    (V::select(tiny, k - V::of(54.0), k), m)
}

/// Whether some lane is not a positive finite normal number.
#[inline(always)]
fn any_odd<V: F64s>(x: V) -> bool {
    V::any(V::not(V::both(V::le(V::of(f64::MIN_POSITIVE), x), V::lt(x, V::of(f64::INFINITY)))))
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

/// log(2^k m).
#[inline(always)]
fn log_of<V: F64s>(k: V, m: V) -> V {
    let f = m - V::of(1.0);
    assemble(k, f, log_rest(f))
}

/// Natural logarithm where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log_quick<V: F64s>(x: V) -> Option<V> {
    if any_odd(x) {
        return None;
    }
    let (k, m) = x.split();
    Some(log_of(k, m))
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn log<V: F64s>(x: V) -> V {
    let (k, m) = split_any(x);
    outside(x, log_of(k, m))
}

/// Logarithm of 2^k m to a base: `c + c_lo` is 1/log(base), `step + step_lo` is the log of 2.
#[inline(always)]
fn log_to<V: F64s>(k: V, m: V, c: f64, c_lo: f64, step: f64, step_lo: f64) -> V {
    let f = m - V::of(1.0);
    let (g, t) = log_parts(f);
    let (p, pe) = two_prod(g, V::of(c));
    let low = t.fma(V::of(c), g.fma(V::of(c_lo), pe));
    let (hi, lo) = fast_two_sum(k * V::of(step), p);
    hi + (lo + k.fma(V::of(step_lo), low))
}

/// log2(2^k m).
#[inline(always)]
fn log2_of<V: F64s>(k: V, m: V) -> V {
    log_to(k, m, INV_LN2, INV_LN2_LO, 1.0, 0.0)
}

/// log10(2^k m).
#[inline(always)]
fn log10_of<V: F64s>(k: V, m: V) -> V {
    log_to(k, m, INV_LN10, INV_LN10_LO, LOG10_2_HI, LOG10_2_LO)
}

/// Logarithm to base 2 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log2_quick<V: F64s>(x: V) -> Option<V> {
    if any_odd(x) {
        return None;
    }
    let (k, m) = x.split();
    Some(log2_of(k, m))
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<V: F64s>(x: V) -> V {
    let (k, m) = split_any(x);
    outside(x, log2_of(k, m))
}

/// Logarithm to base 10 where all lanes are inside its domain.
#[inline(always)]
pub(crate) fn log10_quick<V: F64s>(x: V) -> Option<V> {
    if any_odd(x) {
        return None;
    }
    let (k, m) = x.split();
    Some(log10_of(k, m))
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<V: F64s>(x: V) -> V {
    let (k, m) = split_any(x);
    outside(x, log10_of(k, m))
}

/// log(1 + f + low) + k ln 2, for a `low` of the order of f's rounding error.
#[inline(always)]
fn log_sum<V: F64s>(k: V, f: V, low: V) -> V {
    let (g, t) = log_parts(f);
    // d log(1 + f) = df / (1 + f), and df is small
    assemble(k, g, t + (-f).fma(low, low))
}

/// log(h + l), for normal h.
#[inline(always)]
fn log_pair_sum<V: F64s>(h: V, l: V) -> V {
    let (k, m) = h.split();
    log_sum(k, m - V::of(1.0), l.scale(-k))
}

/// log(1 + x) for -1 < x < 2^60. 1 + x only chooses k; 2^-k (1 + x) - 1 is computed from x itself.
#[inline(always)]
fn log1p_inside<V: F64s>(x: V) -> V {
    let one = V::of(1.0);
    let (k, _) = (one + x).split();
    let down = one.scale(-k);
    let less = down - one;
    let f = x.fma(down, less);
    log_sum(k, f, x.fma(down, less - f)).copysign(x)
}

/// log(1 + x) where all lanes are inside its domain and below 2^60.
#[inline(always)]
pub(crate) fn log1p_quick<V: F64s>(x: V) -> Option<V> {
    let good = V::both(V::lt(V::of(-1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(log1p_inside(x)) }
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p<V: F64s>(x: V) -> V {
    let (bottom, inf) = (V::of(-1.0), V::of(f64::INFINITY));
    let (k, m) = x.split();
    let r = V::select(V::le(V::of(LARGE), x), log_of(k, m), log1p_inside(x));
    let r = V::select(V::both(V::lt(bottom, x), V::lt(x, inf)), r, x);
    let r = V::select(V::eq(x, bottom), -inf, r);
    V::select(V::lt(x, bottom), V::of(f64::NAN), r)
}

/// 2^60. From here on 1 + x and sqrt(x^2 + 1) are x.
const LARGE: f64 = 1152921504606846976.0;
/// Below this the inverse hyperbolics are polynomials.
const SMALL: f64 = 0.5;

/// sqrt(h + l) as two parts, the second to a few bits; 0 for 0.
#[inline(always)]
pub(crate) fn sqrt_pair<V: F64s>(h: V, l: V) -> (V, V) {
    let s = h.sqrt();
    (s, ((-s).fma(s, h) + l) * half_inverse(s))
}

/// 1 / (2 x) within an eighth, for normal x: the bits of a number are nearly its logarithm.
#[inline(always)]
fn half_inverse<V: F64s>(x: V) -> V {
    V::from_bits(V::isub(V::int(0x7fce_6238_5024_84ba), x.bits()))
}

/// arcsinh of |x| < 2^60.
#[inline(always)]
fn arcsinh_inside<V: F64s>(ax: V) -> V {
    let one = V::of(1.0);
    // powers of large numbers would overflow
    let near = one.min(ax);
    let z = near * near;
    let small = (near * z).fma(poly(z, ASINH), near);
    let w = ax.fma(ax, one);
    let (s, sl) = sqrt_pair(w, ax.fma(ax, one - w));
    let (h, l) = fast_two_sum(s, ax);
    V::select(V::lt(ax, V::of(SMALL)), small, log_pair_sum(h, l + sl))
}

/// Inverse hyperbolic sine where all lanes are below 2^60 in size.
#[inline(always)]
pub(crate) fn arcsinh_quick<V: F64s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(LARGE))) { None } else { Some(arcsinh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub(crate) fn arcsinh<V: F64s>(x: V) -> V {
    let ax = x.abs();
    V::select(V::lt(ax, V::of(LARGE)), arcsinh_inside(ax), log_twice(ax)).copysign(x)
}

/// log(2 x) of a large x, infinities and NaN as they are.
#[inline(always)]
fn log_twice<V: F64s>(x: V) -> V {
    let (k, m) = x.split();
    V::select(V::lt(x, V::of(f64::INFINITY)), log_of(k + V::of(1.0), m), x)
}

/// arccosh of 1 <= x < 2^60.
#[inline(always)]
fn arccosh_inside<V: F64s>(x: V) -> V {
    let one = V::of(1.0);
    let near = V::lt(x, V::of(1.0 + SMALL));
    // sqrt(2 t) (1 + t P(t)), t = x - 1; else log(x + sqrt(x^2 - 1))
    let t = one.min(x - one);
    let square = x * x;
    let (w, we) = fast_two_sum(square, -one);
    let wl = we + x.fma(x, -square);
    let (s, sl) = sqrt_pair(V::select(near, t + t, w), V::select(near, V::of(0.0), wl));
    let small = s + (s * t).fma(poly(t, ACOSH), sl);
    let (h, l) = fast_two_sum(x, s);
    V::select(near, small, log_pair_sum(h, l + sl))
}

/// Inverse hyperbolic cosine where all lanes are from 1 to 2^60.
#[inline(always)]
pub(crate) fn arccosh_quick<V: F64s>(x: V) -> Option<V> {
    let good = V::both(V::le(V::of(1.0), x), V::lt(x, V::of(LARGE)));
    if V::any(V::not(good)) { None } else { Some(arccosh_inside(x)) }
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub(crate) fn arccosh<V: F64s>(x: V) -> V {
    let r = V::select(V::lt(x, V::of(LARGE)), arccosh_inside(x), log_twice(x));
    V::select(V::lt(x, V::of(1.0)), V::of(f64::NAN), r)
}

/// arctanh of |x| < 1: log((1 + x) / (1 - x)) / 2.
#[inline(always)]
fn arctanh_inside<V: F64s>(ax: V) -> V {
    let one = V::of(1.0);
    let z = ax * ax;
    let small = (ax * z).fma(poly(z, ATANH), ax);
    let (n, nl) = fast_two_sum(one, ax);
    let d = one - ax;
    let q = n / d;
    let rest = (-q).fma(d, n) + nl;
    let inverse = half_inverse(d);
    let large = V::of(0.5) * log_pair_sum(q, rest * (inverse + inverse));
    V::select(V::lt(ax, V::of(SMALL)), small, large)
}

/// Inverse hyperbolic tangent where all lanes are below 1 in size.
#[inline(always)]
pub(crate) fn arctanh_quick<V: F64s>(x: V) -> Option<V> {
    let ax = x.abs();
    if V::any(V::not_lt(ax, V::of(1.0))) { None } else { Some(arctanh_inside(ax).copysign(x)) }
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub(crate) fn arctanh<V: F64s>(x: V) -> V {
    let (ax, one) = (x.abs(), V::of(1.0));
    let r = V::select(V::lt(ax, one), arctanh_inside(ax), V::of(f64::NAN));
    V::select(V::eq(ax, one), V::of(f64::INFINITY), r).copysign(x)
}

/// log(2^k m) as a pair, relative error about 2^-66.
#[inline(always)]
pub(crate) fn log_pair<V: F64s>(k: V, m: V) -> (V, V) {
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
