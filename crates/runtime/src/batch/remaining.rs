//! Instructions that got no memory. They remain in the queue, before all that is recorded later.
//!
//! The next batch begins with the remaining instructions of the last one. They are tried again when somebody reads
//! their results, and not before: NumPy would have raised an error and made no results, so they must not take memory
//! from later work. They are dropped if nobody holds the results any more. They are given up, and their results are
//! lost (`lost.rs`), when what they read is overwritten or becomes visible outside: keeping the old values would take
//! even more memory.

use super::{Batch, BatchHash};
use crate::heap::cell::BaseCell;
use crate::heap::lost;
use crate::heap::shared::Shared;
use numelt_ir::{Instr, Operand, Program, Scalar, View};
use rustc_hash::{FxHashMap, FxHashSet};

/// The slots of bases in a batch, by [`Shared::id`].
pub(super) type Numbers = FxHashMap<usize, u32>;

/// Which of the remaining instructions are to be tried again.
#[derive(Clone, Copy)]
pub(crate) enum Retry<'a> {
    /// None of them.
    No,
    /// Those that the value of this base needs.
    For(&'a Shared<BaseCell>),
    /// All of them.
    All,
}

/// What is to be done with an instruction, in a program some of whose instructions have got no memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It runs, if it gets memory.
    Run,
    /// It reads a result of an instruction that remains, so it remains too.
    Wait,
    /// It reads a base whose value is lost, so its result is lost too.
    Lost,
}

/// The instructions of a program that are not run for want of memory, as far as the program has been worked through.
pub(crate) struct Remaining {
    pub instrs: Vec<u32>,
    /// The bases that they read, and the bases that they write.
    reads: FxHashSet<u32>,
    writes: FxHashSet<u32>,
    /// The bases that will never hold the value which the program gives them.
    lost: FxHashSet<u32>,
}

impl Remaining {
    pub fn new(slots: &[Shared<BaseCell>]) -> Remaining {
        let known = if lost::ever(slots) { slots } else { &[] };
        let lost = (0..).zip(known).filter(|(_, cell)| lost::is_lost(cell)).map(|(base, _)| base).collect();
        Remaining { instrs: Vec::new(), reads: FxHashSet::default(), writes: FxHashSet::default(), lost }
    }

    /// What happens to an instruction. If it runs, the values that it overwrites are not kept for the remaining ones.
    #[inline]
    pub fn turn(&mut self, program: &Program, slots: &[Shared<BaseCell>], instr: &Instr) -> Turn {
        if self.instrs.is_empty() && self.lost.is_empty() { Turn::Run } else { self.turn_after(program, slots, instr) }
    }

    fn turn_after(&mut self, program: &Program, slots: &[Shared<BaseCell>], instr: &Instr) -> Turn {
        let out = instr.out.base;
        let whole = lost::restores(&slots[out as usize], instr);
        let needs = |bases: &FxHashSet<u32>| {
            instr.reads().any(|view| bases.contains(&view.base)) || bases.contains(&out) && !whole
        };
        if needs(&self.lost) {
            self.lost.insert(out);
            self.give_up(program, out);
            return Turn::Lost;
        }
        if needs(&self.writes) {
            return Turn::Wait;
        }
        self.give_up(program, out);
        if whole {
            self.lost.remove(&out);
        }
        Turn::Run
    }

    /// Whether one of them uses a base.
    pub fn touches(&self, base: u32) -> bool {
        self.writes.contains(&base) || self.reads.contains(&base)
    }

    /// Adds an instruction, by its number.
    pub fn add(&mut self, program: &Program, at: usize) {
        let instr = &program.instrs[at];
        self.instrs.push(at as u32);
        self.reads.extend(instr.reads().map(|view| view.base));
        self.writes.insert(instr.out.base);
    }

    /// Gives up those that use a base which is lost or about to be overwritten, and all that use their results, so
    /// that they never run on another value of the base.
    fn give_up(&mut self, program: &Program, base: u32) {
        if !self.touches(base) {
            return;
        }
        let (mut given_up, mut kept) = (FxHashSet::default(), std::mem::take(&mut self.instrs));
        loop {
            let before = kept.len();
            kept.retain(|&at| {
                let instr = &program.instrs[at as usize];
                let is_lost = |id: u32| id == base || given_up.contains(&id);
                let is_lost = is_lost(instr.out.base) || instr.reads().any(|view| is_lost(view.base));
                if is_lost {
                    given_up.insert(instr.out.base);
                }
                !is_lost
            });
            if kept.len() == before {
                break;
            }
        }
        self.lost.extend(given_up);
        self.reads.clear();
        self.writes.clear();
        kept.into_iter().for_each(|at| self.add(program, at as usize));
    }

