//! erf in f64: x P(x^2) below 0.875, then 1 - exp(G(x)) with G = log erfc.
//!
//! G is fitted with the weight erfc(x), so its error shrinks as erf's slack grows.

use super::exp::exp_quick;
use crate::coeffs::{ERF_LARGE, ERF_SMALL};
use crate::vector::{F64s, poly};

/// Where the two forms meet; the fit's script has the same number.
pub(crate) const SPLIT: f64 = 0.875;

/// Error function.
#[inline(always)]
pub(crate) fn erf<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let z = ax * ax;
    let small = ax.fma(poly(z, ERF_SMALL), ax);
    // erfc(6) is below a quarter ULP of 1
    let u = V::of(6.0 - SPLIT).min(ax - V::of(SPLIT));
    let large = V::of(1.0) - exp_quick(poly(u, ERF_LARGE));
    V::select(V::lt(ax, V::of(SPLIT)), small, large).copysign(x)
}
