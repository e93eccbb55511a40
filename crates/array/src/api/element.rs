//! The Rust types of elements, and the types of results that follow from them.

use numelt_ir::{Complex64, Complex128, DType, F16, Scalar};
use std::cmp::Ordering;
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
}

/// A Rust type of array elements: `bool`, the integers from 8 to 64 bits, [`F16`], `f32`, `f64`, and the complex
/// numbers [`Complex64`](crate::Complex64) and [`Complex128`](crate::Complex128).
///
/// The associated types are the rules by which NumPy chooses the dtypes of results.
///
/// ```
/// use numelt::{DType, Element};
/// assert_eq!(f32::DTYPE, DType::F32);
/// assert_eq!(<u8 as Element>::Quotient::DTYPE, DType::F64);
/// assert_eq!(<u8 as Element>::Total::DTYPE, DType::U64);
/// ```
pub trait Element: Copy + Default + PartialEq + Debug + Send + Sync + 'static + sealed::Sealed {
    /// The dtype.
    const DTYPE: DType;
    /// The type of absolute values, and of the parts of complex numbers.
    type Real: Element;
    /// The type of roots, exponentials and other functions that need floats.
    type Float: Element;
    /// The type of quotients and means.
    type Quotient: Element;
    /// The type of remainders and powers: truth values become small integers.
    type Number: Element;
    /// The type of sums and products over elements.
    type Total: Element;
    /// The type of an operation with a Rust integer.
    type WithInt: Element;
    /// The type of an operation with a Rust float.
    type WithFloat: Element;
    /// The type of an operation with a complex number.
    type WithComplex: Element;

    /// The value of a scalar of this dtype.
    fn from_scalar(scalar: Scalar) -> Option<Self>;

    /// The value as a scalar.
    fn into_scalar(self) -> Scalar;

    /// The order in which NumPy sorts: NaN comes last, and complex numbers are ordered by their real part first.
    fn order(&self, other: &Self) -> Ordering;
}

/// Floats in order, NaN last; both zeros are equal.
fn float_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Complex numbers in order: first those without NaN, then those with a NaN as the imaginary part, as the real part,
/// and as both.
fn complex_order(a: (f64, f64), b: (f64, f64)) -> Ordering {
    let class = |z: (f64, f64)| 2 * u8::from(z.0.is_nan()) + u8::from(z.1.is_nan());
    class(a).cmp(&class(b)).then(float_order(a.0, b.0)).then(float_order(a.1, b.1))
}

macro_rules! elements {
    ($($type:ty, $dtype:ident $order:expr; $real:ty, $float:ty, $quotient:ty, $number:ty, $total:ty, $int:ty, $with:ty, $complex:ty;)*) => {
        $(
            impl sealed::Sealed for $type {}

            impl Element for $type {
                const DTYPE: DType = DType::$dtype;
                type Real = $real;
                type Float = $float;
                type Quotient = $quotient;
                type Number = $number;
                type Total = $total;
                type WithInt = $int;
                type WithFloat = $with;
                type WithComplex = $complex;

                fn from_scalar(scalar: Scalar) -> Option<Self> {
                    if let Scalar::$dtype(value) = scalar { Some(value) } else { None }
                }

                fn into_scalar(self) -> Scalar {
                    Scalar::$dtype(self)
                }

                fn order(&self, other: &Self) -> Ordering {
                    let order: fn(&Self, &Self) -> Ordering = $order;
                    order(self, other)
                }
            }
        )*
    };
}

elements! {
    // the type and its dtype: real, float, quotient, number, total, with an int, with a float, with a complex
    bool, Bool Ord::cmp; bool, F16, f64, i8, i64, i64, f64, Complex128;
    i8, I8 Ord::cmp; i8, F16, f64, i8, i64, i8, f64, Complex128;
    u8, U8 Ord::cmp; u8, F16, f64, u8, u64, u8, f64, Complex128;
    i16, I16 Ord::cmp; i16, f32, f64, i16, i64, i16, f64, Complex128;
    u16, U16 Ord::cmp; u16, f32, f64, u16, u64, u16, f64, Complex128;
    i32, I32 Ord::cmp; i32, f64, f64, i32, i64, i32, f64, Complex128;
    u32, U32 Ord::cmp; u32, f64, f64, u32, u64, u32, f64, Complex128;
    i64, I64 Ord::cmp; i64, f64, f64, i64, i64, i64, f64, Complex128;
    u64, U64 Ord::cmp; u64, f64, f64, u64, u64, u64, f64, Complex128;
    F16, F16 |a, b| float_order(a.to_f64(), b.to_f64()); F16, F16, F16, F16, F16, F16, F16, Complex64;
    f32, F32 |a, b| float_order(f64::from(*a), f64::from(*b)); f32, f32, f32, f32, f32, f32, f32, Complex64;
    f64, F64 |a, b| float_order(*a, *b); f64, f64, f64, f64, f64, f64, f64, Complex128;
    Complex64, C64 |a, b| complex_order((a.re.into(), a.im.into()), (b.re.into(), b.im.into())); f32, Complex64, Complex64, Complex64, Complex64, Complex64, Complex64, Complex64;
    Complex128, C128 |a, b| complex_order((a.re, a.im), (b.re, b.im)); f64, Complex128, Complex128, Complex128, Complex128, Complex128, Complex128, Complex128;
}

