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
    pub(crate) use super::log::{arccosh, arcsinh, arctanh, log, log1p, log2, log10};
    pub(crate) use super::power::{cbrt, hypot, pow};
    pub(crate) use super::sqrt;
    pub(crate) use super::trig::{cos, sin, sincos, tan};
}

/// Every function for f32 lanes, by NumPy's name.
pub(crate) mod f32s {
    pub(crate) use super::single::{cos, erf, exp, exp2, log, sin, sincos, tanh};
    pub(crate) use super::sqrt;
    pub(crate) use super::wide::{
        arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, cbrt, cosh, expm1, hypot, log1p, log2, log10, pow,
        sinh, tan,
    };
}
