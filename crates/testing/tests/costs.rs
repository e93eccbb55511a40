//! The costs of the steps of random programs add up.

use numelt_opt::{Cost, Fuse, Options, Passes, Step, plan};
use numelt_testing::generator::{Limits, generate};

#[test]
fn costs_add_up() {
    for seed in 0..1000 {
        let program = generate(seed, &Limits { instrs: 20, ..Limits::default() });
        for fuse in Fuse::ALL {
            let plan = plan(&program, &Options { fuse, budget: 30, ..Options::default() }).unwrap();
            assert_eq!(plan.costs.len(), plan.steps.len(), "seed {seed}, {fuse}");
            assert_eq!(plan.costs.iter().map(Cost::bytes).sum::<u64>(), plan.bytes_moved, "seed {seed}, {fuse}");
            assert!(plan.costs.iter().all(|cost| cost.serial <= cost.work), "seed {seed}, {fuse}\n{plan}");
        }
    }
}

/// A call has the same cost in every plan, and moves as many bytes as its instruction.
#[test]
fn calls_move_their_operands() {
    let mut calls = 0;
    for seed in 0..1000 {
        let program = generate(seed, &Limits::default());
        let options = Options { fuse: Fuse::Singleton, passes: Passes::NONE, ..Options::default() };
        let plan = plan(&program, &options).unwrap();
        for (step, cost) in plan.steps.iter().zip(&plan.costs) {
            if let Step::Call(at) = step {
                assert_eq!(cost.bytes(), plan.program.instrs[*at].bytes_touched(), "seed {seed}");
                calls += 1;
            }
        }
    }
    assert!(calls > 0);
}
