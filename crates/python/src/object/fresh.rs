//! Python objects for new arrays and views, and the fast path for their memory.
//!
//! In: the contents of an array. Out: a Python object. PyO3 makes an object by the constructor of its base class and
//! then moves the contents into it, which takes 45 ns, a third of `a + b` on five elements (`benches/fast_paths.py`).
//! Here the class's own allocator is called, and the contents are written directly into the memory that it returns.
//! The memory of freed objects is kept for new ones. If `NUMELT_FAST_PATHS` does not name `objects`, PyO3 does all
//! this.

use crate::cpython::fast::{self, FastPath};
use crate::cpython::graveyard;
use crate::object::ndarray::{NdArray, forget, standing};
use numelt_ir::{DType, Dims};
use numelt_runtime::{ArrayView, BaseRef, Runtime};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::type_object::PyTypeInfo;
use std::cell::UnsafeCell;
use std::mem::offset_of;

/// The memory layout of an object of the array class.
#[repr(C)]
struct ArrayObject {
    head: ffi::PyObject,
    contents: NdArray,
    /// The list of weak references.
    weak: *mut ffi::PyObject,
}

impl ArrayObject {
    /// Whether objects of the class have this layout.
    fn is_layout_of(class: &ffi::PyTypeObject) -> bool {
        class.tp_basicsize as usize == size_of::<ArrayObject>()
            && class.tp_weaklistoffset as usize == offset_of!(ArrayObject, weak)
            && class.tp_dictoffset == 0
            && std::ptr::eq(class.tp_base, &raw const ffi::PyBaseObject_Type)
    }
}

/// Makes and frees objects of the array class.
struct Maker {
    class: *mut ffi::PyTypeObject,
    alloc: ffi::allocfunc,
    /// The slot `tp_dealloc` as it was before [`end`] replaced it.
    former_end: ffi::destructor,
    /// The memory of freed objects.
    ended: UnsafeCell<Ended>,
}

/// The most freed objects whose memory is kept.
const MOST: usize = 64;

struct Ended {
    objects: [*mut ffi::PyObject; MOST],
    count: usize,
}

// SAFETY: the class lives as long as the module, that is, for the whole process.
unsafe impl Send for Maker {}
// SAFETY: as above; it is used with the GIL held.
unsafe impl Sync for Maker {}

static MAKER: PyOnceLock<Option<Maker>> = PyOnceLock::new();

impl Maker {
    /// Sets the class's slot for freeing objects, and returns what makes them. `None` if the fast path is switched
    /// off, if PyO3 lays the objects out in another way, or if their memory is not freed by `PyObject_GC_Del`.
    fn of(py: Python<'_>) -> Option<Maker> {
        if !fast::has(FastPath::Objects) {
            return None;
        }
        let class = NdArray::type_object_raw(py);
        // SAFETY: the class is complete, numelt's own, and not used yet.
        let object = unsafe { &mut *class };
        let freed = object.tp_free.filter(|&free| std::ptr::fn_addr_eq(free, ffi::PyObject_GC_Del as ffi::freefunc));
        let collected = object.tp_flags & ffi::Py_TPFLAGS_HAVE_GC != 0;
        let (alloc, former_end) = (object.tp_alloc?, object.tp_dealloc?);
        if freed.is_none() || !collected || !ArrayObject::is_layout_of(object) {
            return None;
        }
        object.tp_dealloc = Some(end);
        let ended = UnsafeCell::new(Ended { objects: [std::ptr::null_mut(); MOST], count: 0 });
        Some(Maker { class, alloc, former_end, ended })
    }

    /// Memory for an object, with its head filled in; null has an exception set.
    ///
    /// # Safety
    /// The GIL is held.
    #[inline(always)]
    unsafe fn allocate(&self) -> *mut ffi::PyObject {
        // SAFETY: the GIL is held, and nothing below runs Python code while the list is borrowed. All memory in the
        // list has the size of the class's objects.
        unsafe {
            let ended = &mut *self.ended.get();
            match ended.count.checked_sub(1) {
                Some(last) if last < MOST => {
                    ended.count = last;
                    let object = ended.objects[last];
                    // the head still names the class, and still owns its reference to it
                    ffi::Py_INCREF(object);
                    object
                }
                _ => (self.alloc)(self.class, 0),
            }
        }
    }

    /// Keeps the memory of a freed object, or frees it. Memory that is kept is not tracked by the garbage collector,
    /// and stays untracked when it becomes an object again: no reference cycle leads through an array of exactly this
    /// class.
    ///
    /// # Safety
    /// The GIL is held. The object's class was exactly the array class, and its contents have been dropped.
    #[inline(always)]
    unsafe fn keep(&self, object: *mut ffi::PyObject) {
        // SAFETY: as in `allocate`.
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
        // SAFETY: the GIL is held. Objects of the class have this layout, and no other code runs before the contents
        // are complete.
        unsafe {
            let object = self.allocate();
            if object.is_null() {
                return Err(PyErr::fetch(py));
            }
            let fields = object.cast::<ArrayObject>();
            (&raw mut (*fields).contents).write(contents());
            (*fields).weak = std::ptr::null_mut();
            Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
        }
    }
}

