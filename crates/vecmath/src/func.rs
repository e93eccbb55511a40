//! The list of functions, declared once.
//!
//! Out: [`Func1`], [`Func2`], a marker type per function that carries its two algorithms,
//! and the tables from function to instance for an instruction set. No algorithm here.

use crate::math::{f32s, f64s};
use crate::set::{Set, Slice1, Slice2};
use crate::vector::{Binary, F32s, F64s, Unary};

/// The functions that have a shorter algorithm for most arguments.
macro_rules! shorter {
    ($bound:ident: $($variant:ident $quick:ident),*) => {
        /// The shorter algorithm, where there is one and it does for all lanes.
        #[inline(always)]
        pub(crate) fn quick<V: $bound>(f: Func1, x: V) -> Option<V> {
            match f {
                $(Func1::$variant => $quick(x),)*
                // no result is infinite, or not a number, but that of such an argument
                Func1::Arctan => Some(arctan(x)),
                Func1::Tanh => Some(tanh(x)),
                Func1::Erf => Some(erf(x)),
                _ => None,
            }
        }

        /// Is there one?
        pub(crate) const fn has_quick(f: Func1) -> bool {
            matches!(f, $(Func1::$variant)|* | Func1::Arctan | Func1::Tanh | Func1::Erf)
        }
    };
}

/// The shorter algorithms for f64 lanes.
mod quick64 {
    use super::Func1;
    use crate::math::f64s::*;
    use crate::vector::F64s;

    shorter!(F64s:
        Exp exp_inside, Exp2 exp2_quick, Expm1 expm1_quick, Sin sin_quick, Cos cos_quick, Tan tan_quick,
        Arcsin arcsin_quick, Arccos arccos_quick, Sinh sinh_quick, Cosh cosh_quick, Log log_quick, Log2 log2_quick,
        Log10 log10_quick, Log1p log1p_quick, Arcsinh arcsinh_quick, Arccosh arccosh_quick, Arctanh arctanh_quick,
        Cbrt cbrt_quick);
}

/// The shorter algorithms for f32 lanes.
mod quick32 {
    use super::Func1;
    use crate::math::f32s::*;
    use crate::vector::F32s;

    shorter!(F32s:
        Exp exp_quick, Exp2 exp2_quick, Expm1 expm1_quick, Sin sin_quick, Cos cos_quick, Tan tan_quick,
        Arcsin arcsin_quick, Arccos arccos_quick, Sinh sinh_quick, Cosh cosh_quick, Log log_quick, Log2 log2_quick,
        Log10 log10_quick, Log1p log1p_quick, Arcsinh arcsinh_quick, Arccosh arccosh_quick, Arctanh arctanh_quick,
        Cbrt cbrt_quick);
}

/// Does the function of this name have a pole at a finite argument?
const fn has_pole(name: &str) -> bool {
    matches!(name.as_bytes(), b"log" | b"log2" | b"log10" | b"log1p" | b"arctanh" | b"pow")
}

macro_rules! unary_markers {
    ($($variant:ident $name:ident,)*) => {
        /// One marker type per function of one argument.
        pub(crate) mod unary {
            use super::{F32s, F64s, Func1, Unary, f32s, f64s, quick32, quick64};

            /// A function of f64 lanes.
            pub(crate) fn of_f64<V: F64s>(f: Func1, x: V) -> V {
                match f {
                    $(Func1::$variant => f64s::$name(x),)*
                }
            }

            /// A function of f32 lanes.
            pub(crate) fn of_f32<V: F32s>(f: Func1, x: V) -> V {
                match f {
                    $(Func1::$variant => f32s::$name(x),)*
                }
            }
            $(
                pub(crate) struct $variant;
                impl Unary for $variant {
                    const NAME: &'static str = stringify!($name);
                    const POLE: bool = super::has_pole(stringify!($name));
                    const QUICK_F64: bool = quick64::has_quick(super::Func1::$variant);
                    const QUICK_F32: bool = quick32::has_quick(super::Func1::$variant);
                    #[inline(always)]
                    fn f64<V: F64s>(x: V) -> V {
                        f64s::$name(x)
                    }
                    #[inline(always)]
                    fn f32<V: F32s>(x: V) -> V {
                        f32s::$name(x)
                    }
                    #[inline(always)]
                    fn quick_f64<V: F64s>(x: V) -> Option<V> {
                        quick64::quick(super::Func1::$variant, x)
                    }
                    #[inline(always)]
                    fn quick_f32<V: F32s>(x: V) -> Option<V> {
                        quick32::quick(super::Func1::$variant, x)
                    }
                }
            )*
        }
    };
}

