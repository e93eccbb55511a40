//! Elementwise methods of arrays whose element type is known at compile time.
//!
//! Each calls the method of [`AnyArray`](crate::AnyArray) and states the element type of its result.

use super::{Argument, Array, Element, With};

macro_rules! typed {
    ($($name:ident -> $out:ty;)*) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = concat!("[`AnyArray::", stringify!($name), "`], with the type of the result.")]
                ///
                /// ```
                #[doc = concat!("let x = numelt::Array::from([1.0, 1.0]);")]
                #[doc = concat!("assert_eq!(x.", stringify!($name), "().shape(), &[2]);")]
                /// ```
                ///
                /// # Panics
                /// Those of that method.
                pub fn $name(&self) -> Array<$out> {
                    Array::of(self.as_any().$name())
                }
            )*
        }
    };
}

typed! {
    abs -> T::Real;
    arccos -> T::Float;
    arccosh -> T::Float;
    arcsin -> T::Float;
    arcsinh -> T::Float;
    arctan -> T::Float;
    arctanh -> T::Float;
    cbrt -> T::Float;
    ceil -> T;
    cos -> T::Float;
    cosh -> T::Float;
    exp -> T::Float;
    exp2 -> T::Float;
    expm1 -> T::Float;
    floor -> T;
    isfinite -> bool;
    isinf -> bool;
    isnan -> bool;
    log -> T::Float;
    log1p -> T::Float;
    log2 -> T::Float;
    log10 -> T::Float;
    logical_not -> bool;
    rint -> T::Float;
    round -> T;
    sin -> T::Float;
    sinh -> T::Float;
    sqrt -> T::Float;
    square -> T::Number;
    tan -> T::Float;
    tanh -> T::Float;
    trunc -> T;
    real -> T::Real;
    imag -> T::Real;
}

macro_rules! typed_comparisons {
    ($($name:ident)*) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = concat!("[`AnyArray::", stringify!($name), "`], with the type of the result.")]
                ///
                /// ```
                #[doc = concat!("assert_eq!(numelt::Array::from([1, 2]).", stringify!($name), "(1).shape(), &[2]);")]
                /// ```
                ///
                /// # Panics
                /// Those of that method.
                pub fn $name(&self, other: impl Argument) -> Array<bool> {
                    Array::of(self.as_any().$name(other))
                }
            )*
        }
    };
}

typed_comparisons! { equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor }

macro_rules! typed_binary {
    ($($name:ident -> $common:ident: $out:ty;)*) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = concat!("[`AnyArray::", stringify!($name), "`], with the type of the result.")]
                ///
                /// ```
                #[doc = concat!("assert_eq!(numelt::Array::from([1.0, 2.0]).", stringify!($name), "(1).shape(), &[2]);")]
                /// ```
                ///
                /// # Panics
                /// Those of that method.
                #[track_caller]
                pub fn $name<A: With<T, Common = $common>, $common: Element>(&self, other: A) -> Array<$out> {
                    Array::of(self.as_any().$name(other))
                }
            )*
        }
    };
}

typed_binary! {
    floor_divide -> C: C::Number;
    fmod -> C: C::Number;
    pow -> C: C::Number;
    maximum -> C: C;
    minimum -> C: C;
    fmax -> C: C;
    fmin -> C: C;
}
