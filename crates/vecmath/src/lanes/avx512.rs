//! AVX-512F: eight f64 or sixteen f32 lanes.
//!
//! Safety of the whole file: these types are made only by code that runs inside a
//! function with `target_feature(enable = "avx512f")`, entered after detection, so
//! each intrinsic's instruction set is present. Only the F subset is used.

use crate::lanes::operators;
use crate::vector::{Binary, Cold, F32s, Rare, Table, Unary, Vector};
use std::arch::x86_64::*;

/// Eight f64 lanes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct D8(pub(crate) __m512d);
/// Sixteen f32 lanes.
#[derive(Clone, Copy)]
pub(crate) struct S16(pub(crate) __m512);

operators!(D8, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_div_pd);
operators!(S16, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_div_ps);

/// An intrinsic call.
macro_rules! op {
    ($e:expr) => {
        // SAFETY: see the module: AVX-512F is enabled.
        unsafe { $e }
    };
}

macro_rules! avx512 {
    ($v:ident, $t:ident, $bits:ident, $ibits:ident, $mask:ident, $lanes:literal,
     $load:ident, $store:ident, $set1:ident, $first:ident, $fma:ident, $sqrt:ident,
     $round:ident, $min:ident, $max:ident, $scalef:ident, $cmp:ident, $blend:ident,
     $toint:ident, $fromint:ident, $iset1:ident, $iadd:ident, $isub:ident,
     $shl:ident, $shr:ident, $getexp:ident, $test:ident, $below:ident, $lookup:ident) => {
        impl Vector for $v {
            type Elem = $t;
            type Bits = $bits;
            type Mask = $mask;
            type Int = __m512i;
            const LANES: usize = $lanes;

            #[inline(always)]
            // SAFETY: the contract is the trait's.
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller's promise; AVX-512F is enabled.
                Self(unsafe { $load(p) })
            }
            #[inline(always)]
            // SAFETY: the contract is the trait's.
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller's promise; AVX-512F is enabled.
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
                // the processor's plain minimum raises a flag for NaN
                Self(op!($min::<_MM_FROUND_NO_EXC>(self.0, b.0)))
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                Self(op!($max::<_MM_FROUND_NO_EXC>(self.0, b.0)))
            }
            #[inline(always)]
            fn ldexp(self, k: Self) -> Self {
                Self(op!($scalef(self.0, k.0)))
            }
            #[inline(always)]
            fn scale(self, k: Self) -> Self {
                Self(op!($scalef(self.0, k.0)))
            }
            #[inline(always)]
            fn exponent(self) -> Self {
                Self(op!($getexp::<_MM_FROUND_NO_EXC>(self.0)))
            }
            #[inline(always)]
            fn lt(self, b: Self) -> $mask {
                op!($cmp::<_CMP_LT_OQ>(self.0, b.0))
            }
            #[inline(always)]
            fn not_lt(self, b: Self) -> $mask {
                op!($cmp::<_CMP_NLT_UQ>(self.0, b.0))
            }
            #[inline(always)]
            fn le(self, b: Self) -> $mask {
                op!($cmp::<_CMP_LE_OQ>(self.0, b.0))
            }
            #[inline(always)]
            fn eq(self, b: Self) -> $mask {
                op!($cmp::<_CMP_EQ_OQ>(self.0, b.0))
            }
            #[inline(always)]
            fn select(m: $mask, a: Self, b: Self) -> Self {
                Self(op!($blend(m, b.0, a.0)))
            }
            #[inline(always)]
            fn both(a: $mask, b: $mask) -> $mask {
                a & b
            }
            #[inline(always)]
            fn either(a: $mask, b: $mask) -> $mask {
                a | b
            }
            #[inline(always)]
            fn not(a: $mask) -> $mask {
                !a
            }
            #[inline(always)]
            fn any(a: $mask) -> bool {
                a != 0
            }
            #[inline(always)]
            fn bits(self) -> __m512i {
                op!($toint(self.0))
            }
            #[inline(always)]
            fn from_bits(i: __m512i) -> Self {
                Self(op!($fromint(i)))
            }
            #[inline(always)]
            fn int(x: $bits) -> __m512i {
                op!($iset1(x as $ibits))
            }
            #[inline(always)]
            fn iadd(a: __m512i, b: __m512i) -> __m512i {
                op!($iadd(a, b))
            }
            #[inline(always)]
            fn isub(a: __m512i, b: __m512i) -> __m512i {
                op!($isub(a, b))
            }
            #[inline(always)]
            fn iand(a: __m512i, b: __m512i) -> __m512i {
                op!(_mm512_and_si512(a, b))
            }
            #[inline(always)]
            fn ior(a: __m512i, b: __m512i) -> __m512i {
                op!(_mm512_or_si512(a, b))
            }
            #[inline(always)]
            fn ixor(a: __m512i, b: __m512i) -> __m512i {
                op!(_mm512_xor_si512(a, b))
            }
            #[inline(always)]
            fn shl<const K: u32>(a: __m512i) -> __m512i {
                op!($shl::<K>(a))
            }
            #[inline(always)]
            fn shr<const K: u32>(a: __m512i) -> __m512i {
                op!($shr::<K>(a))
            }
            #[inline(always)]
            fn is_odd(a: __m512i) -> $mask {
                op!($test(a, $iset1(1)))
            }
            #[inline(always)]
            fn is_below(a: __m512i, limit: $bits) -> $mask {
                op!($below(a, Self::int(limit)))
            }
            #[inline(always)]
            fn lookup(table: &'static Table<$t>, index: __m512i) -> Self {
                $lookup(table, index)
            }
            #[inline(always)]
            fn patch<R: Rare<$t>>(self, m: $mask, x: Self) -> Self {
                let (mut out, mut arg) = ([0.0; $lanes], [0.0; $lanes]);
                // SAFETY: both arrays hold one register.
                unsafe {
                    self.store(out.as_mut_ptr());
                    x.store(arg.as_mut_ptr());
                }
                for (i, (o, a)) in out.iter_mut().zip(arg).enumerate() {
                    if m >> i & 1 == 1 {
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
                #[target_feature(enable = "avx512f,avx2,fma")]
                fn out_of_line<C: Cold<$v>>(x: $v, y: $v) -> $v {
                    C::run(x, y)
                }
                op!(out_of_line::<C>(self, y))
            }
            #[inline(always)]
            fn sign_bit() -> __m512i {
                Self::int(!($bits::MAX >> 1))
            }
            #[inline(always)]
            fn abs_bits() -> __m512i {
                Self::int($bits::MAX >> 1)
            }
        }
    };
}

