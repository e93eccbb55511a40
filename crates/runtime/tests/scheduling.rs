//! Recording, triggers, caches, liveness and memory, on the engine that computes nothing.

use numelt_ir::{Axes, DType, Error, Op, Scalar};
use numelt_runtime::{ArrayView, Config, Input, NullEngine, Reason, Runtime};
use std::sync::Arc;

fn runtime(change: impl FnOnce(&mut Config)) -> Runtime {
    let mut config = Config { piecemeal: 0, at_once: 0, ..Config::default() };
    change(&mut config);
    Runtime::new(Arc::new(NullEngine), config)
}

fn array(rt: &Runtime, n: i64) -> ArrayView {
    let a = ArrayView::fresh(rt, DType::F64, &[n]);
    rt.write(&a.base).unwrap();
    a
}

fn binary(rt: &Runtime, op: Op, a: &ArrayView, b: Input<'_>) -> (ArrayView, Option<Reason>) {
    let out = ArrayView::fresh(rt, DType::F64, &a.shape);
    let asked = rt.record(op, DType::F64, &out, &[Input::Array(a), b], Axes::default()).unwrap();
    (out, asked)
}

#[test]
fn temporaries_are_contracted_and_loops_hit_the_plan_cache() {
    let rt = runtime(|_| ());
    let a = array(&rt, 1000);
    for round in 0..5 {
        let x = binary(&rt, Op::Add, &a, Input::Array(&a)).0;
        let y = binary(&rt, Op::Multiply, &x, Input::Const(Scalar::F64(round as f64))).0;
        let z = binary(&rt, Op::Subtract, &y, Input::Array(&a)).0;
        drop((x, y));
        assert!(z.base.is_pending());
        rt.write(&z.base).unwrap();
        assert!(!z.base.is_pending());
    }
    let stats = rt.stats();
    assert_eq!((stats.kernels, stats.buffers, stats.contracted), (5, 5, 10));
    assert_eq!((stats.plan_misses, stats.plan_hits), (1, 4));
    assert_eq!(stats.kernels_compiled, 1);
    assert_eq!(stats.bytes_moved, 5 * 16_000);
    assert_eq!(stats.flushes[Reason::Read as usize], 5);
}

#[test]
fn shrinking_views_share_one_executable() {
    let rt = runtime(|_| ());
    let a = array(&rt, 100);
    for n in (10..100).rev() {
        let view = ArrayView { shape: [n].into_iter().collect(), offset: (100 - n) * 8, ..a.clone() };
        let out = binary(&rt, Op::Add, &view, Input::Array(&view)).0;
        rt.write(&out.base).unwrap();
    }
    let stats = rt.stats();
    assert_eq!((stats.plan_misses, stats.kernels_compiled), (90, 1));
}

#[test]
fn dead_inputs_give_their_memory_back_at_last_use() {
    let rt = runtime(|_| ());
    let before = rt.stats().pool.live;
    let mut a = array(&rt, 1 << 16);
    for _ in 0..50 {
        a = binary(&rt, Op::Add, &a, Input::Const(Scalar::F64(1.0))).0;
        rt.flush(Reason::Explicit).unwrap();
    }
    let stats = rt.stats();
    assert!(stats.pool.live - before <= 2 << 19, "{} bytes live", stats.pool.live - before);
    drop(a);
    assert_eq!(rt.stats().pool.live, before);
}

