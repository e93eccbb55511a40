//! Data that the Python package keeps on disk between processes, beside the compiled objects.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The bytes that were kept for a key, or None.
#[pyfunction]
pub fn jit_kept<'py>(py: Python<'py>, key: &[u8]) -> Option<Bound<'py, PyBytes>> {
    numelt_codegen::kept(key).map(|bytes| PyBytes::new(py, &bytes))
}

/// Stores bytes for a key.
#[pyfunction]
pub fn jit_keep(key: &[u8], bytes: &[u8]) {
    numelt_codegen::keep(key, bytes);
}
