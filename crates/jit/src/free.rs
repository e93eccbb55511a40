//! Which variables iterations hand on to the next iteration.
//!
//! In: the body of an iteration. Out: of each parameter, whether an iteration computes with what the iteration before
//! has made of it. If none does, iterations can be done in any order. A variable that an iteration does not assign
//! keeps its value: then the value is only copied. Sums of integers have the same result in any order.

use numelt_func::{Carried, Instr, Label, Value, uses};
use numelt_ir::{DType, Op};
use std::collections::{BTreeSet, HashMap};

/// What iterations make of the parameter of this place; `None` if they compute with it, so that their order matters. An
/// iteration ends by beginning the loop of this name again.
pub fn carried(body: &[Instr], label: Label, params: &[Value], place: usize) -> Option<Carried> {
    let param = params[place];
    if !uses(body).1.contains(&param) {
        return Some(Carried::Assigned);
    }
    let (known, leaves) = (BTreeSet::from([param]), HashMap::new());
    let (is_used, is_added, is_mixed) = (false, false, false);
    let mut copies = Copies { iterations: label, place, known, leaves, is_used, is_added, is_mixed };
    // where loops begin, what comes at their ends is not known yet
    loop {
        let before = copies.known.len();
        copies.is_mixed = false;
        copies.body(body, &mut Vec::new());
        if copies.is_used {
            return None;
        }
        if copies.known.len() == before {
            break;
        }
    }
    match (copies.is_added, copies.is_mixed) {
        (false, _) => Some(Carried::Kept),
        (true, false) => Some(Carried::Added),
        (true, true) => None,
    }
}

struct Copies {
    /// The loop, and the place of its parameter.
    iterations: Label,
    place: usize,
    /// Values that may be the parameter's, or that and something added.
    known: BTreeSet<Value>,
    /// Of each block and loop around: what gets the values that it is left with, or begun again.
    leaves: HashMap<Label, Vec<Value>>,
    is_used: bool,
    is_added: bool,
    /// May one of these values also be another one?
    is_mixed: bool,
}

impl Copies {
    fn copy(&mut self, from: &[Value], to: &[Value]) {
        let copied: Vec<Value> =
            from.iter().zip(to).filter(|(from, _)| self.known.contains(from)).map(|(_, to)| *to).collect();
        self.known.extend(copied);
        self.is_mixed |= from.iter().zip(to).any(|(from, to)| self.known.contains(to) && !self.known.contains(from));
    }

    fn body(&mut self, body: &[Instr], yields: &mut Vec<Vec<Value>>) {
        for instr in body {
            match instr {
                Instr::If { condition, then, otherwise, outs, .. } => {
                    self.is_used |= self.known.contains(condition);
                    yields.push(outs.clone());
                    self.body(then, yields);
                    self.body(otherwise, yields);
                    yields.pop();
                }
                Instr::Block { label, body, outs } => {
                    self.leaves.insert(*label, outs.clone());
                    self.body(body, yields);
                }
                Instr::Loop { label, params, starts, body } => {
                    self.copy(starts, params);
                    self.leaves.insert(*label, params.clone());
                    self.body(body, yields);
                }
                Instr::Yield(values) => {
                    if let Some(outs) = yields.last().cloned() {
                        self.copy(values, &outs);
                    }
                }
                Instr::Again { label, values } if *label == self.iterations => {
                    // it must not become another variable
                    let mut others = values.iter().enumerate().filter(|(place, _)| *place != self.place);
                    self.is_used |= others.any(|(_, value)| self.known.contains(value));
                    self.is_mixed |= !self.known.contains(&values[self.place]);
                }
                Instr::Leave { label, values } | Instr::Again { label, values } => {
                    if let Some(to) = self.leaves.get(label).cloned() {
                        self.copy(values, &to);
                    }
                }
                Instr::Checked { out, op: Op::Add, args, .. } if self.is_one(args) => {
                    self.is_added = true;
                    self.known.insert(*out);
                }
                Instr::Apply { out, op: Op::Add, on: DType::I64, args } if self.is_one(args) => {
                    self.is_added = true;
                    self.known.insert(*out);
                }
                other => {
                    let (_, used) = uses(std::slice::from_ref(other));
                    self.is_used |= used.iter().any(|value| self.known.contains(value));
                }
            }
        }
    }

    /// Is one of two values known?
    fn is_one(&self, args: &[Value]) -> bool {
        args.iter().filter(|arg| self.known.contains(arg)).count() == 1
    }
}
