//! `ndarray.flat`: iteration over the elements of an array in C order, and access by position.
//!
//! In: an array. Out: the base class of the package's `flatiter`. Elements of native arrays are read and written
//! here; for other keys and other arrays, the package uses NumPy's iterator.

use crate::array::{basic, index};
use crate::object::ndarray::NdArray;
use numelt::rules::shape;
use numelt_runtime::ArrayView;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyInt;
use std::sync::atomic::{AtomicI64, Ordering};

/// The most axes that NumPy's iterator supports.
const MOST_AXES: usize = 32;

/// The base class of the package's `flatiter`.
#[pyclass(name = "elements", module = "numelt._core", subclass, frozen)]
pub struct Flat {
    array: Py<NdArray>,
    next: AtomicI64,
    /// NumPy's iterator, made when it is first needed.
    numpys: PyOnceLock<Py<PyAny>>,
}

impl Flat {
    /// NumPy's iterator over the same memory.
    fn numpys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let make = || {
            Ok::<_, PyErr>(
                crate::sharing::export::to_numpy(self.array.bind(py))?.getattr(intern!(py, "flat"))?.unbind(),
            )
        };
        Ok(self.numpys.get_or_try_init(py, make)?.bind(py).clone())
    }

    /// The view, and the byte offset of the element at a key that is a Python int within bounds; `None` for any other
    /// key or array.
    fn place<'a>(&'a self, key: &Bound<'_, PyAny>) -> Option<(&'a ArrayView, i64)> {
        let view = self.array.get().view()?;
        let n = view.size();
        let given: i64 = if key.is_exact_instance_of::<PyInt>() { key.extract().ok()? } else { return None };
        let at = if given < 0 { given + n } else { given };
        (0..n).contains(&at).then(|| (view, offset_of(view, at)))
    }
}

/// Byte offset of the element at a position in C order.
fn offset_of(view: &ArrayView, mut at: i64) -> i64 {
    let mut offset = view.offset;
    for (&n, &stride) in view.shape.iter().zip(&view.strides).rev() {
        offset += at % n * stride;
        at /= n;
    }
    offset
}

#[pymethods]
impl Flat {
    /// # Errors
    /// NumPy's error, if the array has more axes than NumPy's iterator supports.
    #[new]
    fn new(array: Bound<'_, NdArray>) -> PyResult<Flat> {
        let flat = Flat { array: array.clone().unbind(), next: AtomicI64::new(0), numpys: PyOnceLock::new() };
        if array.get().view().is_some_and(|view| view.shape.len() > MOST_AXES) {
            flat.numpys(array.py())?;
        }
        Ok(flat)
    }

    /// The array that is iterated.
    #[getter]
    fn base(&self, py: Python<'_>) -> Py<NdArray> {
        self.array.clone_ref(py)
    }

    /// Position of the next element in C order.
    #[getter]
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.array.get().view() {
            Some(_) => Ok(self.next.load(Ordering::Relaxed).into_pyobject(py)?.into_any()),
            None => self.numpys(py)?.getattr(intern!(py, "index")),
        }
    }

    /// NumPy's iterator over the same memory.
    #[getter]
    fn _flat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpys(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.array.get().view() {
            Some(view) => Ok(shape::size(&view.shape) as usize),
            None => self.numpys(py)?.len(),
        }
    }

    fn __iter__<'py>(slf: Bound<'py, Self>) -> Bound<'py, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(view) = self.array.get().view() else {
            return self.numpys(py)?.call_method0(intern!(py, "__next__")).map(Some);
        };
        let at = self.next.load(Ordering::Relaxed);
        if at >= view.size() {
            return Ok(None);
        }
        self.next.store(at + 1, Ordering::Relaxed);
        basic::read_at(py, view, offset_of(view, at)).map(Some)
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        // as in NumPy, each access by key resets the iteration to the beginning
        this.next.store(0, Ordering::Relaxed);
        match this.place(key) {
            Some((view, offset)) => basic::read_at(slf.py(), view, offset),
            None => slf.call_method1(intern!(slf.py(), "_get"), (key,)),
        }
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let this = slf.get();
        this.next.store(0, Ordering::Relaxed);
        if this.array.get().writeable()
            && let Some((view, offset)) = this.place(key)
            && index::write_element(slf.py(), view, offset, value)?
        {
            return Ok(());
        }
        slf.call_method1(intern!(slf.py(), "_set"), (key, value)).map(drop)
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Flat>()
}
