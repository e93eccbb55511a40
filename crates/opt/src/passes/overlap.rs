//! Instructions whose inputs overlap their output get a temporary.
//!
//! An instruction reads all of its inputs before it writes. If an input overlaps the output and is not identical to it,
//! the points of a loop nest would see each other's results. Then the instruction writes to a new base, which is copied
//! to the real output afterwards. If all such inputs are broadcast, as the diagonal in `a /= diagonal(a)[:, None]`, the
//! inputs are copied before instead, which moves much less. After this pass every instruction has the data-parallel
//! property (Definition 10 of the partition problem). Results of reductions and library calls must not overlap their
//! inputs at all, because a reduction is complete only after its loops.

use super::temporary_like;
use crate::access::canonical;
use crate::overlap::overlaps;
use numelt_ir::{Axes, Instr, Op, OpKind, Operand, Program, View};
use smallvec::{SmallVec, smallvec};

pub(crate) fn run(program: &mut Program) {
    if !program.instrs.iter().any(overlaps_itself) {
        return;
    }
    for mut instr in std::mem::take(&mut program.instrs) {
        if !overlaps_itself(&instr) {
            program.instrs.push(instr);
            continue;
        }
        let few = few_overlapping(&instr);
        if !few.is_empty() {
            for position in few {
                let copy = copy_before(&mut instr, position, |view| temporary_like(program, view));
                program.instrs.extend(copy);
            }
            program.instrs.push(instr);
            continue;
        }
        let fresh = temporary_like(program, &instr.out);
        let out = std::mem::replace(&mut instr.out, fresh.clone());
        let ins = smallvec![Operand::View(fresh)];
        let copy = Instr { op: Op::Copy, ty: out.dtype, out, ins, axes: Axes::default(), watch: 0 };
        program.instrs.push(instr);
        program.instrs.push(copy);
    }
}

/// Whether an input overlaps the output in such a way that the instruction needs a temporary.
pub(crate) fn overlaps_itself(instr: &Instr) -> bool {
    (0..instr.ins.len()).any(|position| overlaps_at(instr, position))
}

/// Whether the input at this position overlaps the output in such a way that the instruction needs a temporary.
fn overlaps_at(instr: &Instr, position: usize) -> bool {
    let Operand::View(view) = &instr.ins[position] else { return false };
    if view.base != instr.out.base {
        return false;
    }
    let identical_is_fine = match instr.op.kind() {
        OpKind::Elementwise | OpKind::Generator | OpKind::Scan => true,
        // the source of a gather is read anywhere; its positions are read at the point that writes the result
        OpKind::Gather => position == 1,
        // a scatter writes to its target
        OpKind::Library => instr.op.scatter_step().is_some() && position == 0,
        OpKind::Reduction | OpKind::Roll => false,
    };
    let identical = identical_is_fine && (*view == instr.out || canonical(view) == canonical(&instr.out));
    !identical && overlaps(view, &instr.out)
}

/// Inputs are copied instead of the result if they have at most one element for this many of the result.
const FEWER: i64 = 8;

/// The inputs of an elementwise instruction that overlap its output, if they have few elements. They are copied before
/// the instruction, instead of the result after it.
pub(crate) fn few_overlapping(instr: &Instr) -> SmallVec<[usize; 2]> {
    if instr.op.kind() != OpKind::Elementwise {
        return SmallVec::new();
    }
    let mut positions: SmallVec<[usize; 2]> =
        (0..instr.ins.len()).filter(|&position| overlaps_at(instr, position)).collect();
    let elements = positions.iter().map(|&position| match &instr.ins[position] {
        Operand::View(view) => view.unique_size(),
        Operand::Const(_) => 0,
    });
    if elements.sum::<i64>() > instr.out.size() / FEWER {
        positions.clear();
    }
    positions
}

/// The instruction that copies the distinct elements of an input to a view that `dense` makes. The original instruction
/// reads that view from then on.
pub(crate) fn copy_before(instr: &mut Instr, position: usize, dense: impl FnOnce(&View) -> View) -> Option<Instr> {
    let Operand::View(view) = &instr.ins[position] else { return None };
    let (few, full) = (distinct(view), view.shape.clone());
    let mut fresh = dense(&few);
    let (out, ty) = (fresh.clone(), few.dtype);
    for axis in (0..full.len()).filter(|&axis| full[axis] != few.shape[axis]) {
        fresh.strides[axis] = 0;
    }
    fresh.shape = full;
    instr.ins[position] = Operand::View(fresh);
    Some(Instr { op: Op::Copy, ty, out, ins: smallvec![Operand::View(few)], axes: Axes::default(), watch: 0 })
}

/// A view without the repetition along its broadcast axes, which have extent one in the result.
fn distinct(view: &View) -> View {
    let mut few = view.clone();
    for axis in 0..few.rank() {
        if few.strides[axis] == 0 {
            few.shape[axis] = 1;
        }
    }
    few
}