/// Frees an object: the slot `tp_dealloc` of the class.
unsafe extern "C" fn end(object: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with the GIL held, for an object of the class or of a derived one that has
    // no references left. The slot is set only when there is a maker.
    unsafe {
        let py = Python::assume_attached();
        let Some(Some(maker)) = MAKER.get(py) else { return };
        if std::ptr::eq(ffi::Py_TYPE(object), maker.class) && (*object.cast::<ArrayObject>()).weak.is_null() {
            let contents = &raw mut (*object.cast::<ArrayObject>()).contents;
            if let Some((base, parent)) = (*contents).take_base() {
                ffi::PyObject_GC_UnTrack(object.cast());
                // all threads that make and drop references to bases hold the GIL, except those that have announced
                // themselves
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
                // dropping these objects may run any Python code, so it comes last
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
                    // not a plain drop: PyO3 may not know that the GIL is held, and would drop the reference later
                    drop(parent.into_bound(py));
                }
                return;
            }
        }
        (maker.former_end)(object);
    }
}

/// Sets up the fast path, after the class is complete.
pub fn prepare(py: Python<'_>) {
    MAKER.get_or_init(py, || Maker::of(py));
}

/// An object with these contents. `contents` must neither fail nor call Python.
#[inline(always)]
pub fn object<'py>(py: Python<'py>, contents: impl FnOnce() -> NdArray) -> PyResult<Bound<'py, NdArray>> {
    match MAKER.get(py) {
        Some(Some(maker)) => maker.make(py, contents),
        Some(None) | None => Bound::new(py, contents()),
    }
}

/// A new array in C order that owns its base; its strides are [`numelt_ir::new_strides`].
#[inline(always)]
pub fn c_ordered<'py>(py: Python<'py>, base: BaseRef, dtype: DType, shape: &[i64]) -> PyResult<Bound<'py, NdArray>> {
    let size = if shape.contains(&0) { 0 } else { dtype.size() as i64 };
    // built from values in registers: copying values that were just stored would wait for the stores
    let of = |dims: [i64; 4], rank: usize| Dims::from_buf_and_len(dims, rank);
    let array = |base, shape, strides| NdArray::new(ArrayView { base, dtype, offset: 0, shape, strides }, None, true);
    match *shape {
        [n] => object(py, || array(base, of([n, 0, 0, 0], 1), of([size, 0, 0, 0], 1))),
        [m, n] => object(py, || array(base, of([m, n, 0, 0], 2), of([n * size, size, 0, 0], 2))),
        _ => object(py, || array(base, Dims::from_slice(shape), numelt_ir::c_strides(shape, size))),
    }
}

/// A Python object for a new array that owns its base.
#[inline(always)]
pub fn wrap_new(py: Python<'_>, view: ArrayView) -> PyResult<Bound<'_, PyAny>> {
    Ok(object(py, || NdArray::new(view, None, true))?.into_any())
}

/// A Python object for a view of a new array that no variable holds: such functions of NumPy return a view whose
/// `.base` is that array.
pub fn wrap_window(py: Python<'_>, whole: ArrayView, window: ArrayView) -> PyResult<Bound<'_, PyAny>> {
    let whole = object(py, || NdArray::new(whole, None, true))?.into_any().unbind();
    Ok(object(py, || NdArray::new(window, Some(whole), true))?.into_any())
}

/// A Python object for a view of `of`.
#[inline(always)]
pub fn wrap_view<'py>(of: &Bound<'py, NdArray>, view: ArrayView) -> PyResult<Bound<'py, PyAny>> {
    let array = of.get();
    // The `.base` of a view of a view is the first array, as in NumPy. A parent that is not a numelt array (a
    // buffer) stays the `.base` of `of` only.
    let parent = match array.parent() {
        Some(parent) if parent.bind(of.py()).is_exact_instance_of::<NdArray>() => parent.clone_ref(of.py()),
        Some(_) | None => of.clone().into_any().unbind(),
    };
    let writeable = array.writeable();
    Ok(object(of.py(), || NdArray::new(view, Some(parent), writeable))?.into_any())
}

/// Makes an array for a `numpy.ndarray` of a non-native dtype, with `parent` as its `.base`. Without a parent it owns
/// its memory in NumPy's sense, and stands for the `numpy.ndarray` as long as it lives.
pub fn stand<'py>(real: &Bound<'py, PyAny>, parent: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let (array, is_view) = (real.clone().unbind(), parent.is_some());
    let made = object(real.py(), || NdArray::foreign(array, parent))?.into_any();
    if !is_view {
        standing(|table| table.insert(real.as_ptr() as usize, made.as_ptr() as usize));
    }
    Ok(made)
}
