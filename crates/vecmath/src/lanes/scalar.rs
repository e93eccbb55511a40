//! One lane: plain `f64` and `f32` as vectors of length one.
//!
//! This is the portable instruction set, the scalar symbols and the rare-lane path.
//! `mul_add` is the hardware instruction where the caller enables it, else a library
//! call with the same result.

use crate::vector::{Binary, Cold, F32s, Rare, Table, Unary, Vector};

macro_rules! scalar {
    ($t:ident, $bits:ident, $mantissa:literal, $bias:literal, $magic:literal, $plain:literal) => {
        impl Vector for $t {
            type Elem = $t;
            type Bits = $bits;
            type Mask = bool;
            type Int = $bits;
            const LANES: usize = 1;

            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller's promise.
                unsafe { p.read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller's promise.
                unsafe { p.write_unaligned(self) }
            }
            #[inline(always)]
            fn of(x: $t) -> Self {
                x
            }
            #[inline(always)]
            fn number(x: f64) -> Self {
                Self::of(x as $t)
            }
            #[inline(always)]
            fn first(self) -> $t {
                self
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                if self < b { self } else { b }
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                if self > b { self } else { b }
            }
            #[inline(always)]
            fn ldexp(self, k: Self) -> Self {
                let pow2 = |e: $t| <$t>::from_bits(((e + $magic).to_bits().wrapping_add($bias)) << $mantissa);
                if k.abs() <= $plain {
                    return self * pow2(k);
                }
                let half = (k * 0.5).round_ties_even();
                self * pow2(half) * pow2(k - half)
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                self * <$t>::from_bits(((k + $magic).to_bits().wrapping_add($bias)) << $mantissa)
            }
            #[inline(always)]
            fn exponent(self) -> Self {
                (self.to_bits() >> $mantissa) as $t - $bias as $t
            }
            #[inline(always)]
            fn lt(self, b: Self) -> bool {
                self < b
            }
            #[inline(always)]
            #[allow(clippy::neg_cmp_op_on_partial_ord)] // NaN belongs to the result
            fn not_lt(self, b: Self) -> bool {
                !(self < b)
            }
            #[inline(always)]
            fn le(self, b: Self) -> bool {
                self <= b
            }
            #[inline(always)]
            fn eq(self, b: Self) -> bool {
                self == b
            }
            #[inline(always)]
            fn select(m: bool, a: Self, b: Self) -> Self {
                if m { a } else { b }
            }
            #[inline(always)]
            fn both(a: bool, b: bool) -> bool {
                a & b
            }
            #[inline(always)]
            fn either(a: bool, b: bool) -> bool {
                a | b
            }
            #[inline(always)]
            fn not(a: bool) -> bool {
                !a
            }
            #[inline(always)]
            fn any(a: bool) -> bool {
                a
            }
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn from_bits(i: $bits) -> Self {
                <$t>::from_bits(i)
            }
            #[inline(always)]
            fn int(x: $bits) -> $bits {
                x
            }
            #[inline(always)]
            fn iadd(a: $bits, b: $bits) -> $bits {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn isub(a: $bits, b: $bits) -> $bits {
                a.wrapping_sub(b)
            }
            #[inline(always)]
            fn iand(a: $bits, b: $bits) -> $bits {
                a & b
            }
            #[inline(always)]
            fn ior(a: $bits, b: $bits) -> $bits {
                a | b
            }
            #[inline(always)]
            fn ixor(a: $bits, b: $bits) -> $bits {
                a ^ b
            }
            #[inline(always)]
            fn shl<const K: u32>(a: $bits) -> $bits {
                a << K
            }
            #[inline(always)]
            fn shr<const K: u32>(a: $bits) -> $bits {
                a >> K
            }
            #[inline(always)]
            fn is_odd(a: $bits) -> bool {
                a & 1 == 1
            }
            #[inline(always)]
            fn is_below(a: $bits, limit: $bits) -> bool {
                a < limit
            }
            #[inline(always)]
            fn lookup(table: &'static Table<$t>, index: $bits) -> Self {
                table.0[(index & 15) as usize]
            }
            #[inline(always)]
            fn patch<R: Rare<$t>>(self, m: bool, x: Self) -> Self {
                if m { R::of(x) } else { self }
            }
            #[inline(always)]
            fn cold<C: Cold<Self>>(self, y: Self) -> Self {
                C::run(self, y)
            }
            #[inline(always)]
            fn sign_bit() -> $bits {
                !(<$bits>::MAX >> 1)
            }
            #[inline(always)]
            fn abs_bits() -> $bits {
                <$bits>::MAX >> 1
            }
        }
    };
}

#[rustfmt::skip]
scalar!(f64, u64, 52, 1023, 6755399441055744.0, 1020.0);
scalar!(f32, u32, 23, 127, 12582912.0, 120.0);

impl F32s for f32 {
    type Wide = f64;
    #[inline(always)]
    fn via64<O: Unary>(self) -> f32 {
        O::f64(f64::from(self)) as f32
    }
    #[inline(always)]
    fn via64x2<O: Binary>(self, b: f32) -> f32 {
        O::f64(f64::from(self), f64::from(b)) as f32
    }
}
