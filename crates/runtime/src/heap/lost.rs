//! Bases whose values are lost: they got no memory, and the values from which they were to be computed exist no more.
//!
//! They are bases of instructions that were given up (`batch/remaining.rs`). Reading one is an error, which names the
//! array as NumPy does. A batch that uses one runs operation by operation, so that nothing is computed from a lost
//! value, and an assignment to all of a base ends its loss.

use super::base::ArrayView;
use super::cell::{BaseCell, note};
use super::shared::Shared;
use numelt_ir::{DType, Dims, Error, Instr, View};
use numelt_opt::covers;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a heap knows about lost bases.
#[derive(Default)]
pub(crate) struct Lost {
    /// Whether any base has ever been lost.
    ever: AtomicBool,
    /// The arrays that were lost last.
    labels: Mutex<VecDeque<Label>>,
}

/// What is known of an array that could not be computed.
struct Label {
    /// Its base, by [`Shared::id`].
    base: usize,
    dtype: DType,
    shape: Dims,
    /// The extension method that failed to compute it; `None` if it got no memory.
    extension: Option<String>,
}

/// The most labels that are kept. The error of an older array states its size in bytes only.
const MOST: usize = 256;

/// Marks a base of a program of these instructions as lost.
pub(crate) fn mark(cell: &Shared<BaseCell>, instrs: &[Instr], base: u32) {
    cell.heap.lost.ever.store(true, Ordering::Release);
    if cell.set(note::FAILED) {
        return; // it has a label already
    }
    if let Some((dtype, shape)) = label(instrs, base, cell.nbytes) {
        keep_label(cell, dtype, shape, None);
    }
}

/// Marks a base as lost of which one view is known.
pub(crate) fn mark_view(cell: &Shared<BaseCell>, view: &View) {
    cell.heap.lost.ever.store(true, Ordering::Release);
    if !cell.set(note::FAILED) {
        keep_label(cell, view.dtype, view.shape.clone(), None);
    }
}

/// Marks the result of an extension method that failed as lost.
pub(crate) fn mark_failed(array: &ArrayView, extension: &str) {
    let cell = &array.base.0;
    cell.heap.lost.ever.store(true, Ordering::Release);
    if !cell.set(note::FAILED) {
        keep_label(cell, array.dtype, array.shape.clone(), Some(extension.to_string()));
    }
}

fn keep_label(cell: &Shared<BaseCell>, dtype: DType, shape: Dims, extension: Option<String>) {
    let mut labels = cell.heap.lost.labels.lock().unwrap_or_else(PoisonError::into_inner);
    if labels.len() == MOST {
        labels.pop_back();
    }
    labels.push_front(Label { base: cell.id(), dtype, shape, extension });
}

/// Whether any base of the heap of these cells has ever been lost.
#[inline]
pub(crate) fn ever(cells: &[Shared<BaseCell>]) -> bool {
    cells.first().is_some_and(|cell| cell.heap.lost.ever.load(Ordering::Acquire))
}

/// Whether one of these bases is lost.
pub(crate) fn among(cells: &[Shared<BaseCell>]) -> bool {
    ever(cells) && cells.iter().any(|cell| is_lost(cell))
}

/// Whether this base is lost.
pub(crate) fn is_lost(cell: &BaseCell) -> bool {
    cell.has(note::FAILED)
}

/// Notes that a base has its proper value again.
pub(crate) fn restored(cell: &BaseCell) {
    cell.unset(note::FAILED);
}

/// Whether this instruction gives a lost base its proper value again: it writes all of it and reads nothing of it.
pub(crate) fn restores(cell: &BaseCell, instr: &Instr) -> bool {
    covers(&instr.out, cell.nbytes as i64) && instr.reads().all(|view| view.base != instr.out.base)
}

/// The error of reading a lost base.
pub(crate) fn error(cell: &Shared<BaseCell>) -> Error {
    let address = cell.id();
    let labels = cell.heap.lost.labels.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = |dtype: DType, shape: &[i64]| shape.iter().product::<i64>() as usize * dtype.size();
    let found = labels.iter().find(|label| label.base == address && bytes(label.dtype, &label.shape) == cell.nbytes);
    match found {
        Some(Label { extension: Some(name), .. }) => Error::Extension(name.clone()),
        Some(label) => Error::ArrayOutOfMemory { dtype: label.dtype, shape: label.shape.to_vec() },
        None => Error::OutOfMemory(cell.nbytes),
    }
}

/// The error that a base of a program gets no memory, with the dtype and shape of its array.
pub(crate) fn named(error: Error, instrs: &[Instr], base: u32) -> Error {
    let Error::OutOfMemory(nbytes) = error else { return error };
    match label(instrs, base, nbytes) {
        Some((dtype, shape)) => Error::ArrayOutOfMemory { dtype, shape: shape.to_vec() },
        None => Error::OutOfMemory(nbytes),
    }
}

/// The dtype and shape of the array on a base: those of a view that is all of it, or else one axis of the first view's
/// dtype.
fn label(instrs: &[Instr], base: u32, nbytes: usize) -> Option<(DType, Dims)> {
    let views = || instrs.iter().flat_map(|i| [&i.out].into_iter().chain(i.reads())).filter(|v| v.base == base);
    if let Some(all) = views().find(|view| covers(view, nbytes as i64)) {
        return Some((all.dtype, all.shape.clone()));
    }
    let dtype = views().next()?.dtype;
    Some((dtype, Dims::from_elem((nbytes / dtype.size()) as i64, 1)))
}
