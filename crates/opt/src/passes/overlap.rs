//! Instructions that overlap themselves get a temporary.
//!
//! An instruction reads all of its inputs before it writes. Where an input overlaps the output and is
//! not identical to it, the points of a loop nest would see each other's results; the instruction then writes a
//! fresh base, which is copied to the real output afterwards. After this pass every instruction has the
//! data-parallel property (Definition 10 of the partition problem). Results of reductions and library calls must
//! not overlap their inputs at all: a reduction is complete only after its loops.

use super::temporary_like;
use crate::access::canonical;
use crate::overlap::overlaps;
use numelt_ir::{Axes, Instr, Op, OpKind, Operand, Program};
use smallvec::smallvec;

pub(crate) fn run(program: &mut Program) {
    if !program.instrs.iter().any(overlaps_itself) {
        return;
    }
    for mut instr in std::mem::take(&mut program.instrs) {
        if !overlaps_itself(&instr) {
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

pub(crate) fn overlaps_itself(instr: &Instr) -> bool {
    let identical_is_fine = |place: usize| match instr.op.kind() {
        OpKind::Elementwise | OpKind::Generator | OpKind::Scan => true,
        // the source is read anywhere, positions where the result goes
        OpKind::Gather => place == 1,
        // a scatter works in its target
        OpKind::Library => instr.op.scatter_step().is_some() && place == 0,
        OpKind::Reduction => false,
    };
    let views = instr.ins.iter().enumerate().filter_map(|(place, operand)| match operand {
        Operand::View(view) => Some((place, view)),
        Operand::Const(_) => None,
    });
    views.filter(|(_, v)| v.base == instr.out.base).any(|(place, v)| {
        let identical = identical_is_fine(place) && (*v == instr.out || canonical(v) == canonical(&instr.out));
        !identical && overlaps(v, &instr.out)
    })
}