/// Entries of a table, which two registers hold.
#[inline(always)]
fn lookup_pd(table: &'static Table<f64>, index: __m512i) -> D8 {
    // SAFETY: both halves lie within the table; AVX-512F is enabled.
    D8(unsafe {
        _mm512_permutex2var_pd(_mm512_loadu_pd(table.0.as_ptr()), index, _mm512_loadu_pd(table.0.as_ptr().add(8)))
    })
}

/// Entries of a table, which one register holds.
#[inline(always)]
fn lookup_ps(table: &'static Table<f32>, index: __m512i) -> S16 {
    // SAFETY: the register is the table; AVX-512F is enabled.
    S16(unsafe { _mm512_permutexvar_ps(index, _mm512_loadu_ps(table.0.as_ptr())) })
}

#[rustfmt::skip]
avx512!(D8, f64, u64, i64, __mmask8, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_cvtsd_f64,
    _mm512_fmadd_pd, _mm512_sqrt_pd, _mm512_roundscale_pd, _mm512_min_round_pd, _mm512_max_round_pd,
    _mm512_scalef_pd, _mm512_cmp_pd_mask, _mm512_mask_blend_pd, _mm512_castpd_si512,
    _mm512_castsi512_pd, _mm512_set1_epi64, _mm512_add_epi64, _mm512_sub_epi64, _mm512_slli_epi64,
    _mm512_srli_epi64, _mm512_getexp_round_pd, _mm512_test_epi64_mask, _mm512_cmplt_epu64_mask, lookup_pd);
#[rustfmt::skip]
avx512!(S16, f32, u32, i32, __mmask16, 16, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps, _mm512_cvtss_f32,
    _mm512_fmadd_ps, _mm512_sqrt_ps, _mm512_roundscale_ps, _mm512_min_round_ps, _mm512_max_round_ps,
    _mm512_scalef_ps, _mm512_cmp_ps_mask, _mm512_mask_blend_ps, _mm512_castps_si512,
    _mm512_castsi512_ps, _mm512_set1_epi32, _mm512_add_epi32, _mm512_sub_epi32, _mm512_slli_epi32,
    _mm512_srli_epi32, _mm512_getexp_round_ps, _mm512_test_epi32_mask, _mm512_cmplt_epu32_mask, lookup_ps);

impl S16 {
    #[inline(always)]
    fn widen(self) -> (D8, D8) {
        op!({
            let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0));
            (D8(_mm512_cvtps_pd(_mm512_castps512_ps256(self.0))), D8(_mm512_cvtps_pd(_mm256_castpd_ps(high))))
        })
    }
    #[inline(always)]
    fn narrow(a: D8, b: D8) -> Self {
        Self(op!({
            let low = _mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.0)));
            let high = _mm256_castps_pd(_mm512_cvtpd_ps(b.0));
            _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, high))
        }))
    }
}

impl F32s for S16 {
    type Wide = D8;
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
