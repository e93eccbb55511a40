//! Queries on code: the values that it defines and uses, and its iterations ahead.

use crate::program::{Ahead, Function, Indices, Instr, Value};
use numelt_ir::{DType, Op};
use std::collections::BTreeSet;

/// The values that the instructions of a body define, and those that they use, nested bodies included.
pub fn uses(body: &[Instr]) -> (BTreeSet<Value>, BTreeSet<Value>) {
    let (mut defined, mut used) = (BTreeSet::new(), BTreeSet::new());
    collect(body, &mut defined, &mut used);
    (defined, used)
}

/// All iterations ahead in a body and in its nested bodies, in the order of the code.
pub fn iterations_ahead(body: &[Instr]) -> Vec<&Ahead> {
    let mut all = Vec::new();
    for instr in body {
        match instr {
            Instr::If { then, otherwise, .. } => {
                all.extend([iterations_ahead(then), iterations_ahead(otherwise)].concat())
            }
            Instr::Block { body, .. } | Instr::Loop { body, .. } => all.extend(iterations_ahead(body)),
            Instr::Ahead(ahead) => all.push(&**ahead),
            _ => {}
        }
    }
    all
}

/// Do some of these instructions write memory or call functions under a condition that differs from iteration to
/// iteration? Such code is hardly vectorized.
pub fn writes_in_branches(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::If { then, otherwise, .. } => [then, otherwise].into_iter().any(|arm| {
            // an arm that transfers control elsewhere is part of a loop
            matches!(arm.last(), Some(Instr::Yield(_))) && has_effects(arm) || writes_in_branches(arm)
        }),
        Instr::Block { body, .. } | Instr::Loop { body, .. } => writes_in_branches(body),
        _ => false,
    })
}

/// Are polls the only reason for which iterations ahead with this body are given up, and does every loop in it poll
/// before it begins? No operation in it can then meet a floating-point condition.
pub fn only_polls_stop(function: &Function, body: &[Instr]) -> bool {
    let mut polls = BTreeSet::new();
    goes_on(function, body, &mut polls)
}

fn goes_on(function: &Function, body: &[Instr], polls: &mut BTreeSet<Value>) -> bool {
    body.iter().all(|instr| match instr {
        Instr::Poll { out, iterations } => polls.insert(*out) && iterations.is_some(),
        Instr::If { condition, then, otherwise, .. } => {
            let stops = polls.contains(condition) && then[..] == [Instr::GiveUp];
            (stops || goes_on(function, then, polls)) && goes_on(function, otherwise, polls)
        }
        Instr::Block { body, .. } | Instr::Loop { body, .. } => goes_on(function, body, polls),
        Instr::Apply { op, on, .. } => is_quiet(*op, *on),
        // a float of another size may be a signaling NaN, and an integer may be too small for a float
        Instr::Convert { from, .. } => !function.type_of(*from).is_float(),
        Instr::Const { .. }
        | Instr::Checked { .. }
        | Instr::Bits { .. }
        | Instr::Load { .. }
        | Instr::Store { .. }
        | Instr::Yield(_)
        | Instr::Leave { .. }
        | Instr::Again { .. } => true,
        Instr::Call { .. }
        | Instr::CallLoop { .. }
        | Instr::Ahead(_)
        | Instr::Suspect { .. }
        | Instr::GiveUp
        | Instr::Exit { .. } => false,
    })
}

/// Does an operation never meet a floating-point condition that is reported? Comparisons with NaN are not.
fn is_quiet(op: Op, on: DType) -> bool {
    let is_comparison =
        matches!(op, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
    !(on.is_float() || on.is_complex()) || is_comparison || matches!(op, Op::Where | Op::Absolute | Op::Negative)
}

/// Do these instructions poll?
pub fn has_polls(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::Poll { .. } => true,
        Instr::If { then, otherwise, .. } => has_polls(then) || has_polls(otherwise),
        Instr::Block { body, .. } | Instr::Loop { body, .. } => has_polls(body),
        _ => false,
    })
}

fn has_effects(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::Store { .. } | Instr::Call { .. } | Instr::CallLoop { .. } => true,
        Instr::If { then, otherwise, .. } => has_effects(then) || has_effects(otherwise),
        Instr::Block { body, .. } | Instr::Loop { body, .. } => has_effects(body),
        _ => false,
    })
}

