//! Products of vectors and matrices.

use super::arguments::{Quick, native, output};
use super::conversion;
use crate::array::basic;
use crate::array::operand::Operand;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::object::ndarray::NdArray;
use crate::ufunc::{elementwise, products};
use numelt::rules::shape;
use numelt_ir::{DType, Op};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;

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

/// `dot` with any of NumPy's arguments.
pub fn general_dot<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const DOT: Parameters<3> = Parameters::new(["a", "b", "out"], 2);
    let py = given.py();
    let Some([Arg(Some(a)), Arg(Some(b)), out]) = given.bind(&DOT) else { return Ok(None) };
    let (mut left, mut right) = (None, None);
    let Some((x, left)) = conversion::operand(&a, &mut left)? else { return Ok(None) };
    let Some((y, right)) = conversion::operand(&b, &mut right)? else { return Ok(None) };
    let Some(out) = output(out) else { return Ok(None) };
    let scalar = left.shape.is_empty() || right.shape.is_empty();
    if scalar && !adds_multiples(left, right) {
        // dtypes that differ are left to NumPy
        if out.is_some() || left.dtype != right.dtype {
            return Ok(None);
        }
        let (Some(a), Some(b)) = (Operand::extract(&a)?, Operand::extract(&b)?) else { return Ok(None) };
        return elementwise::apply(py, Op::Multiply, &[a, b], None, None);
    }
    let Some(out) = out else { return products::product(py, Op::Dot, x.as_any(), y.as_any(), None) };
    if scalar || !takes_dot(&out, [x, y], [left, right]) {
        return Ok(None);
    }
    let made = products::product(py, Op::Dot, x.as_any(), y.as_any(), Some(&out))?;
    match out.get().view() {
        // NumPy returns a scalar, not the output
        Some(view) if made.is_some() && view.shape.is_empty() => basic::read_element(py, view).map(Some),
        Some(_) | None => Ok(made),
    }
}

/// Whether NumPy computes the product of a scalar and an array by BLAS, which adds multiples to zeros.
fn adds_multiples(x: &ArrayView, y: &ArrayView) -> bool {
    let dtype = x.dtype.promote(y.dtype);
    let rank = x.shape.len().max(y.shape.len());
    let inexact = dtype.is_float() || dtype.is_complex();
    inexact && dtype != DType::F16 && (1..3).contains(&rank) && x.size() * y.size() > 0
}

/// Whether an output has the dtype, shape and order that `dot` requires, and memory apart from the operands.
fn takes_dot(out: &Bound<'_, NdArray>, operands: [&Bound<'_, NdArray>; 2], [x, y]: [&ArrayView; 2]) -> bool {
    let Some(view) = out.get().view() else { return false };
    let (rank, last) = (y.shape.len(), x.shape.len() - 1);
    let extents = [&x.shape[..last], &y.shape[..rank.max(2) - 2], &y.shape[rank.max(2) - 1..]].concat();
    view.dtype == x.dtype.promote(y.dtype)
        && view.shape[..] == extents[..]
        && shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64)
        && !operands.iter().any(|operand| operand.is(out))
        && out.get().parent().is_none()
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
