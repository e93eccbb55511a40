//! erf in f64: x P(x^2) below 0.84375, then 1 - exp(G(x)) with G = log erfc.
//!
//! G is fitted with the weight erfc(x), so its error shrinks as erf's slack grows.

use super::exp::exp_pair;
use crate::coeffs::{ERF_LARGE, ERF_SMALL};
use crate::vector::{F64s, fast_two_sum, poly};

/// Where the two forms meet; the fit's script has the same number.
pub(crate) const SPLIT: f64 = 0.84375;

/// Error function.
#[inline(always)]
pub(crate) fn erf<V: F64s>(x: V) -> V {
    let ax = x.abs();
    let z = ax * ax;
    let small = ax.fma(poly(z, ERF_SMALL), ax);
    // erfc(6) is below a quarter ULP of 1
    let u = V::of(6.0 - SPLIT).min(ax - V::of(SPLIT));
    // the rounding of G would show just above the split
    let [first, rest @ ..] = ERF_LARGE;
    let (g, gl) = fast_two_sum(V::of(first), u * poly(u, rest));
    let large = V::of(1.0) - exp_pair(g, gl);
    V::select(V::lt(ax, V::of(SPLIT)), small, large).copysign(x)
}
