//! Runs random programs through the optimizer, with every partition and pass, and compares with the reference
//! interpreter.
//!
//! `NUMELT_RANDOM_PROGRAMS=100000` runs this many programs. Each runs with every partition, with each pass alone, with
//! all passes and with none, and for every target.

use numelt_opt::{Fuse, Options, Pass, Passes, Target};
use numelt_testing::compare::Tolerance;
use numelt_testing::conformance::{CheckOptions, check_program, plan_executor};
use numelt_testing::generator::{Limits, generate};
use numelt_testing::kernel_interp::PointOrder;
use numelt_testing::shrink::is_sound;
use numelt_testing::targets;

/// The number of programs: `NUMELT_RANDOM_PROGRAMS`, or by default a number that takes a few seconds.
fn count() -> u64 {
    asked().unwrap_or(8_000)
}

fn asked() -> Option<u64> {
    std::env::var("NUMELT_RANDOM_PROGRAMS").ok().and_then(|v| v.parse().ok())
}

/// Whether a number was requested. Then every program is planned in all ways.
fn is_thorough() -> bool {
    asked().is_some()
}

/// The options with which the program of a seed is planned: every partition with all passes and with none, each pass
/// alone, and each target that is not the CPU. With few programs, only the first group is tried for each seed, with one
/// of the others.
fn choices(seed: u64) -> Vec<Options> {
    // a small budget suffices: the results of the search are tested here, and it has a result at any time
    let reuse = if seed % 4 < 2 { 1 } else { Options::default().reuse };
    let with = |fuse, passes| Options { fuse, passes, budget: 30, reuse, target: Target::cpu() };
    let mut all: Vec<Options> = Fuse::ALL.map(|fuse| with(fuse, Passes::ALL)).to_vec();
    let mut more: Vec<Options> = Fuse::ALL.map(|fuse| with(fuse, Passes::NONE)).to_vec();
    more.extend(Pass::ALL.map(|pass| with(Fuse::Greedy, Passes::only(pass))));
    let greedy = with(Fuse::Greedy, Passes::ALL);
    let others = targets::all().map(|(_, target)| Options { target, ..greedy });
    more.extend(others);
    if is_thorough() {
        all.extend(more);
    } else {
        all.push(more[seed as usize / 2 % more.len()]);
        // vary the partition, too
        let target = others[seed as usize % others.len()].target;
        all.push(Options { target, ..all[seed as usize / 4 % Fuse::ALL.len()] });
    }
    all
}

/// Checks a share of the seeds, so that shares can run in parallel.
fn check_share(share: u64, shares: u64) {
    let mut failures = Vec::new();
    for seed in (share..count()).step_by(shares as usize) {
        // some programs are long, so that more instructions can be fused
        let limits = Limits { instrs: if seed % 8 == 0 { 30 } else { 10 }, ..Limits::default() };
        let program = generate(seed, &limits);
        assert!(is_sound(&program), "seed {seed}: not a sound program\n{program}");
        let options = CheckOptions { seed, tolerance: Tolerance::NONE };
        for choice in choices(seed) {
            let order = if seed % 2 == 0 { PointOrder::Forward } else { PointOrder::Backward };
            if let Err(failure) = check_program(&program, &options, &mut plan_executor(choice, order)) {
                let Options { fuse, passes, target, .. } = choice;
                failures.push(format!("seed {seed}, {fuse}, passes {passes}, {order:?}, {target:?}:\n{failure}\n"));
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
