//! Classes of numelt whose objects the interpreter calls by the vectorcall protocol, without packing the arguments.
//!
//! In: a class that PyO3 has made, with a field that holds the function to call. Out: the same class, whose type object
//! names the offset of that field and has the flags that go with it. PyO3 gives a class only `tp_call`, for which the
//! interpreter makes a tuple and a dictionary. On five elements, vectorcall makes the call of a ufunc 22 to 24 %
//! shorter, that of a method 14 to 27 %, and that of a short one such as `ravel` 42 to 69 % (`benches/fast_paths.py`).
//! Calls of the class `routine` itself gained less than 5 % and stay with PyO3. If `NUMELT_FAST_PATHS` does not name
//! `calls`, classes keep PyO3's `tp_call`.

use crate::cpython::endings;
use crate::cpython::fast::{self, FastPath};
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

/// Runs a function and converts its result for the interpreter: an object, or null with an exception set. A panic
/// becomes a `RuntimeError`. `None` if `run` returns `None`.
#[inline(always)]
pub fn give<'py>(
    py: Python<'py>,
    run: impl FnOnce() -> Option<PyResult<Bound<'py, PyAny>>>,
) -> Option<*mut ffi::PyObject> {
    match catch_unwind(AssertUnwindSafe(|| endings::outlive(run))) {
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

/// The memory layout of an object whose class derives from `object` directly: the head of every object, then the Rust
/// value.
#[repr(C)]
pub struct Object<T> {
    head: ffi::PyObject,
    contents: T,
}

impl<T> Object<T> {
    /// The offset in bytes of the Rust value.
    pub const CONTENTS: usize = offset_of!(Object<T>, contents);

    /// Whether objects of the class have this layout, followed by at most a dictionary and a list of weak references.
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

/// The function by which the interpreter calls an object of a class. Each object has it as a field.
pub struct Entry<T> {
    function: ffi::vectorcallfunc,
    class: PhantomData<fn(T)>,
}

/// A class whose objects are called without packing the arguments.
pub trait Callee: PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync {
    /// The offset in bytes of the field [`Entry`] in the Rust structure.
    const ENTRY: usize;

    /// Answers a call if that takes only a few of numelt's own functions; `None` for all other calls. It runs without
    /// PyO3's record that the GIL is held, so references ([`Py`]) that are dropped meanwhile are released at the next
    /// call from Python.
    fn at_once<'py>(&self, _given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(None)
    }

    /// Answers a call that [`Callee::at_once`] has declined.
    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Callee> Entry<T> {
    /// The entry of the class `T`.
    pub const fn new() -> Entry<T> {
        Entry { function: called::<T>, class: PhantomData }
    }
}

/// Answers a call by the vectorcall protocol.
///
/// # Safety
/// `object` is an instance of the class `T` or of a class derived from it. The values and names are those of a
/// vectorcall.
unsafe extern "C" fn called<T: Callee>(
    object: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract; the interpreter holds the GIL when it calls.
    let (own, given) = unsafe {
        let (py, count) = (Python::assume_attached(), ffi::PyVectorcall_NARGS(count) as usize);
        (Borrowed::from_ptr(py, object).cast_unchecked::<T>(), Given::of(py, values, count, names))
    };
    // PyO3's record that the GIL is held costs 15 ns, a large part of a short call, so `at_once` goes without
    if let Some(made) = give(given.py(), || own.get().at_once(&given).transpose()) {
        return made;
    }
    Python::attach(|py| give(py, || Some(own.get().called(&given))).unwrap_or(std::ptr::null_mut()))
}

/// Makes the interpreter call the objects of a class by their [`Entry`], if the class is that of `T` or derived from
/// it.
pub fn call_by_entry<T: Callee>(class: &Bound<'_, PyType>) -> PyResult<()> {
    if class.is_subclass_of::<T>()? {
        // SAFETY: the field at this offset holds that function; objects of derived classes begin like those of the
        // class.
        unsafe { call_by::<T>(class, T::ENTRY + offset_of!(Entry<T>, function)) };
    }
    Ok(())
}

/// Makes the interpreter call a class's objects by the function that lies at this offset in their Rust value of type
/// `T`.
///
/// # Safety
/// There is a `vectorcallfunc` at that offset in every object. The class is complete, is that of `T` or derived from
/// it, and belongs to numelt.
pub unsafe fn call_by<T: PyTypeInfo>(class: &Bound<'_, PyType>, offset: usize) {
    if !fast::has(FastPath::Calls) || !Object::<T>::is_layout_of(&T::type_object(class.py())) {
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

/// Makes the interpreter call objects of `class`, where they are attributes of another class, with the instance as
/// the first argument instead of making a bound method. This is right only if their `__get__` returns bound methods.
pub fn call_as_methods(class: &Bound<'_, PyType>) {
    if fast::has(FastPath::Calls) {
        // SAFETY: the class is complete and numelt's own.
        unsafe {
            (*class.as_type_ptr()).tp_flags |= ffi::Py_TPFLAGS_METHOD_DESCRIPTOR;
            ffi::PyType_Modified(class.as_type_ptr());
        }
    }
}
