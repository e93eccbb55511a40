//! The structure of numelt's `ufunc` objects. What they do is in `ufunc`.

use numelt_ir::Op;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::mem::offset_of;

/// A ufunc whose calls are recorded if they are native.
#[pyclass(name = "ufunc", module = "numpy", frozen, weakref, dict)]
pub struct Ufunc {
    /// NumPy's ufunc that it stands for.
    pub numpy: Py<PyAny>,
    name: String,
    op: Option<Op>,
    /// Whether the package composes it of native operations.
    composed: bool,
    /// The function that the interpreter calls; see [`crate::cpython::vectorcall::call_by`].
    vectorcall: ffi::vectorcallfunc,
}

impl Ufunc {
    /// The ufunc that corresponds to NumPy's, with a native operation or without.
    pub fn new(
        numpy: Py<PyAny>,
        name: String,
        op: Option<Op>,
        composed: bool,
        vectorcall: ffi::vectorcallfunc,
    ) -> Ufunc {
        Ufunc { numpy, name, op, composed, vectorcall }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The native operation, if there is one.
    pub fn native(&self) -> Option<Op> {
        self.op
    }

    /// An attribute that NumPy's ufunc has.
    pub fn attribute<'py>(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy.bind(name.py()).getattr(name)
    }

    /// The offset of the function that the interpreter calls.
    pub const CALL: usize = offset_of!(Ufunc, vectorcall);

    /// NumPy's ufunc that it stands for.
    pub fn numpy<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.numpy.bind(py).clone()
    }

    /// Whether the package composes it of native operations.
    pub fn is_composed(&self) -> bool {
        self.composed
    }
}
