//! Guards of values, with threads that record, run, read and write at the same time and share no other lock.

mod recording;
mod support;

use numelt_ir::{Axes, DType, Error, Op, Scalar};
use numelt_runtime::{ArrayView, Config, Engine, EngineSet, Host, Input, Reason, Rule, Runtime};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program};
use numelt_testing::far::{Far, FarOptions};
use numelt_testing::generator::{Limits, generate};
use numelt_testing::rng::Rng;
use recording::record;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use support::{engine, numbers};

/// Runtimes of all kinds: their operations run at once, are recorded, are planned, or run on a device.
fn runtimes() -> Vec<Runtime> {
    let recorded = || Config { at_once: 0, piecemeal: 0, ..Config::default() };
    let near = |config| Runtime::new(Arc::new(engine(2, 0)) as Arc<dyn Host>, config);
    vec![
        near(Config::default()),
        near(Config { at_once: 0, ..Config::default() }),
        near(recorded()),
        Runtime::new(far(), recorded()),
    ]
}

fn far() -> EngineSet {
    let device: Arc<dyn Engine> = Arc::new(Far::new(Arc::new(engine(1, 0)), FarOptions::default()));
    EngineSet { host: Arc::new(engine(2, 0)), devices: vec![device], rule: Rule::Always(0) }
}

/// An array all of whose elements are this number.
fn array(rt: &Runtime, value: f64, n: usize) -> ArrayView {
    let view = ArrayView::fresh(rt, DType::F64, &[n as i64]);
    rt.overwrite(&view.base).unwrap().bytes_mut().copy_from_slice(&value.to_ne_bytes().repeat(n));
    view
}

fn values(rt: &Runtime, a: &ArrayView) -> Vec<f64> {
    numbers(rt.read(&a.base).unwrap().bytes())
}

fn record_to(rt: &Runtime, op: Op, out: &ArrayView, a: &ArrayView, b: f64) {
    let ins = [Input::Array(a), Input::Const(Scalar::F64(b))];
    rt.record(op, DType::F64, out, &ins, Axes::default()).unwrap();
}

fn apply(rt: &Runtime, op: Op, a: &ArrayView, b: f64) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    record_to(rt, op, &out, a, b);
    out
}

#[test]
fn a_flush_that_writes_waits_for_readers() {
    for rt in &runtimes() {
        let x = array(rt, 1.0, 100);
        let (recorded, until_recorded) = channel();
        let ran = AtomicU64::new(0);
        thread::scope(|scope| {
            let guard = rt.read(&x.base).unwrap();
            scope.spawn(|| {
                record_to(rt, Op::Add, &x, &x, 1.0);
                recorded.send(()).unwrap();
                rt.flush(Reason::Explicit).unwrap();
                ran.store(1, Ordering::Release);
            });
            until_recorded.recv().unwrap();
            for _ in 0..1000 {
                thread::yield_now();
                assert!(numbers(guard.bytes()).iter().all(|&value| value == 1.0));
            }
            assert_eq!(ran.load(Ordering::Acquire), 0);
            assert!(x.base.is_pending());
        });
        assert_eq!(values(rt, &x), [2.0; 100]);
    }
}

#[test]
fn a_flush_that_only_reads_does_not_wait_for_readers() {
    for rt in &runtimes() {
        let x = array(rt, 1.0, 1000);
        let guard = rt.read(&x.base).unwrap();
        let y = apply(rt, Op::Add, &x, 1.0);
        rt.flush(Reason::Explicit).unwrap();
        assert_eq!(values(rt, &y), [2.0; 1000]);
        assert_eq!(numbers(guard.bytes()), [1.0; 1000]);
    }
}

