//! Scalar arithmetic per element type: what each operation of the table means for one element.
//!
//! In: values. Out: values; no memory is touched here. The loops in `loops.rs` are generic over these
//! traits, so that one definition serves every instruction set. Semantics are NumPy's: integers wrap,
//! division by zero of integers gives zero, float division with remainder follows Python's signs.

use numelt_ir::parts::FloatFunctions;
use numelt_ir::{Complex64, Complex128, DType, F16};

/// A NumPy boolean: a byte, true when not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct B8(pub u8);

impl B8 {
    /// From a truth value.
    #[inline(always)]
    pub fn new(v: bool) -> B8 {
        B8(v as u8)
    }
    /// The truth value.
    #[inline(always)]
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

/// A type of elements in memory.
///
/// # Safety
/// Any bit pattern is a valid value, and the size is `DTYPE.size()`.
pub unsafe trait Elem: Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;
}

macro_rules! elems {
    ($($t:ty: $d:ident),*) => {$(
        // SAFETY: plain numbers of that size (a `B8` is a byte of any value).
        unsafe impl Elem for $t {
            const DTYPE: DType = DType::$d;
        }
    )*};
}
elems!(B8: Bool, i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, F16: F16, f32: F32, f64: F64, Complex64: C64, Complex128: C128);

