//! Calls of Python objects by CPython's vectorcall protocol, and bound methods.
//!
//! In: a callable, and its arguments as a slice. Out: what the callable returns. Neither a tuple nor a dictionary is
//! made for the arguments.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

unsafe extern "C" {
    /// Documented in Python's C API (instance method objects); PyO3 does not declare it.
    fn PyMethod_New(function: *mut ffi::PyObject, instance: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// A bound method: calling it calls `callable` with `instance` before the other arguments.
pub fn bound_method<'py>(callable: &Bound<'py, PyAny>, instance: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: both objects live; the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), PyMethod_New(callable.as_ptr(), instance.as_ptr())) }
}

/// Calls an object. The last values are the keyword arguments, in the order of `names`.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    values: &[Bound<'py, PyAny>],
    names: Option<Borrowed<'_, 'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    let count = values.len() - names.as_ref().map_or(0, |names| names.len());
    let names = names.as_ref().map_or(std::ptr::null_mut(), |names| names.as_ptr());
    let values = values.as_ptr().cast::<*mut ffi::PyObject>();
    // SAFETY: a `Bound` is the address of a living object, and the number of values is that of the arguments; the
    // result is a new reference, or null with an exception set.
    unsafe {
        let made = ffi::PyObject_Vectorcall(callable.as_ptr(), values, count, names);
        Bound::from_owned_ptr_or_err(callable.py(), made)
    }
}

const _: () = assert!(size_of::<Bound<'static, PyAny>>() == size_of::<*mut ffi::PyObject>());
