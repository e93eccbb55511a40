//! The bases of one run: those that were recorded, and those that passes added.

use super::{ReadyPlan, step_bases, written_bases};
use crate::engine::{Buffer, Operand};
use crate::heap::base::BaseRef;
use crate::heap::cell::{BaseCell, note};
use crate::heap::shared::Shared;
use crate::operands::argument_buffers;
use numelt_ir::{Error, Result, View};
use numelt_opt::{KernelStep, Plan, Step};
use smallvec::SmallVec;

/// The bases of one run. Those that passes added are freed with it, also if the run fails.
pub(crate) struct Memory<'a> {
    slots: &'a [Shared<BaseCell>],
    /// The bases that passes added, after the slots.
    added: Vec<Shared<BaseCell>>,
}

impl<'a> Memory<'a> {
    pub fn new(plan: &ReadyPlan, slots: &'a [Shared<BaseCell>]) -> Memory<'a> {
        let new = |nbytes| BaseRef::new(&slots[0].heap, nbytes).into_shared();
        let added = plan.plan.program.bases[slots.len()..].iter().map(|base| new(base.nbytes)).collect();
        Memory { slots, added }
    }

    /// A base by its number in the plan.
    #[inline]
    pub fn cell(&self, base: u32) -> &Shared<BaseCell> {
        self.slots.get(base as usize).unwrap_or_else(|| &self.added[base as usize - self.slots.len()])
    }

    /// The recorded bases, by number.
    pub fn recorded(&self) -> impl Iterator<Item = &Shared<BaseCell>> {
        self.slots.iter()
    }

    /// Gives memory on the host to those of some bases that have no value. If one of them gets none, nor do the others.
    ///
    /// # Errors
    /// The base that got no memory, and the error.
    pub fn alloc(&self, bases: &[u32]) -> std::result::Result<(), (u32, Error)> {
        let mut fresh: SmallVec<[&Shared<BaseCell>; 2]> = SmallVec::new();
        for &base in bases {
            let cell = self.cell(base);
            if cell.has_value() {
                continue;
            }
            if let Err(error) = cell.provide() {
                fresh.iter().for_each(|cell| cell.release());
                return Err((base, error));
            }
            fresh.push(cell);
        }
        Ok(())
    }

    /// The bases that passes added.
    pub fn into_cells(self) -> Vec<Shared<BaseCell>> {
        self.added
    }

    /// Allocates memory for a recorded base without a value. Returns whether all of it is zero already.
    pub fn provide_zeroed(&self, base: u32) -> Result<bool> {
        match self.slots.get(base as usize) {
            Some(cell) if !cell.has_value() => cell.provide_zeroed(),
            Some(_) | None => Ok(false),
        }
    }

    /// Releases a base's value if only this run holds the base.
    pub fn free(&self, base: u32) {
        let cell = self.cell(base);
        // the count cannot rise again, because references are only made from references
        if cell.count() == 1 {
            cell.release();
        }
    }

    /// Copies everything that a step uses to the host, and discards the copies on devices of what it writes.
    pub fn move_to_host(&self, plan: &Plan, step: &Step) -> Result<()> {
        step_bases(plan, step).into_iter().try_for_each(|base| self.cell(base).copy_to_host())?;
        written_bases(plan, step).into_iter().for_each(|base| self.cell(base).touch());
        Ok(())
    }

    /// Copies everything that is visible outside, and may be written there, to the host, and discards the copies on
    /// devices.
    pub fn move_visible_to_host(&self) -> Result<()> {
        // values of bases with an anchor return there at the end of the flush
        let is_seen =
            |cell: &&Shared<BaseCell>| cell.has(note::COPIES) && cell.is_visible() && !cell.has(note::ANCHORED);
        let seen = self.slots.iter().filter(is_seen);
        let mut result = Ok(());
        for cell in seen {
            result = result.and(cell.copy_to_host());
            cell.touch();
        }
        result
    }

    fn buffer(&self, base: u32) -> Buffer {
        Buffer::at(self.cell(base).host_address())
    }

    /// The positions of a kernel's arguments on the host.
    pub fn buffers(&self, step: &KernelStep) -> SmallVec<[Buffer; 16]> {
        argument_buffers(step, |base| self.buffer(base))
    }

    /// A view on the host.
    pub fn operand<'v>(&self, view: &'v View) -> Operand<'v> {
        Operand { view, buffer: self.buffer(view.base).moved(view.offset) }
    }
}