#[test]
fn visible_memory_runs_at_once_and_is_lazy_again_afterwards() {
    let rt = runtime(|_| ());
    let a = array(&rt, 10);
    let export = rt.export(&a.base).unwrap();
    assert_eq!(binary(&rt, Op::Add, &a, Input::Array(&a)).1, Some(Reason::Visible));
    drop(export);
    rt.flush(Reason::Visible).unwrap();
    assert_eq!(binary(&rt, Op::Add, &a, Input::Array(&a)).1, None);
    let mut foreign = vec![0f64; 10];
    // SAFETY: `foreign` outlives every use of the base below.
    let base = unsafe { rt.adopt(foreign.as_mut_ptr().cast(), 80, Box::new(()), true) };
    let b = ArrayView { base, ..ArrayView::fresh(&rt, DType::F64, &[10]) };
    assert_eq!(binary(&rt, Op::Add, &b, Input::Array(&a)).1, Some(Reason::Visible));
    b.base.set_shared(false).unwrap();
    rt.flush(Reason::Visible).unwrap();
    assert_eq!(binary(&rt, Op::Add, &b, Input::Array(&a)).1, None);
    rt.flush(Reason::Explicit).unwrap();
}

#[test]
fn budgets_ask_for_a_flush() {
    let rt = runtime(|c| c.max_pending = 3);
    let a = array(&rt, 10);
    let asked: Vec<_> = (0..3).map(|_| binary(&rt, Op::Add, &a, Input::Array(&a)).1).collect();
    assert_eq!(asked, [None, None, Some(Reason::Instructions)]);
    rt.flush(Reason::Instructions).unwrap();
    assert_eq!(rt.pending_work(), 0);
}

#[test]
fn long_loops_are_cut_between_turns() {
    let rt = runtime(|c| c.max_pending = 32);
    let mut x = array(&rt, 1000);
    for _ in 0..200 {
        let (t, u) = (binary(&rt, Op::Multiply, &x, Input::Array(&x)).0, binary(&rt, Op::Add, &x, Input::Array(&x)).0);
        x = binary(&rt, Op::Subtract, &t, Input::Array(&u)).0;
        drop((t, u));
        if rt.pending_program().instrs.len() >= 32 {
            rt.flush(Reason::Instructions).unwrap();
        }
    }
    rt.write(&x.base).unwrap();
    let stats = rt.stats();
    // the first piece, those like it, and the rest
    assert!(stats.plan_misses <= 3 && stats.plan_hits >= 15, "{stats:?}");
    assert_eq!(stats.contracted, 600 - stats.buffers);
}

/// The error message for an array of 100 by 100,000 numbers.
fn no_room() -> Error {
    Error::ArrayOutOfMemory { dtype: DType::F64, shape: vec![100, 100_000] }
}

/// If there is not enough memory for parts of a batch, only these parts fail.
fn only_what_needs_it_fails(rt: &Runtime, a: &ArrayView) {
    let huge = ArrayView::fresh(rt, DType::F64, &[100, 100_000]);
    rt.record(Op::Copy, DType::F64, &huge, &[Input::Const(Scalar::F64(1.0))], Axes::default()).unwrap();
    let (needs, _) = binary(rt, Op::Add, &huge, Input::Const(Scalar::F64(1.0)));
    let (free, _) = binary(rt, Op::Multiply, a, Input::Array(a));
    assert_eq!(rt.flush(Reason::Explicit), Err(no_room()));
    assert!(rt.write(&needs.base).is_err() && rt.write(&huge.base).is_err());
    assert!(rt.write(&free.base).is_ok() && rt.write(&a.base).is_ok());
    rt.reconfigure(None, Config { at_once: 0, ..Config::default() });
}

#[test]
fn out_of_memory_is_an_error_and_the_runtime_goes_on() {
    let rt = runtime(|c| c.memory_limit = Some(64 << 20));
    let a = array(&rt, 1000);
    let big = ArrayView::fresh(&rt, DType::F64, &[100, 100_000]);
    rt.record(Op::Copy, DType::F64, &big, &[Input::Const(Scalar::F64(1.0))], Axes::default()).unwrap();
    assert_eq!(rt.write(&big.base).err(), Some(no_room()));
    assert_eq!(rt.write(&big.base).err(), Some(no_room()));
    let sum = binary(&rt, Op::Add, &a, Input::Array(&a)).0;
    assert!(rt.write(&sum.base).is_ok());
    // in one batch: only operations that need the memory fail
    only_what_needs_it_fails(&rt, &a);
    // with enough memory again, the operations that failed, and those that need their results, are computed
    let (more, _) = binary(&rt, Op::Add, &big, Input::Const(Scalar::F64(1.0)));
    assert!(rt.write(&more.base).is_ok());
    assert!(rt.write(&big.base).is_ok());
    rt.record(Op::Copy, DType::F64, &big, &[Input::Const(Scalar::F64(1.0))], Axes::default()).unwrap();
    assert!(rt.write(&big.base).is_ok());
}

