//! Instruction sets: which versions of the loops this machine can run.
//!
//! In: nothing. Out: [`Isa`], and the `versions!` macro, which instantiates one generic loop for each instruction set
//! and picks one at run time. Not here: any arithmetic.

pub use numelt_vecmath::Isa;

/// The best instruction set that every part of this engine can use on this machine.
pub(crate) fn detect() -> Isa {
    clamp(Isa::Avx512)
}

/// `isa`, or the best the machine has if that is lower.
pub(crate) fn clamp(isa: Isa) -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        // the features that `versions!` compiles for
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match isa {
            Isa::Avx512 if avx2 && avx512 => Isa::Avx512,
            Isa::Avx512 | Isa::Avx2 if avx2 => Isa::Avx2,
            Isa::Avx512 | Isa::Avx2 | Isa::Portable => Isa::Portable,
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = isa;
        Isa::Portable
    }
}

/// `versions!(pick, inner, [T: Bound, ...], (arg: Type, ...))` defines `pick::<T, ...>(isa)`, which returns `inner::<T,
/// ...>` compiled for that instruction set. `inner` must be `#[inline(always)]`. The returned function has `inner`'s
/// contract, and runs on machines that have the instruction set. With `two` in front there is no version for AVX-512,
/// and such machines run the version for AVX2: for loops that memory bounds, that halves the code at the same speed.
macro_rules! versions {
    (two $(#[$doc:meta])* $pick:ident, $inner:ident, [$($g:ident : $b:path),*], ($($p:ident : $t:ty),*)) => {
        $(#[$doc])*
        pub(crate) fn $pick<$($g: $b),*>(isa: $crate::isa::Isa) -> unsafe fn($($t),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,bmi2")]
                unsafe fn v3<$($g: $b),*>($($p: $t),*) {
                    // SAFETY: the caller keeps `inner`'s contract.
                    unsafe { $inner::<$($g),*>($($p),*) }
                }
                if isa != $crate::isa::Isa::Portable {
                    return v3::<$($g),*>;
                }
            }
            let _ = isa;
            unsafe fn v1<$($g: $b),*>($($p: $t),*) {
                // SAFETY: the caller keeps `inner`'s contract.
                unsafe { $inner::<$($g),*>($($p),*) }
            }
            v1::<$($g),*>
        }
    };
    ($(#[$doc:meta])* $pick:ident, $inner:ident, [$($g:ident : $b:path),*], ($($p:ident : $t:ty),*)) => {
        $(#[$doc])*
        pub(crate) fn $pick<$($g: $b),*>(isa: $crate::isa::Isa) -> unsafe fn($($t),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")]
                unsafe fn v4<$($g: $b),*>($($p: $t),*) {
                    // SAFETY: the caller keeps `inner`'s contract.
                    unsafe { $inner::<$($g),*>($($p),*) }
                }
                #[target_feature(enable = "avx2,fma,bmi2")]
                unsafe fn v3<$($g: $b),*>($($p: $t),*) {
                    // SAFETY: the caller keeps `inner`'s contract.
                    unsafe { $inner::<$($g),*>($($p),*) }
                }
                match isa {
                    $crate::isa::Isa::Avx512 => return v4::<$($g),*>,
                    $crate::isa::Isa::Avx2 => return v3::<$($g),*>,
                    $crate::isa::Isa::Portable => {}
                }
            }
            let _ = isa;
            unsafe fn v1<$($g: $b),*>($($p: $t),*) {
                // SAFETY: the caller keeps `inner`'s contract.
                unsafe { $inner::<$($g),*>($($p),*) }
            }
            v1::<$($g),*>
        }
    };
}
pub(crate) use versions;
