//! The window through which an instruction sees an operand: that of the array, or its broadcast to the output's shape.
//!
//! [`operand_view`] makes the view in the bytecode; the others compare an array with the window of a recorded view.

use crate::heap::base::ArrayView;
use crate::packed::Window;
use numelt_ir::{BaseId, Dims, Error, Op, OpKind, Result, View};

/// Whether the operand at this index is broadcast to the output's shape.
#[inline]
pub(super) fn broadcasts(op: Op, place: usize) -> bool {
    match op.kind() {
        OpKind::Elementwise | OpKind::Generator => true,
        OpKind::Gather => place == 1,
        OpKind::Reduction | OpKind::Roll | OpKind::Scan | OpKind::Library => false,
    }
}

/// Whether the array has this window.
#[inline(always)]
pub(super) fn has_same_window(array: &ArrayView, window: &Window<'_>) -> bool {
    array.dtype == window.dtype
        && array.offset == window.offset
        && same(&array.shape, window.shape)
        && same(&array.strides, window.strides)
}

/// Whether the window is the array's own, broadcast to the window's extents.
pub(super) fn broadcasts_to(array: &ArrayView, window: &Window<'_>) -> bool {
    let (shape, strides) = (window.shape, window.strides);
    let Some(lead) = shape.len().checked_sub(array.shape.len()) else { return false };
    let axis = |((&n, &s), (&whole, &stretched)): ((&i64, &i64), (&i64, &i64))| {
        stretched == if n == whole { s } else { 0 } && (n == whole || n == 1)
    };
    array.dtype == window.dtype
        && array.offset == window.offset
        && strides[..lead].iter().all(|&s| s == 0)
        && array.shape.iter().zip(&array.strides).zip(shape[lead..].iter().zip(&strides[lead..])).all(axis)
}

/// Whether two short slices are equal, compared without a call of a library function.
#[inline(always)]
fn same(a: &[i64], b: &[i64]) -> bool {
    match (a, b) {
        ([x], [y]) => x == y,
        ([x0, x1], [y0, y1]) => (x0 ^ y0) | (x1 ^ y1) == 0,
        _ => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y),
    }
}

/// The view that operand number `place` is in an instruction whose result has the shape `domain`.
pub(crate) fn operand_view(op: Op, place: usize, array: &ArrayView, slot: BaseId, domain: &Dims) -> Result<View> {
    if broadcasts(op, place) { broadcast(array, slot, domain) } else { Ok(array.to_ir(slot)) }
}

/// NumPy's broadcasting of an input to the domain.
fn broadcast(array: &ArrayView, slot: BaseId, domain: &Dims) -> Result<View> {
    if array.shape == *domain {
        return Ok(array.to_ir(slot));
    }
    array.to_ir(slot).broadcast_to(domain).ok_or_else(|| {
        Error::Invalid(format!("input of shape {:?} does not broadcast to {domain:?}", array.shape.as_slice()))
    })
}
