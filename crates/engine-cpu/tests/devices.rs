//! Runtimes with devices whose memory the host cannot read have the reference interpreter's bits, wherever steps run.

mod recording;
mod support;

use numelt_ir::{Axes, DType, Error, Op, Scalar};
use numelt_runtime::{ArrayView, Config, Engine, EngineSet, Host, Input, Rates, Reason, Rule, Runtime};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program};
use numelt_testing::engine::{Tested, conforms};
use numelt_testing::far::{Far, FarOptions};
use numelt_testing::generator::{Limits, generate};
use recording::record;
use std::sync::Arc;
use support::{engine, numbers};

/// The number of random programs of each test; `NUMELT_PROGRAMS` sets it.
fn programs() -> u64 {
    std::env::var("NUMELT_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000)
}

fn set(rule: Rule, devices: Vec<FarOptions>) -> EngineSet {
    let host: Arc<dyn Host> = Arc::new(engine(2, 0));
    let inner: Arc<dyn Engine> = Arc::new(engine(1, 0));
    let far = |options| Arc::new(Far::new(Arc::clone(&inner), options)) as Arc<dyn Engine>;
    EngineSet { host, devices: devices.into_iter().map(far).collect(), rule }
}

fn runtime(rule: Rule, devices: Vec<FarOptions>) -> Runtime {
    Runtime::new(set(rule, devices), Config { at_once: 0, piecemeal: 0, ..Config::default() })
}

fn check(rt: &Runtime, seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let program = generate(seed, &Limits::default());
        let options = CheckOptions { seed, tolerance: Tolerance::ENGINE };
        let outcome = check_program(&program, &options, &mut |program, memory| record(rt, program, memory));
        outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
}

#[test]
fn the_device_conforms() {
    conforms(Tested::device(&Far::new(Arc::new(engine(1, 0)), FarOptions::default())), 1000);
}

#[test]
fn random_programs_on_a_device() {
    let rt = runtime(Rule::Always(0), vec![FarOptions::default()]);
    check(&rt, 0..programs() / 2);
    let stats = rt.stats();
    assert!(stats.on_devices > stats.kernels / 2, "{stats:?}");
}

#[test]
fn random_programs_over_two_devices_and_the_host() {
    let second = FarOptions { name: "further", seed: 2, without: &[Op::Multiply, Op::Sum], ..FarOptions::default() };
    let rt = runtime(Rule::Random(5), vec![FarOptions::default(), second]);
    check(&rt, 0..programs());
    let stats = rt.stats();
    assert!(stats.on_devices > 0 && stats.on_devices < stats.kernels + stats.calls, "{stats:?}");
}

#[test]
fn random_programs_over_two_devices_and_the_host_by_cost() {
    let second = FarOptions { name: "further", seed: 2, without: &[Op::Multiply, Op::Sum], ..FarOptions::default() };
    let sets = || set(Rule::Cost, vec![FarOptions::default(), second.clone()]);
    let recorded = Config { at_once: 0, piecemeal: 0, ..Config::default() };
    // operations on few elements run on the host in between
    let mixed = Config { at_once: 8, piecemeal: 8, ..Config::default() };
    for config in [recorded, mixed] {
        let rt = Runtime::new(sets(), config);
        let host = Rates { launch: 10.0, byte: 1.0, work: 1.0, serial: 1.0, upload: 0.0, download: 0.0, latency: 0.0 };
        let far = Rates { byte: 0.2, work: 0.6, serial: 5.0, upload: 0.3, download: 0.3, latency: 10.0, ..host };
        let further = Rates { byte: 0.4, work: 0.2, upload: 0.1, ..far };
        rt.use_rates(&[host, far, further]);
        check(&rt, 0..programs() / 2);
        let stats = rt.stats();
        assert!(stats.on_devices > 100 && stats.on_devices < stats.kernels + stats.calls, "{stats:?}");
    }
}

fn array(rt: &Runtime, values: &[f64]) -> ArrayView {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let view = ArrayView::fresh(rt, DType::F64, &[values.len() as i64]);
    ArrayView { base: rt.filled(&bytes).unwrap(), ..view }
}

fn values(rt: &Runtime, a: &ArrayView) -> numelt_ir::Result<Vec<f64>> {
    Ok(numbers(rt.read(&a.base)?.bytes()))
}

fn apply(rt: &Runtime, op: Op, a: &ArrayView, b: f64) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    rt.record(op, DType::F64, &out, &[Input::Array(a), Input::Const(Scalar::F64(b))], Axes::default()).unwrap();
    out
}

/// Sets an element as a front end does: where the values are, or on the host. Returns whether it was set elsewhere.
fn set_element(rt: &Runtime, a: &ArrayView, at: usize, value: f64) -> bool {
    let (at, value) = (at * 8, value.to_le_bytes());
    let guard = rt.write_part(&a.base, at, &value).unwrap();
    let elsewhere = guard.is_none();
    if let Some(mut guard) = guard {
        guard.bytes_mut()[at..][..8].copy_from_slice(&value);
    }
    elsewhere
}

