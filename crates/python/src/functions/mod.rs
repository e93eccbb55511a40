//! Public functions that are compiled, and functions on contiguous memory that the package's Python functions call.

mod arguments;
pub mod conversion;
mod counting;
pub mod creation;
pub mod dense;
mod exchange;
mod joining;
mod matrices;
mod methods;
mod moving;
mod products;
pub mod reductions;
mod searching;
mod series;
mod short;
mod solving;
pub mod table;
mod transforms;

use pyo3::prelude::*;

/// A sequence of native arrays of one dtype and shape, as one array.
pub fn stacked<'py>(sequence: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    joining::stacked(sequence.py(), sequence, Some)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    dense::register(module)?;
    reductions::register(module)?;
    table::register(module)
}
