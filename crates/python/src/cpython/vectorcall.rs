//! Objects of numelt's classes that the interpreter calls by the vectorcall protocol, without packing the arguments.
//!
//! In: a class that PyO3 has made, with a field that holds the function. Out: the class with the field's offset in its type
//! object, and the class's flags. PyO3 gives a class `tp_call` only, for which the interpreter makes a tuple and a dictionary.
//! On five elements vectorcall gains 17 to 23 % of a ufunc's call (165 ns), and 9 to 14 % of a method's (`benches/fast_paths.py`). Calls of
//! the class `routine` itself gained less than 5 %, and are PyO3's. `NUMELT_FAST_PATHS` without `calls` leaves the class so.

use crate::cpython::fast::{self, Path};
use crate::cpython::given::Given;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{PyClass, PyTypeInfo};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function that the interpreter calls gives to it; `None` where `run` does.
#[inline(always)]
pub fn give<'py>(
    py: Python<'py>,
    run: impl FnOnce() -> Option<PyResult<Bound<'py, PyAny>>>,
) -> Option<*mut ffi::PyObject> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(Ok(result))) => Some(result.into_ptr()),
        Ok(Some(Err(error))) => Some(raise(py, error)),
        Ok(None) => None,
        Err(_) => Some(raise(py, PyRuntimeError::new_err("numelt: an operation panicked"))),
    }
}

#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut ffi::PyObject {
    error.restore(py);
    std::ptr::null_mut()
}

/// What every object of a class begins with that derives from `object` and has contents of its own.
#[repr(C)]
pub struct Object<T> {
    head: ffi::PyObject,
    contents: T,
}

impl<T> Object<T> {
    /// The offset in bytes of the contents.
    pub const CONTENTS: usize = offset_of!(Object<T>, contents);

    /// Are objects of the class so laid out, with at most a dictionary and a list of weak references behind?
    pub fn is_layout_of(class: &Bound<'_, PyType>) -> bool {
        // SAFETY: the class is complete.
        let (size, base, offsets) = unsafe {
            let object = &*class.as_type_ptr();
            (object.tp_basicsize, object.tp_base, [object.tp_dictoffset, object.tp_weaklistoffset])
        };
        let behind = offsets.into_iter().filter(|&offset| offset != 0).collect::<SmallVec<[_; 2]>>();
        let more = behind.len() * size_of::<*mut ffi::PyObject>();
        std::ptr::eq(base, &raw const ffi::PyBaseObject_Type)
            && size as usize == size_of::<Object<T>>() + more
            && behind.iter().all(|&offset| offset >= size_of::<Object<T>>() as ffi::Py_ssize_t)
    }
}

/// What the interpreter calls of the objects of a class; a field of each of them.
pub struct Entry<T> {
    function: ffi::vectorcallfunc,
    class: PhantomData<fn(T)>,
}

/// A class whose objects are called without packing the arguments.
pub trait Callee: PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync {
    /// The offset in bytes of the field [`Entry`] in the Rust structure.
    const ENTRY: usize;

    /// A call that needs no more than a few of numelt's own functions; `None` for all others. References that PyO3 counts apart from the
    /// interpreter ([`Py`]) and that end meanwhile are given back with the next call from Python.
    fn at_once<'py>(&self, _given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(None)
    }

    /// A call that [`Callee::at_once`] has not answered.
    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Callee> Entry<T> {
    /// That of the class.
    pub const fn new() -> Entry<T> {
        Entry { function: called::<T>, class: PhantomData }
    }
}

/// A call as the interpreter makes it.
///
/// # Safety
/// The object is one of the class or of one that is derived from it; the values and names are those of a call.
unsafe extern "C" fn called<T: Callee>(
    object: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract; the interpreter calls with its lock held.
    let (own, given) = unsafe {
        let (py, count) = (Python::assume_attached(), ffi::PyVectorcall_NARGS(count) as usize);
        (Borrowed::from_ptr(py, object).cast_unchecked::<T>(), Given::of(py, values, count, names))
    };
    // to tell PyO3 that the lock is held costs 15 ns, which is much of a short call
    if let Some(made) = give(given.py(), || own.get().at_once(&given).transpose()) {
        return made;
    }
    Python::attach(|py| give(py, || Some(own.get().called(&given))).unwrap_or(std::ptr::null_mut()))
}

/// Has the interpreter call the objects of a class, which is `T`'s or derived from it, by their [`Entry`].
pub fn call_by_entry<T: Callee>(class: &Bound<'_, PyType>) -> PyResult<()> {
    if class.is_subclass_of::<T>()? {
        // SAFETY: the field is that function; objects of derived classes begin as those of the class.
        unsafe { call_by::<T>(class, T::ENTRY + offset_of!(Entry<T>, function)) };
    }
    Ok(())
}

/// Has the interpreter call a class's objects by the function at this offset in their contents of type `T`.
///
/// # Safety
/// There is a `vectorcallfunc` for such objects. The class is complete, `T`'s or derived from it, and numelt's own.
pub unsafe fn call_by<T: PyTypeInfo>(class: &Bound<'_, PyType>, offset: usize) {
    if !fast::has(Path::Calls) || !Object::<T>::is_layout_of(&T::type_object(class.py())) {
        return;
    }
    // SAFETY: the caller's contract.
    unsafe {
        let object = class.as_type_ptr();
        (*object).tp_vectorcall_offset = (Object::<T>::CONTENTS + offset) as ffi::Py_ssize_t;
        (*object).tp_flags |= ffi::Py_TPFLAGS_HAVE_VECTORCALL;
        ffi::PyType_Modified(object);
    }
}

/// Has the interpreter call objects of a class that another class holds with the instance as the first argument, without
/// making bound methods: what their `__get__` makes are those.
pub fn call_as_methods(class: &Bound<'_, PyType>) {
    if fast::has(Path::Calls) {
        // SAFETY: the class is complete and numelt's own.
        unsafe {
            (*class.as_type_ptr()).tp_flags |= ffi::Py_TPFLAGS_METHOD_DESCRIPTOR;
            ffi::PyType_Modified(class.as_type_ptr());
        }
    }
}
