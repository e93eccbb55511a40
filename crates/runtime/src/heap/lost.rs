//! Bases that will not hold what the program says: they got no memory, and what they are made of is not there any more.
//!
//! In: bases that were given up (`batch/left.rs`). Out: the error that reading one gives, which names the array as NumPy does, and the
//! answer whether a batch touches one: such a batch runs operation by operation, so that nothing is computed from
//! what is not there, and an assignment to all of it makes it whole again.

use super::base::ArrayView;
use super::cell::{BaseCell, note};
use super::shared::Shared;
use numelt_ir::{DType, Dims, Error, Instr, View};
use numelt_opt::covers;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a heap knows of them.
#[derive(Default)]
pub(crate) struct Lost {
    /// Has any base ever failed?
    ever: AtomicBool,
    /// What is known of the arrays that failed last.
    labels: Mutex<VecDeque<Label>>,
}

/// What is known of an array that has not been computed.
struct Label {
    /// Its base, by [`Shared::id`].
    base: usize,
    dtype: DType,
    shape: Dims,
    /// The extension method that failed to compute it; it got no memory where there is none.
    extension: Option<String>,
}

/// Labels kept; an array beyond them is called by its bytes.
const MOST: usize = 256;

/// Notes that a base of a program of these instructions has not been computed.
pub(crate) fn mark(cell: &Shared<BaseCell>, instrs: &[Instr], base: u32) {
    cell.heap.lost.ever.store(true, Ordering::Release);
    if cell.set(note::FAILED) {
        return; // it has its label
    }
    if let Some((dtype, shape)) = label(instrs, base, cell.nbytes) {
        keep_label(cell, dtype, shape, None);
    }
}

/// The same of a base that one view is known of.
pub(crate) fn mark_view(cell: &Shared<BaseCell>, view: &View) {
    cell.heap.lost.ever.store(true, Ordering::Release);
    if !cell.set(note::FAILED) {
        keep_label(cell, view.dtype, view.shape.clone(), None);
    }
}

/// The same of the result of an extension method that failed.
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

/// Has any base ever failed of the heap that these are of?
#[inline]
pub(crate) fn ever(cells: &[Shared<BaseCell>]) -> bool {
    cells.first().is_some_and(|cell| cell.heap.lost.ever.load(Ordering::Acquire))
}

/// Has one of these bases failed?
pub(crate) fn among(cells: &[Shared<BaseCell>]) -> bool {
    ever(cells) && cells.iter().any(|cell| is_lost(cell))
}

/// Has this one?
pub(crate) fn is_lost(cell: &BaseCell) -> bool {
    cell.has(note::FAILED)
}

/// Notes that a base holds again what the program says.
pub(crate) fn restored(cell: &BaseCell) {
    cell.unset(note::FAILED);
}

/// Is what failed made good by this instruction, which reads nothing of it?
pub(crate) fn restores(cell: &BaseCell, instr: &Instr) -> bool {
    covers(&instr.out, cell.nbytes as i64) && instr.reads().all(|view| view.base != instr.out.base)
}

/// What reading a failed base gives.
pub(crate) fn error(cell: &Shared<BaseCell>) -> Error {
    let address = cell.id();
    let labels = cell.heap.lost.labels.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = |dtype: DType, shape: &[i64]| shape.iter().product::<i64>() as usize * dtype.size();
    let found = labels.iter().find(|label| label.base == address && bytes(label.dtype, &label.shape) == cell.nbytes);
    match found {
        Some(Label { extension: Some(name), .. }) => Error::Extension(name.clone()),
        Some(label) => Error::NoRoom { dtype: label.dtype, shape: label.shape.to_vec() },
        None => Error::OutOfMemory(cell.nbytes),
    }
}

/// The error that a base of a program gets no memory, with the array that was to be there.
pub(crate) fn named(error: Error, instrs: &[Instr], base: u32) -> Error {
    let Error::OutOfMemory(nbytes) = error else { return error };
    match label(instrs, base, nbytes) {
        Some((dtype, shape)) => Error::NoRoom { dtype, shape: shape.to_vec() },
        None => Error::OutOfMemory(nbytes),
    }
}

/// dtype and shape of the array that a base is: those of a view that is all of it, or else one axis of the first view's
/// dtype.
fn label(instrs: &[Instr], base: u32, nbytes: usize) -> Option<(DType, Dims)> {
    let views = || instrs.iter().flat_map(|i| [&i.out].into_iter().chain(i.reads())).filter(|v| v.base == base);
    if let Some(all) = views().find(|view| covers(view, nbytes as i64)) {
        return Some((all.dtype, all.shape.clone()));
    }
    let dtype = views().next()?.dtype;
    Some((dtype, Dims::from_elem((nbytes / dtype.size()) as i64, 1)))
}
