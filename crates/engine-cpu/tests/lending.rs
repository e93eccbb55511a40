//! Memory of a device that others use, too: whatever either side does, both see the same values.

mod support;

use numelt_ir::{Axes, DType, Error, Op, Scalar};
use numelt_runtime::{
    ArrayView, Config, DeviceLoan, Engine, EngineSet, Home, Host, Input, Reason, Rule, Runtime, Stream,
};
use numelt_testing::far::{Far, FarOptions};
use numelt_testing::rng::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{engine, numbers};

fn far(options: FarOptions) -> Arc<dyn Engine> {
    Arc::new(Far::new(Arc::new(engine(1, 0)), options))
}

fn runtime(rule: Rule, devices: Vec<Arc<dyn Engine>>) -> Runtime {
    let host: Arc<dyn Host> = Arc::new(engine(2, 0));
    Runtime::new(EngineSet { host, devices, rule }, Config { at_once: 0, piecemeal: 0, ..Config::default() })
}

/// A runtime on which work runs on the host, and a device that is the home of some arrays.
fn with_home(options: FarOptions) -> (Runtime, Home) {
    let rt = runtime(Rule::Host, vec![]);
    let home = rt.home("far", |_, _| Ok(far(options))).unwrap();
    (rt, home)
}

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn array(rt: &Runtime, values: &[f64], home: Option<Home>) -> ArrayView {
    let view = ArrayView::fresh(rt, DType::F64, &[values.len() as i64]);
    let made = ArrayView { base: rt.filled(&bytes_of(values)).unwrap(), ..view };
    made.base.set_home(home);
    made
}

fn values(rt: &Runtime, a: &ArrayView) -> Vec<f64> {
    numbers(rt.read(&a.base).unwrap().bytes())
}

fn record(rt: &Runtime, op: Op, out: &ArrayView, a: &ArrayView, b: f64) -> numelt_ir::Result<()> {
    let ins = [Input::Array(a), Input::Const(Scalar::F64(b))];
    match rt.record(op, DType::F64, out, &ins, Axes::default())? {
        Some(reason) => rt.flush(reason),
        None => Ok(()),
    }
}

/// The other user of an array's memory on a device.
struct User(DeviceLoan);

impl User {
    fn of(rt: &Runtime, a: &ArrayView) -> User {
        User(rt.lend(&a.base, Some(Stream::Default)).unwrap())
    }

    #[expect(clippy::mut_from_ref, reason = "the memory is not the loan's own")]
    fn memory(&self) -> &mut [f64] {
        let address = std::ptr::with_exposed_provenance_mut::<f64>(self.0.address() as usize);
        // SAFETY: the device of the tests has finished its work when it is the other user's turn, and what it has lent
        // stays where it is.
        unsafe { std::slice::from_raw_parts_mut(address, self.0.base().nbytes() / 8) }
    }
}

#[test]
fn both_sides_see_what_either_writes() {
    let (rt, home) = with_home(FarOptions::default());
    let a = array(&rt, &[1.0, 2.0, 3.0], Some(home));
    let user = User::of(&rt, &a);
    assert_eq!(user.0.device(), (12, 0));
    assert_eq!(rt.shared_device(home).map(|device| (device.kind, device.number)), Some((12, 0)));
    assert_eq!(user.memory(), [1.0, 2.0, 3.0]);
    user.memory()[0] = 10.0;
    assert_eq!(values(&rt, &a), [10.0, 2.0, 3.0]);
    record(&rt, Op::Add, &a, &a, 1.0).unwrap();
    assert_eq!(user.memory(), [11.0, 3.0, 4.0]);
    user.memory()[1] = -1.0;
    let b = ArrayView::fresh(&rt, DType::F64, &[3]);
    record(&rt, Op::Multiply, &b, &a, 2.0).unwrap();
    assert_eq!(values(&rt, &b), [22.0, -2.0, 8.0]);
    rt.write(&a.base).unwrap().bytes_mut()[16..].copy_from_slice(&7.0_f64.to_le_bytes());
    assert_eq!(user.memory(), [11.0, -1.0, 7.0]);
    rt.overwrite(&a.base).unwrap().bytes_mut().copy_from_slice(&bytes_of(&[4.0, 5.0, 6.0]));
    assert_eq!(user.memory(), [4.0, 5.0, 6.0]);
    // two loans are of the same memory
    assert_eq!(User::of(&rt, &a).0.address(), user.0.address());
}

