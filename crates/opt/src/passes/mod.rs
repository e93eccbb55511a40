//! Rewrites of a program that keep every observable bit; one file per pass.

pub(crate) mod algebra;
pub(crate) mod alternate;
pub(crate) mod collapse;
pub(crate) mod common;
pub(crate) mod copies;
pub(crate) mod dead;
pub(crate) mod empty;
pub(crate) mod overlap;
pub(crate) mod rename;
pub(crate) mod rolls;
pub(crate) mod single;
#[cfg(test)]
mod tests;
pub(crate) mod unread;

use numelt_ir::{Base, BaseId, Dims, Program, View};
use smallvec::SmallVec;

/// Adds a base that exists only between kernels, large enough for `view`, and returns the dense view of it that has
/// `view`'s dtype, shape and memory order.
pub(crate) fn temporary_like(program: &mut Program, view: &View) -> View {
    let (view, nbytes) = dense_like(view, program.bases.len() as BaseId);
    program.bases.push(Base { nbytes, input: false, output: false });
    view
}

/// A dense view with the dtype, shape and memory order of another one, and its size in bytes.
pub fn dense_like(view: &View, base: BaseId) -> (View, usize) {
    // innermost first; the sort is stable, so that equal strides keep C order; broadcast axes have no effect
    let mut axes: SmallVec<[usize; 4]> = (0..view.rank()).rev().collect();
    if !view.strides.contains(&0) {
        axes.sort_by_key(|&a| view.strides[a].abs());
    }
    let mut strides = Dims::from_elem(0, view.rank());
    let mut step = view.dtype.size() as i64;
    for axis in axes {
        strides[axis] = step;
        step *= view.shape[axis].max(1);
    }
    (View { base, dtype: view.dtype, offset: 0, shape: view.shape.clone(), strides }, step as usize)
}

/// Whether the view covers every byte of a base of this size.
pub fn covers(view: &View, nbytes: i64) -> bool {
    view.nbytes() == nbytes && view.byte_range() == Some((0, nbytes)) && view.is_injective()
}
