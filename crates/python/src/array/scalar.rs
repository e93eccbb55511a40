//! Results without axes: NumPy's scalars, or arrays without axes if the program has requested these.
//!
//! In: the view of a result without axes. Out: a scalar or an array. NumPy returns one of its scalars if a result has
//! no axes: for `x.sum()`, or for the sine of an array without axes. A scalar has its value from the start, so the
//! work that it depends on runs when it is made. A program that wants the value computed later uses `with
//! numelt.lazy():` and gets arrays without axes, which are pending like any other array. The front end does the same
//! inside an operation that it composes of several steps.

use crate::cpython::calls;
use crate::numpy::convert;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::record::errstate;
use crate::record::run;
use numelt_ir::{DType, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyTuple};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The context variable that `numelt.lazy()` sets. Its value is read only after `ASKED_FOR` says that it has been set
/// at least once.
static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static ASKED_FOR: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is composing an operation of several steps.
    static COMPOSING: Cell<bool> = const { Cell::new(false) };
}

/// Results without axes are arrays in this thread until this is dropped.
pub struct Composing(bool);

impl Composing {
    /// Makes results without axes arrays from now on.
    pub fn begin() -> Composing {
        Composing(COMPOSING.replace(true))
    }
}

impl Drop for Composing {
    fn drop(&mut self) {
        COMPOSING.set(self.0);
    }
}

/// Whether results without axes are arrays in this thread and context.
pub fn are_arrays(py: Python<'_>) -> PyResult<bool> {
    if COMPOSING.get() {
        return Ok(true);
    }
    match VARIABLE.get(py).filter(|_| ASKED_FOR.load(Ordering::Relaxed)) {
        Some(variable) => errstate::value(variable.bind(py))?.is_truthy(),
        None => Ok(false),
    }
}

/// The result of an operation, which has no axes: NumPy's scalar, computed now, or an array.
pub fn make(py: Python<'_>, view: ArrayView) -> PyResult<Bound<'_, PyAny>> {
    debug_assert!(view.shape.is_empty());
    if are_arrays(py)? { wrap_new(py, view) } else { read(py, &view) }
}

/// NumPy's scalar with the value of a view without axes. The pending work that it depends on runs.
pub fn read<'py>(py: Python<'py>, view: &ArrayView) -> PyResult<Bound<'py, PyAny>> {
    convert::to_numpy_scalar(py, run::read_scalar(py, &view.base, view.dtype, view.offset)?)
}

/// Sets the context variable of `numelt.lazy()`, whose value is true where results without axes are arrays.
#[pyfunction]
fn set_lazy(variable: Bound<'_, PyAny>) {
    VARIABLE.get_or_init(variable.py(), || variable.unbind());
}

/// States that the context variable has been set in some context.
#[pyfunction]
fn lazy_is_asked_for() {
    ASKED_FOR.store(true, Ordering::Relaxed);
}

/// Calls a composed function, inside which results without axes are arrays, so that its reductions run together. If
/// it returns such an array, the result becomes NumPy's scalar, unless it is an argument (as `out=` is).
#[pyfunction]
#[pyo3(signature = (function, args, kwargs = None))]
fn composing<'py>(
    function: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let composing = Composing::begin();
    let made = calls::apply(function, args, kwargs);
    drop(composing);
    let made = made?;
    let Ok(array) = made.cast_exact::<NdArray>() else { return Ok(made) };
    let Some(view) = array.get().view().filter(|view| view.shape.is_empty()) else { return Ok(made) };
    let given = args.iter_borrowed().any(|arg| arg.is(&made))
        || kwargs.is_some_and(|kwargs| kwargs.values().iter().any(|arg| arg.is(&made)));
    if given || are_arrays(made.py())? { Ok(made) } else { read(made.py(), view) }
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(composing, module)?)?;
    module.add_function(wrap_pyfunction!(set_lazy, module)?)?;
    module.add_function(wrap_pyfunction!(lazy_is_asked_for, module)?)
}

/// The Python number with this value, as `item()` returns it.
pub fn python_number<'py>(py: Python<'py>, value: Scalar) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Scalar::Bool(v) => PyBool::new(py, v).to_owned().into_any(),
        Scalar::I8(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U8(v) => v.into_pyobject(py)?.into_any(),
        Scalar::I16(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U16(v) => v.into_pyobject(py)?.into_any(),
        Scalar::I32(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U32(v) => v.into_pyobject(py)?.into_any(),
        Scalar::I64(v) => v.into_pyobject(py)?.into_any(),
        Scalar::U64(v) => v.into_pyobject(py)?.into_any(),
        Scalar::F16(v) => PyFloat::new(py, v.to_f64()).into_any(),
        Scalar::F32(v) => PyFloat::new(py, f64::from(v)).into_any(),
        Scalar::F64(v) => PyFloat::new(py, v).into_any(),
        Scalar::C64(v) => PyComplex::from_doubles(py, f64::from(v.re), f64::from(v.im)).into_any(),
        Scalar::C128(v) => PyComplex::from_doubles(py, v.re, v.im).into_any(),
    })
}

/// The truth of a value.
pub fn truth(value: Scalar) -> bool {
    convert::cast(value, DType::Bool) == Scalar::Bool(true)
}
