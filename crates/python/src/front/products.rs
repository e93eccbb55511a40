//! Products of vectors and matrices.

use super::{Out, Quick, native};
use crate::products;
use numelt_ir::Op;
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
    let (a, b) = (args.get_item(0)?, args.get_item(1)?);
    let (Some(x), Some(y)) = (native(&a), native(&b)) else { return Ok(None) };
    let small = (1..=2).contains(&x.shape.len()) && (1..=2).contains(&y.shape.len());
    if !small || x.shape.last() != y.shape.get(y.shape.len().saturating_sub(2)) {
        return Ok(None);
    }
    products::product(py, Op::Dot, &a, &b, None)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(dot, module)?)
}