#[test]
fn work_may_stay_pending_again_after_the_last_loan() {
    let (rt, home) = with_home(FarOptions::default());
    let a = array(&rt, &[1.0, 2.0, 3.0], Some(home));
    let user = User::of(&rt, &a);
    assert!(a.base.is_visible() && a.base.device_place() == Some(user.0.address()));
    drop(user);
    record(&rt, Op::Add, &a, &a, 1.0).unwrap();
    assert!(!a.base.is_visible() && a.base.device_place().is_none());
    record(&rt, Op::Add, &a, &a, 1.0).unwrap();
    assert!(a.base.is_pending());
    assert_eq!(values(&rt, &a), [3.0, 4.0, 5.0]);
}

#[test]
fn an_array_without_values_gets_memory_to_lend() {
    let (rt, home) = with_home(FarOptions::default());
    let a = ArrayView::fresh(&rt, DType::F64, &[2]);
    a.base.set_home(Some(home));
    let user = User::of(&rt, &a);
    user.memory().copy_from_slice(&[1.0, 2.0]);
    assert_eq!(values(&rt, &a), [1.0, 2.0]);
}

#[test]
fn lent_memory_is_not_evicted() {
    const N: usize = 1000;
    let (rt, home) = with_home(FarOptions { memory: Some(8 * N * 5 / 2), ..FarOptions::default() });
    let a = array(&rt, &[1.0; N], Some(home));
    let user = User::of(&rt, &a);
    let others: Vec<ArrayView> = (0..4).map(|at| array(&rt, &[f64::from(at); N], Some(home))).collect();
    for other in &others {
        record(&rt, Op::Add, other, other, 1.0).unwrap();
        rt.flush(Reason::Explicit).unwrap();
    }
    assert!(rt.stats().evicted > 0);
    user.memory()[5] = 9.0;
    assert_eq!(values(&rt, &a)[4..7], [1.0, 9.0, 1.0]);
    for (at, other) in (1..).zip(&others) {
        assert_eq!(values(&rt, other), [f64::from(at); N]);
    }
    // with all memory lent, work runs on the host
    let second = array(&rt, &[2.0; N], Some(home));
    let second_user = User::of(&rt, &second);
    let sum = ArrayView::fresh(&rt, DType::F64, &[N as i64]);
    record(&rt, Op::Add, &sum, &a, 1.0).unwrap();
    assert_eq!(values(&rt, &sum)[4..7], [2.0, 10.0, 2.0]);
    let third = array(&rt, &[3.0; N], Some(home));
    assert!(matches!(rt.lend(&third.base, None), Err(Error::OutOfMemory(_))));
    assert_eq!(second_user.memory()[0], 2.0);
}

#[test]
fn engines_may_be_replaced_meanwhile() {
    let (rt, home) = with_home(FarOptions::default());
    let a = array(&rt, &[1.0, 2.0], Some(home));
    let user = User::of(&rt, &a);
    let host: Arc<dyn Host> = Arc::new(engine(2, 0));
    for devices in
        [vec![], vec![far(FarOptions::default())], vec![far(FarOptions { name: "near", ..FarOptions::default() })]]
    {
        let rule = if devices.is_empty() { Rule::Host } else { Rule::Always(0) };
        rt.reconfigure(Some(EngineSet { host: Arc::clone(&host), devices, rule }), rt.config());
        let before = user.memory()[0];
        record(&rt, Op::Add, &a, &a, 1.0).unwrap();
        assert_eq!(user.memory()[0], before + 1.0);
        user.memory()[1] = before;
        assert_eq!(values(&rt, &a), [before + 1.0, before]);
        // as an operand of work that runs elsewhere
        let near = array(&rt, &[0.0, 0.0], None);
        record(&rt, Op::Multiply, &near, &a, 2.0).unwrap();
        assert_eq!(values(&rt, &near), [2.0 * (before + 1.0), 2.0 * before]);
    }
}

