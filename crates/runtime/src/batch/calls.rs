//! Calls of extension methods in the queue.
//!
//! A call is not an instruction. It has a position among the instructions: a flush cuts the batch at the first call,
//! runs what is before it, runs the call, and continues. The bases that a call uses have slots in the batch like those
//! of instructions, so that they count as pending.

use super::{Batch, slot};
use crate::extension::Extension;
use crate::heap::base::ArrayView;
use numelt_ir::Instr;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A recorded call of an extension method.
#[derive(Clone)]
pub(crate) struct Call {
    pub extension: Arc<dyn Extension>,
    pub out: ArrayView,
    pub ins: Vec<ArrayView>,
}

/// A call and its position in a batch.
pub(super) struct QueuedCall {
    /// The number of instructions of the batch that come before it.
    at: usize,
    call: Call,
    /// If it is running, the number of instructions that had been recorded when it began.
    began: Option<usize>,
}

/// The calls of a batch, in order.
#[derive(Default)]
pub(super) struct QueuedCalls(Vec<QueuedCall>);

impl QueuedCalls {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adjusts the calls after instructions have been put before all others.
    pub fn moved_by(&mut self, count: usize) {
        for queued in &mut self.0 {
            queued.at += count;
            queued.began = queued.began.map(|began| began + count);
        }
    }

    /// Adjusts the calls after all instructions but those with these numbers, in ascending order, have been removed.
    pub fn keep(&mut self, kept: &[usize]) {
        let before = |at: usize| kept.iter().take_while(|&&number| number < at).count();
        for queued in &mut self.0 {
            queued.at = before(queued.at);
            queued.began = queued.began.map(before);
        }
    }

    /// The views that the calls use.
    pub fn views(&self) -> impl Iterator<Item = &ArrayView> {
        self.0.iter().flat_map(|queued| queued.call.ins.iter().chain([&queued.call.out]))
    }

    /// The views that the calls write.
    pub fn outs(&self) -> impl Iterator<Item = &ArrayView> {
        self.0.iter().map(|queued| &queued.call.out)
    }

    /// Takes the calls out that come after the first `at` instructions.
    fn from(&mut self, at: usize) -> QueuedCalls {
        let first = self.0.partition_point(|queued| queued.at < at);
        let mut taken = QueuedCalls(self.0.split_off(first));
        for queued in &mut taken.0 {
            queued.at -= at;
            queued.began = queued.began.map(|began| began - at);
        }
        taken
    }
}

impl Batch {
    /// Appends a call.
    pub fn push_call(&mut self, call: Call) {
        self.stop_following();
        let queued = QueuedCall { at: self.len(), call, began: None };
        self.calls.0.push(queued);
        self.enter_calls();
    }

    /// Gives the bases of the calls slots in this batch.
    pub(super) fn enter_calls(&mut self) {
        let Batch { calls, slots, epoch, .. } = self;
        for view in calls.views() {
            slot(slots, *epoch, &view.base.0);
        }
        calls.outs().for_each(|out| out.base.0.set_written(*epoch));
    }

    /// How many instructions come before the first call; `None` without any.
    pub fn first_call(&self) -> Option<usize> {
        self.calls.0.first().map(|queued| queued.at)
    }

    /// The call that comes before all instructions, if it is not running yet.
    pub fn next_call(&self) -> Option<&Call> {
        self.calls.0.first().filter(|queued| queued.at == 0 && queued.began.is_none()).map(|queued| &queued.call)
    }

    /// Marks the first call as running.
    pub fn call_begins(&mut self) {
        self.stop_following();
        let len = self.len();
        if let Some(queued) = self.calls.0.first_mut() {
            queued.began = Some(len);
        }
    }

    /// Makes a batch of everything after the first call, which has ended.
    pub fn call_ended(&mut self, rest: &mut Batch) {
        if !self.calls.0.is_empty() {
            self.calls.0.remove(0);
        }
        self.split(0, rest);
    }

    /// Appends everything to another batch. The positions of the instructions in the program are forgotten.
    pub fn append_to(&mut self, other: &mut Batch) {
        self.stop_following();
        self.positions.clear();
        self.split(0, other);
    }

    /// Forgets that the first call is running. Called in a forked child, which does not have the thread that runs it.
    pub fn forget_call(&mut self) {
        self.calls.0.iter_mut().for_each(|queued| queued.began = None);
    }

    /// Moves the calls after the first `at` instructions to `tail`.
    pub(super) fn split_calls(&mut self, at: usize, tail: &mut Batch) {
        tail.calls.0.extend(self.calls.from(at).0);
        tail.enter_calls();
    }

    /// Moves to `beside` the instructions recorded since the first call began that use nothing that stays: they may
    /// run before the call has ended. Everything that stays is moved to `rest`.
    pub fn split_independent(&mut self, beside: &mut Batch, rest: &mut Batch) {
        let began = self.calls.0.first().and_then(|queued| queued.began).unwrap_or(0);
        let (instrs, consts, slots) = self.take_all();
        let (mut written, mut used) = (FxHashSet::default(), FxHashSet::default());
        written.extend(self.calls.outs().map(|view| view.base.0.id()));
        used.extend(self.calls.views().map(|view| view.base.0.id()));
        let (mut own, mut others) = (super::remaining::Numbers::default(), super::remaining::Numbers::default());
        let mut kept = Vec::new();
        let id = |base: u32| slots[base as usize].id();
        let depends = |instr: &Instr, written: &FxHashSet<usize>, used: &FxHashSet<usize>| {
            used.contains(&id(instr.out.base)) || instr.reads().any(|view| written.contains(&id(view.base)))
        };
        for (at, instr) in instrs.into_iter().enumerate() {
            if at >= began && !depends(&instr, &written, &used) {
                beside.append_renumbered(instr, &consts, &slots, &mut others);
                continue;
            }
            used.extend(instr.reads().chain([&instr.out]).map(|view| id(view.base)));
            written.insert(id(instr.out.base));
            kept.push(at);
            rest.append_renumbered(instr, &consts, &slots, &mut own);
        }
        rest.positions.extend(
            self.positions
                .drain(..)
                .filter_map(|(at, place)| kept.binary_search(&(at as usize)).ok().map(|number| (number as u32, place))),
        );
        rest.remaining = std::mem::take(&mut self.remaining);
        rest.calls = std::mem::take(&mut self.calls);
        rest.calls.keep(&kept);
        rest.enter_calls();
    }
}
