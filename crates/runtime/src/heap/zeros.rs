//! Large arrays of zeros, which take no memory before they are written.
//!
//! New pages of the system are zero. So an instruction or a step that only fills a large base with zeros need not run
//! if the base gets new pages (`exec/host.rs`, `piecemeal.rs`).

use super::pool::HUGE;
use numelt_ir::{Instr, Op, Operand, Program, Scalar};
use numelt_opt::{Plan, Step, covers};

/// A step that sets all of a base to one number, which the plan does not depend on. If the number is zero, new memory
/// need not be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    pub base: u32,
    pub literal: u32,
}

impl Fill {
    /// The fill that a step is, if it does nothing else.
    pub fn of(plan: &Plan, step: &Step) -> Option<Fill> {
        let Step::Kernel(kernel) = step else { return None };
        let [at] = kernel.instrs.as_slice() else { return None };
        let instr = &plan.program.instrs[*at];
        fill(instr, plan.program.bases[instr.out.base as usize].nbytes)
    }
}

/// The fill that an instruction is, if it fills all of a large base, of `nbytes`, with a literal.
fn fill(instr: &Instr, nbytes: usize) -> Option<Fill> {
    let base = instr.out.base;
    match instr.ins.as_slice() {
        &[Operand::Const(literal)] if instr.op == Op::Copy && nbytes >= HUGE && covers(&instr.out, nbytes as i64) => {
            Some(Fill { base, literal })
        }
        _ => None,
    }
}

/// Whether an instruction only fills all of a large base, of `nbytes`, with zeros.
pub(crate) fn fills_with_zeros(instr: &Instr, nbytes: usize, program: &Program) -> bool {
    fill(instr, nbytes).is_some_and(|fill| is_zero(program.consts[fill.literal as usize]))
}

/// Whether every bit of a value is zero, so that it is zero in every dtype.
pub(crate) fn is_zero(value: Scalar) -> bool {
    value.to_bytes()[..value.dtype().size()].iter().all(|&byte| byte == 0)
}
