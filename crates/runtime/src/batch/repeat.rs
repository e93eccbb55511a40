//! The quick way along a known program.
//!
//! Most of what a loop records are elementwise operations on two operands that give a new array in C order. What such an
//! instruction must meet to be repeated is worked out once, when its plan is made, and put so close together that a long
//! batch's stay in the first cache. Everything else takes the way that [`Batch::push`] knows, which decides the same.

use super::packed::Packed;
use super::places::Trust;
use super::{Batch, enter, is_stretched, lies_as, slot};
use crate::heap::base::{BaseRef, Input};
use crate::heap::cell::{BaseCell, MAX_SLOTS};
use crate::heap::shared::Shared;
use numelt_ir::{Axes, Base, DType, Instr, Op, OpKind, Operand};

/// What the instructions of a plan must meet to be repeated quickly.
pub(crate) struct Track {
    steps: Box<[Step]>,
    windows: Box<[Read]>,
}

struct Step {
    /// See [`head`]; [`NEVER`] for an instruction that is not repeated quickly.
    head: u64,
    work: u64,
    /// Of each operand its slot and window, or its number as a literal.
    ins: [(u32, u32); 2],
    nbytes: usize,
    slot: u32,
    dtype: DType,
    /// Could it warn?
    warns: bool,
}

/// What is read of a base.
struct Read {
    /// Where in the plan's instructions its window is.
    place: u32,
    /// Do strides fall from axis to axis?
    ordered: bool,
}

/// No operation has this head.
const NEVER: u64 = u64::MAX;

/// Windows among which one like the next is looked for.
const RECENT: usize = 8;

/// What is to be the same of an operation beside its operands; `literals` says which of these are.
#[inline(always)]
fn head(op: Op, ty: DType, watch: u8, literals: [bool; 2]) -> u64 {
    u64::from(op as u8)
        | u64::from(ty as u8) << 8
        | u64::from(watch) << 16
        | u64::from(literals[0]) << 24
        | u64::from(literals[1]) << 25
}

/// Do strides fall from axis to axis, none of them zero or negative? Axes of extent one do not count. An operation on
/// operands that are all so gives an array in C order.
#[inline]
pub fn in_c_order(shape: &[i64], strides: &[i64]) -> bool {
    let mut outer = i64::MAX;
    shape.iter().zip(strides).all(|(&n, &stride)| {
        let falls = n == 1 || (0 < stride && stride <= outer);
        outer = if n == 1 { outer } else { stride };
        falls
    })
}

impl Track {
    /// For instructions over these bases, which are packed as well.
    pub fn new(instrs: &[Instr], bases: &[Base], packed: &Packed) -> Track {
        let (mut windows, mut entered) = (Vec::new(), 0);
        let steps = (0..).zip(instrs).map(|(at, instr)| step(instr, bases, (packed, at), &mut windows, &mut entered));
        Track { steps: steps.collect(), windows: windows.into() }
    }

    /// Element-operations of an instruction.
    #[inline]
    pub fn work(&self, at: usize) -> u64 {
        self.steps[at].work
    }
}

/// `entered` counts the bases met so far, which are numbered as they are met.
fn step(
    instr: &Instr,
    bases: &[Base],
    (packed, at): (&Packed, usize),
    windows: &mut Vec<Read>,
    entered: &mut u32,
) -> Step {
    let work = super::work(instr);
    instr.reads().for_each(|view| *entered = (*entered).max(view.base + 1));
    let out = &instr.out;
    let base = &bases[out.base as usize];
    let (slot, dtype, nbytes) = (out.base, out.dtype, base.nbytes);
    let new = slot == *entered && !base.input;
    *entered = (*entered).max(slot + 1);
    let plain = instr.op.kind() == OpKind::Elementwise && instr.ins.len() == 2 && instr.axes == Axes::default();
    let whole = out.offset == 0 && out.is_c_contiguous() && out.nbytes() == nbytes as i64 && nbytes > 0;
    let quick = plain && new && whole && !out.shape.is_empty() && dtype == instr.op.output_dtype(instr.ty);
    let (mut ins, mut literals) = ([(0, 0); 2], [false; 2]);
    if quick {
        for (number, (operand, place)) in instr.ins.iter().zip(packed.places(at)).enumerate() {
            match operand {
                Operand::View(view) => ins[number] = (view.base, read(windows, packed, place.unwrap_or(0))),
                Operand::Const(id) => (ins[number], literals[number]) = ((*id, 0), true),
            }
        }
    }
    let head = if quick { head(instr.op, instr.ty, instr.watch, literals) } else { NEVER };
    let warns = instr.watch & instr.op.raises(instr.ty) != 0;
    Step { head, work, ins, nbytes, slot, dtype, warns }
}

