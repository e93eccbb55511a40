//! The instructions of a plan in the form that operations are compared with while a batch repeats the plan
//! (`batch/repeat.rs`).

use crate::packed::PackedProgram;
use numelt_ir::{Axes, Base, DType, Instr, Op, OpKind, Operand};

/// The instructions of a plan in the form that operations are compared with.
pub(crate) struct Track {
    pub steps: Box<[Step]>,
    pub windows: Box<[Read]>,
}

/// One instruction in this form.
pub(crate) struct Step {
    /// See [`head`]; [`NEVER`] for an instruction that only the general way repeats.
    pub head: u64,
    pub work: u64,
    /// For each operand the numbers of its slot and its window, or the number of the literal.
    pub ins: [(u32, u32); 2],
    pub nbytes: usize,
    pub slot: u32,
    pub dtype: DType,
    /// Whether it could warn.
    pub warns: bool,
}

/// A window from which an operand reads its base.
pub(crate) struct Read {
    /// The position of the window in the plan's packed instructions.
    pub place: u32,
    /// Whether the strides decrease from axis to axis.
    pub ordered: bool,
}

/// The head of no operation.
const NEVER: u64 = u64::MAX;

/// How many of the last windows are searched for one equal to the next.
const RECENT: usize = 8;

/// What must be the same of an operation beside its operands, in one word; `literals` says which operands are
/// literals.
#[inline(always)]
pub(crate) fn head(op: Op, ty: DType, watch: u8, literals: [bool; 2]) -> u64 {
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
    let work = work(instr);
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

/// The element-operations of an instruction.
pub(crate) fn work(instr: &Instr) -> u64 {
    let size = |shape: &[i64]| shape.iter().product::<i64>() as u64;
    match instr.ins.as_slice() {
        // elements to which no position leads are not touched
        [Operand::View(target), _, Operand::View(positions)]
            if instr.op.scatter_step().is_some() && target.base == instr.out.base =>
        {
            size(&positions.shape) * size(&instr.out.shape[1..])
        }
        _ => size(instr.domain()),
    }
}
