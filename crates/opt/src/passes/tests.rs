//! What each pass does to small programs.

use super::{dead, empty, overlap, rename};
use numelt_ir::Program;

fn parsed(text: &str) -> Program {
    let program: Program = text.parse().unwrap();
    numelt_ir::verify(&program).unwrap();
    program
}

/// Instructions and bases after a pass, as text.
fn after(text: &str, pass: fn(&mut Program)) -> String {
    let mut program = parsed(text);
    pass(&mut program);
    numelt_ir::verify(&program).unwrap();
    program.to_string()
}

#[test]
fn results_that_nobody_sees_vanish() {
    let text = "base %0 80 in out\nbase %1 80\nbase %2 80\nconst $0 = f64 1.0\n\
        %1[f64 (10)] = add.f64 %0[f64 (10)], $0\n\
        %2[f64 (10)] = add.f64 %1[f64 (10)], $0\n\
        %1[f64 (10)] = add.f64 %0[f64 (10)], $0\n\
        %0[f64 (10)] = add.f64 %1[f64 (10)], $0\n";
    let left = after(text, dead::run);
    assert_eq!(left.matches(" = add").count(), 2, "{left}");
}

#[test]
fn overwritten_results_vanish_unless_read() {
    let text = "base %0 80 in out\nconst $0 = f64 1.0\n\
        %0[f64 (5)] = copy.f64 $0\n\
        %0[f64 +40 (5)] = copy.f64 %0[f64 (5)]\n\
        %0[f64 (5)] = copy.f64 $0\n\
        %0[f64 +40 (5)] = copy.f64 $0\n";
    let left = after(text, dead::run);
    assert_eq!(left.matches(" = copy").count(), 2, "{left}");
    let text = "base %0 80 in out\nbase %1 40 out\nconst $0 = f64 1.0\n\
        %0[f64 (5)] = copy.f64 $0\n\
        %1[f64 (5)] = copy.f64 %0[f64 +8 (5)]\n\
        %0[f64 (5)] = copy.f64 $0\n";
    assert_eq!(after(text, dead::run), text);
}

#[test]
fn a_partial_write_keeps_what_it_leaves() {
    let text = "base %0 80 out\nconst $0 = f64 1.0\n\
        %0[f64 (10)] = copy.f64 $0\n\
        %0[f64 (9)] = copy.f64 $0\n";
    assert_eq!(after(text, dead::run), text);
}

#[test]
fn a_broadcast_part_is_copied_before() {
    let text = "base %0 800 in out\n\
        %0[f64 (10, 10)] = subtract.f64 %0[f64 (10, 10)], %0[f64 (10, 10):(0, 8)]\n\
        %0[f64 (2, 10)] = subtract.f64 %0[f64 (2, 10)], %0[f64 (2, 10):(0, 8)]\n";
    let left = after(text, overlap::run);
    assert!(left.contains("base %1 80\n") && left.contains("base %2 160\n"), "{left}");
    assert_eq!(left.matches(" = copy").count(), 2, "{left}");
}

#[test]
fn shifted_updates_get_a_temporary() {
    let text = "base %0 80 in out\nconst $0 = f64 1.0\n\
        %0[f64 +8 (9)] = add.f64 %0[f64 (9)], $0\n\
        %0[f64 (5):(16)] = add.f64 %0[f64 +8 (5):(16)], $0\n\
        %0[f64 (10)] = add.f64 %0[f64 (10)], $0\n\
        %0[f64 (10)] = add.f64 %0[f64 +72 (10):(-8)], $0\n";
    let left = after(text, overlap::run);
    // The first and the last overlap themselves; interleaved halves and the identical view do not.
    assert_eq!(left.matches("copy.f64").count(), 2, "{left}");
    assert_eq!(left.matches("base").count(), 3, "{left}");
}

#[test]
fn reductions_into_their_input_get_a_temporary() {
    let text = "base %0 80 in out\n%0[f64 (1)] = sum.f64 %0[f64 (10)] axes=(0)\n";
    assert_eq!(after(text, overlap::run).matches("copy.f64").count(), 1);
}

#[test]
fn temporaries_keep_the_memory_order() {
    let text = "base %0 400 in out\nconst $0 = f64 1.0\n\
        %0[f64 +8 (4, 5):(8, 40)] = add.f64 %0[f64 (4, 5):(8, 40)], $0\n";
    assert!(after(text, overlap::run).contains("%1[f64 (4, 5):(8, 32)] = add"));
}

#[test]
fn work_on_nothing_becomes_a_fill_or_vanishes() {
    let text = "base %0 0 in\nbase %1 24 out\nbase %2 3 out\nbase %3 32 out\n\
        %1[f64 (1, 3)] = prod.f32 %0[f32 (0, 3)] axes=(0)\n\
        %2[bool (1, 3)] = any.f64 %0[f64 (0, 3)] axes=(0)\n\
        %3[f64 (2, 2)] = matmul.f64 %0[f64 (2, 0)], %0[f64 (0, 2)]\n\
        %0[f64 (0)] = add.f64 %0[f64 (0)], %0[f64 (0)]\n";
    let left = after(text, |p| empty::run(p).unwrap());
    for line in ["const $0 = f64 1.0", "const $1 = bool false", "%3[f64 (2, 2)] = copy.f64 $2"] {
        assert!(left.contains(line), "{left}");
    }
    assert_eq!(left.matches(" = copy").count(), 3, "{left}");
    assert!(!left.contains("add"));
}

#[test]
fn lives_of_a_work_array_come_apart() {
    let text = "base %0 80 in out\nbase %1 80 in out\nconst $0 = f64 1.0\n\
        %1[f64 (10)] = add.f64 %0[f64 (10)], %1[f64 (10)]\n\
        %0[f64 (10)] = add.f64 %1[f64 (10)], $0\n\
        %1[f64 (10)] = add.f64 %0[f64 (10)], $0\n\
        %1[f64 (10)] = add.f64 %1[f64 (10)], $0\n\
        %0[f64 (10)] = add.f64 %1[f64 (10)], %0[f64 (10)]\n\
        %1[f64 (10)] = add.f64 %0[f64 (10)], $0\n";
    let left = after(text, rename::run);
    // The second life of %1 gets a base; what it held at the start and holds at the end stays in %1.
    assert_eq!(left.matches("%2[").count(), 4, "{left}");
    assert!(left.ends_with("%1[f64 (10)] = add.f64 %0[f64 (10)], $0\n"), "{left}");
}
