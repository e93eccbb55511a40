//! AVX2 with FMA: four f64 or eight f32 lanes.
//!
//! Safety of the whole file: these types are made only by code that runs inside a
//! function with `target_feature(enable = "avx2,fma")`, entered after detection, so
//! each intrinsic's instruction set is present.

use crate::lanes::operators;
use crate::vector::{Binary, Cold, F32s, Rare, Table, Unary, Vector};
use std::arch::x86_64::*;

/// Four f64 lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct D4(pub(crate) __m256d);
/// Eight f32 lanes.
#[derive(Clone, Copy)]
pub(crate) struct S8(pub(crate) __m256);

operators!(D4, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd);
operators!(S8, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps);

/// An intrinsic call.
macro_rules! op {
    ($e:expr) => {
        // SAFETY: see the module: AVX2 and FMA are enabled.
        unsafe { $e }
    };
}

macro_rules! avx2 {
    ($v:ident, $t:ident, $bits:ident, $ibits:ident, $reg:ident, $lanes:literal, $mantissa:literal, $bias:literal, $magic:literal,
     $plain:literal, $unit:literal,
     $load:ident, $store:ident, $set1:ident, $first:ident, $fma:ident, $sqrt:ident,
     $round:ident, $min:ident, $max:ident, $cmp:ident, $blend:ident, $and:ident, $or:ident,
     $xor:ident, $movemask:ident, $toint:ident, $fromint:ident, $iset1:ident, $iadd:ident, $isub:ident,
     $shl:ident, $shr:ident, $above:ident, $lookup:ident) => {
        impl $v {
            /// 2^k for whole k in the normal range.
            #[inline(always)]
            fn pow2(k: Self) -> Self {
                let i = Self::iadd((k + Self::of($magic)).bits(), Self::int($bias));
                Self::from_bits(Self::shl::<$mantissa>(i))
            }
            /// The part of `ldexp` for results that may leave the normal range.
            #[inline(always)]
            fn ldexp_far(self, k: Self) -> Self {
                let half = (k * Self::of(0.5)).round();
                self * Self::pow2(half) * Self::pow2(k - half)
            }
        }
        impl Vector for $v {
            type Elem = $t;
            type Bits = $bits;
            type Mask = $reg;
            type Int = __m256i;
            const LANES: usize = $lanes;

            #[inline(always)]
            // SAFETY: the contract is the trait's.
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller's promise; AVX2 is enabled.
                Self(unsafe { $load(p) })
            }
            #[inline(always)]
            // SAFETY: the contract is the trait's.
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller's promise; AVX2 is enabled.
                unsafe { $store(p, self.0) }
            }
            #[inline(always)]
            fn of(x: $t) -> Self {
                Self(op!($set1(x)))
            }
            #[inline(always)]
            fn number(x: f64) -> Self {
                Self::of(x as $t)
            }
            #[inline(always)]
            fn first(self) -> $t {
                op!($first(self.0))
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                Self(op!($fma(self.0, b.0, c.0)))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(op!($sqrt(self.0)))
            }
            #[inline(always)]
            fn round(self) -> Self {
                Self(op!($round::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)))
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                Self(op!($min(self.0, b.0)))
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                Self(op!($max(self.0, b.0)))
            }
            #[inline(always)]
            fn ldexp(self, k: Self) -> Self {
                if Self::any(Self::lt(Self::of($plain), k.abs())) {
                    return self.ldexp_far(k);
                }
                self * Self::pow2(k)
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                self * Self::pow2(k)
            }
            #[inline(always)]
            fn exponent(self) -> Self {
                // the biased exponent becomes a number as the last bits of one whose unit is one
                let unit: $t = $unit;
                let biased = Self::ior(Self::shr::<$mantissa>(self.bits()), Self::int(unit.to_bits()));
                Self::from_bits(biased) - Self::of(unit + $bias as $t)
            }
            #[inline(always)]
            fn lt(self, b: Self) -> $reg {
                op!($cmp::<_CMP_LT_OQ>(self.0, b.0))
            }
            #[inline(always)]
            fn not_lt(self, b: Self) -> $reg {
                op!($cmp::<_CMP_NLT_UQ>(self.0, b.0))
            }
            #[inline(always)]
            fn le(self, b: Self) -> $reg {
                op!($cmp::<_CMP_LE_OQ>(self.0, b.0))
            }
            #[inline(always)]
            fn eq(self, b: Self) -> $reg {
                op!($cmp::<_CMP_EQ_OQ>(self.0, b.0))
            }
            #[inline(always)]
            fn select(m: $reg, a: Self, b: Self) -> Self {
                Self(op!($blend(b.0, a.0, m)))
            }
            #[inline(always)]
            fn both(a: $reg, b: $reg) -> $reg {
                op!($and(a, b))
            }
            #[inline(always)]
            fn either(a: $reg, b: $reg) -> $reg {
                op!($or(a, b))
            }
            #[inline(always)]
            fn not(a: $reg) -> $reg {
                op!($xor(a, $fromint(_mm256_set1_epi32(-1))))
            }
            #[inline(always)]
            fn any(a: $reg) -> bool {
                op!($movemask(a)) != 0
            }
            #[inline(always)]
            fn bits(self) -> __m256i {
                op!($toint(self.0))
            }
            #[inline(always)]
            fn from_bits(i: __m256i) -> Self {
                Self(op!($fromint(i)))
            }
            #[inline(always)]
            fn int(x: $bits) -> __m256i {
                op!($iset1(x as $ibits))
            }
            #[inline(always)]
            fn iadd(a: __m256i, b: __m256i) -> __m256i {
                op!($iadd(a, b))
            }
            #[inline(always)]
            fn isub(a: __m256i, b: __m256i) -> __m256i {
                op!($isub(a, b))
            }
            #[inline(always)]
            fn iand(a: __m256i, b: __m256i) -> __m256i {
                op!(_mm256_and_si256(a, b))
            }
            #[inline(always)]
            fn ior(a: __m256i, b: __m256i) -> __m256i {
                op!(_mm256_or_si256(a, b))
            }
            #[inline(always)]
            fn ixor(a: __m256i, b: __m256i) -> __m256i {
                op!(_mm256_xor_si256(a, b))
            }
            #[inline(always)]
            fn shl<const K: u32>(a: __m256i) -> __m256i {
                op!($shl(a, _mm_cvtsi32_si128(K as i32)))
            }
            #[inline(always)]
            fn shr<const K: u32>(a: __m256i) -> __m256i {
                op!($shr(a, _mm_cvtsi32_si128(K as i32)))
            }
            #[inline(always)]
            fn is_odd(a: __m256i) -> $reg {
                // a mask is the highest bit of each lane
                op!($fromint(Self::shl::<{ $bits::BITS - 1 }>(a)))
            }
            #[inline(always)]
            fn is_below(a: __m256i, limit: $bits) -> $reg {
                // the instruction compares signed numbers: with the highest bit flipped, the order is the unsigned one
                let top = 1 << ($bits::BITS - 1);
                op!($fromint($above(Self::int(limit ^ top), Self::ixor(a, Self::int(top)))))
            }
            #[inline(always)]
            fn lookup(table: &'static Table<$t>, index: __m256i) -> Self {
                $lookup(table, index)
            }
            #[inline(always)]
            fn patch<R: Rare<$t>>(self, m: $reg, x: Self) -> Self {
                let (mut out, mut arg) = ([0.0; $lanes], [0.0; $lanes]);
                // SAFETY: both arrays hold one register.
                unsafe {
                    self.store(out.as_mut_ptr());
                    x.store(arg.as_mut_ptr());
                }
                let mask = op!($movemask(m));
                for (i, (o, a)) in out.iter_mut().zip(arg).enumerate() {
                    if mask >> i & 1 == 1 {
                        *o = R::of(a);
                    }
                }
                // SAFETY: the array holds one register.
                unsafe { Self::load(out.as_ptr()) }
            }
            #[inline(always)]
            fn cold<C: Cold<Self>>(self, y: Self) -> Self {
                #[cold]
                #[inline(never)]
                #[target_feature(enable = "avx2,fma")]
                fn out_of_line<C: Cold<$v>>(x: $v, y: $v) -> $v {
                    C::run(x, y)
                }
                op!(out_of_line::<C>(self, y))
            }
            #[inline(always)]
            fn sign_bit() -> __m256i {
                Self::int(!($bits::MAX >> 1))
            }
            #[inline(always)]
            fn abs_bits() -> __m256i {
                Self::int($bits::MAX >> 1)
            }
        }
    };
}

