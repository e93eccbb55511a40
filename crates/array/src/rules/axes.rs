//! Permuting, adding, dropping and reversing axes. All results are views of the same elements.

use super::shape;
use crate::error::Error;
use crate::reductions::normalize_axis;
use numelt_ir::{Dims, MAX_RANK};
use numelt_runtime::ArrayView;
use smallvec::SmallVec;

/// A list of axes, by number.
pub type AxisList = SmallVec<[usize; 4]>;

/// An axis counted from the front.
///
/// # Errors
/// If there is no such axis.
pub fn normalize(axis: i64, rank: usize) -> Result<usize, Error> {
    normalize_axis(axis, rank).ok_or(Error::Axis { axis, rank })
}

/// The axes in another order: axis `k` of the result is axis `order[k]` of the view.
pub fn permuted(view: &ArrayView, order: &[usize]) -> ArrayView {
    let pick = |from: &Dims| order.iter().map(|&axis| from[axis]).collect();
    shape::window(view, view.offset, pick(&view.shape), pick(&view.strides))
}

/// The order of axes for `transpose`.
///
/// # Errors
/// If `axes` does not have each axis once.
pub fn permutation(axes: &[i64], rank: usize) -> Result<AxisList, Error> {
    if axes.len() != rank {
        return Err(Error::Value("axes don't match array".into()));
    }
    let order = axes.iter().map(|&axis| normalize(axis, rank)).collect::<Result<AxisList, Error>>()?;
    let mut seen = order.clone();
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::Value("repeated axis in transpose".into()));
    }
    Ok(order)
}

/// The order of axes after some have moved from one position to another; all others keep their order.
///
/// # Errors
/// If there is no such axis; if one is named twice; if the number of positions is not that of axes.
pub fn moved(from: &[i64], to: &[i64], rank: usize) -> Result<AxisList, Error> {
    let place = |axes: &[i64], name: &str| {
        let places = axes.iter().map(|&axis| normalize(axis, rank)).collect::<Result<AxisList, Error>>()?;
        let mut seen = places.clone();
        seen.sort_unstable();
        match seen.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(Error::Value(format!("repeated axis in `{name}` argument"))),
            false => Ok(places),
        }
    };
    let (from, to) = (place(from, "source")?, place(to, "destination")?);
    if from.len() != to.len() {
        let text = "`source` and `destination` arguments must have the same number of elements";
        return Err(Error::Value(text.into()));
    }
    let mut order: AxisList = (0..rank).filter(|axis| !from.contains(axis)).collect();
    let mut pairs: SmallVec<[(usize, usize); 4]> = to.into_iter().zip(from).collect();
    pairs.sort_unstable();
    pairs.into_iter().for_each(|(to, from)| order.insert(to, from));
    Ok(order)
}

/// The view with an additional axis of extent one, at a position in the result.
///
/// # Errors
/// If there is no such position; if there are more axes than an array may have.
pub fn expanded(view: &ArrayView, axis: i64) -> Result<ArrayView, Error> {
    let rank = view.shape.len() + 1;
    if rank > MAX_RANK {
        return Err(Error::TooManyAxes(rank));
    }
    let at = normalize(axis, rank)?;
    let mut view = view.clone();
    view.shape.insert(at, 1);
    view.strides.insert(at, 0);
    Ok(view)
}

/// The view without these axes, which have extent one; if none are named, without all axes of extent one.
///
/// # Errors
/// If there is no such axis; if one has another extent; if one is named twice.
pub fn squeezed(view: &ArrayView, axes: Option<&[i64]>) -> Result<ArrayView, Error> {
    let rank = view.shape.len();
    let dropped: AxisList = match axes {
        None => (0..rank).filter(|&axis| view.shape[axis] == 1).collect(),
        Some(axes) => {
            let places = axes.iter().map(|&axis| normalize(axis, rank)).collect::<Result<AxisList, Error>>()?;
            if (1..places.len()).any(|at| places[..at].contains(&places[at])) {
                return Err(Error::DuplicateAxis);
            }
            places
        }
    };
    if dropped.iter().any(|&axis| view.shape[axis] != 1) {
        let text = "cannot select an axis to squeeze out which has size not equal to one";
        return Err(Error::Value(text.into()));
    }
    let kept: AxisList = (0..rank).filter(|axis| !dropped.contains(axis)).collect();
    Ok(permuted(view, &kept))
}

/// The view with axes reversed.
pub fn flipped(view: &ArrayView, axes: impl IntoIterator<Item = usize>) -> ArrayView {
    let mut view = view.clone();
    for axis in axes {
        if view.shape[axis] > 0 {
            view.offset += (view.shape[axis] - 1) * view.strides[axis];
        }
        view.strides[axis] = -view.strides[axis];
    }
    view
}

/// The view broadcast to a shape.
///
/// # Errors
/// If it does not broadcast to the shape.
pub fn broadcast_to(view: &ArrayView, to: &[i64]) -> Result<ArrayView, Error> {
    let fits = view.shape.len() <= to.len() && shape::broadcast(&[&view.shape, to]).as_deref() == Some(to);
    if !fits {
        let text = format!(
            "operands could not be broadcast together with remapped shapes [original->remapped]: {} and requested shape {}",
            crate::shape_text(&view.shape),
            crate::shape_text(to)
        );
        return Err(Error::Value(text));
    }
    Ok(shape::window(view, view.offset, Dims::from_slice(to), shape::broadcast_strides(view, to)))
}

/// The extents of a reshape: one of them may be -1, and is computed from the others.
///
/// # Errors
/// If the number of elements differs; if two extents are unknown.
pub fn extents(asked: &[i64], size: i64) -> Result<Dims, Error> {
    let refused = || {
        let text = format!("cannot reshape array of size {size} into shape {}", crate::shape_text(asked));
        Error::Value(text)
    };
    if asked.len() > MAX_RANK {
        return Err(Error::TooManyAxes(asked.len()));
    }
    let known =
        asked.iter().filter(|n| **n != -1).try_fold(1i64, |all, &n| if n < 0 { None } else { all.checked_mul(n) });
    let known = known.ok_or_else(refused)?;
    let mut dims = Dims::from_slice(asked);
    match asked.iter().filter(|n| **n == -1).count() {
        0 if known == size => Ok(dims),
        1 if known > 0 && size % known == 0 => {
            dims.iter_mut().filter(|n| **n == -1).for_each(|n| *n = size / known);
            Ok(dims)
        }
        0 | 1 => Err(refused()),
        _ => Err(Error::Value("can only specify one unknown dimension".into())),
    }
}
