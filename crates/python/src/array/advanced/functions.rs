//! Functions of `numelt._core` that pick by position: what `take`, `nonzero` and their kin are made of.

use super::lookup::Lookup;
use super::positions::{Picks, Walk, column, compute, true_positions};
use crate::array::ndarray::{NdArray, wrap_new, wrap_view};
use crate::array::operand::Operand;
use numelt_ir::{DType, MAX_RANK, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, Input};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What happens to an index out of bounds.
enum Mode {
    Raise,
    Wrap,
    Clip,
}

impl Mode {
    fn parse(text: &str) -> PyResult<Mode> {
        match text {
            "raise" => Ok(Mode::Raise),
            "wrap" => Ok(Mode::Wrap),
            "clip" => Ok(Mode::Clip),
            other => Err(PyValueError::new_err(format!(
                "clipmode must be one of 'clip', 'raise', or 'wrap' (got '{other}')"
            ))),
        }
    }

    /// The index within bounds, unless bounds are to be checked.
    fn apply(&self, py: Python<'_>, index: &ArrayView, n: i64) -> PyResult<Option<ArrayView>> {
        let number = |op, value| compute(py, op, &[Input::Array(index), Input::Const(Scalar::I64(value))]);
        match self {
            Mode::Raise => Ok(None),
            Mode::Wrap => number(Op::Remainder, n).map(Some),
            Mode::Clip => number(Op::Maximum, 0).map(Some),
        }
    }
}

/// The elements at positions along an axis, as a new C-ordered array: `numpy.take`. `NotImplemented` for an array or
/// indices that are not native.
#[pyfunction]
#[pyo3(signature = (a, indices, axis, mode = "raise"))]
fn take<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    axis: usize,
    mode: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let mode = Mode::parse(mode)?;
    let nothing = || Ok(py.NotImplemented().into_bound(py));
    let (Some(Operand::Array(array)), Some(Operand::Array(index))) =
        (Operand::extract_quick(a), Operand::extract_quick(indices))
    else {
        return nothing();
    };
    let (Some(view), Some(index)) = (array.get().view(), index.get().view()) else { return nothing() };
    let integral = index.dtype.is_integer() || index.dtype == DType::Bool;
    if !integral || axis >= view.shape.len() {
        return nothing();
    }
    let rank = view.shape.len() - 1 + index.shape.len();
    if rank > MAX_RANK {
        // NumPy writes beyond the end of an array of its own here, instead of refusing
        let text = format!("number of dimensions must be within [0, {MAX_RANK}], got {rank}");
        return Err(PyValueError::new_err(text));
    }
    if view.shape[axis] == 0 && index.size() > 0 {
        return nothing();
    }
    let inside = mode.apply(py, index, view.shape[axis])?;
    // NumPy does not come to look at indices where there is nothing in front of the axis.
    let checked = inside.is_none() && !view.shape[..axis].contains(&0);
    let lookup = Lookup::along(view, axis, inside.unwrap_or_else(|| index.clone()));
    let picks = Picks::of(py, &lookup)?;
    let picks = if checked { picks } else { picks.trust() };
    let positions = picks.settle(py, &lookup, Walk::Rows)?;
    let extents = lookup.arrange(&positions.shape, &lookup.rest.0);
    let strides = c_strides(&extents, view.dtype.size() as i64);
    wrap_new(py, super::gather(py, &lookup, &positions, strides)?)
}

/// One array of indices per axis, of the elements that are not zero: `numpy.nonzero`.
#[pyfunction]
fn nonzero<'py>(py: Python<'py>, a: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let Some(view) = a.get().view().filter(|v| !v.shape.is_empty()) else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    let positions = true_positions(py, view)?;
    let whole = Bound::new(py, NdArray::new(positions.clone(), None, true))?;
    let columns = (0..view.shape.len()).map(|k| wrap_view(&whole, column(&positions, k)));
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, columns)?.into_any())
}

/// Are all elements of an array of integers in `0..n`? Looks at them now.
#[pyfunction]
fn within(py: Python<'_>, indices: &Bound<'_, NdArray>, n: i64) -> PyResult<Option<bool>> {
    let Some(view) = indices.get().view().filter(|v| v.dtype.is_integer()) else { return Ok(None) };
    let bounds = super::positions::bounds(py, view)?;
    Ok(Some(bounds.is_none_or(|(low, high)| low >= 0 && high < n)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take, module)?)?;
    module.add_function(wrap_pyfunction!(nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(within, module)?)
}