#[test]
fn inspectors_see_each_flush() {
    let rt = runtime(|_| ());
    let a = array(&rt, 10);
    rt.inspect_start();
    let b = binary(&rt, Op::Add, &a, Input::Array(&a)).0;
    rt.write(&b.base).unwrap();
    let reports = rt.inspect_stop();
    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].instructions, reports[0].kernels.len(), reports[0].tiers[0]), (1, 1, "null"));
    assert_eq!(reports[0].buffers, [80]);
    assert!(reports[0].kernels[0].contains("add"), "{}", reports[0].kernels[0]);
}

#[test]
fn looking_at_values_leaves_their_readers_pending() {
    let rt = runtime(|_| ());
    let a = array(&rt, 8);
    let x = binary(&rt, Op::Add, &a, Input::Array(&a)).0;
    assert!(a.base.is_pending() && !a.base.is_awaited());
    assert!(x.base.is_pending() && x.base.is_awaited());
    assert_eq!(rt.read(&a.base).unwrap().bytes().len(), a.base.nbytes());
    assert!(x.base.is_awaited());
    rt.read(&x.base).unwrap();
    assert!(!x.base.is_awaited() && !a.base.is_pending());
}

#[test]
fn what_a_cut_left_over_is_awaited() {
    let rt = runtime(|c| c.max_pending = 8);
    let mut x = array(&rt, 8);
    for _ in 0..7 {
        x = binary(&rt, Op::Add, &x, Input::Const(Scalar::F64(1.0))).0;
    }
    // two arrays of the same size stay alive, so that the cut is before the end
    let y = binary(&rt, Op::Multiply, &x, Input::Array(&x)).0;
    rt.flush(Reason::Instructions).unwrap();
    assert_eq!(y.base.is_pending(), y.base.is_awaited());
    rt.write(&y.base).unwrap();
    assert!(!y.base.is_awaited());
}

#[test]
fn long_loops_are_cut_where_they_were_cut_before() {
    let rt = runtime(|c| c.max_pending = 10);
    let a = array(&rt, 8);
    let mut flushes = Vec::new();
    for _ in 0..3 {
        let mut x = a.clone();
        for _ in 0..25 {
            let (next, asked) = binary(&rt, Op::Add, &x, Input::Const(Scalar::F64(1.0)));
            x = next;
            if let Some(reason) = asked {
                rt.flush(reason).unwrap();
            }
        }
        rt.write(&x.base).unwrap();
        let stats = rt.stats();
        flushes.push((stats.plan_misses, stats.flushes[Reason::Instructions as usize]));
    }
    // the first round is planned; the others repeat its pieces
    assert_eq!(flushes[2].0, flushes[1].0);
    assert_eq!(rt.stats().instructions, 75);
}

#[test]
fn values_that_a_statement_drops_do_not_change_a_cut() {
    let rt = runtime(|c| c.max_pending = 10);
    let (u, v) = (array(&rt, 8), array(&rt, 8));
    let mut misses = Vec::new();
    for _ in 0..4 {
        for turn in 0..20 {
            // `v[...] = u * turn` and `u[...] = v + u`: the value lives until the assignment is recorded
            for (from, with, to, op) in [(&u, &v, &v, Op::Multiply), (&v, &u, &u, Op::Add)] {
                let value = binary(&rt, op, from, Input::Array(with)).0;
                let literal = binary(&rt, Op::Add, &value, Input::Const(Scalar::F64(f64::from(turn)))).0;
                let asked = rt.record(Op::Copy, DType::F64, to, &[Input::Array(&literal)], Axes::default()).unwrap();
                drop((value, literal));
                if let Some(reason) = asked {
                    rt.flush(reason).unwrap();
                }
            }
        }
        rt.write(&u.base).unwrap();
        misses.push(rt.stats().plan_misses);
    }
    assert_eq!(misses[3], misses[1], "{misses:?}");
}

