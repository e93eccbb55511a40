//! NumPy's floating-point error state: what recorded operations report, and how it reaches the user.
//!
//! In: the state at the time of recording. Out: a byte per instruction, and `RuntimeWarning`s after a flush. Modes
//! that act inside an operation (`raise`, `call`, `print`, `log`, and warnings of underflow) run operations one
//! at a time: elementwise ones by NumPy on zero-copy views, the others natively with their flags looked at
//! right away. The state lives in a context variable; as long as nobody has ever changed it, it is not asked.

use crate::array::ndarray::NdArray;
use crate::array::operand::Operand;
use crate::numpy::convert::Numpy;
use crate::numpy::hooks;
use crate::record::origin;
use crate::record::run;
use crate::ufunc::elementwise::Native;
use numelt_ir::{DType, Op, warn};
use numelt_runtime::{Reason, Runtime, Warning};
use pyo3::exceptions::{PyFloatingPointError, PyNameError, PyRuntimeWarning};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Has the state ever been changed?
static TOUCHED: AtomicBool = AtomicBool::new(false);
/// The states met last: most changes are a `with` around a few operations, which ends in the state that it began in.
static KNOWN: [Known; 2] = [Known::none(), Known::none()];
/// Are warnings exceptions? Then operations run one at a time, whatever the state.
static WARNINGS_ARE_ERRORS: AtomicBool = AtomicBool::new(false);
/// Which of them was met last.
static LAST: AtomicUsize = AtomicUsize::new(0);
/// NumPy's context variable.
static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// In a decoded state: operations run one at a time. The other bits are those of [`numelt_ir::warn`].
const ONE_AT_A_TIME: u8 = 1 << 7;

/// Must recorded operations ask for the state?
#[inline]
pub fn is_touched() -> bool {
    TOUCHED.load(Ordering::Relaxed)
}

/// Is a mode in force here that acts inside an operation?
#[inline]
pub fn is_strict(py: Python<'_>) -> PyResult<bool> {
    Ok(is_touched() && current(py)? & ONE_AT_A_TIME != 0)
}

/// A state object that was decoded.
struct Known {
    address: AtomicUsize,
    meaning: AtomicU8,
    /// A share of it, so that its address stays its own.
    owner: Mutex<Option<Py<PyAny>>>,
}

impl Known {
    /// None yet.
    const fn none() -> Known {
        Known { address: AtomicUsize::new(0), meaning: AtomicU8::new(warn::DEFAULT), owner: Mutex::new(None) }
    }
}

/// The meaning of the state in force here.
fn current(py: Python<'_>) -> PyResult<u8> {
    let meaning = meaning(py)?;
    let alone = meaning & warn::ALL != 0 && WARNINGS_ARE_ERRORS.load(Ordering::Relaxed);
    Ok(if alone { meaning | ONE_AT_A_TIME } else { meaning })
}

fn meaning(py: Python<'_>) -> PyResult<u8> {
    let Some(variable) = VARIABLE.get(py) else { return Ok(warn::DEFAULT) };
    let state = value(variable.bind(py))?;
    let last = LAST.load(Ordering::Relaxed);
    for at in [last, 1 - last] {
        if state.as_ptr() as usize == KNOWN[at].address.load(Ordering::Relaxed) {
            LAST.store(at, Ordering::Relaxed);
            return Ok(KNOWN[at].meaning.load(Ordering::Relaxed));
        }
    }
    let meaning = decode(py)?;
    // the GIL is held, so the three change together
    let known = &KNOWN[1 - last];
    known.address.store(state.as_ptr() as usize, Ordering::Relaxed);
    known.meaning.store(meaning, Ordering::Relaxed);
    LAST.store(1 - last, Ordering::Relaxed);
    let old = known.owner.lock().unwrap_or_else(PoisonError::into_inner).replace(state.unbind());
    drop(old.map(|old| old.into_bound(py)));
    Ok(meaning)
}

/// The variable's value.
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

