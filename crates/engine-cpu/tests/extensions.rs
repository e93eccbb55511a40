//! Calls of extension methods run in order among the recorded operations, which the operations that the methods record
//! themselves do not change.

mod support;

use numelt_ir::{Axes, DType, Error, Op, Result, Scalar};
use numelt_runtime::{
    ArrayView, Config, Extension, ExtensionInput, ExtensionOutput, Input, Reason, Runtime, WriteGuard,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use support::{engine, numbers};

/// A function on numbers as an extension method, which counts its calls.
struct By<F> {
    calls: AtomicUsize,
    run: F,
}

impl<F: Fn(&mut [f64], &[Vec<f64>]) -> Result<()> + Send + Sync> Extension for By<F> {
    fn name(&self) -> &str {
        "by"
    }

    fn run(&self, out: &mut ExtensionOutput<'_>, inputs: &[ExtensionInput<'_>]) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let inputs: Vec<Vec<f64>> = inputs.iter().map(|input| numbers(input.bytes())).collect();
        let mut values = numbers(out.bytes_mut());
        (self.run)(&mut values, &inputs)?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        out.bytes_mut().copy_from_slice(&bytes);
        Ok(())
    }
}

fn by<F: Fn(&mut [f64], &[Vec<f64>]) -> Result<()> + Send + Sync>(run: F) -> Arc<By<F>> {
    Arc::new(By { calls: AtomicUsize::new(0), run })
}

/// Fills the output with the first input plus ten times the second.
fn mix(out: &mut [f64], inputs: &[Vec<f64>]) -> Result<()> {
    for (at, out) in out.iter_mut().enumerate() {
        *out = inputs[0][at] + 10.0 * inputs[1][at];
    }
    Ok(())
}

/// Settings under which everything is recorded, and nothing runs because it is small.
fn runtime() -> Runtime {
    Runtime::new(Arc::new(engine(2, 0)), Config { at_once: 0, ..Config::default() })
}

fn array(rt: &Runtime, values: &[f64]) -> ArrayView {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    ArrayView { base: rt.filled(&bytes).unwrap(), ..ArrayView::fresh(rt, DType::F64, &[values.len() as i64]) }
}

fn apply(rt: &Runtime, op: Op, out: &ArrayView, a: &ArrayView, b: f64) {
    let ins = [Input::Array(a), Input::Const(Scalar::F64(b))];
    rt.record(op, DType::F64, out, &ins, Axes::default()).unwrap();
}

fn call(rt: &Runtime, extension: &Arc<impl Extension + 'static>, ins: &[&ArrayView]) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &ins[0].shape);
    rt.call_extension(Arc::clone(extension) as Arc<dyn Extension>, &out, ins).unwrap();
    out
}

fn values(rt: &Runtime, a: &ArrayView) -> Vec<f64> {
    numbers(rt.read(&a.base).unwrap().bytes())
}

#[test]
fn a_call_runs_when_it_is_needed_and_in_its_turn() {
    let rt = runtime();
    let x = array(&rt, &[1.0, 2.0]);
    let method = by(mix);
    let y = ArrayView::fresh(&rt, DType::F64, &[2]);
    apply(&rt, Op::Add, &y, &x, 1.0);
    let z = call(&rt, &method, &[&x, &y]);
    apply(&rt, Op::Multiply, &x, &x, 100.0);
    apply(&rt, Op::Multiply, &y, &y, 0.0);
    let w = ArrayView::fresh(&rt, DType::F64, &[2]);
    apply(&rt, Op::Add, &w, &z, 0.5);
    assert_eq!((method.calls.load(Ordering::Relaxed), rt.pending_calls()), (0, 1));
    assert_eq!(values(&rt, &w), [21.5, 32.5]);
    assert_eq!(values(&rt, &z), [21.0, 32.0]);
    assert_eq!(values(&rt, &x), [100.0, 200.0]);
    assert_eq!(values(&rt, &y), [0.0, 0.0]);
    assert_eq!((method.calls.load(Ordering::Relaxed), rt.pending_calls()), (1, 0));
}

#[test]
fn random_programs_with_calls_give_what_running_at_once_gives() {
    for seed in 1..400_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut pick = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let rt = Runtime::new(
            Arc::new(engine(1, 0)),
            Config {
                at_once: if seed % 3 == 0 { 1000 } else { 0 },
                piecemeal: if seed % 2 == 0 { 0 } else { 1000 },
                ..Config::default()
            },
        );
        let method = by(mix);
        let mut plain = vec![vec![1.0, 2.0, 3.0], vec![0.5, 0.0, -1.0], vec![4.0, 4.0, 4.0]];
        let mut arrays: Vec<ArrayView> = plain.iter().map(|values| array(&rt, values)).collect();
        for _ in 0..40 {
            let (a, b, number) = (pick(arrays.len()), pick(arrays.len()), pick(5) as f64 - 2.0);
            match pick(8) {
                0..=2 => {
                    let out = call(&rt, &method, &[&arrays[a], &arrays[b]]);
                    let mut values = vec![0.0; 3];
                    mix(&mut values, &[plain[a].clone(), plain[b].clone()]).unwrap();
                    let at = pick(arrays.len() + 1);
                    if at == arrays.len() && at < 8 {
                        arrays.push(out);
                        plain.push(values);
                    } else {
                        let at = at.min(arrays.len() - 1);
                        (arrays[at], plain[at]) = (out, values);
                    }
                }
                3..=4 => {
                    let (from, to) = (arrays[a].clone(), arrays[b].clone());
                    apply(&rt, Op::Add, &to, &from, number);
                    plain[b] = plain[a].iter().map(|value| value + number).collect();
                }
                5 => {
                    apply(&rt, Op::Multiply, &arrays[a], &arrays[a], number);
                    plain[a].iter_mut().for_each(|value| *value *= number);
                }
                6 => rt.flush(Reason::Explicit).unwrap(),
                _ => assert_eq!(values(&rt, &arrays[a]), plain[a], "seed {seed}"),
            }
            // large numbers would be rounded differently
            for (array, values) in arrays.iter_mut().zip(&mut plain) {
                if values.iter().any(|value| value.abs() > 1e12) {
                    (*array, *values) = (self::array(&rt, &[1.0, 2.0, 3.0]), vec![1.0, 2.0, 3.0]);
                }
            }
        }
        for (array, expected) in arrays.iter().zip(&plain) {
            assert_eq!(values(&rt, array), *expected, "seed {seed}");
        }
    }
}