macro_rules! binary_markers {
    ($($variant:ident $name:ident,)*) => {
        /// One marker type per function of two arguments.
        pub(crate) mod binary {
            use super::{Binary, F32s, F64s, Func2, f32s, f64s};

            /// A function of f64 lanes.
            pub(crate) fn of_f64<V: F64s>(f: Func2, x: V, y: V) -> V {
                match f {
                    $(Func2::$variant => f64s::$name(x, y),)*
                }
            }

            /// A function of f32 lanes.
            pub(crate) fn of_f32<V: F32s>(f: Func2, x: V, y: V) -> V {
                match f {
                    $(Func2::$variant => f32s::$name(x, y),)*
                }
            }
            $(
                pub(crate) struct $variant;
                impl Binary for $variant {
                    const NAME: &'static str = stringify!($name);
                    const POLE: bool = super::has_pole(stringify!($name));
                    const COMPARES: bool = matches!(super::Func2::$variant, Func2::Logaddexp | Func2::Logaddexp2);
                    #[inline(always)]
                    fn f64<V: F64s>(x: V, y: V) -> V {
                        f64s::$name(x, y)
                    }
                    #[inline(always)]
                    fn f32<V: F32s>(x: V, y: V) -> V {
                        f32s::$name(x, y)
                    }
                }
            )*
        }
    };
}

/// Declares an enum, its marker types and the tables over it.
macro_rules! functions {
    ($(#[$doc:meta])* $enum:ident, $trait:ident, $slice:ident, $slice64:ident, $slice32:ident,
     $registers:ident, $groups:ident, $scalars:ident,
     $markers:ident, $mark:ident, $($variant:ident $name:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $(#[doc = concat!("NumPy's `", stringify!($name), "`.")] $variant,)*
        }

        impl $enum {
            /// Every function, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// NumPy's name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($name)),*
                }
            }

            pub(crate) fn slice_f64<S: Set>(self) -> $slice<f64> {
                match self {
                    $(Self::$variant => S::$slice64::<$markers::$variant>()),*
                }
            }

            pub(crate) fn slice_f32<S: Set>(self) -> $slice<f32> {
                match self {
                    $(Self::$variant => S::$slice32::<$markers::$variant>()),*
                }
            }

            /// Addresses of the register functions, f64 and f32.
            pub(crate) fn registers<S: Set>(self) -> Vec<usize> {
                match self {
                    $(Self::$variant => S::$registers::<$markers::$variant>()),*
                }
            }

            /// Addresses of the functions of groups of registers, f64 and f32, each if there is one.
            pub(crate) fn groups<S: Set>(self) -> [Option<usize>; 2] {
                match self {
                    $(Self::$variant => S::$groups::<$markers::$variant>()),*
                }
            }

            /// Addresses of the scalar functions, f64 and f32.
            pub(crate) fn scalars<S: Set>(self) -> [usize; 2] {
                match self {
                    $(Self::$variant => S::$scalars::<$markers::$variant>()),*
                }
            }
        }

        $mark! { $($variant $name,)* }
    };
}

functions! {
    /// Functions of one argument.
    Func1, Unary, Slice1, unary_f64, unary_f32, registers1, groups1, scalars1, unary, unary_markers,
    Exp exp, Exp2 exp2, Expm1 expm1, Log log, Log2 log2, Log10 log10, Log1p log1p,
    Sin sin, Cos cos, Tan tan, Arcsin arcsin, Arccos arccos, Arctan arctan,
    Sinh sinh, Cosh cosh, Tanh tanh, Arcsinh arcsinh, Arccosh arccosh, Arctanh arctanh,
    Cbrt cbrt, Erf erf, Sqrt sqrt,
}

functions! {
    /// Functions of two arguments.
    Func2, Binary, Slice2, binary_f64, binary_f32, registers2, groups2, scalars2, binary,
    binary_markers,
    Pow pow, Arctan2 arctan2, Hypot hypot, Logaddexp logaddexp, Logaddexp2 logaddexp2,
}
