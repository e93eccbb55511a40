//! How the interpreter calls units.

use super::JitUnit;
use crate::cpython::given::Given;
use crate::cpython::vectorcall::{self, Callee};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::mem::offset_of;

impl Callee for JitUnit {
    const ENTRY: usize = offset_of!(JitUnit, entry);

    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        if given.names().is_some() {
            return Err(PyTypeError::new_err("a unit takes no keyword arguments"));
        }
        let made = self.entered(given.py(), given.positional().map(|value| value.to_owned()))?;
        Ok(made.map_or_else(|| given.py().None().into_bound(given.py()), Bound::into_any))
    }
}

/// Makes the interpreter call units without packing the arguments.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    vectorcall::call_by_entry::<JitUnit>(&py.get_type::<JitUnit>())
}
