//! Library calls: functions of NumPy whose own compiled code is meant to run (sorting, FFT, LAPACK).
//!
//! In: a user's call. Out: what NumPy returns, as numelt arrays. The function works on our memory
//! without a copy, and its results are adopted without one. Library calls are counted here and not as
//! fallbacks, because NumPy's code is the intended implementation.

use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::numpy::lend::{self, Terms};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

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

/// A function of NumPy that is a library call. Calling the object calls that function.
#[pyclass(name = "library", module = "numelt._core", frozen)]
pub struct Library {
    #[pyo3(get)]
    name: String,
    callable: Py<PyAny>,
    /// Runs calls whose arguments must be searched for arrays (lists, functions), as `general(callable, args,
    /// kwargs)`.
    general: Py<PyAny>,
    /// Whether the callable is a method, whose first argument is passed unchanged.
    method: bool,
    calls: AtomicU64,
}

#[pymethods]
impl Library {
    #[new]
    #[pyo3(signature = (name, callable, general, method = false))]
    pub fn new(name: String, callable: Py<PyAny>, general: Py<PyAny>, method: bool) -> Library {
        Library { name, callable, general, method, calls: AtomicU64::new(0) }
    }

    /// How often it was called.
    #[getter]
    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    #[pyo3(signature = (*args, **kwargs))]
    #[pyo3(name = "__call__")]
    pub fn call<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        given::unpacked(args, kwargs, |given| self.run(given))
    }
}

/// Whether single calls are reported.
pub fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

impl Library {
    /// Counts a call.
    pub fn count(&self) {
        // only written with the GIL held, so no read-modify-write is needed
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Runs, counts and reports a call.
    pub fn run<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        self.count();
        if !is_watched() {
            return self.lent(given);
        }
        let start = Instant::now();
        let result = self.lent(given);
        let seconds = start.elapsed().as_secs_f64();
        if TRACED.load(Ordering::Relaxed) {
            eprintln!("numelt: library {}, {:.3} ms", self.name, seconds * 1e3);
        }
        let callable = listener().as_ref().map(|c| c.clone_ref(given.py()));
        if let Some(callable) = callable {
            callable.call1(given.py(), (&self.name, seconds))?;
        }
        result
    }

    /// Runs a call in which no argument exceeds `most` elements; `None` for other calls, and if single calls are
    /// reported.
    pub fn of_few<'py>(&self, given: &Given<'_, 'py>, most: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
        if is_watched() {
            return Ok(None);
        }
        lend::call(
            self.callable.bind(given.py()),
            given,
            self.method,
            Terms { most, native: true, ..Terms::ANY },
            || {
                self.count();
                Ok(())
            },
        )
    }

    /// Runs a call: on memory that is lent to NumPy, or else by `general`.
    fn lent<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        if let Some(made) = lend::call(self.callable.bind(py), given, self.method, Terms::ANY, || Ok(()))? {
            return Ok(made);
        }
        let (args, kwargs) = given::pack(given)?;
        calls::apply(self.general.bind(py), (&self.callable, args, kwargs.unwrap_or_else(|| PyDict::new(py))), None)
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Library>()
}