#[test]
fn a_flush_that_reads_waits_for_a_writer() {
    for rt in &runtimes() {
        let x = array(rt, 1.0, 100);
        let (begun, until_begun) = channel();
        thread::scope(|scope| {
            let (rt, x) = (rt, &x);
            scope.spawn(move || {
                let mut guard = rt.write(&x.base).unwrap();
                begun.send(()).unwrap();
                for chunk in guard.bytes_mut().chunks_mut(8) {
                    thread::yield_now();
                    chunk.copy_from_slice(&5f64.to_ne_bytes());
                }
            });
            until_begun.recv().unwrap();
            let y = apply(rt, Op::Multiply, x, 2.0);
            assert_eq!(values(rt, &y), [10.0; 100]);
        });
    }
}

#[test]
fn writers_take_turns() {
    for rt in &runtimes() {
        let x = array(rt, 0.0, 50);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let mut guard = rt.write(&x.base).unwrap();
                        let now = numbers(guard.bytes());
                        thread::yield_now();
                        let more: Vec<u8> = now.iter().flat_map(|value| (value + 1.0).to_ne_bytes()).collect();
                        guard.bytes_mut().copy_from_slice(&more);
                    }
                });
            }
        });
        assert_eq!(values(rt, &x), [60.0; 50]);
    }
}

#[test]
fn a_thread_that_waits_for_itself_is_told() {
    for rt in &runtimes() {
        let (x, y) = (array(rt, 1.0, 100), array(rt, 1.0, 100));
        let guard = rt.read(&x.base).unwrap();
        record_to(rt, Op::Add, &x, &x, 1.0);
        assert_eq!(rt.flush(Reason::Explicit), Err(Error::Busy));
        assert_eq!(rt.read(&x.base).err(), Some(Error::Busy));
        assert_eq!(rt.write(&x.base).err(), Some(Error::Busy));
        assert_eq!(rt.overwrite(&x.base).err(), Some(Error::Busy));
        assert!(rt.export(&x.base).is_err());
        // the queue does not use the array
        assert_eq!(values(rt, &y), [1.0; 100]);
        drop(guard);
        assert_eq!(values(rt, &x), [2.0; 100]);
        let guard = rt.write(&y.base).unwrap();
        assert_eq!(rt.read(&y.base).err(), Some(Error::Busy));
        assert_eq!(rt.write(&y.base).err(), Some(Error::Busy));
        assert_eq!(rt.export(&y.base).err(), Some(Error::Busy));
        drop(guard);
        assert!(rt.export(&y.base).is_ok());
    }
}

#[test]
fn threads_that_wait_for_each_other_go_on() {
    let rt = &runtimes()[0];
    let bases = [array(rt, 0.0, 10), array(rt, 0.0, 10)];
    let (barrier, refused) = (Barrier::new(2), AtomicUsize::new(0));
    thread::scope(|scope| {
        for own in 0..2 {
            let (bases, barrier, refused) = (&bases, &barrier, &refused);
            scope.spawn(move || {
                let guard = rt.write(&bases[own].base).unwrap();
                barrier.wait();
                match rt.write(&bases[1 - own].base) {
                    Ok(_) => {}
                    Err(Error::Busy) => _ = refused.fetch_add(1, Ordering::Relaxed),
                    Err(other) => panic!("{other}"),
                }
                drop(guard);
            });
        }
    });
    assert_eq!(refused.into_inner(), 1);
}

#[test]
fn recording_never_waits_for_guards() {
    let rt = &runtimes()[0];
    let x = array(rt, 1.0, 10);
    let guard = rt.read(&x.base).unwrap();
    // without the guard, it would run at once
    record_to(rt, Op::Add, &x, &x, 1.0);
    assert!(x.base.is_pending());
    assert_eq!(numbers(guard.bytes()), [1.0; 10]);
    // more operations than a batch holds
    let most = rt.config().max_pending;
    for _ in 0..most {
        record_to(rt, Op::Add, &x, &x, 1.0);
    }
    drop(guard);
    assert_eq!(values(rt, &x), [2.0 + most as f64; 10]);
    let mut guard = rt.write(&x.base).unwrap();
    let y = apply(rt, Op::Add, &x, 1.0);
    assert!(y.base.is_pending());
    guard.bytes_mut().copy_from_slice(&4f64.to_ne_bytes().repeat(10));
    drop(guard);
    assert_eq!(values(rt, &y), [5.0; 10]);
}