#[test]
fn batches_without_a_plan_free_values_after_their_last_use() {
    let rt = runtime(|c| c.piecemeal = usize::MAX);
    let a = array(&rt, 1 << 14);
    let before = rt.stats().pool;
    let mut x = binary(&rt, Op::Add, &a, Input::Array(&a)).0;
    for _ in 0..100 {
        x = binary(&rt, Op::Add, &x, Input::Const(Scalar::F64(1.0))).0;
    }
    rt.write(&x.base).unwrap();
    let stats = rt.stats();
    assert_eq!((stats.piecemeal, stats.kernels, stats.plan_misses, stats.kernels_compiled), (1, 101, 0, 2));
    // two buffers are kept, cached or in use
    assert!(stats.pool.live + stats.pool.cached - before.live - before.cached <= 2 << 17, "{stats:?}");
    drop(x);
    assert_eq!(rt.stats().pool.live, before.live);
}

#[test]
fn batches_are_planned_when_they_keep_coming() {
    let rt = runtime(|c| c.piecemeal = Config::default().piecemeal);
    let a = array(&rt, 1000);
    let turn = || {
        let x = binary(&rt, Op::Add, &a, Input::Array(&a)).0;
        let y = binary(&rt, Op::Multiply, &x, Input::Const(Scalar::F64(2.0))).0;
        drop(x);
        rt.write(&y.base).unwrap();
    };
    turn();
    assert_eq!((rt.stats().piecemeal, rt.stats().plan_misses), (1, 0));
    (0..500).for_each(|_| turn());
    let stats = rt.stats();
    assert_eq!(stats.plan_misses, 1);
    assert!(stats.piecemeal < 100 && stats.plan_hits > 400, "{stats:?}");
    // a batch with much work is planned at once
    let big = array(&rt, 1 << 20);
    let x = binary(&rt, Op::Add, &big, Input::Array(&big)).0;
    rt.write(&x.base).unwrap();
    assert_eq!(rt.stats().plan_misses, 2);
}

#[test]
fn without_a_plan_only_what_needs_the_missing_memory_fails() {
    let rt = runtime(|c| (c.piecemeal, c.memory_limit) = (usize::MAX, Some(64 << 20)));
    let a = array(&rt, 1000);
    only_what_needs_it_fails(&rt, &a);
}

#[test]
fn outputs_that_overlap_themselves_are_refused() {
    let rt = runtime(|_| ());
    let a = array(&rt, 20);
    let view = |shape: &[i64], strides: &[i64]| ArrayView {
        shape: shape.iter().copied().collect(),
        strides: strides.iter().copied().collect(),
        ..a.clone()
    };
    let one = [Input::Const(Scalar::F64(1.0))];
    for (shape, strides, fits) in [
        ([10, 2], [8, 8], false),
        ([3, 4], [0, 8], false),
        ([3, 4], [32, 8], true),
        ([4, 3], [8, 32], true),
        ([2, 3], [24, 16], true),
        ([3, 4], [24, 16], false),
        ([0, 3], [0, 0], true),
        ([3, 1], [8, 0], true),
    ] {
        let recorded = rt.record(Op::Copy, DType::F64, &view(&shape, &strides), &one, Axes::default());
        assert_eq!(recorded.is_ok(), fits, "{shape:?} {strides:?}");
    }
    rt.flush(Reason::Explicit).unwrap();
}