#[test]
fn a_device_that_is_lost_is_an_error() {
    let (rt, home) = with_home(FarOptions { dies_after: Some(1), ..FarOptions::default() });
    let a = array(&rt, &[1.0, 2.0], Some(home));
    let user = User::of(&rt, &a);
    let sum = ArrayView::fresh(&rt, DType::F64, &[2]);
    record(&rt, Op::Add, &sum, &a, 1.0).unwrap_err();
    let error = rt.read(&a.base).unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error:?}");
    assert!(rt.lend(&a.base, None).is_err());
    drop(user);
    let b = array(&rt, &[1.0, 2.0], None);
    record(&rt, Op::Add, &b, &b, 1.0).unwrap();
    assert_eq!(values(&rt, &b), [2.0, 3.0]);
}

#[test]
fn values_that_cannot_return_are_an_error() {
    // the second upload fails: the first one was that of the values
    let (rt, home) = with_home(FarOptions { upload_fails_every: Some(2), ..FarOptions::default() });
    let a = array(&rt, &[1.0, 2.0], Some(home));
    let user = User::of(&rt, &a);
    rt.write(&a.base).unwrap().bytes_mut()[..8].copy_from_slice(&7.0_f64.to_le_bytes());
    assert!(rt.read(&a.base).is_err() && rt.lend(&a.base, None).is_err());
    assert!(record(&rt, Op::Add, &a, &a, 1.0).is_err());
    assert_eq!(user.memory(), [1.0, 2.0]);
}

