//! Logarithms by a table, in f64 and in f32.
//!
//! x = 2^k m, and the octave of m is cut into sixteen parts, for each of which a table has r = 1/m, nearly, and t = -log r.
//! What is left is the logarithm of 1 + f = m r, a short polynomial: log x = k log 2 + t + log(1 + f). 1 is in the middle of
//! its part, where r is 1 and t is 0, so that logarithms of numbers near to 1 are exact in their last places, too.

/// Writes the algorithm for one type.
macro_rules! logarithm {
    ($module:ident, $t:ident, $bits:ident, $bound:ident, $mantissa:literal, $bias:literal, $one:literal, $bottom:literal,
     $unit:literal, $terms:literal, $poly:ident) => {
        pub(super) mod $module {
            use crate::vector::{Table, fast_two_sum, two_prod, $bound, $poly};

            /// What a logarithm to one base is made of.
            pub(in crate::math) struct Base {
                /// r, for each sixteenth of the octave.
                pub(in crate::math) inverse: &'static Table<$t>,
                /// t = -log r.
                pub(in crate::math) log: &'static Table<$t>,
                /// log 2 in two parts. Sums of a multiple of the first and a `t` are exact.
                pub(in crate::math) octave: [$t; 2],
                /// log(1 + f) / f at zero, in two parts.
                pub(in crate::math) first: [$t; 2],
                /// The rest of log(1 + f) / f, in powers of f from the first on.
                pub(in crate::math) rest: [$t; $terms],
            }

            /// A positive normal number 2^k m: k, m, and a number whose lowest four bits say in which sixteenth m is.
            #[inline(always)]
            pub(in crate::math) fn parts<V: $bound>(x: V) -> (V, V, V::Int) {
                let above = V::iadd(x.bits(), V::int($one - $bottom));
                // the biased exponent becomes a number as the last bits of one whose unit is one
                let unit: $t = $unit;
                let exponent = V::from_bits(V::ior(V::shr::<$mantissa>(above), V::int(unit.to_bits())));
                let m = V::from_bits(V::iadd(V::iand(above, V::int((1 << $mantissa) - 1)), V::int($bottom)));
                (exponent - V::of(unit + $bias), m, V::shr::<{ $mantissa - 4 }>(above))
            }

            /// k log 2 + t + log(1 + f) + low, for a small `low`, as a sum that has not been rounded. The largest parts are added
            /// exactly.
            #[inline(always)]
            fn assemble<V: $bound>(base: &Base, k: V, t: V, f: V, low: Option<V>) -> (V, V) {
                let [octave, octave_low] = base.octave;
                let [first, first_low] = base.first;
                let whole = k.fma(V::of(octave), t);
                let hi = f.fma(V::of(first), whole);
                let mut lo = f.fma(V::of(first), whole - hi);
                if let Some(low) = low {
                    lo = lo + low;
                }
                if octave_low != 0.0 {
                    lo = k.fma(V::of(octave_low), lo);
                }
                let mut rest = f * $poly(f, base.rest);
                if first_low != 0.0 {
                    rest = rest + V::of(first_low);
                }
                (hi, f.fma(rest, lo))
            }

            /// log(2^k m) + low, for an m of that sixteenth.
            #[inline(always)]
            pub(in crate::math) fn log_of<V: $bound>(base: &Base, k: V, m: V, sixteenth: V::Int, low: Option<V>) -> V {
                let f = m.fma(V::lookup(base.inverse, sixteenth), V::of(-1.0));
                let (hi, lo) = assemble(base, k, V::lookup(base.log, sixteenth), f, low);
                hi + lo
            }

            /// The logarithm of a positive normal number.
            #[inline(always)]
            pub(in crate::math) fn log_normal<V: $bound>(base: &Base, x: V) -> V {
                let (k, m, sixteenth) = parts(x);
                log_of(base, k, m, sixteenth, None)
            }

            /// The logarithm where all lanes are positive, finite and normal.
            #[inline(always)]
            pub(in crate::math) fn log_inside<V: $bound>(base: &Base, x: V) -> Option<V> {
                let good = V::both(V::le(V::of($t::MIN_POSITIVE), x), V::lt(x, V::of($t::INFINITY)));
                if V::any(V::not(good)) { None } else { Some(log_normal(base, x)) }
            }

            /// As `parts`, for subnormal numbers, too.
            #[inline(always)]
            pub(in crate::math) fn parts_of_any<V: $bound>(x: V) -> (V, V, V::Int) {
                const UP: $bits = $mantissa + 2;
                // the factor is chosen, not the product: that of a large x would overflow
                let tiny = V::lt(x, V::of($t::MIN_POSITIVE));
                let (k, m, sixteenth) = parts(x * V::select(tiny, V::of((1u64 << UP) as $t), V::of(1.0)));
                (V::select(tiny, k - V::of(UP as $t), k), m, sixteenth)
            }

            /// The logarithm of any number.
            #[inline(always)]
            pub(in crate::math) fn log_anywhere<V: $bound>(base: &Base, x: V) -> V {
                let (zero, inf) = (V::of(0.0), V::of($t::INFINITY));
                let (k, m, sixteenth) = parts_of_any(x);
                let r = log_of(base, k, m, sixteenth, None);
                let r = V::select(V::both(V::lt(zero, x), V::lt(x, inf)), r, x + x);
                let r = V::select(V::eq(x, zero), -inf, r);
                V::select(V::lt(x, zero), V::of($t::NAN), r)
            }

            /// log(2^k m) to base e as a pair with about eleven bits more than the type has, for an m of that sixteenth.
            /// `lacking` is what the table of `t` lacks, `rest` is (log(1 + f) - f + f^2 / 2) / f^3 in powers of f.
            #[inline(always)]
            pub(in crate::math) fn log_pair<V: $bound, const N: usize>(
                base: &Base,
                lacking: &'static Table<$t>,
                rest: [$t; N],
                (k, m, sixteenth): (V, V, V::Int),
            ) -> (V, V) {
                let half = V::of(-0.5);
                // m r = 1 + f + fl
                let (p, fl) = two_prod(m, V::lookup(base.inverse, sixteenth));
                let f = p - V::of(1.0);
                let whole = k.fma(V::of(base.octave[0]), V::lookup(base.log, sixteenth));
                let (sum, sum_low) = fast_two_sum(whole, f);
                let (square, square_low) = two_prod(f, f);
                let high = half.fma(square, sum);
                let high_low = half.fma(square, sum - high);
                // d log(1 + f) = df / (1 + f) = df (1 - f) (1 + f^2), nearly
                let fl = (-f).fma(fl, fl);
                let small = half.fma(square_low, square.fma(fl, fl)) + V::lookup(lacking, sixteenth);
                let small = k.fma(V::of(base.octave[1]), small);
                let low = (f * square).fma($poly(f, rest), small) + (sum_low + high_low);
                fast_two_sum(high, low)
            }

            /// log(h + l) to base e for normal h and l of the order of its rounding error.
            #[inline(always)]
            pub(in crate::math) fn log_sum<V: $bound>(base: &Base, h: V, l: V) -> V {
                let (k, m, sixteenth) = parts(h);
                // d log m = dm / m, nearly
                log_of(base, k, m, sixteenth, Some(l.scale(-k) * V::lookup(base.inverse, sixteenth)))
            }

            /// log(1 + u + ul) to base e for u > -1 below 2^60 and a small `ul`. 1 + u only chooses k and r; what is left,
            /// 2^-k r (1 + u) - 1, is computed from u.
            #[inline(always)]
            pub(in crate::math) fn log_beyond_one<V: $bound>(base: &Base, u: V, ul: Option<V>) -> V {
                let (hi, lo) = sum_beyond_one(base, u, ul);
                hi + lo
            }

            /// The same as a sum that has not been rounded.
            #[inline(always)]
            pub(in crate::math) fn sum_beyond_one<V: $bound>(base: &Base, u: V, ul: Option<V>) -> (V, V) {
                let one = V::of(1.0);
                let (k, _, sixteenth) = parts(one + u);
                let factor = V::lookup(base.inverse, sixteenth).scale(-k);
                let less = factor - one;
                let f = u.fma(factor, less);
                let mut low = factor - (less + one);
                if let Some(ul) = ul {
                    low = ul.fma(factor, low);
                }
                assemble(base, k, V::lookup(base.log, sixteenth), f, Some(low))
            }
        }
    };
}

logarithm!(single, f32, u32, F32s, 23, 127.0, 0x3f80_0000, 0x3f3c_0000, 8_388_608.0, 4, horner);
logarithm!(
    double,
    f64,
    u64,
    F64s,
    52,
    1023.0,
    0x3ff0_0000_0000_0000,
    0x3fe7_8000_0000_0000,
    4_503_599_627_370_496.0,
    10,
    poly
);
