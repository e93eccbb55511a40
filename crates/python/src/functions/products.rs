//! Products of vectors and matrices.

use super::arguments::{Quick, native};
use crate::array::ndarray::{NdArray, wrap_view};
use crate::cpython::given::Given;
use crate::numpy::convert;
use crate::record::policy::{self, limits};
use crate::ufunc::products;
use numelt::rules::shape;
use numelt_ir::{DType, Dims, Op, Scalar};

/// `dot` of vectors and matrices whose shapes fit.
pub fn dot<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    if let Some(made) = dotted(given)? {
        return Ok(Some(made));
    }
    let Some([a, b]) = given.exactly() else { return Ok(None) };
    let (Some(x), Some(y)) = (native(&a), native(&b)) else { return Ok(None) };
    let small = (1..=2).contains(&x.shape.len()) && (1..=2).contains(&y.shape.len());
    if !small || x.shape.last() != y.shape.get(y.shape.len().saturating_sub(2)) {
        return Ok(None);
    }
    products::product(given.py(), Op::Dot, &a, &b, None)
}

/// `dot` of two arrays of one dtype that are both vectors or both matrices; `None` for all others.
pub fn dotted<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([a, b]) = given.exactly() else { return Ok(None) };
    let (Some(x), Some(y)) = (native(&a), native(&b)) else { return Ok(None) };
    match x.shape.len() {
        1 | 2 => products::plain(given.py(), Op::Dot, x, y),
        _ => Ok(None),
    }
}

/// The root of the sum of squares of few contiguous floats, as `linalg.norm` computes it.
pub fn length<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(x) = given.one() else { return Ok(None) };
    let Ok(array) = x.cast_exact::<NdArray>() else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let (py, n) = (x.py(), view.size());
    let plain = view.dtype == DType::F64 && (1..=limits::LENGTH).contains(&n) && view.base.is_readable();
    if !plain || view.shape.is_empty() || !shape::is_c_contiguous(&view.shape, &view.strides, 8) {
        return Ok(None);
    }
    if !policy::at_once() {
        return Ok(None);
    }
    let flat = match view.shape.len() {
        1 => x.to_owned(),
        _ => wrap_view(&array, shape::window(view, view.offset, Dims::from_slice(&[n]), Dims::from_slice(&[8])))?,
    };
    let Some(square) = products::product(py, Op::Dot, &flat, &flat, None)? else { return Ok(None) };
    match convert::numpy_scalar_value(&square) {
        Some(Scalar::F64(square)) => convert::to_numpy_scalar(py, Scalar::F64(square.sqrt())).map(Some),
        Some(_) | None => Ok(None),
    }
}
