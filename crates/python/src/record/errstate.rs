//! NumPy's floating-point error state: which conditions recorded operations report, and how the reports reach the
//! user.
//!
//! In: the state at the time of recording. Out: a byte for each instruction, and `RuntimeWarning`s after a flush.
//! Under modes that act inside an operation (`raise`, `call`, `print`, `log`, and warnings of underflow), operations
//! run one at a time: NumPy runs elementwise ones on zero-copy views, and the others run natively, with the
//! processor's flags checked after each. NumPy keeps the state in a context variable. Until it has a value other than
//! the one at the start, this value only needs to be compared.

use crate::cpython::calls;
use crate::numpy::convert::Numpy;
use crate::numpy::hooks;
use crate::record::origin;
use numelt_ir::{Op, warn};
use numelt_runtime::{Runtime, Warning};
use pyo3::exceptions::{PyFloatingPointError, PyNameError, PyRuntimeWarning};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Whether the state has ever been another one than at the start.
static TOUCHED: AtomicBool = AtomicBool::new(false);
/// The two states met last. Most changes are a `with` statement around a few operations, after which the former state
/// is back.
static KNOWN: [DecodedState; 2] = [DecodedState::none(), DecodedState::none()];
/// Whether Python's filters turn warnings into exceptions. Operations that could warn then run one at a time.
static WARNINGS_ARE_ERRORS: AtomicBool = AtomicBool::new(false);
/// Which of the two states in `KNOWN` was met last.
static LAST: AtomicUsize = AtomicUsize::new(0);
/// NumPy's context variable of the error state, and its value at the start.
static VARIABLE: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();

/// A bit of a decoded state: operations run one at a time. The other bits are those of [`numelt_ir::warn`].
const ONE_AT_A_TIME: u8 = 1 << 7;

/// Whether the state must be decoded when an operation is recorded.
#[inline]
pub fn is_touched(py: Python<'_>) -> PyResult<bool> {
    if TOUCHED.load(Ordering::Relaxed) {
        return Ok(true);
    }
    let Some((variable, start)) = VARIABLE.get(py) else { return Ok(false) };
    let is_changed = !value(variable.bind(py))?.is(start);
    if is_changed {
        TOUCHED.store(true, Ordering::Relaxed);
    }
    Ok(is_changed)
}

/// Whether a mode that acts inside an operation is in force in this context.
#[inline]
pub fn is_strict(py: Python<'_>) -> PyResult<bool> {
    Ok(is_touched(py)? && current(py)? & ONE_AT_A_TIME != 0)
}

/// A state object and its decoded meaning.
struct DecodedState {
    address: AtomicUsize,
    meaning: AtomicU8,
    /// A reference to the object, so that no other one gets its address.
    owner: Mutex<Option<Py<PyAny>>>,
}

impl DecodedState {
    /// No state yet.
    const fn none() -> DecodedState {
        DecodedState { address: AtomicUsize::new(0), meaning: AtomicU8::new(warn::DEFAULT), owner: Mutex::new(None) }
    }
}

/// The meaning of the state that is in force in this context.
fn current(py: Python<'_>) -> PyResult<u8> {
    let meaning = meaning(py)?;
    let alone = meaning & warn::ALL != 0 && WARNINGS_ARE_ERRORS.load(Ordering::Relaxed);
    Ok(if alone { meaning | ONE_AT_A_TIME } else { meaning })
}

