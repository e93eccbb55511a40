//! Vector elementary functions for f32 and f64.
//!
//! In: contiguous slices (for an interpreter) or vector registers (for compiled code).
//! Out: results at most 1 ULP from the true value over the whole domain, with NumPy's
//! special values. An element's result does not depend on the instruction set, the
//! vector width or its place in the array; only the sign and payload of a NaN may.
//! A call raises the processor's flags (see [`flags`]) for divide by zero, overflow and invalid where the true
//! function has them; a register function may raise more for arguments that are NaN, infinite or huge, a slice
//! function does not.
//!
//! Each algorithm is written once over the trait in [`vector`] and instantiated for
//! AVX-512F, AVX2 with FMA and one portable lane. No allocation, no threads and no
//! knowledge of strides or dtypes live here.
//!
//! Unsafe code: loads, stores and intrinsics in `lanes` and `squares`, the loops and symbols made from them, the status
//! register in `flags`.
//!
//! ```
//! use numelt_vecmath::{Func1, Isa, unary_f64};
//! let exp = unary_f64(Func1::Exp, Isa::detect());
//! let x = [0.0, 1.0, -0.0];
//! let mut y = [0.0; 3];
//! // SAFETY: both slices hold three elements and the instruction set was detected.
//! unsafe { exp(x.as_ptr(), y.as_mut_ptr(), 3) };
//! assert_eq!(y, [1.0, std::f64::consts::E, 1.0]);
//! ```

mod coeffs;
pub mod flags;
mod func;
mod isa;
mod lanes;
mod math;
mod set;
pub mod squares;
mod symbols;
pub mod trace;
mod vector;

pub use func::{Func1, Func2};
pub use math::exp::{EXPONENTIAL, Exponential};
pub use set::{GROUP, Slice1, Slice2};
pub use symbols::{Symbol, symbols};

use std::sync::OnceLock;

/// An instruction set to compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// 512-bit registers: AVX-512F.
    Avx512,
    /// 256-bit registers: AVX2 and FMA.
    Avx2,
    /// One lane at a time, on any processor.
    Portable,
}

impl Isa {
    /// All instruction sets, best first.
    pub const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Portable];

    /// The best instruction set of this processor.
    pub fn detect() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Self::detect_at_most(Self::Avx512))
    }

    /// The best instruction set of this processor that is not better than `limit`.
    pub fn detect_at_most(limit: Self) -> Self {
        let from = Self::ALL.iter().position(|isa| *isa == limit).unwrap_or(0);
        let mut candidates = Self::ALL[from..].iter().copied();
        candidates.find(|isa| isa.is_supported()).unwrap_or(Self::Portable)
    }

    /// Whether this processor can run it.
    #[cfg(target_arch = "x86_64")]
    pub fn is_supported(self) -> bool {
        let avx2 = || is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        match self {
            Self::Avx512 => is_x86_feature_detected!("avx512f") && avx2(),
            Self::Avx2 => avx2(),
            Self::Portable => true,
        }
    }

    /// Whether this processor can run it.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_supported(self) -> bool {
        self == Self::Portable
    }
}

/// Evaluates `$e` with `$set` standing for the instruction set `$isa`.
#[cfg(target_arch = "x86_64")]
macro_rules! with_set {
    ($isa:expr, $set:ident => $e:expr) => {
        match $isa {
            $crate::Isa::Avx512 => {
                type $set = $crate::isa::Avx512;
                $e
            }
            $crate::Isa::Avx2 => {
                type $set = $crate::isa::Avx2;
                $e
            }
            $crate::Isa::Portable => {
                type $set = $crate::isa::Portable;
                $e
            }
        }
    };
}
/// Evaluates `$e` with `$set` standing for the only instruction set there is.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! with_set {
    ($isa:expr, $set:ident => $e:expr) => {{
        let (Isa::Avx512 | Isa::Avx2 | Isa::Portable) = $isa;
        type $set = $crate::isa::Portable;
        $e
    }};
}
use with_set;

/// The f64 slice kernel of `f`.
///
/// Calling it is sound if `isa` is supported, the source is readable and the destination
/// writable for the given number of elements, and both are the same or do not overlap.
/// No alignment is needed.
pub fn unary_f64(f: Func1, isa: Isa) -> Slice1<f64> {
    with_set!(isa, S => f.slice_f64::<S>())
}

/// The f32 slice kernel of `f`; conditions as for [`unary_f64`].
pub fn unary_f32(f: Func1, isa: Isa) -> Slice1<f32> {
    with_set!(isa, S => f.slice_f32::<S>())
}

/// The f64 slice kernel of `f`; the destination may equal either source. Other
/// conditions as for [`unary_f64`].
pub fn binary_f64(f: Func2, isa: Isa) -> Slice2<f64> {
    with_set!(isa, S => f.slice_f64::<S>())
}

/// The f32 slice kernel of `f`; conditions as for [`binary_f64`].
pub fn binary_f32(f: Func2, isa: Isa) -> Slice2<f32> {
    with_set!(isa, S => f.slice_f32::<S>())
}
