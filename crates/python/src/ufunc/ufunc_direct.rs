//! Calls of ufuncs that the interpreter makes without packing their arguments.

use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::cpython::vectorcall;
use crate::numpy::convert::{self, Numpy};
use crate::ufunc::operators;
use crate::ufunc::{Ufunc, general};
use numelt_ir::Op;
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use smallvec::SmallVec;

/// A call with operands alone that need no look at their dtypes.
#[inline]
pub fn quick_call<'py>(op: Op, args: &[Borrowed<'_, 'py, PyAny>]) -> Option<PyResult<Bound<'py, PyAny>>> {
    match args {
        [a] if op.arity() == 1 => operators::quick_unary(op, a),
        [a, b] if op.arity() == 2 => operators::quick(op, a, b),
        _ => None,
    }
}

/// A call with operands alone that needs no rule: on arrays of ours, or on numbers, whose answer is NumPy's.
#[inline]
pub fn quick_or_numbers<'py>(ufunc: &Ufunc, args: &[Borrowed<'_, 'py, PyAny>]) -> Option<PyResult<Bound<'py, PyAny>>> {
    ufunc.native().and_then(|op| quick_call(op, args)).or_else(|| {
        let py = args.first()?.py();
        let numbers: SmallVec<[_; 2]> = match are_plain_numbers(args) {
            true => args.iter().map(|&arg| arg.to_owned()).collect(),
            false => return None,
        };
        Some(calls::call(&ufunc.numpy(py), &numbers, None))
    })
}

/// Are all arguments numbers of the classes that programs compute with, so that NumPy's answer is the answer?
#[inline]
fn are_plain_numbers(args: &[Borrowed<'_, '_, PyAny>]) -> bool {
    let is_numpys =
        |a: &Bound<'_, PyAny>| Numpy::get(a.py()).is_ok_and(|numpy| numpy.dtype_of_type(a.get_type_ptr()).is_some());
    args.iter().all(|a| {
        a.is_exact_instance_of::<PyFloat>()
            || a.is_exact_instance_of::<PyInt>()
            || convert::numpy_float64(a).is_some()
            || is_numpys(a)
    })
}

/// A call as the interpreter makes it.
///
/// # Safety
/// The object is a ufunc, the values and names are those of a call.
pub unsafe extern "C" fn call(
    ufunc: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract; the class has no subclasses.
    unsafe {
        let py = Python::assume_attached();
        let call = Given::of(py, values, ffi::PyVectorcall_NARGS(count) as usize, names);
        let own = Borrowed::from_ptr(py, ufunc).cast_unchecked::<Ufunc>();
        let quick = || call.with_values(|args| quick_or_numbers(own.get(), args));
        vectorcall::give(py, quick).unwrap_or_else(|| {
            // what runs now may call Python
            Python::attach(|attached| {
                let given = Given::of(attached, values, ffi::PyVectorcall_NARGS(count) as usize, names);
                let own = Borrowed::from_ptr(attached, ufunc).cast_unchecked::<Ufunc>();
                vectorcall::give(attached, || Some(general(&own, &given))).unwrap_or(std::ptr::null_mut())
            })
        })
    }
}

/// Has the interpreter call ufuncs without packing their arguments.
pub fn prepare(py: Python<'_>) {
    // SAFETY: the field is such a function, for ufuncs.
    unsafe { vectorcall::call_by::<Ufunc>(&Ufunc::type_object(py), Ufunc::CALL) };
}
