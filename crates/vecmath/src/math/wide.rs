//! f32 functions computed in f64 lanes and rounded once more.
//!
//! The second rounding adds at most 2^-29 ULP beyond the half ULP of any rounding. Frequent functions take shorter
//! polynomials and leave out what only f64 needs.

use super::{exp, inverse_trig, log, power};
use crate::func::{Binary, Unary, binary, unary};
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
    sinh Sinh, cosh Cosh, arccosh Arccosh, arctanh Arctanh, tan Tan, arcsin Arcsin, arccos Arccos,
    cbrt Cbrt,
}

/// Functions with algorithms for f64 lanes whose results are good to f32: within 2^-18 ULP of it before they are rounded.
macro_rules! to_single {
    ($($name:ident $marker:ident $f:path,)*) => {
        $(
            struct $marker;
            impl Unary for $marker {
                #[inline(always)]
                fn f64<V: F64s>(x: V) -> V {
                    $f(x)
                }
                #[inline(always)]
                fn f32<V: F32s>(x: V) -> V {
                    $name(x)
                }
            }
            #[doc = concat!(stringify!($name), " through f64 lanes, no better than f32 needs it.")]
            #[inline(always)]
            pub(crate) fn $name<V: F32s>(x: V) -> V {
                x.via64::<$marker>()
            }
        )*
    };
}

to_single! {
    expm1 Expm1ToSingle exp::expm1_to_single,
    log2 Log2ToSingle log::log2_to_single,
    log10 Log10ToSingle log::log10_to_single,
    log1p Log1pToSingle log::log1p_to_single,
    arcsinh ArcsinhToSingle log::arcsinh_to_single,
    arctan ArctanToSingle inverse_trig::arctan_to_single,
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
