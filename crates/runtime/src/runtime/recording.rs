//! Recording: an operation is appended to the batch, or runs at once.
//!
//! If a flush is needed afterwards, the caller gets the reason and flushes itself, because it may have to release a
//! lock of its own.

use super::{Runtime, State};
use crate::at_once::{self, Outcome};
use crate::batch::Retry;
use crate::engine::{Buffer, LibraryCall, Operand, Work, run};
use crate::heap::base::{ArrayView, BaseRef, Input};
use crate::heap::cell::note;
use crate::stats::Reason;
use numelt_ir::{Axes, DType, Error, Op, Result, View};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// A batch of less work than this is cut where it was cut before, while recording. For longer batches, other threads
/// should be allowed to run during the flush, which recording cannot do; the cost of cutting does not matter for
/// them.
const CUT_AT_ONCE: u64 = 1 << 22;

impl Runtime {
    /// Appends an instruction, or runs it at once if it has few elements. `Some(reason)` asks the caller to flush
    /// now.
    ///
    /// # Errors
    /// [`numelt_ir::Error::Invalid`] if an input does not broadcast, or two indices of the output share a byte;
    /// nothing is recorded then.
    pub fn record(&self, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>], axes: Axes) -> Result<Option<Reason>> {
        // SAFETY: `alone` is false, so the call has no conditions.
        unsafe { self.record_in(&mut self.lock(), (op, ty, axes), out, ins, false) }
    }

    /// [`Runtime::record`] for front ends of which one thread runs at a time. It does not take the runtime's lock.
    /// `alone` says that only the caller has a reference to the output's base.
    ///
    /// # Errors
    /// Those of [`Runtime::record`].
    ///
    /// # Safety
    /// The caller holds a lock of its own that every thread holds while it calls the runtime, except those that
    /// have announced by [`Runtime::away`] that they do not. With `alone`, no other thread has a reference to the
    /// output's base.
    #[inline]
    pub unsafe fn record_past(
        &self,
        what: (Op, DType, Axes),
        out: &ArrayView,
        ins: &[Input<'_>],
        alone: bool,
    ) -> Result<Option<Reason>> {
        // SAFETY: the caller's contract.
        unsafe { self.record_in(&mut self.state.past(), what, out, ins, alone) }
    }

    /// # Safety
    /// With `alone`, no other thread has a reference to the output's base.
    #[inline(always)]
    unsafe fn record_in(
        &self,
        state: &mut State,
        what: (Op, DType, Axes),
        out: &ArrayView,
        ins: &[Input<'_>],
        alone: bool,
    ) -> Result<Option<Reason>> {
        // the layout of a new base's array is the front end's own and always injective
        if !alone && !out.is_injective() {
            refuse_overlap(out)?;
        }
        state.stats.instructions += 1;
        let (mut waits, mut has_tested) = (false, false);
        if self.runs_at_once() {
            let limits = (&state.chains, state.config.at_once as i64);
            match at_once::run(&*state.engine, limits, state.batch.epoch, what, out, ins)? {
                Outcome::Done(elements) => {
                    state.chains.ran(elements);
                    state.stats.at_once += 1;
                    return Ok(None);
                }
                Outcome::NeedsInstruction => return self.run_alone(state, what, out, ins),
                Outcome::Waits => waits = true,
                Outcome::Record => has_tested = state.chains.has_tested(state.batch.len(), state.batch.work),
            }
        }
        if self.heap.homes.any() {
            self.enter_home(state, out, ins);
        }
        // recording never waits: a batch that a guard blocks continues to grow
        if state.batch.is_at_cut() && state.batch.work < CUT_AT_ONCE && state.blocking_guard().is_none() {
            // The flush happens now and not after the batch's last instruction: meanwhile the statement of that
            // instruction has dropped its operands. Operations without memory stay pending, which is not an error of
            // this instruction.
            let _ = state.flush(Reason::Instructions, Retry::No);
        }
        // SAFETY: the caller's contract.
        let visible = unsafe { state.batch.push(what, out, ins, alone)? };
        self.work.store(state.batch.work, Ordering::Relaxed);
        state.batch.waiting = if waits { state.batch.waiting + 1 } else { 0 };
        Ok(if visible {
            Some(Reason::Visible)
        } else if has_tested || state.batch.waiting > at_once::WAITING || state.is_too_long(&state.batch) {
            Some(Reason::Instructions)
        } else if self.heap.held.load(Ordering::Relaxed) > state.held_budget {
            Some(Reason::Bytes)
        } else {
            None
        })
    }

    /// Runs a library call on operands that no pending work writes, to a new base, without recording it: for operands
    /// so small that recording takes longer than the call. Returns false if it was not done and has to be recorded:
    /// an operand is awaited, visible outside or still without memory, or a condition was met that must be reported.
    ///
    /// # Errors
    /// The engine's, and [`numelt_ir::Error::OutOfMemory`] for the output.
    ///
    /// # Safety
    /// That of [`Runtime::record_past`].
    pub unsafe fn call_now(
        &self,
        (op, ty, axes): (Op, DType, Axes),
        out: &ArrayView,
        ins: &[&ArrayView],
    ) -> Result<bool> {
        // SAFETY: the caller's contract.
        let mut state = unsafe { self.state.past() };
        let target = &out.base.0;
        let is_new = !target.has_value() && !target.has(note::FAILED) && !out.base.is_awaited();
        let are_there = ins.iter().all(|view| view.base.is_readable());
        if self.has_filters() || !is_new || !are_there || out.base.is_visible() {
            return Ok(false);
        }
        target.provide()?;
        let target = out.to_ir(0);
        let views: SmallVec<[View; 2]> = (1..).zip(ins).map(|(slot, view)| view.to_ir(slot)).collect();
        let operand = |view, base: &BaseRef, offset: i64| Operand {
            view,
            buffer: Buffer::at(base.0.host_address()).moved(offset),
        };
        let operands: SmallVec<[Operand<'_>; 2]> =
            views.iter().zip(ins).map(|(view, own)| operand(view, &own.base, own.offset)).collect();
        let call = LibraryCall { op, ty, axes, out: operand(&target, &out.base, out.offset), ins: &operands };
        let met = run(&*state.engine, &Work::Call(&call))?;
        state.stats.instructions += 1;
        state.stats.calls += 1;
        Ok(met & self.heap.watched() & op.raises(ty) == 0)
    }
}

/// Refuses outputs of which two indices share a byte: the order of their stores would matter, and kernels have none.
/// Front ends let NumPy write to such views.
#[cold]
fn refuse_overlap(out: &ArrayView) -> Result<()> {
    match out.to_ir(0).overlaps_itself() {
        Some(false) => Ok(()),
        Some(true) | None => {
            Err(Error::Invalid(format!("two indices of the output {} may share a byte", out.to_ir(0))))
        }
    }
}
