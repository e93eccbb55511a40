//! Which results of an iteration are certainly used.
//!
//! Iterations that are done ahead leave it to the processor's flags to tell whether a floating-point condition was met.
//! The flags tell nothing about an operation that LLVM leaves out because nobody uses its result, or moves to where it
//! is used. Where that cannot happen, no other check is needed. In: the body of an iteration. Out: the body without the
//! checks that are not needed.

use numelt_func::{Body, Instr, Label, Value};
use numelt_ir::Op;
use std::collections::{HashMap, HashSet};

/// Takes the checks away of results that are certainly used: `doubts` has the condition of each check with the result.
pub fn prune(body: &mut Body, label: Label, params: &[Value], doubts: &HashMap<Value, Value>) {
    let mut needed = Needed { doubts, leaves: HashMap::new(), again: HashMap::new(), found: HashSet::new() };
    needed.again.insert(label, (params.to_vec(), vec![true; params.len()]));
    needed.body(body, &HashSet::new());
    let found = needed.found;
    remove(body, &|condition| doubts.get(condition).is_some_and(|result| found.contains(result)));
}

fn remove(body: &mut Body, is_superfluous: &impl Fn(&Value) -> bool) {
    body.retain(|instr| !matches!(instr, Instr::Suspect { condition } if is_superfluous(condition)));
    for instr in body {
        match instr {
            Instr::If { then, otherwise, .. } => {
                remove(then, is_superfluous);
                remove(otherwise, is_superfluous);
            }
            Instr::Block { body, .. } | Instr::Loop { body, .. } => remove(body, is_superfluous),
            _ => {}
        }
    }
}

struct Needed<'a> {
    /// The checks that may not be needed.
    doubts: &'a HashMap<Value, Value>,
    /// Of each block around: which values are needed that it is left with.
    leaves: HashMap<Label, Vec<bool>>,
    /// Of each loop around: its parameters, and which are needed in the end.
    again: HashMap<Label, (Vec<Value>, Vec<bool>)>,
    /// Results that are certainly used whenever they are computed.
    found: HashSet<Value>,
}

fn is_plain(op: Op) -> bool {
    matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Negative)
}

impl Needed<'_> {
    /// Goes through a body from its end; `yielded` are the values needed of what it yields.
    fn body(&mut self, body: &[Instr], yielded: &HashSet<Value>) {
        let mut live: HashSet<Value> = yielded.clone();
        for instr in body.iter().rev() {
            match instr {
                Instr::Store { value, .. } => {
                    live.insert(*value);
                }
                Instr::Apply { out, args, .. } | Instr::Call { out, args, .. } if live.contains(out) => {
                    self.found.insert(*out);
                    live.extend(args);
                }
                Instr::Suspect { condition } if !self.doubts.contains_key(condition) => {
                    live.insert(*condition);
                }
                Instr::Convert { out, from } if live.contains(out) => {
                    live.insert(*from);
                }
                Instr::Again { label, values } => {
                    let Some((params, ends)) = self.again.get(label) else { continue };
                    for ((param, value), is_needed) in params.iter().zip(values).zip(ends) {
                        // what the last iteration makes is made of what each iteration makes
                        if *is_needed && made_of(*value, *param, body) {
                            live.insert(*value);
                        }
                    }
                }
                Instr::Leave { label, values } => {
                    let is_needed = self.leaves.get(label).into_iter().flatten();
                    live.extend(values.iter().zip(is_needed).filter(|(_, needed)| **needed).map(|(value, _)| value));
                }
                Instr::If { condition, then, otherwise, outs, .. } => {
                    for branch in [then, otherwise] {
                        let yields = match branch.last() {
                            Some(Instr::Yield(values)) => &values[..],
                            _ => &[],
                        };
                        let needed = yields.iter().zip(outs).filter(|(_, out)| live.contains(out));
                        let needed = needed.map(|(value, _)| *value).collect();
                        self.body(branch, &needed);
                    }
                    if leads_away(then) || leads_away(otherwise) {
                        live.clear();
                    }
                    live.insert(*condition);
                }
                Instr::Block { label, body, outs } => {
                    self.leaves.insert(*label, outs.iter().map(|out| live.contains(out)).collect());
                    self.body(body, &HashSet::new());
                }
                Instr::Loop { label, params, body, .. } => {
                    let ends = self.needed_at_ends(params, body);
                    self.again.insert(*label, (params.clone(), ends));
                    self.body(body, &HashSet::new());
                }
                _ => {}
            }
        }
    }

    /// Which parameters of a loop are values that a block around it is left with, and needed there.
    fn needed_at_ends(&self, params: &[Value], body: &[Instr]) -> Vec<bool> {
        let mut left = HashSet::new();
        fn collect(needed: &Needed<'_>, body: &[Instr], left: &mut HashSet<Value>) {
            for instr in body {
                match instr {
                    Instr::Leave { label, values } => {
                        let is_needed = needed.leaves.get(label).into_iter().flatten();
                        left.extend(
                            values.iter().zip(is_needed).filter(|(_, needed)| **needed).map(|(value, _)| *value),
                        );
                    }
                    Instr::If { then, otherwise, .. } => {
                        collect(needed, then, left);
                        collect(needed, otherwise, left);
                    }
                    _ => {}
                }
            }
        }
        collect(self, body, &mut left);
        params.iter().map(|param| left.contains(param)).collect()
    }
}

/// Is a value computed from another one, by float operations of this body?
fn made_of(value: Value, from: Value, body: &[Instr]) -> bool {
    value == from
        || body.iter().any(|instr| match instr {
            Instr::Apply { out, op, on, args } if *out == value && on.is_float() && is_plain(*op) => {
                args.iter().any(|arg| made_of(*arg, from, body))
            }
            _ => false,
        })
}

/// Can control get from a body to another iteration or out of a block? Giving up does not count: then all is done
/// again.
fn leads_away(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::Leave { .. } | Instr::Again { .. } => true,
        Instr::If { then, otherwise, .. } => leads_away(then) || leads_away(otherwise),
        Instr::Block { .. } | Instr::Loop { .. } => false,
        _ => false,
    })
}
