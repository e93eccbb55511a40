//! Conversions between every pair of element types, with the results of C on x86-64.
//!
//! In: a value. Out: a value. A float that is out of range gives the result of the processor's conversion, as in NumPy:
//! the smallest 32- or 64-bit integer, of which the shorter types keep the low bits.

use crate::tier0::elem::{B8, Elem};
use numelt_ir::{Complex64, Complex128};

/// Conversion from `Self` to `U`.
pub trait To<U: Elem>: Elem {
    fn to(self) -> U;
}

/// A float as a 32-bit integer; out of range gives the smallest.
#[inline(always)]
fn f64_i32(x: f64) -> i32 {
    if x > -2147483649.0 && x < 2147483648.0 { x as i32 } else { i32::MIN }
}

/// A float as a 64-bit integer; out of range gives the smallest.
#[inline(always)]
fn f64_i64(x: f64) -> i64 {
    if (-9223372036854775808.0..9223372036854775808.0).contains(&x) { x as i64 } else { i64::MIN }
}

#[inline(always)]
fn f64_u32(x: f64) -> u32 {
    f64_i64(x) as u32
}

#[inline(always)]
fn f64_u64(x: f64) -> u64 {
    if x >= 9223372036854775808.0 { f64_i64(x - 9223372036854775808.0) as u64 ^ (1 << 63) } else { f64_i64(x) as u64 }
}

macro_rules! from_integer {
    ($($t:ty)*) => {$(
        plain!($t => i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
        impl To<B8> for $t {
            #[inline(always)]
            fn to(self) -> B8 {
                B8::new(self != 0)
            }
        }
        impl To<Complex64> for $t {
            #[inline(always)]
            fn to(self) -> Complex64 {
                Complex64 { re: self as f32, im: 0.0 }
            }
        }
        impl To<Complex128> for $t {
            #[inline(always)]
            fn to(self) -> Complex128 {
                Complex128 { re: self as f64, im: 0.0 }
            }
        }
    )*};
}
macro_rules! plain {
    ($t:ty => $($u:ty)*) => {$(
        impl To<$u> for $t {
            #[inline(always)]
            fn to(self) -> $u {
                self as $u
            }
        }
    )*};
}
from_integer!(i8 u8 i16 u16 i32 u32 i64 u64);

macro_rules! from_bool {
    ($($u:ty)*) => {$(
        impl To<$u> for B8 {
            #[inline(always)]
            fn to(self) -> $u {
                <u8 as To<$u>>::to(self.get() as u8)
            }
        }
    )*};
}
from_bool!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 Complex64 Complex128);
impl To<B8> for B8 {
    #[inline(always)]
    fn to(self) -> B8 {
        self
    }
}

macro_rules! from_float {
    ($($t:ty)*) => {$(
        plain!($t => f32 f64);
        from_float!(@int $t, f64_i32: i8 u8 i16 u16 i32);
        from_float!(@int $t, f64_u32: u32);
        from_float!(@int $t, f64_i64: i64);
        from_float!(@int $t, f64_u64: u64);
        impl To<B8> for $t {
            #[inline(always)]
            fn to(self) -> B8 {
                B8::new(self != 0.0)
            }
        }
        impl To<Complex64> for $t {
            #[inline(always)]
            fn to(self) -> Complex64 {
                Complex64 { re: self as f32, im: 0.0 }
            }
        }
        impl To<Complex128> for $t {
            #[inline(always)]
            fn to(self) -> Complex128 {
                Complex128 { re: self as f64, im: 0.0 }
            }
        }
    )*};
    (@int $t:ty, $via:ident: $($u:ty)*) => {$(
        impl To<$u> for $t {
            #[inline(always)]
            fn to(self) -> $u {
                $via(self as f64) as $u
            }
        }
    )*};
}
from_float!(f32 f64);

macro_rules! from_complex {
    ($t:ty, $r:ty: $($u:ty)*) => {
        $(impl To<$u> for $t {
            #[inline(always)]
            fn to(self) -> $u {
                <$r as To<$u>>::to(self.re)
            }
        })*
        impl To<B8> for $t {
            #[inline(always)]
            fn to(self) -> B8 {
                B8::new((self.re != 0.0) | (self.im != 0.0))
            }
        }
        impl To<Complex64> for $t {
            #[inline(always)]
            fn to(self) -> Complex64 {
                Complex64 { re: self.re as f32, im: self.im as f32 }
            }
        }
        impl To<Complex128> for $t {
            #[inline(always)]
            fn to(self) -> Complex128 {
                Complex128 { re: self.re as f64, im: self.im as f64 }
            }
        }
    };
}
from_complex!(Complex64, f32: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
from_complex!(Complex128, f64: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
