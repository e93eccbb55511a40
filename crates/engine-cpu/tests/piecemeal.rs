//! Random programs that run operation by operation agree with the reference interpreter, both before and after their
//! kernels are known.

mod recording;
mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_runtime::{Config, Host, Runtime};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program};
use numelt_testing::generator::{Limits, generate};
use recording::record;
use std::sync::Arc;
use support::engine;

fn runtime(engine: impl Host + 'static, piecemeal: usize) -> Runtime {
    Runtime::new(Arc::new(engine), Config { piecemeal, at_once: 0, ..Config::default() })
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
fn random_programs() {
    let rt = runtime(engine(1, 0), usize::MAX);
    check(&rt, 0..6000);
    let stats = rt.stats();
    assert!(stats.piecemeal > 5000 && stats.plan_misses == 0, "{stats:?}");
    // programs share their kernels
    assert!(stats.kernels_compiled * 3 < stats.kernels, "{stats:?}");
}

#[test]
fn random_programs_on_threads_in_odd_blocks() {
    let rt = runtime(engine(3, 13), usize::MAX);
    check(&rt, 6000..7500);
}

#[test]
fn random_programs_compiled() {
    let options = Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() };
    let rt = runtime(CpuEngine::new(options), usize::MAX);
    check(&rt, 7500..7600);
}

#[test]
fn random_programs_that_come_again_are_planned() {
    let rt = runtime(engine(1, 0), 1 << 14);
    for seed in 8000..8100u64 {
        check(&rt, std::iter::repeat_n(seed, 4));
    }
    let before = rt.stats();
    for _ in 0..200 {
        check(&rt, 8000..8003);
    }
    let stats = rt.stats();
    assert!(stats.piecemeal > before.piecemeal && stats.plan_misses > before.plan_misses, "{stats:?}");
    assert!(stats.plan_hits > 100, "{stats:?}");
}
