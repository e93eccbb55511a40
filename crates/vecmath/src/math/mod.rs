//! The algorithms, each written once over [`Vector`](crate::vector::Vector).
//!
//! In: a register of arguments. Out: a register of results within 1 ULP, with the
//! special values of C99 Annex F, which are NumPy's. No intrinsic and
//! no loop over memory may live here. Status flags raised on the way mean
//! nothing; `isa.rs` raises those of the result.

mod arctan;
pub(crate) mod erf;
pub(crate) mod exp;
pub(crate) mod inverse_trig;
pub(crate) mod log;
mod log_sum;
mod log_table;
pub(crate) mod power;
pub(crate) mod quadrant;
pub(crate) mod reduce;
mod root;
pub(crate) mod single;
pub(crate) mod single_inverse;
pub(crate) mod single_log;
mod tangent;
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
    pub(crate) use super::arctan::double::{arctan, arctan2};
    pub(crate) use super::erf::erf;
    pub(crate) use super::exp::{
        cosh, cosh_quick, exp, exp_inside, exp2, exp2_quick, expm1, expm1_quick, sinh, sinh_quick, tanh,
    };
    pub(crate) use super::inverse_trig::{arccos, arccos_quick, arcsin, arcsin_quick};
    pub(crate) use super::log::{
        arccosh, arccosh_quick, arcsinh, arcsinh_quick, arctanh, arctanh_quick, log, log_quick, log1p, log1p_quick,
        log2, log2_quick, log10, log10_quick,
    };
    pub(crate) use super::log_sum::{logaddexp, logaddexp2};
    pub(crate) use super::power::{hypot, pow};
    pub(crate) use super::root::double::{cbrt, cbrt_quick};
    pub(crate) use super::sqrt;
    pub(crate) use super::trig::{cos, cos_quick, sin, sin_quick, sincos, tan, tan_quick};
}

/// Every function for f32 lanes, by NumPy's name.
pub(crate) mod f32s {
    pub(crate) use super::arctan::single::{arctan, arctan2};
    pub(crate) use super::root::single::{cbrt, cbrt_quick};
    pub(crate) use super::single::{
        cos, cos_quick, cosh, cosh_quick, erf, exp, exp_quick, exp2, exp2_quick, expm1, expm1_quick, sin, sin_quick,
        sincos, sinh, sinh_quick, tan, tan_quick, tanh,
    };
    pub(crate) use super::single_inverse::{arccos, arccos_quick, arcsin, arcsin_quick};
    pub(crate) use super::single_log::{
        arccosh, arccosh_quick, arcsinh, arcsinh_quick, arctanh, arctanh_quick, log, log_quick, log1p, log1p_quick,
        log2, log2_quick, log10, log10_quick,
    };
    pub(crate) use super::sqrt;
    pub(crate) use super::wide::{hypot, logaddexp, logaddexp2, pow};
}
