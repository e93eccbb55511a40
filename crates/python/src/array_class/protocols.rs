//! The protocols by which Python and other libraries use an array: length, truth, iteration, conversion, the
//! buffer and array protocols, pickling, text.
//!
//! In: an array. Out: what the protocol asks for. Most of it comes from a `numpy.ndarray` on the same memory.

use crate::array::{index, scalar};
use crate::array_class::attributes::{self, extents, kwarg, numpy_method};
use crate::cpython::Out;
use crate::cpython::calls;
use crate::numpy::convert::Numpy;
use crate::numpy::errors;
use crate::object::ndarray::{NdArray, Payload};
use crate::record::run;
use crate::sharing::real_array::{self, RealArray};
use crate::sharing::{calling, device_export, dlpack, export, foreign, results};
use crate::ufunc;
use numelt_ir::{DType, Dims, Scalar};
use numelt_runtime::Export;
use numpy::npyffi::flags::{NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEBACKIFCOPY};
use numpy::npyffi::{NPY_TYPES, PyArrayInterface};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySequence, PyString, PyTuple};
use std::ffi::{CStr, c_int, c_long};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The size in bytes of NumPy's array object, without its shape and strides.
const NUMPYS_HEADER: usize = 12 * size_of::<usize>();

/// An iterator over the first axis.
#[pyclass(module = "numelt._core", frozen)]
pub struct ArrayIterator {
    array: Py<NdArray>,
    next: AtomicI64,
}

impl ArrayIterator {
    /// The next item of an array of a native dtype; `None` at the end, and for other arrays.
    #[inline(always)]
    pub fn next_native<'py>(&self, py: Python<'py>) -> Option<Out<'py>> {
        let array = self.array.bind(py);
        let Payload::Native(view) = array.get().payload() else { return None };
        let at = self.next.load(Ordering::Relaxed);
        if at >= *view.shape.first()? {
            return None;
        }
        self.next.store(at + 1, Ordering::Relaxed); // no other thread does so meanwhile, because this one holds the GIL
        Some(index::item(array, view, at))
    }
}

#[pymethods]
impl ArrayIterator {
    fn __iter__<'py>(slf: Bound<'py, Self>) -> Bound<'py, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(item) = self.next_native(py) {
            return item.map(Some);
        }
        let Payload::Foreign(real) = self.array.bind(py).get().payload() else { return Ok(None) };
        let (real, at) = (real.bind(py), self.next.fetch_add(1, Ordering::Relaxed));
        if at >= real.len()? as i64 {
            return Ok(None);
        }
        // SAFETY: an array is a sequence to the interpreter.
        let items = unsafe { real.cast_unchecked::<PySequence>() };
        foreign::given(items.get_item(at as usize)?).map(Some)
    }

    fn __length_hint__(&self, py: Python<'_>) -> PyResult<i64> {
        let n = extents(self.array.bind(py))?.first().copied().unwrap_or(0);
        Ok((n - self.next.load(Ordering::Relaxed)).max(0))
    }

    /// What `copy` and `pickle` ask for, as for the iterators of NumPy's arrays: how to make one like this, and its
    /// position.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Out<'py> {
        let iter = py.import("builtins")?.getattr("iter")?;
        if self.__length_hint__(py)? == 0 {
            return Ok((iter, (PyTuple::empty(py),)).into_pyobject(py)?.into_any());
        }
        let position = self.next.load(Ordering::Relaxed);
        Ok((iter, (self.array.bind(py),), position).into_pyobject(py)?.into_any())
    }

    /// Moves to a position.
    fn __setstate__(&self, position: i64) {
        self.next.store(position.max(0), Ordering::Relaxed);
    }
}

