//! Values that their holders are about to release, and values that are put off because they may not be needed: results
//! are correct, whether or not the values are needed later.

mod support;

use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, Config, Host, Input, Reason, Runtime};
use std::sync::Arc;
use support::{engine, numbers};

const N: i64 = 4000;

fn runtime() -> Runtime {
    let config = Config { put_off: 1, at_once: 0, piecemeal: 0, ..Config::default() };
    Runtime::new(Arc::new(engine(2, 0)) as Arc<dyn Host>, config)
}

fn range(rt: &Runtime) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &[N]);
    let ins = [Input::Const(Scalar::F64(0.0)), Input::Const(Scalar::F64(1.0))];
    rt.record(Op::Range, DType::F64, &out, &ins, Axes::default()).unwrap();
    rt.flush(Reason::Explicit).unwrap();
    out
}

/// `exp(x)`, which is only computed again if the value is about to be released.
fn exp(rt: &Runtime, x: &ArrayView) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &[N]);
    let scaled = ArrayView::fresh(rt, DType::F64, &[N]);
    let thousandth = Input::Const(Scalar::F64(0.001));
    rt.record(Op::Multiply, DType::F64, &scaled, &[Input::Array(x), thousandth], Axes::default()).unwrap();
    rt.record(Op::Exp, DType::F64, &out, &[Input::Array(&scaled)], Axes::default()).unwrap();
    out
}

fn sum(rt: &Runtime, x: &ArrayView) -> f64 {
    let out = ArrayView::fresh(rt, DType::F64, &[1]);
    rt.record(Op::Sum, DType::F64, &out, &[Input::Array(x)], Axes::all(1)).unwrap();
    values(rt, &out)[0]
}

fn values(rt: &Runtime, x: &ArrayView) -> Vec<f64> {
    numbers(rt.read(&x.base).unwrap().bytes())
}

fn expected() -> Vec<f64> {
    (0..N).map(|i| (i as f64 * 0.001).exp()).collect()
}

fn is_close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * b.abs())
}

#[test]
fn a_value_that_is_dropped_is_never_made() {
    let rt = runtime();
    let x = range(&rt);
    let before = rt.stats();
    for _ in 0..3 {
        let y = exp(&rt, &x);
        let passing = y.base.passing();
        let total = sum(&rt, &y);
        drop(passing);
        assert!(is_close(&[total], &[expected().iter().sum()]));
        assert_eq!(y.base.place(), None);
    }
    let after = rt.stats();
    assert_eq!((after.put_off - before.put_off, after.made - before.made), (3, 0));
}

#[test]
fn a_value_that_is_looked_at_nevertheless_is_made() {
    let rt = runtime();
    let x = range(&rt);
    let y = exp(&rt, &x);
    let passing = y.base.passing();
    sum(&rt, &y);
    drop(passing);
    assert!(is_close(&values(&rt, &y), &expected()));
    assert_eq!(rt.stats().made, 1);
    // the second time, the value is stored at once
    let y = exp(&rt, &x);
    let passing = y.base.passing();
    sum(&rt, &y);
    drop(passing);
    assert!(is_close(&values(&rt, &y), &expected()));
    assert_eq!(rt.stats().made, 1);
}

#[test]
fn a_value_is_made_before_what_it_is_made_of_changes_or_goes() {
    for goes in [false, true] {
        let rt = runtime();
        let x = range(&rt);
        let y = exp(&rt, &x);
        let passing = y.base.passing();
        sum(&rt, &y);
        drop(passing);
        if goes {
            drop(x);
            range(&rt);
        } else {
            rt.record(Op::Copy, DType::F64, &x, &[Input::Const(Scalar::F64(7.0))], Axes::default()).unwrap();
            assert_eq!(values(&rt, &x)[17], 7.0);
        }
        assert!(is_close(&values(&rt, &y), &expected()));
    }
}

#[test]
fn somebody_else_who_holds_the_value_finds_it_stored() {
    let rt = runtime();
    let x = range(&rt);
    let y = exp(&rt, &x);
    let other = y.clone();
    let passing = y.base.passing();
    sum(&rt, &y);
    drop(passing);
    drop(y);
    assert_eq!(rt.stats().put_off, 0);
    assert!(is_close(&values(&rt, &other), &expected()));
}

/// `new = (x[1:] + x[:-1]) / 2; s = sum(new); x[:-1] = new; new = None`, repeatedly.
#[test]
fn a_value_that_the_next_batch_uses_for_the_last_time_is_computed_there() {
    let rt = runtime();
    let x = range(&rt);
    let window = |first: i64| ArrayView { offset: 8 * first, shape: [N - 1].into_iter().collect(), ..x.clone() };
    let mut plain: Vec<f64> = (0..N).map(|i| i as f64).collect();
    let mut held: Option<ArrayView> = None;
    for _ in 0..6 {
        if let Some(new) = held.take() {
            rt.record(Op::Copy, DType::F64, &window(0), &[Input::Array(&new)], Axes::default()).unwrap();
        }
        let (both, new) = (ArrayView::fresh(&rt, DType::F64, &[N - 1]), ArrayView::fresh(&rt, DType::F64, &[N - 1]));
        let ins = [Input::Array(&window(1)), Input::Array(&window(0))];
        rt.record(Op::Add, DType::F64, &both, &ins, Axes::default()).unwrap();
        let half = Input::Const(Scalar::F64(0.5));
        rt.record(Op::Multiply, DType::F64, &new, &[Input::Array(&both), half], Axes::default()).unwrap();
        drop(both);
        let expected: Vec<f64> = plain.windows(2).map(|pair| (pair[1] + pair[0]) * 0.5).collect();
        let total = sum(&rt, &new);
        assert!(is_close(&[total], &[expected.iter().sum()]));
        plain[..expected.len()].copy_from_slice(&expected);
        held = Some(new);
    }
    let stats = rt.stats();
    assert_eq!((stats.put_off, stats.made), (6, 0));
    assert!(is_close(&values(&rt, &held.unwrap()), &plain[..plain.len() - 1]));
    assert_eq!(rt.stats().made, 1);
}
