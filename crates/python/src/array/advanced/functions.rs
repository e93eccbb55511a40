//! Functions of `numelt._core` that select by position, of which `take`, `nonzero` and the like consist.

use crate::array::ndarray::{NdArray, wrap_new, wrap_view};
use crate::array::operand::Operand;
use crate::record::front::Attached;
use numelt::Answer;
use numelt::indexing::{self, Mode, column, true_positions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

fn mode_of(text: &str) -> PyResult<Mode> {
    match text {
        "raise" => Ok(Mode::Raise),
        "wrap" => Ok(Mode::Wrap),
        "clip" => Ok(Mode::Clip),
        other => {
            Err(PyValueError::new_err(format!("clipmode must be one of 'clip', 'raise', or 'wrap' (got '{other}')")))
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
    let mode = mode_of(mode)?;
    let nothing = || Ok(py.NotImplemented().into_bound(py));
    let (Some(Operand::Array(array)), Some(Operand::Array(index))) =
        (Operand::extract_quick(a), Operand::extract_quick(indices))
    else {
        return nothing();
    };
    let (Some(view), Some(index)) = (array.get().view(), index.get().view()) else { return nothing() };
    if axis >= view.shape.len() {
        return nothing();
    }
    match indexing::take(&Attached(py), view, axis, index, mode)? {
        Answer::Recorded(taken) => wrap_new(py, taken),
        Answer::NotNative(_) => nothing(),
    }
}

/// For each axis an array of the indices of the elements that are not zero: `numpy.nonzero`.
#[pyfunction]
fn nonzero<'py>(py: Python<'py>, a: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let Some(view) = a.get().view().filter(|v| !v.shape.is_empty()) else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    let positions = true_positions(&Attached(py), view)?;
    let whole = Bound::new(py, NdArray::new(positions.clone(), None, true))?;
    let columns = (0..view.shape.len()).map(|k| wrap_view(&whole, column(&positions, k)));
    let columns = columns.collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, columns)?.into_any())
}

/// Whether all elements of an array of integers are in `0..n`. They are read now.
#[pyfunction]
fn within(py: Python<'_>, indices: &Bound<'_, NdArray>, n: i64) -> PyResult<Option<bool>> {
    let Some(view) = indices.get().view().filter(|v| v.dtype.is_integer()) else { return Ok(None) };
    let bounds = indexing::bounds(&Attached(py), view)?;
    Ok(Some(bounds.is_none_or(|(low, high)| low >= 0 && high < n)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(take, module)?)?;
    module.add_function(wrap_pyfunction!(nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(within, module)?)
}