/// The number of the window at a place, base aside.
fn read(windows: &mut Vec<Read>, packed: &Packed, place: u32) -> u32 {
    let window = packed.window(place);
    let recent = windows.len().saturating_sub(RECENT);
    let at = windows[recent..].iter().position(|read| packed.window(read.place) == window).map(|at| recent + at);
    at.unwrap_or_else(|| {
        windows.push(Read { place, ordered: in_c_order(window.shape, window.strides) });
        windows.len() - 1
    }) as u32
}

/// What an operation that was repeated gives.
pub struct Repeated {
    /// The base of the result.
    pub base: BaseRef,
    /// The result's dtype.
    pub dtype: DType,
    /// The operand whose shape is the result's.
    pub shape_of: usize,
}

impl Batch {
    /// Records an elementwise operation whose result is a new array in C order, if it is the next instruction of the
    /// followed plan and has more than `least` elements, and nothing it reads is visible outside. The
    /// operands are what NumPy's operator would hand to the loop: of dtype `ty`, or literals.
    ///
    /// # Safety
    /// `cells` holds cells that nobody else knows, as good as new.
    #[inline(always)]
    pub unsafe fn repeat(
        &mut self,
        (op, ty): (Op, DType),
        ins: [Input<'_>; 2],
        (least, longest): (u64, usize),
        cells: &mut Vec<Shared<BaseCell>>,
    ) -> Option<Repeated> {
        let followed = self.followed.as_mut()?;
        let track = &followed.plan.track;
        let step = track.steps.get(followed.done)?;
        let literals = [matches!(ins[0], Input::Const(_)), matches!(ins[1], Input::Const(_))];
        let known = step.head == head(op, ty, self.heap.watched(), literals);
        // the first that could warn says where the batch is recorded
        let placed = !step.warns || followed.trust == Trust::Yes;
        if !known || !placed || step.work <= least || followed.done + 1 >= longest || self.slots.len() + 4 > MAX_SLOTS {
            return None;
        }
        let mut shape_of = None;
        for (place, input) in ins.iter().enumerate() {
            let (number, window) = step.ins[place];
            match input {
                Input::Array(array) => {
                    let read = &track.windows[window as usize];
                    let window = followed.plan.recorded.window(read.place);
                    if read.ordered && lies_as(array, &window) {
                        shape_of = Some(place);
                    } else if !is_stretched(array, &window) || !in_c_order(&array.shape, &array.strides) {
                        return None;
                    }
                    if array.base.0.is_visible() {
                        return None;
                    }
                }
                Input::Const(_) if number as usize == self.program.consts.len() => {}
                Input::Const(_) => return None,
            }
        }
        let shape_of = shape_of?;
        // From here on it is sure that the operation is recorded, if not here: bases get their slots.
        for (input, &(number, _)) in ins.iter().zip(&step.ins) {
            if let Input::Array(array) = input
                && slot(&mut self.slots, self.epoch, &array.base.0) != number
            {
                return None;
            }
        }
        if self.slots.len() != step.slot as usize {
            return None;
        }
        let base = BaseRef::of(cells, &self.heap, step.nbytes);
        // SAFETY: nobody else knows the base.
        enter(&mut self.slots, self.epoch, unsafe { base.0.clone_alone() });
        base.0.set_written(self.epoch);
        for input in &ins {
            if let Input::Const(value) = input {
                self.program.consts.push(*value);
            }
        }
        followed.done += 1;
        self.work += step.work;
        Some(Repeated { base, dtype: step.dtype, shape_of })
    }
}
