//! What Python and other libraries ask of an array: length, truth, iteration, conversion, the
//! buffer and array protocols, pickling, text.

use crate::attributes::{extents, kwarg, numpy_method};
use crate::convert::Numpy;
use crate::ndarray::{NdArray, Payload};
use crate::scalar::DeferredScalar;
use crate::ufunc;
use crate::{export, foreign, hooks, index, run, scalar};
use numelt_ir::Scalar;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySequence, PyString, PyTuple};
use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes of NumPy's array object, its shape and strides aside.
const NUMPYS_HEADER: usize = 12 * size_of::<usize>();

type Out<'py> = PyResult<Bound<'py, PyAny>>;

/// Iterator over the first axis.
#[pyclass(module = "numelt._core", frozen)]
pub struct ArrayIterator {
    array: Py<NdArray>,
    next: AtomicI64,
}

#[pymethods]
impl ArrayIterator {
    fn __iter__<'py>(slf: Bound<'py, Self>) -> Bound<'py, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let array = self.array.bind(py);
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        match array.get().payload() {
            Payload::Native(view) => {
                if view.shape.first().is_none_or(|&n| at >= n) {
                    return Ok(None);
                }
                index::item(array, view, at).map(Some)
            }
            Payload::Foreign(real) => {
                let real = real.bind(py);
                if at >= real.len()? as i64 {
                    return Ok(None);
                }
                // SAFETY: an array is a sequence to the interpreter.
                let items = unsafe { real.cast_unchecked::<PySequence>() };
                foreign::given(items.get_item(at as usize)?).map(Some)
            }
        }
    }

    fn __length_hint__(&self, py: Python<'_>) -> PyResult<i64> {
        let n = extents(self.array.bind(py))?.first().copied().unwrap_or(0);
        Ok((n - self.next.load(Ordering::Relaxed)).max(0))
    }
}

/// The one element of an array of size one, for conversions to Python numbers.
fn sole_value(array: &Bound<'_, NdArray>) -> PyResult<Option<Scalar>> {
    let py = array.py();
    match array.get().view() {
        Some(view) if view.size() == 1 => run::read_scalar(py, &view.base, view.dtype, view.offset).map(Some),
        Some(_) | None => Ok(None),
    }
}

#[pymethods]
impl NdArray {
    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let first = match slf.get().payload() {
            Payload::Native(view) => view.shape.first().copied(),
            Payload::Foreign(_) => extents(slf)?.first().copied(),
        };
        first.map(|n| n as usize).ok_or_else(|| PyTypeError::new_err("len() of unsized object"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        if extents(slf)?.is_empty() {
            return Err(PyTypeError::new_err("iteration over a 0-d array"));
        }
        let made = ArrayIterator { array: slf.clone().unbind(), next: AtomicI64::new(0) };
        Ok(Bound::new(slf.py(), made)?.into_any())
    }

    fn __contains__(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let equal = slf.as_any().rich_compare(value, pyo3::basic::CompareOp::Eq)?;
        if equal.is_instance_of::<NdArray>() { equal.call_method0("any")?.is_truthy() } else { equal.is_truthy() }
    }

    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        if let Some(value) = sole_value(slf)? {
            return Ok(scalar::truth(value));
        }
        if slf.get().view().is_some_and(|v| v.size() > 1) {
            return Err(PyValueError::new_err(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
            ));
        }
        // Empty arrays raise, foreign dtypes know their own truth.
        export::to_numpy(slf)?.is_truthy()
    }

