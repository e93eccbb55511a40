//! The list of functions, declared once.
//!
//! Out: [`Func1`], [`Func2`], a marker type per function that carries its two algorithms,
//! and the tables from function to instance for an instruction set. No algorithm here.

use crate::isa::Set;
use crate::math::{f32s, f64s};
use crate::vector::{F32s, F64s};

/// A slice kernel of one argument: source, destination, number of elements.
///
/// # Safety
/// Source and destination hold that many elements; they are the same or do not overlap.
pub type Slice1<T> = unsafe fn(*const T, *mut T, usize);
/// A slice kernel of two arguments: both sources, destination, number of elements.
///
/// # Safety
/// As for [`Slice1`].
pub type Slice2<T> = unsafe fn(*const T, *const T, *mut T, usize);

/// The algorithms of a function of one argument.
pub(crate) trait Unary {
    /// NumPy's name.
    const NAME: &'static str;
    /// Are infinite results of finite arguments poles (divide by zero) rather than overflow?
    const POLE: bool = false;
    fn f64<V: F64s>(x: V) -> V;
    fn f32<V: F32s>(x: V) -> V;
    /// The same bits by a shorter algorithm, where all lanes are far from the ends of the domain and all results
    /// finite.
    #[inline(always)]
    fn quick_f64<V: F64s>(_: V) -> Option<V> {
        None
    }
    /// Whether this algorithm exists, for f64 and for f32.
    const QUICK_F64: bool = false;
    const QUICK_F32: bool = false;
    /// The same for f32.
    #[inline(always)]
    fn quick_f32<V: F32s>(_: V) -> Option<V> {
        None
    }
}

/// The algorithms of a function of two arguments.
pub(crate) trait Binary {
    /// NumPy's name.
    const NAME: &'static str;
    /// Are infinite results of a first argument of zero poles (divide by zero) rather than overflow?
    const POLE: bool = false;
    /// Are arguments compared, so that NaN is invalid?
    const COMPARES: bool = false;
    fn f64<V: F64s>(x: V, y: V) -> V;
    fn f32<V: F32s>(x: V, y: V) -> V;
}

/// Does the function of this name have a pole at a finite argument?
const fn has_pole(name: &str) -> bool {
    matches!(name.as_bytes(), b"log" | b"log2" | b"log10" | b"log1p" | b"arctanh" | b"pow")
}

macro_rules! unary_markers {
    ($($variant:ident $name:ident,)*) => {
        /// One marker type per function of one argument.
        pub(crate) mod unary {
            use super::{F32s, F64s, Func1, Unary, f32s, f64s};

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
                    const QUICK_F64: bool = f64s::has_quick(super::Func1::$variant);
                    const QUICK_F32: bool = f32s::has_quick(super::Func1::$variant);
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
                        f64s::quick(super::Func1::$variant, x)
                    }
                    #[inline(always)]
                    fn quick_f32<V: F32s>(x: V) -> Option<V> {
                        f32s::quick(super::Func1::$variant, x)
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
