//! The instruction sets: one implementation of [`Vector`](crate::vector::Vector) each.
//!
//! In: intrinsics. Out: register types. Nothing here knows any elementary function.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) mod pair;
pub(crate) mod scalar;

/// Adds the four operators to a register type from functions of the same shape.
#[cfg(target_arch = "x86_64")]
macro_rules! operators {
    ($v:ident, $add:ident, $sub:ident, $mul:ident, $div:ident) => {
        impl std::ops::Add for $v {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                // SAFETY: see the module: the instruction set is enabled.
                Self(unsafe { $add(self.0, b.0) })
            }
        }
        impl std::ops::Sub for $v {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                // SAFETY: see the module: the instruction set is enabled.
                Self(unsafe { $sub(self.0, b.0) })
            }
        }
        impl std::ops::Mul for $v {
            type Output = Self;
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                // SAFETY: see the module: the instruction set is enabled.
                Self(unsafe { $mul(self.0, b.0) })
            }
        }
        impl std::ops::Div for $v {
            type Output = Self;
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                // SAFETY: see the module: the instruction set is enabled.
                Self(unsafe { $div(self.0, b.0) })
            }
        }
        impl std::ops::Neg for $v {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.flip(Self::sign_bit())
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use operators;
