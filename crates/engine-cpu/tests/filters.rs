//! Filters get the program of each batch; the program that they return runs; those that fail are left out.

mod recording;
mod support;

use numelt_ir::{Axes, DType, Error, Op, Program, Result, Scalar};
use numelt_runtime::{ArrayView, Config, Filter, FilterError, Input, Reason, Runtime};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program};
use numelt_testing::generator::{Limits, generate};
use recording::record;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{engine, numbers};

/// A function as a filter, which counts its calls.
struct By<F> {
    name: &'static str,
    calls: AtomicUsize,
    apply: F,
}

impl<F: Fn(&Program) -> Result<Option<Program>> + Send + Sync> Filter for By<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn apply(&self, program: &Program) -> Result<Option<Program>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.apply)(program)
    }
}

fn by<F: Fn(&Program) -> Result<Option<Program>> + Send + Sync>(name: &'static str, apply: F) -> Arc<By<F>> {
    Arc::new(By { name, calls: AtomicUsize::new(0), apply })
}

fn calls<F>(filter: &By<F>) -> usize {
    filter.calls.load(Ordering::Relaxed)
}

fn runtime(config: Config) -> Runtime {
    Runtime::new(Arc::new(engine(2, 0)), config)
}

fn swapped(program: &Program) -> Result<Option<Program>> {
    let mut new = program.clone();
    let additions = new.instrs.iter_mut().filter(|instr| instr.op == Op::Add);
    additions.for_each(|instr| instr.ins.swap(0, 1));
    Ok(Some(new))
}

fn edit(program: &Program, change: impl FnOnce(&mut Program)) -> Result<Option<Program>> {
    let mut new = program.clone();
    change(&mut new);
    Ok(Some(new))
}

/// One, two, three, ...
fn array(rt: &Runtime, n: i64) -> ArrayView {
    let bytes: Vec<u8> = (1..=n).flat_map(|value| (value as f64).to_le_bytes()).collect();
    ArrayView { base: rt.filled(&bytes).unwrap(), ..ArrayView::fresh(rt, DType::F64, &[n]) }
}

fn apply(rt: &Runtime, op: Op, a: &ArrayView, b: f64) -> ArrayView {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    rt.record(op, DType::F64, &out, &[Input::Array(a), Input::Const(Scalar::F64(b))], Axes::default()).unwrap();
    out
}

fn values(rt: &Runtime, a: &ArrayView) -> Vec<f64> {
    numbers(rt.read(&a.base).unwrap().bytes())
}

#[test]
fn swapped_additions_agree_with_the_interpreter() {
    let rt = runtime(Config::default());
    let filter = by("swap", swapped);
    rt.add_filter(filter.clone());
    for seed in 0..500 {
        let program = generate(seed, &Limits::default());
        let options = CheckOptions { seed, tolerance: Tolerance::ENGINE };
        let outcome = check_program(&program, &options, &mut |program, memory| record(&rt, program, memory));
        outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
    }
    assert!(calls(&filter) >= 400, "{}", calls(&filter));
    assert_eq!(rt.take_filter_errors(), []);
    assert_eq!((rt.stats().at_once, rt.stats().piecemeal), (0, 0));
}

#[test]
fn what_a_filter_makes_is_what_runs_and_nothing_passes_it_by() {
    let rt = runtime(Config::default());
    let a = array(&rt, 4);
    // a filter that is added while something is pending gets that, too
    rt.inspect_start();
    let pending = apply(&rt, Op::Add, &a, 1.0);
    rt.inspect_stop();
    assert!(pending.base.is_pending());
    let times = by("times", |program: &Program| {
        edit(program, |new| new.instrs.iter_mut().for_each(|instr| instr.op = Op::Multiply))
    });
    rt.add_filter(times.clone());
    assert_eq!(values(&rt, &apply(&rt, Op::Add, &a, 10.0)), [10.0, 20.0, 30.0, 40.0]);
    for round in 0..20 {
        let passed = calls(&times);
        let out = apply(&rt, Op::Add, &a, f64::from(round));
        assert_eq!(values(&rt, &out)[1], 2.0 * f64::from(round));
        assert_eq!(calls(&times), passed + 1);
    }
    assert_eq!(values(&rt, &pending), [1.0, 2.0, 3.0, 4.0]);
    // filters are applied in the order in which they were added
    let ten = by("ten", |program: &Program| edit(program, |new| new.consts.fill(Scalar::F64(10.0))));
    rt.add_filter(ten);
    assert_eq!(values(&rt, &apply(&rt, Op::Add, &a, 3.0)), [10.0, 20.0, 30.0, 40.0]);
    assert!(rt.remove_filter("times") && !rt.remove_filter("times"));
    assert_eq!(values(&rt, &apply(&rt, Op::Add, &a, 3.0)), [11.0, 12.0, 13.0, 14.0]);
    assert!(rt.remove_filter("ten"));
    assert_eq!(values(&rt, &apply(&rt, Op::Add, &a, 3.0)), [4.0, 5.0, 6.0, 7.0]);
}

