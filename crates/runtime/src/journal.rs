//! The journal of steps: which engine ran each step of the latest plan, how long each took, and which steps devices
//! left to the host.
//!
//! Reports of flushes and the front end's coverage report are made of it. The executor notes engines only if the
//! runtime has devices, and times only while plans are inspected.

use numelt_opt::{Kernel, Node, Plan, Step};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most kinds of steps that are distinguished. A program that never ends must not fill memory with their names.
const MOST_KINDS: usize = 1000;
/// The most operations of a kernel that its name lists.
const MOST_NAMED: usize = 8;

/// Notes about the steps of a runtime's plans. The locks are never contended: the runtime's state is used by one
/// thread at a time.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The engine of each step of the latest plan.
    engines: Mutex<Vec<&'static str>>,
    /// Whether steps are timed.
    times: AtomicBool,
    /// Nanoseconds that each step of the latest plan took, if steps are timed.
    step_ns: Mutex<Vec<u64>>,
    /// How many steps were placed on a device and ran on the host, by their operations.
    declined: Mutex<BTreeMap<String, u64>>,
}

impl Journal {
    /// Notes that a plan begins to run. With `times`, its steps are timed.
    pub fn begin(&self, times: bool) {
        locked(&self.engines).clear();
        locked(&self.step_ns).clear();
        self.times.store(times, Ordering::Relaxed);
    }

    /// Whether the steps of the running plan are to be timed.
    pub fn times_steps(&self) -> bool {
        self.times.load(Ordering::Relaxed)
    }

    /// Notes how long the plan's next step took.
    pub fn took(&self, ns: u64) {
        locked(&self.step_ns).push(ns);
    }

    /// The nanoseconds that each step of the latest plan took; empty if they were not timed.
    pub fn step_ns(&self) -> Vec<u64> {
        locked(&self.step_ns).clone()
    }

    /// Notes the engine on which the plan's next step ran.
    pub fn ran_on(&self, engine: &'static str) {
        locked(&self.engines).push(engine);
    }

    /// Notes that a device could not do a step, or had no memory for it.
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

    /// How often steps ran on the host instead of a device, by their operations. With `forget`, the counts start
    /// again at zero.
    pub fn declines(&self, forget: bool) -> BTreeMap<String, u64> {
        let mut declined = locked(&self.declined);
        if forget { std::mem::take(&mut *declined) } else { declined.clone() }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The distinct operations of a step in their order, as in `add+sqrt+sum`; copies are left out if there are others.
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
