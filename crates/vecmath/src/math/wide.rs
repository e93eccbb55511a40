//! f32 functions computed in f64 lanes and rounded once more.
//!
//! The second rounding adds at most 2^-29 ULP beyond the half ULP of any rounding. Frequent functions take shorter
//! polynomials and leave out what only f64 needs.

use super::power;
use crate::func::{Binary, binary};
use crate::vector::{F32s, F64s};

/// pow in f64 lanes with a result good to f32; with `PLAIN` for positive finite bases and finite exponents.
pub(crate) struct PowToSingle<const PLAIN: bool>;

impl<const PLAIN: bool> Binary for PowToSingle<PLAIN> {
    const NAME: &'static str = "pow_to_single";
    #[inline(always)]
    fn f64<V: F64s>(x: V, y: V) -> V {
        power::pow_to_single::<V, PLAIN>(x, y)
    }
    #[inline(always)]
    fn f32<V: F32s>(x: V, y: V) -> V {
        pow(x, y)
    }
}

/// pow through f64 lanes, with a plain f64 log.
#[inline(always)]
pub(crate) fn pow<V: F32s>(x: V, y: V) -> V {
    let inf = V::of(f32::INFINITY);
    let plain = V::both(V::both(V::lt(V::of(0.0), x), V::lt(x, inf)), V::lt(y.abs(), inf));
    if V::any(V::not(plain)) {
        return x.via64x2::<PowToSingle<false>>(y);
    }
    x.via64x2::<PowToSingle<true>>(y)
}

/// hypot through f64 lanes.
#[inline(always)]
pub(crate) fn hypot<V: F32s>(x: V, y: V) -> V {
    x.via64x2::<binary::Hypot>(y)
}
