//! What a library's function is handed in place of an argument: NumPy's array for ours.
//!
//! In: an argument, very often a number or a word. Out: `Handed`, the left operand of ``@`` in functions that convert
//! their arguments themselves (`_beginning`).

use crate::convert::Numpy;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySet, PyTuple};

/// Converts what is on its right.
#[pyclass(frozen, module = "numelt._core")]
pub struct Handed {
    /// What converts a value of any other class.
    convert: Py<PyAny>,
    /// Classes whose objects are handed on as they are.
    plain: Py<PySet>,
}

#[pymethods]
impl Handed {
    #[new]
    fn new(convert: Py<PyAny>, plain: Py<PySet>) -> Handed {
        Handed { convert, plain }
    }

    fn __matmul__<'py>(&self, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let class = value.get_type();
        // our class is equal to NumPy's, so a set cannot tell them apart
        if class.is(Numpy::get(py)?.ndarray.bind(py)) || self.plain.bind(py).contains(&class)? {
            return Ok(value);
        }
        // what a function takes besides its named arguments is most often nothing
        let is_empty = match value.cast_exact::<PyTuple>() {
            Ok(tuple) => tuple.is_empty(),
            Err(_) => value.cast_exact::<PyDict>().is_ok_and(|dict| dict.is_empty()),
        };
        if is_empty {
            return Ok(value);
        }
        self.convert.bind(py).call1((value,))
    }
}
