//! Joining arrays along an axis, and rolling them along axes, as recorded copies of pieces.

use crate::error::Error;
use crate::front::Front;
use crate::rules::shape;
use numelt_ir::{Axes, DType, Dims, Op};
use numelt_runtime::{ArrayView, Input};
use smallvec::SmallVec;

/// The extents of the result of joining pieces of one rank along an axis; there is at least one piece.
///
/// # Errors
/// NumPy's error for pieces that do not fit.
pub fn joined_shape(pieces: &[ArrayView], axis: usize) -> Result<Dims, Error> {
    let mut dims = pieces[0].shape.clone();
    dims[axis] = 0;
    for (number, piece) in pieces.iter().enumerate() {
        let (own, first) = (piece.shape.len(), dims.len());
        if own != first {
            return Err(Error::Value(format!(
                "all the input array dimensions except for the concatenation axis must match exactly, but the array at \
                 index 0 has {first} dimension(s) and the array at index {number} has {own} dimension(s)"
            )));
        }
        let different = (0..first).find(|&at| at != axis && piece.shape[at] != pieces[0].shape[at]);
        if let Some(at) = different {
            return Err(Error::Value(format!(
                "all the input array dimensions except for the concatenation axis must match exactly, but along dimension \
                 {at}, the array at index 0 has size {} and the array at index {number} has size {}",
                pieces[0].shape[at], piece.shape[at]
            )));
        }
        dims[axis] += piece.shape[axis];
    }
    Ok(dims)
}

/// Joins pieces of one rank along an axis into an array of a dtype; there is at least one piece.
///
/// # Errors
/// If pieces do not fit; and errors of recording.
pub fn join<F: Front>(front: &F, pieces: &[ArrayView], axis: usize, dtype: DType) -> Result<ArrayView, F::Error> {
    let dims = joined_shape(pieces, axis).map_err(|error| front.error(error))?;
    front.check_size(&dims, dtype)?;
    let strides = shape::joined_strides(&dims, dtype.size() as i64, pieces);
    let out = front.fresh(dtype, &dims, strides);
    out.base.settle_like_first(pieces.iter().map(|piece| &piece.base));
    let mut offset = 0;
    for piece in pieces.iter().filter(|piece| piece.size() > 0) {
        let target = shape::window(&out, offset, piece.shape.clone(), out.strides.clone());
        front.record(Op::Copy, dtype, &target, &[Input::Array(piece)], Axes::default())?;
        offset += piece.shape[axis] * out.strides[axis];
    }
    Ok(out)
}

/// The elements moved along each axis by a number of positions; those that leave one end enter at the other. For each
/// axis that moves, two copies are recorded: one of the part that moves on, and one of the part that enters.
///
/// # Errors
/// Those of recording.
pub fn rolled<F: Front>(front: &F, view: &ArrayView, shifts: &[i64]) -> Result<ArrayView, F::Error> {
    let out = front.like_inputs(view.dtype, &view.shape, &[view]);
    if out.size() == 0 {
        return Ok(out);
    }
    let moved = shifts.iter().zip(&view.shape).map(|(shift, &extent)| shift.rem_euclid(extent)).enumerate();
    let moved: SmallVec<[(usize, i64); 4]> = moved.filter(|&(_, shift)| shift != 0).collect();
    for corner in 0..1 << moved.len() {
        let (mut target, mut source) = (out.clone(), view.clone());
        for (bit, &(axis, shift)) in moved.iter().enumerate() {
            let rest = view.shape[axis] - shift;
            let (to, from, length) = if corner >> bit & 1 == 0 { (shift, 0, rest) } else { (0, rest, shift) };
            for (part, start) in [(&mut target, to), (&mut source, from)] {
                part.offset += start * part.strides[axis];
                part.shape[axis] = length;
            }
        }
        front.record(Op::Copy, view.dtype, &target, &[Input::Array(&source)], Axes::default())?;
    }
    Ok(out)
}
