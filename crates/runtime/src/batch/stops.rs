//! Calls of extension methods in the queue.
//!
//! In: a call, which comes after the instructions recorded so far. Out: where the batch has to stop for it. A call is
//! not an instruction: a flush cuts the batch at the first call, runs what is before it, runs the call, and
//! continues. The bases that a call uses have slots in the batch like those of instructions, so that they count as
//! pending.

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

/// A call in a batch.
pub(super) struct Stop {
    /// The number of instructions of the batch that come before it.
    at: usize,
    call: Call,
    /// If it is running, the number of instructions that had been recorded when it began.
    began: Option<usize>,
}

/// The calls of a batch, in order.
#[derive(Default)]
pub(super) struct Stops(Vec<Stop>);

impl Stops {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adjusts the calls after instructions have been put before all others.
    pub fn moved_by(&mut self, count: usize) {
        for stop in &mut self.0 {
            stop.at += count;
            stop.began = stop.began.map(|began| began + count);
        }
    }

    /// Adjusts the calls after all instructions but those with these numbers, in ascending order, have been removed.
    pub fn keep(&mut self, kept: &[usize]) {
        let before = |at: usize| kept.iter().take_while(|&&number| number < at).count();
        for stop in &mut self.0 {
            stop.at = before(stop.at);
            stop.began = stop.began.map(before);
        }
    }

    /// The views that the calls use.
    pub fn views(&self) -> impl Iterator<Item = &ArrayView> {
        self.0.iter().flat_map(|stop| stop.call.ins.iter().chain([&stop.call.out]))
    }

    /// The views that the calls write.
    pub fn outs(&self) -> impl Iterator<Item = &ArrayView> {
        self.0.iter().map(|stop| &stop.call.out)
    }

    /// Takes the calls out that come after the first `at` instructions.
    fn from(&mut self, at: usize) -> Stops {
        let first = self.0.partition_point(|stop| stop.at < at);
        let mut taken = Stops(self.0.split_off(first));
        for stop in &mut taken.0 {
            stop.at -= at;
            stop.began = stop.began.map(|began| began - at);
        }
        taken
    }
}

impl Batch {
    /// Appends a call.
    pub fn push_call(&mut self, call: Call) {
        self.leave();
        let stop = Stop { at: self.len(), call, began: None };
        self.stops.0.push(stop);
        self.enter_calls();
    }

    /// Gives the bases of the calls slots in this batch.
    pub(super) fn enter_calls(&mut self) {
        let Batch { stops, slots, epoch, .. } = self;
        for view in stops.views() {
            slot(slots, *epoch, &view.base.0);
        }
        stops.outs().for_each(|out| out.base.0.set_written(*epoch));
    }

    /// How many instructions come before the first call; `None` without any.
    pub fn first_call(&self) -> Option<usize> {
        self.stops.0.first().map(|stop| stop.at)
    }

    /// The call that comes before all instructions, if it is not running yet.
    pub fn next_call(&self) -> Option<&Call> {
        self.stops.0.first().filter(|stop| stop.at == 0 && stop.began.is_none()).map(|stop| &stop.call)
    }

    /// Notes that the first call has begun.
    pub fn call_begins(&mut self) {
        self.leave();
        let len = self.len();
        if let Some(stop) = self.stops.0.first_mut() {
            stop.began = Some(len);
        }
    }

    /// Makes a batch of everything after the first call, which has ended.
    pub fn call_ended(&mut self, rest: &mut Batch) {
        if !self.stops.0.is_empty() {
            self.stops.0.remove(0);
        }
        self.split(0, rest);
    }

    /// Appends everything to another batch. The positions of the instructions in the program are forgotten.
    pub fn append_to(&mut self, other: &mut Batch) {
        self.leave();
        self.places.clear();
        self.split(0, other);
    }

    /// Forgets that the first call is running. Called in a forked child, which does not have the thread that runs it.
    pub fn forget_call(&mut self) {
        self.stops.0.iter_mut().for_each(|stop| stop.began = None);
    }

    /// Moves the calls after the first `at` instructions to `tail`.
    pub(super) fn split_calls(&mut self, at: usize, tail: &mut Batch) {
        tail.stops.0.extend(self.stops.from(at).0);
        tail.enter_calls();
    }

    /// Moves to `beside` the instructions recorded since the first call began that use nothing that stays: they may
    /// run before the call has ended. Everything that stays is moved to `rest`.
    pub fn split_independent(&mut self, beside: &mut Batch, rest: &mut Batch) {
        let began = self.stops.0.first().and_then(|stop| stop.began).unwrap_or(0);
        let (instrs, consts, slots) = self.take_all();
        let (mut written, mut used) = (FxHashSet::default(), FxHashSet::default());
        written.extend(self.stops.outs().map(|view| view.base.0.id()));
        used.extend(self.stops.views().map(|view| view.base.0.id()));
        let (mut own, mut others) = (super::left::Numbers::default(), super::left::Numbers::default());
        let mut kept = Vec::new();
        let id = |base: u32| slots[base as usize].id();
        let depends = |instr: &Instr, written: &FxHashSet<usize>, used: &FxHashSet<usize>| {
            used.contains(&id(instr.out.base)) || instr.reads().any(|view| written.contains(&id(view.base)))
        };
        for (at, instr) in instrs.into_iter().enumerate() {
            if at >= began && !depends(&instr, &written, &used) {
                beside.take_over(instr, &consts, &slots, &mut others);
                continue;
            }
            used.extend(instr.reads().chain([&instr.out]).map(|view| id(view.base)));
            written.insert(id(instr.out.base));
            kept.push(at);
            rest.take_over(instr, &consts, &slots, &mut own);
        }
        rest.places.extend(
            self.places
                .drain(..)
                .filter_map(|(at, place)| kept.binary_search(&(at as usize)).ok().map(|number| (number as u32, place))),
        );
        rest.left = std::mem::take(&mut self.left);
        rest.stops = std::mem::take(&mut self.stops);
        rest.stops.keep(&kept);
        rest.enter_calls();
    }
}
