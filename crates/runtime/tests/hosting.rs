//! The host engine of a runtime: how it is accessed and replaced, and the default answers of a host that defines no
//! functions.

use numelt_ir::{DType, Op, Result, Scalar};
use numelt_opt::{Kernel, Target};
use numelt_runtime::{
    BlasTable, Bounded, Config, Draw, Engine, EngineSet, Executable, Host, HostMemory, MaskedRows, NullEngine,
    RandomStream, Runtime, Sequence, Task, Ticket, Work,
};
use std::ptr;
use std::sync::{Arc, Barrier};

/// A host that only counts its threads.
struct Counting(usize);

impl HostMemory for Counting {}

impl Engine for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn target(&self) -> &Target {
        NullEngine.target()
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

impl Host for Counting {
    fn threads(&self) -> usize {
        self.0
    }
}

fn counting(threads: usize) -> EngineSet {
    Arc::new(Counting(threads)).into()
}

/// The threads of the host engine, accessed without a lock.
fn threads(runtime: &Runtime) -> usize {
    // SAFETY: counting does not replace the host, and no other thread does here.
    unsafe { runtime.with_host(|host| host.threads()) }
}

#[test]
fn a_runtime_has_the_host_that_it_was_given_last() {
    let runtime = Runtime::new(Arc::new(NullEngine), Config::default());
    assert_eq!((runtime.host().name(), threads(&runtime)), ("null", 1));
    runtime.reconfigure(Some(counting(3)), Config::default());
    assert_eq!((runtime.host().name(), threads(&runtime)), ("counting", 3));
    runtime.reconfigure(None, Config { threads: 9, ..Config::default() });
    assert_eq!((runtime.host().threads(), threads(&runtime)), (3, 3));
    runtime.reconfigure(Some(counting(4)), Config::default());
    assert_eq!((runtime.host().threads(), threads(&runtime)), (4, 4));
}

#[test]
fn runtimes_have_hosts_of_their_own() {
    let runtime = |threads| Runtime::new(Arc::new(Counting(threads)), Config::default());
    let (first, second) = (runtime(2), runtime(5));
    second.reconfigure(Some(counting(6)), Config::default());
    assert_eq!([&first, &second].map(threads), [2, 6]);
}

#[test]
fn a_host_lives_as_long_as_somebody_uses_it() {
    let host: Arc<dyn Host> = Arc::new(Counting(2));
    let last = Arc::downgrade(&host);
    let runtime = Runtime::new(host, Config::default());
    // SAFETY: nobody replaces the host meanwhile.
    let held = unsafe { runtime.with_host(Arc::clone) };
    runtime.reconfigure(Some(counting(3)), Config::default());
    assert_eq!((held.threads(), last.strong_count()), (2, 1));
    drop(held);
    assert_eq!(last.strong_count(), 0);
}

#[test]
fn other_threads_take_the_host_while_it_is_replaced() {
    let runtime = Runtime::new(Arc::new(Counting(1)), Config::default());
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            for threads in 1..200 {
                runtime.reconfigure(Some(counting(threads)), Config::default());
            }
        });
        barrier.wait();
        let mut before = 0;
        for _ in 0..200 {
            let now = runtime.host().threads();
            assert!(now >= before);
            before = now;
        }
    });
    assert_eq!(threads(&runtime), 199);
}

#[test]
fn a_host_that_defines_nothing_declines_everything() {
    let host: &dyn Host = &NullEngine;
    let stream = RandomStream { op: Op::Pcg64, position: 0, state: &[1, 2, 3, 5] };
    let bounded = Bounded { low: 0, count: 10, halves: true, wide: true };
    let rows = MaskedRows { dtype: DType::F64, values: ptr::null(), mask: ptr::null(), count: 0, length: 0 };
    let (mut words, mut has, mut half, mut out) = ([1; 4], 0, 0, [0.5; 2]);
    assert_eq!((host.threads(), host.sorts(DType::F64)), (1, false));
    assert_eq!(host.truths(Op::Any, &[1]), None::<Scalar>);
    assert!(!host.draw(&mut Sequence::Sfc64(&mut words, &mut has, &mut half), Draw::Uniform(None, &mut out), 1));
    assert_eq!((words, out), ([1; 4], [0.5; 2]));
    // SAFETY: there are no elements, and the table has no routines.
    unsafe {
        assert_eq!(host.argsort(DType::F64, ptr::null(), &mut [], 1), None);
        assert!(!host.merge_runs(DType::F64, ptr::null_mut(), 0, 1, 1));
        assert!(!host.masked_sums(&rows, 0.0, ptr::null_mut(), 1));
        assert!(!host.fill_stream(&stream, DType::F64, 0, ptr::null_mut()));
        assert_eq!(host.fill_bounded(&stream, bounded, 0, ptr::null_mut(), 1), None);
        assert!(!host.register_blas(&BlasTable::default()));
    }
}
