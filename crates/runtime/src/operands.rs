//! The operands of launches and calls, from the steps of a plan and the positions of their bases.

use crate::engine::{Buffer, LibraryCall, Operand};
use numelt_ir::{Error, Instr, Operand as IrOperand, Result, View};
use numelt_opt::{Arg, ArgGeometry, ArgKind, KernelStep};
use smallvec::SmallVec;

/// Calls the engine with an instruction that is a library call or a scan.
pub(crate) fn library_call<'v, R>(
    instr: &'v Instr,
    operand: impl Fn(&'v View) -> Operand<'v>,
    with: impl FnOnce(&LibraryCall<'_>) -> Result<R>,
) -> Result<R> {
    let mut ins: SmallVec<[Operand<'_>; 2]> = SmallVec::new();
    for input in &instr.ins {
        match input {
            IrOperand::View(view) => ins.push(operand(view)),
            IrOperand::Const(_) => {
                return Err(Error::Invalid(format!("{} with a literal operand", instr.op.name())));
            }
        }
    }
    with(&LibraryCall { op: instr.op, ty: instr.ty, axes: instr.axes, out: operand(&instr.out), ins: &ins })
}

/// The positions of a kernel's arguments, if `buffer` returns those of bases.
pub(crate) fn argument_buffers(step: &KernelStep, buffer: impl Fn(u32) -> Buffer) -> SmallVec<[Buffer; 16]> {
    let argument = |((arg, &base), geometry): ((&Arg, &u32), &ArgGeometry)| match arg.kind {
        ArgKind::Index => Buffer::NONE,
        ArgKind::Load | ArgKind::Gather | ArgKind::Store | ArgKind::Reduced => buffer(base).moved(geometry.offset),
    };
    step.kernel.args.iter().zip(&step.bases).zip(&step.geometry.args).map(argument).collect()
}