/// Evaluates an expression with a name for the Rust type of a dtype's elements.
macro_rules! with_element {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            numelt_ir::DType::Bool => {
                type $name = bool;
                $body
            }
            numelt_ir::DType::I8 => {
                type $name = i8;
                $body
            }
            numelt_ir::DType::U8 => {
                type $name = u8;
                $body
            }
            numelt_ir::DType::I16 => {
                type $name = i16;
                $body
            }
            numelt_ir::DType::U16 => {
                type $name = u16;
                $body
            }
            numelt_ir::DType::I32 => {
                type $name = i32;
                $body
            }
            numelt_ir::DType::U32 => {
                type $name = u32;
                $body
            }
            numelt_ir::DType::I64 => {
                type $name = i64;
                $body
            }
            numelt_ir::DType::U64 => {
                type $name = u64;
                $body
            }
            numelt_ir::DType::F16 => {
                type $name = numelt_ir::F16;
                $body
            }
            numelt_ir::DType::F32 => {
                type $name = f32;
                $body
            }
            numelt_ir::DType::F64 => {
                type $name = f64;
                $body
            }
            numelt_ir::DType::C64 => {
                type $name = numelt_ir::Complex64;
                $body
            }
            numelt_ir::DType::C128 => {
                type $name = numelt_ir::Complex128;
                $body
            }
        }
    };
}
pub(crate) use with_element;

/// The common dtype of two dtypes: `numpy.promote_types`.
///
/// ```
/// use numelt::{DType, Element, Promote};
/// fn meets<T: Promote<U>, U: Element>() -> DType {
///     T::Output::DTYPE
/// }
/// assert_eq!(meets::<i32, f32>(), DType::F64);
/// assert_eq!(meets::<u8, i8>(), DType::I16);
/// ```
pub trait Promote<Other: Element>: Element {
    /// The common type.
    type Output: Element;
}

macro_rules! promotions {
    ($($left:ty: $($right:ty => $common:ty),*;)*) => {
        $($(
            impl Promote<$right> for $left {
                type Output = $common;
            }
        )*)*
    };
}

