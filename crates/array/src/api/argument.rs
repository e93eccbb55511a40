//! Operands of an operation: arrays, NumPy's scalars, and Rust's numbers.

use super::any_array::{AnyArray, done};
use super::array::Array;
use super::element::{Element, Promote};
use super::recorder::Recorder;
use crate::front::Front;
use crate::operand::Operand;
use crate::rules::resolve::Weak;
use numelt_ir::{Complex64, Complex128, Dims, Op, Scalar};
use numelt_runtime::Input;

/// An operand: an array; a [`Scalar`], whose dtype counts; or a number of Rust, which acts as a Python number does: its
/// dtype adapts to that of the arrays with which it is combined.
///
/// ```
/// use numelt::{Array, DType, Scalar};
/// let x = Array::from([1.0f32, 2.0]);
/// assert_eq!((&x + 0.5).dtype(), DType::F32);
/// assert_eq!(numelt::add(&x, Scalar::F64(0.5)).dtype(), DType::F64);
/// ```
pub trait Argument {
    /// The operand in the form that the rules take.
    fn operand(&self) -> Operand<'_>;

    /// An array with the value. For a number, it has no axes, and the dtype that NumPy gives such a number by itself.
    fn to_array(&self) -> AnyArray {
        zero_dimensional(&self.operand())
    }
}

impl Argument for AnyArray {
    fn operand(&self) -> Operand<'_> {
        Operand::Array(self.view())
    }

    fn to_array(&self) -> AnyArray {
        self.clone()
    }
}

impl<T: Element> Argument for Array<T> {
    fn operand(&self) -> Operand<'_> {
        Operand::Array(self.view())
    }

    fn to_array(&self) -> AnyArray {
        self.as_any().clone()
    }
}

impl<A: Argument + ?Sized> Argument for &A {
    fn operand(&self) -> Operand<'_> {
        (**self).operand()
    }

    fn to_array(&self) -> AnyArray {
        (**self).to_array()
    }
}

impl Argument for Scalar {
    fn operand(&self) -> Operand<'_> {
        Operand::Value(*self)
    }
}

/// An unsigned integer as a Python int.
fn unsigned(value: u64) -> Weak {
    i64::try_from(value).map_or(Weak::Unsigned(value), Weak::Int)
}

macro_rules! numbers {
    ($($type:ty: $value:ident => $weak:expr, $common:ident;)*) => {
        $(
            impl Argument for $type {
                fn operand(&self) -> Operand<'_> {
                    let $value = *self;
                    Operand::Weak($weak)
                }
            }

            impl<T: Element> With<T> for $type {
                type Common = T::$common;
            }
        )*
    };
}

/// An operand that is combined with an array of elements `T`, and their common type.
///
/// ```
/// use numelt::{DType, Element, With};
/// fn meets<T: Element, Other: With<T>>() -> DType {
///     Other::Common::DTYPE
/// }
/// assert_eq!(meets::<i32, f64>(), DType::F64);
/// assert_eq!(meets::<f32, f64>(), DType::F32);
/// ```
pub trait With<T: Element>: Argument {
    /// The common type.
    type Common: Element;
}

impl<T: Promote<U>, U: Element> With<T> for Array<U> {
    type Common = T::Output;
}

impl<T: Element, A: With<T>> With<T> for &A {
    type Common = A::Common;
}

numbers! {
    i8: v => Weak::Int(v.into()), WithInt;
    i16: v => Weak::Int(v.into()), WithInt;
    i32: v => Weak::Int(v.into()), WithInt;
    i64: v => Weak::Int(v), WithInt;
    isize: v => Weak::Int(v as i64), WithInt;
    u8: v => Weak::Int(v.into()), WithInt;
    u16: v => Weak::Int(v.into()), WithInt;
    u32: v => Weak::Int(v.into()), WithInt;
    u64: v => unsigned(v), WithInt;
    usize: v => unsigned(v as u64), WithInt;
    f32: v => Weak::Float(v.into()), WithFloat;
    f64: v => Weak::Float(v), WithFloat;
    Complex64: v => Weak::Complex(v.re.into(), v.im.into()), WithComplex;
    Complex128: v => Weak::Complex(v.re, v.im), WithComplex;
}

impl Argument for bool {
    fn operand(&self) -> Operand<'_> {
        Operand::Weak(Weak::Bool(*self))
    }
}

impl<T: Element> With<T> for bool {
    type Common = T;
}

/// A number as an array without axes.
pub(crate) fn zero_dimensional(operand: &Operand<'_>) -> AnyArray {
    let value = match operand {
        Operand::Array(view) => return AnyArray::new((*view).clone()),
        Operand::Value(value) => *value,
        Operand::Weak(weak) => match weak.default_dtype().and_then(|dtype| weak.to_scalar(dtype)) {
            Some(value) => value,
            None => unreachable!("Rust's numbers are no larger than 64 bits"),
        },
    };
    let view = Recorder.fresh(value.dtype(), &[], Dims::new());
    done(Recorder.record(Op::Copy, value.dtype(), &view, &[Input::Const(value)], Default::default()));
    AnyArray::new(view)
}
