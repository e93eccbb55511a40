//! Frames of Python code, and calls, by functions of the interpreter's that its stable interface lacks.

use crate::direct::Vectorcall;
use crate::given::{self, Given};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::ffi::c_int;
use std::sync::OnceLock;

/// Functions of the interpreter's that its stable interface lacks, where they can be found.
struct Found {
    method: Option<unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject>,
    instruction: Option<unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int>,
    caller: Option<unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject>,
    call: Option<Vectorcall>,
}

/// How an object is called with arguments as the interpreter has them.
pub fn how_to_call() -> Option<Vectorcall> {
    found().call
}

fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| {
        #[cfg(unix)]
        {
            // SAFETY: looks names up among the process's symbols. The functions have had these signatures since they
            // came (3.11, 3.9 and before); a null address becomes `None`.
            unsafe {
                Found {
                    method: std::mem::transmute::<
                        *mut libc::c_void,
                        Option<unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject>,
                    >(libc::dlsym(libc::RTLD_DEFAULT, c"PyMethod_New".as_ptr())),
                    instruction: std::mem::transmute::<
                        *mut libc::c_void,
                        Option<unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int>,
                    >(libc::dlsym(libc::RTLD_DEFAULT, c"PyFrame_GetLasti".as_ptr())),
                    caller: std::mem::transmute::<
                        *mut libc::c_void,
                        Option<unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyFrameObject>,
                    >(libc::dlsym(libc::RTLD_DEFAULT, c"PyFrame_GetBack".as_ptr())),
                    call: std::mem::transmute::<*mut libc::c_void, Option<Vectorcall>>(libc::dlsym(
                        libc::RTLD_DEFAULT,
                        c"PyObject_Vectorcall".as_ptr(),
                    )),
                }
            }
        }
        #[cfg(not(unix))]
        Found { method: None, instruction: None, caller: None, call: None }
    })
}

/// A callable that puts `instance` before its arguments.
pub fn bound_method<'py>(callable: &Bound<'py, PyAny>, instance: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static METHOD_TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = callable.py();
    match found().method {
        // SAFETY: both objects live; the result is a new reference, or null with an exception set.
        Some(new) => unsafe { Bound::from_owned_ptr_or_err(py, new(callable.as_ptr(), instance.as_ptr())) },
        None => METHOD_TYPE.import(py, "types", "MethodType")?.call1((callable, instance)),
    }
}

/// Calls an object; the last of the values are those of the names.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    values: &[Bound<'py, PyAny>],
    names: Option<Borrowed<'_, 'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let count = values.len() - names.as_ref().map_or(0, |names| names.len());
    let names = names.as_ref().map_or(std::ptr::null_mut(), |names| names.as_ptr());
    let values = values.as_ptr().cast::<*mut ffi::PyObject>();
    // SAFETY: so many values, each of which is an address and nothing else, and names, all of which live; the result is a new
    // reference, or null with an exception set.
    unsafe {
        if let Some(call) = found().call {
            return Bound::from_owned_ptr_or_err(py, call(callable.as_ptr(), values, count, names));
        }
        let (args, kwargs) = given::pack(&Given::of(py, values, count, names))?;
        callable.call(args, kwargs.as_ref())
    }
}

const _: () = assert!(size_of::<Bound<'static, PyAny>>() == size_of::<*mut ffi::PyObject>());

/// The offset of the instruction that a frame is at.
pub fn instruction(frame: &Bound<'_, PyAny>) -> PyResult<c_int> {
    match found().instruction {
        // SAFETY: the object is a frame.
        Some(get) => Ok(unsafe { get(frame.as_ptr().cast()) }),
        None => frame.getattr(pyo3::intern!(frame.py(), "f_lasti"))?.extract(),
    }
}

/// The frame that called a frame, if any did.
pub fn caller<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match found().caller {
        // SAFETY: the object is a frame; the result is a new reference or null.
        Some(get) => Ok(unsafe { Bound::from_owned_ptr_or_opt(frame.py(), get(frame.as_ptr().cast()).cast()) }),
        None => frame.getattr(pyo3::intern!(frame.py(), "f_back")).map(Some),
    }
}

/// The frame that runs and its code, if anything runs.
pub fn running(py: Python<'_>) -> PyResult<Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>> {
    // SAFETY: the GIL is held; the frame that runs is lent.
    match unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) } {
        Some(frame) => code(&frame).map(|code| Some((frame, code))),
        None => Ok(None),
    }
}

pub fn code<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the object is a frame: the interpreter gave it; the code object is a new reference.
    unsafe { Bound::from_owned_ptr_or_err(frame.py(), ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast()) }
}