#[test]
fn an_element_is_set_where_the_values_are_and_other_copies_are_stale() {
    const N: usize = 200_000;
    let second = FarOptions { name: "further", seed: 2, ..FarOptions::default() };
    for seed in 0..8 {
        let rt = runtime(Rule::Random(seed), vec![FarOptions::default(), second.clone()]);
        let a = apply(&rt, Op::Add, &array(&rt, &[1.0; N]), 1.0);
        // what is recorded before sees the old value, and what is recorded after the new one, on any device
        for step in 0..6_u32 {
            let before = apply(&rt, Op::Multiply, &a, 2.0);
            set_element(&rt, &a, 7, f64::from(step));
            let after = apply(&rt, Op::Multiply, &a, 3.0);
            rt.flush(Reason::Explicit).unwrap();
            let old = if step == 0 { 2.0 } else { f64::from(step - 1) };
            assert_eq!(values(&rt, &before).unwrap()[6..9], [4.0, 2.0 * old, 4.0]);
            assert_eq!(values(&rt, &after).unwrap()[6..9], [6.0, 3.0 * f64::from(step), 6.0]);
        }
    }
}

#[test]
fn of_many_elements_most_are_set_on_the_host() {
    // every second transfer of an element fails, which leaves the array at home
    for fails in [None, Some(2)] {
        let options = FarOptions { upload_fails_every: fails, ..FarOptions::default() };
        let rt = runtime(Rule::Always(0), vec![options]);
        let a = ArrayView::fresh(&rt, DType::F64, &[200_000]);
        let one = Input::Const(Scalar::F64(1.0));
        rt.record(Op::Copy, DType::F64, &a, &[one], Axes::default()).unwrap();
        rt.flush(Reason::Explicit).unwrap();
        let elsewhere = (0..100).filter(|&at| set_element(&rt, &a, at, at as f64)).count();
        assert!((1..7).contains(&elsewhere), "{elsewhere}");
        let values = values(&rt, &a).unwrap();
        assert!((0..100).all(|at| values[at] == at as f64) && values[100..].iter().all(|&value| value == 1.0));
    }
}

#[test]
fn two_runtimes_work_side_by_side() {
    let (far, near) = (runtime(Rule::Always(0), vec![FarOptions::default()]), runtime(Rule::Host, vec![]));
    std::thread::scope(|scope| {
        for rt in [&far, &near] {
            scope.spawn(move || {
                let mut x = array(rt, &[1.0; 1000]);
                for _ in 0..200 {
                    x = apply(rt, Op::Add, &x, 1.0);
                    rt.flush(Reason::Explicit).unwrap();
                }
                assert!(values(rt, &x).unwrap().iter().all(|&value| value == 201.0));
            });
        }
    });
    assert!(far.stats().on_devices >= 200 && near.stats().on_devices == 0);
}

#[test]
fn what_a_device_has_no_room_for_moves_to_the_host() {
    let small = FarOptions { memory: Some(40_000), ..FarOptions::default() };
    let rt = runtime(Rule::Always(0), vec![small]);
    let sum = |n| {
        let out = apply(&rt, Op::Add, &array(&rt, &[f64::from(n); 1000]), 0.5);
        rt.flush(Reason::Explicit).unwrap();
        out
    };
    let arrays: Vec<ArrayView> = (0..20).map(sum).collect();
    // an array that does not fit into the device's memory is computed on the host
    let large = apply(&rt, Op::Multiply, &array(&rt, &[2.0; 10_000]), 3.0);
    assert!(values(&rt, &large).unwrap().iter().all(|&value| value == 6.0));
    for (n, a) in arrays.iter().enumerate() {
        assert!(values(&rt, a).unwrap().iter().all(|&value| value == n as f64 + 0.5));
    }
    let stats = rt.stats();
    assert!(stats.evicted > 0 && stats.on_devices > 0 && stats.declined > 0, "{stats:?}");
}

#[test]
fn a_lost_device_is_an_error_where_its_values_are_read_and_nowhere_else() {
    let mortal = FarOptions { dies_after: Some(3), ..FarOptions::default() };
    let rt = runtime(Rule::Always(0), vec![mortal]);
    let start = array(&rt, &[1.0; 1000]);
    let kept: Vec<ArrayView> = (0..3)
        .map(|_| {
            let out = apply(&rt, Op::Add, &start, 1.0);
            rt.flush(Reason::Explicit).unwrap();
            out
        })
        .collect();
    // everything that is computed from now on runs on the host
    let later = apply(&rt, Op::Add, &start, 2.0);
    assert_eq!(values(&rt, &later).unwrap()[7], 3.0);
    assert_eq!(values(&rt, &start).unwrap()[7], 1.0);
    assert!(kept[..2].iter().all(|a| matches!(values(&rt, a), Err(Error::Lost(_)))));
    // the device died while it computed the third result, which needs no value from the device
    assert_eq!(values(&rt, &kept[2]).unwrap()[7], 2.0);
    let of_lost = apply(&rt, Op::Add, &kept[0], 1.0);
    assert!(matches!(values(&rt, &of_lost), Err(Error::Lost(_))));
    assert_eq!(values(&rt, &apply(&rt, Op::Multiply, &later, 2.0)).unwrap()[7], 6.0);
}

