//! Literals of scans become memory: engines get materialized operands for everything they
//! are called for, and a scan's input is one of those.

use super::temporary_like;
use numelt_ir::{Axes, Dims, Instr, Op, OpKind, Operand, Program, View};
use smallvec::smallvec;

pub(crate) fn run(program: &mut Program) {
    let literal = |i: &Instr| i.op.kind() == OpKind::Scan && i.ins.iter().any(|o| matches!(o, Operand::Const(_)));
    if !program.instrs.iter().any(literal) {
        return;
    }
    for mut instr in std::mem::take(&mut program.instrs) {
        if literal(&instr)
            && let Some(Operand::Const(id)) = instr.ins.first().cloned()
        {
            let dtype = program.consts[id as usize].dtype();
            let one = View { dtype, shape: Dims::new(), strides: Dims::new(), ..instr.out.clone() };
            let out = temporary_like(program, &one);
            let wide = out.broadcast_to(&instr.out.shape).expect("a scalar fits every shape");
            let ins = smallvec![Operand::Const(id)];
            program.instrs.push(Instr { op: Op::Copy, ty: dtype, out, ins, axes: Axes::default() });
            instr.ins[0] = Operand::View(wide);
        }
        program.instrs.push(instr);
    }
}
