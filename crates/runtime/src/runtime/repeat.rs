//! Fast paths for what loops do most: recording the next instruction of a known program, reading and writing, and
//! dropping bases.
//!
//! They are for front ends of which one thread runs at a time, and do the same as the general functions, or return
//! `None` if the general function must be called.

use super::Runtime;
use crate::batch::Repeated;
use crate::heap::base::{BaseRef, Export, Input};
use crate::heap::cell::CELLS;
use crate::heap::guards::{GuardSet, ReadGuard};
use numelt_ir::{DType, Op, Result};
use std::sync::atomic::Ordering;

impl Runtime {
    /// Records an elementwise operation whose result is a new array in C order, if it is the next instruction of the
    /// program that is being repeated. Otherwise, or if anything else would have to be done, nothing is recorded, and
    /// [`Runtime::record_past`] must be called. The operands are as NumPy's operator passes them to its loop: arrays
    /// of dtype `ty`, or literals of it.
    ///
    /// # Safety
    /// The conditions of [`Runtime::record_past`].
    #[inline(always)]
    pub unsafe fn repeat_past(&self, what: (Op, DType), ins: [Input<'_>; 2]) -> Option<Repeated> {
        // SAFETY: the caller's contract.
        let state = unsafe { self.state.past_alone()? };
        if self.heap.held.load(Ordering::Relaxed) > state.held_budget {
            return None;
        }
        // an operation on few elements may be better run at once
        let least = if state.runs_at_once() { state.config.at_once as u64 } else { 0 };
        let limits = (least, state.config.max_pending);
        // SAFETY: the cells come from `recycle`.
        let repeated = unsafe { state.batch.repeat(what, ins, limits, &mut state.cells)? };
        state.stats.instructions += 1;
        self.work.store(state.batch.work, Ordering::Relaxed);
        Some(repeated)
    }

    /// A new base whose bytes `fill` writes. `None`, with nothing done, if new arrays must be recorded or there is no
    /// memory.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`]. `fill` does not call the runtime.
    #[inline(always)]
    pub unsafe fn prepared_past(&self, nbytes: usize, fill: impl FnOnce(&mut [u8])) -> Option<BaseRef> {
        // SAFETY: the caller's contract.
        let state = unsafe { self.state.past_alone()? };
        if !state.runs_at_once() {
            return None;
        }
        let base = BaseRef::of(&mut state.cells, &self.heap, nbytes);
        base.fill(fill).ok()?;
        Some(base)
    }

    /// Calls `fill` to write all bytes of a base that are read later, as [`BaseRef::poke`] does; a base without a
    /// value gets memory before. `None` if the base is not [writable](BaseRef::is_writable), or another thread may be
    /// inside.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    ///
    /// # Safety
    /// That of [`Runtime::record_past`] and of [`BaseRef::poke`].
    #[inline(always)]
    pub unsafe fn overwrite_past<R>(&self, base: &BaseRef, fill: impl FnOnce(&mut [u8]) -> R) -> Result<Option<R>> {
        if !base.0.has_value() {
            // SAFETY: the caller's contract.
            if base.is_pending() || unsafe { self.state.past_alone() }.is_none() {
                return Ok(None);
            }
            base.0.provide()?;
        }
        // SAFETY: the caller's contract.
        Ok(unsafe { base.poke(fill) })
    }

    /// [`Runtime::read`] of a base that is [readable](BaseRef::is_readable); `None` if another thread may be inside.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    #[inline]
    pub unsafe fn read_past<'a>(&self, base: &'a BaseRef) -> Option<ReadGuard<'a>> {
        // SAFETY: the caller's contract.
        unsafe { self.state.past_alone()? };
        base.is_readable().then(|| ReadGuard::begin(base))
    }

    /// Guards of several bases, which begin and end together; with each base comes whether it is written. `None` if one
    /// of them is not [readable](BaseRef::is_readable) or [writable](BaseRef::is_writable), or if another thread may be
    /// inside. No base occurs twice.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    #[inline]
    pub unsafe fn hold_past<'a>(&self, uses: &[(&'a BaseRef, bool)]) -> Option<GuardSet<'a>> {
        // SAFETY: the caller's contract.
        unsafe { self.state.past_alone()? };
        uses.iter().all(|(base, writes)| base.has_values_here() && !(*writes && base.is_pending())).then_some(())?;
        GuardSet::begin(uses)
    }

    /// A base that already holds these bytes; see [`Runtime::filled`].
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    pub unsafe fn filled_past(&self, bytes: &[u8]) -> Result<BaseRef> {
        // SAFETY: the caller's contract.
        let base = unsafe { self.new_base_past(bytes.len()) };
        base.fill(|memory| memory.copy_from_slice(bytes)).map(|()| base)
    }

    /// [`Runtime::export`] of a base with memory that no pending work uses; `None` if another thread may be inside.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    #[inline]
    pub unsafe fn export_past(&self, base: &BaseRef) -> Option<Export> {
        // SAFETY: the caller's contract.
        unsafe { self.state.past_alone()? };
        (base.is_readable() && !base.is_pending()).then(|| Export::new(base.clone()))
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
    /// The conditions of [`Runtime::record_past`], which hold for all threads that make and drop references to bases,
    /// too.
    #[inline(always)]
    pub unsafe fn drop_past(&self, base: BaseRef) {
        let (cell, count) = (&base.0, base.0.count());
        // if there are two references, the other may be the queue's, which then is the only one to keep the memory
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
