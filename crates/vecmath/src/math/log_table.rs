//! Logarithms by a table, in f64 and in f32.
//!
//! x = 2^k m, and the octave of m is cut into sixteen parts, for each of which a table has r = 1/m, nearly, and t =
//! -log r. What is left is the logarithm of 1 + f = m r, a short polynomial: log x = k log 2 + t + log(1 + f). 1 is in
//! the middle of its part, where r is 1 and t is 0, so that logarithms of numbers near to 1 are exact in their last
//! places, too.

/// Writes the algorithm for one type.
macro_rules! logarithm {
    ($module:ident, $t:ident, $bits:ident, $bound:ident, $mantissa:literal, $one:literal, $bottom:literal,
     $terms:literal, $poly:ident) => {
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

            /// Half of the largest number.
            const END: $t = $t::MAX / 2.0;

            /// The parts of a normal number 2^k m from the smallest one up to [`END`]: k, m, and a number whose lowest
            /// four bits say in which sixteenth m is.
            #[inline(always)]
            pub(in crate::math) fn parts<V: $bound>(x: V) -> (V, V, V::Int) {
                let above = V::iadd(x.bits(), V::int($one - $bottom));
                let m = V::from_bits(V::iadd(V::iand(above, V::int((1 << $mantissa) - 1)), V::int($bottom)));
                (V::from_bits(above).exponent(), m, V::shr::<{ $mantissa - 4 }>(above))
            }

            /// The product of two numbers, and a third number if there is one.
            #[inline(always)]
            fn plus<V: $bound>(a: V, b: V, c: Option<V>) -> V {
                match c {
                    Some(c) => a.fma(b, c),
                    None => a * b,
                }
            }

            /// k log 2 + t + log(1 + f) + low, for a small `low`, as a sum that has not been rounded. The largest parts
            /// are added exactly. The chains of operations that wait for each other are as short as the sum allows.
            #[inline(always)]
            fn assemble<V: $bound>(base: &Base, k: V, t: V, f: V, mut low: Option<V>) -> (V, V) {
                let [octave, octave_low] = base.octave;
                let [first, first_low] = base.first;
                // no closures: the compiler gives them none of the instruction sets of the function around them
                if octave_low != 0.0 {
                    low = Some(plus(k, V::of(octave_low), low));
                }
                if first_low != 0.0 {
                    low = Some(plus(f, V::of(first_low), low));
                }
                let small = plus(f * f, $poly(f, base.rest), low);
                let whole = k.fma(V::of(octave), t);
                let hi = f.fma(V::of(first), whole);
                (hi, f.fma(V::of(first), whole - hi) + small)
            }

            /// log(2^k m), for an m of that sixteenth.
            #[inline(always)]
            pub(in crate::math) fn log_of<V: $bound>(base: &Base, k: V, m: V, sixteenth: V::Int) -> V {
                let f = m.fma(V::lookup(base.inverse, sixteenth), V::of(-1.0));
                let (hi, lo) = assemble(base, k, V::lookup(base.log, sixteenth), f, None);
                hi + lo
            }

            /// The logarithm of a positive finite number.
            #[inline(always)]
            pub(in crate::math) fn log_positive<V: $bound>(base: &Base, x: V) -> V {
                let (k, m, sixteenth) = parts_of_any(x);
                log_of(base, k, m, sixteenth)
            }

            /// The lanes that [`parts`] takes.
            #[inline(always)]
            pub(in crate::math) fn has_parts<V: $bound>(x: V) -> V::Mask {
                // in the order of unsigned numbers, the bits of negative numbers come after those of positive ones
                let (least, end) = ($t::MIN_POSITIVE.to_bits(), END.to_bits());
                V::is_below(V::isub(x.bits(), V::int(least)), end - least)
            }

            /// The logarithm where [`parts`] takes all lanes.
            #[inline(always)]
            pub(in crate::math) fn log_inside<V: $bound>(base: &Base, x: V) -> Option<V> {
                if V::any(V::not(has_parts(x))) {
                    return None;
                }
                let (k, m, sixteenth) = parts(x);
                Some(log_of(base, k, m, sixteenth))
            }

            /// As [`parts`], of any positive finite number.
            #[inline(always)]
            pub(in crate::math) fn parts_of_any<V: $bound>(x: V) -> (V, V, V::Int) {
                const SHIFT: $bits = $mantissa + 2;
                let up = V::of((1u64 << SHIFT) as $t);
                let (tiny, huge) = (V::lt(x, V::of($t::MIN_POSITIVE)), V::le(V::of(END), x));
                // the factor is chosen, not the product: that of a large x would overflow
                let down = V::select(huge, V::of(1.0 / (1u64 << SHIFT) as $t), V::of(1.0));
                let (k, m, sixteenth) = parts(x * V::select(tiny, up, down));
                let shift = V::of(SHIFT as $t);
                (V::select(tiny, k - shift, V::select(huge, k + shift, k)), m, sixteenth)
            }

            /// The logarithm of any number.
            #[inline(always)]
            pub(in crate::math) fn log_anywhere<V: $bound>(base: &Base, x: V) -> V {
                let (zero, inf) = (V::of(0.0), V::of($t::INFINITY));
                let r = log_positive(base, x);
                let r = V::select(V::both(V::lt(zero, x), V::lt(x, inf)), r, x + x);
                let r = V::select(V::eq(x, zero), -inf, r);
                V::select(V::lt(x, zero), V::of($t::NAN), r)
            }

            /// What the logarithm of a power's base is made of.
            pub(in crate::math) struct Exact {
                /// r, for each sixteenth of the octave, in so few bits that m r - 1 is exact.
                pub(in crate::math) inverse: &'static Table<$t>,
                /// t = -log r, its first part: sums with a multiple of `octave[0]` are exact.
                pub(in crate::math) log: &'static Table<$t>,
                /// The second part of t.
                pub(in crate::math) log_low: &'static Table<$t>,
                /// log 2 in two parts.
                pub(in crate::math) octave: [$t; 2],
            }

            /// log(2^k m) to base e as a pair with about eleven bits more than the type has, for an m of that
            /// sixteenth. The second number is at most a thousandth of the first. `rest` is (log(1 + f) - f + f^2 / 2)
            /// / f^3 in powers of f.
            #[inline(always)]
            pub(in crate::math) fn log_pair<V: $bound, const N: usize>(
                table: &Exact,
                rest: [$t; N],
                (k, m, sixteenth): (V, V, V::Int),
            ) -> (V, V) {
                let half = V::of(-0.5);
                let f = m.fma(V::lookup(table.inverse, sixteenth), V::of(-1.0));
                let whole = k.fma(V::of(table.octave[0]), V::lookup(table.log, sixteenth));
                let (sum, sum_low) = fast_two_sum(whole, f);
                let (square, square_low) = two_prod(f, f);
                let high = half.fma(square, sum);
                let high_low = half.fma(square, sum - high);
                let small = half.fma(square_low, V::lookup(table.log_low, sixteenth));
                let small = k.fma(V::of(table.octave[1]), small);
                (high, (f * square).fma($poly(f, rest), small) + (sum_low + high_low))
            }

            /// log(h + l) to base e for normal h and l of the order of its rounding error.
            #[inline(always)]
            pub(in crate::math) fn log_sum<V: $bound>(base: &Base, h: V, l: V) -> V {
                let (k, m, sixteenth) = parts(h);
                let inverse = V::lookup(base.inverse, sixteenth);
                // d log m = dm / m, nearly
                let low = l.scale(-k) * inverse;
                let (hi, lo) =
                    assemble(base, k, V::lookup(base.log, sixteenth), m.fma(inverse, V::of(-1.0)), Some(low));
                hi + lo
            }

            /// log(1 + u + ul) to base e for u > -1 below 2^60 and a small `ul`. 1 + u only chooses k and r; what is
            /// left, 2^-k r (1 + u) - 1, is computed from u.
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

logarithm!(single, f32, u32, F32s, 23, 0x3f80_0000, 0x3f3c_0000, 4, pairs);
logarithm!(double, f64, u64, F64s, 52, 0x3ff0_0000_0000_0000, 0x3fe7_8000_0000_0000, 10, poly);