/// The only element of an array of size one, for conversions to Python numbers; `None` for other arrays.
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
            Payload::Foreign(real) => return real.bind(slf.py()).len(),
        };
        first.map(|n| n as usize).ok_or_else(|| PyTypeError::new_err("len() of unsized object"))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        let scalar = match slf.get().payload() {
            Payload::Native(view) => view.shape.is_empty(),
            Payload::Foreign(_) => extents(slf)?.is_empty(),
        };
        if scalar {
            return Err(PyTypeError::new_err("iteration over a 0-d array"));
        }
        let made = ArrayIterator { array: slf.clone().unbind(), next: AtomicI64::new(0) };
        Bound::new(slf.py(), made).map(Bound::into_any)
    }

    /// The error of `+` if neither operand supports the other.
    fn __concat__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Err(PyTypeError::new_err(
            "Concatenation operation is not implemented for NumPy arrays, use np.concatenate() instead. \
             Please do not rely on this error; it may not be given on all Python implementations.",
        ))
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
        // An empty array raises, and NumPy knows the truth of non-native dtypes.
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

    /// Fills in the buffer of a zero-copy NumPy view. The owner of the buffer is this array.
    ///
    /// # Safety
    /// Called by the interpreter with a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the caller's contract.
        if flags == ffi::PyBUF_FULL_RO && unsafe { fill_plain(&slf, view)? } {
            return Ok(());
        }
        let array = export::to_numpy(&slf)?;
        if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT && slf.get().view().is_none() {
            refuse_lossy_format(&array)?;
        }
        // SAFETY: `view` is the caller's structure to fill. NumPy's array becomes the owner; that reference is moved
        // to `internal`, which NumPy does not use. The structure points to memory that lives as long as NumPy's
        // array.
        unsafe {
            if ffi::PyObject_GetBuffer(array.as_ptr(), view, flags) < 0 {
                return Err(PyErr::fetch(slf.py()));
            }
            let memory = BufferMemory::Numpys { _array: Bound::from_owned_ptr(slf.py(), (*view).obj).unbind() };
            (*view).internal = Box::into_raw(Box::new(memory)).cast();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// Releases the objects that keep a buffer's memory alive.
    ///
    /// # Safety
    /// Called by the interpreter, once for each buffer that [`NdArray::__getbuffer__`] filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is the box that `__getbuffer__` stored there.
        unsafe {
            drop(Box::from_raw((*view).internal.cast::<BufferMemory>()));
            (*view).internal = std::ptr::null_mut();
        }
        crate::cpython::graveyard::drain_after_drop();
    }

    /// NumPy's structure, with the array's dtype object added: a letter and a size do not describe the unit of a date
    /// or the fields of a record.
    #[getter(__array_struct__)]
    fn array_struct<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        let py = slf.py();
        if slf.get().view().is_some() {
            attributes::pin(slf)?;
            return export::to_numpy(slf)?.getattr("__array_struct__");
        }
        let array = export::to_numpy(slf)?;
        let dtype = array.getattr(intern!(py, "dtype"))?;
        // NumPy finds strings of variable length by their dtype object, which must be the array's own
        if real_array::type_number(&array) >= NPY_TYPES::NPY_NTYPES_LEGACY as c_int {
            return Err(PyAttributeError::new_err("__array_struct__"));
        }
        let capsule = array.getattr(intern!(py, "__array_struct__"))?;
        // SAFETY: NumPy's capsule has no name, and holds a structure of this type, whose `descr` is null or owned.
        unsafe {
            let found = ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()).cast::<PyArrayInterface>();
            if found.is_null() {
                return Err(PyErr::fetch(py));
            }
            let before = std::mem::replace(&mut (*found).descr, dtype.into_ptr());
            // NumPy leaves the flags of records empty, which is a mistake, so they are set here
            let own = RealArray::of(&array).flags & !(NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEBACKIFCOPY);
            (*found).flags |= own | HAS_DESCR;
            ffi::Py_XDECREF(before);
        }
        Ok(capsule)
    }

    #[pyo3(signature = (dtype = None, *, copy = None))]
    fn __array__<'py>(slf: &Bound<'py, Self>, dtype: Option<Bound<'py, PyAny>>, copy: Option<bool>) -> Out<'py> {
        let py = slf.py();
        let shared = export::to_numpy(slf)?;
        let Some(dtype) = dtype.filter(|d| !d.is_none()) else {
            return if copy == Some(true) { calls::method(&shared, "copy", ("K",), None) } else { Ok(shared) };
        };
        let kwargs = kwarg(py, "copy", copy)?;
        kwargs.set_item("dtype", dtype)?;
        calls::apply(&Numpy::get(py)?.attr(py, "array")?, (shared,), Some(&kwargs))
    }

    #[pyo3(signature = (**kwargs))]
    fn __dlpack__<'py>(slf: &Bound<'py, Self>, kwargs: Option<&Bound<'py, PyDict>>) -> Out<'py> {
        match device_export::device_of(slf.get()) {
            Some((view, device)) => device_export::dlpack(slf, view, device, kwargs),
            None => export::to_numpy(slf)?.call_method("__dlpack__", (), kwargs),
        }
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        device_export::device_of(self).map_or((1, 0), |(_, device)| (device.kind, device.number))
    }

    /// Arrays on the CPU do not have the attribute: other libraries take those that have it for arrays on a device.
    #[getter(__cuda_array_interface__)]
    fn cuda_array_interface<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match device_export::device_of(slf.get()) {
            Some((view, device)) if device.kind == dlpack::CUDA => device_export::interface(slf, view, device),
            _ => Err(PyAttributeError::new_err("'numpy.ndarray' object has no attribute '__cuda_array_interface__'")),
        }
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
        calling::fallback(&format!("numpy.{name}"), function, args, Some(kwargs))
    }

    #[pyo3(signature = (*, api_version = None))]
    fn __array_namespace__<'py>(slf: &Bound<'py, Self>, api_version: Option<Bound<'py, PyAny>>) -> Out<'py> {
        let _ = api_version;
        slf.py().import("numelt").map(Bound::into_any)
    }

    /// Pickles the array as `numpy.ndarray` does, with its bytes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        let py = slf.py();
        let restore = py.import("numelt._core")?.getattr("_restore")?;
        Ok((restore, (export::to_numpy(slf)?,)).into_pyobject(py)?.into_any())
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        calls::method(slf.as_any(), "copy", ("K",), None)
    }

    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, memo: &Bound<'py, PyAny>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(_) => calls::method(slf.as_any(), "copy", ("K",), None),
            Payload::Foreign(real) => results::wrap(&real.bind(slf.py()).call_method1("__deepcopy__", (memo,))?, 1),
        }
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        Ok(calls::repr(&export::to_numpy(slf)?)?.cast_into()?)
    }

    fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        Ok(calls::str(&export::to_numpy(slf)?)?.cast_into()?)
    }

    fn __format__<'py>(slf: &Bound<'py, Self>, spec: &Bound<'py, PyAny>) -> Out<'py> {
        calls::method(&export::to_numpy(slf)?, "__format__", (spec,), None)
    }

    /// Makes `sys.getsizeof`, which adds the two words of the garbage collector, return what it returns for NumPy's
    /// array.
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

