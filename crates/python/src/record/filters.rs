//! Filters in Python (`numelt.filters`): functions that get the program of each batch before it is planned.
//!
//! In: the pending program, and the registered functions. Out: the program as the functions have changed it, which is
//! run. Filters need the GIL, and a flush may not wait for the GIL. So the pending program is taken out of the
//! runtime before the flush, passed to the filters, and handed back for the flush (see `runtime/filtering.rs`).
//! Errors of filters wait until the batch has run; then the thread that ran it raises them.

use crate::numpy::errors::{self, ATTRIBUTE};
use crate::record::gil::past_gil;
use crate::record::program::PyProgram;
use numelt_ir::Result;
use numelt_runtime::{Filtering, Reason, Runtime};
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pyo3::create_exception!(
    numelt.filters,
    FilterError,
    PyRuntimeError,
    "A filter failed, or made a program that must not run; the batch has run without it. `filter` is its name."
);

/// The filters in the order in which they are applied. No Python code runs while this is locked.
static FILTERS: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());
/// Whether there are any filters.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is running a filter. Programs that a filter itself makes run are not filtered.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Exceptions that filters raised in a flush of this thread, and that have not been passed on yet.
    static RAISED: RefCell<Vec<PyErr>> = const { RefCell::new(Vec::new()) };
}

fn filters() -> MutexGuard<'static, Vec<Py<PyAny>>> {
    FILTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are filters to apply: this thread runs none of them at the moment.
#[inline]
pub fn apply_here() -> bool {
    ANY.load(Ordering::Relaxed) && !INSIDE.get()
}

