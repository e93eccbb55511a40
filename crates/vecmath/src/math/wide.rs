//! f32 functions of two numbers: pow in f32 lanes with a pair logarithm; hypot and logarithms of sums in f64 lanes,
//! rounded once more.
//!
//! The second rounding adds at most 2^-29 ULP beyond the half ULP of any rounding.

use super::log_table::single::has_parts;
use super::power::{is_half, is_short, pow_checked, pow_short_to_single};
use super::single::{exp_pair, exp_pair_inside};
use super::single_log::{log_pair, log_pair_of_any};
use crate::func::binary;
use crate::vector::{Binary, F32s, F64s, two_prod};

/// pow by multiplication in f64 lanes, where [`is_short`] allows it.
pub(crate) struct ShortPower;

impl Binary for ShortPower {
    const NAME: &'static str = "pow_short";
    #[inline(always)]
    fn f64<V: F64s>(x: V, y: V) -> V {
        pow_short_to_single(x, y)
    }
    #[inline(always)]
    fn f32<V: F32s>(x: V, y: V) -> V {
        pow(x, y)
    }
}

/// x^y, by multiplication where f64's pow does it, else by exp and log.
#[inline(always)]
pub(crate) fn pow<V: F32s>(x: V, y: V) -> V {
    if !V::any(is_half(y)) {
        return pow_long(x, y);
    }
    let short = is_short(x, y);
    if !V::any(V::not(short)) {
        return x.via64x2::<ShortPower>(y);
    }
    let long = pow_long(x, y);
    if V::any(short) { V::select(short, x.via64x2::<ShortPower>(y), long) } else { long }
}

/// 2^60. Exponents beyond this give the same result as this: 0, 1 or inf.
const Y_LIMIT: f32 = 1152921504606846976.0;

/// x^y by exp and log.
#[inline(always)]
fn pow_long<V: F32s>(x: V, y: V) -> V {
    if !V::any(V::not(has_parts(x))) {
        let (h, l) = log_pair(x);
        let (p, pe) = two_prod(y, h);
        // so that `y` is finite, too
        if !V::any(V::not_lt(p.abs(), V::of(86.0))) {
            return exp_pair_inside(p, y.fma(l, pe));
        }
    }
    let (h, l) = log_pair_of_any(x.abs());
    let yc = V::of(-Y_LIMIT).max(V::of(Y_LIMIT).min(y));
    let (p, pe) = two_prod(yc, h);
    let pl = yc.fma(l, pe);
    let far = V::lt(V::of(110.0), p.abs());
    let p = V::of(-110.0).max(V::of(110.0).min(p));
    pow_checked(x, y, exp_pair(p, V::select(far, V::of(0.0), pl)))
}

/// hypot through f64 lanes.
#[inline(always)]
pub(crate) fn hypot<V: F32s>(x: V, y: V) -> V {
    x.via64x2::<binary::Hypot>(y)
}

/// log(e^x + e^y) through f64 lanes.
#[inline(always)]
pub(crate) fn logaddexp<V: F32s>(x: V, y: V) -> V {
    x.via64x2::<binary::Logaddexp>(y)
}

/// log2(2^x + 2^y) through f64 lanes.
#[inline(always)]
pub(crate) fn logaddexp2<V: F32s>(x: V, y: V) -> V {
    x.via64x2::<binary::Logaddexp2>(y)
}
