//! Library calls: functions of NumPy whose own compiled code is meant to run (sorting, FFT, LAPACK).
//!
//! In: a user's call. Out: what NumPy returns, as numelt arrays. The function works on our memory
//! without a copy, and its results are adopted without one. Library calls are counted here and not as
//! fallbacks, because NumPy's code is the intended implementation. If a device has the values, a library for that
//! device may do the call instead, in a function of the package.

use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::object::ndarray::exact_native;
use crate::record::{library_reports, routines};
use crate::sharing::lend::{self, Terms};
use numelt_runtime::Runtime;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

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
    /// The package's function for arguments whose values a device has, if there is one.
    on_devices: Option<Py<PyAny>>,
    calls: AtomicU64,
}

#[pymethods]
impl Library {
    #[new]
    #[pyo3(signature = (name, callable, general, method = false, on_devices = None))]
    pub fn new(
        name: String,
        callable: Py<PyAny>,
        general: Py<PyAny>,
        method: bool,
        on_devices: Option<Py<PyAny>>,
    ) -> Library {
        Library { name, callable, general, method, on_devices, calls: AtomicU64::new(0) }
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

impl Library {
    /// Counts a call.
    pub fn count(&self) {
        // only written with the GIL held, so no read-modify-write is needed
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Runs, counts and reports a call.
    pub fn run<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        self.count();
        if !library_reports::is_watched() {
            return self.lent(given);
        }
        let start = Instant::now();
        let result = self.lent(given);
        let seconds = start.elapsed().as_secs_f64();
        library_reports::report(given.py(), &self.name, seconds)?;
        result
    }

    /// Runs a call in which no argument exceeds `most` elements; `None` for other calls, and if single calls are
    /// reported.
    pub fn of_few<'py>(&self, given: &Given<'_, 'py>, most: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
        if library_reports::is_watched() {
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

    /// Whether a device has the values of the first argument.
    fn is_on_device(&self, given: &Given<'_, '_>) -> PyResult<bool> {
        if self.on_devices.is_none() || !Runtime::global().has_routines() {
            return Ok(false);
        }
        let Some(first) = given.positional().next() else { return Ok(false) };
        match exact_native(&first).and_then(|array| array.view()) {
            Some(view) => routines::may_run(given.py(), view),
            None => Ok(false),
        }
    }

    /// Runs a call: on a device that has the values, on memory that is lent to NumPy, or else by `general`.
    fn lent<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        if let Some(function) = &self.on_devices
            && self.is_on_device(given)?
        {
            let (args, kwargs) = given::pack(given)?;
            return function.bind(py).call(args, kwargs.as_ref());
        }
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
