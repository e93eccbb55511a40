//! The fast path of ufunc calls: the interpreter calls ufuncs by the vectorcall protocol, without packing their
//! arguments.
//!
//! In: a call as the interpreter makes it. Out: its result. `NUMELT_FAST_PATHS` switches this off with `calls`.

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

/// Answers a call that has only operands, if they can be recorded without examining their dtypes.
#[inline]
pub fn quick_call<'py>(op: Op, args: &[Borrowed<'_, 'py, PyAny>]) -> Option<PyResult<Bound<'py, PyAny>>> {
    match args {
        [a] if op.arity() == 1 => operators::quick_unary(op, a),
        [a, b] if op.arity() == 2 => operators::quick(op, a, b),
        _ => None,
    }
}

/// Answers a call that has only operands and needs no rule: on numelt arrays, or on numbers, for which NumPy's
/// result is returned.
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

/// Whether all arguments are numbers of the classes that programs compute with, so that NumPy's result is the result.
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

/// Answers a call by the vectorcall protocol.
///
/// # Safety
/// The object is a ufunc, and the values and names are those of a call.
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
            // from here on, Python code may run
            Python::attach(|attached| {
                let given = Given::of(attached, values, ffi::PyVectorcall_NARGS(count) as usize, names);
                let own = Borrowed::from_ptr(attached, ufunc).cast_unchecked::<Ufunc>();
                vectorcall::give(attached, || Some(general(&own, &given))).unwrap_or(std::ptr::null_mut())
            })
        })
    }
}

/// Makes the interpreter call ufuncs by the vectorcall protocol.
pub fn prepare(py: Python<'_>) {
    // SAFETY: at this offset, each ufunc has such a function.
    unsafe { vectorcall::call_by::<Ufunc>(&Ufunc::type_object(py), Ufunc::CALL) };
}
