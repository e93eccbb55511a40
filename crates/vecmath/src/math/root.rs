//! Cube roots by a table, in f64 and in f32.
//!
//! x = 2^(3 q + n) m with n of -1, 0, 1, and the octave of m is cut into sixteen parts, for each of which a table has r
//! = 1/m, nearly, and the cube root t of 1/r. What is left is the cube root of 1 + f = m r, a short polynomial: cbrt x
//! = 2^q 2^(n/3) t cbrt(1 + f). A second table has 2^(n/3) in two parts.

/// Writes the algorithm for one type.
macro_rules! cube_root {
    ($module:ident, $t:ident, $bound:ident, $mantissa:literal, $magic:literal, $inverse:ident, $root:ident,
     $power:ident, $power_low:ident, $rest:ident, $poly:ident) => {
        pub(super) mod $module {
            use crate::coeffs::{$inverse, $power, $power_low, $rest, $root};
            use crate::math::log_table::$module::{has_parts, parts, parts_of_any};
            use crate::vector::{$bound, $poly};

            /// The cube root of 2^k m, for an m of that sixteenth.
            #[inline(always)]
            fn root_of<V: $bound>((k, m, sixteenth): (V, V, V::Int)) -> V {
                // sums with this number have units of one: the last bits of `q` are q
                let magic = V::of($magic);
                let q = k.fma(V::of(1.0 / 3.0), magic);
                let n = ((q - magic).fma(V::of(-3.0), k) + magic).bits();
                let f = m.fma(V::lookup(&$inverse, sixteenth), V::of(-1.0));
                let root = V::lookup(&$root, sixteenth);
                let power = V::lookup(&$power, n);
                // The product and the small terms are added with one rounding.
                let small = (f * $poly(f, $rest)).fma(power, V::lookup(&$power_low, n));
                let y = root.fma(power, root * small);
                V::from_bits(V::iadd(y.bits(), V::shl::<$mantissa>(q.bits())))
            }

            /// Cube root where `parts` takes all lanes.
            #[inline(always)]
            pub(crate) fn cbrt_quick<V: $bound>(x: V) -> Option<V> {
                let ax = x.abs();
                if V::any(V::not(has_parts(ax))) { None } else { Some(root_of(parts(ax)).copysign(x)) }
            }

            /// Cube root.
            #[inline(always)]
            pub(crate) fn cbrt<V: $bound>(x: V) -> V {
                let ax = x.abs();
                let y = root_of(parts_of_any(ax)).copysign(x);
                let good = V::both(V::lt(V::of(0.0), ax), V::lt(ax, V::of($t::INFINITY)));
                V::select(good, y, x)
            }
        }
    };
}

#[rustfmt::skip]
cube_root!(single, f32, F32s, 23, 12_582_912.0, CBRT_F32_INVERSE, CBRT_F32_ROOT, CBRT_F32_POWER, CBRT_F32_POWER_LO,
    CBRT_F32_REST, pairs);
#[rustfmt::skip]
cube_root!(double, f64, F64s, 52, 6_755_399_441_055_744.0, CBRT_INVERSE, CBRT_ROOT, CBRT_POWER, CBRT_POWER_LO,
    CBRT_REST, poly);
