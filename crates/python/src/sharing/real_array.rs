//! The fields of NumPy's arrays, read through NumPy's C interface.

use crate::numpy::convert;
use numelt::rules::shape;
use numelt_ir::{DType, Dims};
use numpy::npyffi::flags::{NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE};
use numpy::npyffi::{PyArrayObject, npy_intp};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_int;

/// The fields of a `numpy.ndarray` that numelt reads.
pub struct RealArray {
    pub data: *mut u8,
    /// The native dtype, if the address and the strides are aligned to it.
    pub dtype: Option<DType>,
    pub shape: Dims,
    pub strides: Dims,
    /// NumPy's flags of the array.
    pub flags: c_int,
    /// The object that owns the memory; null if the array owns it itself.
    pub base: *mut ffi::PyObject,
}

impl RealArray {
    /// Reads the structure of an object that is a `numpy.ndarray` (or a subclass).
    pub fn of(obj: &Bound<'_, PyAny>) -> RealArray {
        let array = obj.as_ptr().cast::<PyArrayObject>();
        // SAFETY: the caller checked the type; the layout is part of NumPy's stable ABI, and dimensions and
        // strides have `nd` entries.
        unsafe {
            let fields = &(*array).fields;
            let nd = fields.nd as usize;
            let dims = |p: *mut npy_intp| -> Dims {
                if let (1..=4, true) = (nd, size_of::<npy_intp>() == size_of::<i64>()) {
                    let mut few = [0; 4];
                    std::ptr::copy_nonoverlapping(p.cast::<i64>(), few.as_mut_ptr(), nd);
                    return Dims::from_buf_and_len(few, nd);
                }
                (0..nd).map(|axis| *p.add(axis) as i64).collect()
            };
            let (shape, strides) = (dims(fields.dimensions), dims(fields.strides));
            let dtype = RealArray::dtype(obj);
            RealArray { data: fields.data.cast(), dtype, shape, strides, flags: fields.flags, base: fields.base }
        }
    }

    /// The native dtype of a `numpy.ndarray`, if its address and strides are aligned to it.
    pub fn dtype(obj: &Bound<'_, PyAny>) -> Option<DType> {
        // SAFETY: as in `of`.
        unsafe {
            let fields = &(*obj.as_ptr().cast::<PyArrayObject>()).fields;
            if fields.flags & NPY_ARRAY_ALIGNED != 0 { convert::from_descr(obj.py(), fields.descr) } else { None }
        }
    }

    /// The object that owns an array's memory; null if the array owns it itself.
    pub fn base(obj: &Bound<'_, PyAny>) -> *mut ffi::PyObject {
        // SAFETY: as in `of`.
        unsafe { (*obj.as_ptr().cast::<PyArrayObject>()).fields.base }
    }

    /// The bytes of all elements.
    pub fn nbytes(&self) -> i64 {
        self.dtype.map_or(0, |d| shape::size(&self.shape) * d.size() as i64)
    }

    /// Whether the array may be written to.
    pub fn writeable(&self) -> bool {
        self.flags & NPY_ARRAY_WRITEABLE != 0
    }
}

/// Number of axes of an object that is a `numpy.ndarray`.
pub fn rank(obj: &Bound<'_, PyAny>) -> usize {
    // SAFETY: the caller checked the type; see `RealArray::of`.
    unsafe { (*obj.as_ptr().cast::<PyArrayObject>()).fields.nd as usize }
}

/// NumPy's type number of the dtype of an object that is a `numpy.ndarray`.
pub fn type_number(obj: &Bound<'_, PyAny>) -> c_int {
    // SAFETY: as above; an array's descriptor lives as long as the array, and its type number has the same offset in
    // NumPy 1 and 2.
    unsafe { (*(*obj.as_ptr().cast::<PyArrayObject>()).fields.descr).fields.type_num }
}
