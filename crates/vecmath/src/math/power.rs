//! pow, hypot in f64.
//!
//! pow is exp of a pair y log |x|; its table of special values sits in one branch that
//! is taken only when a lane needs it. hypot ends with one Newton step on an exactly computed residual.

use super::exp::{exp_pair, exp_pair_inside};
use super::log::{log_pair, log_pair_of_any};
use super::log_table::double::has_parts;
use crate::vector::{F64s, Vector, fast_two_sum, two_prod};

/// Exponents beyond this give the same result as this: 0, 1 or inf.
const Y_LIMIT: f64 = 1180591620717411303424.0;

/// Largest |y| of the short way.
const SHORT: f64 = 8.0;

/// x^y. Where y is a multiple of a half and |y| <= 8, as it mostly is in programs, and x is neither huge nor
/// tiny, by multiplication; each lane goes its own way, whatever its neighbours need.
#[inline(always)]
pub(crate) fn pow<V: F64s>(x: V, y: V) -> V {
    if let Some(power) = pow_common::<V, true>(x, y) {
        return power;
    }
    if !V::any(is_half(y)) {
        return pow_long(x, y);
    }
    let short = is_short(x, y);
    if !V::any(V::not(short)) {
        return pow_short::<V, true>(x, y);
    }
    let long = pow_long(x, y);
    if V::any(short) { V::select(short, pow_short::<V, true>(x, y), long) } else { long }
}

/// Lanes that are multiples of a half.
#[inline(always)]
pub(super) fn is_half<V: Vector>(y: V) -> V::Mask {
    let twice = y + y;
    V::eq(twice.round(), twice)
}

/// Lanes whose power comes by multiplication without overflow or underflow on the way.
#[inline(always)]
pub(super) fn is_short<V: Vector>(x: V, y: V) -> V::Mask {
    let ax = x.abs();
    let range = V::both(V::lt(V::number(2.0f64.powi(-100)), ax), V::lt(ax, V::number(2.0f64.powi(100))));
    let steps = V::both(is_half(y), V::le(y.abs(), V::number(SHORT)));
    // a negative base has no half powers
    let defined = V::either(V::lt(V::number(0.0), x), V::eq(y.round(), y));
    V::both(V::both(range, steps), defined)
}

/// [`pow_short`], bit for bit, where all lanes go that way and have one exponent: nothing has to be selected. Compiled
/// kernels do the same in place.
#[inline(always)]
fn pow_common<V: F64s, const PAIR: bool>(x: V, y: V) -> Option<V> {
    let exponent = y.first();
    // the low bits of a sum with 1.5 * 2^52 are the nearest integer; a conversion would raise flags
    let twice = (exponent + exponent + 6755399441055744.0).to_bits() as i32;
    // not all lanes alike, no multiple of a half, or too large
    if V::any(V::not(V::eq(y, V::of(exponent)))) || f64::from(twice) != exponent + exponent || twice.unsigned_abs() > 16
    {
        return None;
    }
    let (ax, half) = (x.abs(), twice & 1 != 0);
    let range = V::both(V::lt(V::of(2.0f64.powi(-100)), ax), V::lt(ax, V::of(2.0f64.powi(100))));
    if V::any(V::not(range)) || (half && V::any(V::not(V::lt(V::of(0.0), x)))) {
        return None;
    }
    let (mut h, mut l, mut left) = (x, V::of(0.0), twice.abs() / 2 - 1);
    if half {
        (h, l) = if left < 0 { root::<V, PAIR>(x) } else { root_by_base::<V, PAIR>(x) };
    } else if left < 0 {
        h = V::of(1.0);
    }
    while left > 0 {
        if PAIR {
            let (p, e) = two_prod(h, x);
            (h, l) = (p, l.fma(x, e));
        } else {
            h = h * x;
        }
        left -= 1;
    }
    Some(if twice < 0 { inverse(h, l) } else { h + l })
}

/// The root of x and, with `PAIR`, its error: the difference between x and the root's square, divided by twice the
/// root.
#[inline(always)]
fn root<V: F64s, const PAIR: bool>(x: V) -> (V, V) {
    let root = x.sqrt();
    let error = if PAIR { (-root).fma(root, x) * (V::of(0.5) * (V::of(1.0) / root)) } else { V::of(0.0) };
    (root, error)
}

/// x^1.5 and, with `PAIR`, its error: the root's times x is what is missing of x times half the root.
#[inline(always)]
fn root_by_base<V: F64s, const PAIR: bool>(x: V) -> (V, V) {
    let root = x.sqrt();
    if !PAIR {
        return (root * x, V::of(0.0));
    }
    let (h, e) = two_prod(root, x);
    (h, (-root).fma(root, x).fma(V::of(0.5) * root, e))
}

/// 1 / (h + l).
#[inline(always)]
fn inverse<V: F64s>(h: V, l: V) -> V {
    let one = V::of(1.0);
    let q = one / h;
    let rest = (-q).fma(h, one) - q * l;
    rest.fma(q, q)
}