/// The flag which says that the structure of an array has a `descr`.
const HAS_DESCR: c_int = 0x800;

/// What a buffer points to; kept until the buffer is released.
enum BufferMemory {
    /// NumPy's array, whose extents and strides the buffer points to.
    Numpys { _array: Py<PyAny> },
    /// The extents and strides of a native array, and an export that keeps its memory in place.
    Native { shape: Dims, strides: Dims, _export: Export },
}

/// Fills in the buffer of a native array all of whose extents are at least two, as NumPy would; false for other
/// arrays.
///
/// # Safety
/// `view` is a structure to fill.
unsafe fn fill_plain(array: &Bound<'_, NdArray>, view: *mut ffi::Py_buffer) -> PyResult<bool> {
    let Some(own) = array.get().view().filter(|v| !v.shape.is_empty() && v.shape.iter().all(|&n| n > 1)) else {
        return Ok(false);
    };
    let export = run::export(array.py(), &own.base)?;
    let start = export.ptr().wrapping_offset(own.offset as isize);
    let memory = BufferMemory::Native { shape: own.shape.clone(), strides: own.strides.clone(), _export: export };
    let memory = Box::into_raw(Box::new(memory));
    // SAFETY: the structure is the caller's to fill. Extents and strides lie in the box, which lives until the buffer
    // is released. i64 and the structure's integers have the same size on 64-bit systems, which are the only ones
    // supported here.
    unsafe {
        let BufferMemory::Native { shape, strides, .. } = &mut *memory else { return Ok(false) };
        (*view).buf = start.cast();
        (*view).obj = array.clone().into_any().into_ptr();
        (*view).itemsize = own.dtype.size() as isize;
        (*view).len = (own.size() * own.dtype.size() as i64) as isize;
        (*view).readonly = c_int::from(!array.get().writeable());
        (*view).ndim = shape.len() as c_int;
        (*view).format = format_of(own.dtype).as_ptr().cast_mut();
        (*view).shape = shape.as_mut_ptr().cast();
        (*view).strides = strides.as_mut_ptr().cast();
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = memory.cast();
    }
    Ok(true)
}

