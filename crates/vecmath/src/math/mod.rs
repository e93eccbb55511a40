//! The algorithms, each written once over [`Vector`](crate::vector::Vector).
//!
//! In: a register of arguments. Out: a register of results within 1 ULP, with the
//! special values of C99 Annex F, which are NumPy's. No intrinsic, no table look-up and
//! no loop over memory may live here. Status flags raised on the way mean
//! nothing; `isa.rs` raises those of the result.

pub(crate) mod erf;
pub(crate) mod exp;
pub(crate) mod inverse_trig;
pub(crate) mod log;
pub(crate) mod power;
pub(crate) mod reduce;
pub(crate) mod single;
pub(crate) mod single_inverse;
pub(crate) mod single_log;
pub(crate) mod trig;
pub(crate) mod wide;

use crate::vector::Vector;

/// Square root: the instruction.
#[inline(always)]
pub(crate) fn sqrt<V: Vector>(x: V) -> V {
    x.sqrt()
}

/// Every function for f64 lanes, by NumPy's name.
pub(crate) mod f64s {
    pub(crate) use super::erf::erf;
    pub(crate) use super::exp::{cosh, exp, exp_inside, exp2, expm1, sinh, tanh};
    pub(crate) use super::inverse_trig::{arccos, arcsin, arctan, arctan2};
    pub(crate) use super::log::{
        arccosh, arccosh_quick, arcsinh, arcsinh_quick, arctanh, arctanh_quick, log, log_quick, log1p, log1p_quick,
        log2, log2_quick, log10, log10_quick,
    };
    pub(crate) use super::power::{cbrt, cbrt_quick, hypot, pow};
    pub(crate) use super::sqrt;
    pub(crate) use super::trig::{cos, sin, sincos, tan};
    use crate::func::Func1;
    use crate::vector::F64s;

    /// The shorter algorithms that some functions have.
    #[inline(always)]
    pub(crate) fn quick<V: F64s>(f: Func1, x: V) -> Option<V> {
        match f {
            Func1::Exp => exp_inside(x),
            Func1::Log => log_quick(x),
            Func1::Log2 => log2_quick(x),
            Func1::Log10 => log10_quick(x),
            Func1::Log1p => log1p_quick(x),
            Func1::Arcsinh => arcsinh_quick(x),
            Func1::Arccosh => arccosh_quick(x),
            Func1::Arctanh => arctanh_quick(x),
            Func1::Cbrt => cbrt_quick(x),
            _ => None,
        }
    }
}

/// Every function for f32 lanes, by NumPy's name.
pub(crate) mod f32s {
    pub(crate) use super::single::{cos, cosh, erf, exp, exp2, expm1, sin, sincos, sinh, tan, tanh};
    pub(crate) use super::single_inverse::{arccos, arcsin, arctan, arctan2, cbrt, cbrt_quick};
    pub(crate) use super::single_log::{
        arccosh, arccosh_quick, arcsinh, arcsinh_quick, arctanh, arctanh_quick, log, log_quick, log1p, log1p_quick,
        log2, log2_quick, log10, log10_quick,
    };
    pub(crate) use super::sqrt;
    pub(crate) use super::wide::{hypot, pow};
    use crate::func::Func1;
    use crate::vector::F32s;

    /// The shorter algorithms that some functions have.
    #[inline(always)]
    pub(crate) fn quick<V: F32s>(f: Func1, x: V) -> Option<V> {
        match f {
            Func1::Log => log_quick(x),
            Func1::Log2 => log2_quick(x),
            Func1::Log10 => log10_quick(x),
            Func1::Log1p => log1p_quick(x),
            Func1::Arcsinh => arcsinh_quick(x),
            Func1::Arccosh => arccosh_quick(x),
            Func1::Arctanh => arctanh_quick(x),
            Func1::Cbrt => cbrt_quick(x),
            _ => None,
        }
    }
}
