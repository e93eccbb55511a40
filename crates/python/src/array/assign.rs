//! Assignment of values to views: recorded copies, with NumPy's conversions and broadcasting.

use crate::array::ndarray::{NdArray, exact_native};
use crate::array::operand::Operand;
use crate::array::to_u32;
use crate::numpy::convert;
use crate::numpy::errors;
use crate::record::{errstate, run};
use numelt::Error;
use numelt::rules::resolve;
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt_ir::{Axes, DType, DTypeKind, Op, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Records `target[...] = value`; false when NumPy has to do it or to raise.
pub fn assign<'py>(py: Python<'py>, target: &ArrayView, value: &Bound<'py, PyAny>) -> PyResult<bool> {
    if let Some(source) = exact_native(value).and_then(NdArray::view) {
        return if target.is_injective() { assign_view(py, target, source) } else { Ok(false) };
    }
    match Operand::stored(value, target.dtype)? {
        // NumPy refuses a sequence that is nested deeper
        Some(items) if is_sequence(value) && items.shape().len() > target.shape.len() => Ok(false),
        Some(value) => assign_operand(py, target, &value),
        None => Ok(false),
    }
}

fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

/// [`assign`] of a native operand.
pub fn assign_operand(py: Python<'_>, target: &ArrayView, value: &Operand<'_>) -> PyResult<bool> {
    let none = Axes::default();
    if !target.is_injective() {
        return Ok(false);
    }
    if let Some(source) = value.view() {
        return assign_view(py, target, source);
    }
    let Some(value) = stored_literal(py, value, target.dtype)? else { return Ok(false) };
    if target.size() > 0 && !run::overwrite_few(py, target, value) {
        run::record(py, Op::Copy, target.dtype, target, &[Input::Const(value)], none)?;
    }
    Ok(true)
}

fn assign_view(py: Python<'_>, target: &ArrayView, source: &ArrayView) -> PyResult<bool> {
    if shape::same_window(target, source) {
        return Ok(true);
    }
    if drops_imaginary(source.dtype, target.dtype) {
        return Ok(false);
    }
    if source.shape == target.shape {
        return record(py, target, source);
    }
    let mut source = source.clone();
    // Leading axes of extent one that the target lacks do not count.
    while source.shape.len() > target.shape.len() && source.shape[0] == 1 {
        source.shape.remove(0);
        source.strides.remove(0);
    }
    let fits = source.shape.len() <= target.shape.len()
        && shape::broadcast(&[&source.shape, &target.shape]).as_ref() == Some(&target.shape);
    if !fits {
        let (value, target) = (source.shape.clone(), target.shape.clone());
        return Err(errors::from_rules(Error::AssignmentShape { value, target }));
    }
    record(py, target, &source)
}

/// Records `target[...] = source`, whose shapes fit.
pub fn record(py: Python<'_>, target: &ArrayView, source: &ArrayView) -> PyResult<bool> {
    if target.dtype == DType::U32
        && matches!(source.dtype, DType::F32 | DType::F64)
        && target.size() >= 4
        && to_u32::assign_u32(py, target, source)?
    {
        return Ok(true);
    }
    if target.size() > 0 && !run::copy_few(py, target, source) {
        run::record(py, Op::Copy, target.dtype, target, &[Input::Array(source)], Axes::default())?;
    }
    Ok(true)
}

/// Complex into real warns; that is NumPy's business.
pub fn drops_imaginary(from: DType, to: DType) -> bool {
    from.is_complex() && !to.is_complex() && to != DType::Bool
}

/// A number in the target's dtype, or `None` where NumPy raises or warns.
pub fn literal(value: &Operand<'_>, dtype: DType) -> Option<Scalar> {
    match value {
        Operand::Value(value) => {
            let risky = drops_imaginary(value.dtype(), dtype) || is_unsafe_float(*value, dtype);
            // An integer that does not fit raises, and NumPy does that.
            let cast = convert::cast(*value, dtype);
            let fits = !(value.dtype().is_integer() && dtype.is_integer()) || same_integer(*value, cast);
            (!risky && fits).then_some(cast)
        }
        Operand::Weak(weak, _) => python_literal(*weak, dtype),
        Operand::Array(_) => None,
    }
}

/// [`literal`] of a number that is stored: NumPy warns where it becomes infinite.
pub fn stored_literal(py: Python<'_>, value: &Operand<'_>, dtype: DType) -> PyResult<Option<Scalar>> {
    let Some(stored) = literal(value, dtype) else { return Ok(None) };
    let overflowed = match value {
        Operand::Value(value) => resolve::overflowed(*value, stored),
        Operand::Weak(weak, _) => weak.overflowed(stored),
        Operand::Array(_) => false,
    };
    if overflowed {
        errstate::literal_overflow(py)?;
    }
    Ok(Some(stored))
}

/// Do two integers of any dtypes have the same value?
fn same_integer(a: Scalar, b: Scalar) -> bool {
    let sign = |v: Scalar| matches!(convert::cast(v, DType::F64), Scalar::F64(x) if x < 0.0);
    convert::cast(a, DType::U64) == convert::cast(b, DType::U64) && sign(a) == sign(b)
}

fn python_literal(weak: Weak, dtype: DType) -> Option<Scalar> {
    match (weak, dtype.kind()) {
        (Weak::Float(v), DTypeKind::Bool) => Some(Scalar::Bool(v != 0.0)),
        (Weak::Complex(re, im), DTypeKind::Bool) => Some(Scalar::Bool(re != 0.0 || im != 0.0)),
        (Weak::Float(v), DTypeKind::Signed | DTypeKind::Unsigned) => {
            // As `int(v)`: what does not fit raises, and NumPy does that.
            let whole = v.trunc();
            let fits = whole.abs() < 2f64.powi(63);
            if fits { Weak::Int(whole as i64).to_scalar(dtype) } else { None }
        }
        (Weak::Int(_) | Weak::Unsigned(_), DTypeKind::Bool) => Some(Scalar::Bool(weak != Weak::Int(0))),
        _ => weak.to_scalar(dtype),
    }
}

/// A float value that an integer dtype cannot hold: NumPy warns about the cast.
fn is_unsafe_float(value: Scalar, dtype: DType) -> bool {
    if !value.dtype().is_float() || !dtype.is_integer() {
        return false;
    }
    match convert::cast(value, DType::F64) {
        Scalar::F64(v) => !v.is_finite() || python_literal(Weak::Float(v), dtype).is_none(),
        _ => false,
    }
}

/// Checks that an array may be written to by an assignment.
pub fn check_assignable(array: &NdArray) -> PyResult<()> {
    if array.writeable() { Ok(()) } else { Err(errors::from_rules(Error::ReadOnlyAssignment)) }
}
