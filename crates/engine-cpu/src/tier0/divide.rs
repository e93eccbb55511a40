//! Integer division over runs of elements.
//!
//! In: dividends and divisors. Out: quotients rounded down, remainders with the divisor's sign, or C's remainders; zero
//! if the divisor is zero. If a run is divided by one number, it is multiplied by the inverse of that number, as a
//! fixed-point fraction. Other divisions go through floats in which quotients are exact; for 64-bit integers, only
//! where all operands nearby are small enough. The reason is that processors have no instruction for dividing vectors
//! of integers. Not here: flags.

use crate::tier0::elem::{Bits, Elem, Integer, Real};
use numelt_codegen::{factor, log2_up, long_factor};
use std::mem::MaybeUninit;

/// The result of a division.
pub enum Made {
    /// The quotient, rounded down.
    Quotient,
    /// The remainder with the divisor's sign.
    Remainder,
    /// The remainder with the dividend's.
    Fmod,
}

/// The operations that divide.
pub trait Division: 'static {
    /// The result that is computed.
    const MADE: Made;
}

/// Shorter runs are not worth computing an inverse.
const WORTH: usize = 16;

/// The number of 64-bit operands that are tested together, and the bits of those that f64 can divide.
const NEAR: usize = 128;
const SMALL_BITS: u32 = 50;

/// `1.5 * 2^23` and `1.5 * 2^52`: adding a small integer to one of them makes it the last bits of the float.
const SHIFT32: f32 = 12_582_912.0;
const SHIFT64: f64 = 6_755_399_441_055_744.0;

/// Integers that the loops of this file divide.
pub trait Divide: Elem + Real + Bits + Integer {
    /// Whether the number has an inverse here. Then no division by it overflows.
    fn inverts(self) -> bool;

    /// Divides a run by a number that has an inverse.
    fn by_number<O: Division>(a: &[Self], by: Self, out: &mut [MaybeUninit<Self>]);

    /// Divides element by element.
    fn by_each<O: Division>(a: &[Self], b: &[Self], out: &mut [MaybeUninit<Self>]);
}

/// The higher half of a product. For 64 bits it is composed of products for which there are vector instructions.
trait High: Copy {
    fn high(self, by: Self) -> Self;
}
macro_rules! high {
    ($($t:ty, $wide:ty;)*) => {$(
        impl High for $t {
            #[inline(always)]
            fn high(self, by: $t) -> $t {
                ((self as $wide * by as $wide) >> <$t>::BITS) as $t
            }
        }
    )*};
}
high! { u16, u32; u32, u64; }
impl High for u64 {
    #[inline(always)]
    fn high(self, by: u64) -> u64 {
        let low = |v: u64| v & 0xffff_ffff;
        let middle = (self >> 32) * low(by) + ((low(self) * low(by)) >> 32);
        let other = low(self) * (by >> 32) + low(middle);
        (self >> 32) * (by >> 32) + (middle >> 32) + (other >> 32)
    }
}

/// Divides a run of elements.
#[inline(always)]
pub fn run<T: Divide, O: Division>(a: &[T], b: &[T], out: &mut [MaybeUninit<T>]) {
    let one = match b {
        [first, .., last] if b.len() >= WORTH && first.eq(*last) && first.inverts() => {
            let differing = b.iter().fold(T::ZERO, |all, v| all.or(v.xor(*first)));
            (!differing.truth()).then_some(*first)
        }
        _ => None,
    };
    match one {
        Some(by) => T::by_number::<O>(a, by, out),
        None => T::by_each::<O>(a, b, out),
    }
}

/// The requested result from dividend, divisor and the quotient (truncated for C's remainder, otherwise rounded down).
macro_rules! made {
    ($op:ident, $a:expr, $by:expr, $quotient:expr) => {
        if matches!($op::MADE, Made::Quotient) { $quotient } else { $a.wrapping_sub($quotient.wrapping_mul($by)) }
    };
}

