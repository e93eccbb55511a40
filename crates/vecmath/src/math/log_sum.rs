//! Logarithms of sums of powers in f64: log(e^x + e^y) = m + log(1 + e^-d) for the larger m of x and y and their
//! difference d. The functions of f32 call these and round the results.
//!
//! Difference, exponential and logarithm are sums of two numbers, so that only the last rounding counts, and results
//! near to zero, where m and the logarithm cancel, are right to some 2^-60 of m.

use super::exp::exp_reduced;
use super::log::NATURAL;
use super::log_table::double::sum_beyond_one;
use crate::coeffs::{INV_LN2 as INVERSE, INV_LN2_LO as INVERSE_LOW, LN2, LN2_ERR, LN2_HI as HIGH, LN2_LO as LOW};
use crate::vector::{F64s, fast_two_sum, two_prod, two_sum};

/// log 2 in two parts.
const OCTAVE: [f64; 2] = [LN2, LN2_ERR];
/// Powers of two with smaller exponents are their own logarithms of 1 + p.
const DEEP: f64 = -900.0;

/// e^(h + l) as a sum times 2^k.
#[inline(always)]
fn exponential<V: F64s>(h: V, l: V) -> (V, V, V) {
    let k = (h * V::of(INVERSE)).round();
    let first = (-k).fma(V::of(HIGH), h);
    let (r, rl) = fast_two_sum(first, (-k).fma(V::of(LOW), l));
    let (hi, lo) = exp_reduced(r, rl);
    let (u, ul) = fast_two_sum(hi, lo);
    (u, ul, k)
}

/// h + l times a factor, whose second part is what the first lacks.
#[inline(always)]
fn times<V: F64s>((h, l): (V, V), [factor, lacking]: [f64; 2]) -> (V, V) {
    let (p, pe) = two_prod(h, V::of(factor));
    (p, l.fma(V::of(factor), h.fma(V::of(lacking), pe)))
}

/// The logarithm of b^x + b^y to base b, where b is 2 or e.
#[inline(always)]
fn log_sum<V: F64s, const BINARY: bool>(x: V, y: V) -> V {
    // larger numbers are their sums with any logarithm; beyond, sums would not be finite
    let (large, least) = (V::of(2.0f64.powi(1000)), V::of(-1100.0));
    let swap = V::lt(x, y);
    let (big, small) = (V::select(swap, y, x), V::select(swap, x, y));
    let most = (-large).max(large.min(big));
    let (d, dl) = two_sum((-large).max(large.min(small)), -most);
    let rest = V::select(V::lt(d, least), V::of(0.0), dl);
    let difference = (least.max(d), rest);
    let (h, l) = if BINARY { times(difference, OCTAVE) } else { difference };
    let (u, ul, k) = exponential(h, l);
    // next to nothing, a power is its logarithm
    let nothing = V::lt(k, V::of(DEEP));
    let inside = V::of(DEEP).max(k);
    let log = sum_beyond_one(&NATURAL, u.scale(inside), Some(ul.scale(inside)));
    let (hi, lo) = if BINARY { times(log, [INVERSE, INVERSE_LOW]) } else { log };
    let tiny = if BINARY { times((u, ul), [INVERSE, INVERSE_LOW]) } else { (u, ul) };
    let (tiny, rest) = fast_two_sum(tiny.0, tiny.1);
    let (hi, lo) = (V::select(nothing, tiny.ldexp(k), hi), V::select(nothing, rest.ldexp(k), lo));
    let (sum, rest) = two_sum(most, hi);
    let result = V::select(V::lt(big.abs(), large), sum + (rest + lo), big);
    V::select(V::both(V::eq(x, x), V::eq(y, y)), result, x + y)
}

/// log(e^x + e^y).
#[inline(always)]
pub(crate) fn logaddexp<V: F64s>(x: V, y: V) -> V {
    log_sum::<V, false>(x, y)
}

/// log2(2^x + 2^y).
#[inline(always)]
pub(crate) fn logaddexp2<V: F64s>(x: V, y: V) -> V {
    log_sum::<V, true>(x, y)
}