/// x^y on the lanes of [`is_short`]: products of x, times a root for half powers, inverted for negative
/// ones. With `PAIR` every step keeps its error, so that only the last rounding counts.
#[inline(always)]
fn pow_short<V: F64s, const PAIR: bool>(x: V, y: V) -> V {
    let (zero, one) = (V::of(0.0), V::of(1.0));
    let ay = y.abs().min(V::of(SHORT + 0.5));
    let whole = (ay - V::of(0.25)).round();
    let halves = V::lt(V::of(0.25), ay - whole);
    let (mut h, mut l, mut left) = (one, zero, whole);
    if V::any(halves) {
        let ax = x.abs();
        let longer = V::lt(V::of(0.5), whole);
        let (short, long) = (root::<V, PAIR>(ax), root_by_base::<V, PAIR>(ax));
        h = V::select(halves, V::select(longer, long.0, short.0), one);
        l = V::select(halves, V::select(longer, long.1, short.1), zero);
        left = V::select(halves, whole - one, whole);
    }
    let mut step = 1.0;
    while step <= SHORT {
        let more = V::le(V::of(step), left);
        if !V::any(more) {
            break;
        }
        if PAIR {
            let (p, e) = two_prod(h, x);
            l = V::select(more, l.fma(x, e), l);
            h = V::select(more, p, h);
        } else {
            h = V::select(more, h * x, h);
        }
        step += 1.0;
    }
    let negative = V::lt(y, zero);
    if !V::any(negative) {
        return h + l;
    }
    V::select(negative, inverse(h, l), h + l)
}

/// x^y by exp and log.
#[inline(always)]
fn pow_long<V: F64s>(x: V, y: V) -> V {
    if !V::any(V::not(has_parts(x))) {
        let (h, l) = log_pair(x);
        let (p, pe) = two_prod(y, h);
        // so that `y` is finite, too
        if !V::any(V::not_lt(p.abs(), V::of(700.0))) {
            return exp_pair_inside(p, y.fma(l, pe));
        }
    }
    let (h, l) = log_pair_of_any(x.abs());
    let yc = V::of(-Y_LIMIT).max(V::of(Y_LIMIT).min(y));
    let (p, pe) = two_prod(yc, h);
    let pl = yc.fma(l, pe);
    let far = V::lt(V::of(800.0), p.abs());
    let p = V::of(-800.0).max(V::of(800.0).min(p));
    pow_checked(x, y, exp_pair(p, V::select(far, V::of(0.0), pl)))
}

/// x^y for f32 in f64 lanes, on the lanes of [`is_short`].
#[inline(always)]
pub(crate) fn pow_short_to_single<V: F64s>(x: V, y: V) -> V {
    match pow_common::<V, false>(x, y) {
        Some(power) => power,
        None => pow_short::<V, false>(x, y),
    }
}

/// `r`, which is |x|^y for finite nonzero x and finite y, with the special values put in.
#[inline(always)]
pub(super) fn pow_checked<V: Vector>(x: V, y: V, r: V) -> V {
    let inf = V::number(f64::INFINITY);
    let plain = V::both(V::lt(V::number(0.0), x), V::lt(x, inf));
    if V::any(V::not(V::both(plain, V::lt(y.abs(), inf)))) {
        return pow_special(x, y, r);
    }
    r
}

/// C99's table; `r` is |x|^y where both are finite and x is not zero.
#[inline(always)]
fn pow_special<V: Vector>(x: V, y: V, r: V) -> V {
    let (zero, one, inf) = (V::number(0.0), V::number(1.0), V::number(f64::INFINITY));
    let (nan, ax, ay) = (V::number(f64::NAN), x.abs(), y.abs());
    let whole = V::eq(y.round(), y);
    let half = y * V::number(0.5);
    let odd = V::both(whole, V::not(V::eq(half.round(), half)));
    let rising = V::lt(zero, y);
    // zero and infinite bases
    let r = V::select(V::eq(ax, zero), V::select(rising, zero, inf), r);
    let r = V::select(V::eq(ax, inf), V::select(rising, inf, zero), r);
    // infinite exponents
    let above = V::lt(one, ax);
    let grows = V::either(V::both(above, rising), V::not(V::either(above, rising)));
    let limit = V::select(V::eq(ax, one), one, V::select(grows, inf, zero));
    let r = V::select(V::eq(ay, inf), limit, r);
    // negative bases
    let negative = V::lt(x, zero);
    let r = V::select(V::both(V::both(negative, V::lt(ax, inf)), V::not(whole)), nan, r);
    let minus = V::both(odd, V::lt(one.copysign(x), zero));
    let r = V::select(minus, -r, r);
    // NaN loses only against x = 1 and y = 0
    let ordered = V::both(V::eq(x, x), V::eq(y, y));
    let r = V::select(ordered, r, x + y);
    V::select(V::either(V::eq(x, one), V::eq(y, zero)), one, r)
}

/// sqrt(x^2 + y^2) without overflow or underflow on the way.
#[inline(always)]
pub(crate) fn hypot<V: F64s>(x: V, y: V) -> V {
    let (one, inf) = (V::of(1.0), V::of(f64::INFINITY));
    let (ax, ay) = (x.abs(), y.abs());
    let swap = V::lt(ax, ay);
    let (a, b) = (V::select(swap, ay, ax), V::select(swap, ax, ay));
    let down = V::lt(V::of(2.0f64.powi(500)), a);
    let up = V::lt(a, V::of(2.0f64.powi(-400)));
    let (small, large) = (V::of(2.0f64.powi(-600)), V::of(2.0f64.powi(600)));
    let factor = V::select(down, small, V::select(up, large, one));
    let back = V::select(down, large, V::select(up, small, one));
    let (a, b) = (a * factor, b * factor);
    let (p, pe) = two_prod(a, a);
    let (q, qe) = two_prod(b, b);
    let (sh, sl) = fast_two_sum(p, q);
    let s = sh.sqrt();
    let rest = (-s).fma(s, sh) + (sl + (pe + qe));
    let r = s + rest / V::of(f64::MIN_POSITIVE).max(s + s);
    let infinite = V::either(V::eq(ax, inf), V::eq(ay, inf));
    V::select(infinite, inf, r * back)
}
