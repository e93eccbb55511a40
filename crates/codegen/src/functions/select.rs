//! Branches of iterations that are done ahead, as selections.
//!
//! In: an `If` whose branches compute a few integers, and give up where one is too large. Out: code that computes both
//! branches, and chooses. A branch that the processor does not foresee takes as long as some twenty instructions. LLVM
//! does the same with branches that have no exits.

use super::ahead;
use super::emit::Emit;
use numelt_func::{Instr, Value};
use numelt_ir::{DType, Op, Result};

/// Branches with more operations than that are not computed both.
const MOST: usize = 6;

/// A branch that can be computed where it is not taken.
struct Arm<'a> {
    /// Its operations, which have no effects.
    instrs: Vec<&'a Instr>,
    /// It gives up if one of these holds.
    lost: Vec<Value>,
    yields: &'a [Value],
}

impl<'a> Arm<'a> {
    fn of(body: &'a [Instr]) -> Option<Arm<'a>> {
        let (Instr::Yield(yields), rest) = body.split_last()? else { return None };
        let mut arm = Arm { instrs: Vec::new(), lost: Vec::new(), yields };
        for instr in rest {
            match instr {
                Instr::Const { .. } | Instr::Checked { .. } => arm.instrs.push(instr),
                Instr::Apply { op, on: DType::I64, .. } if is_cheap(*op) => arm.instrs.push(instr),
                Instr::If { condition, then, otherwise, outs, .. } if outs.is_empty() => {
                    let ([Instr::GiveUp], [Instr::Yield(_)]) = (&then[..], &otherwise[..]) else { return None };
                    arm.lost.push(*condition);
                }
                _ => return None,
            }
        }
        Some(arm)
    }

    fn operations(&self) -> usize {
        self.instrs.iter().filter(|instr| !matches!(instr, Instr::Const { .. })).count()
    }
}

/// Has an operation on integers a result for all operands, at the cost of an instruction or two?
fn is_cheap(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Subtract
            | Op::Negative
            | Op::BitwiseAnd
            | Op::BitwiseOr
            | Op::BitwiseXor
            | Op::RightShift
            | Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessEqual
            | Op::Greater
            | Op::GreaterEqual
    )
}

/// Writes an `If` as a selection, if that pays.
pub(super) fn choice<'a>(
    emit: &mut Emit<'a>,
    condition: Value,
    branches: [&'a [Instr]; 2],
    outs: &[Value],
) -> Result<bool> {
    let [Some(yes), Some(no)] = branches.map(Arm::of) else { return Ok(false) };
    let is_for_llvm = yes.lost.is_empty() && no.lost.is_empty();
    if emit.iterations.is_none() || outs.is_empty() || is_for_llvm || yes.operations() + no.operations() > MOST {
        return Ok(false);
    }
    for instr in yes.instrs.iter().chain(&no.instrs) {
        emit.instr(instr)?;
    }
    let b = emit.b;
    let lost = [&yes.lost, &no.lost].map(|lost| lost.iter().map(|value| emit.get(*value)).reduce(|a, c| b.or(a, c)));
    let holds = emit.get(condition);
    let (looks, goes_on) = (b.block(c"look"), b.block(c"fits"));
    b.branch_rarely(lost.into_iter().flatten().reduce(|a, c| b.or(a, c)).expect("see above"), looks, goes_on);
    b.enter(looks);
    let [yes_lost, no_lost] = lost.map(|lost| lost.unwrap_or(b.const_int(b.int(1), 0)));
    b.branch(b.select(holds, yes_lost, no_lost), ahead::given_up(emit), goes_on);
    b.enter(goes_on);
    for ((out, yes), no) in outs.iter().zip(yes.yields).zip(no.yields) {
        emit.set(*out, b.select(holds, emit.get(*yes), emit.get(*no)));
    }
    Ok(true)
}
