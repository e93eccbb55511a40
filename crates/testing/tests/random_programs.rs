//! Random programs through the optimizer, with every partition, against the reference interpreter.

use numelt_opt::Fuse;
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program, plan_executor};
use numelt_testing::generator::{Limits, generate};
use numelt_testing::kernel_interp::PointOrder;
use numelt_testing::shrink::is_sound;

/// How many programs: `NUMELT_RANDOM_PROGRAMS`, or a number that runs in a few seconds.
fn count() -> u64 {
    std::env::var("NUMELT_RANDOM_PROGRAMS").ok().and_then(|v| v.parse().ok()).unwrap_or(10_000)
}

/// A share of the seeds, so that shares run side by side.
fn check_share(share: u64, shares: u64) {
    let mut failures = Vec::new();
    for seed in (share..count()).step_by(shares as usize) {
        // now and then a long program, where more can fuse
        let limits = Limits { instrs: if seed % 8 == 0 { 30 } else { 10 }, ..Limits::default() };
        let program = generate(seed, &limits);
        assert!(is_sound(&program), "seed {seed}: not a sound program\n{program}");
        let options = CheckOptions { seed, tolerance: Tolerance::NONE };
        for fuse in Fuse::ALL {
            let order = if seed % 2 == 0 { PointOrder::Forward } else { PointOrder::Backward };
            if let Err(failure) = check_program(&program, &options, &mut plan_executor(fuse, order)) {
                failures.push(format!("seed {seed}, {fuse}, {order:?}:\n{failure}\n"));
            }
        }
        if failures.len() >= 5 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn first_share() {
    check_share(0, 2);
}

#[test]
fn second_share() {
    check_share(1, 2);
}