/// For types that fit into `$int` with a sign: if `a` is negative, `!a` is divided.
macro_rules! by_short_factor {
    ($t:ty, $int:ty, $word:ty) => {
        #[inline(always)]
        fn inverts(self) -> bool {
            self > 0
        }

        #[inline(always)]
        fn by_number<O: Division>(a: &[$t], by: $t, out: &mut [MaybeUninit<$t>]) {
            let factor = factor(by as u64, <$word>::BITS) as $word;
            let (shift, by) = (log2_up(by as u64), by as $int);
            for (o, &a) in out.iter_mut().zip(a) {
                let a = a as $int;
                let sign = a >> (<$int>::BITS - 1);
                let quotient = (((a ^ sign) as $word) << 1).high(factor).wrapping_shr(shift) as $int ^ sign;
                let made = made!(O, a, by, quotient);
                o.write(if matches!(O::MADE, Made::Fmod) && sign != 0 && made != 0 { made - by } else { made } as $t);
            }
        }
    };
}

/// For unsigned types that use all bits.
macro_rules! by_long_factor {
    ($t:ty) => {
        #[inline(always)]
        fn inverts(self) -> bool {
            self > 1
        }

        #[inline(always)]
        fn by_number<O: Division>(a: &[$t], by: $t, out: &mut [MaybeUninit<$t>]) {
            let factor = long_factor(by as u64, <$t>::BITS) as $t;
            let shift = log2_up(by as u64) - 1;
            for (o, &a) in out.iter_mut().zip(a) {
                let part = a.high(factor);
                let quotient = (((a - part) >> 1) + part).wrapping_shr(shift);
                o.write(made!(O, a, by, quotient));
            }
        }
    };
}

/// Each element by its divisor, in floats. If the quotient of two integers is not an integer, its distance from the
/// next integer is at least one part in their sum, which is more than the float's rounding error.
macro_rules! by_float {
    ($t:ty, $float:ty, $shift:ident) => {
        #[inline(always)]
        fn by_each<O: Division>(a: &[$t], b: &[$t], out: &mut [MaybeUninit<$t>]) {
            for ((o, &a), &b) in out.iter_mut().zip(a).zip(b) {
                let by = if b == 0 { 1 } else { b };
                let ratio = a as $float / by as $float;
                let whole = if matches!(O::MADE, Made::Fmod) { ratio.trunc() } else { ratio.floor() };
                let made = made!(O, a, by, ((whole + $shift).to_bits() as $t));
                o.write(if b == 0 { 0 } else { made });
            }
        }
    };
}

/// The same for 64 bits.
macro_rules! by_small_float {
    ($t:ty, $middle:expr, $bits:expr) => {
        #[inline(always)]
        fn by_each<O: Division>(a: &[$t], b: &[$t], out: &mut [MaybeUninit<$t>]) {
            for ((a, b), out) in a.chunks(NEAR).zip(b.chunks(NEAR)).zip(out.chunks_mut(NEAR)) {
                let moved = |v: &$t| v.wrapping_add($middle) as u64;
                let all = a.iter().zip(b).fold(0, |all, (a, b)| all | moved(a) | moved(b));
                let triples = out.iter_mut().zip(a).zip(b);
                if all >> $bits != 0 {
                    triples.for_each(|((o, &a), &b)| {
                        o.write(match O::MADE {
                            Made::Quotient => a.floor_div(b),
                            Made::Remainder => a.rem(b),
                            Made::Fmod => a.fmod(b),
                        });
                    });
                    continue;
                }
                let float = |v: $t| f64::from_bits(SHIFT64.to_bits().wrapping_add(v as u64)) - SHIFT64;
                for ((o, &a), &b) in triples {
                    let by = if b == 0 { 1 } else { b };
                    let ratio = float(a) / float(by);
                    let whole = if matches!(O::MADE, Made::Fmod) { ratio.trunc() } else { ratio.floor() };
                    let quotient = (whole + SHIFT64).to_bits().wrapping_sub(SHIFT64.to_bits()) as $t;
                    let made = made!(O, a, by, quotient);
                    o.write(if b == 0 { 0 } else { made });
                }
            }
        }
    };
}

