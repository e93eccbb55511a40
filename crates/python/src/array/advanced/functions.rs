//! A function of `numelt._core` about positions.

use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use numelt::indexing;
use pyo3::prelude::*;

/// Whether all elements of an array of integers are in `0..n`. They are read now.
#[pyfunction]
fn within(py: Python<'_>, indices: &Bound<'_, NdArray>, n: i64) -> PyResult<Option<bool>> {
    let Some(view) = indices.get().view().filter(|v| v.dtype.is_integer()) else { return Ok(None) };
    let bounds = indexing::bounds(&Attached(py), view)?;
    Ok(Some(bounds.is_none_or(|(low, high)| low >= 0 && high < n)))
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(within, module)?)
}
