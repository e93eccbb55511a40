//! Reductions and scans: the arguments of Python's calls, for the rules of crate `numelt`.

use crate::array::operand::{self, Operand};
use crate::array::scalar;
use crate::numpy::{convert, errors};
use crate::object::fresh::{wrap_new, wrap_view};
use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use crate::record::reports;
use crate::ufunc::elementwise::{self, Native};
use numelt::rules::shape;
use numelt::statistics::{Average, Statistic};
use numelt::{Reduction, Scan, normalize_axis};
use numelt_ir::{Axes, DType, DTypeKind, Op, Scalar};
use numelt_runtime::ArrayView;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

/// The axes that an `axis=` argument names; `None` names all.
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

/// Checks that `axis=` of `argmax` or `argmin` names one axis or is left out.
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

/// One axis. A negative number counts from the end.
pub fn parse_axis(axis: &Bound<'_, PyAny>, rank: usize) -> PyResult<usize> {
    let py = axis.py();
    if axis.is_exact_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is required"));
    }
    let given: i64 = operand::index(axis)?;
    // NumPy lets arrays without axes be reduced along axis 0 and -1
    normalize_axis(given, rank).ok_or_else(|| errors::axis(py, given, rank))
}

/// The arguments of a reduction.
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

/// Records a reduction; `None` if NumPy has to run it or raise the error.
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
    if op == Op::Prod && view.dtype == DType::C64 && keeps_backward_axis(view, axes) {
        return Ok(None);
    }
    let out = match request.out.map(elementwise::output) {
        Some(None) => return Ok(None),
        Some(out) => out,
        None => None,
    };
    let reduction = Reduction { op, axes, keepdims: request.keepdims, dtype: request.dtype, out };
    elementwise::finish(py, reduction.record(&Attached(py), view)?, request.out)
}

/// Whether an axis that a reduction keeps runs backwards in memory. NumPy then multiplies numbers of complex64 in a
/// loop that rounds every product (`numelt::uses_scalar_loop`); its other loop does not round all of them.
fn keeps_backward_axis(view: &ArrayView, axes: Axes) -> bool {
    view.strides.iter().enumerate().any(|(axis, &stride)| stride < 0 && !axes.contains(axis))
}

/// The arguments of a mean or a variance as the rules take them; `None` if NumPy has to raise the error.
fn statistic(
    view: &ArrayView,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: bool,
    dtype: Option<DType>,
) -> PyResult<Option<Statistic>> {
    let axis = axis.filter(|axis| !axis.is_none());
    let integer = |axis: &Bound<'_, PyAny>| axis.is_exact_instance_of::<PyInt>();
    let integers = |axis: &Bound<'_, PyAny>| match axis.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter_borrowed().all(|one| integer(&one)),
        Err(_) => integer(axis),
    };
    // NumPy's mean has another error than its sum for an invalid axis
    if axis.is_some_and(|axis| view.shape.is_empty() || !integers(axis)) {
        return Ok(None);
    }
    Ok(Some(Statistic { axes: parse_axes(axis, view.shape.len())?, keepdims, dtype }))
}

/// The mean of an array; `None` if NumPy has to compute it, to warn or to raise the error.
pub fn mean<'py>(
    py: Python<'py>,
    view: &ArrayView,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    dtype: Option<DType>,
) -> Native<'py> {
    let Some(asked) = statistic(view, axis, keepdims, dtype)? else { return Ok(None) };
    finish_average(py, asked.mean(&Attached(py), view)?.recorded())
}

/// The variance of an array, or its square root; `None` if NumPy has to compute it, to warn or to raise the error.
pub fn variance<'py>(
    py: Python<'py>,
    view: &ArrayView,
    axis: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    ddof: f64,
    root: bool,
) -> Native<'py> {
    let Some(asked) = statistic(view, axis, keepdims, None)? else { return Ok(None) };
    let variance = asked.variance(&Attached(py), view, ddof)?.recorded();
    finish_average(py, variance.map(|variance| if root { variance.root() } else { variance }))
}

/// The result of a division: NumPy's scalar, divided now, if it has no axes; otherwise an array.
fn finish_average(py: Python<'_>, average: Option<Average>) -> Native<'_> {
    let Some(average) = average else { return Ok(None) };
    if average.is_scalar() && !scalar::are_arrays(py)? {
        let total = average.total(&Attached(py))?;
        reports::count(Op::Divide);
        if let Some(divisor) = average.meets_condition(total) {
            // NumPy's scalars report the condition, as those of its own `mean` do
            let total = convert::to_numpy_scalar(py, total)?;
            let divisor = convert::to_numpy_scalar(py, Scalar::I64(divisor as i64))?;
            return total.get_type().call1((total.div(divisor)?,)).map(Some);
        }
        return convert::to_numpy_scalar(py, average.of_total(total)).map(Some);
    }
    wrap_new(py, average.record(&Attached(py))?).map(Some)
}

/// Records a scan along one axis (`None`: over the flattened elements).
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

/// A view of the real or imaginary part of a complex array; the real part of a real array is the array itself.
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
