//! The test tools find the errors that they are made to find.

use numelt_ir::{Error, Program, Result, interpret};
use numelt_opt::{Fuse, Options, Plan, plan};
use numelt_runtime::NullEngine;
use numelt_testing::closeness::Closeness;
use numelt_testing::compare::{Tolerance, agree};
use numelt_testing::conformance::{CheckOptions, Failure, check_program};
use numelt_testing::engine::{Tested, check_engine};
use numelt_testing::far::{Far, FarOptions};
use numelt_testing::fill::fill;
use numelt_testing::generator::{Limits, generate};
use numelt_testing::kernel_interp::{PointOrder, run_plan};
use numelt_testing::routines::check_routines;
use numelt_testing::shrink::{is_sound, shrink};
use std::sync::Arc;

const OPTIONS: CheckOptions = CheckOptions { seed: 1, tolerance: Tolerance::NONE };

/// How many of the first random programs an altered plan fails, and one of the failures.
fn failures_of(alter: impl Fn(&mut Plan)) -> (usize, Option<Failure>) {
    let mut run = |program: &Program, memory: &mut [Vec<u8>]| -> Result<()> {
        let mut plan = plan(program, &Options::default())?;
        alter(&mut plan);
        run_plan(&plan, memory, PointOrder::Forward)
    };
    let (mut count, mut last) = (0, None);
    for seed in 0..60 {
        if let Err(failure) = check_program(&generate(seed, &Limits::default()), &OPTIONS, &mut run) {
            count += 1;
            last = Some(*failure);
        }
    }
    (count, last)
}

#[test]
fn a_lost_step_is_found_and_cut_down() {
    let (count, failure) = failures_of(|plan| drop(plan.steps.pop()));
    assert!(count > 40, "{count}");
    let program = failure.unwrap().program;
    assert!(program.instrs.len() <= 2, "{program}");
    assert!(is_sound(&program));
}

#[test]
fn a_wrong_order_is_found() {
    let (count, _) = failures_of(|plan| plan.steps.reverse());
    assert!(count > 15, "{count}");
}

#[test]
fn a_base_that_is_contracted_wrongly_is_found() {
    let (count, _) = failures_of(|plan| plan.contracted.iter_mut().for_each(|c| *c = true));
    assert!(count > 40, "{count}");
}

#[test]
fn a_panic_counts_as_a_failure() {
    let program = generate(0, &Limits::default());
    let failure = check_program(&program, &OPTIONS, &mut |_, _| panic!("on purpose")).unwrap_err();
    assert!(failure.to_string().contains("panic: on purpose"), "{failure}");
}

#[test]
fn failures_print_as_programs_that_parse() {
    let program = generate(3, &Limits::default());
    let failed = |_: &Program, _: &mut [Vec<u8>]| Err(Error::Engine("out of order".to_string()));
    let failure = check_program(&program, &OPTIONS, &mut { failed }).unwrap_err();
    let again: Program = failure.to_string().parse().unwrap();
    assert_eq!(again.instrs, failure.program.instrs);
}

#[test]
fn the_generator_repeats_itself_and_its_programs_round_trip() {
    for seed in 0..300 {
        let program = generate(seed, &Limits::default());
        let text = program.to_string();
        assert_eq!(text, generate(seed, &Limits::default()).to_string());
        let again: Program = text.parse().unwrap();
        assert_eq!(again.to_string(), text);
        assert_eq!(again.instrs, program.instrs);
        assert!(is_sound(&program), "{text}");
        let mut memory = fill(&program, seed);
        interpret(&program, &mut memory).unwrap();
    }
}

#[test]
fn shrinking_keeps_what_matters() {
    let program = generate(11, &Limits { instrs: 30, ..Limits::default() });
    let name = program.instrs.last().unwrap().op;
    let small = shrink(&program, |p| p.instrs.iter().any(|i| i.op == name));
    assert_eq!(small.instrs.len(), 1, "{small}");
    assert_eq!(small.instrs[0].op, name);
}

/// An engine that computes nothing must not pass the suite.
#[test]
fn the_null_engine_does_not_conform() {
    let engine = numelt_runtime::NullEngine;
    let failed = (0..30).filter(|&seed| {
        check_engine(Tested::host(&engine), &generate(seed, &Limits::default()), seed, Fuse::Greedy).is_err()
    });
    assert!(failed.count() > 20);
}

#[test]
fn comparison_is_as_strict_as_it_may_be() {
    use numelt_ir::Scalar::{C128, F64};
    let ulps = Tolerance { ulps: 2 };
    let next = |x: f64, n: u64| F64(f64::from_bits(x.to_bits() + n));
    assert!(agree(F64(f64::NAN), F64(-f64::NAN), Closeness::Exact, ulps));
    assert!(!agree(F64(0.0), F64(-0.0), Closeness::Exact, ulps));
    assert!(agree(F64(0.0), F64(-0.0), Closeness::ZeroSign, ulps));
    assert!(!agree(F64(1.0), next(1.0, 1), Closeness::ZeroSign, ulps));
    assert!(agree(F64(1.0), next(1.0, 2), Closeness::Ulps, ulps));
    assert!(!agree(F64(1.0), next(1.0, 3), Closeness::Ulps, ulps));
    assert!(!agree(F64(f64::NAN), F64(1.0), Closeness::Ulps, ulps));
    assert!(agree(F64(-5e-324), F64(5e-324), Closeness::Ulps, ulps));
    let c = |re, im| C128(numelt_ir::Complex128 { re, im });
    assert!(agree(c(1.0, 1e-17), c(1.0, 2e-17), Closeness::Ulps, ulps));
    assert!(!agree(c(1.0, 1e-17), c(1.0, 2e-17), Closeness::Exact, ulps));
}

#[test]
fn the_test_device_has_right_results_of_numerical_routines() {
    let device = Far::new(Arc::new(NullEngine), FarOptions::default());
    assert!(check_routines(&device) > 100);
}