/// NumPy's words for the state, as bits.
fn decode(py: Python<'_>) -> PyResult<u8> {
    let modes = Numpy::get(py)?.attr(py, "geterr")?.call0()?.cast_into::<PyDict>()?;
    let mut meaning = 0;
    for (name, bit) in NAMES {
        let Some(mode) = modes.get_item(name)? else { continue };
        match &*mode.extract::<String>()? {
            "ignore" => {}
            // flags do not tell which operation's result is too small to trust, so NumPy does
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

/// Notes the state for the operation that is about to be recorded; true if it has to run alone.
pub fn note(py: Python<'_>) -> PyResult<bool> {
    let meaning = current(py)?;
    let kept = Runtime::global().watch().load(Ordering::Relaxed) & warn::PART;
    Runtime::global().watch().store(meaning & warn::ALL | kept, Ordering::Relaxed);
    Ok(meaning & ONE_AT_A_TIME != 0)
}

/// While it lives, operations are recorded as parts of another operation (see [`as_parts`]).
pub struct As(u8);

impl As {
    fn begin(bit: u8) -> As {
        Runtime::global().watch().fetch_or(bit, Ordering::Relaxed);
        As(bit)
    }
}

impl Drop for As {
    fn drop(&mut self) {
        Runtime::global().watch().fetch_and(!self.0, Ordering::Relaxed);
    }
}

/// What `record` returns, which records parts of one operation. Those that ran at once have reported what they met in the
/// name of the whole operation, and each condition once; it is told when all have run.
pub fn as_parts<T>(py: Python<'_>, record: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let part = As::begin(warn::PART);
    let recorded = record()?;
    drop(part);
    deliver(py).map(|()| recorded)
}

/// Are parts of another operation being recorded?
pub fn is_part() -> bool {
    Runtime::global().watch().load(Ordering::Relaxed) & warn::PART != 0
}

/// A number that overflowed as it became a literal: NumPy warns of that at once.
#[cold]
pub fn literal_overflow(py: Python<'_>) -> PyResult<()> {
    let meaning = if is_touched() { current(py)? } else { warn::DEFAULT };
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
        return hook.call1((told,)).map(drop);
    }
    for warning in warnings {
        let text = std::ffi::CString::new(warning.to_string())?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
    }
    Ok(())
}

/// Treats what an operation that ran alone has met as the state in force says.
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

/// The operation, run now by NumPy; `None` where NumPy has no ufunc of that name.
pub fn run<'py>(
    py: Python<'py>,
    op: Op,
    args: &[Operand<'py>],
    out: Option<&Bound<'py, NdArray>>,
    dtype: Option<DType>,
) -> Native<'py> {
    let numpy = Numpy::get(py)?;
    let function = match op {
        Op::Where | Op::Copy | Op::RealPart | Op::ImagPart | Op::Erf => return Ok(None),
        _ => numpy.attr(py, op.name())?,
    };
    let objects = args.iter().map(|a| a.to_object(py)).collect::<PyResult<Vec<_>>>()?;
    let kwargs = PyDict::new(py);
    if let Some(out) = out {
        kwargs.set_item("out", PyTuple::new(py, [out])?)?;
    }
    if let Some(dtype) = dtype {
        kwargs.set_item("dtype", numpy.descr(py, dtype))?;
    }
    let result = hooks::call_numpy(&function, &PyTuple::new(py, objects)?, Some(&kwargs))?;
    Ok(Some(out.map_or(result, |out| out.clone().into_any())))
}

/// The package has seen NumPy's state change in this context. What it means is found out when an operation asks: within
/// much of NumPy's own code, which sets it for itself, none does.
#[pyfunction]
fn errstate_changed(py: Python<'_>) -> PyResult<()> {
    if !TOUCHED.swap(true, Ordering::Relaxed) {
        let variable = py.import("numpy._core.umath")?.getattr("_extobj_contextvar")?;
        let _ = VARIABLE.set(py, variable.unbind());
    }
    Ok(())
}

/// The package has seen Python's filters change: are warnings exceptions now?
#[pyfunction]
fn warnings_are_errors(py: Python<'_>, on: bool) -> PyResult<()> {
    WARNINGS_ARE_ERRORS.store(on, Ordering::Relaxed);
    if on { errstate_changed(py) } else { Ok(()) }
}

/// Runs what is pending if it could warn, so that the warnings go where they would have gone.
#[pyfunction]
fn settle_warnings(py: Python<'_>) -> PyResult<()> {
    if Runtime::global().may_warn() { run::run_what_fits(py, Reason::Explicit) } else { Ok(()) }
}

/// Records an elementwise operation as a part of another one, in whose name it reports.
#[pyfunction]
fn elementwise_part<'py>(py: Python<'py>, op: &str, ins: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    if is_strict(py)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    as_parts(py, || py.import("numelt._core")?.call_method1("elementwise", (op, ins)))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(errstate_changed, module)?)?;
    module.add_function(wrap_pyfunction!(elementwise_part, module)?)?;
    module.add_function(wrap_pyfunction!(settle_warnings, module)?)?;
    module.add_function(wrap_pyfunction!(warnings_are_errors, module)?)
}