/// Entries of a table in memory.
#[inline(always)]
fn lookup_pd(table: &'static Table<f64>, index: __m256i) -> D4 {
    // SAFETY: the lowest four bits number an entry of the table; AVX2 is enabled.
    D4(unsafe { _mm256_i64gather_pd::<8>(table.0.as_ptr(), _mm256_and_si256(index, _mm256_set1_epi64x(15))) })
}

/// Entries of a table, which two registers hold: the permutation takes three bits, the fourth chooses the register.
#[inline(always)]
fn lookup_ps(table: &'static Table<f32>, index: __m256i) -> S8 {
    // SAFETY: both halves lie within the table; AVX2 is enabled.
    unsafe {
        let low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table.0.as_ptr()), index);
        let high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table.0.as_ptr().add(8)), index);
        S8(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index))))
    }
}

#[rustfmt::skip]
avx2!(D4, f64, u64, i64, __m256d, 4, 52, 1023, 6755399441055744.0, 1020.0, 4503599627370496.0, _mm256_loadu_pd, _mm256_storeu_pd,
    _mm256_set1_pd, _mm256_cvtsd_f64, _mm256_fmadd_pd, _mm256_sqrt_pd, _mm256_round_pd, _mm256_min_pd,
    _mm256_max_pd, _mm256_cmp_pd, _mm256_blendv_pd, _mm256_and_pd, _mm256_or_pd, _mm256_xor_pd,
    _mm256_movemask_pd, _mm256_castpd_si256, _mm256_castsi256_pd, _mm256_set1_epi64x,
    _mm256_add_epi64, _mm256_sub_epi64, _mm256_sll_epi64, _mm256_srl_epi64, _mm256_cmpgt_epi64, lookup_pd);