#[test]
fn a_method_may_use_the_runtime() {
    let rt = Arc::new(runtime());
    let (x, other) = (array(&rt, &[1.0, 2.0]), array(&rt, &[5.0, 6.0]));
    let (inner, seen) = (Arc::clone(&rt), other.clone());
    let method = by(move |out: &mut [f64], ins: &[Vec<f64>]| {
        let doubled = ArrayView::fresh(&inner, DType::F64, &[2]);
        apply(&inner, Op::Multiply, &doubled, &seen, 2.0);
        let nested = inner.call_extension(by(mix), &doubled, &[&doubled, &doubled]);
        assert!(matches!(nested, Err(Error::Unsupported(_))), "{nested:?}");
        let values = values(&inner, &doubled);
        for (at, out) in out.iter_mut().enumerate() {
            *out = ins[0][at] + values[at];
        }
        Ok(())
    });
    let z = call(&rt, &method, &[&x]);
    let w = ArrayView::fresh(&rt, DType::F64, &[2]);
    apply(&rt, Op::Add, &w, &z, 1.0);
    apply(&rt, Op::Multiply, &x, &x, 0.0);
    assert_eq!(values(&rt, &w), [12.0, 15.0]);
    assert_eq!(values(&rt, &x), [0.0, 0.0]);
    assert_eq!(values(&rt, &other), [5.0, 6.0]);
}

#[test]
fn what_a_method_can_not_have_is_an_error() {
    let rt = Arc::new(runtime());
    let x = array(&rt, &[1.0, 2.0]);
    let later = ArrayView::fresh(&rt, DType::F64, &[2]);
    let (inner, wanted, own) = (Arc::clone(&rt), later.clone(), x.clone());
    let method = by(move |out: &mut [f64], _: &[Vec<f64>]| {
        // it was recorded after the call and needs its result
        assert_eq!(inner.read(&wanted.base).err(), Some(Error::Busy));
        assert_eq!(inner.write(&own.base).map(|_: WriteGuard<'_>| ()).err(), Some(Error::Busy));
        out.fill(7.0);
        Ok(())
    });
    let z = call(&rt, &method, &[&x]);
    apply(&rt, Op::Add, &later, &z, 1.0);
    apply(&rt, Op::Add, &x, &x, 1.0);
    assert_eq!(values(&rt, &later), [8.0, 8.0]);
    assert_eq!(values(&rt, &x), [2.0, 3.0]);
}

#[test]
fn a_method_that_fails_loses_its_result_alone() {
    let rt = runtime();
    let x = array(&rt, &[1.0, 2.0]);
    let fails = by(|_: &mut [f64], _: &[Vec<f64>]| Err(Error::Invalid("no".into())));
    let panics = by(|_: &mut [f64], ins: &[Vec<f64>]| panic!("{}", ins.len()));
    let (y, w) = (call(&rt, &fails, &[&x]), call(&rt, &panics, &[&x]));
    let z = ArrayView::fresh(&rt, DType::F64, &[2]);
    apply(&rt, Op::Add, &z, &x, 1.0);
    assert_eq!(rt.flush(Reason::Explicit), Err(Error::Invalid("no".into())));
    assert_eq!(rt.flush(Reason::Explicit), Err(Error::Extension("by".into())));
    assert_eq!(values(&rt, &z), [2.0, 3.0]);
    for failed in [&y, &w] {
        assert_eq!(rt.read(&failed.base).err(), Some(Error::Extension("by".into())));
    }
    // an assignment to all of the array makes it valid again
    apply(&rt, Op::Add, &y, &x, 0.0);
    assert_eq!(values(&rt, &y), [1.0, 2.0]);
}

#[test]
fn threads_wait_for_a_method_that_runs() {
    let rt = Arc::new(runtime());
    let x = array(&rt, &[1.0, 2.0]);
    let (begun, inside) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (starts, goes_on) = (Arc::clone(&begun), Arc::clone(&inside));
    let method = by(move |out: &mut [f64], ins: &[Vec<f64>]| {
        starts.wait();
        goes_on.wait();
        std::thread::sleep(std::time::Duration::from_millis(20));
        out.copy_from_slice(&ins[0]);
        Ok(())
    });
    let z = call(&rt, &method, &[&x]);
    let (other, wanted) = (Arc::clone(&rt), z.clone());
    let reader = std::thread::spawn(move || {
        begun.wait();
        // recording does not wait, but reading does
        let w = ArrayView::fresh(&other, DType::F64, &[2]);
        apply(&other, Op::Multiply, &w, &wanted, 3.0);
        inside.wait();
        values(&other, &w)
    });
    apply(&rt, Op::Add, &x, &x, 1.0);
    assert_eq!(values(&rt, &z), [1.0, 2.0]);
    assert_eq!(reader.join().unwrap(), [3.0, 6.0]);
    assert_eq!(values(&rt, &x), [2.0, 3.0]);
}