    /// Marks the bases that are lost after the program, and unmarks those that are no longer lost.
    pub fn mark_bases(&self, instrs: &[Instr], slots: &[Shared<BaseCell>]) {
        if self.lost.is_empty() && !lost::ever(slots) {
            return;
        }
        for (base, cell) in (0..).zip(slots) {
            if self.lost.contains(&base) {
                lost::mark(cell, instrs, base);
            } else if lost::is_lost(cell) {
                lost::restored(cell);
            }
        }
    }
}

/// For each instruction of a program: whether somebody holds the base that it writes, or a later instruction needs it.
pub(crate) fn wanted_by_holders(program: &Program, slots: &[Shared<BaseCell>]) -> Vec<bool> {
    wanted(program, slots, slots.iter().map(|cell| cell.count() > 1 || cell.is_visible()).collect())
}

/// For each instruction of a program: whether its result is needed at the end, given the bases that are.
fn wanted(program: &Program, slots: &[Shared<BaseCell>], mut needed: Vec<bool>) -> Vec<bool> {
    let mut wanted = vec![false; program.instrs.len()];
    for (at, instr) in program.instrs.iter().enumerate().rev() {
        let out = instr.out.base as usize;
        wanted[at] = needed[out];
        if wanted[at] {
            if lost::restores(&slots[out], instr) {
                needed[out] = false;
            }
            instr.reads().for_each(|view| needed[view.base as usize] = true);
        }
    }
    wanted
}

impl Batch {
    /// Whether there is anything to run besides remaining instructions of earlier batches.
    pub fn has_new(&self) -> bool {
        self.len() > self.remaining
    }

    /// Takes out the remaining instructions of earlier batches that are not to be tried again, with those that need
    /// their results, and puts them into the next batch. Returns the bases whose values are given up, to be passed to
    /// [`Batch::lose`] of the next batch after this one has run.
    pub fn set_aside(&mut self, retry: Retry<'_>, next: &mut Batch) -> Vec<(Shared<BaseCell>, View)> {
        if self.remaining == 0 || matches!(retry, Retry::All) {
            return Vec::new();
        }
        let (instrs, consts, slots) = self.take_all();
        let program = Program { bases: Vec::new(), consts, instrs };
        let wanted_at_all = wanted_by_holders(&program, &slots);
        let tried = match retry {
            Retry::For(base) => wanted(&program, &slots, slots.iter().map(|cell| cell.is(base)).collect()),
            Retry::No | Retry::All => vec![false; program.instrs.len()],
        };
        let (mut left, mut kept) = (Remaining::new(&slots), Vec::new());
        for (at, instr) in program.instrs.iter().enumerate() {
            let old = at < self.remaining;
            if old && !wanted_at_all[at] {
                continue;
            }
            let stays = old && !tried[at];
            match if stays { Turn::Wait } else { left.turn(&program, &slots, instr) } {
                Turn::Run => kept.push(at),
                Turn::Wait => left.add(&program, at),
                Turn::Lost => {}
            }
        }
        self.rebuild(&program, &slots, &kept);
        let aside = left.instrs.iter().map(|&at| program.instrs[at as usize].clone()).collect();
        next.put_first(aside, &program.consts, &slots, true);
        self.release_unused(&slots, Some(next));
        let place = |base: &u32| {
            let instr = program.instrs.iter().find(|instr| instr.out.base == *base)?;
            Some((slots[*base as usize].clone(), instr.out.clone()))
        };
        left.lost.iter().filter_map(place).collect()
    }

    /// How many instructions at the beginning have been tried and got no memory.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Puts instructions over these bases and literals before the others; `left` says that they have been tried
    /// already.
    pub fn put_first(&mut self, instrs: Vec<Instr>, consts: &[Scalar], slots: &[Shared<BaseCell>], left: bool) {
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
        kept.into_iter().for_each(|instr| self.append_renumbered(instr, consts, slots, &mut numbers));
        own.into_iter().for_each(|instr| self.append_renumbered(instr, &own_consts, &own_slots, &mut numbers));
        self.positions.iter_mut().for_each(|place| place.0 += count as u32);
        self.calls.moved_by(count);
        self.enter_calls();
        self.remaining += if left { count } else { 0 };
    }

