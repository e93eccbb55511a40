//! Counting what runs in NumPy, where that needs nothing but counting.
//!
//! In: the name of what was called. Out: one more under the user's file and line, in the package's table. The rest
//! (policies that warn or raise, calls that come from inside the package) is the package's.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};

/// The package's table: `(name, file, line)` to `[count, reason]`.
static COUNTS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
/// Does a call that runs in NumPy pass in silence?
static SILENT: AtomicBool = AtomicBool::new(false);

/// Sets the table that calls are counted in.
#[pyfunction]
fn set_counts(counts: &Bound<'_, PyDict>) {
    let _ = COUNTS.set(counts.py(), counts.clone().unbind());
}

/// Says whether calls that run in NumPy need nothing but counting.
#[pyfunction]
fn set_silent(silent: bool) {
    SILENT.store(silent, Ordering::Relaxed);
}

/// Is the innermost Python frame the user's: neither the package's nor NumPy's?
pub fn in_users_frame(py: Python<'_>) -> bool {
    // SAFETY: gives a borrowed reference, or null where no Python code runs.
    let globals = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetGlobals()) };
    let Some(Ok(globals)) = globals.as_ref().map(|g| g.cast::<PyDict>()) else { return false };
    let Ok(Some(name)) = globals.get_item(pyo3::intern!(py, "__name__")) else { return true };
    let Ok(name) = name.cast::<PyString>() else { return true };
    name.to_cow().is_ok_and(|name| !matches!(name.split('.').next(), Some("numelt" | "numpy")))
}

/// Is a call that runs in NumPy to be counted here, by [`note`]?
pub fn is_simple(py: Python<'_>) -> bool {
    SILENT.load(Ordering::Relaxed) && COUNTS.get(py).is_some() && in_users_frame(py)
}

/// Counts a call under the user's line; false where the package has to do it.
pub fn note(py: Python<'_>, name: &Bound<'_, PyString>, reason: &str) -> PyResult<bool> {
    let Some(counts) = COUNTS.get(py).map(|c| c.bind(py)) else { return Ok(false) };
    if !is_simple(py) {
        return Ok(false);
    }
    // SAFETY: a borrowed reference to the running frame, which there is where there are globals; the code object is
    // a new one.
    let (code, line) = unsafe {
        let frame = ffi::PyEval_GetFrame();
        if frame.is_null() {
            return Ok(false);
        }
        let code = Bound::from_owned_ptr_or_err(py, ffi::PyFrame_GetCode(frame).cast())?;
        (code, ffi::PyFrame_GetLineNumber(frame))
    };
    let file = code.getattr(pyo3::intern!(py, "co_filename"))?;
    let key = PyTuple::new(py, [name.clone().into_any(), file, line.into_pyobject(py)?.into_any()])?;
    match counts.get_item(&key)? {
        Some(entry) => {
            let entry = entry.cast_into::<PyList>()?;
            entry.set_item(0, entry.get_item(0)?.extract::<i64>()? + 1)?;
        }
        None => counts.set_item(
            key,
            PyList::new(py, [1i64.into_pyobject(py)?.into_any(), PyString::new(py, reason).into_any()])?,
        )?,
    }
    Ok(true)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_counts, module)?)?;
    module.add_function(wrap_pyfunction!(set_silent, module)?)
}
