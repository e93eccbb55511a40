//! Products of vectors and matrices.

use super::{Out, Quick, native};
use crate::array::ndarray::{NdArray, wrap_view};
use crate::numpy::convert;
use crate::ufunc::products;
use numelt::rules::shape;
use numelt_ir::{DType, Dims, Op, Scalar};
use numelt_runtime::Runtime;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Dot product: of vectors, of matrices, or over the last axis of the first operand.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.dot(np.eye(2), np.array([3.0, 4.0]))
/// array([3., 4.])
#[pyfunction]
#[pyo3(signature = (*args, **kwargs), text_signature = "(a, b, out=None)")]
fn dot<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Out<'py> {
    if kwargs.is_none()
        && args.len() == 2
        && let Some(made) = matrices(py, args)?
    {
        return Ok(made);
    }
    super::function(py, "dot")?.call(args, kwargs)
}

/// Vectors and matrices that fit.
fn matrices<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>) -> Quick<'py> {
    if let Some(made) = dotted(args)? {
        return Ok(Some(made));
    }
    let (a, b) = (args.get_item(0)?, args.get_item(1)?);
    let (Some(x), Some(y)) = (native(&a), native(&b)) else { return Ok(None) };
    let small = (1..=2).contains(&x.shape.len()) && (1..=2).contains(&y.shape.len());
    if !small || x.shape.last() != y.shape.get(y.shape.len().saturating_sub(2)) {
        return Ok(None);
    }
    products::product(py, Op::Dot, &a, &b, None)
}

/// `dot` of two arrays of one dtype that are both vectors or both matrices; `None` for all others.
pub fn dotted<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    if args.len() != 2 {
        return Ok(None);
    }
    let (a, b) = (args.get_borrowed_item(0)?, args.get_borrowed_item(1)?);
    let (Some(x), Some(y)) = (native(&a), native(&b)) else { return Ok(None) };
    match x.shape.len() {
        1 | 2 => products::plain(args.py(), Op::Dot, x, y),
        _ => Ok(None),
    }
}

/// Elements up to which the length of a vector is computed where it is asked for.
const FEW: i64 = 4096;

/// Root of the sum of squares of few dense floats, as `linalg.norm` computes it.
pub fn length<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    if args.len() != 1 {
        return Ok(None);
    }
    let x = &args.get_item(0)?;
    let Ok(array) = x.cast_exact::<NdArray>() else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let (py, n) = (x.py(), view.size());
    let plain = view.dtype == DType::F64 && (1..=FEW).contains(&n) && view.base.is_readable();
    if !plain || view.shape.is_empty() || !shape::is_c_contiguous(&view.shape, &view.strides, 8) {
        return Ok(None);
    }
    if !Runtime::global().runs_at_once() {
        return Ok(None);
    }
    let flat = match view.shape.len() {
        1 => x.clone(),
        _ => wrap_view(array, shape::window(view, view.offset, Dims::from_slice(&[n]), Dims::from_slice(&[8])))?,
    };
    let Some(square) = products::product(py, Op::Dot, &flat, &flat, None)? else { return Ok(None) };
    match convert::numpy_scalar_value(&square) {
        Some(Scalar::F64(square)) => convert::to_numpy_scalar(py, Scalar::F64(square.sqrt())).map(Some),
        Some(_) | None => Ok(None),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(dot, module)?)
}
