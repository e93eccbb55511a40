//! Large arrays of zeros, which take no memory before they are written.
//!
//! In: instructions and steps. Out: whether one is nothing but a fill of a large base, and whether with zeros. New pages of the system's
//! are zero, so that such a fill of a base that gets new ones need not run (`exec.rs`, `piecemeal.rs`).

use super::pool::HUGE;
use numelt_ir::{Instr, Op, Operand, Program, Scalar};
use numelt_opt::{Plan, Step, covers};

/// A step that gives all of a base one number, in a plan that does not depend on which: where it is zero, new memory need not
/// be touched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    pub base: u32,
    pub literal: u32,
}

impl Fill {
    /// What a step fills, if it does nothing else.
    pub fn of(plan: &Plan, step: &Step) -> Option<Fill> {
        let Step::Kernel(kernel) = step else { return None };
        let [at] = kernel.instrs.as_slice() else { return None };
        let instr = &plan.program.instrs[*at];
        fill(instr, plan.program.bases[instr.out.base as usize].nbytes)
    }
}

/// What an instruction fills, if it fills all of a large base, of `nbytes`, with a literal.
fn fill(instr: &Instr, nbytes: usize) -> Option<Fill> {
    let base = instr.out.base;
    match instr.ins.as_slice() {
        &[Operand::Const(literal)] if instr.op == Op::Copy && nbytes >= HUGE && covers(&instr.out, nbytes as i64) => {
            Some(Fill { base, literal })
        }
        _ => None,
    }
}

/// Is an instruction nothing but zeros for all of a large base, of `nbytes`?
pub(crate) fn fills_with_zeros(instr: &Instr, nbytes: usize, program: &Program) -> bool {
    fill(instr, nbytes).is_some_and(|fill| is_zero(program.consts[fill.literal as usize]))
}

/// Is it zero in every bit, and so in every dtype?
pub(crate) fn is_zero(value: Scalar) -> bool {
    value.to_bytes()[..value.dtype().size()].iter().all(|&byte| byte == 0)
}
