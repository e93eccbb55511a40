//! Array objects made where they lie, and taken apart where they lay.
//!
//! In: what an array is. Out: a Python object. PyO3 makes an object by its base class's constructor, and moves its
//! contents in when they are complete, which takes longer than recording an operation does. Here the class's own
//! allocator is asked, and the contents are written into what it gives, as far as an object that PyO3 has made shows
//! that there is nothing else in it. Objects that have ended are kept for the next ones.

use crate::direct::{self, Former};
use crate::graveyard;
use crate::ndarray::{NdArray, forget};
use numelt_ir::{DType, Dims};
use numelt_runtime::{ArrayView, BaseRef, Runtime};
use pyo3::PyClass;
use pyo3::PyClassInitializer;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::sync::PyOnceLock;
use pyo3::type_object::PyTypeInfo;
use std::cell::UnsafeCell;
use std::ffi::c_void;

/// How objects of the class are made.
struct Maker {
    class: *mut ffi::PyTypeObject,
    alloc: ffi::allocfunc,
    /// The memory of objects that have ended.
    ended: UnsafeCell<Ended>,
}

/// Objects kept.
const MOST: usize = 64;

struct Ended {
    objects: [*mut ffi::PyObject; MOST],
    count: usize,
}

/// What ended an object before [`end`] did.
static FORMER_END: Former = Former::new();

// SAFETY: the class lives as long as the module, that is, for the whole process.
unsafe impl Send for Maker {}
// SAFETY: as above; it is used with the GIL held.
unsafe impl Sync for Maker {}

static MAKER: PyOnceLock<Option<Maker>> = PyOnceLock::new();

/// Bytes before the contents: the head of every object.
const HEAD: usize = size_of::<ffi::PyObject>();

/// Where the list of weak references is, which is all that follows them.
const TAIL: usize = HEAD + size_of::<NdArray>();

impl Maker {
    /// Looks at an array that PyO3 has made of `view`; none if more than the contents is in it.
    fn learn(py: Python<'_>, view: ArrayView) -> PyResult<Option<Maker>> {
        let made = Bound::new(py, NdArray::new(view, None, true))?;
        let class = NdArray::type_object(py);
        let size: usize = class.getattr("__basicsize__")?.extract()?;
        let contents = std::ptr::from_ref(made.get()).addr() - made.as_ptr().addr();
        if contents != HEAD || size != TAIL + size_of::<*mut ffi::PyObject>() {
            return Ok(None);
        }
        // SAFETY: the object has that many bytes, whose last are an address.
        let list = unsafe { made.as_ptr().cast::<u8>().add(TAIL).cast::<*mut ffi::PyObject>().read() };
        // SAFETY: the slot of a ready type holds a function of that kind or null.
        let alloc = unsafe {
            let slot = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_alloc);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::allocfunc>>(slot)
        };
        let Some(alloc) = alloc.filter(|_| list.is_null()) else { return Ok(None) };
        // SAFETY: the slot of a ready type holds a function of that kind.
        let (free, flags) = unsafe {
            (ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_free), ffi::PyType_GetFlags(class.as_type_ptr()))
        };
        let collected = flags & ffi::Py_TPFLAGS_HAVE_GC != 0;
        if collected && free == ffi::PyObject_GC_Del as ffi::freefunc as *mut c_void {
            // SAFETY: the function is one for that slot, and leaves to the former one what it does not do.
            unsafe { direct::replace(&class, ffi::Py_tp_dealloc, end as ffi::destructor as *mut c_void, &FORMER_END)? };
        }
        direct::slots(&class)?;
        let ended = UnsafeCell::new(Ended { objects: [std::ptr::null_mut(); MOST], count: 0 });
        Ok(Some(Maker { class: class.as_type_ptr(), alloc, ended }))
    }

    /// Memory for an object, with its head; null has an exception set.
    ///
    /// # Safety
    /// The GIL is held.
    #[inline(always)]
    unsafe fn room(&self) -> *mut ffi::PyObject {
        // SAFETY: the GIL is held, and nothing below calls Python while the list is borrowed. What is in it has the size
        // of the class's objects.
        unsafe {
            let ended = &mut *self.ended.get();
            match ended.count.checked_sub(1) {
                Some(last) if last < MOST => {
                    ended.count = last;
                    let object = ended.objects[last];
                    // the head is as it was when the last reference went, with the share of the class that it has
                    ffi::Py_INCREF(object);
                    object
                }
                _ => (self.alloc)(self.class, 0),
            }
        }
    }

    /// Keeps the memory of an object that has ended, or gives it back. What is kept is not known to the collector of
    /// cycles any more, nor when it is an object again: no cycle leads through an array of the class itself.
    ///
    /// # Safety
    /// The GIL is held; the object was one of the class itself, and its contents are gone.
    #[inline(always)]
    unsafe fn keep(&self, object: *mut ffi::PyObject) {
        // SAFETY: as in `room`.
        unsafe {
            let ended = &mut *self.ended.get();
            if ended.count < MOST {
                ended.objects[ended.count] = object;
                ended.count += 1;
            } else {
                ffi::PyObject_GC_Del(object.cast());
                ffi::Py_DECREF(self.class.cast());
            }
        }
    }

    #[inline(always)]
    fn make<'py>(&self, py: Python<'py>, contents: impl FnOnce() -> NdArray) -> PyResult<Bound<'py, NdArray>> {
        // SAFETY: the GIL is held. The contents are aligned as the head's end is, and nothing runs before they are
        // complete.
        unsafe {
            let object = self.room();
            if object.is_null() {
                return Err(PyErr::fetch(py));
            }
            let start = object.cast::<u8>();
            start.add(HEAD).cast::<NdArray>().write(contents());
            start.add(TAIL).cast::<*mut ffi::PyObject>().write(std::ptr::null_mut());
            Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
        }
    }
}

