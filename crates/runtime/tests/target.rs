//! The runtime plans for the target that its engine states, and runs operations at once by the target's limits.

use numelt_ir::{Axes, DType, Op, Result};
use numelt_opt::{AtOnceLimits, Kernel, PlanningCosts, Target};
use numelt_runtime::{
    ArrayView, Config, Engine, Executable, Host, HostMemory, Input, NullEngine, Reason, Runtime, Task, Ticket, Work,
};
use std::sync::Arc;

/// The engine that computes nothing, with the target of another machine.
struct Elsewhere(Target);

impl HostMemory for Elsewhere {}

impl Engine for Elsewhere {
    fn name(&self) -> &'static str {
        "elsewhere"
    }

    fn target(&self) -> &Target {
        &self.0
    }

    fn supports(&self, task: &Task<'_>) -> bool {
        NullEngine.supports(task)
    }

    fn compile(&self, kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        NullEngine.compile(kernel)
    }

    fn submit(&self, work: &Work<'_>) -> Result<Ticket> {
        NullEngine.submit(work)
    }

    fn wait(&self, ticket: Ticket) -> Result<u8> {
        NullEngine.wait(ticket)
    }
}

impl Host for Elsewhere {}

fn runtime(target: Target) -> Runtime {
    Runtime::new(Arc::new(Elsewhere(target)), Config::default())
}

/// An array with memory, to which nothing has been written.
fn array(rt: &Runtime, n: i64) -> ArrayView {
    let a = ArrayView::fresh(rt, DType::F64, &[n]);
    rt.write(&a.base).unwrap();
    a
}

fn sum(rt: &Runtime, a: &ArrayView, b: &ArrayView) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    rt.record(Op::Add, DType::F64, &out, &[Input::Array(a), Input::Array(b)], Axes::default()).unwrap();
    out
}

/// Kernels of the sum of nine arrays.
fn kernels(target: Target) -> u64 {
    let rt = runtime(target);
    let arrays: Vec<ArrayView> = (0..9).map(|_| array(&rt, 100_000)).collect();
    let before = rt.stats().kernels;
    let total = arrays[1..].iter().fold(arrays[0].clone(), |total, next| sum(&rt, &total, next));
    rt.flush(Reason::Explicit).unwrap();
    drop(total);
    rt.stats().kernels - before
}

#[test]
fn kernels_have_the_operands_that_the_engine_wants() {
    assert_eq!(kernels(Target::cpu()), 1);
    // two operands and a result, eight times
    assert_eq!(kernels(Target { kernel_args: 3, nests: None, ..Target::cpu() }), 8);
}

/// Whether the sum of two arrays of this many elements stays pending.
fn waits(target: Target, n: i64) -> bool {
    let rt = runtime(target);
    let a = array(&rt, n);
    let _total = sum(&rt, &a, &a);
    rt.pending_work() > 0
}

#[test]
fn operations_run_at_once_as_the_engine_says() {
    assert!(!waits(Target::cpu(), 512));
    assert!(waits(Target { at_once: AtOnceLimits { few: 8, middle: 16 }, ..Target::cpu() }, 512));
    assert!(!waits(Target { at_once: AtOnceLimits { few: 8, middle: 16 }, ..Target::cpu() }, 8));
}

/// How often a batch with little work runs before it is planned.
fn before_planned(target: Target) -> u64 {
    let rt = runtime(target);
    let (a, b) = (array(&rt, 4096), array(&rt, 4096));
    while rt.stats().plan_misses == 0 {
        let out = sum(&rt, &a, &b);
        let out = sum(&rt, &out, &b);
        rt.flush(Reason::Explicit).unwrap();
        drop(out);
        assert!(rt.stats().piecemeal < 1000);
    }
    rt.stats().piecemeal
}

#[test]
fn batches_are_planned_when_that_pays_on_the_engine() {
    let cpu = Target::cpu();
    let costly = Target { planning: PlanningCosts { plan_ns: 10 * cpu.planning.plan_ns, ..cpu.planning }, ..cpu };
    assert!(before_planned(cpu) > 0);
    assert!(before_planned(costly) > before_planned(cpu));
}