#[test]
fn a_plan_of_a_filtered_program_is_not_that_of_the_recorded_one() {
    let rt = runtime(Config { at_once: 0, piecemeal: 0, ..Config::default() });
    let a = array(&rt, 3);
    let twice =
        |rt: &Runtime| (0..3).for_each(|_| assert_eq!(values(rt, &apply(rt, Op::Add, &a, 2.0)), [3.0, 4.0, 5.0]));
    twice(&rt);
    rt.add_filter(by("times", |program: &Program| edit(program, |new| new.instrs[0].op = Op::Multiply)));
    (0..3).for_each(|_| assert_eq!(values(&rt, &apply(&rt, Op::Add, &a, 2.0)), [2.0, 4.0, 6.0]));
    assert!(rt.stats().plan_hits >= 4, "{:?}", rt.stats());
    rt.remove_filter("times");
    twice(&rt);
}

#[test]
fn bad_filters_are_named_and_left_out() {
    let rt = runtime(Config::default());
    let a = array(&rt, 4);
    type Change = fn(&mut Program);
    let bad: [(&str, Change); 8] = [
        ("the recorded bases have changed", |new| new.bases[0].nbytes += 8),
        ("the recorded bases have changed", |new| new.bases.truncate(1)),
        ("is an input or an output", |new| new.bases.push(new.bases[1])),
        ("which the recorded program only reads", |new| new.instrs[0].out.base = 0),
        ("nothing writes the output", |new| new.instrs.clear()),
        ("is read before anything is written", |new| {
            new.instrs[0].ins[0] = numelt_ir::Operand::View(new.instrs[0].out.clone());
        }),
        ("does not exist", |new| new.instrs[0].out.base = 9),
        ("reaches bytes", |new| new.instrs[0].out.offset = 8),
    ];
    for (text, change) in bad {
        rt.add_filter(by("bad", move |program: &Program| edit(program, change)));
        assert_eq!(values(&rt, &apply(&rt, Op::Add, &a, 1.0)), [2.0, 3.0, 4.0, 5.0]);
        let errors = rt.take_filter_errors();
        assert!(
            matches!(&errors[..], [one] if one.name == "bad" && one.error.to_string().contains(text)),
            "{errors:?}"
        );
        assert!(rt.remove_filter("bad"));
    }
    let failed = Error::Config("no".to_string());
    let error = failed.clone();
    rt.add_filter(by("fails", move |_: &Program| Err(failed.clone())));
    rt.add_filter(by("swap", swapped));
    assert_eq!(values(&rt, &apply(&rt, Op::Subtract, &a, 1.0)), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(rt.take_filter_errors(), [FilterError { name: "fails".to_string(), error }]);
    assert_eq!(rt.take_filter_errors(), []);
}

#[test]
fn temporaries_of_filters_are_memory_like_others() {
    let rt = runtime(Config::default());
    let a = array(&rt, 1000);
    rt.add_filter(by("detour", |program: &Program| {
        edit(program, |new| {
            let mut first = new.instrs[0].clone();
            let own = new.bases.len() as u32;
            new.bases.push(numelt_ir::Base { nbytes: 8000, input: false, output: false });
            first.out.base = own;
            new.instrs[0].ins[0] = numelt_ir::Operand::View(first.out.clone());
            new.instrs.insert(0, first);
        })
    }));
    let live = rt.stats().pool.live;
    for _ in 0..3 {
        let out = apply(&rt, Op::Add, &a, 5.0);
        assert_eq!(values(&rt, &out)[..2], [11.0, 12.0]);
    }
    assert_eq!(rt.take_filter_errors(), []);
    assert_eq!(rt.stats().pool.live, live);
}

#[test]
fn front_ends_filter_before_they_flush() {
    let rt = runtime(Config::default());
    rt.filters_in_front(true);
    assert!(rt.filtering().is_none() && !rt.runs_at_once());
    let a = array(&rt, 4);
    let first = apply(&rt, Op::Add, &a, 1.0);
    let mut filtering = rt.filtering().unwrap();
    // operations that are recorded meanwhile stay pending
    let second = apply(&rt, Op::Add, &first, 1.0);
    let mut program = filtering.program().clone();
    program.instrs[0].op = Op::Subtract;
    rt.replace(&mut filtering, program.clone()).unwrap();
    program.instrs.clear();
    assert!(rt.replace(&mut filtering, program).is_err());
    assert_eq!(rt.flush_filtered(Reason::Explicit, filtering), Ok(true));
    assert!(second.base.is_pending());
    assert_eq!(values(&rt, &first), [0.0, 1.0, 2.0, 3.0]);
    // another thread has run the batch
    let late = rt.filtering().unwrap();
    assert_eq!(values(&rt, &second), [1.0, 2.0, 3.0, 4.0]);
    let third = apply(&rt, Op::Add, &a, 1.0);
    assert_eq!(rt.flush_filtered(Reason::Explicit, late), Ok(false));
    assert!(third.base.is_pending());
    // the program of another runtime
    let other = runtime(Config { at_once: 0, ..Config::default() });
    let _kept = apply(&other, Op::Add, &array(&other, 4), 1.0);
    assert_eq!(rt.flush_filtered(Reason::Explicit, other.filtering().unwrap()), Ok(false));
    rt.filters_in_front(false);
    assert_eq!(values(&rt, &third), [2.0, 3.0, 4.0, 5.0]);
}
