//! Basic indexing: integers, slices, new axes and an ellipsis select a view of an array.

use super::shape;
use crate::error::Error;
use numelt_ir::{Dims, MAX_RANK};
use numelt_runtime::ArrayView;
use std::ops::Range;

/// One part of a basic index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A position on an axis; a negative one counts from the end.
    Int(i64),
    /// Start, stop and step, as Python unpacks a slice: an omitted number is the largest or smallest one, depending on
    /// the step's sign. The step is not zero.
    Slice(i64, i64, i64),
    /// A new axis of extent one (`None` in Python).
    NewAxis,
    /// All axes that no other part names (`...` in Python).
    Ellipsis,
}

/// What a basic index selects.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The view.
    pub view: ArrayView,
    /// Whether there is an integer for each axis and nothing else. NumPy then returns a scalar, not an array without
    /// axes.
    pub scalar: bool,
}

/// The position that an index within bounds selects on an axis.
#[inline(always)]
pub fn within(index: i64, extent: i64) -> Option<i64> {
    let at = if index < 0 { index + extent } else { index };
    (0..extent).contains(&at).then_some(at)
}

/// The first position, the number of positions and the step of an unpacked slice on an axis. As in NumPy, a slice
/// without positions starts at zero and has step one.
#[inline]
pub fn slice(extent: i64, start: i64, stop: i64, step: i64) -> (i64, i64, i64) {
    // positions beyond an end are at that end; a slice with a negative step may stop before the front
    let (low, high) = if step < 0 { (-1, extent - 1) } else { (0, extent) };
    let clamp = |at: i64| if at < 0 { at.saturating_add(extent).max(low) } else { at.min(high) };
    let (start, stop) = (clamp(start), clamp(stop));
    let n = if step < 0 && stop < start {
        // the smallest number has no positive counterpart
        ((start - stop - 1) as u64 / step.unsigned_abs()) as i64 + 1
    } else if step > 0 && start < stop {
        (stop - start - 1) / step + 1
    } else {
        0
    };
    if n > 0 { (start, n, step) } else { (0, 0, 1) }
}

/// Applies a basic index.
///
/// # Errors
/// If there are two ellipses; more indices than axes; an integer outside its axis; more axes than an array may have.
pub fn select(view: &ArrayView, parts: &[Part]) -> Result<Selection, Error> {
    let rank = view.shape.len();
    let consumed = parts.iter().filter(|p| matches!(p, Part::Int(_) | Part::Slice(..))).count();
    if parts.iter().filter(|p| matches!(p, Part::Ellipsis)).count() > 1 {
        return Err(Error::Index("an index can only have a single ellipsis ('...')".into()));
    }
    if consumed > rank {
        return Err(Error::TooManyIndices { rank, indices: consumed });
    }
    let mut offset = view.offset;
    let (mut dims, mut strides) = (Dims::new(), Dims::new());
    let mut axis = 0;
    let keep = |range: Range<usize>, dims: &mut Dims, strides: &mut Dims| {
        dims.extend_from_slice(&view.shape[range.clone()]);
        strides.extend_from_slice(&view.strides[range]);
    };
    for part in parts {
        match *part {
            Part::Int(index) => {
                let extent = view.shape[axis];
                let at = within(index, extent).ok_or(Error::IndexOutOfBounds { index, axis, extent })?;
                offset += at * view.strides[axis];
                axis += 1;
            }
            Part::Slice(start, stop, step) => {
                let (first, n, step) = slice(view.shape[axis], start, stop, step);
                offset += first * view.strides[axis];
                dims.push(n);
                // a stride beyond all numbers is never used
                strides.push(view.strides[axis].wrapping_mul(step));
                axis += 1;
            }
            Part::NewAxis => {
                dims.push(1);
                strides.push(0);
            }
            Part::Ellipsis => {
                let skip = rank - consumed;
                keep(axis..axis + skip, &mut dims, &mut strides);
                axis += skip;
            }
        }
    }
    keep(axis..rank, &mut dims, &mut strides);
    if dims.len() > MAX_RANK {
        let text =
            format!("number of dimensions must be within [0, {MAX_RANK}], indexing result would have {}", dims.len());
        return Err(Error::Index(text));
    }
    let scalar = consumed == rank && parts.iter().all(|p| matches!(p, Part::Int(_)));
    Ok(Selection { view: shape::window(view, offset, dims, strides), scalar })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions that Python's definition of a slice lists.
    fn listed(extent: i64, start: i64, stop: i64, step: i64) -> Vec<i64> {
        let (low, high) = if step < 0 { (-1, extent - 1) } else { (0, extent) };
        let place = |at: i64| (if at < 0 { at + extent } else { at }).clamp(low, high);
        let (mut at, stop) = (place(start), place(stop));
        let mut positions = Vec::new();
        while if step < 0 { at > stop } else { at < stop } {
            positions.push(at);
            at += step;
        }
        positions
    }

    #[test]
    fn slices_select_what_python_lists() {
        for extent in 0..6 {
            for start in -8..9 {
                for stop in -8..9 {
                    for step in (-7..8).filter(|step| *step != 0) {
                        let (first, n, by) = slice(extent, start, stop, step);
                        let positions: Vec<i64> = (0..n).map(|i| first + i * by).collect();
                        assert_eq!(positions, listed(extent, start, stop, step), "{extent} {start}:{stop}:{step}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_and_smallest_numbers_are_no_exception() {
        assert_eq!(slice(5, i64::MIN, i64::MAX, 1), (0, 5, 1));
        assert_eq!(slice(5, i64::MAX, i64::MIN, -1), (4, 5, -1));
        assert_eq!(slice(5, i64::MAX, i64::MIN, i64::MIN), (4, 1, i64::MIN));
        assert_eq!(slice(5, 0, i64::MAX, i64::MAX), (0, 1, i64::MAX));
        assert_eq!(slice(0, i64::MAX, i64::MIN, -1), (0, 0, 1));
    }
}
