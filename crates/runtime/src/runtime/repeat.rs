//! Recording what a known program says comes next, and letting go of bases: what a loop does most, without what only
//! other cases need.

use super::Runtime;
use crate::batch::Repeated;
use crate::heap::base::{BaseRef, Export, Input};
use crate::heap::cell::CELLS;
use numelt_ir::{DType, Op, Result};
use std::sync::atomic::Ordering;

impl Runtime {
    /// Records an elementwise operation with a new array in C order for its result, if it is what the program that is
    /// being repeated says comes next. Where it is not, or anything else would have to be done, nothing is recorded, and
    /// [`Runtime::record_past`] is to be called. The operands are as NumPy's operator hands them to its loop: arrays of dtype `ty`, or
    /// literals of it.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    #[inline(always)]
    pub unsafe fn repeat_past(&self, what: (Op, DType), ins: [Input<'_>; 2]) -> Option<Repeated> {
        // SAFETY: the caller's contract.
        let state = unsafe { self.state.past_alone()? };
        if self.heap.held.load(Ordering::Relaxed) > state.held_budget {
            return None;
        }
        // what is small may be better run at once
        let least = if state.runs_at_once() { state.config.at_once as u64 } else { 0 };
        let limits = (least, state.config.max_pending);
        // SAFETY: the cells come from `recycle`.
        let repeated = unsafe { state.batch.repeat(what, ins, limits, &mut state.cells)? };
        state.stats.instructions += 1;
        self.work.store(state.batch.work, Ordering::Relaxed);
        Some(repeated)
    }

    /// A new base with its memory, whose contents are not set, and the memory's address; `None` while new arrays are to be
    /// recorded, or where there is no memory.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    #[inline]
    pub unsafe fn prepared_past(&self, nbytes: usize) -> Option<(BaseRef, *mut u8)> {
        // SAFETY: the caller's contract.
        let state = unsafe { self.state.past_alone()? };
        if !state.runs_at_once() {
            return None;
        }
        let base = BaseRef::of(&mut state.cells, &self.heap, nbytes);
        base.0.provide().ok()?;
        let address = base.0.here();
        Some((base, address))
    }

    /// A base that holds these bytes already; see [`Runtime::filled`].
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    pub unsafe fn filled_past(&self, bytes: &[u8]) -> Result<BaseRef> {
        // SAFETY: the caller's contract.
        let base = unsafe { self.new_base_past(bytes.len()) };
        base.fill(bytes).map(|()| base)
    }

    /// [`Runtime::export`] of a base that has memory which nothing pending touches.
    #[inline]
    pub fn export_now(&self, base: &BaseRef) -> Option<Export> {
        let address = base.peek()?;
        (!base.is_pending()).then(|| Export::new(base.clone(), address))
    }

    /// A new base; see [`Runtime::new_base`].
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    #[inline]
    pub unsafe fn new_base_past(&self, nbytes: usize) -> BaseRef {
        // SAFETY: the caller's contract.
        match unsafe { self.state.past_alone() } {
            Some(state) => BaseRef::of(&mut state.cells, &self.heap, nbytes),
            None => BaseRef::new(&self.heap, nbytes),
        }
    }

    /// Drops a base.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`], which holds for the threads that make and drop references to bases, too.
    #[inline(always)]
    pub unsafe fn drop_past(&self, base: BaseRef) {
        let (cell, count) = (&base.0, base.0.count());
        // of two, the other share may be the queue's, which then alone keeps the memory
        let counts = count == 2 && cell.has_value();
        // SAFETY: the caller's contract.
        match unsafe { self.state.past_alone() } {
            Some(_) if count > 1 && !counts => {
                // SAFETY: there is another reference, and all other threads wait for the caller's lock.
                unsafe { base.into_shared().drop_alone() }
            }
            Some(state) if count == 1 && state.cells.len() < CELLS => {
                let mut cell = base.into_shared();
                if cell.get_mut().is_some_and(|own| own.renew()) {
                    state.cells.push(cell);
                }
            }
            Some(_) | None => drop(base),
        }
    }
}
