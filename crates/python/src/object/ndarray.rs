//! The array class: a view on a base, or a `numpy.ndarray` of a non-native dtype.
//!
//! Here is what an array holds; `fresh` makes Python objects of it. Indexing is in folder `array`, operators are
//! in `ufunc`, attributes, methods and protocols in `array_class`.

use crate::cpython::versioned::Versioned;
use crate::object::spare::Spare;
use numelt_runtime::{ArrayView, BaseRef, Export};
use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The contents of an array.
pub enum Payload {
    /// A view of memory that numelt manages; its operations are recorded.
    Native(ArrayView),
    /// A `numpy.ndarray` of a dtype that is not native; all its operations are fallbacks.
    Foreign(Py<PyAny>),
}

/// An N-dimensional array whose operations are recorded, fused and compiled.
#[pyclass(name = "ndarray", module = "numpy", subclass, frozen, weakref, sequence)]
pub struct NdArray {
    payload: Versioned<Payload>,
    writeable: AtomicBool,
    /// The object that `.base` returns: the array that this one is a view of.
    parent: Option<Py<PyAny>>,
    /// Keeps the base visible outside, for consumers that keep this object alive and not an export.
    pinned: OnceLock<Box<Export>>,
    /// The `numpy.ndarray` of the last loan to NumPy, kept for the next one.
    spare: Spare,
    /// Dropped last, after the fields above have released objects of other owners.
    _drain: DrainLast,
}

struct DrainLast;

impl Drop for DrainLast {
    fn drop(&mut self) {
        crate::cpython::graveyard::drain_after_drop();
    }
}

impl NdArray {
    /// An array of a native dtype; `parent` is what `.base` returns.
    #[inline(always)]
    pub fn new(view: ArrayView, parent: Option<Py<PyAny>>, writeable: bool) -> NdArray {
        NdArray {
            payload: Versioned::new(Payload::Native(view)),
            writeable: AtomicBool::new(writeable),
            parent,
            pinned: OnceLock::new(),
            spare: Spare::none(),
            _drain: DrainLast,
        }
    }

    /// An array of a non-native dtype; `parent` is what `.base` returns, if that is a numelt array.
    pub fn foreign(array: Py<PyAny>, parent: Option<Py<PyAny>>) -> NdArray {
        NdArray {
            payload: Versioned::new(Payload::Foreign(array)),
            writeable: AtomicBool::new(true),
            parent,
            pinned: OnceLock::new(),
            spare: Spare::none(),
            _drain: DrainLast,
        }
    }

    /// The current contents.
    pub fn payload(&self) -> &Payload {
        self.payload.get()
    }

    /// The view of a native array.
    pub fn view(&self) -> Option<&ArrayView> {
        match self.payload.get() {
            Payload::Native(view) => Some(view),
            Payload::Foreign(_) => None,
        }
    }

    /// Replaces the view (`a.shape = …`).
    pub fn set_view(&self, view: ArrayView) {
        self.leave_standing();
        self.payload.set(Payload::Native(view));
    }

    /// Replaces the `numpy.ndarray` of a non-native dtype.
    pub fn set_foreign(&self, array: Py<PyAny>) {
        self.leave_standing();
        self.payload.set(Payload::Foreign(array));
    }

    /// Removes the `numpy.ndarray` of this array from the table [`STANDING`].
    fn leave_standing(&self) {
        if let Payload::Foreign(real) = self.payload.get() {
            forget(real, self.parent.as_ref());
        }
    }

    /// Whether the array may be written to.
    pub fn writeable(&self) -> bool {
        self.writeable.load(Ordering::Relaxed)
    }

    /// Sets the flag that [`NdArray::writeable`] reads.
    pub fn set_writeable(&self, writeable: bool) {
        self.writeable.store(writeable, Ordering::Relaxed);
    }

    /// What `.base` returns.
    pub fn parent(&self) -> Option<&Py<PyAny>> {
        self.parent.as_ref()
    }

    /// Takes the parent out if the rest of the array can be dropped without dropping any Python object; else `None`.
    pub fn part(&mut self) -> Option<Option<Py<PyAny>>> {
        let own = matches!(self.payload.only(), Some(Payload::Native(_)));
        own.then(|| self.parent.take())
    }

    /// Moves the base and the parent out, if nothing else in the array needs to be dropped. The array must then be
    /// forgotten.
    ///
    /// # Safety
    /// If the result is not `None`, the array is neither used nor dropped afterwards.
    #[inline(always)]
    pub unsafe fn take_base(&mut self) -> Option<(BaseRef, Option<Py<PyAny>>)> {
        let (Some(Payload::Native(view)), None) = (self.payload.only(), self.pinned.get()) else { return None };
        if view.shape.spilled() || view.strides.spilled() || !self.spare.is_none() {
            return None;
        }
        // SAFETY: by the caller's contract, the base is moved out.
        let base = unsafe { std::ptr::read(&view.base) };
        Some((base, self.parent.take()))
    }

    /// Moves the `numpy.ndarray` and the parent out of an array of a non-native dtype, as [`NdArray::take_base`]
    /// does.
    ///
    /// # Safety
    /// If the result is not `None`, the array is neither used nor dropped afterwards.
    #[inline(always)]
    pub unsafe fn take_foreign(&mut self) -> Option<(Py<PyAny>, Option<Py<PyAny>>)> {
        let (Some(Payload::Foreign(real)), None) = (self.payload.only(), self.pinned.get()) else { return None };
        if !self.spare.is_none() {
            return None;
        }
        // SAFETY: by the caller's contract, the object is moved out.
        let real = unsafe { std::ptr::read(real) };
        Some((real, self.parent.take()))
    }

    /// The place for a pinned export; see the field.
    pub fn pinned(&self) -> &OnceLock<Box<Export>> {
        &self.pinned
    }
}

impl Drop for NdArray {
    fn drop(&mut self) {
        self.leave_standing();
    }
}

/// The arrays of non-native dtypes that stand for a `numpy.ndarray`, by the address of the latter. One numelt array
/// stands for each owner of memory, so that `.base` of all its views is the same object.
static STANDING: Mutex<Option<FxHashMap<usize, usize>>> = Mutex::new(None);

/// Reads or changes the table [`STANDING`].
pub fn standing<T>(act: impl FnOnce(&mut FxHashMap<usize, usize>) -> T) -> T {
    act(STANDING.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The living array that stands for a `numpy.ndarray` of a non-native dtype.
pub fn standing_for<'py>(real: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let known = standing(|table| table.get(&(real.as_ptr() as usize)).copied())?;
    // SAFETY: an array leaves the table before its memory is freed; one that is being freed has no reference left.
    unsafe {
        let known = known as *mut ffi::PyObject;
        (ffi::Py_REFCNT(known) > 0).then(|| Bound::from_borrowed_ptr(real.py(), known))
    }
}

/// Removes a `numpy.ndarray` from the table [`STANDING`]; arrays with a parent are not in it.
pub fn forget(real: &Py<PyAny>, parent: Option<&Py<PyAny>>) {
    if parent.is_none() {
        standing(|table| table.remove(&(real.as_ptr() as usize)));
    }
}

impl NdArray {
    /// The place for the `numpy.ndarray` of the last loan.
    pub fn spare(&self) -> &Spare {
        &self.spare
    }
}

/// The array of an object whose class is exactly ours, if its dtype is native.
pub fn exact_native<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a NdArray> {
    let array = obj.cast_exact::<NdArray>().ok()?.get();
    array.view().map(|_| array)
}
