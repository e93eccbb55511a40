//! How the interpreter calls ufuncs and their methods: without packing the arguments.
//!
//! In: a call as the interpreter makes it. Out: its result. Calls of ufuncs by the vectorcall protocol are a fast path,
//! which `NUMELT_FAST_PATHS` switches off with `calls`. Methods have no other entry: PyO3 cannot make methods with
//! keyword arguments that the interpreter calls without packing them.

use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::cpython::vectorcall;
use crate::numpy::convert::{self, Numpy};
use crate::object::ufunc::Ufunc;
use crate::ufunc::general;
use crate::ufunc::methods::{self, METHODS};
use crate::ufunc::operators;
use numelt_ir::Op;
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyType};
use smallvec::SmallVec;
use std::ffi::CString;

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

/// Answers a call of a method; `AT` is its place in [`METHODS`].
///
/// # Safety
/// The object is a ufunc, and the values and names are those of a call.
unsafe extern "C" fn call_method<const AT: usize>(
    ufunc: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        // SAFETY: the caller's contract; the class has no subclasses.
        let (own, given) = unsafe {
            let own = Borrowed::from_ptr(py, ufunc).cast_unchecked::<Ufunc>();
            (own, Given::of(py, values, count as usize, names))
        };
        vectorcall::give(py, || Some(methods::called(&own, &METHODS[AT], &given))).unwrap_or(std::ptr::null_mut())
    })
}

/// Adds a method to the class, with the documentation and the signature of NumPy's.
fn add_method<const AT: usize>(class: &Bound<'_, PyType>) -> PyResult<()> {
    let name = METHODS[AT].name;
    let numpys = Numpy::get(class.py())?.ufunc.bind(class.py()).getattr(name)?;
    let text = |attribute| Ok::<String, PyErr>(numpys.getattr(attribute)?.extract::<Option<_>>()?.unwrap_or_default());
    let head = match text("__text_signature__")? {
        signature if signature.is_empty() => String::new(),
        signature => format!("{name}{signature}\n--\n\n"),
    };
    let doc = CString::new(head + &text("__doc__")?)?;
    // the interpreter keeps the address of the definition as long as the class lives, which is until the process ends
    let definition: &'static mut ffi::PyMethodDef = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: CString::new(name)?.into_raw(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call_method::<AT> },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.into_raw(),
    }));
    // SAFETY: the class and the definition live until the process ends. The result is a new reference, or null with an
    // exception. A method checks the class of the object that it is called on.
    let method = unsafe {
        let made = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(class.py(), made)?
    };
    class.setattr(name, method)
}

/// Makes the interpreter call ufuncs by the vectorcall protocol, and adds their methods to the class.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    let class = Ufunc::type_object(py);
    // SAFETY: at this offset, each ufunc has such a function.
    unsafe { vectorcall::call_by::<Ufunc>(&class, Ufunc::CALL) };
    add_method::<0>(&class)?;
    add_method::<1>(&class)?;
    add_method::<2>(&class)?;
    add_method::<3>(&class)?;
    add_method::<4>(&class)
}
