//! Triangles and diagonals of matrices.

use crate::answer::{Answer, NotNative};
use crate::elementwise::{Elementwise, Made};
use crate::front::Front;
use crate::indexing::compute;
use crate::operand::Operand;
use crate::reductions::normalize_axis;
use crate::rules::shape::{self, Order};
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// The lower or upper triangle of each matrix in the last two axes, as a new array: elements above, or below, the
/// diagonal that is `k` above the main one become zero. Not native: an array with fewer than two axes, which NumPy
/// refuses.
///
/// # Errors
/// Those of recording.
pub fn triangle<F: Front>(front: &F, view: &ArrayView, k: i64, lower: bool) -> Result<Answer<Made>, F::Error> {
    let [.., rows, columns] = view.shape[..] else { return Ok(Answer::NotNative(NotNative::Shape)) };
    if view.size() == 0 {
        return front.copied(view, view.dtype, Order::K).map(Made::New).map(Answer::Recorded);
    }
    // the last diagonal of the part on and below it
    let last = k.clamp(-rows - 1, columns + 1) - i64::from(!lower);
    let mut down = range(front, 0, rows)?;
    down.shape.push(1);
    down.strides.push(0);
    let right = range(front, -last, columns)?;
    let below = compute(front, Op::GreaterEqual, &[Input::Array(&down), Input::Array(&right)])?;
    let zero = Operand::Value(Scalar::from_bytes(view.dtype, &[0; 16]));
    let (below, elements) = (Operand::Array(&below), Operand::Array(view));
    let args = if lower { [below, elements, zero] } else { [below, zero, elements] };
    Elementwise::new(Op::Where, &args).record(front)
}

/// The diagonal along two axes that is `offset` above the main one, or below it if that is negative, as a view whose
/// last axis it is; `None` if the array has no such two axes.
pub fn diagonal(view: &ArrayView, offset: i64, axis1: i64, axis2: i64) -> Option<ArrayView> {
    let rank = view.shape.len();
    let (first, second) = (normalize_axis(axis1, rank)?, normalize_axis(axis2, rank)?);
    if first == second {
        return None;
    }
    let (rows, columns) = (view.shape[first], view.shape[second]);
    let (down, right) = (view.strides[first], view.strides[second]);
    let length = match offset {
        0.. => rows.min(columns.saturating_sub(offset)),
        _ => rows.saturating_add(offset).min(columns),
    };
    let start = match length {
        ..=0 => 0,
        _ if offset >= 0 => offset * right,
        _ => -offset * down,
    };
    let kept = (0..rank).filter(|&axis| axis != first && axis != second);
    let (mut dims, mut strides): (Dims, Dims) = kept.map(|axis| (view.shape[axis], view.strides[axis])).unzip();
    dims.push(length.max(0));
    strides.push(down + right);
    Some(shape::window(view, view.offset + start, dims, strides))
}

/// `count` consecutive integers.
fn range<F: Front>(front: &F, first: i64, count: i64) -> Result<ArrayView, F::Error> {
    let view = shape::whole(front.new_base(8 * count as usize), DType::I64, &Dims::from_slice(&[count]));
    let ends = [Scalar::I64(first), Scalar::I64(1)].map(Input::Const);
    front.record(Op::Range, DType::I64, &view, &ends, Axes::default())?;
    Ok(view)
}
