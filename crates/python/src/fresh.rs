//! Array objects made where they lie.
//!
//! In: what an array is. Out: a Python object. PyO3 makes an object by its base class's constructor, and moves its
//! contents in when they are complete, which takes longer than recording an operation does. Here the class's own
//! allocator is asked, and the contents are written into what it gives, as far as an object that PyO3 has made shows
//! that there is nothing else in it.

use crate::ndarray::NdArray;
use numelt_ir::{DType, Dims};
use numelt_runtime::{ArrayView, BaseRef, Runtime};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::type_object::PyTypeInfo;

/// How objects of the class are made.
struct Maker {
    class: *mut ffi::PyTypeObject,
    alloc: ffi::allocfunc,
}

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
        Ok(alloc.filter(|_| list.is_null()).map(|alloc| Maker { class: class.as_type_ptr(), alloc }))
    }

    #[inline(always)]
    fn make<'py>(&self, py: Python<'py>, contents: impl FnOnce() -> NdArray) -> PyResult<Bound<'py, NdArray>> {
        // SAFETY: allocates an object of the class, with its head; null has an exception set. The contents are aligned as
        // the head's end is, and nothing runs before they are complete.
        unsafe {
            let object = (self.alloc)(self.class, 0);
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

/// A new array in C order, with a base of its own.
#[inline(always)]
pub fn c_ordered<'py>(py: Python<'py>, base: BaseRef, dtype: DType, shape: &[i64]) -> PyResult<Bound<'py, NdArray>> {
    let size = dtype.size() as i64;
    // built from numbers at hand: copies of what has only just been stored would have to wait for it
    let of = |dims: [i64; 4], rank: usize| Dims::from_buf_and_len(dims, rank);
    let array = |base, shape, strides| NdArray::new(ArrayView { base, dtype, offset: 0, shape, strides }, None, true);
    match *shape {
        [n] => object(py, || array(base, of([n, 0, 0, 0], 1), of([size, 0, 0, 0], 1))),
        [m, n] => object(py, || array(base, of([m, n, 0, 0], 2), of([n * size, size, 0, 0], 2))),
        _ => object(py, || array(base, Dims::from_slice(shape), numelt_ir::c_strides(shape, size))),
    }
}
