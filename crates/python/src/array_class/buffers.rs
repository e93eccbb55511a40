//! Buffers: an array's memory as `memoryview` and functions written in C see it.
//!
//! In: an array, and flags that say what a buffer must describe. Out: the buffer, as NumPy fills it in. Its owner keeps
//! the memory in place:
//! - **an array on the same memory** that is made for the buffer, and lives as long as it;
//! - **the array itself**, if its dtype is not native, or if the caller may keep the array and not the buffer, as
//!   `numpy.frombuffer` does. The array's base then stays visible outside as long as the array lives.

use crate::array_class::attributes;
use crate::numpy::errors;
use crate::object::fresh;
use crate::object::ndarray::NdArray;
use crate::record::run;
use crate::sharing::{export, real_array};
use numelt::rules::shape;
use numelt_ir::{DType, Dims};
use numelt_runtime::ArrayView;
use numpy::npyffi::NPY_TYPES;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int, c_long};
use std::sync::{Mutex, PoisonError};

/// Fills in a buffer of an array's memory, or raises NumPy's error.
///
/// # Safety
/// `view` is a structure to fill.
pub unsafe fn fill(array: &Bound<'_, NdArray>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    let py = array.py();
    // SAFETY: the caller's contract. If this function raises an exception, nothing must be released.
    unsafe { (*view).obj = std::ptr::null_mut() };
    if let Some(own) = array.get().view()
        && let Some(strides) = strides_for(own, array.get().writeable(), flags)
    {
        let filled = filled(array, own, strides, flags)?;
        // SAFETY: the caller's contract.
        unsafe { view.write(filled) };
        return Ok(());
    }
    let real = export::to_numpy(array)?;
    let is_foreign = array.get().view().is_none();
    if asks(flags, ffi::PyBUF_FORMAT) && is_foreign {
        refuse_lossy_format(&real)?;
    }
    // SAFETY: `view` is the caller's structure to fill. What NumPy fills in lives as long as NumPy's array, and that as
    // long as an array of a non-native dtype, which therefore can be the owner.
    unsafe {
        if ffi::PyObject_GetBuffer(real.as_ptr(), view, flags) < 0 {
            return Err(PyErr::fetch(py));
        }
        if is_foreign {
            drop(Bound::from_owned_ptr(py, (*view).obj));
            (*view).obj = array.clone().into_ptr();
        }
    }
    Ok(())
}

/// Whether all bits of `wanted` are set.
fn asks(flags: c_int, wanted: c_int) -> bool {
    flags & wanted == wanted
}

/// The strides of a buffer, which are those of an array without axes of one element if the elements are contiguous;
/// `None` if the array has not what the flags ask for.
fn strides_for(own: &ArrayView, writeable: bool, flags: c_int) -> Option<Dims> {
    let itemsize = own.dtype.size() as i64;
    let c_ordered = shape::is_c_contiguous(&own.shape, &own.strides, itemsize);
    let f_ordered = shape::is_f_contiguous(&own.shape, &own.strides, itemsize);
    let wants_f = asks(flags, ffi::PyBUF_F_CONTIGUOUS);
    let refused = asks(flags, ffi::PyBUF_C_CONTIGUOUS) && !c_ordered
        || wants_f && !f_ordered
        || asks(flags, ffi::PyBUF_ANY_CONTIGUOUS) && !c_ordered && !f_ordered
        || !asks(flags, ffi::PyBUF_STRIDES) && !c_ordered
        || asks(flags, ffi::PyBUF_WRITABLE) && !writeable;
    match () {
        () if refused => None,
        () if c_ordered && !wants_f => {
            let mut strides = dense(own.shape.iter().rev(), itemsize);
            strides.reverse();
            Some(strides)
        }
        () if f_ordered => Some(dense(own.shape.iter(), itemsize)),
        () => Some(own.strides.clone()),
    }
}

/// The strides of contiguous elements, from the extents in the order from the fastest axis to the slowest.
fn dense<'a>(extents: impl Iterator<Item = &'a i64>, itemsize: i64) -> Dims {
    extents.scan(itemsize, |step, &n| Some(std::mem::replace(step, *step * n))).collect()
}

/// The buffer of a native array that has what the flags ask for.
fn filled(array: &Bound<'_, NdArray>, own: &ArrayView, strides: Dims, flags: c_int) -> PyResult<ffi::Py_buffer> {
    let (py, writeable) = (array.py(), array.get().writeable());
    let export = run::export(py, &own.base)?;
    let start = export.ptr().wrapping_offset(own.offset as isize);
    // `numpy.frombuffer` asks for bytes to write to, and, if it gets none, for bytes to read; it keeps the array only
    let bytes_only = flags & (ffi::PyBUF_ND | ffi::PyBUF_FORMAT) == 0;
    let owner = if bytes_only && (asks(flags, ffi::PyBUF_WRITABLE) || !writeable) && is_pinned(array, own)? {
        array.clone()
    } else {
        let (dtype, offset, shape) = (own.dtype, own.offset, own.shape.clone());
        let same = ArrayView { base: own.base.clone(), dtype, offset, shape, strides };
        let (below, pin) = (Some(array.clone().into_any().unbind()), Box::new(export));
        fresh::object(py, || {
            let made = NdArray::new(same, below, writeable);
            let _ = made.pinned().set(pin);
            made
        })?
    };
    let Some(described) = owner.get().view() else { unreachable!("the owner is native") };
    // The owner's first view stays where it is as long as the owner lives. i64 and the structure's integers have the
    // same size on 64-bit systems, which are the only ones supported here.
    let dims = |asked, dims: &Dims| match asks(flags, asked) && !dims.is_empty() {
        true => dims.as_ptr().cast_mut().cast::<ffi::Py_ssize_t>(),
        false => std::ptr::null_mut(),
    };
    let format = asks(flags, ffi::PyBUF_FORMAT).then(|| format_of(own.dtype).as_ptr().cast_mut());
    Ok(ffi::Py_buffer {
        buf: start.cast(),
        len: (own.size() * own.dtype.size() as i64) as isize,
        itemsize: own.dtype.size() as isize,
        readonly: c_int::from(!writeable),
        // consumers that ask for bytes, as `hashlib` does, refuse several axes
        ndim: if asks(flags, ffi::PyBUF_ND) { own.shape.len() as c_int } else { 0 },
        format: format.unwrap_or(std::ptr::null_mut()),
        shape: dims(ffi::PyBUF_ND, &described.shape),
        strides: dims(ffi::PyBUF_STRIDES, &described.strides),
        suboffsets: std::ptr::null_mut(),
        internal: std::ptr::null_mut(),
        obj: owner.into_ptr(),
    })
}

/// Whether the array's base stays visible as long as the array lives, which is made so if it can be.
fn is_pinned(array: &Bound<'_, NdArray>, own: &ArrayView) -> PyResult<bool> {
    attributes::pin(array)?;
    Ok(array.get().pinned().get().is_some_and(|pin| pin.base().ptr_eq(&own.base)))
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