    /// Marks bases as lost whose last values were given up, each with a view of it, and gives up the remaining
    /// instructions that use them, so that these never run on another value.
    pub fn lose(&mut self, bases: &[(Shared<BaseCell>, View)]) {
        for (cell, view) in bases {
            lost::mark_view(cell, view);
            self.give_up(cell);
        }
    }

    /// Gives up the remaining instructions of earlier batches that use a base which is lost, or is about to be
    /// written by other means than recorded work.
    pub fn give_up(&mut self, base: &BaseCell) {
        let Some(slot) = base.slot_in(self.epoch).filter(|_| self.remaining > 0) else { return };
        let (instrs, consts, slots) = self.take_all();
        let program = Program { bases: Vec::new(), consts, instrs };
        let mut left = Remaining::new(&slots);
        (0..self.remaining).for_each(|at| left.add(&program, at));
        left.give_up(&program, slot);
        left.lost.iter().for_each(|&lost| lost::mark(&slots[lost as usize], &program.instrs, lost));
        let count = left.instrs.len();
        let kept: Vec<usize> =
            left.instrs.iter().map(|&at| at as usize).chain(self.remaining..program.instrs.len()).collect();
        self.rebuild(&program, &slots, &kept);
        self.remaining = count;
        self.release_unused(&slots, None);
    }

    /// Rebuilds the batch from some of the instructions that were taken out of it.
    fn rebuild(&mut self, program: &Program, slots: &[Shared<BaseCell>], kept: &[usize]) {
        let mut numbers = Numbers::default();
        let positions = std::mem::take(&mut self.positions);
        for (number, &at) in (0..).zip(kept) {
            let place = positions.iter().find(|place| place.0 == at as u32);
            self.positions.extend(place.map(|place| (number, place.1)));
            self.append_renumbered(program.instrs[at].clone(), &program.consts, slots, &mut numbers);
        }
        self.calls.keep(kept);
        self.enter_calls();
        self.remaining = 0;
    }

    /// Releases bases that were taken out and that no instruction uses, or writes, any more.
    fn release_unused(&self, slots: &[Shared<BaseCell>], next: Option<&Batch>) {
        let (mut touched, mut written) = (FxHashSet::default(), FxHashSet::default());
        for batch in [Some(self), next].into_iter().flatten() {
            touched.extend(batch.slots.iter().map(|cell| cell.id()));
            written.extend(batch.program.instrs.iter().map(|instr| batch.slots[instr.out.base as usize].id()));
            written.extend(batch.calls.outs().map(|out| out.base.0.id()));
        }
        slots.iter().filter(|cell| !written.contains(&cell.id())).for_each(|cell| cell.set_written(0));
        slots.iter().filter(|cell| !touched.contains(&cell.id())).for_each(|cell| cell.set_slot(0, 0));
    }

    /// Takes out all instructions, literals and bases. The bases stay marked as pending, so that no other thread takes
    /// them for computed meanwhile.
    pub(super) fn take_all(&mut self) -> (Vec<Instr>, Vec<Scalar>, Vec<Shared<BaseCell>>) {
        self.stop_following();
        self.edits += 1;
        (self.work, self.hash) = (0, BatchHash::default());
        self.full_reductions.clear();
        let program = std::mem::take(&mut self.program);
        (program.instrs, program.consts, std::mem::take(&mut self.slots))
    }

    /// Appends an instruction of another program, whose bases and literals get numbers in this batch.
    pub(super) fn append_renumbered(
        &mut self,
        mut instr: Instr,
        consts: &[Scalar],
        slots: &[Shared<BaseCell>],
        numbers: &mut Numbers,
    ) {
        for operand in &mut instr.ins {
            match operand {
                Operand::View(view) => view.base = self.slot_of(&slots[view.base as usize], numbers),
                Operand::Const(id) => {
                    self.program.consts.push(consts[*id as usize]);
                    *id = self.program.consts.len() as u32 - 1;
                }
            }
        }
        let target = &slots[instr.out.base as usize];
        instr.out.base = self.slot_of(target, numbers);
        target.set_written(self.epoch);
        self.append(instr);
    }

    fn slot_of(&mut self, cell: &Shared<BaseCell>, numbers: &mut Numbers) -> u32 {
        *numbers.entry(cell.id()).or_insert_with(|| {
            let slot = self.slots.len() as u32;
            cell.set_slot(self.epoch, slot);
            self.slots.push(cell.clone());
            slot
        })
    }
}
