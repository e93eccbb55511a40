//! f32 functions computed in f64 lanes and rounded once more.
//!
//! The second rounding adds at most 2^-29 ULP beyond the half ULP of any rounding.

use super::power;
use crate::func::{Binary, binary, unary};
use crate::vector::{F32s, F64s};

macro_rules! via64 {
    ($($name:ident $marker:ident,)*) => {
        $(
            #[doc = concat!(stringify!($name), " through f64 lanes.")]
            #[inline(always)]
            pub(crate) fn $name<V: F32s>(x: V) -> V {
                x.via64::<unary::$marker>()
            }
        )*
    };
}

via64! {
    expm1 Expm1, sinh Sinh, cosh Cosh, log2 Log2, log10 Log10, log1p Log1p, arcsinh Arcsinh,
    arccosh Arccosh, arctanh Arctanh, tan Tan, arcsin Arcsin, arccos Arccos, arctan Arctan,
    cbrt Cbrt,
}

/// pow in f64 lanes with a result good to f32.
struct PowToSingle;

impl Binary for PowToSingle {
    #[inline(always)]
    fn f64<V: F64s>(x: V, y: V) -> V {
        power::pow_to_single(x, y)
    }
    #[inline(always)]
    fn f32<V: F32s>(x: V, y: V) -> V {
        pow(x, y)
    }
}

/// pow through f64 lanes, with a plain f64 log.
#[inline(always)]
pub(crate) fn pow<V: F32s>(x: V, y: V) -> V {
    x.via64x2::<PowToSingle>(y)
}

/// arctan2 through f64 lanes.
#[inline(always)]
pub(crate) fn arctan2<V: F32s>(y: V, x: V) -> V {
    y.via64x2::<binary::Arctan2>(x)
}

/// hypot through f64 lanes.
#[inline(always)]
pub(crate) fn hypot<V: F32s>(x: V, y: V) -> V {
    x.via64x2::<binary::Hypot>(y)
}
