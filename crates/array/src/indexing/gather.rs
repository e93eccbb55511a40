//! Reading by positions: a recorded gather into new memory.

use super::lookup::Lookup;
use super::positions::{CheckOrder, Indices, Positions, compute};
use crate::answer::{Answer, NotNative};
use crate::error::Error;
use crate::front::Front;
use crate::rules::shape;
use numelt_ir::{Axes, Dims, MAX_RANK, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, Input};
use smallvec::SmallVec;

/// The selected elements of a lookup as a new array. Its axes are the other axes before the selected ones, the selected
/// ones, and the rest.
///
/// # Errors
/// NumPy's IndexError for indices out of bounds and for shapes that do not fit each other; those of recording.
pub fn gather<F: Front>(front: &F, lookup: &Lookup) -> Result<Answer<ArrayView>, F::Error> {
    let positions = Indices::of(front, lookup)?.resolve(front, lookup, CheckOrder::of_reading(lookup))?;
    if lookup.rest.0.len() + positions.shape.len() >= MAX_RANK {
        return Ok(Answer::NotNative(NotNative::Shape));
    }
    let strides = strides_of(lookup, &positions.shape, &positions.inputs);
    gather_at(front, lookup, &positions, strides).map(Answer::Recorded)
}

/// The strides of a new array for a selection with this shape by these indices: the selected axes are outermost, in C
/// order, and the others have the order that they have in the array. If there are no others, or only one element along
/// them, the order is that of the indices.
pub fn strides_of(lookup: &Lookup, picked: &[i64], indices: &[ArrayView]) -> Dims {
    let itemsize = lookup.array.dtype.size() as i64;
    let extents = lookup.arrange(picked, &lookup.rest.0);
    if shape::size(&extents) == 0 {
        return c_strides(&extents, itemsize);
    }
    if shape::size(&lookup.rest.0) == 1 {
        let inputs: SmallVec<[&ArrayView; 2]> = indices.iter().collect();
        let ones = Dims::from_elem(itemsize, lookup.rest.0.len());
        return lookup.arrange(&shape::k_order_strides(picked, itemsize, &inputs), &ones);
    }
    let rest = shape::window(&lookup.array, 0, lookup.rest.0.clone(), lookup.rest.1.clone());
    let inner = shape::k_order_strides(&rest.shape, itemsize, &[&rest]);
    let block = rest.shape.iter().map(|&n| n.max(1)).product::<i64>() * itemsize;
    lookup.arrange(&c_strides(picked, block), &inner)
}

/// The elements at positions as a new array with these strides.
fn gather_at<F: Front>(
    front: &F,
    lookup: &Lookup,
    positions: &Positions,
    strides: Dims,
) -> Result<ArrayView, F::Error> {
    let dtype = lookup.array.dtype;
    let extents = lookup.arrange(&positions.shape, &lookup.rest.0);
    front.check_size(&extents, dtype)?;
    let out = front.fresh(dtype, &extents, strides);
    if out.size() == 0 {
        out.base.settle_like_first([&lookup.array.base]);
        return Ok(out);
    }
    let step = if positions.all { positions.axis.1 } else { 0 };
    let still = Dims::from_elem(step, positions.shape.len());
    let mut source = shape::window(&lookup.array, positions.offset, extents, lookup.arrange(&still, &lookup.rest.1));
    let Some(index) = positions.index.as_ref().filter(|_| !positions.all) else {
        front.record(Op::Copy, dtype, &out, &[Input::Array(&source)], Axes::default())?;
        return Ok(out);
    };
    let moves = shape::broadcast_strides(index, &positions.shape);
    let fixed = Dims::from_elem(0, lookup.rest.0.len());
    let index = shape::window(index, index.offset, source.shape.clone(), lookup.arrange(&moves, &fixed));
    source.shape.insert(0, positions.axis.0);
    source.strides.insert(0, positions.axis.1);
    front.record(Op::Gather, dtype, &out, &[Input::Array(&source), Input::Array(&index)], Axes::default())?;
    Ok(out)
}

/// How `take` treats an index out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is an error.
    Raise,
    /// It wraps around to the other end.
    Wrap,
    /// It is moved to the nearest end; negative indices are the first element.
    Clip,
}

impl Mode {
    /// The index within bounds, unless bounds are to be checked.
    fn apply<F: Front>(self, front: &F, index: &ArrayView, n: i64) -> Result<Option<ArrayView>, F::Error> {
        let number = |op, value| compute(front, op, &[Input::Array(index), Input::Const(Scalar::I64(value))]);
        match self {
            Mode::Raise => Ok(None),
            Mode::Wrap => number(Op::Remainder, n).map(Some),
            // the gather clamps indices beyond the end to the last element
            Mode::Clip => number(Op::Maximum, 0).map(Some),
        }
    }
}

/// The elements at positions along an axis, as a new array in C order: `numpy.take`. Not native: an index that has
/// neither integers nor truth values, and taking elements from an empty axis, which NumPy refuses.
///
/// # Errors
/// If indices are out of bounds; if the result has more axes than an array may have; and errors of recording.
pub fn take<F: Front>(
    front: &F,
    array: &ArrayView,
    axis: usize,
    index: &ArrayView,
    mode: Mode,
) -> Result<Answer<ArrayView>, F::Error> {
    if !(index.dtype.is_integer() || index.dtype == numelt_ir::DType::Bool) {
        return Ok(Answer::NotNative(NotNative::Loop));
    }
    let rank = array.shape.len() - 1 + index.shape.len();
    if rank > MAX_RANK {
        // here NumPy writes beyond the end of an internal array instead of raising
        let text = format!("number of dimensions must be within [0, {MAX_RANK}], got {rank}");
        return Err(front.error(Error::Value(text)));
    }
    if array.shape[axis] == 0 && index.size() > 0 {
        return Ok(Answer::NotNative(NotNative::Shape));
    }
    let inside = mode.apply(front, index, array.shape[axis])?;
    // NumPy does not check the indices if there is nothing in front of the axis
    let checked = inside.is_none() && !array.shape[..axis].contains(&0);
    let lookup = Lookup::along(array, axis, inside.unwrap_or_else(|| index.clone()));
    let indices = Indices::of(front, &lookup)?;
    let indices = if checked { indices } else { indices.without_bounds_checks() };
    let positions = indices.resolve(front, &lookup, CheckOrder::Rows)?;
    let extents = lookup.arrange(&positions.shape, &lookup.rest.0);
    let strides = c_strides(&extents, array.dtype.size() as i64);
    gather_at(front, &lookup, &positions, strides).map(Answer::Recorded)
}