/// The operations of every element type.
pub trait Any: Elem {
    /// Type of `absolute`.
    type Real: Elem;
    fn add(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// The product inside folded runs and powers, where NumPy rounds complex values differently.
    #[inline(always)]
    fn mul_in_run(self, o: Self) -> Self {
        self.mul(o)
    }
    fn abs(self) -> Self::Real;
    fn eq(self, o: Self) -> bool;
    fn lt(self, o: Self) -> bool;
    fn le(self, o: Self) -> bool;
    fn truth(self) -> bool;
    fn nan(self) -> bool;
    fn inf(self) -> bool;
    fn finite(self) -> bool;
    /// The neutral element of `add`.
    const ZERO: Self;
    /// The neutral element of `mul`.
    const ONE: Self;

    /// NumPy's maximum: NaN wins; of equal values the second is returned, as by NumPy's vector loops.
    #[inline(always)]
    fn max(self, o: Self) -> Self {
        if o.lt(self) | self.nan() { self } else { o }
    }
    /// NumPy's minimum.
    #[inline(always)]
    fn min(self, o: Self) -> Self {
        if self.lt(o) | self.nan() { self } else { o }
    }
    /// The maximum, where numbers are preferred to NaN.
    #[inline(always)]
    fn fmax(self, o: Self) -> Self {
        if o.lt(self) | o.nan() { self } else { o }
    }
    /// The minimum, where numbers are preferred to NaN.
    #[inline(always)]
    fn fmin(self, o: Self) -> Self {
        if self.lt(o) | o.nan() { self } else { o }
    }
}

/// Arithmetic of numbers (every type but bool).
pub trait Number: Any {
    fn sub(self, o: Self) -> Self;
    fn neg(self) -> Self;
    fn sign(self) -> Self;
    fn recip(self) -> Self;
    fn conj(self) -> Self;
    fn pow(self, o: Self) -> Self;
}

/// Division with remainder: integers and floats.
pub trait Real: Number {
    fn floor_div(self, o: Self) -> Self;
    fn rem(self, o: Self) -> Self;
    fn fmod(self, o: Self) -> Self;
}

/// Bit operations: bool and integers.
pub trait Bits: Any {
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    fn xor(self, o: Self) -> Self;
    fn not(self) -> Self;
}

/// Shifts: integers.
pub trait Integer: Bits {
    fn shl(self, o: Self) -> Self;
    fn shr(self, o: Self) -> Self;
}

/// Division and square root: floats and complex.
pub trait Inexact: Number {
    fn div(self, o: Self) -> Self;
    fn sqrt(self) -> Self;
    fn rint(self) -> Self;
}

/// Operations of floats only.
pub trait Float: Inexact + Real {
    fn copysign(self, o: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn signbit(self) -> bool;
}

/// Operations that use the exponents of floats.
pub trait Scales: Any + FloatFunctions {}
impl<T: Any + FloatFunctions> Scales for T {}

impl Any for B8 {
    type Real = B8;
    const ZERO: B8 = B8(0);
    const ONE: B8 = B8(1);
    #[inline(always)]
    fn add(self, o: B8) -> B8 {
        B8::new(self.get() | o.get())
    }
    #[inline(always)]
    fn mul(self, o: B8) -> B8 {
        B8::new(self.get() & o.get())
    }
    #[inline(always)]
    fn abs(self) -> B8 {
        self
    }
    #[inline(always)]
    fn eq(self, o: B8) -> bool {
        self.get() == o.get()
    }
    #[inline(always)]
    fn lt(self, o: B8) -> bool {
        !self.get() & o.get()
    }
    #[inline(always)]
    fn le(self, o: B8) -> bool {
        !self.get() | o.get()
    }
    #[inline(always)]
    fn truth(self) -> bool {
        self.get()
    }
    #[inline(always)]
    fn nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn inf(self) -> bool {
        false
    }
    #[inline(always)]
    fn finite(self) -> bool {
        true
    }
}

impl Bits for B8 {
    #[inline(always)]
    fn and(self, o: B8) -> B8 {
        B8::new(self.get() & o.get())
    }
    #[inline(always)]
    fn or(self, o: B8) -> B8 {
        B8::new(self.get() | o.get())
    }
    #[inline(always)]
    fn xor(self, o: B8) -> B8 {
        B8::new(self.get() ^ o.get())
    }
    #[inline(always)]
    fn not(self) -> B8 {
        B8::new(!self.get())
    }
}

/// The part of `Any` that integers and floats share.
macro_rules! any_real {
    ($t:ty) => {
        #[inline(always)]
        fn eq(self, o: $t) -> bool {
            self == o
        }
        #[inline(always)]
        fn lt(self, o: $t) -> bool {
            self < o
        }
        #[inline(always)]
        fn le(self, o: $t) -> bool {
            self <= o
        }
        #[inline(always)]
        fn truth(self) -> bool {
            self != Self::ZERO
        }
    };
}

/// Repeated squaring with wrap-around. The front end refuses negative exponents as NumPy does; here they give zero.
macro_rules! integer_power {
    ($base:expr, $exp:expr, $t:ty) => {{
        let (mut base, mut exp, mut out): ($t, $t, $t) = ($base, $exp, 1);
        #[allow(unused_comparisons)] // unsigned types share the code
        if exp < 0 {
            out = 0;
        }
        while exp > 0 {
            if exp & 1 == 1 {
                out = out.wrapping_mul(base);
            }
            base = base.wrapping_mul(base);
            exp >>= 1;
        }
        out
    }};
}

macro_rules! integers {
    ($($t:ty, $unsigned:ty, |$v:ident| $abs:expr, $sign:expr, $recip:expr, |$a:ident, $b:ident| $floor:expr, $rem:expr;)*) => {$(
        impl Any for $t {
            type Real = $t;
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline(always)]
            fn add(self, o: $t) -> $t {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn mul(self, o: $t) -> $t {
                self.wrapping_mul(o)
            }
            #[inline(always)]
            fn abs(self) -> $t {
                let $v = self;
                $abs
            }
            any_real!($t);
            #[inline(always)]
            fn nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn inf(self) -> bool {
                false
            }
            #[inline(always)]
            fn finite(self) -> bool {
                true
            }
        }
        impl Number for $t {
            #[inline(always)]
            fn sub(self, o: $t) -> $t {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn neg(self) -> $t {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn sign(self) -> $t {
                let $v = self;
                $sign
            }
            #[inline(always)]
            fn recip(self) -> $t {
                let $v = self;
                $recip
            }
            #[inline(always)]
            fn conj(self) -> $t {
                self
            }
            #[inline(always)]
            fn pow(self, o: $t) -> $t {
                integer_power!(self, o, $t)
            }
        }
        impl Real for $t {
            #[inline(always)]
            fn floor_div(self, o: $t) -> $t {
                let ($a, $b) = (self, o);
                if o == 0 { 0 } else { $floor }
            }
            #[inline(always)]
            fn rem(self, o: $t) -> $t {
                let ($a, $b) = (self, o);
                if o == 0 { 0 } else { $rem }
            }
            #[inline(always)]
            fn fmod(self, o: $t) -> $t {
                if o == 0 { 0 } else { self.wrapping_rem(o) }
            }
        }
        impl Bits for $t {
            #[inline(always)]
            fn and(self, o: $t) -> $t {
                self & o
            }
            #[inline(always)]
            fn or(self, o: $t) -> $t {
                self | o
            }
            #[inline(always)]
            fn xor(self, o: $t) -> $t {
                self ^ o
            }
            #[inline(always)]
            fn not(self) -> $t {
                !self
            }
        }
        impl Integer for $t {
            #[inline(always)]
            fn shl(self, o: $t) -> $t {
                // a negative count becomes a huge unsigned one
                if (o as $unsigned) < <$t>::BITS as $unsigned { self.wrapping_shl(o as u32) } else { 0 }
            }
            #[inline(always)]
            fn shr(self, o: $t) -> $t {
                let count = if (o as $unsigned) < <$t>::BITS as $unsigned { o as u32 } else { <$t>::BITS - 1 };
                let out = self.wrapping_shr(count);
                // an unsigned value has lost every bit, a signed one keeps its sign
                if <$t>::MIN == 0 && (o as $unsigned) >= <$t>::BITS as $unsigned { 0 } else { out }
            }
        }
    )*};
}

/// Quotient rounded towards minus infinity and the remainder with the divisor's sign.
macro_rules! signed {
    ($($t:ty, $u:ty, $zero:expr;)*) => {
        integers! {$(
            $t, $u, |v| v.wrapping_abs(), v.signum(),
            // 1/0 converts infinity, which gives the smallest integer for 32 and 64 bits, and zero for the shorter
            // types
            if v == 0 { $zero } else { (1 as $t).wrapping_div(v) },
            |a, b| {
                let q = a.wrapping_div(b);
                if a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0)) { q.wrapping_sub(1) } else { q }
            },
            {
                let r = a.wrapping_rem(b);
                if r != 0 && ((r < 0) != (b < 0)) { r.wrapping_add(b) } else { r }
            };
        )*}
    };
}
macro_rules! unsigned {
    ($($t:ty, $zero:expr;)*) => {
        integers! {$( $t, $t, |v| v, (v != 0) as $t, if v == 0 { $zero } else { 1 / v }, |a, b| a / b, a % b; )*}
    };
}
signed! { i8, u8, 0; i16, u16, 0; i32, u32, i32::MIN; i64, u64, i64::MIN; }
unsigned! { u8, 0; u16, 0; u32, 0; u64, 0; }

/// Quotient and remainder of floats, for a divisor that is not zero. The remainder is exact (`fmod`) and takes the
/// divisor's sign. The quotient is the exact one rounded, and never one too small.
macro_rules! float_divmod {
    ($a:expr, $b:expr, $t:ident) => {{
        let (a, b): ($t, $t) = ($a, $b);
        let mut rem = a % b;
        let mut div = (a - rem) / b;
        if rem != 0.0 {
            if (b < 0.0) != (rem < 0.0) {
                rem += b;
                div -= 1.0;
            }
        } else {
            rem = (0.0 as $t).copysign(b);
        }
        let quotient = if div != 0.0 {
            let floor = div.floor();
            if div - floor > 0.5 { floor + 1.0 } else { floor }
        } else {
            (0.0 as $t).copysign(a / b)
        };
        (quotient, rem)
    }};
}

macro_rules! floats {
    ($($t:ident),*) => {$(
        impl Any for $t {
            type Real = $t;
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline(always)]
            fn add(self, o: $t) -> $t {
                self + o
            }
            #[inline(always)]
            fn mul(self, o: $t) -> $t {
                self * o
            }
            #[inline(always)]
            fn abs(self) -> $t {
                $t::abs(self)
            }
            any_real!($t);
            #[inline(always)]
            fn nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn inf(self) -> bool {
                self.is_infinite()
            }
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
        }
        impl Number for $t {
            #[inline(always)]
            fn sub(self, o: $t) -> $t {
                self - o
            }
            #[inline(always)]
            fn neg(self) -> $t {
                -self
            }
            #[inline(always)]
            fn sign(self) -> $t {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else if self == 0.0 {
                    0.0
                } else {
                    self
                }
            }
            #[inline(always)]
            fn recip(self) -> $t {
                1.0 / self
            }
            #[inline(always)]
            fn conj(self) -> $t {
                self
            }
            #[inline(always)]
            fn pow(self, o: $t) -> $t {
                self.powf(o)
            }
        }
        impl Real for $t {
            #[inline(always)]
            fn floor_div(self, o: $t) -> $t {
                if o == 0.0 { self / o } else { float_divmod!(self, o, $t).0 }
            }
            #[inline(always)]
            fn rem(self, o: $t) -> $t {
                if o == 0.0 { self % o } else { float_divmod!(self, o, $t).1 }
            }
            #[inline(always)]
            fn fmod(self, o: $t) -> $t {
                self % o
            }
        }
        impl Inexact for $t {
            #[inline(always)]
            fn div(self, o: $t) -> $t {
                self / o
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn rint(self) -> $t {
                self.round_ties_even()
            }
        }
        impl Float for $t {
            #[inline(always)]
            fn copysign(self, o: $t) -> $t {
                $t::copysign(self, o)
            }
            #[inline(always)]
            fn floor(self) -> $t {
                $t::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> $t {
                $t::ceil(self)
            }
            #[inline(always)]
            fn trunc(self) -> $t {
                $t::trunc(self)
            }
            #[inline(always)]
            fn signbit(self) -> bool {
                self.is_sign_negative()
            }
        }
    )*};
}
floats!(f32, f64);