const _: () = assert!(size_of::<i64>() == size_of::<ffi::Py_ssize_t>());

/// The format of a native dtype in a buffer, as NumPy writes it.
fn format_of(dtype: DType) -> &'static CStr {
    let long = size_of::<c_long>() == 8;
    match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::U8 => c"B",
        DType::I16 => c"h",
        DType::U16 => c"H",
        DType::I32 if long => c"i",
        DType::U32 if long => c"I",
        DType::I64 if !long => c"q",
        DType::U64 if !long => c"Q",
        DType::I32 | DType::I64 => c"l",
        DType::U32 | DType::U64 => c"L",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
    }
}

/// Refuses a buffer if its format would not describe the dtype. That is so for some records (with strings or
/// objects), for bytes without a dtype, and for dtypes with metadata. NumPy asks for a buffer first, and would fail
/// to read such a format, or lose the metadata, instead of trying the next protocol.
fn refuse_lossy_format(array: &Bound<'_, PyAny>) -> PyResult<()> {
    /// The dtypes that were met last, and whether a format describes them.
    static MET: Mutex<Vec<(Py<PyAny>, bool)>> = Mutex::new(Vec::new());
    let met = || MET.lock().unwrap_or_else(PoisonError::into_inner);
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    // in a format, bytes without a dtype are padding, and NumPy would read them as a record
    if real_array::type_number(array) != NPY_TYPES::NPY_VOID as c_int {
        return if has_metadata(&dtype)? { Err(no_format()) } else { Ok(()) };
    }
    let known = met().iter().find(|(one, _)| one.is(&dtype)).map(|&(_, described)| described);
    let described = match known {
        Some(described) => described,
        None => {
            let format = array.getattr("data")?.getattr("format")?;
            let parse = py.import("numpy._core._internal")?.getattr("_dtype_from_pep3118")?;
            let read = parse.call1((format,)).and_then(|read| read.eq(&dtype));
            // NumPy's parser raises these for formats that it does not support
            let unknown = [errors::VALUE, errors::TYPE, errors::RUNTIME];
            let described = !has_metadata(&dtype)? && errors::unless(py, read, &unknown)? == Some(true);
            let mut met = met();
            let oldest = if met.len() < MOST_MET { None } else { Some(met.remove(0)) };
            met.push((dtype.unbind(), described));
            drop(met);
            drop(oldest);
            described
        }
    };
    if described { Ok(()) } else { Err(no_format()) }
}

fn no_format() -> PyErr {
    PyBufferError::new_err("no buffer format describes the dtype")
}

/// Whether a dtype, or the dtype of a field or element of it, carries metadata.
fn has_metadata(dtype: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (fields, inner) = (dtype.getattr("fields")?, dtype.getattr("subdtype")?);
    if !dtype.getattr("metadata")?.is_none() || !inner.is_none() && has_metadata(&inner.get_item(0)?)? {
        return Ok(true);
    }
    if !fields.is_none() {
        for field in fields.call_method0("values")?.try_iter()? {
            if has_metadata(&field?.get_item(0)?)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The most dtypes of records that are remembered.
const MOST_MET: usize = 8;
