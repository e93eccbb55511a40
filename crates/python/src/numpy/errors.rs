//! The one map from numelt's errors to Python exceptions, and exceptions with NumPy's wording.
//!
//! In: an error of the runtime or of NumPy's rules, or the result of a call of Python code. Out: a Python exception,
//! of NumPy's class where NumPy has one.

use crate::numpy::convert::Numpy;
use numelt::ErrorKind;
use numelt_ir::{DType, Error};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyImportError, PyIndexError, PyOSError, PyOverflowError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::OnceLock;

/// The Python exception for an error of the runtime or the crates below it.
pub fn to_py(error: Error) -> PyErr {
    match error {
        Error::Shape(text) | Error::Config(text) => PyValueError::new_err(text),
        Error::Type(text) => PyTypeError::new_err(text),
        Error::OutOfMemory(bytes) => Python::attach(|py| memory(py, &[bytes as i64], DType::U8)),
        Error::ArrayOutOfMemory { dtype, shape } => Python::attach(|py| memory(py, &shape, dtype)),
        Error::Io(text) => PyOSError::new_err(text),
        error @ (Error::Invalid(_)
        | Error::Parse { .. }
        | Error::Decode { .. }
        | Error::Unsupported(_)
        | Error::Engine(_)
        | Error::Busy
        | Error::Extension(_)
        | Error::Lost(_)) => PyRuntimeError::new_err(error.to_string()),
    }
}

/// The Python exception for an error of sharing memory with other libraries.
pub fn to_buffer_error(error: Error) -> PyErr {
    match error {
        Error::Engine(text) | Error::Unsupported(text) => PyBufferError::new_err(text),
        other => to_py(other),
    }
}

/// The Python exception for an error of NumPy's rules (crate `numelt`).
pub fn from_rules(error: numelt::Error) -> PyErr {
    let text = error.to_string();
    match (error.kind(), error) {
        (_, numelt::Error::Runtime(error)) => to_py(error),
        (_, numelt::Error::Axis { axis: given, rank }) => Python::attach(|py| axis(py, given, rank)),
        (ErrorKind::Index, _) => PyIndexError::new_err(text),
        (ErrorKind::Type, _) => PyTypeError::new_err(text),
        (ErrorKind::Overflow, _) => PyOverflowError::new_err(text),
        (ErrorKind::Value | ErrorKind::Axis | ErrorKind::Runtime, _) => PyValueError::new_err(text),
    }
}

/// The value that Python code returned, or `None` if it raised an exception of one of the expected classes. Any other
/// exception is passed on. The handler of a signal can raise an exception at any point of Python code, and that
/// exception must reach the user; so no call of Python code ends in `.ok()` or `unwrap_or`.
///
/// # Errors
/// Exceptions of classes that are not expected.
pub fn unless<T>(py: Python<'_>, result: PyResult<T>, expected: &[Kind]) -> PyResult<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if expected.iter().any(|is_of_kind| is_of_kind(&error, py)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A class of exceptions, for [`unless`].
pub type Kind = fn(&PyErr, Python<'_>) -> bool;

fn is<E: PyTypeInfo>(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<E>(py)
}

pub const ATTRIBUTE: Kind = is::<PyAttributeError>;
pub const BUFFER: Kind = is::<PyBufferError>;
pub const IMPORT: Kind = is::<PyImportError>;
pub const INDEX: Kind = is::<PyIndexError>;
pub const OVERFLOW: Kind = is::<PyOverflowError>;
pub const RUNTIME: Kind = is::<PyRuntimeError>;
pub const TYPE: Kind = is::<PyTypeError>;
pub const VALUE: Kind = is::<PyValueError>;

/// NumPy's `MemoryError` for an array that cannot be allocated.
pub fn memory(py: Python<'_>, shape: &[i64], dtype: DType) -> PyErr {
    let make = || {
        let class = py.import("numpy._core._exceptions")?.getattr("_ArrayMemoryError")?;
        class.call1((PyTuple::new(py, shape)?, Numpy::get(py)?.descr(py, dtype)))
    };
    match make() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// The text of a shape in which one extent (negative here) is still to be worked out, as the errors of `reshape`
/// print it: such an extent is left out at the beginning, and is called `newaxis` later.
pub fn partial_shape_text(shape: &[i64]) -> String {
    let known = shape.iter().position(|&n| n >= 0).map_or(&[][..], |first| &shape[first..]);
    let part = |n: &i64| if *n < 0 { "newaxis".to_string() } else { n.to_string() };
    let comma = if shape.len() == 1 && !known.is_empty() { "," } else { "" };
    format!("({}{comma})", known.iter().map(part).collect::<Vec<_>>().join(","))
}

/// `numpy.exceptions.AxisError` for the axis that the argument of this name states.
pub fn axis_of(py: Python<'_>, axis: i64, rank: usize, argument: &str) -> PyErr {
    let make = || py.import("numpy.exceptions")?.getattr("AxisError")?.call1((axis, rank, argument));
    match make() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// `numpy.exceptions.AxisError`.
pub fn axis(py: Python<'_>, axis: i64, rank: usize) -> PyErr {
    let make = || py.import("numpy.exceptions")?.getattr("AxisError")?.call1((axis, rank, py.None()));
    match make() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Arrays of at most this many bytes are allocated without a check whether the machine has so much memory.
const NOTABLE: i64 = 1 << 26;

/// Refuses an array that no memory of this machine can hold, when the array is made and not when it is first used.
pub fn check_bytes(py: Python<'_>, dims: &[i64], dtype: DType) -> PyResult<()> {
    let bytes = dims.iter().filter(|n| **n > 0).try_fold(dtype.size() as i64, |a, &n| a.checked_mul(n));
    match bytes {
        None => Err(PyValueError::new_err(
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
        )),
        Some(bytes) if bytes > NOTABLE && !dims.contains(&0) && bytes as u64 > most_memory().min(address_space()) => {
            Err(memory(py, dims, dtype))
        }
        Some(_) => Ok(()),
    }
}

/// Bytes of address space that this process may use.
fn address_space() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one structure, which is a local variable.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    if known { limit.rlim_cur } else { u64::MAX }
}

/// Bytes of memory and swap space together, as the system counts them; `u64::MAX` if it does not say.
fn most_memory() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kilobytes = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        kilobytes("MemTotal:").map_or(u64::MAX, |total| (total + kilobytes("SwapTotal:").unwrap_or(0)) << 10)
    })
}
