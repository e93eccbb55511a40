//! The hooks: Python functions of the package that the compiled module calls.
//!
//! In: a name (see [`NAMES`]). Out: the function that the package has set, if it has. Also here: functions of Python's
//! module `operator`, and names as string objects.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::sync::Mutex;

/// The package's Python callables by name, set by `set_hooks`.
static HOOKS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
static OPERATOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// Held only while the dictionary is created.
static INIT: Mutex<()> = Mutex::new(());

/// The names that `set_hooks` accepts.
pub const NAMES: [&str; 12] = [
    "warn",
    "note",
    "fallback",
    "getitem",
    "setitem",
    "ufunc_call",
    "ufunc_method",
    "array_ufunc",
    "reduce",
    "to_u32",
    "resize",
    "reworded",
];

/// The dictionary of hooks.
pub fn table(py: Python<'_>) -> &Bound<'_, PyDict> {
    let _one = INIT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    HOOKS.get_or_init(py, || PyDict::new(py).unbind()).bind(py)
}

/// The hook of this name, if the package has set it.
pub fn hook<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    table(py).get_item(name)
}

/// The interned string object of a name that is a literal in this crate, kept for looking up attributes.
pub fn word<'py>(py: Python<'py>, name: &'static str) -> Bound<'py, PyString> {
    /// The names with their string objects, identified by the address and length of the text.
    static WORDS: Mutex<Vec<(usize, usize, Py<PyString>)>> = Mutex::new(Vec::new());
    let key = (name.as_ptr() as usize, name.len());
    let words = || WORDS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, _, word)) = words().iter().find(|(at, n, _)| (*at, *n) == key) {
        return word.bind(py).clone();
    }
    let made = PyString::intern(py, name);
    words().push((key.0, key.1, made.clone().unbind()));
    made
}

/// A function of Python's module `operator`.
pub fn operator<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    OPERATOR
        .get_or_try_init(py, || py.import("operator").map(|m| m.into_any().unbind()))?
        .bind(py)
        .getattr(PyString::intern(py, name))
}
