//! The queue: the batch of instructions recorded since the last flush.
//!
//! A batch is a bytecode program over the bases it meets, numbered in order of appearance, with a
//! running hash, so that a loop's next iteration is recognised without another pass over it.

use crate::base::{ArrayView, BaseCell, BaseRef, Input, MAX_SLOTS};
use numelt_ir::{Axes, Base, BaseId, Dims, Error, Instr, Op, OpKind, Operand, Program, Result, View, warn};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Conditions that operations recorded from now on report (see [`numelt_ir::warn`]). A front end whose
/// settings differ between threads sets it before it records.
pub static WATCH: AtomicU8 = AtomicU8::new(warn::DEFAULT);

pub(crate) struct Batch {
    pub epoch: u64,
    pub program: Program,
    /// The base of each slot; one share of it is held here.
    pub slots: Vec<Arc<BaseCell>>,
    /// Element-operations recorded.
    pub work: u64,
    hash: Words,
}

impl Batch {
    pub fn new(epoch: u64) -> Batch {
        Batch { epoch, program: Program::default(), slots: Vec::new(), work: 0, hash: Words::default() }
    }

    /// Empties it for batch `epoch`; its room stays, so that a loop's batches do not allocate.
    pub fn restart(&mut self, epoch: u64) {
        self.program.instrs.clear();
        self.program.consts.clear();
        self.slots.clear();
        self.epoch = epoch;
        self.work = 0;
        self.hash = Words::default();
    }

    pub fn is_empty(&self) -> bool {
        self.program.instrs.is_empty()
    }

    /// No room for the bases of another instruction?
    pub fn is_full(&self) -> bool {
        self.slots.len() + 4 > MAX_SLOTS
    }

    fn slot(&mut self, base: &BaseRef) -> BaseId {
        self.slot_of(&base.0)
    }

    fn slot_of(&mut self, cell: &Arc<BaseCell>) -> BaseId {
        if let Some(slot) = cell.slot_in(self.epoch) {
            return slot;
        }
        let slot = self.slots.len() as BaseId;
        cell.set_slot(self.epoch, slot);
        self.slots.push(Arc::clone(cell));
        slot
    }

    fn append(&mut self, instr: Instr) {
        self.hash.instr(&instr);
        self.work += instr.domain().iter().product::<i64>() as u64;
        self.program.instrs.push(instr);
    }