#[test]
fn overwriting_drops_nothing_that_others_read() {
    for rt in &runtimes() {
        let x = array(rt, 1.0, 3000);
        let y = apply(rt, Op::Multiply, &x, 3.0);
        // a value of x that a plan may put off
        let kept = apply(rt, Op::Add, &x, 2.0);
        rt.flush(Reason::Explicit).unwrap();
        let z = apply(rt, Op::Add, &x, 4.0);
        rt.overwrite(&x.base).unwrap().bytes_mut().copy_from_slice(&7f64.to_ne_bytes().repeat(3000));
        let after = apply(rt, Op::Add, &x, 1.0);
        for (array, value) in [(&y, 3.0), (&kept, 3.0), (&z, 5.0), (&x, 7.0), (&after, 8.0)] {
            assert!(values(rt, array).iter().all(|&found| found == value), "{value}");
        }
    }
}

#[test]
fn what_is_overwritten_is_not_fetched_from_a_device() {
    let rt = &Runtime::new(far(), Config { at_once: 0, piecemeal: 0, ..Config::default() });
    let (x, written) = (array(rt, 1.0, 1000), array(rt, 1.0, 1000));
    for array in [&x, &written] {
        record_to(rt, Op::Add, array, array, 1.0);
    }
    rt.flush(Reason::Explicit).unwrap();
    let moved = || rt.stats().bytes_back;
    let before = moved();
    rt.overwrite(&x.base).unwrap().bytes_mut().fill(0);
    assert_eq!(moved(), before);
    rt.write(&written.base).unwrap();
    assert!(moved() > before);
    assert_eq!((values(rt, &x)[9], values(rt, &written)[9]), (0.0, 2.0));
}

#[test]
fn a_guarded_base_keeps_its_memory_when_a_device_makes_room() {
    let options = FarOptions { memory: Some(3 * 80_000), ..FarOptions::default() };
    let device: Arc<dyn Engine> = Arc::new(Far::new(Arc::new(engine(1, 0)), options));
    let set = EngineSet { host: Arc::new(engine(2, 0)), devices: vec![device], rule: Rule::Always(0) };
    let rt = &Runtime::new(set, Config { at_once: 0, piecemeal: 0, ..Config::default() });
    let x = array(rt, 1.0, 10_000);
    let sum = apply(rt, Op::Add, &x, 1.0);
    rt.flush(Reason::Explicit).unwrap();
    let guard = rt.read(&x.base).unwrap();
    let others: Vec<ArrayView> = (0..6).map(|n| apply(rt, Op::Add, &sum, f64::from(n))).collect();
    for other in &others {
        rt.flush(Reason::Explicit).unwrap();
        assert_eq!(numbers(guard.bytes())[77], 1.0);
        drop(rt.read(&other.base).unwrap());
    }
    drop(guard);
    assert_eq!(values(rt, &x)[5], 1.0);
}

