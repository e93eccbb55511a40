//! Reports of single library calls, to the trace or to a listener.
//!
//! In: the name of each library call and the time that it took. Out: a line of the trace, or a call of the listener.

use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether single calls are reported, to the trace or to a listener.
static WATCHED: AtomicBool = AtomicBool::new(false);
static TRACED: AtomicBool = AtomicBool::new(false);
static ON_LIBRARY: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

fn listener() -> std::sync::MutexGuard<'static, Option<Py<PyAny>>> {
    ON_LIBRARY.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Sets the callable to which each library call is reported, as `callable(name, seconds)`; `None` removes it.
pub fn set_listener(callable: &Bound<'_, PyAny>) {
    let new = (!callable.is_none()).then(|| callable.clone().unbind());
    let mut slot = listener();
    let old = std::mem::replace(&mut *slot, new);
    WATCHED.store(slot.is_some() || TRACED.load(Ordering::Relaxed), Ordering::Relaxed);
    drop(slot);
    drop(old);
}

/// Switches the trace on or off, which prints each library call to standard error.
pub fn set_trace(on: bool) {
    TRACED.store(on, Ordering::Relaxed);
    WATCHED.store(on || listener().is_some(), Ordering::Relaxed);
}

/// Whether single calls are reported.
pub fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// Reports a library call.
///
/// # Errors
/// Those of the listener.
pub fn report(py: Python<'_>, name: &str, seconds: f64) -> PyResult<()> {
    if TRACED.load(Ordering::Relaxed) {
        eprintln!("numelt: library {name}, {:.3} ms", seconds * 1e3);
    }
    let callable = listener().as_ref().map(|callable| callable.clone_ref(py));
    match callable {
        Some(callable) => callable.call1(py, (name, seconds)).map(drop),
        None => Ok(()),
    }
}
