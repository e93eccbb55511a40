//! The fast path of a batch that repeats a known program.
//!
//! Most of what a loop records are elementwise operations on two operands whose results are new arrays in C order. They
//! are compared with the next instruction of the plan in a form ([`Track`]) that is computed when the plan is made, and
//! is so compact that a long program fits in the first-level cache. All other operations take the general way by
//! [`Batch::push`], which makes the same decisions.

use super::packed::PackedProgram;
use super::positions::Trust;
use super::{Batch, broadcasts_to, enter, has_same_window, slot};
use crate::heap::base::{BaseRef, Input};
use crate::heap::cell::{BaseCell, MAX_SLOTS};
use crate::heap::shared::Shared;
use numelt_ir::{Axes, Base, DType, Instr, Op, OpKind, Operand};

/// The instructions of a plan in the form that operations are compared with.
pub(crate) struct Track {
    steps: Box<[Step]>,
    windows: Box<[Read]>,
}

struct Step {
    /// See [`head`]; [`NEVER`] for an instruction that only the general way repeats.
    head: u64,
    work: u64,
    /// For each operand the numbers of its slot and its window, or the number of the literal.
    ins: [(u32, u32); 2],
    nbytes: usize,
    slot: u32,
    dtype: DType,
    /// Whether it could warn.
    warns: bool,
}

/// A window from which an operand reads its base.
struct Read {
    /// The position of the window in the plan's packed instructions.
    place: u32,
    /// Whether the strides decrease from axis to axis.
    ordered: bool,
}

/// The head of no operation.
const NEVER: u64 = u64::MAX;

/// How many of the last windows are searched for one equal to the next.
const RECENT: usize = 8;

/// What must be the same of an operation beside its operands, in one word; `literals` says which operands are
/// literals.
#[inline(always)]
fn head(op: Op, ty: DType, watch: u8, literals: [bool; 2]) -> u64 {
    u64::from(op as u8)
        | u64::from(ty as u8) << 8
        | u64::from(watch) << 16
        | u64::from(literals[0]) << 24
        | u64::from(literals[1]) << 25
}

/// Whether strides decrease from axis to axis, and none of them is zero or negative. Axes of extent one do not count.
/// If all operands are so, the result of an operation is an array in C order.
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
    /// The track of instructions over these bases; `packed` holds the same instructions.
    pub fn new(instrs: &[Instr], bases: &[Base], packed: &PackedProgram) -> Track {
        let (mut windows, mut entered) = (Vec::new(), 0);
        let steps = (0..).zip(instrs).map(|(at, instr)| step(instr, bases, (packed, at), &mut windows, &mut entered));
        Track { steps: steps.collect(), windows: windows.into() }
    }

    /// The element-operations of an instruction.
    #[inline]
    pub fn work(&self, at: usize) -> u64 {
        self.steps[at].work
    }
}

/// The compact form of one instruction. `entered` counts the bases that have appeared so far, which are numbered in
/// this order.
fn step(
    instr: &Instr,
    bases: &[Base],
    (packed, at): (&PackedProgram, usize),
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

/// The number of the window at a position of the packed instructions, without its base.
fn read(windows: &mut Vec<Read>, packed: &PackedProgram, place: u32) -> u32 {
    let window = packed.window(place);
    let recent = windows.len().saturating_sub(RECENT);
    let at = windows[recent..].iter().position(|read| packed.window(read.place) == window).map(|at| recent + at);
    at.unwrap_or_else(|| {
        windows.push(Read { place, ordered: in_c_order(window.shape, window.strides) });
        windows.len() - 1
    }) as u32
}

/// The result of an operation that was repeated.
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
    /// followed plan and has more than `least` elements, and nothing that it reads is visible outside. The
    /// operands have the dtypes that NumPy's operator would pass to the loop: `ty`, or they are literals.
    ///
    /// # Safety
    /// Nobody else has a reference to the cells in `cells`, and they are as good as new.
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
        // the first instruction that could warn tells at which position the batch is recorded
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
                    if read.ordered && has_same_window(array, &window) {
                        shape_of = Some(place);
                    } else if !broadcasts_to(array, &window) || !in_c_order(&array.shape, &array.strides) {
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
        // From here on the operation is recorded in any case, if not here, then by the general way; so its bases get
        // slots.
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
        // SAFETY: nobody else has a reference to the base.
        enter(&mut self.slots, self.epoch, unsafe { base.0.clone_alone() });
        base.0.set_written(self.epoch);
        for input in &ins {
            if let Input::Const(value) = input {
                self.program.consts.push(*value);
            }
        }
        followed.done += 1;
        self.work += step.work;
        self.waiting = 0;
        Some(Repeated { base, dtype: step.dtype, shape_of })
    }
}
