//! Where in the user's program a batch's instructions were recorded, for warnings and explanations to name.
//!
//! Places are asked for only until the batch is seen to repeat a plan from the place that the
//! plan's program began at: its instructions are taken to come from where they came then.

use super::{Batch, Followed};
use crate::exec::ReadyPlan;
use crate::report::Warning;
use numelt_ir::{Instr, Op};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Instructions by number, and the front end's number of the place of each.
pub(crate) type Places = Vec<(u32, u32)>;

/// Are a plan's places those of the batch that follows it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing was asked for so far.
    Open,
    Yes,
    No,
}

impl Followed {
    /// Are the places of another plan to be trusted, whose program starts like that of this one, which was? If not, what is
    /// known goes to `places`.
    pub(super) fn trusted_in(&self, other: &ReadyPlan, places: &mut Places) -> Trust {
        let own = self.plan.places.lock().unwrap_or_else(PoisonError::into_inner);
        if other.places.lock().unwrap_or_else(PoisonError::into_inner).first() == own.first() {
            return Trust::Yes;
        }
        places.extend(own.iter().filter(|(at, _)| (*at as usize) < self.done));
        Trust::No
    }
}

impl Batch {
    /// Has the batch to know the place of what is recorded?
    #[inline]
    pub(super) fn asks(&self) -> bool {
        self.followed.as_ref().is_none_or(|followed| followed.trust != Trust::Yes)
    }

    /// Asks for the place of the instruction that was just recorded.
    #[inline]
    pub(super) fn ask(&self) {
        self.heap.asked.store(if self.asks() { self.len() as u32 } else { 0 }, Ordering::Relaxed);
    }

    /// Takes the place that the heap's `asked` asked for.
    pub fn came_from(&mut self, asked: u32, place: u32) {
        let came = (asked - 1, place);
        if let Some(followed) = self.followed.as_mut().filter(|followed| followed.trust == Trust::Open) {
            let known = followed.plan.places.lock().unwrap_or_else(PoisonError::into_inner).first() == Some(&came);
            followed.trust = if known { Trust::Yes } else { Trust::No };
            if known {
                return;
            }
        }
        if self.asks() {
            self.places.push(came);
        }
    }

    /// Keeps what is known of the first `done` instructions of a plan that the batch followed.
    pub(super) fn keep_places(&mut self, plan: &ReadyPlan, done: usize) {
        let places = plan.places.lock().unwrap_or_else(PoisonError::into_inner);
        self.places.extend(places.iter().filter(|(at, _)| (*at as usize) < done));
    }

    /// Notes for the batches that repeat a plan's program where this one's instructions came from.
    pub fn tell_places(&mut self, plan: &Arc<ReadyPlan>) {
        if !self.places.is_empty() {
            *plan.places.lock().unwrap_or_else(PoisonError::into_inner) = self.places.clone();
        }
    }

    /// The front end's number of the place of each instruction, [`Warning::NOWHERE`] where it is not known.
    pub fn known_places(&self) -> Vec<u32> {
        let mut known = vec![Warning::NOWHERE; self.len()];
        let followed = self.followed.as_ref().filter(|followed| followed.trust == Trust::Yes);
        let trusted = followed.map(|f| f.plan.places.lock().unwrap_or_else(PoisonError::into_inner).clone());
        for &(at, place) in trusted.iter().flatten().chain(&self.places) {
            if let Some(slot) = known.get_mut(at as usize) {
                *slot = place;
            }
        }
        known
    }

    /// Gives the places of warnings, which hold bases so far, and puts them into the program's order.
    pub fn place(&self, warnings: &mut [Warning]) {
        let trusted = self.followed.as_ref().filter(|followed| followed.trust == Trust::Yes);
        let known = trusted.map(|f| f.plan.places.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let places = known.as_ref().unwrap_or(&self.places);
        let mut found: Vec<(u32, Warning)> = warnings.iter().map(|warning| self.placed(places, warning)).collect();
        found.sort_by_key(|(at, _)| *at);
        warnings.iter_mut().zip(found).for_each(|(warning, (_, placed))| *warning = placed);
    }

    /// A warning with its place, and the instruction that it is of.
    fn placed(&self, places: &Places, warning: &Warning) -> (u32, Warning) {
        let is = |(at, _): &&(u32, u32), base: bool| {
            let meant = |i: Instr| could_warn(&i) && i.op == warning.op && (!base || i.out.base == warning.place);
            self.instr(*at as usize).is_some_and(meant)
        };
        let found = places.iter().find(|p| is(p, true)).or_else(|| places.iter().find(|p| is(p, false)));
        let known = found.filter(|_| warning.place != Warning::NOWHERE).copied();
        let (at, place) = known.unwrap_or((u32::MAX, Warning::NOWHERE));
        (at, Warning { place, ..*warning })
    }
}

/// Could this instruction warn? What a conversion may report is not looked into.
fn could_warn(instr: &Instr) -> bool {
    instr.watch != 0 && (instr.op == Op::Copy || instr.watch & instr.op.raises(instr.ty) != 0)
}
