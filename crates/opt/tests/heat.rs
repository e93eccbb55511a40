//! One iteration of the heat equation is two kernels, and only the array that the program names is allocated. If the
//! program names no array, it is one kernel that overwrites what it reads.

use numelt_ir::Program;
use numelt_opt::{Fuse, Options, Plan, Step, explain, plan, verify_kernel};

/// `tmp = 0.2 * (c + n + s + e + w); delta = sum(abs(tmp - c)); c[:] = tmp` on a 10 by 12 grid.
const HEAT: &str = "
base %0 960 in out
base %1 640
base %2 640
base %3 640
base %4 640
base %5 640 out
base %6 640
base %7 640
base %8 8 out
const $0 = f64 0.2
%1[f64 (8, 10)] = add.f64 %0[f64 +104 (8, 10):(96, 8)], %0[f64 +8 (8, 10):(96, 8)]
%2[f64 (8, 10)] = add.f64 %1[f64 (8, 10)], %0[f64 +200 (8, 10):(96, 8)]
%3[f64 (8, 10)] = add.f64 %2[f64 (8, 10)], %0[f64 +112 (8, 10):(96, 8)]
%4[f64 (8, 10)] = add.f64 %3[f64 (8, 10)], %0[f64 +96 (8, 10):(96, 8)]
%5[f64 (8, 10)] = multiply.f64 $0, %4[f64 (8, 10)]
%6[f64 (8, 10)] = subtract.f64 %5[f64 (8, 10)], %0[f64 +104 (8, 10):(96, 8)]
%7[f64 (8, 10)] = absolute.f64 %6[f64 (8, 10)]
%8[f64 (1, 1)] = sum.f64 %7[f64 (8, 10)] axes=(0, 1)
%0[f64 +104 (8, 10):(96, 8)] = copy.f64 %5[f64 (8, 10)]
";

fn planned(text: &str, fuse: Fuse) -> Plan {
    let program: Program = text.parse().unwrap();
    numelt_ir::verify(&program).unwrap();
    let plan = plan(&program, &Options { fuse, ..Options::default() }).unwrap();
    numelt_ir::verify(&plan.program).unwrap();
    for step in &plan.steps {
        if let Step::Kernel(k) = step {
            verify_kernel(&k.kernel, &k.geometry).unwrap();
        }
    }
    plan
}

#[test]
fn an_iteration_is_two_kernels() {
    for fuse in [Fuse::Greedy, Fuse::Naive] {
        let plan = planned(HEAT, fuse);
        assert_eq!(plan.steps.len(), 2, "{fuse}");
        let expected = [false, true, true, true, true, false, true, true, false];
        assert_eq!(plan.contracted, expected, "{fuse}");
    }
    let plan = planned(&HEAT.replace("%5 640 out", "%5 640"), Fuse::Greedy);
    assert_eq!(plan.steps.len(), 1);
    let Step::Kernel(step) = &plan.steps[0] else { panic!("no kernel") };
    let delay = step.delay.unwrap();
    // rows of ten
    assert_eq!((step.bases[delay.arg as usize], delay.behind, delay.ahead), (0, 10, 10));
    assert_eq!(planned(HEAT, Fuse::Singleton).steps.len(), 9);
}

/// Two iterations in one batch: `tmp` of the first is dead after it.
#[test]
fn iterations_do_not_run_into_each_other() {
    let (head, body) = HEAT.trim().split_at(HEAT.trim().find("%1[f64").unwrap());
    let plan = planned(&format!("{head}{body}\n{body}"), Fuse::Greedy);
    assert_eq!(plan.steps.len(), 3);
}

#[test]
fn the_explanation_shows_every_stage() {
    let program: Program = HEAT.parse().unwrap();
    let shown = explain(&program, &Options::default()).unwrap();
    assert_eq!(shown.blocks.len(), 2);
    assert_eq!(shown.contracted(), [1, 2, 3, 4, 6, 7]);
    // Five views of the grid, tmp and delta; then the copy reads tmp and writes the grid.
    assert!(shown.partition_bytes < shown.singleton_bytes / 2);
    println!("{shown}\n{}\n{}", shown.plan, shown.to_dot());
    for text in ["recorded:", "partition (greedy):", "contracted: %1 %2 %3 %4 %6 %7", "<- sum.f64"] {
        assert!(shown.to_string().contains(text), "{text}");
    }
    assert!(shown.to_dot().contains("b0 -> b1;"));
}
