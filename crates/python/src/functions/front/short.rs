//! The plain calls of functions that make arrays: a shape, array or sequence, and a dtype perhaps.

use super::creation::{extents, fill, unset};
use super::{Out, known_dtype, native, sequence};
use crate::array::fresh;
use crate::array::members::Quick;
use crate::array::ndarray::wrap_new;
use crate::cpython::given::Given;
use crate::record::front::Attached;
use crate::record::run;
use numelt::Front;
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt::rules::shape::Order;
use numelt_ir::{DType, Scalar};
use pyo3::intern;
use pyo3::prelude::*;

/// The dtype that is given, or the default; `None` where NumPy has to say what it is.
fn dtype_or(dtype: Option<Borrowed<'_, '_, PyAny>>, default: DType) -> Option<DType> {
    match dtype.filter(|dtype| !dtype.is_none()) {
        Some(dtype) => known_dtype(&dtype),
        None => Some(default),
    }
}

/// `zeros`, `ones` and `empty` of a shape, and a dtype perhaps.
pub fn filled<'py>(given: &Given<'_, 'py>, value: Option<i64>) -> Quick<'py> {
    let py = given.py();
    let (shape, dtype) = given.one_and(intern!(py, "dtype"))?;
    let (dtype, dims) = (dtype_or(dtype, DType::F64)?, extents(&shape)?);
    let Some(value) = value else { return Some(made(py, dtype, &dims)) };
    let value = if value == 0 { Scalar::from_bytes(dtype, &[0; 16]) } else { Weak::Int(value).to_scalar(dtype)? };
    match run::new_filled(&dims, value) {
        Some(base) => Some(fresh::c_ordered(py, base, dtype, &dims).map(Bound::into_any)),
        None => fill(py, unset(py, dtype, &dims), value).transpose(),
    }
}

/// An array whose elements are not set.
fn made<'py>(py: Python<'py>, dtype: DType, dims: &[i64]) -> Out<'py> {
    let base = crate::record::run::new_base(shape::size(dims) as usize * dtype.size());
    fresh::c_ordered(py, base, dtype, dims).map(Bound::into_any)
}

/// `array` of one of our arrays or a sequence of numbers, and a dtype perhaps.
pub fn array<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    let (object, dtype) = given.one_and(intern!(py, "dtype"))?;
    match native(&object) {
        Some(view) if dtype_or(dtype, view.dtype)? == view.dtype => {
            Some(Attached(py).copied(view, view.dtype, Order::K).and_then(|copy| wrap_new(py, copy)))
        }
        Some(_) => None,
        None => sequence::array(py, &object, |default| dtype_or(dtype, default)).transpose(),
    }
}

/// `asarray` of the same.
pub fn asarray<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    let (object, dtype) = given.one_and(intern!(py, "dtype"))?;
    match native(&object) {
        Some(view) => (dtype_or(dtype, view.dtype)? == view.dtype).then(|| Ok(object.to_owned())),
        None => sequence::array(py, &object, |default| dtype_or(dtype, default)).transpose(),
    }
}
