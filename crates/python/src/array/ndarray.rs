//! The array class: a view on a base, or a real `numpy.ndarray` of a dtype that is never native.
//!
//! Here: the payload and how arrays are made. Operators, indexing, attributes, methods and
//! protocols are in files of their own.

use crate::array::fresh;
use crate::cpython::versioned::Versioned;
use crate::numpy::loan::Spare;
use crate::numpy::{convert, export, hooks};
use numelt_runtime::{ArrayView, BaseRef, Export};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What an array is.
pub enum Payload {
    /// Recorded and run by numelt.
    Native(ArrayView),
    /// A `numpy.ndarray`, for dtypes that numelt never records; everything falls back.
    Foreign(Py<PyAny>),
}

/// An N-dimensional array whose operations are recorded, fused and compiled.
#[pyclass(name = "ndarray", module = "numpy", subclass, frozen, weakref, sequence)]
pub struct NdArray {
    payload: Versioned<Payload>,
    writeable: AtomicBool,
    /// The array that this one is a view of.
    parent: Option<Py<PyAny>>,
    /// Keeps the base visible for consumers that hold this object instead of an export.
    pinned: OnceLock<Box<Export>>,
    /// The real array that NumPy was lent last.
    spare: Spare,
    /// Dropped last, when the fields above have let go of other people's memory.
    _drain: DrainLast,
}

struct DrainLast;

impl Drop for DrainLast {
    fn drop(&mut self) {
        crate::cpython::graveyard::drain_after_drop();
    }
}

impl NdArray {
    /// A native array; `parent` is what `.base` shows.
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

    /// An array of a dtype that is never native; `parent` is what `.base` shows, if that is an array of ours.
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

    /// What it is now.
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

    /// Replaces the window (`a.shape = …`).
    pub fn set_view(&self, view: ArrayView) {
        self.ends_standing();
        self.payload.set(Payload::Native(view));
    }

    /// Replaces the foreign array.
    pub fn set_foreign(&self, array: Py<PyAny>) {
        self.ends_standing();
        self.payload.set(Payload::Foreign(array));
    }

    fn ends_standing(&self) {
        if let Payload::Foreign(real) = self.payload.get() {
            forget(real, self.parent.as_ref());
        }
    }

    /// May it be written to?
    pub fn writeable(&self) -> bool {
        self.writeable.load(Ordering::Relaxed)
    }

    /// Sets the flag that [`NdArray::writeable`] reads.
    pub fn set_writeable(&self, writeable: bool) {
        self.writeable.store(writeable, Ordering::Relaxed);
    }

    /// What `.base` shows.
    pub fn parent(&self) -> Option<&Py<PyAny>> {
        self.parent.as_ref()
    }

    /// Can it go without Python objects of its own going with it, but for the parent, which is given back here?
    pub fn part(&mut self) -> Option<Option<Py<PyAny>>> {
        let own = matches!(self.payload.only(), Some(Payload::Native(_)));
        own.then(|| self.parent.take())
    }

    /// The base and the parent, if letting go of them is all that there is to do at the end: the rest is to be forgotten then.
    ///
    /// # Safety
    /// The array is never looked at again where there is a base, nor dropped.
    #[inline(always)]
    pub unsafe fn take_base(&mut self) -> Option<(BaseRef, Option<Py<PyAny>>)> {
        let (Some(Payload::Native(view)), None) = (self.payload.only(), self.pinned.get()) else { return None };
        if view.shape.spilled() || view.strides.spilled() || !self.spare.is_none() {
            return None;
        }
        // SAFETY: the caller's contract: it is moved out.
        let base = unsafe { std::ptr::read(&view.base) };
        Some((base, self.parent.take()))
    }

    /// The real array and the parent of an array that is not native, as [`NdArray::take_base`] does it.
    ///
    /// # Safety
    /// The array is never looked at again where there is a real one, nor dropped.
    #[inline(always)]
    pub unsafe fn take_foreign(&mut self) -> Option<(Py<PyAny>, Option<Py<PyAny>>)> {
        let (Some(Payload::Foreign(real)), None) = (self.payload.only(), self.pinned.get()) else { return None };
        if !self.spare.is_none() {
            return None;
        }
        // SAFETY: the caller's contract: it is moved out.
        let real = unsafe { std::ptr::read(real) };
        Some((real, self.parent.take()))
    }

    /// Where a pinned export is kept; see the field.
    pub fn pinned(&self) -> &OnceLock<Box<Export>> {
        &self.pinned
    }
}

impl Drop for NdArray {
    fn drop(&mut self) {
        self.ends_standing();
    }
}

/// The arrays that stand for real ones of dtypes that are never native, by the addresses of those.
static STANDING: Mutex<Option<FxHashMap<usize, usize>>> = Mutex::new(None);

