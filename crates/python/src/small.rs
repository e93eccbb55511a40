//! Calls on a few elements, where NumPy's own code is done before ours would have recorded anything.
//!
//! In: a function of NumPy's and the arguments of a call of ours. Out: NumPy's result. Only while tiny operations run
//! at once (nobody looks at what is recorded), and only for arguments that are small and computed; everything else
//! is left to the caller.

use crate::ndarray::exact_native;
use crate::{convert, hooks};
use numelt_runtime::Runtime;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// Elements of an array, and the largest number, that a small call may have.
const MOST: i64 = 64;

/// Parts of a sequence, and how deep they may be nested.
const PARTS: usize = 16;
const DEEPEST: usize = 2;

/// Is an argument small, and nothing pending on it?
fn fits(obj: &Bound<'_, PyAny>, depth: usize) -> bool {
    if let Some(array) = exact_native(obj) {
        return array.view().is_some_and(|v| v.size() <= MOST && v.base.settled().is_some() && !v.base.is_pending());
    }
    if obj.is_exact_instance_of::<PyInt>() {
        return obj.extract::<i64>().is_ok_and(|n| n.abs() <= MOST);
    }
    if obj.is_exact_instance_of::<PyFloat>() || obj.is_exact_instance_of::<PyBool>() || obj.is_none() {
        return true;
    }
    if depth < DEEPEST {
        if let Ok(items) = obj.cast_exact::<PyTuple>() {
            return items.len() <= PARTS && items.iter_borrowed().all(|item| fits(&item, depth + 1));
        }
        if let Ok(items) = obj.cast_exact::<PyList>() {
            return items.len() <= PARTS && items.iter().all(|item| fits(&item, depth + 1));
        }
    }
    convert::numpy_float64(obj).is_some()
}

/// Runs NumPy's `callable` on small arguments; NotImplemented when they are not, or operations do not run at once.
#[pyfunction]
fn small_call<'py>(
    callable: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let small = args.iter_borrowed().all(|arg| fits(&arg, 0)) && kwargs.values().iter().all(|value| fits(&value, 0));
    if !small || !Runtime::global().runs_at_once() {
        return Ok(py.NotImplemented().into_bound(py));
    }
    let mut plain: SmallVec<[Bound<'py, PyAny>; 6]> = SmallVec::new();
    for arg in args.iter_borrowed() {
        plain.push(hooks::plain(&arg)?);
    }
    let given = PyTuple::new(py, &plain)?;
    let result = if kwargs.is_empty() {
        callable.call1(&given)?
    } else {
        let converted = PyDict::new(py);
        for (key, value) in kwargs {
            let value = hooks::plain(&value)?;
            converted.set_item(key, &value)?;
            plain.push(value);
        }
        callable.call(&given, Some(&converted))?
    };
    // a function that returns its output, or an argument as it is
    if let Some(at) = plain.iter().position(|p| p.is(&result)) {
        return match args.get_item(at) {
            Ok(own) => Ok(own),
            Err(_) => kwargs.values().get_item(at - args.len()),
        };
    }
    hooks::wrap(&result, 1)
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(small_call, module)?)
}
