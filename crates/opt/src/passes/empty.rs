//! Instructions without elements.
//!
//! Instructions without output elements are removed. Reductions that fold nothing, and products of matrices with an
//! inner extent of zero, still have results: they become fills with the operation's identity. This pass runs first, so
//! that no later pass meets an empty iteration space.

use numelt_ir::interp::cast;
use numelt_ir::{Axes, ConstId, DType, Error, Instr, Op, OpKind, Operand, Program, Result, Scalar};
use smallvec::smallvec;

pub(crate) fn run(program: &mut Program) -> Result<()> {
    if program.instrs.iter().all(|i| i.out.size() != 0 && i.reads().all(|v| v.size() != 0)) {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(program.instrs.len());
    for instr in std::mem::take(&mut program.instrs) {
        if instr.out.size() == 0 {
            continue;
        }
        if instr.reads().all(|v| v.size() != 0) {
            kept.push(instr);
        } else if instr.op.scatter_step().is_some() {
            kept.extend(copy_of_target(instr));
        } else {
            kept.push(fill(program, instr)?);
        }
    }
    program.instrs = kept;
    Ok(())
}

/// The copy of the target that replaces a scatter without values; `None` if the target is the output.
fn copy_of_target(mut instr: Instr) -> Option<Instr> {
    instr.ins.truncate(1);
    let changes = instr.reads().any(|target| *target != instr.out);
    changes.then(|| Instr { op: Op::Copy, ..instr })
}

/// The instruction that fills the output with the operation's identity.
fn fill(program: &mut Program, instr: Instr) -> Result<Instr> {
    let ty = instr.out.dtype;
    let value = identity(instr.op, ty)
        .ok_or_else(|| Error::Invalid(format!("{} of no elements has no identity", instr.op.name())))?;
    program.consts.push(value);
    let id = (program.consts.len() - 1) as ConstId;
    Ok(Instr { op: Op::Copy, ty, out: instr.out, ins: smallvec![Operand::Const(id)], axes: Axes::default(), watch: 0 })
}

/// The operation's result for no elements, in the dtype in which it is stored.
fn identity(op: Op, ty: DType) -> Option<Scalar> {
    match (op, op.kind()) {
        (Op::Sum | Op::Any | Op::Nonzero, _) => Some(cast(Scalar::Bool(false), ty)),
        (op, OpKind::Library) if op.is_product() => Some(cast(Scalar::Bool(false), ty)),
        (Op::Prod | Op::All, _) => Some(cast(Scalar::Bool(true), ty)),
        (_, OpKind::Elementwise | OpKind::Generator | OpKind::Gather | OpKind::Roll) => None,
        (_, OpKind::Reduction | OpKind::Scan | OpKind::Library) => None,
    }
}
