//! Arrays with a home: work on them runs on that device, on engines that compute nothing.

use numelt_ir::{Axes, DType, Error, Op, Scalar};
use numelt_runtime::{ArrayView, Config, EngineSet, Home, Input, NullEngine, Reason, Rule, Runtime};
use std::sync::Arc;

fn runtime(rule: Rule, devices: usize) -> Runtime {
    let config = Config { piecemeal: 0, at_once: 0, ..Config::default() };
    let devices = (0..devices).map(|_| Arc::new(NullEngine) as _).collect();
    Runtime::new(EngineSet { host: Arc::new(NullEngine), devices, rule }, config)
}

fn home(rt: &Runtime) -> Home {
    rt.home("null", |_, _| Ok(Arc::new(NullEngine))).unwrap()
}

fn array(rt: &Runtime, home: Option<Home>) -> ArrayView {
    let made = ArrayView::fresh(rt, DType::F64, &[1000]);
    drop(rt.write(&made.base).unwrap());
    made.base.set_home(home);
    made
}

fn one_more(rt: &Runtime, a: &ArrayView) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    let ins = [Input::Array(a), Input::Const(Scalar::F64(1.0))];
    rt.record(Op::Add, DType::F64, &out, &ins, Axes::default()).unwrap();
    out
}

#[test]
fn work_follows_the_data_and_runs_before_work_on_another_home() {
    for (rule, devices) in [(Rule::Host, 0), (Rule::Cost, 1), (Rule::Always(0), 1)] {
        let rt = runtime(rule, devices);
        let near = array(&rt, None);
        assert_eq!((near.base.home(), rt.has_homes()), (None, false));
        let far = home(&rt);
        assert_eq!((rt.home_name(far), rt.device_names()), ("null", vec!["null"]));
        let there = array(&rt, Some(far));
        let (x, y) = (one_more(&rt, &there), one_more(&rt, &near));
        assert_eq!((x.base.home(), y.base.home()), (Some(far), None));
        // the batch of the first home has run, and the other one waits
        assert!(!x.base.is_pending() && y.base.is_pending());
        assert_eq!(rt.stats().on_devices, 1);
        let z = one_more(&rt, &y);
        assert!(y.base.is_pending() && z.base.is_pending());
        rt.flush(Reason::Explicit).unwrap();
        assert_eq!(rt.stats().on_devices, 1 + u64::from(rule == Rule::Always(0)));
    }
}

#[test]
fn a_plan_for_one_home_is_not_used_for_another() {
    let rt = runtime(Rule::Host, 0);
    let far = home(&rt);
    let (near, there) = (array(&rt, None), array(&rt, Some(far)));
    for round in 1..4 {
        drop(rt.read(&one_more(&rt, &there).base).unwrap());
        drop(rt.read(&one_more(&rt, &near).base).unwrap());
        assert_eq!((rt.stats().on_devices, rt.stats().plan_misses), (round, 2));
    }
}

#[test]
fn fast_paths_do_not_see_values_of_arrays_with_a_home() {
    let rt = runtime(Rule::Host, 0);
    let base = array(&rt, None).base;
    assert!(base.is_readable() && base.is_writable());
    base.set_home(Some(home(&rt)));
    assert!(!base.is_readable() && !base.is_writable());
    assert_eq!(rt.read(&base).unwrap().bytes().len(), 8000);
    base.set_home(None);
    assert!(base.is_readable());
}

#[test]
fn results_that_are_settled_keep_having_no_home() {
    let rt = runtime(Rule::Host, 0);
    let far = home(&rt);
    let there = array(&rt, Some(far));
    let ins = [Input::Array(&there), Input::Array(&there)];
    let settled = |settle: &dyn Fn(&ArrayView)| {
        let out = ArrayView::fresh(&rt, DType::F64, &there.shape);
        settle(&out);
        rt.record(Op::Add, DType::F64, &out, &ins, Axes::default()).unwrap();
        out.base.home()
    };
    assert_eq!(settled(&|_| ()), Some(far));
    assert_eq!(settled(&|out| out.base.settle()), None);
    assert_eq!(settled(&|out| out.base.settle_like(&there.base)), Some(far));
    let new = rt.set_default_home(Some(far));
    assert_eq!(one_more(&rt, &array(&rt, None)).base.home(), Some(far));
    // neither in other threads nor in other runtimes
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(one_more(&rt, &array(&rt, None)).base.home(), None));
    });
    let other = runtime(Rule::Host, 0);
    home(&other);
    assert_eq!(one_more(&other, &array(&other, None)).base.home(), None);
    assert_eq!((rt.set_default_home(new), new), (Some(far), None));
    assert_eq!(one_more(&rt, &array(&rt, None)).base.home(), None);
}

#[test]
fn devices_that_are_a_home_stay_when_the_engines_are_replaced() {
    let rt = runtime(Rule::Host, 0);
    let there = array(&rt, Some(home(&rt)));
    for (devices, rule) in
        [(vec![], Rule::Host), (vec![Arc::new(NullEngine) as _], Rule::Always(0)), (vec![], Rule::Host)]
    {
        rt.reconfigure(Some(EngineSet { host: Arc::new(NullEngine), devices, rule }), rt.config());
        let before = rt.stats().on_devices;
        drop(rt.read(&one_more(&rt, &there).base).unwrap());
        assert_eq!(rt.stats().on_devices, before + 1);
    }
}

#[test]
fn a_device_that_cannot_be_made_is_no_home() {
    let rt = runtime(Rule::Host, 0);
    let missing = rt.home("missing", |_, _| Err(Error::Engine("missing: there is none".into())));
    assert_eq!(missing, Err(Error::Engine("missing: there is none".into())));
    assert!(!rt.has_homes() && rt.device_names().is_empty());
}