macro_rules! divided {
    ($($t:ty: { $($methods:tt)* })*) => {$(
        impl Divide for $t { $($methods)* }
    )*};
}
divided! {
    i8: { by_short_factor!(i8, i16, u16); by_float!(i8, f32, SHIFT32); }
    u8: { by_short_factor!(u8, i16, u16); by_float!(u8, f32, SHIFT32); }
    i16: { by_short_factor!(i16, i16, u16); by_float!(i16, f32, SHIFT32); }
    u16: { by_long_factor!(u16); by_float!(u16, f32, SHIFT32); }
    i32: { by_short_factor!(i32, i32, u32); by_float!(i32, f64, SHIFT64); }
    u32: { by_long_factor!(u32); by_float!(u32, f64, SHIFT64); }
    i64: { by_short_factor!(i64, i64, u64); by_small_float!(i64, 1 << SMALL_BITS, SMALL_BITS + 1); }
    u64: { by_long_factor!(u64); by_small_float!(u64, 0, SMALL_BITS); }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier0::ops::{FloorDivide, Fmod, Remainder};

    /// All three results for all pairs, in runs with one divisor and in runs with many, against the arithmetic of one
    /// pair.
    fn check<T: Divide + PartialEq + std::fmt::Debug>(dividends: &[T], divisors: &[T]) {
        for (k, &by) in divisors.iter().enumerate() {
            let one = vec![by; dividends.len()];
            let many: Vec<T> = (0..dividends.len()).map(|i| divisors[(i + k) % divisors.len()]).collect();
            for b in [one, many] {
                let run = |f: fn(&[T], &[T], &mut [MaybeUninit<T>]), want: fn(T, T) -> T| {
                    let mut out = vec![MaybeUninit::new(T::ONE); b.len()];
                    f(dividends, &b, &mut out);
                    for ((&a, &b), out) in dividends.iter().zip(&b).zip(out) {
                        // SAFETY: initialized before.
                        assert_eq!(unsafe { out.assume_init() }, want(a, b), "{a:?} by {b:?}");
                    }
                };
                run(super::run::<T, FloorDivide>, T::floor_div);
                run(super::run::<T, Remainder>, T::rem);
                run(super::run::<T, Fmod>, T::fmod);
            }
        }
    }

    /// Numbers around the powers of two, both ends, products, and some others.
    macro_rules! samples {
        ($t:ty) => {{
            let mut all: Vec<$t> = vec![3, 5, 7, 10, 25, 100, 125, 641 as $t, 1_000_003_u64 as $t];
            for bit in 0..<$t>::BITS {
                let power = (1 as $t) << bit;
                all.extend([power, power.wrapping_sub(1), power.wrapping_add(1), power.wrapping_mul(3)]);
            }
            let mut state = 1u64;
            for _ in 0..150 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                all.push((state >> (state % 61)) as $t);
            }
            let negated: Vec<$t> = all.iter().map(|v| v.wrapping_neg()).collect();
            all.extend(negated);
            let products: Vec<$t> = all.iter().zip(all.iter().rev()).map(|(a, b)| a.wrapping_mul(*b)).collect();
            let before: Vec<$t> = products.iter().map(|v| v.wrapping_sub(1)).collect();
            all.extend(products.into_iter().chain(before));
            all.push(0);
            all
        }};
    }

    #[test]
    fn all_pairs_of_bytes() {
        let signed: Vec<i8> = (i8::MIN..=i8::MAX).collect();
        check(&signed, &signed);
        let unsigned: Vec<u8> = (u8::MIN..=u8::MAX).collect();
        check(&unsigned, &unsigned);
    }

    #[test]
    fn all_shorts_by_samples() {
        let signed: Vec<i16> = (i16::MIN..=i16::MAX).collect();
        check(&signed, &samples!(i16)[..120]);
        let unsigned: Vec<u16> = (u16::MIN..=u16::MAX).collect();
        check(&unsigned, &samples!(u16)[..120]);
    }

    #[test]
    fn samples_of_wide_integers() {
        macro_rules! all {
            ($($t:ty)*) => {$(
                let samples = samples!($t);
                check(&samples, &samples);
                let small: Vec<$t> = samples.iter().map(|v| v >> (<$t>::BITS / 2)).collect();
                check(&small, &small);
                // the multiples of each divisor, and the numbers before them
                for &by in &samples {
                    let multiples: Vec<$t> = (0..64).map(|k| (<$t>::MAX / 64 * k).wrapping_add(by)).collect();
                    let multiples: Vec<$t> =
                        multiples.iter().map(|m| if by == 0 { *m } else { m.wrapping_sub(m.wrapping_rem(by)) }).collect();
                    let before: Vec<$t> = multiples.iter().map(|m| m.wrapping_sub(1)).collect();
                    check(&multiples, &[by]);
                    check(&before, &[by]);
                }
            )*};
        }
        all!(i32 u32 i64 u64);
    }
}
