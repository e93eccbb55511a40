//! arctan and arctan2 by tables, in f64 and in f32.
//!
//! Numbers are cut into sixteen parts, for each of which a table has a number c in it whose arctan the type holds
//! nearly exactly: arctan x = arctan c + arctan((x - c) / (1 + x c)), and that of a number below a third is a short
//! polynomial. Small numbers have c = 0; for large ones c is next to the tangent of the right angle. The quotient of
//! arctan2 is cut likewise, without dividing for it: the difference of two numbers' bits is nearly that of their
//! logarithms.

/// Writes the algorithms for one type.
macro_rules! angles {
    ($module:ident, $t:ident, $bound:ident, $mantissa:literal, $numbers:ident, $inverse:literal, $poly:ident,
     $small:expr, $huge:expr, $up:expr) => {
        pub(super) mod $module {
            use super::$numbers::*;
            use crate::vector::{fast_two_sum, $bound, $poly};

            /// Larger operands of arctan2 lie between these, or are brought there by the factors.
            const SMALL: $t = $small;
            const HUGE: $t = $huge;
            const UP: $t = $up;
            const DOWN: $t = 1.0 / UP;

            /// arctan t - t for |t| < 0.313.
            #[inline(always)]
            fn arctan_rest<V: $bound>(t: V) -> V {
                let z = t * t;
                (t * z) * $poly(z, ATAN)
            }

            /// Inverse tangent.
            #[inline(always)]
            pub(crate) fn arctan<V: $bound>(x: V) -> V {
                // numbers beyond have its arctan
                let ax = V::of(HUGE).min(x.abs());
                let within = V::of(3.9).min(V::of(0.25).max(ax));
                let part = V::shr::<{ $mantissa - 2 }>(within.bits());
                let c = V::lookup(&ARCTAN_TANGENT, part);
                let t = (ax - c) / ax.fma(c, V::of(1.0));
                (V::lookup(&ARCTAN_ANGLE, part) + (t + arctan_rest(t))).copysign(x)
            }

            /// Larger and smaller of two magnitudes, brought to where products and quotients of them are safe,
            /// infinities made finite without changing the angle.
            #[inline(always)]
            fn balanced<V: $bound>(big: V, small: V) -> (V, V) {
                let (one, inf) = (V::of(1.0), V::of($t::INFINITY));
                let endless = V::eq(big, inf);
                let small = V::select(endless, V::select(V::eq(small, inf), one, V::of(0.0)), small);
                let big = V::select(V::either(endless, V::eq(big, V::of(0.0))), one, big);
                let factor = V::select(V::lt(big, V::of(SMALL)), V::of(UP), one);
                let factor = V::select(V::lt(V::of(HUGE), big), V::of(DOWN), factor);
                // twice up, for subnormal numbers
                let again = V::select(V::lt(big, V::of(SMALL * DOWN)), V::of(UP), one);
                (big * factor * again, small * factor * again)
            }

            /// The angle of the point whose larger coordinate is `big` and whose smaller one is `small`, by size: of
            /// (x, y), that are exchanged where `swap` is.
            #[inline(always)]
            fn angle<V: $bound>(big: V, small: V, swap: V::Mask, x: V, y: V) -> V {
                let zero = V::of(0.0);
                // nearly the quotient's root, twice: the quotient is 0.887 to 1.061 of the number whose bits it has,
                // halved
                let halves = V::isub(V::shr::<1>(small.bits()), V::shr::<1>(big.bits()));
                let root = V::from_bits(V::iadd(halves, V::of(2.0).bits()));
                let within = V::of(1.99).min(V::of(1.0).max(root));
                let part = V::shr::<{ $mantissa - 4 }>(within.bits());
                let c = V::lookup(&ARCTAN2_TANGENT, part);
                let (n, d) = ((-c).fma(big, small), c.fma(small, big));
                let t = n / d;
                // the inverse of d within an eighth; the residual of a tiny number is none
                let inverse = V::from_bits(V::isub(V::int($inverse), d.bits()));
                let low = V::select(V::lt(t.abs(), V::of(SMALL)), zero, (-t).fma(d, n) * inverse);
                // the angle is base + sense * (the table's + arctan t)
                let left = V::lt(V::of(1.0).copysign(x), zero);
                let base = V::select(swap, V::of(RIGHT), V::select(left, V::of(2.0 * RIGHT), zero));
                let base_low = V::select(swap, V::of(RIGHT_LOW), V::select(left, V::of(2.0 * RIGHT_LOW), zero));
                let sense = V::ixor(V::select(swap, -zero, zero).bits(), x.sign());
                let (hi, lo) = fast_two_sum(base, V::lookup(&ARCTAN2_ANGLE, part).flip(sense));
                let rest = (lo + base_low) + (low + arctan_rest(t)).flip(sense);
                (hi + (t.flip(sense) + rest)).copysign(y)
            }

            /// Angle of the point (x, y).
            #[inline(always)]
            pub(crate) fn arctan2<V: $bound>(y: V, x: V) -> V {
                let (ay, ax) = (y.abs(), x.abs());
                let swap = V::lt(ax, ay);
                let (big, small) = (V::select(swap, ay, ax), V::select(swap, ax, ay));
                let plain = V::both(V::le(V::of(SMALL), big), V::le(big, V::of(HUGE)));
                if !V::any(V::not(plain)) {
                    return angle(big, small, swap, x, y);
                }
                let (big, small) = balanced(big, small);
                let nan = V::not(V::both(V::eq(x, x), V::eq(y, y)));
                V::select(nan, x + y, angle(big, small, swap, x, y))
            }
        }
    };
}

mod double_numbers {
    pub(super) use crate::coeffs::{
        ARCTAN_ANGLE, ARCTAN_TANGENT, ARCTAN2_ANGLE, ARCTAN2_TANGENT, ATAN, FRAC_PI_2 as RIGHT,
        FRAC_PI_2_LO as RIGHT_LOW,
    };
}

mod single_numbers {
    pub(super) use crate::coeffs::{
        ARCTAN_ANGLE_F32 as ARCTAN_ANGLE, ARCTAN_TANGENT_F32 as ARCTAN_TANGENT, ARCTAN2_ANGLE_F32 as ARCTAN2_ANGLE,
        ARCTAN2_TANGENT_F32 as ARCTAN2_TANGENT, ATAN_F32 as ATAN, PIO2_1_F32 as RIGHT, PIO2_2_F32 as RIGHT_LOW,
    };
}

#[rustfmt::skip]
angles!(single, f32, F32s, 23, single_numbers, 0x7ef3_11c3, horner,
    f32::from_bits(97 << 23), f32::from_bits(217 << 23), f32::from_bits(187 << 23));
#[rustfmt::skip]
angles!(double, f64, F64s, 52, double_numbers, 0x7fde_6238_5024_84ba, poly,
    f64::from_bits(723 << 52), f64::from_bits(1923 << 52), f64::from_bits(1623 << 52));
