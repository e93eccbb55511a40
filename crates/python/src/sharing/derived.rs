//! Arrays of classes that are derived from NumPy's array class, among the arguments of a call.

use crate::cpython::given::{self, Given};
use crate::numpy::convert::Numpy;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

/// Longest list or tuple that is searched for arrays of derived classes.
const ITEMS: usize = 16;

/// Whether this class is derived from NumPy's array class.
pub fn is_class(class: &Bound<'_, PyType>) -> bool {
    is_derived_class(class.py(), class.as_type_ptr())
}

/// Whether this is an array of a class that is derived from NumPy's array class.
#[inline]
pub fn is_derived(value: &Bound<'_, PyAny>) -> bool {
    is_derived_class(value.py(), value.get_type_ptr())
}

#[inline]
fn is_derived_class(py: Python<'_>, class: *mut ffi::PyTypeObject) -> bool {
    let Ok(numpy) = Numpy::get(py) else { return false };
    let array: *mut ffi::PyTypeObject = numpy.ndarray.as_ptr().cast();
    let mut class = class;
    // The base named by this field determines the layout of a class's objects, so that of NumPy's array is always found
    // on this way. `PyType_IsSubtype` searches all bases.
    // SAFETY: the class and its bases are living types.
    while let Some(base) = unsafe { (*class).tp_base.as_mut() } {
        class = base;
        if class == array {
            return true;
        }
    }
    false
}

/// Whether this is an array of a derived class; if a class may claim the call (`claimable`), one that leaves
/// functions to NumPy.
#[inline]
pub fn passes(value: &Bound<'_, PyAny>, claimable: bool) -> PyResult<bool> {
    Ok(is_derived(value) && (!claimable || leaves_functions_to_numpy(value)?))
}

/// Whether this is an array of a derived class that leaves functions to NumPy.
#[inline]
pub fn is_instance(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    passes(value, true)
}

/// Whether the class of an array has an `__array_function__` that does what NumPy's does.
fn leaves_functions_to_numpy(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let method = value.get_type().getattr_opt(intern!(value.py(), "__array_function__"))?;
    let numpys = numpys_method(value.py())?;
    Ok(method.is_some_and(|method| method.is(numpys)))
}

/// Whether this is an array as in [`is_instance`], or a short list or tuple with one in it.
fn holds(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(list) = value.cast_exact::<PyList>() {
        return Ok(list.len() <= ITEMS && any(list.iter(), |item| is_instance(&item))?);
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Ok(tuple.len() <= ITEMS && any(tuple.iter(), |item| is_instance(&item))?);
    }
    is_instance(value)
}

/// Whether the condition holds for any of the items; those after the first such item are not tested.
fn any<T>(items: impl IntoIterator<Item = T>, holds: impl Fn(T) -> PyResult<bool>) -> PyResult<bool> {
    for item in items {
        if holds(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether there is an array of a derived class among the operands of a ufunc.
pub fn among_operands(given: &Given<'_, '_>) -> bool {
    given.positional().chain(given.named()).any(|value| match value.cast_exact::<PyTuple>() {
        Ok(outs) => outs.iter_borrowed().any(|out| is_derived(&out)),
        Err(_) => is_derived(&value),
    })
}

/// Whether there is an array of a derived class that leaves functions to NumPy among the arguments.
pub fn among(given: &Given<'_, '_>) -> PyResult<bool> {
    any(given.positional().chain(given.named()), |value| holds(&value))
}

/// [`among_operands`] of packed arguments.
pub fn among_packed_operands(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    given::unpacked(args, kwargs, |given| Ok(among_operands(given)))
}

/// `numpy.ndarray.__array_function__`.
pub fn numpys_method(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static METHOD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let find = || Numpy::get(py)?.ndarray.bind(py).getattr("__array_function__").map(Bound::unbind);
    Ok(METHOD.get_or_try_init(py, find)?.bind(py))
}