#[rustfmt::skip]
avx2!(S8, f32, u32, i32, __m256, 8, 23, 127, 12582912.0, 120.0, 8388608.0, _mm256_loadu_ps, _mm256_storeu_ps,
    _mm256_set1_ps, _mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_sqrt_ps, _mm256_round_ps, _mm256_min_ps,
    _mm256_max_ps, _mm256_cmp_ps, _mm256_blendv_ps, _mm256_and_ps, _mm256_or_ps, _mm256_xor_ps,
    _mm256_movemask_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_set1_epi32,
    _mm256_add_epi32, _mm256_sub_epi32, _mm256_sll_epi32, _mm256_srl_epi32, _mm256_cmpgt_epi32, lookup_ps);

impl S8 {
    #[inline(always)]
    fn widen(self) -> (D4, D4) {
        op!((
            D4(_mm256_cvtps_pd(_mm256_castps256_ps128(self.0))),
            D4(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0)))
        ))
    }
    #[inline(always)]
    fn narrow(a: D4, b: D4) -> Self {
        Self(op!(_mm256_set_m128(_mm256_cvtpd_ps(b.0), _mm256_cvtpd_ps(a.0))))
    }
}

impl F32s for S8 {
    type Wide = D4;
    #[inline(always)]
    fn via64<O: Unary>(self) -> Self {
        let (a, b) = self.widen();
        Self::narrow(O::f64(a), O::f64(b))
    }
    #[inline(always)]
    fn via64x2<O: Binary>(self, y: Self) -> Self {
        let ((a, b), (c, d)) = (self.widen(), y.widen());
        Self::narrow(O::f64(a, c), O::f64(b, d))
    }
}
