//! Instructions without elements.
//!
//! Instructions without output elements are removed. Reductions that fold nothing, and products of matrices with an
//! inner extent of zero, still have results: they become fills with the operation's identity. This pass runs first, so
//! that no later pass meets an empty iteration space.

use numelt_ir::{Axes, C32, C64, ConstId, DType, Error, F16, Instr, Op, OpKind, Operand, Program, Result, Scalar};
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
            kept.extend(target_alone(instr));
        } else {
            kept.push(fill(program, instr)?);
        }
    }
    program.instrs = kept;
    Ok(())
}

/// The copy of its target that a scatter without values is equal to.
fn target_alone(mut instr: Instr) -> Option<Instr> {
    instr.ins.truncate(1);
    let changes = instr.reads().any(|target| *target != instr.out);
    changes.then(|| Instr { op: Op::Copy, ..instr })
}

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
        (Op::Sum | Op::Any | Op::Nonzero, _) => Some(small(ty, false)),
        (op, OpKind::Library) if op.is_product() => Some(small(ty, false)),
        (Op::Prod | Op::All, _) => Some(small(ty, true)),
        (_, OpKind::Elementwise | OpKind::Generator | OpKind::Gather | OpKind::Roll) => None,
        (_, OpKind::Reduction | OpKind::Scan | OpKind::Library) => None,
    }
}

/// Zero or one of a type.
fn small(ty: DType, one: bool) -> Scalar {
    match ty {
        DType::Bool => Scalar::Bool(one),
        DType::I8 => Scalar::I8(one.into()),
        DType::U8 => Scalar::U8(one.into()),
        DType::I16 => Scalar::I16(one.into()),
        DType::U16 => Scalar::U16(one.into()),
        DType::I32 => Scalar::I32(one.into()),
        DType::U32 => Scalar::U32(one.into()),
        DType::I64 => Scalar::I64(one.into()),
        DType::U64 => Scalar::U64(one.into()),
        DType::F16 => Scalar::F16(if one { F16::ONE } else { F16::ZERO }),
        DType::F32 => Scalar::F32(one.into()),
        DType::F64 => Scalar::F64(one.into()),
        DType::C64 => Scalar::C64(C32 { re: one.into(), im: 0.0 }),
        DType::C128 => Scalar::C128(C64 { re: one.into(), im: 0.0 }),
    }
}