/// The owner of adopted memory, which counts how often it was dropped.
struct Owner {
    dropped: Arc<AtomicUsize>,
    _memory: Vec<f64>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn memory_of_others_is_used_in_place_and_released_once() {
    let (rt, home) = with_home(FarOptions::default());
    let (dropped, mut memory) = (Arc::new(AtomicUsize::new(0)), vec![1.0, 2.0, 3.0]);
    let start = memory.as_mut_ptr();
    let owner = Box::new(Owner { dropped: Arc::clone(&dropped), _memory: memory });
    let place = (start.expose_provenance() as u64, 24);
    // SAFETY: the owner keeps the numbers, and only this thread uses them, after numelt's work.
    let base = unsafe { rt.adopt_on(home, place, Some(Stream::Default), owner) }.unwrap();
    let a = ArrayView { base, ..ArrayView::fresh(&rt, DType::F64, &[3]) };
    assert_eq!((a.base.home(), a.base.device_place()), (Some(home), Some(place.0)));
    record(&rt, Op::Add, &a, &a, 1.0).unwrap();
    // SAFETY: as above.
    let theirs = unsafe { std::slice::from_raw_parts_mut(start, 3) };
    assert_eq!(theirs, [2.0, 3.0, 4.0]);
    theirs[2] = 10.0;
    let b = ArrayView::fresh(&rt, DType::F64, &[3]);
    record(&rt, Op::Multiply, &b, &a, 2.0).unwrap();
    assert_eq!((values(&rt, &a), values(&rt, &b)), (vec![2.0, 3.0, 10.0], vec![4.0, 6.0, 20.0]));
    assert_eq!(rt.lend(&a.base, None).unwrap().address(), place.0);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(a);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
}

/// Whatever both sides do, in any order, they see the same values; also others that see memory on the host.
#[test]
fn random_histories_have_one_value() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let options = FarOptions { without: &[Op::Multiply], seed, ..FarOptions::default() };
        let device = Arc::new(Far::new(Arc::new(engine(1, 0)), options));
        let rt = runtime(Rule::Host, vec![]);
        let home = rt.home("far", |_, _| Ok(Arc::clone(&device) as _)).unwrap();
        if rng.below(2) == 0 {
            let second = far(FarOptions { name: "near", seed, ..FarOptions::default() });
            let host: Arc<dyn Host> = Arc::new(engine(2, 0));
            let set = EngineSet { host, devices: vec![second], rule: Rule::Always(0) };
            rt.reconfigure(Some(set), rt.config());
        }
        let n = [3, 700, 200_000][rng.below(3)];
        let mut model = vec![1.0; n];
        let a = array(&rt, &model, Some(home));
        let (mut users, mut exports) = (Vec::new(), Vec::new());
        for step in 0..30 {
            let (at, value) = (rng.below(n), f64::from(step) + 0.5);
            let action = rng.below(14);
            let case = format!("seed {seed}, step {step}, action {action}");
            match action {
                0 => users.push(User::of(&rt, &a)),
                1 => _ = users.pop(),
                2 => exports.push(rt.export(&a.base).unwrap()),
                3 => _ = exports.pop(),
                4 if !users.is_empty() => {
                    device.catch_up();
                    users[0].memory()[at] = value;
                    model[at] = value;
                }
                5 if !exports.is_empty() => {
                    let (next, last) = ((at + 1) % n, (at + 2) % n);
                    for place in [at, last] {
                        // SAFETY: the host's memory of the base, which nothing else uses at this moment.
                        unsafe { exports[0].ptr().cast::<f64>().add(place).write(value) };
                        model[place] = value;
                    }
                    if let Some(user) = users.first() {
                        device.catch_up();
                        user.memory()[next] = -value;
                        model[next] = -value;
                    }
                }
                6 => {
                    record(&rt, Op::Add, &a, &a, 1.0).unwrap();
                    model.iter_mut().for_each(|x| *x += 1.0);
                }
                7 => {
                    // the device cannot do this
                    record(&rt, Op::Multiply, &a, &a, 0.5).unwrap();
                    model.iter_mut().for_each(|x| *x *= 0.5);
                }
                8 => {
                    let mut guard = rt.write(&a.base).unwrap();
                    guard.bytes_mut()[8 * at..][..8].copy_from_slice(&value.to_le_bytes());
                    model[at] = value;
                }
                9 => {
                    let bytes = value.to_le_bytes();
                    if let Some(mut guard) = rt.write_part(&a.base, 8 * at, &bytes).unwrap() {
                        guard.bytes_mut()[8 * at..][..8].copy_from_slice(&bytes);
                    }
                    model[at] = value;
                }
                10 => {
                    let mut part = [0; 8];
                    if let Some(guard) = rt.read_part(&a.base, 8 * at, &mut part).unwrap() {
                        part.copy_from_slice(&guard.bytes()[8 * at..][..8]);
                    }
                    assert_eq!(f64::from_le_bytes(part), model[at], "{case}");
                }
                11 if !users.is_empty() => {
                    let place = users[0].memory().as_mut_ptr().wrapping_add(at).expose_provenance();
                    device.queue_for_others(move || {
                        // SAFETY: the memory of the loan, which nothing else uses when it is the others' turn.
                        unsafe { std::ptr::with_exposed_provenance_mut::<f64>(place).write(value) };
                    });
                    model[at] = value;
                }
                12 => {
                    let near = array(&rt, &vec![0.0; n], None);
                    record(&rt, Op::Add, &near, &a, 2.0).unwrap();
                    assert_eq!(values(&rt, &near)[at], model[at] + 2.0, "{case}");
                }
                _ => assert!(values(&rt, &a) == model, "{case}"),
            }
            if action != 11
                && let Some(user) = users.first()
            {
                rt.flush(Reason::Explicit).unwrap();
                // what was written to memory of the host is seen with numelt's next access
                if action == 5 {
                    drop(rt.read(&a.base).unwrap());
                }
                device.catch_up();
                assert!(user.memory() == model, "{case}");
            }
        }
        assert!(values(&rt, &a) == model, "seed {seed}");
    }
}