#[test]
fn a_look_in_passing_is_declined_while_the_values_are_not_idle() {
    // SAFETY: one thread calls the runtime.
    let peek = |a: &ArrayView| unsafe { a.base.peek(|bytes| numbers(bytes)[0]) };
    // SAFETY: as above.
    let poke = |a: &ArrayView| unsafe { a.base.poke(|bytes| bytes[..8].copy_from_slice(&9f64.to_ne_bytes())) };
    for rt in &runtimes() {
        let x = array(rt, 1.0, 1000);
        assert_eq!(peek(&x), Some(1.0));
        let reader = rt.read(&x.base).unwrap();
        assert_eq!((peek(&x), poke(&x)), (Some(1.0), None));
        drop(reader);
        let writer = rt.write(&x.base).unwrap();
        assert_eq!((peek(&x), poke(&x)), (None, None));
        drop(writer);
        assert_eq!((poke(&x), peek(&x)), (Some(()), Some(9.0)));
    }
    let rt = &Runtime::new(far(), Config { at_once: 0, piecemeal: 0, ..Config::default() });
    let x = array(rt, 1.0, 1000);
    let y = apply(rt, Op::Add, &x, 1.0);
    assert_eq!((peek(&x), poke(&x)), (Some(1.0), None), "it is going to be read");
    assert_eq!((peek(&y), poke(&y)), (None, None), "it is pending");
    rt.flush(Reason::Explicit).unwrap();
    assert_eq!((peek(&y), poke(&y)), (None, None), "it is on the device");
    drop(rt.read(&y.base).unwrap());
    assert_eq!(peek(&y), Some(2.0));
}

/// Arrays that several threads add to: all elements of one are equal at any time.
struct Shared {
    arrays: Vec<ArrayView>,
    added: Vec<AtomicU64>,
}

impl Shared {
    fn note(&self, at: usize, more: u64) {
        self.added[at].fetch_add(more, Ordering::Relaxed);
    }
}

/// One random step of a thread: it adds to a shared array (by recorded work or through a guard), reads one, runs
/// pending work, or compares a program of its own with the interpreter.
fn step(rt: &Runtime, shared: &Shared, rng: &mut Rng) {
    let at = rng.below(shared.arrays.len());
    let (array, more) = (&shared.arrays[at], 1 + rng.bits() % 5);
    match rng.below(7) {
        0 | 1 => {
            shared.note(at, more);
            record_to(rt, Op::Add, array, array, more as f64);
        }
        2 => {
            shared.note(at, more);
            let mut guard = rt.write(&array.base).unwrap();
            let now = numbers(guard.bytes());
            for (place, value) in guard.bytes_mut().chunks_mut(8).zip(&now) {
                place.copy_from_slice(&(value + more as f64).to_ne_bytes());
            }
        }
        3 => {
            let guard = rt.read(&array.base).unwrap();
            let now = numbers(guard.bytes());
            assert!(now.iter().all(|&value| value == now[0]));
            thread::yield_now();
            assert_eq!(now, numbers(guard.bytes()));
        }
        4 => {
            // a copy of an intermediate value of the array
            let copy = apply(rt, Op::Add, array, 0.0);
            let found = values(rt, &copy);
            assert!(found.iter().all(|&value| value == found[0]));
        }
        5 => rt.flush(Reason::Explicit).unwrap(),
        _ => {
            let seed = rng.bits();
            let program = generate(seed, &Limits::default());
            let options = CheckOptions { seed, tolerance: Tolerance::ENGINE };
            let outcome = check_program(&program, &options, &mut |program, memory| record(rt, program, memory));
            outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        }
    }
}

#[test]
fn random_work_of_several_threads_agrees_with_the_interpreter() {
    for (number, rt) in (0..).zip(&runtimes()) {
        for threads in 2..=4 {
            let sizes = [8, 700, 3000];
            let arrays: Vec<ArrayView> = sizes.iter().map(|&n| array(rt, 0.0, n)).collect();
            let shared = Shared { added: arrays.iter().map(|_| AtomicU64::new(0)).collect(), arrays };
            thread::scope(|scope| {
                for thread in 0..threads {
                    let (shared, mut rng) = (&shared, Rng::new(number * 100 + threads * 10 + thread));
                    scope.spawn(move || (0..100).for_each(|_| step(rt, shared, &mut rng)));
                }
            });
            for (array, added) in shared.arrays.iter().zip(&shared.added) {
                let sum = added.load(Ordering::Relaxed) as f64;
                assert!(values(rt, array).iter().all(|&value| value == sum), "{threads} threads");
            }
        }
    }
}
