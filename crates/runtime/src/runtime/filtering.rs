//! Filters of a runtime ([`crate::Filter`]), and front ends that have filters of their own.
//!
//! The runtime's filters are applied inside a flush, after the batch has been taken and before its plan is looked up.
//! This is impossible for a front end's filters, which may need a lock for which nobody may wait during a flush
//! (Python's). So such a front end requests the pending program ([`Runtime::filtering`]), applies its filters without
//! any lock of the runtime, and flushes with the result ([`Runtime::flush_filtered`]). If another thread has run the
//! batch meanwhile, the front end begins again. Operations recorded meanwhile stay pending.
//!
//! While there are filters, every operation is recorded and planned: nothing runs at once or operation by operation, no
//! batch follows the plan of an earlier one, no reductions are added, and a full batch is not cut.

use super::{Batch, Retry, Runtime, State};
use crate::exec::Candidates;
use crate::filter::{Filter, FilterError, check};
use crate::heap::Heap;
use crate::stats::Reason;
use numelt_ir::{Program, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The filters of a runtime.
#[derive(Default)]
pub(crate) struct Filters {
    own: Vec<Arc<dyn Filter>>,
    /// Whether the front end applies filters of its own.
    front: bool,
    /// Errors of filters that have not been taken.
    errors: Vec<FilterError>,
}

/// A pending program, and the changes that a front end's filters have made to it.
pub struct Filtering {
    /// The heap of the runtime whose program it is.
    heap: Arc<Heap>,
    epoch: u64,
    edits: u64,
    recorded: Program,
    filtered: Option<Program>,
}

impl Filtering {
    /// The program in its present state.
    pub fn program(&self) -> &Program {
        self.filtered.as_ref().unwrap_or(&self.recorded)
    }
}

impl Runtime {
    /// Adds a filter for each batch that runs from now on. It comes after the existing filters.
    pub fn add_filter(&self, filter: Arc<dyn Filter>) {
        self.change_filters(|filters| filters.own.push(filter));
    }

    /// Removes the filters of a name, and returns whether there were any.
    pub fn remove_filter(&self, name: &str) -> bool {
        let mut removed = false;
        self.change_filters(|filters| {
            let before = filters.own.len();
            filters.own.retain(|filter| filter.name() != name);
            filters.errors.retain(|failed| failed.name != name);
            removed = filters.own.len() < before;
        });
        removed
    }

    /// States whether the front end flushes by [`Runtime::flush_filtered`] from now on.
    pub fn filters_in_front(&self, on: bool) {
        self.change_filters(|filters| filters.front = on);
    }

    fn change_filters(&self, change: impl FnOnce(&mut Filters)) {
        let mut state = self.lock();
        change(&mut state.filters);
        // an empty batch expects to repeat a plan, and another one may be repeating one
        state.batch.stop_following();
        self.filtered.store(state.filters.any(), Ordering::Relaxed);
        self.note_at_once(&state);
    }

    /// Whether there are filters, so that every operation must be recorded.
    #[inline]
    pub fn has_filters(&self) -> bool {
        self.filtered.load(Ordering::Relaxed)
    }

    /// Takes the errors of filters in past flushes, oldest first. Those batches have run without the filters that
    /// failed.
    pub fn take_filter_errors(&self) -> Vec<FilterError> {
        std::mem::take(&mut self.lock().filters.errors)
    }

    /// The program that a flush would run now, for a front end to apply its filters to. `None` if there is nothing to
    /// filter: nothing is pending, or the queue begins with operations that got no memory before.
    pub fn filtering(&self) -> Option<Filtering> {
        let mut state = self.lock();
        state.make_due();
        let batch = &mut state.batch;
        if batch.is_empty() || batch.remaining() > 0 || batch.first_call() == Some(0) {
            return None;
        }
        batch.update_base_flags();
        let mut recorded = batch.program().clone();
        recorded.instrs.truncate(batch.first_call().unwrap_or(usize::MAX));
        let heap = Arc::clone(&self.heap);
        Some(Filtering { heap, epoch: batch.epoch, edits: batch.edits, recorded, filtered: None })
    }

    /// Replaces the program that [`Filtering::program`] returns.
    ///
    /// # Errors
    /// [`numelt_ir::Error::Invalid`] or [`numelt_ir::Error::Unsupported`] if the new program must not run; nothing
    /// has changed then.
    pub fn replace(&self, filtering: &mut Filtering, program: Program) -> Result<()> {
        let engine = Arc::clone(&self.lock().engine);
        check(&filtering.recorded, &program, &*engine)?;
        filtering.filtered = Some(program);
        Ok(())
    }

    /// Runs the pending program as filtered. Operations recorded since [`Runtime::filtering`] stay pending. Returns
    /// false if the batch is no longer the one that was filtered; nothing has run then.
    ///
    /// # Errors
    /// Those of [`Runtime::flush`].
    pub fn flush_filtered(&self, reason: Reason, filtering: Filtering) -> Result<bool> {
        let mut state = self.lock_unblocked()?;
        state.make_due();
        let batch = &state.batch;
        let is_own = Arc::ptr_eq(&self.heap, &filtering.heap);
        if !is_own || batch.is_empty() || (batch.epoch, batch.edits) != (filtering.epoch, filtering.edits) {
            return Ok(false);
        }
        let result = state.flush_as(reason, Retry::No, Some(filtering));
        self.note_flush(&state);
        result.map(|()| true)
    }
}

impl Filters {
    pub fn any(&self) -> bool {
        self.front || !self.own.is_empty()
    }
}

impl State {
    /// The batch that results from applying the filters to a batch whose bases have been looked at; it takes over the
    /// bases. `None` if the filters change nothing. Instructions that were recorded after the front end had requested
    /// the program go to the queue.
    pub(super) fn filtered(&mut self, batch: &mut Batch, given: Option<Filtering>) -> Option<Box<Batch>> {
        if batch.is_empty() {
            return None;
        }
        let mut changed = None;
        if let Some(given) = given {
            let len = given.recorded.instrs.len();
            if len < batch.len() {
                batch.split(len, &mut self.batch);
                batch.update_base_flags();
            }
            changed = given.filtered;
        }
        if let Some(program) = &mut changed {
            // the present flags are used: somebody may have released an array meanwhile
            let known = batch.slots.len();
            program.bases[..known].copy_from_slice(&batch.program().bases);
        }
        for filter in &self.filters.own {
            let now = changed.as_ref().unwrap_or_else(|| batch.program());
            let error = match filter.apply(now) {
                Ok(None) => continue,
                Ok(Some(program)) => match check(batch.program(), &program, &*self.engine) {
                    Ok(()) => {
                        changed = Some(program);
                        continue;
                    }
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.filters.errors.push(FilterError { name: filter.name().to_string(), error });
        }
        let slots = std::mem::take(&mut batch.slots);
        match changed {
            Some(program) => {
                let mut filtered = Box::new(Batch::of(&self.heap, program, slots));
                filtered.update_base_flags();
                Some(filtered)
            }
            None => {
                batch.slots = slots;
                None
            }
        }
    }

    /// Makes the batch that is being recorded expect no plan.
    pub(super) fn expect_nothing(&mut self) {
        self.last = None;
        if self.batch.is_empty() {
            self.batch.expect(Candidates::new());
        }
    }
}
