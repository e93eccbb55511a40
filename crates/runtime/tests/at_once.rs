//! Which operations run when they are recorded and which stay pending, on an engine that computes nothing and has no
//! fast paths.

use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Config, Input, NullEngine, Reason, Runtime};
use std::sync::Arc;

/// Operations on at most this many elements run at once.
const FEW: i64 = 512;

fn runtime(change: impl FnOnce(&mut Config)) -> Runtime {
    let mut config = Config::default();
    change(&mut config);
    Runtime::new(Arc::new(NullEngine), config)
}

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

fn total(rt: &Runtime, a: &ArrayView) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &[1]);
    rt.record(Op::Sum, DType::F64, &out, &[Input::Array(a)], Axes::all(1)).unwrap();
    out
}

#[test]
fn few_elements_never_wait() {
    let rt = runtime(|_| ());
    let a = array(&rt, FEW);
    for turn in 1..50 {
        let b = sum(&rt, &a, &a);
        let c = total(&rt, &b);
        assert!(!b.base.is_pending() && !c.base.is_pending());
        assert_eq!(rt.stats().at_once, 2 * turn);
    }
    assert_eq!(rt.pending_work(), 0);
    assert_eq!(rt.stats().flushes.iter().sum::<u64>(), 0);
}

#[test]
fn more_elements_wait_where_the_engine_has_no_short_way() {
    let rt = runtime(|_| ());
    let a = array(&rt, FEW + 1);
    assert!(sum(&rt, &a, &a).base.is_pending());
    assert!(total(&rt, &a).base.is_pending());
    assert_eq!(rt.stats().at_once, 0);
}

#[test]
fn every_kind_of_operation_is_run() {
    let rt = runtime(|_| ());
    let (a, positions) = (array(&rt, 64), ArrayView::fresh(&rt, DType::I64, &[9]));
    rt.write(&positions.base).unwrap();
    let run = |op, dtype, shape: &[i64], ins: &[&ArrayView], axes| {
        let out = ArrayView::fresh(&rt, DType::F64, shape);
        let ins: Vec<Input<'_>> = ins.iter().map(|&view| Input::Array(view)).collect();
        rt.record(op, dtype, &out, &ins, axes).unwrap();
        assert!(!out.base.is_pending(), "{op:?}");
    };
    let matrix = |n: i64| ArrayView {
        shape: Dims::from_slice(&[n, 64 / n]),
        strides: Dims::from_slice(&[8 * (64 / n), 8]),
        ..a.clone()
    };
    // a source has the axes of the result after its own
    let source = ArrayView { shape: Dims::from_slice(&[64, 9]), strides: Dims::from_slice(&[8, 0]), ..a.clone() };
    run(Op::Gather, DType::F64, &[9], &[&source, &positions], Axes::default());
    run(Op::Cumsum, DType::F64, &[64], &[&a], Axes::default().with(0));
    run(Op::Matmul, DType::F64, &[4, 4], &[&matrix(4), &matrix(16)], Axes::default());
    run(Op::Copy, DType::F64, &[64], &[&a], Axes::default());
    assert_eq!(rt.stats().at_once, 4);
}

#[test]
fn a_large_operation_that_waits_does_not_keep_others() {
    let rt = runtime(|_| ());
    let (large, few) = (array(&rt, 100_000), array(&rt, 8));
    let waits = sum(&rt, &large, &large);
    let (pending, reduced) = (rt.pending_work(), total(&rt, &waits));
    assert!(reduced.base.is_pending());
    assert!(!sum(&rt, &few, &few).base.is_pending());
    // operations that read the pending result wait, too
    let later = sum(&rt, &reduced, &reduced);
    assert!(later.base.is_pending() && rt.pending_work() > pending);
    rt.write(&later.base).unwrap();
    assert!(!later.base.is_pending());
}

#[test]
fn walking_through_a_pending_array_runs_it() {
    let rt = runtime(|_| ());
    let large = array(&rt, 100_000);
    let waits = sum(&rt, &large, &large);
    let row = |at: i64| ArrayView { offset: 64 * at, shape: Dims::from_slice(&[8]), ..waits.clone() };
    let negate = |at| {
        let row = row(at);
        rt.record(Op::Negative, DType::F64, &row, &[Input::Array(&row)], Axes::default()).unwrap()
    };
    let wanted: Vec<_> = (0..17).map(negate).collect();
    assert!(wanted[..16].iter().all(Option::is_none) && rt.stats().at_once == 0);
    assert_eq!(wanted[16], Some(Reason::Instructions));
    rt.flush(Reason::Instructions).unwrap();
    assert_eq!(negate(17), None);
    assert_eq!(rt.stats().at_once, 1);
    assert!(!waits.base.is_pending());
}

#[test]
fn setting_the_edges_of_a_pending_array_leaves_it_pending() {
    let rt = runtime(|_| ());
    let mut large = array(&rt, 100_000);
    for _ in 0..20 {
        large = sum(&rt, &large, &large);
        for at in [0, 99_999] {
            let edge = ArrayView { offset: 8 * at, shape: Dims::from_slice(&[1]), ..large.clone() };
            let zero = Input::Const(Scalar::F64(0.0));
            let asked = rt.record(Op::Copy, DType::F64, &edge, &[zero], Axes::default()).unwrap();
            assert_eq!(asked, None);
        }
    }
    assert!(large.base.is_pending());
}

#[test]
fn what_pending_work_reads_is_not_overwritten() {
    let rt = runtime(|_| ());
    let (large, few) = (array(&rt, 100_000), array(&rt, 1));
    let waits = sum(&rt, &large, &few);
    rt.record(Op::Add, DType::F64, &few, &[Input::Array(&few), Input::Array(&few)], Axes::default()).unwrap();
    assert!(waits.base.is_pending() && few.base.is_pending());
    assert_eq!(rt.stats().at_once, 0);
}

#[test]
fn whoever_looks_sees_all_of_it() {
    let rt = runtime(|_| ());
    let a = array(&rt, 8);
    rt.inspect_start();
    assert!(sum(&rt, &a, &a).base.is_pending());
    rt.inspect_stop();
    rt.flush(numelt_runtime::Reason::Explicit).unwrap();
    assert!(!sum(&rt, &a, &a).base.is_pending());
    rt.explain(None).unwrap();
    assert!(sum(&rt, &a, &a).base.is_pending());
    rt.reconfigure(None, Config { at_once: 4, ..Config::default() });
    assert!(sum(&rt, &a, &a).base.is_pending());
    rt.reconfigure(None, Config { at_once: 0, ..Config::default() });
    assert!(total(&rt, &a).base.is_pending());
}
