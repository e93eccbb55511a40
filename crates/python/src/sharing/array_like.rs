//! Objects of the program's classes that become arrays by `__array__`.
//!
//! In: any object. Out: whether NumPy can convert it itself, so that a call with it needs no conversion by the package.
//! NumPy requires that `__array__` returns NumPy's array. The launcher makes it do so in classes of the program, and
//! marks the method.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyList, PyString, PyTuple};

/// Whether this is an object of a class whose `__array__` returns NumPy's arrays, and which does not take part in calls
/// by another of NumPy's protocols.
pub fn is_array_like(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    // asking their classes for what these do not have would take a tenth of a microsecond
    if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
        return Ok(false);
    }
    let (class, py) = (value.get_type(), value.py());
    let has = |name: &Bound<'_, PyString>| Ok::<_, PyErr>(class.getattr_opt(name)?.is_some());
    let Some(method) = class.getattr_opt(intern!(py, "__array__"))? else { return Ok(false) };
    Ok(method.getattr_opt(intern!(py, "gives_numpys_arrays"))?.is_some()
        && !has(intern!(py, "__array_function__"))?
        && !has(intern!(py, "__array_ufunc__"))?
        && !has(intern!(py, "__array_wrap__"))?)
}

/// Whether an object as in [`is_array_like`] has a length, and one above this number.
pub fn is_long(value: &Bound<'_, PyAny>, most: i64) -> PyResult<bool> {
    Ok(value.hasattr(intern!(value.py(), "__len__"))? && value.len()? as i64 > most)
}
