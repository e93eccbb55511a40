//! Logarithms of sums of powers, in f64 and in f32: log(e^x + e^y) = m + log(1 + e^-d) for the larger m of x and y and
//! their difference d.
//!
//! Difference, exponential and logarithm are sums of two numbers, so that only the last rounding counts, and results
//! near to zero, where m and the logarithm cancel, are right to some 2^-60 (2^-30) of m.

/// Writes the algorithm for one type.
macro_rules! log_of_sum {
    ($module:ident, $t:ident, $bound:ident, $numbers:ident, $large:expr, $least:literal, $deep:literal) => {
        pub(super) mod $module {
            use super::$numbers::*;
            use crate::math::log_table::$module::sum_beyond_one;
            use crate::vector::{fast_two_sum, two_prod, two_sum, $bound};

            /// e^(h + l) as a sum times 2^k.
            #[inline(always)]
            fn exponential<V: $bound>(h: V, l: V) -> (V, V, V) {
                let k = (h * V::of(INVERSE)).round();
                let first = (-k).fma(V::of(HIGH), h);
                let (r, rl) = fast_two_sum(first, (-k).fma(V::of(LOW), l));
                let (hi, lo) = exp_reduced(r, rl);
                let (u, ul) = fast_two_sum(hi, lo);
                (u, ul, k)
            }

            /// h + l times a factor, whose second part is what the first lacks.
            #[inline(always)]
            fn times<V: $bound>((h, l): (V, V), [factor, lacking]: [$t; 2]) -> (V, V) {
                let (p, pe) = two_prod(h, V::of(factor));
                (p, l.fma(V::of(factor), h.fma(V::of(lacking), pe)))
            }

            /// The logarithm of b^x + b^y to base b, where b is 2 or e.
            #[inline(always)]
            fn log_sum<V: $bound, const BINARY: bool>(x: V, y: V) -> V {
                // larger numbers are their sums with any logarithm; beyond, sums would not be finite
                let (large, least) = (V::of($large), V::of($least));
                let swap = V::lt(x, y);
                let (big, small) = (V::select(swap, y, x), V::select(swap, x, y));
                let most = (-large).max(large.min(big));
                let (d, dl) = two_sum((-large).max(large.min(small)), -most);
                let rest = V::select(V::lt(d, least), V::of(0.0), dl);
                let difference = (least.max(d), rest);
                let (h, l) = if BINARY { times(difference, OCTAVE) } else { difference };
                let (u, ul, k) = exponential(h, l);
                // next to nothing, a power is its logarithm, and is rounded once
                let nothing = V::lt(k, V::of($deep));
                let inside = V::of($deep).max(k);
                let log = sum_beyond_one(&NATURAL, u.scale(inside), Some(ul.scale(inside)));
                let (hi, lo) = if BINARY { times(log, [INVERSE, INVERSE_LOW]) } else { log };
                let tiny = if BINARY { times((u, ul), [INVERSE, INVERSE_LOW]) } else { (u, ul) };
                let (hi, lo) = (V::select(nothing, (tiny.0 + tiny.1).ldexp(k), hi), V::select(nothing, V::of(0.0), lo));
                let (sum, rest) = two_sum(most, hi);
                let result = V::select(V::lt(big.abs(), large), sum + (rest + lo), big);
                V::select(V::both(V::eq(x, x), V::eq(y, y)), result, x + y)
            }

            /// log(e^x + e^y).
            #[inline(always)]
            pub(crate) fn logaddexp<V: $bound>(x: V, y: V) -> V {
                log_sum::<V, false>(x, y)
            }

            /// log2(2^x + 2^y).
            #[inline(always)]
            pub(crate) fn logaddexp2<V: $bound>(x: V, y: V) -> V {
                log_sum::<V, true>(x, y)
            }
        }
    };
}

mod double_numbers {
    pub(super) use crate::coeffs::{INV_LN2 as INVERSE, INV_LN2_LO as INVERSE_LOW, LN2_HI as HIGH, LN2_LO as LOW};
    use crate::coeffs::{LN2, LN2_ERR};
    pub(super) use crate::math::exp::exp_reduced;
    pub(super) use crate::math::log::NATURAL;
    pub(super) const OCTAVE: [f64; 2] = [LN2, LN2_ERR];
}

mod single_numbers {
    pub(super) use crate::coeffs::{
        INV_LN2_F32 as INVERSE, INV_LN2_LO_F32 as INVERSE_LOW, LN2_HI_F32 as HIGH, LN2_LO_F32 as LOW,
    };
    use crate::coeffs::{LN2_ERR_F32, LN2_F32};
    pub(super) use crate::math::single::exp_reduced;
    pub(super) use crate::math::single_log::NATURAL;
    pub(super) const OCTAVE: [f32; 2] = [LN2_F32, LN2_ERR_F32];
}

log_of_sum!(double, f64, F64s, double_numbers, 2.0f64.powi(1000), -1100.0, -900.0);
log_of_sum!(single, f32, F32s, single_numbers, 2.0f32.powi(100), -160.0, -90.0);
