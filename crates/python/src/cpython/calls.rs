//! Calls of Python objects, and bound methods.
//!
//! In: a callable, and its arguments as a slice (for CPython's vectorcall protocol: neither a tuple nor a dictionary is
//! made for them) or as a tuple. Out: what the callable returns. Code of Python and NumPy is called through this file
//! wherever it may take long, because a thread can be ended in it ([`crate::cpython::endings`]).

use crate::cpython::endings::outlive;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{BoundObject, ffi};
use std::ptr::null_mut;

unsafe extern "C" {
    /// Documented in Python's C API (instance method objects); PyO3 does not declare it.
    fn PyMethod_New(function: *mut ffi::PyObject, instance: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

// Functions that PyO3 declares too, but as functions that never unwind the stack. These may.
unsafe extern "C-unwind" {
    fn PyObject_Vectorcall(
        callable: *mut ffi::PyObject,
        values: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyObject_Call(
        callable: *mut ffi::PyObject,
        args: *mut ffi::PyObject,
        kwargs: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyObject_VectorcallMethod(
        name: *mut ffi::PyObject,
        values: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyObject_Repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject;
    fn PyObject_Str(object: *mut ffi::PyObject) -> *mut ffi::PyObject;
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
    let names = names.as_ref().map_or(null_mut(), |names| names.as_ptr());
    // SAFETY: a `Bound` is the address of a living object, and the number of values is that of the arguments.
    unsafe { vectorcall(callable, values.as_ptr().cast(), count, names) }
}

const _: () = assert!(size_of::<Bound<'static, PyAny>>() == size_of::<*mut ffi::PyObject>());

/// Calls an object with the arguments of a call that CPython has made by its vectorcall protocol.
///
/// # Safety
/// `values` are `count` positional arguments and one more for each name in `names`, a tuple of strings or null; all
/// of them live.
pub unsafe fn vectorcall<'py>(
    callable: &Bound<'py, PyAny>,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller vouches for the arguments; the result is a new reference, or null with an exception set.
    unsafe {
        let made = outlive(|| PyObject_Vectorcall(callable.as_ptr(), values, count, names));
        Bound::from_owned_ptr_or_err(callable.py(), made)
    }
}

/// Calls an object with a tuple of arguments (or a Rust tuple that becomes one) and a dictionary.
pub fn apply<'py, A>(
    callable: &Bound<'py, PyAny>,
    args: A,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple>,
{
    let args = args.into_pyobject(callable.py()).map_err(Into::into)?;
    let kwargs = kwargs.map_or(null_mut(), |kwargs| kwargs.as_ptr());
    // SAFETY: all objects live, and are what they have to be; the result is a new reference, or null with an exception
    // set.
    unsafe {
        let args = args.as_borrowed();
        let made = outlive(|| PyObject_Call(callable.as_ptr(), args.as_ptr(), kwargs));
        Bound::from_owned_ptr_or_err(callable.py(), made)
    }
}

/// Calls a method of an object without arguments.
pub fn method0<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: both objects live, and there is one value, the object; the result is a new reference, or null with an
    // exception set.
    unsafe {
        let this = object.as_ptr();
        let made = outlive(|| PyObject_VectorcallMethod(name.as_ptr(), &raw const this, 1, null_mut()));
        Bound::from_owned_ptr_or_err(object.py(), made)
    }
}

/// Calls a method of an object.
pub fn method<'py, A>(
    object: &Bound<'py, PyAny>,
    name: &str,
    args: A,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>>
where
    A: IntoPyObject<'py, Target = PyTuple>,
{
    apply(&object.getattr(PyString::intern(object.py(), name))?, args, kwargs)
}

/// `repr(object)`.
pub fn repr<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the object lives; the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), outlive(|| PyObject_Repr(object.as_ptr()))) }
}

/// `str(object)`.
pub fn str<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: as in `repr`.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), outlive(|| PyObject_Str(object.as_ptr()))) }
}

/// Asks an object for its memory as a writable buffer, and gives the buffer back.
///
/// # Errors
/// `BufferError` if the object has none, and what a `__buffer__` method of the program raises.
pub fn ask_for_writable_buffer(object: &Bound<'_, PyAny>) -> PyResult<()> {
    // SAFETY: the call fills the zeroed structure, which is released if the call succeeded.
    unsafe {
        let mut buffer: ffi::Py_buffer = std::mem::zeroed();
        let wanted = ffi::PyBUF_WRITABLE | ffi::PyBUF_SIMPLE;
        if ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut buffer, wanted) < 0 {
            return Err(PyErr::fetch(object.py()));
        }
        ffi::PyBuffer_Release(&raw mut buffer);
    }
    Ok(())
}
