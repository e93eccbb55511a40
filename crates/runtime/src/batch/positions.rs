//! The positions in the user's program where a batch's instructions were recorded, for warnings and explanations.
//!
//! The front end numbers positions, and states the number when it is asked. It is asked only until the batch repeats a
//! plan that begins at the same position as before: the instructions are then taken to have been recorded where those
//! of the plan were.

use super::{Batch, Followed};
use crate::exec::ReadyPlan;
use crate::planned::SourcePositions;
use crate::report::Warning;
use numelt_ir::{Instr, Op};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Whether a plan's positions are taken for those of the batch that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Not decided: no position has been asked for so far.
    Open,
    Yes,
    No,
}

impl Followed {
    /// Whether the positions of another plan can be trusted, whose program starts like that of this plan, which was
    /// trusted. If not, the known positions are copied to `positions`.
    pub(super) fn trusted_in(&self, other: &ReadyPlan, positions: &mut SourcePositions) -> Trust {
        let own = self.plan.positions.lock().unwrap_or_else(PoisonError::into_inner);
        if other.positions.lock().unwrap_or_else(PoisonError::into_inner).first() == own.first() {
            return Trust::Yes;
        }
        positions.extend(own.iter().filter(|(at, _)| (*at as usize) < self.done));
        Trust::No
    }
}

impl Batch {
    /// Whether the position of the next instruction must be asked for.
    #[inline]
    pub(super) fn needs_position(&self) -> bool {
        self.followed.as_ref().is_none_or(|followed| followed.trust != Trust::Yes)
    }

    /// Asks the front end for the position of the instruction that was just recorded.
    #[inline]
    pub(super) fn request_position(&self) {
        self.heap
            .requested_position
            .store(if self.needs_position() { self.len() as u32 } else { 0 }, Ordering::Relaxed);
    }

    /// Takes the position that was asked for through the heap's `requested_position`.
    pub fn set_position(&mut self, requested: u32, position: u32) {
        let known_position = (requested - 1, position);
        if let Some(followed) = self.followed.as_mut().filter(|followed| followed.trust == Trust::Open) {
            let known =
                followed.plan.positions.lock().unwrap_or_else(PoisonError::into_inner).first() == Some(&known_position);
            followed.trust = if known { Trust::Yes } else { Trust::No };
            if known {
                return;
            }
        }
        if self.needs_position() {
            self.positions.push(known_position);
        }
    }

    /// Keeps the known positions of the first `done` instructions of a plan that the batch followed.
    pub(super) fn copy_positions(&mut self, plan: &ReadyPlan, done: usize) {
        let positions = plan.positions.lock().unwrap_or_else(PoisonError::into_inner);
        self.positions.extend(positions.iter().filter(|(at, _)| (*at as usize) < done));
    }

    /// Stores the positions with a plan, for batches that will repeat its program.
    pub fn store_positions(&mut self, plan: &Arc<ReadyPlan>) {
        if !self.positions.is_empty() {
            *plan.positions.lock().unwrap_or_else(PoisonError::into_inner) = self.positions.clone();
        }
    }

    /// The front end's number of the position of each instruction; [`Warning::NOWHERE`] if it is not known.
    pub fn known_positions(&self) -> Vec<u32> {
        let mut known = vec![Warning::NOWHERE; self.len()];
        let followed = self.followed.as_ref().filter(|followed| followed.trust == Trust::Yes);
        let trusted = followed.map(|f| f.plan.positions.lock().unwrap_or_else(PoisonError::into_inner).clone());
        for &(at, place) in trusted.iter().flatten().chain(&self.positions) {
            if let Some(slot) = known.get_mut(at as usize) {
                *slot = place;
            }
        }
        known
    }

    /// Replaces the numbers of bases in warnings by positions, and sorts the warnings into the program's order.
    pub fn locate(&self, warnings: &mut [Warning]) {
        let trusted = self.followed.as_ref().filter(|followed| followed.trust == Trust::Yes);
        let known = trusted.map(|f| f.plan.positions.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let positions = known.as_ref().unwrap_or(&self.positions);
        let mut found: Vec<(u32, Warning)> = warnings.iter().map(|warning| self.located(positions, warning)).collect();
        found.sort_by_key(|(at, _)| *at);
        warnings.iter_mut().zip(found).for_each(|(warning, (_, located))| *warning = located);
    }

    /// A warning with its position, and the number of the instruction that it concerns.
    fn located(&self, positions: &SourcePositions, warning: &Warning) -> (u32, Warning) {
        let is = |(at, _): &&(u32, u32), base: bool| {
            let meant = |i: Instr| could_warn(&i) && i.op == warning.op && (!base || i.out.base == warning.place);
            self.instr(*at as usize).is_some_and(meant)
        };
        let found = positions.iter().find(|p| is(p, true)).or_else(|| positions.iter().find(|p| is(p, false)));
        let known = found.filter(|_| warning.place != Warning::NOWHERE).copied();
        let (at, place) = known.unwrap_or((u32::MAX, Warning::NOWHERE));
        (at, Warning { place, ..*warning })
    }
}

/// Whether this instruction could warn. What a conversion may report is not considered.
fn could_warn(instr: &Instr) -> bool {
    instr.watch != 0 && (instr.op == Op::Copy || instr.watch & instr.op.raises(instr.ty) != 0)
}