#[test]
fn a_failed_upload_has_the_work_done_on_the_host() {
    let clumsy = FarOptions { upload_fails_every: Some(2), ..FarOptions::default() };
    let rt = runtime(Rule::Always(0), vec![clumsy]);
    for n in 0..20 {
        let sum = apply(&rt, Op::Add, &array(&rt, &[f64::from(n); 500]), 1.0);
        assert!(values(&rt, &sum).unwrap().iter().all(|&value| value == f64::from(n) + 1.0));
    }
    let stats = rt.stats();
    assert!(stats.on_devices == 10 && stats.declined == 10, "{stats:?}");
}

#[test]
fn memory_that_others_see_is_written_back_before_a_flush_returns() {
    let rt = runtime(Rule::Always(0), vec![FarOptions::default()]);
    let mut foreign = vec![1f64; 100];
    // SAFETY: `foreign` outlives every use of the base below.
    let base = unsafe { rt.adopt(foreign.as_mut_ptr().cast(), 800, Box::new(()), true) };
    let a = ArrayView { base, ..ArrayView::fresh(&rt, DType::F64, &[100]) };
    for round in 2..5 {
        rt.record(Op::Add, DType::F64, &a, &[Input::Array(&a), Input::Const(Scalar::F64(1.0))], Axes::default())
            .unwrap();
        rt.flush(Reason::Visible).unwrap();
        // SAFETY: the memory is adopted, and nothing is pending on it.
        let seen = unsafe { std::slice::from_raw_parts(foreign.as_ptr(), 100) };
        assert!(seen.iter().all(|&value| value == f64::from(round)));
    }
    let b = apply(&rt, Op::Add, &array(&rt, &[1.0; 100]), 1.0);
    let export = rt.export(&b.base).unwrap();
    // SAFETY: the export keeps the memory in place.
    let seen = || unsafe { std::slice::from_raw_parts(export.ptr().cast::<f64>(), 100) }.to_vec();
    assert_eq!(seen(), [2.0; 100]);
    rt.record(Op::Multiply, DType::F64, &b, &[Input::Array(&b), Input::Const(Scalar::F64(4.0))], Axes::default())
        .unwrap();
    rt.flush(Reason::Visible).unwrap();
    assert_eq!(seen(), [8.0; 100]);
    // the export's owner writes to the memory, so the device's copy is stale
    // SAFETY: the export keeps the memory in place, and nothing is pending on it.
    unsafe { export.ptr().cast::<f64>().write(1.0) };
    assert_eq!(values(&rt, &apply(&rt, Op::Add, &b, 0.0)).unwrap()[..2], [1.0, 8.0]);
    assert!(rt.stats().on_devices >= 6);
}

#[test]
fn an_export_keeps_its_memory_while_a_device_writes_the_base() {
    let rt = runtime(Rule::Always(0), vec![FarOptions::default()]);
    let (a, b) = (array(&rt, &[1.0; 100]), array(&rt, &[2.0; 100]));
    let export = rt.export(&a.base).unwrap();
    for round in 1..4 {
        // the memory of `b` is free when the values of `a` return, and has the right size for them
        for array in [&a, &b] {
            let by = Input::Const(Scalar::F64(2.0));
            rt.record(Op::Multiply, DType::F64, array, &[Input::Array(array), by], Axes::default()).unwrap();
        }
        rt.flush(Reason::Visible).unwrap();
        // SAFETY: the export keeps the memory in place, and nothing is pending on it.
        let seen = unsafe { std::slice::from_raw_parts(export.ptr().cast::<f64>(), 100) }.to_vec();
        assert_eq!(seen, [f64::from(1 << round); 100]);
        assert_eq!(export.ptr().addr(), rt.read(&a.base).unwrap().bytes().as_ptr().addr());
        assert_eq!(values(&rt, &b).unwrap(), [f64::from(2 << round); 100]);
    }
    assert!(rt.stats().on_devices >= 3);
}

#[test]
fn conditions_are_reported_from_devices() {
    let rt = runtime(Rule::Always(0), vec![FarOptions::default()]);
    let zero = array(&rt, &[0.0; 1000]);
    let out = ArrayView::fresh(&rt, DType::F64, &[1000]);
    let ins = [Input::Const(Scalar::F64(1.0)), Input::Array(&zero)];
    rt.record(Op::Divide, DType::F64, &out, &ins, Axes::default()).unwrap();
    rt.flush(Reason::Explicit).unwrap();
    let warnings: Vec<String> = rt.take_warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["divide by zero encountered in divide"]);
    assert!(values(&rt, &out).unwrap().iter().all(|value| value.is_infinite()) && rt.stats().on_devices == 1);
}
