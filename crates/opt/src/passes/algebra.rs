//! Algebraic rules that keep every bit, whatever the literals are.
//!
//! A rule looks through values that were written once and are read as they were written, without a conversion. Rules
//! that could change the sign of a zero or of a NaN (`x + 0`, `(-x)**2`, `x - (-y)`) are left out on purpose, and so
//! are those that depend on a literal's value (the front end turns `x**2` into a square when it records).

use super::single::{Single, Versions, view_at};
use numelt_ir::{DType, Op, Operand, Program, View};
use smallvec::smallvec;

pub(crate) fn run(program: &mut Program) -> bool {
    if !program.instrs.iter().any(|i| may_apply(i.op)) {
        return false;
    }
    let single = Single::of(program);
    let mut versions = Versions::new(program);
    // for each instruction, the version that the base of its first operand had
    let mut then: Vec<u32> = Vec::with_capacity(program.instrs.len());
    let mut changed = false;
    for at in 0..program.instrs.len() {
        if let Some((op, operand)) = simpler(program, at, &single, &versions, &then) {
            let instr = &mut program.instrs[at];
            (instr.op, instr.ins) = (op, smallvec![Operand::View(operand)]);
            changed = true;
        }
        let instr = &program.instrs[at];
        then.push(view_at(instr, 0).map_or(0, |v| versions.of(v.base)));
        versions.written(instr.out.base);
    }
    changed
}

fn may_apply(op: Op) -> bool {
    matches!(
        op,
        Op::Positive
            | Op::Negative
            | Op::Invert
            | Op::Conjugate
            | Op::LogicalNot
            | Op::Absolute
            | Op::Maximum
            | Op::Minimum
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::Where
    )
}

/// A shorter operation with the same result, and its operands.
fn simpler(program: &Program, at: usize, single: &Single, versions: &Versions, then: &[u32]) -> Option<(Op, View)> {
    let instr = &program.instrs[at];
    if !may_apply(instr.op) {
        return None;
    }
    let ty = instr.ty;
    let first = view_at(instr, 0)?;
    match instr.op {
        Op::Positive => return plain(ty, first),
        Op::Maximum | Op::Minimum | Op::BitwiseAnd | Op::BitwiseOr => {
            return if view_at(instr, 1)? == first { plain(ty, first) } else { None };
        }
        Op::Where => {
            let (yes, no) = (view_at(instr, 1)?, view_at(instr, 2)?);
            return if yes == no { plain(ty, yes) } else { None };
        }
        _ => {}
    }
    // one value that is computed from another one
    let (from, inner) = single.producer(program, first)?;
    let source = view_at(inner, 0)?;
    let direct = inner.ty == ty && first.dtype == inner.op.output_dtype(ty) && first.dtype == ty && source.dtype == ty;
    if !direct || versions.of(source.base) != then[from] {
        return None;
    }
    match (instr.op, inner.op) {
        (Op::Negative, Op::Negative) | (Op::Invert, Op::Invert) | (Op::Conjugate, Op::Conjugate) => plain(ty, source),
        (Op::LogicalNot, Op::LogicalNot) if ty == DType::Bool => plain(ty, source),
        (Op::Absolute, Op::Absolute) => Some((Op::Absolute, source.clone())),
        // negating an unsigned number gives a different number
        (Op::Absolute, Op::Negative) if ty.is_float() => Some((Op::Absolute, source.clone())),
        _ => None,
    }
}

fn plain(ty: DType, view: &View) -> Option<(Op, View)> {
    (view.dtype == ty).then(|| (Op::Copy, view.clone()))
}