    fn __int__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        export::to_numpy(slf)?.call_method0("__int__")
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        if slf.get().view().is_some_and(|v| v.shape.is_empty())
            && let Some(Scalar::F64(value)) = sole_value(slf)?
        {
            return Ok(value);
        }
        export::to_numpy(slf)?.call_method0("__float__")?.extract()
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        export::to_numpy(slf)?.call_method0("__complex__")
    }

    fn __index__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        export::to_numpy(slf)?.call_method0("__index__")
    }

    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> Out<'py> {
        index::get(slf, key)
    }

    fn __setitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        index::set(slf, key, value)
    }

    fn __delitem__(_slf: &Bound<'_, Self>, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyValueError::new_err("cannot delete array elements"))
    }

    /// The buffer is that of a zero-copy NumPy view, which the buffer keeps until it is released; its owner is this array.
    ///
    /// # Safety
    /// Called by the interpreter with a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let array = export::to_numpy(&slf)?;
        if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT && slf.get().view().is_none() {
            refuse_lossy_format(&array)?;
        }
        // SAFETY: `view` is the caller's structure to fill; NumPy makes itself its owner, by a reference that moves to
        // `internal`, which NumPy leaves alone. What the structure points to lives as long as NumPy's array does.
        unsafe {
            if ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) < 0 {
                return Err(PyErr::fetch(slf.py()));
            }
            (*view).internal = (*view).obj.cast();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// Lets the view go that a buffer has kept.
    ///
    /// # Safety
    /// Called by the interpreter, once for each buffer that [`NdArray::__getbuffer__`] filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the reference that `__getbuffer__` left there; the GIL is held.
        unsafe {
            ffi::Py_XDECREF((*view).internal.cast());
            (*view).internal = std::ptr::null_mut();
        }
    }

    #[pyo3(signature = (dtype = None, *, copy = None))]
    fn __array__<'py>(slf: &Bound<'py, Self>, dtype: Option<Bound<'py, PyAny>>, copy: Option<bool>) -> Out<'py> {
        let py = slf.py();
        let shared = export::to_numpy(slf)?;
        let Some(dtype) = dtype.filter(|d| !d.is_none()) else {
            return if copy == Some(true) { shared.call_method1("copy", ("K",)) } else { Ok(shared) };
        };
        let kwargs = kwarg(py, "copy", copy)?;
        kwargs.set_item("dtype", dtype)?;
        Numpy::get(py)?.attr(py, "array")?.call((shared,), Some(&kwargs))
    }

    #[pyo3(signature = (**kwargs))]
    fn __dlpack__<'py>(slf: &Bound<'py, Self>, kwargs: Option<&Bound<'py, PyDict>>) -> Out<'py> {
        export::to_numpy(slf)?.call_method("__dlpack__", (), kwargs)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    #[pyo3(signature = (function, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> Out<'py> {
        ufunc::dispatched(slf, function, method, inputs, kwargs)
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> Out<'py> {
        let py = slf.py();
        let _ = (py, types);
        let name = function.getattr("__name__")?.extract::<String>()?;
        hooks::fallback(&format!("numpy.{name}"), function, args, Some(kwargs))
    }

    #[pyo3(signature = (*, api_version = None))]
    fn __array_namespace__<'py>(slf: &Bound<'py, Self>, api_version: Option<Bound<'py, PyAny>>) -> Out<'py> {
        let _ = api_version;
        slf.py().import("numelt").map(Bound::into_any)
    }

    /// Pickles as `numpy.ndarray` does, through its bytes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        let py = slf.py();
        let restore = py.import("numelt._core")?.getattr("_restore")?;
        Ok((restore, (export::to_numpy(slf)?,)).into_pyobject(py)?.into_any())
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        slf.as_any().call_method1("copy", ("K",))
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyAny>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(_) => slf.as_any().call_method1("copy", ("K",)),
            Payload::Foreign(real) => hooks::wrap(&real.bind(slf.py()).call_method1("__deepcopy__", (memo,))?, 1),
        }
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        export::to_numpy(slf)?.repr()
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        export::to_numpy(slf)?.str()
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &Bound<'py, PyAny>) -> Out<'py> {
        export::to_numpy(slf)?.call_method1("__format__", (spec,))
    }

    /// What makes `sys.getsizeof`, which adds the collector's two words, say what it says of NumPy's array.
    fn __sizeof__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let array = slf.get();
        let size: usize = match array.payload() {
            Payload::Native(view) => {
                let own = if array.parent().is_none() { view.size() as usize * view.dtype.size() } else { 0 };
                NUMPYS_HEADER + 2 * size_of::<usize>() * view.shape.len() + own
            }
            Payload::Foreign(real) => real.bind(slf.py()).call_method0("__sizeof__")?.extract()?,
        };
        Ok(size - 2 * size_of::<usize>())
    }

    #[classmethod]
    fn __class_getitem__<'py>(class: &Bound<'py, pyo3::types::PyType>, args: &Bound<'py, PyAny>) -> Out<'py> {
        let py = class.py();
        let _ = numpy_method(py, "__class_getitem__")?;
        py.import("types")?.getattr("GenericAlias")?.call1((class, args))
    }
}

#[pymethods]
impl DeferredScalar {
    /// The buffer of the NumPy scalar that it is.
    ///
    /// # Safety
    /// Called by the interpreter with a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let real = DeferredScalar::realize(&slf)?;
        // SAFETY: `view` is the caller's structure to fill; NumPy's scalar makes itself its owner.
        let failed = unsafe { ffi::PyObject_GetBuffer(real.as_ptr(), view, flags) };
        if failed < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

/// The buffer format of some records (with texts or objects), and of bytes without a dtype, does not tell their layout, and NumPy, which asks for
/// a buffer first, would fail to read it back instead of trying the next protocol.
fn refuse_lossy_format(array: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = array.py();
    let dtype = array.getattr("dtype")?;
    // bytes without a dtype are padding in a format, and become a record
    if dtype.getattr("names")?.is_none() && dtype.getattr("kind")?.extract::<char>()? != 'V' {
        return Ok(());
    }
    let format = array.getattr("data")?.getattr("format")?;
    let parse = py.import("numpy._core._internal")?.getattr("_dtype_from_pep3118")?;
    match parse.call1((format,)).and_then(|read| read.eq(&dtype)) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(PyBufferError::new_err(format!("no buffer format describes {dtype}"))),
    }
}
