//! A child that is forked while memory of a device is lent.

#![cfg(unix)]

mod support;

use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, Config, EngineSet, Host, Input, Rule, Runtime, Stream};
use numelt_testing::far::{Far, FarOptions};
use std::sync::Arc;
use support::{engine, numbers};

fn values(rt: &Runtime, a: &ArrayView) -> Vec<f64> {
    numbers(rt.read(&a.base).unwrap().bytes())
}

fn add_one(rt: &Runtime, a: &ArrayView) -> numelt_ir::Result<()> {
    let ins = [Input::Array(a), Input::Const(Scalar::F64(1.0))];
    match rt.record(Op::Add, DType::F64, a, &ins, Axes::default())? {
        Some(reason) => rt.flush(reason),
        None => Ok(()),
    }
}

#[test]
fn the_child_has_the_values_and_not_the_device() {
    let host: Arc<dyn Host> = Arc::new(engine(2, 0));
    let config = Config { at_once: 0, piecemeal: 0, ..Config::default() };
    let rt = Runtime::new(EngineSet { host, devices: vec![], rule: Rule::Host }, config);
    let far = Arc::new(Far::new(Arc::new(engine(1, 0)), FarOptions::default()));
    let home = rt.home("far", |_, _| Ok(far)).unwrap();
    let bytes: Vec<u8> = [1.0_f64, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let a = ArrayView { base: rt.filled(&bytes).unwrap(), ..ArrayView::fresh(&rt, DType::F64, &[2]) };
    add_one(&rt, &a).unwrap();
    a.base.set_home(Some(home));
    let loan = rt.lend(&a.base, Some(Stream::Default)).unwrap();
    let theirs = std::ptr::with_exposed_provenance_mut::<f64>(loan.address() as usize);
    // SAFETY: two numbers, which only this thread uses at this moment.
    unsafe { theirs.write(5.0) };
    // SAFETY: the child only uses the runtime, and ends without destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let seen = values(&rt, &a);
        let worked = add_one(&rt, &a).is_ok() && values(&rt, &a) == [6.0, 4.0];
        let refused = rt.lend(&a.base, None).is_err() && rt.shared_device(home).is_none();
        let right = seen == [5.0, 3.0] && worked && refused && !a.base.is_visible();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child, which exists.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    // SAFETY: as above.
    unsafe { theirs.add(1).write(8.0) };
    assert_eq!(values(&rt, &a), [5.0, 8.0]);
}
