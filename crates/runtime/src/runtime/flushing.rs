//! The batch of a flush: what is taken out of the queue, and running it by its plan or operation by operation.

use super::{State, mark_failed};
use crate::batch::{Batch, Retry};
use crate::exec::ReadyPlan;
use crate::heap::cell::BaseCell;
use crate::heap::shared::Shared;
use crate::siblings::Companions;
use crate::stats::Reason;
use numelt_ir::{Result, View};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What a flush has taken out of the queue.
pub(super) struct Taken {
    pub batch: Box<Batch>,
    /// The bases whose values were given up, each with a view of it.
    pub given_up: Vec<(Shared<BaseCell>, View)>,
    /// The full reductions in the batch, with those that were added because they share a pass over memory.
    pub companions: Option<Companions>,
    /// Whether it is a piece of a batch that was too long.
    cut: bool,
}

impl State {
    /// Takes the instructions out of the queue that a flush is to run; `call` says how many instructions come before
    /// the first call of an extension method. The next batch is ready for new instructions then.
    pub(super) fn take_batch(&mut self, reason: Reason, retry: Retry<'_>, call: Option<usize>) -> Taken {
        let epoch = self.heap.epoch.fetch_add(1, Ordering::Release) + 1;
        let mut next = self.spare.take().unwrap_or_else(|| Box::new(Batch::new(&self.heap, 0)));
        next.restart(epoch, &mut self.cells);
        let mut batch = std::mem::replace(&mut self.batch, next);
        if let Some(at) = call {
            batch.split(at, &mut self.batch);
        }
        let had_remaining = batch.remaining() > 0;
        let given_up = batch.set_aside(retry, &mut self.batch);
        let is_whole = call.is_none() && !self.filters.any();
        let cut = is_whole && reason == Reason::Instructions && (batch.is_at_cut() || self.is_too_long(&batch));
        let mut companions = None;
        if cut && !batch.is_at_cut() {
            let at = batch.best_cut();
            batch.split(at, &mut self.batch);
        } else if !cut && is_whole && !had_remaining && batch.has_full_reductions() {
            companions = Some(Companions::add(&mut batch, &mut self.sequels));
        }
        batch.update_base_flags();
        batch.may_put_off = reason == Reason::Read && call.is_none();
        Taken { batch, given_up, companions, cut }
    }

    /// Runs what a flush has taken out of the queue: by its plan, or operation by operation.
    pub(super) fn run_taken(&mut self, taken: &mut Taken, reason: Reason, start: Instant) -> Result<()> {
        let is_judged = matches!(reason, Reason::Read | Reason::Instructions);
        let (instructions, work) = (taken.batch.len(), taken.batch.work);
        match self.ready(&mut taken.batch) {
            Ok(None) => {
                if is_judged {
                    self.chains.note(instructions, None, work);
                }
                let result = self.run_piecemeal(&mut taken.batch);
                self.stats.run_ns += start.elapsed().as_nanos() as u64;
                self.stats.flushes[reason as usize] += 1;
                self.last = None;
                result
            }
            Ok(Some((plan, hit))) => {
                if is_judged {
                    self.chains.note(instructions, Some(plan.plan.steps.len()), work);
                }
                self.run_planned(taken, (plan, hit), reason, start)
            }
            Err(error) => {
                self.last = None;
                mark_failed(&mut taken.batch);
                Err(error)
            }
        }
    }

    /// Runs what a flush has taken out of the queue by its plan; `hit` says that the plan was there already.
    fn run_planned(
        &mut self,
        taken: &mut Taken,
        (plan, hit): (Arc<ReadyPlan>, bool),
        reason: Reason,
        start: Instant,
    ) -> Result<()> {
        // reading the clock takes as long as finding a plan, so only the making of a plan is timed by itself
        let planned = if hit { start } else { Instant::now() };
        self.stats.plan_ns += (planned - start).as_nanos() as u64;
        let result = match self.run(&plan, &taken.batch) {
            Ok(()) => {
                self.note_put_off(&plan, &taken.batch);
                Ok(())
            }
            Err(stopped) => {
                taken.companions = None;
                self.finish(&plan, &mut taken.batch, stopped)
            }
        };
        self.stats.run_ns += planned.elapsed().as_nanos() as u64;
        self.account(reason, &plan, hit, start);
        if taken.cut {
            plan.cut.store(true, Ordering::Relaxed);
        }
        if self.filters.any() {
            // a plan of a filtered program belongs to no recorded batch, and neither do its positions
            self.caches.used(&plan);
            self.expect_nothing();
        } else {
            taken.batch.store_positions(&plan);
            self.expect_successors(plan);
        }
        result
    }
}
