//! Assignment of values to views: recorded copies, with NumPy's conversions and broadcasting.
//!
//! In: a view to write and a value. Out: recorded copies; or false, and the caller then calls NumPy.

use crate::array::operand::Operand;
use crate::array::to_u32;
use crate::numpy::errors;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::{errstate, run};
use numelt::Error;
pub use numelt::assign::drops_imaginary;
use numelt::assign::{fit, overflowed};
use numelt::rules::shape;
use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// Records `target[...] = value`; false if NumPy has to do it or to raise the error.
pub fn assign<'py>(py: Python<'py>, target: &ArrayView, value: &Bound<'py, PyAny>) -> PyResult<bool> {
    if let Some(source) = exact_native(value).and_then(NdArray::view) {
        return if target.is_injective() { assign_view(py, target, source) } else { Ok(false) };
    }
    match Operand::stored(value, target.dtype)? {
        // NumPy raises an error for a sequence that is nested deeper than the target has axes
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
    record(py, target, &fit(source, target).map_err(errors::from_rules)?)
}

/// Records `target[...] = source`, whose shapes are equal or broadcast already.
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

/// A number in the target's dtype; `None` if NumPy raises or warns.
pub fn literal(value: &Operand<'_>, dtype: DType) -> Option<Scalar> {
    numelt::assign::literal(&value.rule()?, dtype)
}

/// [`literal`] of a number that is stored. NumPy warns if it becomes infinite.
pub fn stored_literal(py: Python<'_>, value: &Operand<'_>, dtype: DType) -> PyResult<Option<Scalar>> {
    let Some(value) = value.rule() else { return Ok(None) };
    let Some(stored) = numelt::assign::literal(&value, dtype) else { return Ok(None) };
    if overflowed(&value, stored) {
        errstate::literal_overflow(py)?;
    }
    Ok(Some(stored))
}

/// Checks that an assignment may write to an array.
pub fn check_assignable(array: &NdArray) -> PyResult<()> {
    if array.writeable() { Ok(()) } else { Err(errors::from_rules(Error::ReadOnlyAssignment)) }
}