promotions! {
    bool: bool => bool, i8 => i8, u8 => u8, i16 => i16, u16 => u16, i32 => i32, u32 => u32, i64 => i64, u64 => u64,
        F16 => F16, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    i8: bool => i8, i8 => i8, u8 => i16, i16 => i16, u16 => i32, i32 => i32, u32 => i64, i64 => i64, u64 => f64,
        F16 => F16, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    u8: bool => u8, i8 => i16, u8 => u8, i16 => i16, u16 => u16, i32 => i32, u32 => u32, i64 => i64, u64 => u64,
        F16 => F16, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    i16: bool => i16, i8 => i16, u8 => i16, i16 => i16, u16 => i32, i32 => i32, u32 => i64, i64 => i64, u64 => f64,
        F16 => f32, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    u16: bool => u16, i8 => i32, u8 => u16, i16 => i32, u16 => u16, i32 => i32, u32 => u32, i64 => i64, u64 => u64,
        F16 => f32, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    i32: bool => i32, i8 => i32, u8 => i32, i16 => i32, u16 => i32, i32 => i32, u32 => i64, i64 => i64, u64 => f64,
        F16 => f64, f32 => f64, f64 => f64, Complex64 => Complex128, Complex128 => Complex128;
    u32: bool => u32, i8 => i64, u8 => u32, i16 => i64, u16 => u32, i32 => i64, u32 => u32, i64 => i64, u64 => u64,
        F16 => f64, f32 => f64, f64 => f64, Complex64 => Complex128, Complex128 => Complex128;
    i64: bool => i64, i8 => i64, u8 => i64, i16 => i64, u16 => i64, i32 => i64, u32 => i64, i64 => i64, u64 => f64,
        F16 => f64, f32 => f64, f64 => f64, Complex64 => Complex128, Complex128 => Complex128;
    u64: bool => u64, i8 => f64, u8 => u64, i16 => f64, u16 => u64, i32 => f64, u32 => u64, i64 => f64, u64 => u64,
        F16 => f64, f32 => f64, f64 => f64, Complex64 => Complex128, Complex128 => Complex128;
    F16: bool => F16, i8 => F16, u8 => F16, i16 => f32, u16 => f32, i32 => f64, u32 => f64, i64 => f64, u64 => f64,
        F16 => F16, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    f32: bool => f32, i8 => f32, u8 => f32, i16 => f32, u16 => f32, i32 => f64, u32 => f64, i64 => f64, u64 => f64,
        F16 => f32, f32 => f32, f64 => f64, Complex64 => Complex64, Complex128 => Complex128;
    f64: bool => f64, i8 => f64, u8 => f64, i16 => f64, u16 => f64, i32 => f64, u32 => f64, i64 => f64, u64 => f64,
        F16 => f64, f32 => f64, f64 => f64, Complex64 => Complex128, Complex128 => Complex128;
    Complex64: bool => Complex64, i8 => Complex64, u8 => Complex64, i16 => Complex64, u16 => Complex64, i32 => Complex128, u32 => Complex128, i64 => Complex128, u64 => Complex128,
        F16 => Complex64, f32 => Complex64, f64 => Complex128, Complex64 => Complex64, Complex128 => Complex128;
    Complex128: bool => Complex128, i8 => Complex128, u8 => Complex128, i16 => Complex128, u16 => Complex128, i32 => Complex128, u32 => Complex128, i64 => Complex128, u64 => Complex128,
        F16 => Complex128, f32 => Complex128, f64 => Complex128, Complex64 => Complex128, Complex128 => Complex128;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::resolve::{Kind, Weak, accumulator, promote, resolve};
    use numelt_ir::Op;

    fn check_pair<T: Promote<U>, U: Element>() {
        assert_eq!(T::Output::DTYPE, T::DTYPE.promote(U::DTYPE), "{} and {}", T::DTYPE, U::DTYPE);
    }

    fn check<T>()
    where
        T: Promote<bool> + Promote<i8> + Promote<u8> + Promote<i16> + Promote<u16> + Promote<i32> + Promote<u32>,
        T: Promote<i64>
            + Promote<u64>
            + Promote<F16>
            + Promote<f32>
            + Promote<f64>
            + Promote<Complex64>
            + Promote<Complex128>,
    {
        check_pair::<T, bool>();
        check_pair::<T, i8>();
        check_pair::<T, u8>();
        check_pair::<T, i16>();
        check_pair::<T, u16>();
        check_pair::<T, i32>();
        check_pair::<T, u32>();
        check_pair::<T, i64>();
        check_pair::<T, u64>();
        check_pair::<T, F16>();
        check_pair::<T, f32>();
        check_pair::<T, f64>();
        check_pair::<T, Complex64>();
        check_pair::<T, Complex128>();
        let own = Kind::Strong(T::DTYPE);
        let with = |weak| promote(&[own, Kind::Weak(weak)]);
        assert_eq!(with(Weak::Int(1)), Some(T::WithInt::DTYPE));
        assert_eq!(with(Weak::Float(1.0)), Some(T::WithFloat::DTYPE));
        assert_eq!(with(Weak::Complex(1.0, 1.0)), Some(T::WithComplex::DTYPE));
        let output = |op, kinds: &[Kind]| resolve(op, kinds).map(|found| found.output());
        assert_eq!(output(Op::Exp, &[own]), Some(T::Float::DTYPE));
        assert_eq!(output(Op::Divide, &[own, own]), Some(T::Quotient::DTYPE));
        assert_eq!(output(Op::Absolute, &[own]), Some(T::Real::DTYPE));
        assert_eq!(output(Op::Power, &[own, own]), Some(T::Number::DTYPE));
        assert_eq!(accumulator(T::DTYPE), T::Total::DTYPE);
        assert_eq!(T::from_scalar(T::default().into_scalar()), Some(T::default()));
    }

    #[test]
    fn types_of_results_are_what_the_rules_say() {
        check::<bool>();
        check::<i8>();
        check::<u8>();
        check::<i16>();
        check::<u16>();
        check::<i32>();
        check::<u32>();
        check::<i64>();
        check::<u64>();
        check::<F16>();
        check::<f32>();
        check::<f64>();
        check::<Complex64>();
        check::<Complex128>();
    }
}