    /// Appends one instruction; true when it touches memory that is visible outside.
    pub fn push(
        &mut self,
        op: Op,
        ty: numelt_ir::DType,
        out: &ArrayView,
        ins: &[Input<'_>],
        axes: Axes,
    ) -> Result<bool> {
        let broadcast = |place: usize| match op.kind() {
            OpKind::Elementwise | OpKind::Generator => true,
            OpKind::Gather => place == 1,
            OpKind::Reduction | OpKind::Scan | OpKind::Library => false,
        };
        let mut visible = out.base.is_visible();
        let mut operands: SmallVec<[Operand; 3]> = SmallVec::new();
        for (place, input) in ins.iter().enumerate() {
            operands.push(match input {
                Input::Array(array) => {
                    visible |= array.base.is_visible();
                    let slot = self.slot(&array.base);
                    Operand::View(if broadcast(place) { stretch(array, slot, &out.shape)? } else { array.to_ir(slot) })
                }
                Input::Const(value) => {
                    self.program.consts.push(*value);
                    Operand::Const(self.program.consts.len() as u32 - 1)
                }
            });
        }
        let slot = self.slot(&out.base);
        let instr = Instr { op, ty, out: out.to_ir(slot), ins: operands, axes, watch: WATCH.load(Ordering::Relaxed) };
        self.append(instr);
        Ok(visible)
    }

    /// Where to cut a batch that has grown too long: in its last quarter, where least memory is needed that the
    /// instructions before made. That is between two turns of a loop, where there is one, so that every piece of the
    /// loop is the same program.
    pub fn best_cut(&self) -> usize {
        let len = self.program.instrs.len();
        let mut life: Vec<Option<(usize, usize)>> = vec![None; self.slots.len()];
        for (at, instr) in self.program.instrs.iter().enumerate() {
            let made = &mut life[instr.out.base as usize];
            made.get_or_insert((at, at));
            for view in instr.reads().chain([&instr.out]) {
                if let Some(life) = &mut life[view.base as usize] {
                    life.1 = at;
                }
            }
        }
        let mut change = vec![0i64; len + 2];
        for (cell, life) in self.slots.iter().zip(&life) {
            let Some((first, last)) = life.filter(|_| cell.address().is_null()) else { continue };
            change[first + 1] += cell.nbytes as i64;
            // what somebody holds stays
            if Arc::strong_count(cell) == 1 {
                change[last + 1] -= cell.nbytes as i64;
            }
        }
        let (mut alive, mut best) = (0, (i64::MAX, len));
        for (at, change) in change[..=len].iter().enumerate() {
            alive += change;
            if at >= len - len / 4 && alive <= best.0 {
                best = (alive, at);
            }
        }
        best.1
    }

    /// Takes the instructions from number `at` on out, into an empty batch.
    pub fn split(&mut self, at: usize, tail: &mut Batch) {
        for mut instr in self.program.instrs.drain(at..) {
            for operand in &mut instr.ins {
                match operand {
                    Operand::View(view) => view.base = tail.slot_of(&self.slots[view.base as usize]),
                    Operand::Const(id) => {
                        tail.program.consts.push(self.program.consts[*id as usize]);
                        *id = tail.program.consts.len() as u32 - 1;
                    }
                }
            }
            instr.out.base = tail.slot_of(&self.slots[instr.out.base as usize]);
            tail.append(instr);
        }
        let used = |operand: &Operand| if let Operand::Const(id) = operand { Some(*id as usize + 1) } else { None };
        let consts = self.program.instrs.iter().flat_map(|i| i.ins.iter().filter_map(used)).max().unwrap_or(0);
        self.program.consts.truncate(consts);
        // bases in order of appearance: those of the instructions that are left come first
        let bases = self.program.instrs.iter().flat_map(|i| i.reads().chain([&i.out]).map(|v| v.base as usize + 1));
        self.slots.truncate(bases.max().unwrap_or(0));
        self.hash = Words::default();
        self.program.instrs.iter().for_each(|instr| self.hash.instr(instr));
    }

    /// Bytes with memory that only this batch keeps.
    pub fn held(&self) -> u64 {
        let alone = |cell: &&Arc<BaseCell>| Arc::strong_count(cell) == 1 && !cell.address().is_null();
        self.slots.iter().filter(alone).map(|cell| cell.nbytes as u64).sum()
    }

    /// Fills in the bases as they are now: which hold values, which somebody still holds.
    pub fn settle(&mut self) {
        let base = |cell: &Arc<BaseCell>| Base {
            nbytes: cell.nbytes,
            input: !cell.address().is_null(),
            output: Arc::strong_count(cell) > 1 || cell.is_visible(),
        };
        self.program.bases.clear();
        self.program.bases.extend(self.slots.iter().map(base));
    }

    /// Hash of the settled program without the values of literals.
    pub fn key(&self) -> u64 {
        let mut hash = self.hash;
        for base in &self.program.bases {
            hash.word((base.nbytes as u64) << 2 | u64::from(base.input) << 1 | u64::from(base.output));
        }
        hash.0
    }
}

/// A running hash of words. Only the exact cache uses it, which compares whole programs afterwards, so it
/// needs to be quick and spread well, no more.
#[derive(Default, Clone, Copy)]
struct Words(u64);

impl Words {
    #[inline]
    fn word(&mut self, word: u64) {
        // multiplication by an odd constant (the golden ratio's bits), folded so that high bits count
        let product = u128::from(self.0.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn instr(&mut self, instr: &Instr) {
        self.word(
            instr.op as u64 | (instr.ty as u64) << 16 | (instr.watch as u64) << 24 | (instr.ins.len() as u64) << 32,
        );
        self.word(instr.axes.0);
        self.view(&instr.out);
        instr.out.shape.iter().for_each(|&n| self.word(n as u64));
        for input in &instr.ins {
            match input {
                Operand::View(view) => {
                    self.view(view);
                    if view.shape != instr.out.shape {
                        view.shape.iter().for_each(|&n| self.word(n as u64));
                    }
                }
                Operand::Const(id) => self.word(u64::from(*id) | 1 << 63),
            }
        }
    }

    /// All of a view but its extents.
    #[inline]
    fn view(&mut self, view: &View) {
        self.word(u64::from(view.base) | (view.dtype as u64) << 32 | (view.shape.len() as u64) << 40);
        self.word(view.offset as u64);
        view.strides.iter().for_each(|&n| self.word(n as u64));
    }
}

/// NumPy's broadcasting of an input to the domain.
fn stretch(array: &ArrayView, slot: BaseId, domain: &Dims) -> Result<View> {
    if array.shape == *domain {
        return Ok(array.to_ir(slot));
    }
    array.to_ir(slot).broadcast_to(domain).ok_or_else(|| {
        Error::Invalid(format!("input of shape {:?} does not broadcast to {domain:?}", array.shape.as_slice()))
    })
}
