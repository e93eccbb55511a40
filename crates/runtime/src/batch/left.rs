//! Instructions that got no memory stay in the queue, before all that is recorded later.
//!
//! In: a batch that has run as far as memory went, and what is left of it. Out: the next batch, which begins with that: it is
//! tried again whenever the queue runs, and dropped where nobody holds the results any more. What is handed out to be written, or can be
//! seen outside, is not kept as it was for them: then they are lost for good (`lost.rs`).

use super::{Batch, Words};
use crate::base::BaseCell;
use crate::lost;
use crate::shared::Shared;
use numelt_ir::{Instr, Operand, Scalar};
use rustc_hash::FxHashMap;

/// The numbers that bases have got in a batch, by their identity.
type Numbers = FxHashMap<usize, u32>;

impl Batch {
    /// How many of the instructions, the first ones, have been tried and got no memory.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Puts instructions over these bases and literals before those that are here.
    pub fn put_first(&mut self, instrs: Vec<Instr>, consts: &[Scalar], slots: &[Shared<BaseCell>]) {
        let touches = |instr: &Instr, test: fn(&BaseCell) -> bool| {
            instr.reads().chain([&instr.out]).any(|view| test(&slots[view.base as usize]))
        };
        let (seen, kept): (Vec<Instr>, Vec<Instr>) =
            instrs.into_iter().partition(|instr| touches(instr, BaseCell::is_visible));
        for instr in &seen {
            lost::mark(&slots[instr.out.base as usize], &seen, instr.out.base);
        }
        let (own, own_consts, own_slots) = self.take_all();
        let (mut numbers, count) = (Numbers::default(), kept.len());
        kept.into_iter().for_each(|instr| self.take_over(instr, consts, slots, &mut numbers));
        own.into_iter().for_each(|instr| self.take_over(instr, &own_consts, &own_slots, &mut numbers));
        self.places.iter_mut().for_each(|place| place.0 += count as u32);
        self.left += count;
    }

    /// Gives up the instructions without memory that read a base which is about to be written by other means than recorded work.
    pub fn give_up_readers(&mut self, base: &BaseCell) {
        let Some(slot) = base.slot_in(self.epoch) else { return };
        let (instrs, consts, slots) = self.take_all();
        let reads = |instr: &Instr| instr.reads().any(|view| view.base == slot);
        let mut numbers = Numbers::default();
        let (mut left, mut places) = (0, Vec::new());
        for (at, instr) in instrs.iter().enumerate() {
            if at < self.left && reads(instr) {
                let out = &slots[instr.out.base as usize];
                lost::mark(out, &instrs, instr.out.base);
                out.set_written(0);
                continue;
            }
            left += usize::from(at < self.left);
            let place = self.places.iter().find(|place| place.0 == at as u32);
            places.extend(place.map(|place| (self.program.instrs.len() as u32, place.1)));
            self.take_over(instr.clone(), &consts, &slots, &mut numbers);
        }
        (self.left, self.places) = (left, places);
        // what is in no instruction any more is not pending
        slots.iter().filter(|cell| !numbers.contains_key(&cell.id())).for_each(|cell| cell.set_slot(0, 0));
    }

    /// Takes everything out; the bases stay pending, so that no other thread sees them otherwise meanwhile.
    fn take_all(&mut self) -> (Vec<Instr>, Vec<Scalar>, Vec<Shared<BaseCell>>) {
        self.leave();
        (self.work, self.hash) = (0, Words::default());
        self.asked.clear();
        let program = std::mem::take(&mut self.program);
        (program.instrs, program.consts, std::mem::take(&mut self.slots))
    }

    /// Appends an instruction over other bases and literals.
    fn take_over(
        &mut self,
        mut instr: Instr,
        consts: &[Scalar],
        slots: &[Shared<BaseCell>],
        numbers: &mut Numbers,
    ) {
        for operand in &mut instr.ins {
            match operand {
                Operand::View(view) => view.base = self.number(&slots[view.base as usize], numbers),
                Operand::Const(id) => {
                    self.program.consts.push(consts[*id as usize]);
                    *id = self.program.consts.len() as u32 - 1;
                }
            }
        }
        let target = &slots[instr.out.base as usize];
        instr.out.base = self.number(target, numbers);
        target.set_written(self.epoch);
        self.append(instr);
    }

    fn number(&mut self, cell: &Shared<BaseCell>, numbers: &mut Numbers) -> u32 {
        *numbers.entry(cell.id()).or_insert_with(|| {
            let slot = self.slots.len() as u32;
            cell.set_slot(self.epoch, slot);
            self.slots.push(cell.clone());
            slot
        })
    }
}
