//! Assignment of new elements to an array.

use crate::answer::{Answer, NotNative};
use crate::error::Error;
use crate::front::Front;
use crate::operand::Operand;
use crate::rules::resolve::{self, Weak};
use crate::rules::shape;
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, DTypeKind, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// Records `target[...] = value`: as in NumPy, the value is converted to the target's dtype, even if that loses
/// information.
///
/// # Errors
/// If the value does not fit the target's shape; and errors of recording.
pub fn assign<F: Front>(front: &F, target: &ArrayView, value: &Operand<'_>) -> Result<Answer<()>, F::Error> {
    if target.to_ir(0).overlaps_itself() != Some(false) {
        return Ok(Answer::NotNative(NotNative::Output));
    }
    let fitted;
    let input = match value {
        Operand::Array(source) if shape::same_window(target, source) => return Ok(Answer::Recorded(())),
        Operand::Array(source) => {
            if drops_imaginary(source.dtype, target.dtype) {
                return Ok(Answer::NotNative(NotNative::Loop));
            }
            fitted = fit(source, target).map_err(|error| front.error(error))?;
            Input::Array(&fitted)
        }
        Operand::Value(_) | Operand::Weak(_) => match literal(value, target.dtype) {
            Some(stored) => {
                if overflowed(value, stored) {
                    front.literal_overflow()?;
                }
                Input::Const(stored)
            }
            None => return Ok(Answer::NotNative(NotNative::Number)),
        },
    };
    if target.size() > 0 {
        front.record(Op::Copy, target.dtype, target, &[input], Axes::default())?;
    }
    Ok(Answer::Recorded(()))
}

/// The source, broadcast to a target. Leading axes of extent one that the target lacks are ignored.
///
/// # Errors
/// [`Error::AssignmentShape`].
pub fn fit(source: &ArrayView, target: &ArrayView) -> Result<ArrayView, Error> {
    let mut fitted = source.clone();
    while fitted.shape.len() > target.shape.len() && fitted.shape[0] == 1 {
        fitted.shape.remove(0);
        fitted.strides.remove(0);
    }
    let fits = fitted.shape.len() <= target.shape.len()
        && shape::broadcast(&[&fitted.shape, &target.shape]).as_ref() == Some(&target.shape);
    if fits {
        Ok(fitted)
    } else {
        // NumPy's message has the value's shape without the ignored axes
        Err(Error::AssignmentShape { value: fitted.shape, target: target.shape.clone() })
    }
}

/// Whether a conversion drops imaginary parts, of which NumPy warns.
pub fn drops_imaginary(from: DType, to: DType) -> bool {
    from.is_complex() && !to.is_complex() && to != DType::Bool
}

/// A number in the dtype of the array in which it is stored, or `None` if NumPy raises or warns.
pub fn literal(value: &Operand<'_>, dtype: DType) -> Option<Scalar> {
    match value {
        Operand::Value(value) => {
            let risky = drops_imaginary(value.dtype(), dtype) || is_unsafe_float(*value, dtype);
            // NumPy raises for an integer that does not fit
            let stored = cast(*value, dtype);
            let fits = !(value.dtype().is_integer() && dtype.is_integer()) || same_integer(*value, stored);
            (!risky && fits).then_some(stored)
        }
        Operand::Weak(weak) => python_literal(*weak, dtype),
        Operand::Array(_) => None,
    }
}

/// Whether a finite number has become infinite when it was stored.
pub fn overflowed(value: &Operand<'_>, stored: Scalar) -> bool {
    match value {
        Operand::Value(value) => resolve::overflowed(*value, stored),
        Operand::Weak(weak) => weak.overflowed(stored),
        Operand::Array(_) => false,
    }
}

/// Whether two integers of any dtypes have the same value.
fn same_integer(a: Scalar, b: Scalar) -> bool {
    let sign = |v: Scalar| matches!(cast(v, DType::F64), Scalar::F64(x) if x < 0.0);
    cast(a, DType::U64) == cast(b, DType::U64) && sign(a) == sign(b)
}

fn python_literal(weak: Weak, dtype: DType) -> Option<Scalar> {
    match (weak, dtype.kind()) {
        (Weak::Float(v), DTypeKind::Bool) => Some(Scalar::Bool(v != 0.0)),
        (Weak::Complex(re, im), DTypeKind::Bool) => Some(Scalar::Bool(re != 0.0 || im != 0.0)),
        (Weak::Float(v), DTypeKind::Signed | DTypeKind::Unsigned) => {
            // like `int(v)`; NumPy raises for a number that does not fit
            let whole = v.trunc();
            let fits = whole.abs() < 2f64.powi(63);
            if fits { Weak::Int(whole as i64).to_scalar(dtype) } else { None }
        }
        (Weak::Int(_) | Weak::Unsigned(_), DTypeKind::Bool) => Some(Scalar::Bool(weak != Weak::Int(0))),
        _ => weak.to_scalar(dtype),
    }
}

/// Whether an integer dtype cannot hold a float value: NumPy warns about the cast.
fn is_unsafe_float(value: Scalar, dtype: DType) -> bool {
    if !value.dtype().is_float() || !dtype.is_integer() {
        return false;
    }
    match cast(value, DType::F64) {
        Scalar::F64(v) => !v.is_finite() || python_literal(Weak::Float(v), dtype).is_none(),
        _ => false,
    }
}
