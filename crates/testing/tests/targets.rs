//! Plans for a target contain no kernels that the target forbids, although plans for the CPU do.

use numelt_ir::Program;
use numelt_opt::{Options, Plan, Step, Target, plan};
use numelt_testing::generator::{Limits, generate};
use numelt_testing::targets::keeps_to;

fn planned(program: &Program, target: Target) -> Plan {
    plan(program, &Options { target, ..Options::default() }).expect("a sound program")
}

/// How many of the CPU's plans for random programs do not observe a target.
fn kept_from(target: Target) -> usize {
    let limits = Limits { instrs: 24, ..Limits::default() };
    let differ = |seed: &u64| {
        let program = generate(*seed, &limits);
        keeps_to(&target, &planned(&program, target)).unwrap();
        keeps_to(&target, &planned(&program, Target::cpu())).is_err()
    };
    (0..1500).filter(differ).count()
}

#[test]
fn no_nests() {
    assert!(kept_from(Target { nests: None, ..Target::cpu() }) > 0);
}

#[test]
fn no_delays() {
    assert!(kept_from(Target { delays: None, ..Target::cpu() }) > 0);
}

#[test]
fn no_puts() {
    assert!(kept_from(Target { puts: false, ..Target::cpu() }) > 0);
}

#[test]
fn no_near_loads() {
    let apart = Target { near_loads: None, ..Target::cpu() };
    let text: String = (0..12).fold("base %0 800 in\nbase %1 640 out\n".to_string(), |text, at| {
        let first = if at == 0 { "%0[f64 (80)]" } else { "%1[f64 (80)]" };
        text + &format!("%1[f64 (80)] = add.f64 {first}, %0[f64 +{} (80)]\n", 8 * at)
    });
    let program: Program = text.parse().unwrap();
    keeps_to(&apart, &planned(&program, apart)).unwrap();
    assert!(keeps_to(&apart, &planned(&program, Target::cpu())).is_err());
    // an argument that shares its address with no other counts as an operand of its own
    let few = Target { kernel_args: 8, ..apart };
    let kernels = |target| planned(&program, target).steps.iter().flat_map(Step::kernels).count();
    assert_eq!((kernels(apart), kernels(few)), (1, 2));
}

#[test]
fn few_operands_and_operations() {
    assert!(kept_from(Target { kernel_args: 4, kernel_nodes: 6, near_loads: None, ..Target::cpu() }) > 0);
}

#[test]
fn no_second_array() {
    // two sweeps over the inner points of an array of 256 KB
    let sweep = "%1[f64 (32766)] = add.f64 %0[f64 (32766)], %0[f64 +16 (32766)]\n%0[f64 +8 (32766)] = copy.f64 %1[f64 (32766)]\n";
    let program: Program = format!("base %0 262144 in out\nbase %1 262128\n{sweep}{sweep}").parse().unwrap();
    let bases = |alternation| planned(&program, Target { alternation, ..Target::cpu() }).program.bases.len();
    assert!(bases(Target::cpu().alternation) > bases(None));
}