fn standing<T>(act: impl FnOnce(&mut FxHashMap<usize, usize>) -> T) -> T {
    act(STANDING.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The array that stands for a real one of a dtype that is never native, if it has been asked for before.
pub fn standing_for<'py>(real: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let known = standing(|table| table.get(&(real.as_ptr() as usize)).copied())?;
    // SAFETY: an array leaves the table before its memory goes; one that is about to end has no reference left.
    unsafe {
        let known = known as *mut ffi::PyObject;
        (ffi::Py_REFCNT(known) > 0).then(|| Bound::from_borrowed_ptr(real.py(), known))
    }
}

/// An array for a real one of a dtype that is never native, whose `.base` is `parent`. One without is the base of its views, and
/// stands for the real one as long as it lives.
pub fn stand<'py>(real: &Bound<'py, PyAny>, parent: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let (array, is_view) = (real.clone().unbind(), parent.is_some());
    let made = fresh::object(real.py(), || NdArray::foreign(array, parent))?.into_any();
    if !is_view {
        standing(|table| table.insert(real.as_ptr() as usize, made.as_ptr() as usize));
    }
    Ok(made)
}

/// No array stands for a real one any more, if one did that is a view of `parent`.
pub fn forget(real: &Py<PyAny>, parent: Option<&Py<PyAny>>) {
    if parent.is_none() {
        standing(|table| table.remove(&(real.as_ptr() as usize)));
    }
}

impl NdArray {
    /// Where the real array is kept that NumPy was lent last.
    pub fn spare(&self) -> &Spare {
        &self.spare
    }
}

/// A Python object for a new array that owns its base.
#[inline(always)]
pub fn wrap_new(py: Python<'_>, view: ArrayView) -> PyResult<Bound<'_, PyAny>> {
    Ok(fresh::object(py, || NdArray::new(view, None, true))?.into_any())
}

/// A Python object for a window of a new array that nobody names: NumPy's `.base` of what such a function returns is
/// that array.
pub fn wrap_window(py: Python<'_>, whole: ArrayView, window: ArrayView) -> PyResult<Bound<'_, PyAny>> {
    let whole = fresh::object(py, || NdArray::new(whole, None, true))?.into_any().unbind();
    Ok(fresh::object(py, || NdArray::new(window, Some(whole), true))?.into_any())
}

/// A Python object for a view of `of`.
#[inline(always)]
pub fn wrap_view<'py>(of: &Bound<'py, NdArray>, view: ArrayView) -> PyResult<Bound<'py, PyAny>> {
    let array = of.get();
    // A chain of views is as long as it is of arrays: a buffer below them stays the last one's base.
    let parent = match array.parent() {
        Some(parent) if parent.bind(of.py()).is_exact_instance_of::<NdArray>() => parent.clone_ref(of.py()),
        Some(_) | None => of.clone().into_any().unbind(),
    };
    let writeable = array.writeable();
    Ok(fresh::object(of.py(), || NdArray::new(view, Some(parent), writeable))?.into_any())
}

/// The array behind an object of exactly our class (no subclass) with a native payload.
pub fn exact_native<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a NdArray> {
    let array = obj.cast_exact::<NdArray>().ok()?.get();
    array.view().map(|_| array)
}

#[pymethods]
impl NdArray {
    /// `ndarray(shape, dtype=float, buffer=None, offset=0, strides=None, order=None)`
    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn py_new(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<NdArray> {
        let py = args.py();
        let items = args.iter().map(|a| hooks::plain(&a)).collect::<PyResult<Vec<_>>>()?;
        // NumPy reads the arguments, with its own errors; only the result's form matters here.
        let made = convert::Numpy::get(py)?.ndarray.bind(py).call(PyTuple::new(py, items)?, kwargs)?;
        let wrapped = export::from_numpy(&made, export::references(&made) <= 1)?;
        let array = wrapped.cast::<NdArray>()?.get();
        Ok(match array.payload() {
            Payload::Native(view) => {
                NdArray::new(view.clone(), array.parent().map(|p| p.clone_ref(py)), array.writeable())
            }
            Payload::Foreign(real) => NdArray::foreign(real.clone_ref(py), array.parent().map(|p| p.clone_ref(py))),
        })
    }

    /// NumPy's class, whoever asks: `isinstance(x, numpy.ndarray)` looks here, and holds for our arrays everywhere. `type(x)` is
    /// our class.
    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        Ok(convert::Numpy::get(slf.py())?.ndarray.bind(slf.py()).clone())
    }
}

/// dtype object of any array of ours.
pub fn dtype_object<'py>(array: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    match array.get().payload() {
        Payload::Native(view) => Ok(convert::Numpy::get(py)?.descr(py, view.dtype).clone()),
        Payload::Foreign(real) => real.bind(py).getattr("dtype"),
    }
}
