//! Filters in Python (`numelt.filters`): functions that see the program of each batch before it is planned.
//!
//! They are called with the GIL held, which nobody may wait for during a flush. So before a flush the pending program is taken out of the
//! runtime, handed to the filters, and run as they have changed it (see `runtime/filtering.rs`). Errors wait until the batch
//! has run, and are then raised by the thread that ran it.

use crate::numpy::errors::{self, ATTRIBUTE};
use crate::record::program::PyProgram;
use crate::record::run;
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
/// Are there any?
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Does this thread run a filter? What a filter itself makes run is not filtered.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Exceptions of filters in a flush that this thread made, which nobody has raised yet.
    static RAISED: RefCell<Vec<PyErr>> = const { RefCell::new(Vec::new()) };
}

fn filters() -> MutexGuard<'static, Vec<Py<PyAny>>> {
    FILTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Are there filters, and does this thread run none of them?
#[inline]
pub fn apply_here() -> bool {
    ANY.load(Ordering::Relaxed) && !INSIDE.get()
}

/// Runs what is pending as the filters would have it.
#[cold]
pub fn execute(py: Python<'_>, reason: Reason) -> Result<()> {
    let (mut raised, mut stopped) = (Vec::new(), false);
    let result = loop {
        let Some(mut filtering) = run::past_gil(py, Runtime::filtering) else {
            break run::past_gil(py, |runtime| runtime.flush(reason));
        };
        if !stopped {
            (raised, stopped) = apply(py, &mut filtering);
        }
        // where somebody else has run the batch meanwhile, what is pending now comes next
        match run::past_gil(py, |runtime| runtime.flush_filtered(reason, filtering)) {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    RAISED.with_borrow_mut(|waiting| waiting.append(&mut raised));
    if Runtime::global().pending_calls() > 0 {
        // calls of extension methods are nothing to filter
        return result.and_then(|()| run::past_gil(py, |runtime| runtime.flush(reason)));
    }
    result
}

/// Applies all filters to a pending program. What they raised, and whether the last of that was no error but a wish to stop, such
/// as KeyboardInterrupt; then the other filters have not been called.
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
    run::past_gil(py, |runtime| runtime.replace(filtering, program))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// An error with the name of the filter that it comes from.
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

/// Raises what filters raised in the flush before: the last exception, with the others as its context.
pub fn deliver(py: Python<'_>) -> PyResult<()> {
    // a filter may have removed itself before it failed
    if !Runtime::global().has_filters() && RAISED.with_borrow(Vec::is_empty) {
        return Ok(());
    }
    let mut raised = RAISED.take();
    for failed in Runtime::global().take_filter_errors() {
        raised.push(named_as(py, &failed.name, &failed.error.to_string())?);
    }
    // a wish to stop comes before errors
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

/// Says that this thread runs a filter, until it is dropped.
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

/// Tells the runtime and this module whether there are filters.
fn note(any: bool) {
    ANY.store(any, Ordering::Relaxed);
    Runtime::global().filters_in_front(any);
}

/// The place of a filter among those that are registered. (Methods are new objects each time, so they are compared by `==`.)
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