/// The meaning of NumPy's state alone, without Python's filters.
fn meaning(py: Python<'_>) -> PyResult<u8> {
    let Some((variable, _)) = VARIABLE.get(py) else { return Ok(warn::DEFAULT) };
    let state = value(variable.bind(py))?;
    let last = LAST.load(Ordering::Relaxed);
    for at in [last, 1 - last] {
        if state.as_ptr() as usize == KNOWN[at].address.load(Ordering::Relaxed) {
            LAST.store(at, Ordering::Relaxed);
            return Ok(KNOWN[at].meaning.load(Ordering::Relaxed));
        }
    }
    let meaning = decode(py)?;
    // the GIL is held, so no other thread sees only some of these changes
    let known = &KNOWN[1 - last];
    known.address.store(state.as_ptr() as usize, Ordering::Relaxed);
    known.meaning.store(meaning, Ordering::Relaxed);
    LAST.store(1 - last, Ordering::Relaxed);
    let old = known.owner.lock().unwrap_or_else(PoisonError::into_inner).replace(state.unbind());
    drop(old.map(|old| old.into_bound(py)));
    Ok(meaning)
}

/// The value of the context variable.
pub fn value<'py>(variable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut found = std::ptr::null_mut();
    // SAFETY: the GIL is held, the variable is a context variable, and the result is a new reference or null.
    unsafe {
        if ffi::PyContextVar_Get(variable.as_ptr(), std::ptr::null_mut(), &raw mut found) < 0 {
            return Err(PyErr::fetch(variable.py()));
        }
        Bound::from_owned_ptr_or_opt(variable.py(), found)
            .ok_or_else(|| PyNameError::new_err("NumPy's error state has no value"))
    }
}

/// The modes that `numpy.geterr` returns, as bits.
fn decode(py: Python<'_>) -> PyResult<u8> {
    let modes = Numpy::get(py)?.attr(py, "geterr")?.call0()?.cast_into::<PyDict>()?;
    let mut meaning = 0;
    for (name, bit) in NAMES {
        let Some(mode) = modes.get_item(name)? else { continue };
        match &*mode.extract::<String>()? {
            "ignore" => {}
            // flags do not tell in which element the result is too small, so NumPy runs the operation
            "warn" if bit == warn::UNDER => meaning |= bit | ONE_AT_A_TIME,
            "warn" => meaning |= bit,
            _ => meaning |= bit | ONE_AT_A_TIME,
        }
    }
    Ok(meaning)
}

/// NumPy's names of the conditions.
const NAMES: [(&str, u8); 4] =
    [("divide", warn::DIVIDE), ("over", warn::OVER), ("under", warn::UNDER), ("invalid", warn::INVALID)];

/// Tells the runtime the state under which the next operation is recorded; returns whether it has to run alone.
pub fn note(py: Python<'_>) -> PyResult<bool> {
    let meaning = current(py)?;
    let kept = Runtime::global().watch().load(Ordering::Relaxed) & warn::PART;
    Runtime::global().watch().store(meaning & warn::ALL | kept, Ordering::Relaxed);
    Ok(meaning & ONE_AT_A_TIME != 0)
}

/// As long as this lives, operations are recorded as parts of another operation (see [`as_parts`]).
struct PartScope(u8);

impl PartScope {
    fn begin(bit: u8) -> PartScope {
        Runtime::global().watch().fetch_or(bit, Ordering::Relaxed);
        PartScope(bit)
    }
}

impl Drop for PartScope {
    fn drop(&mut self) {
        Runtime::global().watch().fetch_and(!self.0, Ordering::Relaxed);
    }
}

/// Calls `record`, which records the parts of one operation, and returns its result. Parts that run at once report
/// their conditions in the name of the whole operation, each condition once; the warnings are given to Python after
/// all parts have run.
pub fn as_parts<T>(py: Python<'_>, record: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let part = PartScope::begin(warn::PART);
    let recorded = record()?;
    drop(part);
    deliver(py).map(|()| recorded)
}

/// Whether parts of another operation are being recorded.
pub fn is_part() -> bool {
    Runtime::global().watch().load(Ordering::Relaxed) & warn::PART != 0
}

