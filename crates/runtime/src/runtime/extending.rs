//! Calls of extension methods ([`crate::Extension`]): recording them, and running them between two pieces of the
//! batch.
//!
//! An extension method may use the runtime, so it runs without the runtime's lock, while its call stays at the
//! head of the queue. Until it has ended,
//! - nothing that was recorded after the call runs, because it may need the result or overwrite what the method
//!   reads. Other threads that need it wait: the result has a [`WriteGuard`], which blocks their flushes;
//! - operations that the method itself records run separately from the queue as soon as they are read, if they use
//!   nothing that waits.

use super::{Batch, Retry, Runtime, State};
use crate::batch::Call;
use crate::extension::{Extension, ExtensionInput, ExtensionOutput};
use crate::heap::base::ArrayView;
use crate::heap::guards::{ReadGuard, WriteGuard};
use crate::heap::lost;
use crate::stats::{FlushReport, Reason};
use numelt_ir::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Runtime {
    /// Records a call that fills `out`, an array on a new base, from `ins`. Nothing runs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] while this thread runs an extension method: the caller then calls the function itself.
    pub fn call_extension(&self, extension: Arc<dyn Extension>, out: &ArrayView, ins: &[&ArrayView]) -> Result<()> {
        let mut state = self.lock();
        if state.is_caller() {
            return Err(Error::Unsupported("a recorded call inside an extension method".into()));
        }
        out.base.0.forget_kept();
        let ins = ins.iter().map(|&view| view.clone()).collect();
        state.batch.push_call(Call { extension, out: out.clone(), ins });
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// How many calls of extension methods have not run.
    pub fn pending_calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether this thread is running an extension method.
    pub fn runs_extension(&self) -> bool {
        self.pending_calls() > 0 && self.lock().is_caller()
    }

    /// Runs the queue piece by piece, and the calls between the pieces.
    #[cold]
    pub(super) fn flush_with_calls(&self, reason: Reason, retry: Retry<'_>) -> Result<()> {
        if self.runs_extension() {
            let mut state = self.lock();
            let result = state.flush_beside(reason);
            self.note_flush(&state);
            return result;
        }
        loop {
            let mut state = self.lock_unblocked()?;
            let result = state.flush(reason, retry);
            self.note_flush(&state);
            let Some(call) = state.batch.next_call().cloned() else { return result };
            result?;
            // the guards end after the call has left the queue, so that until then everybody who needs its result
            // waits for them
            let (mut guards, start) = (None, Instant::now());
            let outcome = match state.begin_call(&call) {
                Ok(()) => {
                    let reads: Vec<ReadGuard<'_>> = call.ins.iter().map(|view| ReadGuard::begin(&view.base)).collect();
                    let guards = guards.insert((reads, WriteGuard::begin(&call.out.base)));
                    drop(state);
                    let outcome = run(&call, guards);
                    state = self.lock();
                    outcome
                }
                Err(error) => Err(error),
            };
            state.end_call(&call, outcome.is_ok());
            state.report_call(&call, reason, start.elapsed().as_nanos() as u64);
            drop(guards);
            self.calls.fetch_sub(1, Ordering::Relaxed);
            self.note_flush(&state);
            outcome?;
            if state.filters.any() {
                // The filters have to see the operations after the call first.
                return Ok(());
            }
        }
    }
}

/// Calls the method. A panic in it becomes an error.
fn run(call: &Call, (reads, write): &mut (Vec<ReadGuard<'_>>, WriteGuard<'_>)) -> Result<()> {
    let inputs: Vec<ExtensionInput<'_>> =
        call.ins.iter().zip(reads.iter()).map(|(view, guard)| ExtensionInput { view, bytes: guard.bytes() }).collect();
    let mut out = ExtensionOutput { view: &call.out, bytes: write.bytes_mut() };
    catch_unwind(AssertUnwindSafe(|| call.extension.run(&mut out, &inputs)))
        .unwrap_or_else(|_| Err(Error::Extension(call.extension.name().to_string())))
}

impl State {
    /// Whether this thread is running an extension method.
    fn is_caller(&self) -> bool {
        self.caller == Some(std::thread::current().id())
    }

    /// Forgets, in a forked child, the call that another thread was running, so that it runs again.
    pub(super) fn forget_caller(&mut self) {
        if !self.is_caller() {
            self.caller = None;
            self.batch.forget_call();
        }
    }

    /// Brings the inputs of a call to the host, and allocates memory for its output.
    fn begin_call(&mut self, call: &Call) -> Result<()> {
        for view in &call.ins {
            self.make(&view.base.0)?;
            self.move_to_host(&view.base)?;
        }
        call.out.base.0.provide()?;
        self.batch.call_begins();
        self.caller = Some(std::thread::current().id());
        self.stats.calls += 1;
        Ok(())
    }

    /// Takes the first call out of the queue.
    fn end_call(&mut self, call: &Call, done: bool) {
        self.caller = None;
        if !done {
            lost::mark_failed(&call.out, call.extension.name());
        }
        // until the remaining instructions have slots in a new batch, all of them count as running
        let _running = self.heap.runs(self.batch.epoch);
        let mut rest = self.next_batch();
        self.batch.call_ended(&mut rest);
        self.batch = rest;
    }

    /// Adds a report of a call that has run, if flushes are inspected or traced.
    fn report_call(&mut self, call: &Call, reason: Reason, nanoseconds: u64) {
        if self.inspector.is_none() && !self.config.trace {
            return;
        }
        let bytes = call.ins.iter().chain([&call.out]).map(|view| view.size() as u64 * view.dtype.size() as u64).sum();
        let report = FlushReport::of_call(reason, call.extension.name(), bytes, nanoseconds);
        if self.config.trace {
            report.trace();
        }
        if let Some(reports) = &mut self.inspector {
            reports.push(report);
        }
    }

    /// Runs what a method has recorded, while its call is at the head of the queue.
    fn flush_beside(&mut self, reason: Reason) -> Result<()> {
        let mut beside = self.next_batch();
        let mut rest = self.next_batch();
        self.batch.split_independent(&mut beside, &mut rest);
        self.batch = beside;
        let result = self.flush_as(reason, Retry::All, None);
        let mut whole = self.next_batch();
        rest.split(0, &mut whole);
        // operations of it that got no memory are independent of the waiting ones, and come after them
        std::mem::replace(&mut self.batch, whole).append_to(&mut self.batch);
        result
    }

    /// An empty batch of a new epoch.
    fn next_batch(&self) -> Box<Batch> {
        let epoch = self.heap.epoch.fetch_add(1, Ordering::Release) + 1;
        Box::new(Batch::new(&self.heap, epoch))
    }
}
