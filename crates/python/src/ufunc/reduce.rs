//! Reductions and scans: the arguments of Python's calls for the rules of crate `numelt`.

use crate::array::ndarray::{NdArray, wrap_view};
use crate::array::operand::{self, Operand};
use crate::numpy::errors;
use crate::record::front::Attached;
use crate::ufunc::elementwise::{self, Native};
use numelt::rules::shape;
use numelt::{Reduction, Scan, normalize_axis};
use numelt_ir::{Axes, DType, DTypeKind, Op};
use numelt_runtime::ArrayView;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

/// Which axes an `axis=` argument names: `None` is all.
pub fn parse_axes(axis: Option<&Bound<'_, PyAny>>, rank: usize) -> PyResult<Axes> {
    let Some(axis) = axis.filter(|a| !a.is_none()) else { return Ok(Axes::all(rank)) };
    if let Ok(list) = axis.cast::<PyTuple>() {
        let mut axes = Axes::default();
        for item in list {
            let one = parse_axis(&item, rank)?;
            if axes.contains(one) {
                return Err(PyValueError::new_err("duplicate value in 'axis'"));
            }
            axes = axes.with(one);
        }
        return Ok(axes);
    }
    parse_axis(axis, rank).map(|a| Axes::default().with(a))
}

/// Positions are along one axis, or all.
fn check_single_axis(axis: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match axis {
        Some(axis) if axis.is_instance_of::<PyTuple>() => {
            Err(PyTypeError::new_err("'tuple' object cannot be interpreted as an integer"))
        }
        Some(axis) if axis.is_exact_instance_of::<PyBool>() => {
            Err(PyTypeError::new_err("an integer is required for the axis"))
        }
        Some(_) | None => Ok(()),
    }
}

/// One axis, counted from the end when negative.
pub fn parse_axis(axis: &Bound<'_, PyAny>, rank: usize) -> PyResult<usize> {
    let py = axis.py();
    if axis.is_exact_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is required"));
    }
    let given: i64 = operand::index(axis)?;
    // NumPy lets 0-d arrays be reduced along axis 0 and -1.
    normalize_axis(given, rank).ok_or_else(|| errors::axis(py, given, rank))
}

/// How a reduction is asked for.
pub struct Request<'a, 'py> {
    /// `axis=`
    pub axis: Option<&'a Bound<'py, PyAny>>,
    /// `keepdims=`
    pub keepdims: bool,
    /// `dtype=`: the loop dtype.
    pub dtype: Option<DType>,
    /// `out=`
    pub out: Option<&'a Bound<'py, NdArray>>,
}

/// Records a reduction; `None` when NumPy has to do it or to raise.
pub fn reduce<'py>(py: Python<'py>, op: Op, source: &Operand<'py>, request: &Request<'_, 'py>) -> Native<'py> {
    let Some(view) = source.view() else { return Ok(None) };
    let rank = view.shape.len();
    if rank == 0 && request.axis.is_some_and(|a| !a.is_none()) {
        return Ok(None);
    }
    if matches!(op, Op::Argmin | Op::Argmax) {
        check_single_axis(request.axis)?;
    }
    let axes = parse_axes(request.axis, rank)?;
    let out = match request.out.map(elementwise::output) {
        Some(None) => return Ok(None),
        Some(out) => out,
        None => None,
    };
    let reduction = Reduction { op, axes, keepdims: request.keepdims, dtype: request.dtype, out };
    elementwise::finish(py, reduction.record(&Attached(py), view)?, request.out)
}

/// Records a running fold along one axis (`None`: over the flattened elements).
pub fn scan<'py>(
    py: Python<'py>,
    op: Op,
    source: &Operand<'py>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<DType>,
    out: Option<&Bound<'py, NdArray>>,
) -> Native<'py> {
    let Some(view) = source.view() else { return Ok(None) };
    let target = match out.map(elementwise::output) {
        Some(None) => return Ok(None),
        Some(target) => target,
        None => None,
    };
    let mut scan = Scan { op, axis: None, dtype, out: target };
    if scan.loop_dtype(view.dtype).is_none() {
        return Ok(None);
    }
    scan.axis = axis.filter(|a| !a.is_none()).map(|axis| parse_axis(axis, view.shape.len())).transpose()?;
    elementwise::finish(py, scan.record(&Attached(py), view)?, out)
}

/// The real or imaginary part as a view (complex), or of a real array itself.
pub fn complex_part<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, imaginary: bool) -> Native<'py> {
    if view.dtype.kind() != DTypeKind::Complex {
        return Ok(None);
    }
    let real = view.dtype.real();
    let offset = view.offset + if imaginary { real.size() as i64 } else { 0 };
    let mut part = shape::window(view, offset, view.shape.clone(), view.strides.clone());
    part.dtype = real;
    wrap_view(array, part).map(Some)
}