/// Applies the filters to the pending program and runs it.
#[cold]
pub fn execute(py: Python<'_>, reason: Reason) -> Result<()> {
    let (mut raised, mut stopped) = (Vec::new(), false);
    let result = loop {
        let Some(mut filtering) = past_gil(py, Runtime::filtering) else {
            break past_gil(py, |runtime| runtime.flush(reason));
        };
        if !stopped {
            (raised, stopped) = apply(py, &mut filtering);
        }
        // false: another thread has run the batch meanwhile, so the program that is pending now is taken
        match past_gil(py, |runtime| runtime.flush_filtered(reason, filtering)) {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    RAISED.with_borrow_mut(|waiting| waiting.append(&mut raised));
    if Runtime::global().pending_calls() > 0 {
        // calls of extension methods are nothing to filter
        return result.and_then(|()| past_gil(py, |runtime| runtime.flush(reason)));
    }
    result
}

/// Applies all filters to a pending program. Returns what they raised, and whether the last exception is not an
/// `Exception` (such as KeyboardInterrupt); in that case the remaining filters have not been called.
fn apply(py: Python<'_>, filtering: &mut Filtering) -> (Vec<PyErr>, bool) {
    let all: Vec<Py<PyAny>> = filters().iter().map(|filter| filter.clone_ref(py)).collect();
    let mut raised = Vec::new();
    for filter in &all {
        let filter = filter.bind(py);
        let Err(error) = apply_one(filter, filtering) else { continue };
        if !error.is_instance_of::<PyException>(py) {
            raised.push(error);
            return (raised, true);
        }
        raised.push(named(filter, error).unwrap_or_else(|other| other));
    }
    (raised, false)
}

fn apply_one(filter: &Bound<'_, PyAny>, filtering: &mut Filtering) -> PyResult<()> {
    let py = filter.py();
    let given = Bound::new(py, PyProgram::of(filtering.program()))?;
    let answer = {
        let _inside = Inside::enter();
        filter.call1((&given,))?
    };
    if answer.is_none() {
        if given.try_borrow()?.changed {
            return Err(PyValueError::new_err("the program was changed, and not returned"));
        }
        return Ok(());
    }
    let program = match answer.cast::<PyProgram>() {
        Ok(program) => program.try_borrow()?.program.clone(),
        Err(_) => {
            let class = answer.get_type().name()?;
            return Err(PyTypeError::new_err(format!("a filter returns a Program or None, not {class}")));
        }
    };
    past_gil(py, |runtime| runtime.replace(filtering, program))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A `FilterError` with the name of the filter, caused by what the filter raised.
fn named(filter: &Bound<'_, PyAny>, error: PyErr) -> PyResult<PyErr> {
    let py = filter.py();
    let named = named_as(py, &name(filter)?, &error.to_string())?;
    named.set_cause(py, Some(error));
    Ok(named)
}

fn named_as(py: Python<'_>, name: &str, text: &str) -> PyResult<PyErr> {
    let error = FilterError::new_err(format!("filter {name}: {text}"));
    error.value(py).setattr("filter", name)?;
    Ok(error)
}

fn name(filter: &Bound<'_, PyAny>) -> PyResult<String> {
    match errors::unless(filter.py(), filter.getattr("__qualname__"), &[ATTRIBUTE])? {
        Some(name) => Ok(name.str()?.to_string()),
        None => Ok(filter.repr()?.to_string()),
    }
}

/// Keeps an exception of the user's code that ran in a flush, to be raised by the statement that flushed.
pub fn raise_later(error: PyErr) {
    RAISED.with_borrow_mut(|waiting| waiting.push(error));
}

/// Raises what the filters raised in the last flush: the last exception, with the others as its context.
pub fn deliver(py: Python<'_>) -> PyResult<()> {
    // the list of filters may be empty by now, because a filter may have removed itself before it failed
    if !Runtime::global().has_filters() && RAISED.with_borrow(Vec::is_empty) {
        return Ok(());
    }
    let mut raised = RAISED.take();
    for failed in Runtime::global().take_filter_errors() {
        raised.push(named_as(py, &failed.name, &failed.error.to_string())?);
    }
    // exceptions such as KeyboardInterrupt come first, so that an error is the last one, which is raised
    raised.sort_by_key(|error| !error.is_instance_of::<PyException>(py));
    let mut last: Option<PyErr> = None;
    for error in raised {
        if let Some(before) = last {
            error.value(py).setattr("__context__", before.into_value(py))?;
        }
        last = Some(error);
    }
    last.map_or(Ok(()), Err)
}

/// Marks this thread as running a filter, until it is dropped.
struct Inside(bool);

impl Inside {
    fn enter() -> Inside {
        Inside(INSIDE.replace(true))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// Tells this module and the runtime whether there are filters.
fn note(any: bool) {
    ANY.store(any, Ordering::Relaxed);
    Runtime::global().filters_in_front(any);
}

/// The index of a filter in the list of registered filters. (Each access to a bound method makes a new object, so
/// filters are also compared by `==`.)
fn position(filter: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    let py = filter.py();
    for (at, known) in registered(py)?.iter().enumerate() {
        if known.is(filter) || known.eq(filter)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[pyfunction]
fn filters_register(filter: &Bound<'_, PyAny>) -> PyResult<()> {
    if !filter.is_callable() {
        return Err(PyTypeError::new_err("a filter is a function of a program"));
    }
    if position(filter)?.is_some() {
        return Err(PyValueError::new_err(format!("the filter {} is registered already", name(filter)?)));
    }
    filters().push(filter.clone().unbind());
    note(true);
    Ok(())
}

#[pyfunction]
fn filters_remove(filter: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(at) = position(filter)? else {
        return Err(PyValueError::new_err(format!("the filter {} is not registered", name(filter)?)));
    };
    let (removed, any) = {
        let mut all = filters();
        ((at < all.len()).then(|| all.remove(at)), !all.is_empty())
    };
    note(any);
    drop(removed);
    Ok(())
}

#[pyfunction]
#[pyo3(name = "filters_registered")]
fn registered(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let all: Vec<Py<PyAny>> = filters().iter().map(|filter| filter.clone_ref(py)).collect();
    PyTuple::new(py, all)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FilterError", module.py().get_type::<FilterError>())?;
    module.add_function(wrap_pyfunction!(filters_register, module)?)?;
    module.add_function(wrap_pyfunction!(filters_remove, module)?)?;
    module.add_function(wrap_pyfunction!(registered, module)?)
}