fn collect(body: &[Instr], defined: &mut BTreeSet<Value>, used: &mut BTreeSet<Value>) {
    for instr in body {
        match instr {
            Instr::Const { out, .. } => {
                defined.insert(*out);
            }
            Instr::Poll { out, iterations } => {
                defined.insert(*out);
                used.extend(iterations);
            }
            Instr::Apply { out, args, .. } | Instr::Call { out, args, .. } => {
                defined.insert(*out);
                used.extend(args);
            }
            Instr::Checked { out, overflow, args, .. } => {
                defined.extend([*out, *overflow]);
                used.extend(args);
            }
            Instr::Convert { out, from } | Instr::Bits { out, from } => {
                defined.insert(*out);
                used.insert(*from);
            }
            Instr::CallLoop { out, context, args } => {
                defined.insert(*out);
                used.insert(*context);
                used.extend(args);
            }
            Instr::Load { out, address } => {
                defined.insert(*out);
                used.insert(*address);
            }
            Instr::Store { address, value } => used.extend([*address, *value]),
            Instr::If { condition, then, otherwise, outs, .. } => {
                used.insert(*condition);
                defined.extend(outs);
                collect(then, defined, used);
                collect(otherwise, defined, used);
            }
            Instr::Block { body, outs, .. } => {
                defined.extend(outs);
                collect(body, defined, used);
            }
            Instr::Loop { params, starts, body, .. } => {
                defined.extend(params);
                used.extend(starts);
                collect(body, defined, used);
            }
            Instr::Ahead(ahead) => {
                defined.extend(ahead.params.iter().chain(&ahead.outs));
                used.extend(ahead.starts.iter().chain([&ahead.count, &ahead.work]).chain(&ahead.is_brief));
                used.extend(ahead.arrays.iter().flat_map(|array| array.axes.as_flattened()));
                used.extend(ahead.arrays.iter().map(|array| array.address));
                let indices = ahead.written.iter().flat_map(|written| &written.indices);
                used.extend(indices.flat_map(Indices::values));
                collect(&ahead.body, defined, used);
            }
            Instr::Suspect { condition } => {
                used.insert(*condition);
            }
            Instr::Yield(values)
            | Instr::Leave { values, .. }
            | Instr::Again { values, .. }
            | Instr::Exit { values, .. } => used.extend(values),
            Instr::GiveUp => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Label;

    #[test]
    fn iterations_without_conditions_are_told_from_others() {
        let mut f = Function::default();
        let (x, i) = (f.value(DType::F64), f.value(DType::I64));
        let stop = f.value(DType::Bool);
        let poll = |iterations| Instr::Poll { out: stop, iterations };
        let leave = |condition| {
            let (then, otherwise) = (vec![Instr::GiveUp], vec![Instr::Yield(vec![])]);
            Instr::If { condition, then, otherwise, outs: vec![], is_rare: true }
        };
        let apply = |op, on, out, arg| Instr::Apply { op, on, out, args: vec![arg; 2] };
        let holds = f.value(DType::Bool);
        let holds_for = |body: &[Instr]| only_polls_stop(&f, body);
        assert!(holds_for(&[Instr::Load { out: x, address: i }, Instr::Store { address: i, value: x }]));
        assert!(holds_for(&[poll(Some(i)), leave(stop)]));
        assert!(!holds_for(&[poll(None), leave(stop)]), "the loop may be long");
        assert!(!holds_for(&[apply(Op::Less, DType::I64, holds, i), leave(holds)]));
        assert!(holds_for(&[apply(Op::Less, DType::F64, holds, x)]));
        assert!(holds_for(&[apply(Op::Add, DType::I64, i, i)]));
        assert!(!holds_for(&[apply(Op::Add, DType::F64, x, x)]));
        assert!(holds_for(&[Instr::Convert { out: x, from: i }]));
        assert!(!holds_for(&[Instr::Convert { out: i, from: x }]));
        let body = vec![apply(Op::Multiply, DType::F64, x, x)];
        assert!(!holds_for(&[Instr::Block { label: Label(0), body, outs: vec![] }]));
    }

    fn branch(then: Vec<Instr>) -> Instr {
        let otherwise = vec![Instr::Yield(vec![])];
        Instr::If { condition: Value(0), then, otherwise, outs: vec![], is_rare: false }
    }

    #[test]
    fn writes_in_branches_are_told_from_writes_in_loops() {
        let store = Instr::Store { address: Value(1), value: Value(2) };
        let again = Instr::Again { label: Label(0), values: vec![] };
        let looped = |body| Instr::Loop { label: Label(0), params: vec![], starts: vec![], body };
        assert!(!writes_in_branches(std::slice::from_ref(&store)));
        assert!(!writes_in_branches(&[branch(vec![Instr::GiveUp]), store.clone()]));
        // the body of a loop runs while a condition holds
        assert!(!writes_in_branches(&[looped(vec![branch(vec![store.clone(), again.clone()])])]));
        let written = branch(vec![store.clone(), Instr::Yield(vec![])]);
        assert!(writes_in_branches(&[looped(vec![written.clone(), again])]));
        assert!(writes_in_branches(&[branch(vec![written, Instr::Yield(vec![])])]));
    }
}
