//! Which engine ran each step of the latest plan and how long each took, and what devices left to the host.
//!
//! In: one note per step from the executor, of engines only where the runtime has devices, of times only while somebody
//! inspects. Out: what reports of flushes and the
//! front end's coverage report say about engines.

use numelt_opt::{Kernel, Node, Plan, Step};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kinds of steps that are told apart: programs without end must not fill memory with their names.
const MOST_KINDS: usize = 1000;
/// Operations of a kernel that its name lists.
const MOST_NAMED: usize = 8;

/// Notes about the steps of a runtime's plans. The locks are never contended: the runtime's state is used by one thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The engine of each step of the latest plan.
    engines: Mutex<Vec<&'static str>>,
    /// Are steps timed?
    times: AtomicBool,
    /// Nanoseconds that each step of the latest plan took, if steps are timed.
    step_ns: Mutex<Vec<u64>>,
    /// Steps that were placed on a device and ran on the host, by their operations.
    declined: Mutex<BTreeMap<String, u64>>,
}

impl Journal {
    /// A plan begins to run. With `times`, its steps are timed.
    pub fn begin(&self, times: bool) {
        locked(&self.engines).clear();
        locked(&self.step_ns).clear();
        self.times.store(times, Ordering::Relaxed);
    }

    /// Are the steps of the plan that runs to be timed?
    pub fn times_steps(&self) -> bool {
        self.times.load(Ordering::Relaxed)
    }

    /// The plan's next step took so long.
    pub fn took(&self, ns: u64) {
        locked(&self.step_ns).push(ns);
    }

    /// Nanoseconds that each step of the latest plan took; empty where they were not timed.
    pub fn step_ns(&self) -> Vec<u64> {
        locked(&self.step_ns).clone()
    }

    /// The plan's next step ran on this engine.
    pub fn ran_on(&self, engine: &'static str) {
        locked(&self.engines).push(engine);
    }

    /// A device could not do a step, or had no room for it.
    pub fn declined(&self, plan: &Plan, step: &Step) {
        let mut declined = locked(&self.declined);
        let name = operations(plan, step);
        let known = declined.len() < MOST_KINDS || declined.contains_key(&name);
        *declined.entry(if known { name } else { "other".into() }).or_default() += 1;
    }

    /// The engine of each step of the latest plan, in their order.
    pub fn engines(&self) -> Vec<&'static str> {
        locked(&self.engines).clone()
    }

    /// How often steps ran on the host instead of a device, by their operations; counts anew afterwards if asked to.
    pub fn declines(&self, forget: bool) -> BTreeMap<String, u64> {
        let mut declined = locked(&self.declined);
        if forget { std::mem::take(&mut *declined) } else { declined.clone() }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The distinct operations of a step in their order, `add+sqrt+sum`; a step without any copies.
pub(crate) fn operations(plan: &Plan, step: &Step) -> String {
    let mut names: Vec<&str> = Vec::new();
    if let Step::Call(at) = step {
        names.push(plan.program.instrs[*at].op.name());
    }
    for part in step.kernels() {
        names.extend(kernel_operations(&part.kernel));
        names.extend(part.puts.iter().map(|put| plan.program.instrs[put.instr].op.name()));
    }
    let mut distinct: Vec<&str> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    match distinct.len() {
        0 => "copy".into(),
        1..=MOST_NAMED => distinct.join("+"),
        more => format!("{}+{} more", distinct[..MOST_NAMED].join("+"), more - MOST_NAMED),
    }
}

fn kernel_operations(kernel: &Kernel) -> impl Iterator<Item = &'static str> {
    let elementwise = kernel.body.iter().filter_map(|node| match node {
        Node::Op(op, ..) => Some(op.name()),
        Node::Load(_) | Node::Param(_) | Node::Index(_) | Node::Gather { .. } | Node::Cast(..) => None,
    });
    elementwise.chain(kernel.reductions.iter().map(|fold| fold.op.name()))
}
