//! Dependences between iterations: which variables carry values from one iteration to the next.
//!
//! In: the body of an iteration. Out: for each parameter, how an iteration changes it, or that an iteration computes
//! with the value of the previous one. If no iteration does that, iterations can run in any order. Two uses of a value
//! do not count: copying it, because an iteration that does not assign a variable passes its value on, and adding
//! integers to it, because the order of such sums does not matter.

use numelt_func::{Carried, Instr, Label, Value, uses};
use numelt_ir::{DType, Op};
use std::collections::{BTreeSet, HashMap};

/// How iterations change the parameter with this index; `None` if they compute with it, so that their order matters.
/// `label` is the label of the loop.
pub fn carried(body: &[Instr], label: Label, params: &[Value], index: usize) -> Option<Carried> {
    let param = params[index];
    if !uses(body).1.contains(&param) {
        return Some(Carried::Assigned);
    }
    let (known, leaves) = (BTreeSet::from([param]), HashMap::new());
    let (is_used, is_added, is_mixed) = (false, false, false);
    let mut copies = Copies { iterations: label, index, known, leaves, is_used, is_added, is_mixed };
    // inner loops pass values back to their beginning, so this is repeated until no more copies are found
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

/// The search for copies of a parameter.
struct Copies {
    /// The label of the loop, and the index of its parameter.
    iterations: Label,
    index: usize,
    /// Values that may be copies of the parameter, or sums of it and other numbers.
    known: BTreeSet<Value>,
    /// For each block and loop around: the values that a `Leave` or `Again` defines.
    leaves: HashMap<Label, Vec<Value>>,
    is_used: bool,
    is_added: bool,
    /// May one of these values also have a value that does not derive from the parameter?
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
                    // the value must not become that of another variable
                    let mut others = values.iter().enumerate().filter(|(index, _)| *index != self.index);
                    self.is_used |= others.any(|(_, value)| self.known.contains(value));
                    self.is_mixed |= !self.known.contains(&values[self.index]);
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

    /// Is exactly one of these values a copy?
    fn is_one(&self, args: &[Value]) -> bool {
        args.iter().filter(|arg| self.known.contains(arg)).count() == 1
    }
}