/// Reports that a number overflowed when it was converted to a literal. NumPy warns of that at once.
#[cold]
pub fn literal_overflow(py: Python<'_>) -> PyResult<()> {
    let meaning = if is_touched(py)? { current(py)? } else { warn::DEFAULT };
    let warnings =
        [Warning { condition: warn::OVER, op: Op::Copy, watch: meaning & warn::ALL, place: Warning::NOWHERE }];
    if meaning & warn::OVER == 0 {
        Ok(())
    } else if meaning & ONE_AT_A_TIME != 0 {
        act_on(py, &warnings)
    } else {
        deliver_some(py, &warnings)
    }
}

/// Gives the warnings of past flushes to Python.
#[inline]
pub fn deliver(py: Python<'_>) -> PyResult<()> {
    let warnings = Runtime::global().take_warnings();
    if warnings.is_empty() { Ok(()) } else { deliver_some(py, &warnings) }
}

#[cold]
fn deliver_some(py: Python<'_>, warnings: &[Warning]) -> PyResult<()> {
    if let Some(hook) = hooks::hook(py, "warn")? {
        let told: Vec<_> = warnings.iter().map(|w| (w.to_string(), origin::of(py, w.place))).collect();
        return calls::apply(&hook, (told,), None).map(drop);
    }
    for warning in warnings {
        let text = std::ffi::CString::new(warning.to_string())?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(())
}

/// Treats the conditions that an operation met which ran alone, as the state in force demands.
pub fn act(py: Python<'_>) -> PyResult<()> {
    let warnings = Runtime::global().take_warnings();
    if warnings.is_empty() { Ok(()) } else { act_on(py, &warnings) }
}

fn act_on(py: Python<'_>, warnings: &[Warning]) -> PyResult<()> {
    let numpy = Numpy::get(py)?;
    let modes = numpy.attr(py, "geterr")?.call0()?;
    for warning in warnings {
        let name = NAMES.iter().find(|(_, bit)| *bit == warning.condition).map_or("invalid", |(name, _)| name);
        let mode: String = modes.get_item(name)?.extract()?;
        let text = warning.to_string();
        match &*mode {
            "raise" => return Err(PyFloatingPointError::new_err(text)),
            "warn" => deliver_some(py, std::slice::from_ref(warning))?,
            "print" => {
                py.import("sys")?.getattr("stderr")?.call_method1("write", (format!("Warning: {text}\n"),)).map(drop)?
            }
            "call" | "log" => {
                let handler = numpy.attr(py, "geterrcall")?.call0()?;
                if handler.is_none() {
                    let what = if mode == "call" { "python callback specified for" } else { "log specified for" };
                    let words = text.split(" encountered").next().unwrap_or_default();
                    let operation = text.rsplit("in ").next().unwrap_or_default();
                    return Err(PyNameError::new_err(format!(
                        "{what} {words} (in  {operation}) but no function found."
                    )));
                }
                if mode == "call" {
                    let words = text.split(" encountered").next().unwrap_or_default();
                    handler.call1((words, warning.condition))?;
                } else {
                    handler.call_method1("write", (format!("Warning: {text}\n"),))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The package calls this once, with NumPy's context variable of the error state and the value that it has at the start
/// of every process.
#[pyfunction]
fn watch_error_state(py: Python<'_>, variable: Py<PyAny>, start: Py<PyAny>) {
    let _ = VARIABLE.set(py, (variable, start));
}

/// The package calls this when Python's filters change; `on` says whether warnings are exceptions now.
#[pyfunction]
fn warnings_are_errors(on: bool) {
    WARNINGS_ARE_ERRORS.store(on, Ordering::Relaxed);
    if on {
        TOUCHED.store(true, Ordering::Relaxed);
    }
}

/// Records an elementwise operation as a part of another one, which reports in its place; see [`as_parts`].
#[pyfunction]
fn elementwise_part<'py>(py: Python<'py>, op: &str, ins: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    if is_strict(py)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    as_parts(py, || py.import("numelt._core")?.call_method1("elementwise", (op, ins)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(watch_error_state, module)?)?;
    module.add_function(wrap_pyfunction!(elementwise_part, module)?)?;
    module.add_function(wrap_pyfunction!(warnings_are_errors, module)?)
}