/// How objects are made of a class that has neither a dictionary nor weak references, by the way that arrays are.
pub struct Simple(PyOnceLock<Option<(usize, ffi::allocfunc)>>);

impl Simple {
    /// For one class.
    pub const fn new() -> Simple {
        Simple(PyOnceLock::new())
    }

    /// An object with these contents.
    pub fn make<'py, T>(&self, py: Python<'py>, contents: T) -> PyResult<Bound<'py, T>>
    where
        T: PyClass<Frozen = True> + Into<PyClassInitializer<T>> + Send,
    {
        let found = self.0.get_or_init(py, || Simple::learn::<T>(py).ok().flatten());
        let Some((class, alloc)) = *found else { return Bound::new(py, contents) };
        // SAFETY: the class lives as long as the module; its objects are a head and contents, which are aligned as the head's end
        // is.
        unsafe {
            let object = alloc(class as *mut ffi::PyTypeObject, 0);
            if object.is_null() {
                return Err(PyErr::fetch(py));
            }
            object.cast::<u8>().add(HEAD).cast::<T>().write(contents);
            Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
        }
    }

    /// None if there is more in an object than the contents.
    fn learn<T: PyClass>(py: Python<'_>) -> PyResult<Option<(usize, ffi::allocfunc)>> {
        let class = T::type_object(py);
        let size: usize = class.getattr("__basicsize__")?.extract()?;
        // SAFETY: the slot of a ready type holds a function of that kind or null.
        let alloc = unsafe {
            let slot = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_alloc);
            std::mem::transmute::<*mut c_void, Option<ffi::allocfunc>>(slot)
        };
        let simple = size == HEAD + size_of::<T>() && HEAD.is_multiple_of(align_of::<T>());
        Ok(alloc.filter(|_| simple).map(|alloc| (class.as_type_ptr() as usize, alloc)))
    }
}

/// Ends an object: the class's slot for that.
unsafe extern "C" fn end(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls it with the GIL held, for an object of the class or of one derived from it that nobody
    // refers to any more. Objects of the class itself are a head, contents and a list of weak references.
    unsafe {
        let py = Python::assume_attached();
        if let Some(Some(maker)) = MAKER.get(py)
            && std::ptr::eq(ffi::Py_TYPE(object), maker.class)
            && (*object.cast::<u8>().add(TAIL).cast::<*mut ffi::PyObject>()).is_null()
        {
            let contents = object.cast::<u8>().add(HEAD).cast::<NdArray>();
            if let Some((base, parent)) = (*contents).take_base() {
                ffi::PyObject_GC_UnTrack(object.cast());
                // the GIL is held by all who make and drop references to bases, but those who have said that they do not
                Runtime::global().drop_past(base);
                maker.keep(object);
                graveyard::drain_after_drop();
                if let Some(parent) = parent {
                    drop(parent.into_bound(py));
                }
                return;
            }
            if let Some((real, parent)) = (*contents).take_foreign() {
                forget(&real, parent.as_ref());
                ffi::PyObject_GC_UnTrack(object.cast());
                maker.keep(object);
                // what ends with the array may run any code
                drop(real.into_bound(py));
                if let Some(parent) = parent {
                    drop(parent.into_bound(py));
                }
                return;
            }
            if let Some(parent) = (*contents).part() {
                ffi::PyObject_GC_UnTrack(object.cast());
                std::ptr::drop_in_place(contents);
                maker.keep(object);
                if let Some(parent) = parent {
                    // PyO3 may not know that the GIL is held, and would put it off
                    drop(parent.into_bound(py));
                }
                return;
            }
        }
        std::mem::transmute::<*mut c_void, ffi::destructor>(FORMER_END.get())(object);
    }
}

const _: () = assert!(HEAD.is_multiple_of(align_of::<NdArray>()) && TAIL.is_multiple_of(align_of::<*mut ()>()));

/// Notes how arrays are made, once the class is complete.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    let view = ArrayView::fresh(Runtime::global(), DType::Bool, &[1]);
    MAKER.get_or_try_init(py, || Maker::learn(py, view)).map(drop)
}

/// An object with these contents, which must not fail or call Python to be put together.
#[inline(always)]
pub fn object<'py>(py: Python<'py>, contents: impl FnOnce() -> NdArray) -> PyResult<Bound<'py, NdArray>> {
    match MAKER.get(py) {
        Some(Some(maker)) => maker.make(py, contents),
        Some(None) | None => Bound::new(py, contents()),
    }
}

/// A new array in C order, with a base of its own; its strides are [`numelt_ir::new_strides`].
#[inline(always)]
pub fn c_ordered<'py>(py: Python<'py>, base: BaseRef, dtype: DType, shape: &[i64]) -> PyResult<Bound<'py, NdArray>> {
    let size = if shape.contains(&0) { 0 } else { dtype.size() as i64 };
    // built from numbers at hand: copies of what has only just been stored would have to wait for it
    let of = |dims: [i64; 4], rank: usize| Dims::from_buf_and_len(dims, rank);
    let array = |base, shape, strides| NdArray::new(ArrayView { base, dtype, offset: 0, shape, strides }, None, true);
    match *shape {
        [n] => object(py, || array(base, of([n, 0, 0, 0], 1), of([size, 0, 0, 0], 1))),
        [m, n] => object(py, || array(base, of([m, n, 0, 0], 2), of([n * size, size, 0, 0], 2))),
        _ => object(py, || array(base, Dims::from_slice(shape), numelt_ir::c_strides(shape, size))),
    }
}
