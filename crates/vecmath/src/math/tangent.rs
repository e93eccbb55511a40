//! Tangents by a table, in f64 and in f32.
//!
//! |x| = k pi/16 + r, and a table has the sine S and the cosine C of k pi/16 for the sixteen k that differ, times a
//! factor that makes both of them nearly numbers of the type. With t = tan r, which is a short polynomial because r is
//! small, the tangent is (S + C t) / (C - S t). This is right next to the poles, too, where C is zero. Numerator and
//! denominator are kept with their rounding errors, which the quotient is then corrected for, so that only the last
//! addition's rounding counts.

/// Writes the algorithm for one type.
macro_rules! tangent {
    ($module:ident, $t:ident, $bound:ident, $numbers:ident, $limit:literal, $close:expr, $magic:literal,
     $inverse:literal, $poly:ident) => {
        pub(super) mod $module {
            use super::$numbers::*;
            use crate::vector::{fast_two_sum, $bound, $poly};

            /// Largest argument of this reduction.
            const LIMIT: $t = $limit;
            /// Closest approach to a multiple of pi/16, relative to x, of this reduction.
            const CLOSE: $t = $close;
            /// Sums with this number have units of one: their last bits are k.
            const MAGIC: $t = $magic;

            /// A tangent, and the lanes where it is not good: x is too large, or too near to a multiple of pi/16.
            #[inline(always)]
            pub(in crate::math) fn tan_by_table<V: $bound>(x: V) -> (V, V::Mask) {
                let ax = x.abs();
                let shifted = ax.fma(V::of(INVERSE), V::of(MAGIC));
                let k = shifted - V::of(MAGIC);
                let r1 = (-k).fma(V::of(SIXTEENTH), ax);
                let r = (-k).fma(V::of(SIXTEENTH_LOW), r1);
                let rl = (-k).fma(V::of(SIXTEENTH_LOW), r1 - r);
                let good = V::le(ax * V::of(CLOSE), V::of(LIMIT * CLOSE).min(r.abs()));
                let z = r * r;
                let (t, tl) = fast_two_sum(r, (r * z).fma($poly(z, TERMS), rl));
                let (sine, cosine) = (V::lookup(&SINE, shifted.bits()), V::lookup(&COSINE, shifted.bits()));
                let n = cosine.fma(t, sine);
                let nl = cosine.fma(tl, cosine.fma(t, sine - n));
                let d = (-sine).fma(t, cosine);
                let dl = (-sine).fma(tl, (-sine).fma(t, cosine - d));
                let q = n / d;
                // the inverse of d within an eighth: the bits of a number are nearly its logarithm
                let inverse = V::from_bits(V::isub(V::int($inverse), d.bits()));
                let rest = (-q).fma(d, n) + (-q).fma(dl, nl);
                (rest.fma(inverse, q).flip(x.sign()), V::not(good))
            }
        }
    };
}

mod double_numbers {
    pub(super) use crate::coeffs::{
        INV_SIXTEENTH as INVERSE, SIXTEENTH, SIXTEENTH_LO as SIXTEENTH_LOW, TAN_COSINE as COSINE, TAN_SHORT as TERMS,
        TAN_SINE as SINE,
    };
}

mod single_numbers {
    pub(super) use crate::coeffs::{
        INV_SIXTEENTH_F32 as INVERSE, SIXTEENTH_F32 as SIXTEENTH, SIXTEENTH_LO_F32 as SIXTEENTH_LOW,
        TAN_COSINE_F32 as COSINE, TAN_SHORT_F32 as TERMS, TAN_SINE_F32 as SINE,
    };
}

#[rustfmt::skip]
tangent!(single, f32, F32s, single_numbers, 32768.0, 1.0 / 4_194_304.0, 12_582_912.0, 0x7ef3_11c3, horner);
#[rustfmt::skip]
tangent!(double, f64, F64s, double_numbers, 33554432.0, 1.0 / 35_184_372_088_832.0, 6_755_399_441_055_744.0, 0x7fde_6238_5024_84ba,
    poly);
