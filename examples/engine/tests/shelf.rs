//! The example passes the suite that every engine must pass, and runs programs when it is selected by its name.

use numelt_engines::Engines;
use numelt_example_engine::Shelf;
use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, Config, EngineSet, Host, Input, Runtime};
use numelt_testing::engine::{Tested, conforms};
use std::sync::Arc;

fn config() -> Config {
    Config { cache_dir: Some("".into()), at_once: 0, piecemeal: 0, ..Config::default() }
}

fn host() -> Arc<dyn Host> {
    Engines::default().make("cpu", &config()).unwrap().host
}

fn engines() -> Engines {
    let mut engines = Engines::default();
    engines.register("shelf", |config, host| Ok(Arc::new(Shelf::new(host.clone(), config.device_memory)))).unwrap();
    engines
}

#[test]
fn conforms_to_the_suite() {
    conforms(Tested::device(&Shelf::new(host(), None)), 1000);
}

/// `((1 + 1) + 1) + …`, each step on a new array; all arrays are kept.
fn sums(set: EngineSet, steps: usize) -> (Runtime, Vec<ArrayView>) {
    let rt = Runtime::new(set, config());
    let mut arrays = vec![ArrayView::fresh(&rt, DType::F64, &[1000])];
    rt.record(Op::Copy, DType::F64, &arrays[0], &[Input::Const(Scalar::F64(1.0))], Axes::default()).unwrap();
    for step in 0..steps {
        let out = ArrayView::fresh(&rt, DType::F64, &[1000]);
        let ins = [Input::Array(&arrays[step]), Input::Const(Scalar::F64(1.0))];
        rt.record(Op::Add, DType::F64, &out, &ins, Axes::default()).unwrap();
        rt.flush(numelt_runtime::Reason::Explicit).unwrap();
        arrays.push(out);
    }
    (rt, arrays)
}

fn check(rt: &Runtime, arrays: &[ArrayView]) {
    for (at, array) in arrays.iter().enumerate() {
        let guard = rt.read(&array.base).unwrap();
        let values = guard.bytes().as_chunks().0.iter().map(|&bytes| f64::from_ne_bytes(bytes)).collect::<Vec<_>>();
        assert_eq!(values, vec![1.0 + at as f64; array.size() as usize], "array {at}");
    }
}

#[test]
fn it_is_chosen_by_name() {
    let (rt, arrays) = sums(engines().make("shelf", &config()).unwrap(), 10);
    check(&rt, &arrays);
    assert!(rt.stats().on_devices >= 10 && rt.stats().declined == 0, "{:?}", rt.stats());
    assert!(engines().make("auto", &config()).unwrap().devices.iter().any(|engine| engine.name() == "shelf"));
}

#[test]
fn arrays_beyond_its_memory_move_to_the_host() {
    let small = Config { device_memory: Some(40_000), ..config() };
    let (rt, arrays) = sums(engines().make("shelf", &small).unwrap(), 30);
    check(&rt, &arrays);
    assert!(rt.stats().evicted > 0, "{:?}", rt.stats());
}
