//! The doors to values: guards for reading and writing, and exports.
//!
//! In: bases. Out: guards on their values, which are on the host then. What is pending runs first, as far as that is needed. What
//! got no memory stays pending, and is an error only to those who read it.
//!
//! Guards begin under the runtime's lock ([`crate::heap::guards`]). So each door runs what is pending, takes the lock, and looks whether that is
//! still enough: another thread may have recorded more, or hold a guard. A thread waits for guards without the lock. The caller
//! must not hold a lock of its own that the owner of a guard may need to end it, such as Python's.

use super::gate::Inside;
use super::{Runtime, State};
use crate::batch::Again;
use crate::heap::base::{BaseRef, Export};
use crate::heap::cell::note;
use crate::heap::guards::{Hindrance, ReadGuard, WriteGuard};
use crate::heap::lost;
use crate::stats::Reason;
use numelt_ir::{Error, Result};

/// What becomes of the values that a base has before it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// They are brought to the host.
    Kept,
    /// Nobody needs them.
    Dropped,
}

impl Runtime {
    /// The values of a base, to be read: work that only reads it may stay pending.
    ///
    /// # Errors
    /// Those of [`Runtime::flush`]; [`Error::OutOfMemory`] for a base that could not be computed; [`Error::Busy`] when this
    /// thread has a [`WriteGuard`] of the base, or a guard of what has to run first.
    pub fn read<'a>(&self, base: &'a BaseRef) -> Result<ReadGuard<'a>> {
        let [guard] = self.read_all([base])?;
        Ok(guard)
    }

    /// The values of several bases. A thread that takes its guards one by one may have to run work that one of them hinders; here, they
    /// begin together.
    ///
    /// # Errors
    /// Those of [`Runtime::read`].
    pub fn read_all<'a, const N: usize>(&self, bases: [&'a BaseRef; N]) -> Result<[ReadGuard<'a>; N]> {
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
            if let Some(hindrance) = bases.iter().find_map(|base| self.heap.guards.hindrance(&base.0, false)) {
                self.wait_for(hindrance, state)?;
                continue;
            }
            for base in bases {
                state.make(&base.0)?;
                state.bring_home(base)?;
            }
            return Ok(bases.map(ReadGuard::begin));
        }
    }

    /// The values of a base, to be changed: everything pending on it is done, and what was made from them is forgotten.
    ///
    /// # Errors
    /// Those of [`Runtime::read`]; [`Error::Busy`] when this thread has any guard of the base.
    pub fn write<'a>(&self, base: &'a BaseRef) -> Result<WriteGuard<'a>> {
        let _inside = self.lock_for_writing(base, Before::Kept)?;
        Ok(WriteGuard::begin(base))
    }

    /// A base whose values nobody needs any more, to be written: as [`Runtime::write`], but the values are neither computed, if they have
    /// been put off, nor brought to the host. The caller writes every byte that is read later. Work that reads the old values is
    /// done first.
    ///
    /// # Errors
    /// Those of [`Runtime::write`].
    pub fn overwrite<'a>(&self, base: &'a BaseRef) -> Result<WriteGuard<'a>> {
        let _inside = self.lock_for_writing(base, Before::Dropped)?;
        Ok(WriteGuard::begin(base))
    }

    /// Shows a base's memory to somebody outside until the export is dropped; everything pending on it is done.
    ///
    /// # Errors
    /// Those of [`Runtime::read`].
    pub fn export(&self, base: &BaseRef) -> Result<Export> {
        loop {
            let state = self.lock_when_done(base)?;
            if let Some(hindrance) = self.heap.guards.hindrance(&base.0, false) {
                self.wait_for(hindrance, state)?;
                continue;
            }
            return Self::settled(state, base, Before::Kept).map(|_inside| Export::new(base.clone()));
        }
    }

    /// The lock, when nothing is pending on a base, nobody has a guard of it, and the host has memory for it.
    fn lock_for_writing(&self, base: &BaseRef, before: Before) -> Result<Inside<'_, State>> {
        loop {
            let state = self.lock_when_done(base)?;
            if let Some(hindrance) = self.heap.guards.hindrance(&base.0, true) {
                self.wait_for(hindrance, state)?;
                continue;
            }
            return Self::settled(state, base, before);
        }
    }

    /// The lock, when nothing in the queue touches a base.
    fn lock_when_done(&self, base: &BaseRef) -> Result<Inside<'_, State>> {
        loop {
            if base.is_queued() {
                self.run_for(base)?;
            }
            let mut state = self.lock();
            if !base.is_queued() {
                return Ok(state);
            }
            // all that is left got no memory; otherwise another thread has recorded more
            if !state.batch.has_new() {
                state.batch.give_up(&base.0);
                return Ok(state);
            }
        }
    }

    /// Sees to values that are put off, and has the base's own on the host, as far as they are needed.
    fn settled<'a>(mut state: Inside<'a, State>, base: &BaseRef, before: Before) -> Result<Inside<'a, State>> {
        let cell = &base.0;
        if cell.bonds.any() {
            match before {
                Before::Kept => state.make(cell)?,
                Before::Dropped => {
                    drop(cell.bonds.take());
                    cell.bonds.made();
                }
            }
            // values that are made of these are made before they change
            for other in state.put_off.made_of(cell) {
                state.make(&other)?;
            }
        }
        if before == Before::Dropped {
            lost::restored(cell);
            if cell.has(note::AWAY) {
                cell.drop_copies();
            }
        }
        state.bring_home(base)?;
        Ok(state)
    }

    /// Runs everything pending for somebody who needs a base. What got no memory elsewhere stays pending, and is an error only to
    /// those who need it.
    fn run_for(&self, base: &BaseRef) -> Result<()> {
        let waits = || base.0.is_being_written();
        // what has not been tried before is not to be kept from memory by what has
        let first = self.flush(Reason::Read);
        if first == Err(Error::Busy) {
            return first;
        }
        // a function of the user's asks for what can only run when it has ended
        if self.runs_extension() && base.is_queued() {
            return Err(Error::Busy);
        }
        if !waits() {
            return Ok(());
        }
        match self.flush_again(Reason::Read, Again::For(&base.0)).and(first) {
            Err(error) if waits() => Err(error),
            Ok(()) if waits() => Err(lost::error(&base.0)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The lock, when no guard hinders what is in the queue.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub(super) fn lock_unhindered(&self) -> Result<Inside<'_, State>> {
        loop {
            let state = self.lock();
            match state.hindrance() {
                None => return Ok(state),
                Some(hindrance) => self.wait_for(hindrance, state)?,
            }
        }
    }

    /// Waits for a guard, without the lock.
    fn wait_for(&self, hindrance: Hindrance, state: Inside<'_, State>) -> Result<()> {
        drop(state);
        self.heap.guards.wait(hindrance)
    }
}

impl State {
    /// What keeps the queue from running.
    #[inline]
    pub(super) fn hindrance(&self) -> Option<Hindrance> {
        if !self.heap.guards.any() {
            return None;
        }
        let epoch = self.batch.epoch;
        self.heap.guards.hindrance_of(self.batch.slots.iter().map(|cell| (cell, cell.is_written_in(epoch))))
    }

    /// Has a base's values on the host, or memory for them.
    pub(super) fn bring_home(&mut self, base: &BaseRef) -> Result<()> {
        if base.0.has(note::FAILED) {
            return Err(lost::error(&base.0));
        }
        if base.0.has_value() { base.0.come_home() } else { base.0.provide() }
    }
}
