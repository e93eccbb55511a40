//! The `numpy.ndarray` that an array keeps between two loans of its memory to NumPy.

use numpy::npyffi::PyArrayObject;
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A `numpy.ndarray` of an earlier loan that nobody else holds, kept by the array that it was made for. Making one
/// takes longer than checking that this one still fits. Nobody uses it between two loans, so the memory that it
/// points to may be freed before it is.
pub struct Spare(AtomicPtr<ffi::PyObject>);

impl Spare {
    /// Without a spare object.
    pub const fn none() -> Spare {
        Spare(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Whether no `numpy.ndarray` is kept.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Takes the `numpy.ndarray` out.
    pub fn take<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        // only used with the GIL held, so no read-modify-write is needed
        let kept = self.0.load(Ordering::Relaxed);
        self.0.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: an address that is not null is an owned reference, which `put` gave up.
        (!kept.is_null()).then(|| unsafe { Bound::from_owned_ptr(py, kept) })
    }

    /// Keeps a `numpy.ndarray` that nobody else holds.
    pub fn put(&self, array: Bound<'_, PyAny>) {
        // SAFETY: the object is a `numpy.ndarray`, whose layout is part of NumPy's stable ABI.
        let fields = unsafe { &(*array.as_ptr().cast::<PyArrayObject>()).fields };
        // a weak reference could still reach it after the memory has been freed
        if fields.weakreflist.is_null() && fields.base.is_null() {
            let py = array.py();
            let before = self.0.load(Ordering::Relaxed);
            self.0.store(array.into_ptr(), Ordering::Relaxed);
            if !before.is_null() {
                // SAFETY: as in `take`.
                drop(unsafe { Bound::from_owned_ptr(py, before) });
            }
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        let kept = *self.0.get_mut();
        if !kept.is_null() {
            // SAFETY: as in `take`.
            Python::try_attach(|py| drop(unsafe { Bound::from_owned_ptr(py, kept) }));
        }
    }
}
