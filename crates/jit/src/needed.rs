//! Removes checks of float results that are certainly used.
//!
//! In iterations ahead, the processor's flags tell whether a floating-point condition was met. LLVM may however remove
//! an operation whose result is not used, or move it to where the result is used, and then the flags tell nothing about
//! it. The specializer therefore adds explicit checks. This pass removes the checks of results that are used whenever
//! they are computed. In: the body of an iteration. Out: the body without superfluous checks.

use crate::stores::{is_plain, lasting};
use numelt_func::{Body, Instr, Label, Value};
use std::collections::{HashMap, HashSet};

/// Removes the checks of results that are certainly used. `doubts` has the condition of each such check with the
/// result. A check that stays uses its result, so those of the operands of that result need not stay.
pub fn prune(body: &mut Body, label: Label, params: &[Value], doubts: &HashMap<Value, Value>) {
    let lasting = lasting(body, params);
    let mut found = HashSet::new();
    let mut kept = HashSet::new();
    for are_uses in [false, true] {
        let (lasting, used) = (lasting.clone(), found.clone());
        let (leaves, again) = (HashMap::new(), HashMap::new());
        let mut needed = Needed { doubts, lasting, leaves, again, found, used: are_uses.then_some(used), kept };
        needed.again.insert(label, (params.to_vec(), vec![true; params.len()]));
        needed.body(body, &HashSet::new());
        (found, kept) = (needed.found, needed.kept);
    }
    remove(body, &|condition| {
        doubts.get(condition).is_some_and(|result| found.contains(result)) && !kept.contains(condition)
    });
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

/// The search for results that are certainly used.
struct Needed<'a> {
    /// The conditions of the checks that may be superfluous, with the checked results.
    doubts: &'a HashMap<Value, Value>,
    /// The stores that LLVM certainly keeps.
    lasting: HashSet<*const Instr>,
    /// For each block around: which of its results are certainly used.
    leaves: HashMap<Label, Vec<bool>>,
    /// For each loop around: its parameters, and which of them are used after the loop.
    again: HashMap<Label, (Vec<Value>, Vec<bool>)>,
    /// Results that are certainly used whenever they are computed.
    found: HashSet<Value>,
    /// Those that are used by other instructions than checks, if checks of others count as uses now.
    used: Option<HashSet<Value>>,
    /// The conditions of checks that count.
    kept: HashSet<Value>,
}

impl Needed<'_> {
    /// Walks a body from its end. `yielded` are the values that it yields and that are certainly used.
    fn body(&mut self, body: &[Instr], yielded: &HashSet<Value>) {
        let mut live: HashSet<Value> = yielded.clone();
        for instr in body.iter().rev() {
            match instr {
                Instr::Store { value, .. } if self.lasting.contains(&std::ptr::from_ref(instr)) => {
                    live.insert(*value);
                }
                Instr::Apply { out, args, .. } | Instr::Call { out, args, .. } if live.contains(out) => {
                    self.found.insert(*out);
                    live.extend(args);
                }
                Instr::Suspect { condition } => match (self.doubts.get(condition), &self.used) {
                    (None, _) => {
                        live.insert(*condition);
                    }
                    (Some(result), Some(used)) if !used.contains(result) && !live.contains(result) => {
                        self.kept.insert(*condition);
                        live.insert(*condition);
                    }
                    _ => {}
                },
                Instr::Convert { out, from } if live.contains(out) => {
                    live.insert(*from);
                }
                Instr::Again { label, values } => {
                    let Some((params, ends)) = self.again.get(label) else { continue };
                    for ((param, value), is_needed) in params.iter().zip(values).zip(ends) {
                        // the value after the last iteration is computed from the values of all iterations
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

    /// Which parameters of a loop are used after it, because a `Leave` passes them on.
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

/// Is a value computed from another one by float arithmetic of this body, also by that of the iterations of loops in
/// it?
fn made_of(value: Value, from: Value, body: &[Instr]) -> bool {
    let mut makers: HashMap<Value, &Instr> = HashMap::new();
    for instr in body {
        match instr {
            Instr::Apply { out, op, on, .. } if on.is_float() && is_plain(*op) => {
                makers.insert(*out, instr);
            }
            Instr::Block { outs, .. } => makers.extend(outs.iter().map(|out| (*out, instr))),
            _ => {}
        }
    }
    // a value may be an operand many times over
    let (mut open, mut seen) = (vec![value], HashSet::new());
    while let Some(value) = open.pop() {
        if value == from {
            return true;
        }
        if !seen.insert(value) {
            continue;
        }
        match makers.get(&value) {
            Some(Instr::Apply { args, .. }) => open.extend(args),
            Some(Instr::Block { label, body, outs }) => {
                let number = outs.iter().position(|out| *out == value);
                open.extend(number.and_then(|number| start_of(*label, body, number)));
            }
            _ => {}
        }
    }
    false
}

/// If a block has nothing but a loop in the end, and if each iteration makes this result of the block from what it was
/// after the iteration before: what it is before the first iteration.
fn start_of(block: Label, body: &[Instr], result: usize) -> Option<Value> {
    let Some(Instr::Loop { label, params, starts, body }) = body.last() else { return None };
    let (mut left, mut again) = (Vec::new(), Vec::new());
    ends_of(body, block, &mut left);
    ends_of(body, *label, &mut again);
    let passed = left.first()?.get(result)?;
    let place = params.iter().position(|param| param == passed)?;
    let is_passed = left.iter().all(|values| values.get(result) == Some(passed));
    let is_made = again.iter().all(|values| made_of(values[place], params[place], body));
    (is_passed && is_made).then(|| starts[place])
}

/// The values that a body hands to a label.
fn ends_of<'a>(body: &'a [Instr], to: Label, found: &mut Vec<&'a [Value]>) {
    for instr in body {
        match instr {
            Instr::Leave { label, values } | Instr::Again { label, values } if *label == to => found.push(values),
            Instr::If { then, otherwise, .. } => {
                ends_of(then, to, found);
                ends_of(otherwise, to, found);
            }
            Instr::Block { body, .. } | Instr::Loop { body, .. } => ends_of(body, to, found),
            _ => {}
        }
    }
}

/// Can control go from a body to another iteration or out of a block? Giving up does not count, because the iteration
/// is then undone.
fn leads_away(body: &[Instr]) -> bool {
    body.iter().any(|instr| match instr {
        Instr::Leave { .. } | Instr::Again { .. } => true,
        Instr::If { then, otherwise, .. } => leads_away(then) || leads_away(otherwise),
        Instr::Block { .. } | Instr::Loop { .. } => false,
        _ => false,
    })
}
