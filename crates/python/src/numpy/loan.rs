//! Loans: memory of arrays that NumPy may use for the time of a call.
//!
//! In: an array. Out: a `numpy.ndarray` on its memory, and the end of the loan. The array object is kept for the next
//! loan unless somebody else holds it after the call.

use crate::array::ndarray::{NdArray, Payload};
use crate::numpy::convert::Numpy;
use crate::numpy::export::{Exporter, bare_view, references, set_base};
use crate::record::{registry, run};
use numelt_runtime::{ArrayView, Export};
use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::npyffi::{PyArrayObject, npy_intp};
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A numelt array, and the `numpy.ndarray` on its memory that NumPy gets for the time of a call.
pub struct Loan<'py> {
    view: Bound<'py, PyAny>,
    array: Bound<'py, NdArray>,
    /// Keeps the memory in place; `None` if the array holds a `numpy.ndarray` itself.
    export: Option<Export>,
}

/// Lends an array's memory to NumPy; pending work on it runs first.
pub fn lend<'py>(array: &Bound<'py, NdArray>) -> PyResult<Loan<'py>> {
    let py = array.py();
    let (view, export) = match array.get().payload() {
        Payload::Foreign(real) => (real.bind(py).clone(), None),
        Payload::Native(view) => {
            let export = run::share(py, &view.base)?;
            let (start, writeable) = (export.ptr(), array.get().writeable());
            let kept = array.get().spare().take(py).filter(|kept| is_view(kept, view, start, writeable));
            let real = kept.map_or_else(|| bare_view(py, view, start, writeable), Ok)?;
            (real, Some(export))
        }
    };
    Ok(Loan { view, array: array.clone(), export })
}

impl<'py> Loan<'py> {
    /// The `numpy.ndarray`.
    pub fn view(&self) -> &Bound<'py, PyAny> {
        &self.view
    }

    /// Our array, whose memory is lent.
    pub fn array(&self) -> &Bound<'py, PyAny> {
        self.array.as_any()
    }

    /// Ends the loan. If somebody still holds the `numpy.ndarray`, it becomes an ordinary export.
    pub fn end(self) -> PyResult<()> {
        let Some(export) = self.export else { return Ok(()) };
        if references(&self.view) == 1 {
            self.array.get().spare().put(self.view);
            return Ok(());
        }
        registry::enter(export.base());
        let exporter = Bound::new(self.view.py(), Exporter { export, array: Some(self.array.into_any().unbind()) })?;
        set_base(&self.view, exporter)
    }
}

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
    fn take<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        // only used with the GIL held, so no read-modify-write is needed
        let kept = self.0.load(Ordering::Relaxed);
        self.0.store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: an address that is not null is an owned reference, which `put` gave up.
        (!kept.is_null()).then(|| unsafe { Bound::from_owned_ptr(py, kept) })
    }

    /// Keeps a `numpy.ndarray` that nobody else holds.
    fn put(&self, array: Bound<'_, PyAny>) {
        // SAFETY: the object is an array that `bare_view` made; see `RealArray::of`.
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

/// Whether this `numpy.ndarray` equals the one that [`bare_view`] would make.
fn is_view(array: &Bound<'_, PyAny>, view: &ArrayView, start: *mut u8, writeable: bool) -> bool {
    // SAFETY: the array was made by `bare_view`; the layout is part of NumPy's stable ABI, and dimensions and strides
    // have `nd` entries.
    unsafe {
        let fields = &(*array.as_ptr().cast::<PyArrayObject>()).fields;
        let rank = view.shape.len();
        let same = |found: *mut npy_intp, wanted: &[i64]| (0..rank).all(|axis| *found.add(axis) as i64 == wanted[axis]);
        let numpy = Numpy::get(array.py());
        fields.data.cast() == start.wrapping_offset(view.offset as isize)
            && fields.nd as usize == rank
            && (fields.flags & NPY_ARRAY_WRITEABLE != 0) == writeable
            && numpy.is_ok_and(|n| n.descr(array.py(), view.dtype).as_ptr() == fields.descr.cast())
            && same(fields.dimensions, &view.shape)
            && same(fields.strides, &view.strides)
    }
}
