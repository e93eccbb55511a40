//! Half-precision elements: every operation goes through f32 and rounds once.
//!
//! In: values. Out: values. Kernels compute in f32 already (the kernel form inserts the conversions). Only folds, scans
//! and selections use this type directly.

use crate::tier0::cast::To;
use crate::tier0::elem::{Any, B8, Number};
use numelt_ir::{Complex64, Complex128, F16};

impl Any for F16 {
    type Real = F16;
    const ZERO: F16 = F16::ZERO;
    const ONE: F16 = F16::ONE;
    #[inline(always)]
    fn add(self, o: F16) -> F16 {
        F16::from_f32(self.to_f32() + o.to_f32())
    }
    #[inline(always)]
    fn mul(self, o: F16) -> F16 {
        F16::from_f32(self.to_f32() * o.to_f32())
    }
    #[inline(always)]
    fn abs(self) -> F16 {
        self.absolute()
    }
    #[inline(always)]
    fn eq(self, o: F16) -> bool {
        self.to_f32() == o.to_f32()
    }
    #[inline(always)]
    fn lt(self, o: F16) -> bool {
        self.to_f32() < o.to_f32()
    }
    #[inline(always)]
    fn le(self, o: F16) -> bool {
        self.to_f32() <= o.to_f32()
    }
    #[inline(always)]
    fn truth(self) -> bool {
        self.0 & 0x7FFF != 0
    }
    #[inline(always)]
    fn nan(self) -> bool {
        self.0 & 0x7FFF > 0x7C00
    }
    #[inline(always)]
    fn inf(self) -> bool {
        self.0 & 0x7FFF == 0x7C00
    }
    #[inline(always)]
    fn finite(self) -> bool {
        self.0 & 0x7FFF < 0x7C00
    }
    // the first of equal values, as in NumPy
    #[inline(always)]
    fn max(self, o: F16) -> F16 {
        if o.le(self) | self.nan() { self } else { o }
    }
    #[inline(always)]
    fn min(self, o: F16) -> F16 {
        if self.le(o) | self.nan() { self } else { o }
    }
    #[inline(always)]
    fn fmax(self, o: F16) -> F16 {
        if o.le(self) | o.nan() { self } else { o }
    }
    #[inline(always)]
    fn fmin(self, o: F16) -> F16 {
        if self.le(o) | o.nan() { self } else { o }
    }
}

impl Number for F16 {
    #[inline(always)]
    fn sub(self, o: F16) -> F16 {
        F16::from_f32(self.to_f32() - o.to_f32())
    }
    #[inline(always)]
    fn neg(self) -> F16 {
        self.negated()
    }
    #[inline(always)]
    fn sign(self) -> F16 {
        F16::from_f32(self.to_f32().sign())
    }
    #[inline(always)]
    fn recip(self) -> F16 {
        F16::from_f32(1.0 / self.to_f32())
    }
    #[inline(always)]
    fn conj(self) -> F16 {
        self
    }
    #[inline(always)]
    fn pow(self, o: F16) -> F16 {
        F16::from_f32(self.to_f32().powf(o.to_f32()))
    }
}

macro_rules! from_half {
    ($($u:ty)*) => {$(
        impl To<$u> for F16 {
            #[inline(always)]
            fn to(self) -> $u {
                <f32 as To<$u>>::to(self.to_f32())
            }
        }
    )*};
}
from_half!(i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 Complex64 Complex128);

macro_rules! to_half {
    ($($t:ty)*) => {$(
        impl To<F16> for $t {
            #[inline(always)]
            fn to(self) -> F16 {
                F16::from_f32(<$t as To<f32>>::to(self))
            }
        }
    )*};
}
to_half!(B8 i8 u8 i16 u16 i32 u32 i64 u64 f32 Complex64);

impl To<F16> for f64 {
    #[inline(always)]
    fn to(self) -> F16 {
        F16::from_f64(self)
    }
}
impl To<F16> for Complex128 {
    #[inline(always)]
    fn to(self) -> F16 {
        F16::from_f64(self.re)
    }
}
impl To<F16> for F16 {
    #[inline(always)]
    fn to(self) -> F16 {
        self
    }
}
impl To<B8> for F16 {
    #[inline(always)]
    fn to(self) -> B8 {
        B8::new(self.truth())
    }
}
