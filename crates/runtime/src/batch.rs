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
        if let Some(slot) = base.0.slot_in(self.epoch) {
            return slot;
        }
        let slot = self.slots.len() as BaseId;
        base.0.set_slot(self.epoch, slot);
        self.slots.push(Arc::clone(&base.0));
        slot
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
        self.hash.instr(&instr);
        self.work += instr.domain().iter().product::<i64>() as u64;
        self.program.instrs.push(instr);
        Ok(visible)
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
