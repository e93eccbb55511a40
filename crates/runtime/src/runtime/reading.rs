//! Access to values: guards for reading and writing, and exports.
//!
//! Before a guard or an export begins, pending work runs as far as necessary, and the values are copied to the host.
//! Operations that got no memory stay pending; only reading their results is an error.
//!
//! Guards begin under the runtime's lock ([`crate::heap::guards`]). So each function here runs what is pending, takes
//! the lock, and checks that nothing has changed: another thread may have recorded more, or hold a guard. A thread
//! waits for guards without the lock. The caller must not hold a lock of its own that the owner of a guard may need
//! to end it, such as Python's.

use super::gate::Inside;
use super::{Runtime, State};
use crate::batch::Retry;
use crate::heap::base::{BaseRef, Export};
use crate::heap::cell::note;
use crate::heap::guards::{BlockingGuard, ReadGuard, WriteGuard};
use crate::heap::lost;
use crate::stats::Reason;
use numelt_ir::{Error, Result};

/// What happens to the values that a base has before it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// They are copied to the host.
    Needed,
    /// They are discarded.
    Dropped,
}

impl Runtime {
    /// A guard for reading the values of a base. Work that only reads it may stay pending.
    ///
    /// # Errors
    /// Those of [`Runtime::flush`]; [`Error::OutOfMemory`] for a base that could not be computed; [`Error::Busy`] if
    /// this thread has a [`WriteGuard`] of the base, or a guard of a base that must be computed before.
    pub fn read<'a>(&self, base: &'a BaseRef) -> Result<ReadGuard<'a>> {
        let [guard] = self.read_all([base])?;
        Ok(guard)
    }

    /// Guards for reading several bases. A thread that takes its guards one by one may have to run work that one of
    /// them blocks; these guards begin together.
    ///
    /// # Errors
    /// Those of [`Runtime::read`].
    pub fn read_all<'a, const N: usize>(&self, bases: [&'a BaseRef; N]) -> Result<[ReadGuard<'a>; N]> {
        let mut state = self.lock_for_reading(bases)?;
        for base in bases {
            state.move_to_host(base)?;
        }
        Ok(bases.map(ReadGuard::begin))
    }

    /// Some bytes of a base, for somebody who needs no others. If only a device has them, they are copied to `part`
    /// from there, and the result is `None`. The result is a guard of the whole base if the host has its values, or if
    /// so many parts have been read that moving all of it costs less.
    ///
    /// # Errors
    /// Those of [`Runtime::read`].
    pub fn read_part<'a>(&self, base: &'a BaseRef, at: usize, part: &mut [u8]) -> Result<Option<ReadGuard<'a>>> {
        let mut state = self.lock_for_reading([base])?;
        base.0.refresh();
        if !base.0.has(note::FAILED) && base.0.download_part(at, part)? {
            return Ok(None);
        }
        state.move_to_host(base)?;
        Ok(Some(ReadGuard::begin(base)))
    }

    /// Takes the lock when the values of bases have been computed and nobody changes them.
    fn lock_for_reading<const N: usize>(&self, bases: [&BaseRef; N]) -> Result<Inside<'_, State>> {
        loop {
            for base in bases {
                if base.0.is_being_written() {
                    self.run_for(base)?;
                }
            }
            let mut state = self.lock();
            if bases.iter().any(|base| base.0.is_being_written()) {
                continue; // another thread has recorded more
            }
            if let Some(guard) = bases.iter().find_map(|base| self.heap.guards.blocking(&base.0, false)) {
                self.wait_for(guard, state)?;
                continue;
            }
            for base in bases {
                state.make(&base.0)?;
            }
            return Ok(state);
        }
    }

    /// A guard for changing the values of a base. All pending work that uses it runs before, and what was derived
    /// from its values is forgotten.
    ///
    /// # Errors
    /// Those of [`Runtime::read`]; [`Error::Busy`] if this thread has any guard of the base.
    pub fn write<'a>(&self, base: &'a BaseRef) -> Result<WriteGuard<'a>> {
        let _inside = self.lock_for_writing(base, Before::Needed)?;
        Ok(WriteGuard::begin(base))
    }

    /// Changes some bytes of a base, if only a device has its values: they are copied there, and the result is `None`.
    /// The result is a guard of the whole base if the host has its values, or if so many parts have been read and
    /// written that moving all of it costs less; then nothing has been written yet.
    ///
    /// # Errors
    /// Those of [`Runtime::write`].
    pub fn write_part<'a>(&self, base: &'a BaseRef, at: usize, part: &[u8]) -> Result<Option<WriteGuard<'a>>> {
        let mut state = self.lock_unused(base)?;
        state.make_bound(base, Before::Needed)?;
        base.0.refresh();
        if !base.0.has(note::FAILED) && base.0.upload_part(at, part)? {
            return base.0.settle().map(|()| None);
        }
        state.move_to_host(base)?;
        Ok(Some(WriteGuard::begin(base)))
    }

    /// A guard for writing a base whose values nobody needs any more. It is like [`Runtime::write`], but the values
    /// are neither computed (if they have been put off) nor copied to the host. The caller writes every byte that is
    /// read later. Work that reads the old values runs before.
    ///
    /// # Errors
    /// Those of [`Runtime::write`].
    pub fn overwrite<'a>(&self, base: &'a BaseRef) -> Result<WriteGuard<'a>> {
        let _inside = self.lock_for_writing(base, Before::Dropped)?;
        Ok(WriteGuard::begin(base))
    }

    /// Makes a base's memory visible outside until the export is dropped. All pending work that uses it runs before.
    ///
    /// # Errors
    /// Those of [`Runtime::read`].
    pub fn export(&self, base: &BaseRef) -> Result<Export> {
        loop {
            let state = self.lock_when_done(base)?;
            if let Some(guard) = self.heap.guards.blocking(&base.0, false) {
                self.wait_for(guard, state)?;
                continue;
            }
            return Self::prepare(state, base, Before::Needed).map(|_inside| Export::new(base.clone()));
        }
    }

    /// Takes the lock when nothing is pending on a base, nobody has a guard of it, and the host has memory for it.
    fn lock_for_writing(&self, base: &BaseRef, before: Before) -> Result<Inside<'_, State>> {
        Self::prepare(self.lock_unused(base)?, base, before)
    }

    /// Takes the lock when nothing is pending on a base, and nobody has a guard of it.
    pub(super) fn lock_unused(&self, base: &BaseRef) -> Result<Inside<'_, State>> {
        loop {
            let state = self.lock_when_done(base)?;
            match self.heap.guards.blocking(&base.0, true) {
                None => return Ok(state),
                Some(guard) => self.wait_for(guard, state)?,
            }
        }
    }

    /// Takes the lock when nothing in the queue uses a base.
    fn lock_when_done(&self, base: &BaseRef) -> Result<Inside<'_, State>> {
        loop {
            if base.is_queued() {
                self.run_for(base)?;
            }
            let mut state = self.lock();
            if !base.is_queued() {
                return Ok(state);
            }
            // all remaining operations got no memory; otherwise another thread has recorded more
            if !state.batch.has_new() {
                state.batch.give_up(&base.0);
                return Ok(state);
            }
        }
    }

    /// Computes values that are put off, and copies the base's own to the host, as far as they are needed.
    fn prepare<'a>(mut state: Inside<'a, State>, base: &BaseRef, before: Before) -> Result<Inside<'a, State>> {
        state.make_bound(base, before)?;
        let cell = &base.0;
        if before == Before::Dropped {
            lost::restored(cell);
            if cell.has(note::AWAY) && !cell.has(note::ANCHORED) {
                cell.drop_copies();
            }
        }
        state.move_to_host(base)?;
        Ok(state)
    }

    /// Runs everything pending for somebody who needs a base. Operations that got no memory stay pending, which is an
    /// error only for those who need their results.
    fn run_for(&self, base: &BaseRef) -> Result<()> {
        let waits = || base.0.is_being_written();
        // operations that have not been tried before come first, so that those tried before do not take their memory
        let first = self.flush(Reason::Read);
        if first == Err(Error::Busy) {
            return first;
        }
        // an extension method has requested a value that can be computed only after the method has ended
        if self.runs_extension() && base.is_queued() {
            return Err(Error::Busy);
        }
        if !waits() {
            return Ok(());
        }
        match self.flush_with_retry(Reason::Read, Retry::For(&base.0)).and(first) {
            Err(error) if waits() => Err(error),
            Ok(()) if waits() => Err(lost::error(&base.0)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Takes the lock when no guard blocks the queue.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub(super) fn lock_unblocked(&self) -> Result<Inside<'_, State>> {
        loop {
            let state = self.lock();
            match state.blocking_guard() {
                None => return Ok(state),
                Some(guard) => self.wait_for(guard, state)?,
            }
        }
    }

    /// Waits for a guard, without the lock.
    fn wait_for(&self, guard: BlockingGuard, state: Inside<'_, State>) -> Result<()> {
        drop(state);
        self.heap.guards.wait(guard)
    }
}

impl State {
    /// The guard that blocks the queue.
    #[inline]
    pub(super) fn blocking_guard(&self) -> Option<BlockingGuard> {
        if !self.heap.guards.any() {
            return None;
        }
        let epoch = self.batch.epoch;
        self.heap.guards.blocking_any(self.batch.slots.iter().map(|cell| (cell, cell.is_written_in(epoch))))
    }

    /// Computes the values of a base that is about to change, if they are needed, and all put-off values that depend on
    /// them.
    pub(super) fn make_bound(&mut self, base: &BaseRef, before: Before) -> Result<()> {
        let cell = &base.0;
        if !cell.bonds.any() {
            return Ok(());
        }
        match before {
            Before::Needed => self.make(cell)?,
            Before::Dropped => {
                drop(cell.bonds.take());
                cell.bonds.made();
            }
        }
        // put-off values that depend on these are computed before these change
        self.put_off.made_of(cell).iter().try_for_each(|other| self.make(other))
    }

    /// Copies a base's values to the host, or allocates memory for them.
    pub(super) fn move_to_host(&mut self, base: &BaseRef) -> Result<()> {
        if base.0.has(note::FAILED) {
            return Err(lost::error(&base.0));
        }
        base.0.refresh();
        if base.0.has_value() { base.0.copy_to_host() } else { base.0.provide() }
    }
}
