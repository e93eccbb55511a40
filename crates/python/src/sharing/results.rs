//! What NumPy returns, with our arrays in place of NumPy's.

use crate::numpy::convert::Numpy;
use crate::sharing::export;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

/// Converts NumPy's arrays to ours, also inside lists, tuples and named tuples; other objects are returned unchanged.
/// `holders` is the number of references to `obj` that the caller knows of: nobody else holds an array that has no
/// more references than these.
pub fn wrap<'py>(obj: &Bound<'py, PyAny>, holders: isize) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if obj.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) {
        return export::from_numpy(obj, export::references(obj) <= holders);
    }
    let each = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
        items.map(|item| wrap(&item, 2)).collect::<PyResult<SmallVec<[_; 4]>>>()
    };
    if let Ok(tuple) = obj.cast::<PyTuple>() {
        let items = each(&mut tuple.iter())?;
        if tuple.is_exact_instance_of::<PyTuple>() {
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        if tuple.get_type().getattr_opt(intern!(py, "_make"))?.is_some() {
            // does what `_make` does, without a Python frame
            static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let new = NEW.get_or_try_init(py, || py.get_type::<PyTuple>().getattr("__new__").map(Bound::unbind))?;
            return new.bind(py).call1((tuple.get_type(), PyTuple::new(py, items)?));
        }
        return Ok(obj.clone());
    }
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return Ok(PyList::new(py, each(&mut list.iter())?)?.into_any());
    }
    Ok(obj.clone())
}
