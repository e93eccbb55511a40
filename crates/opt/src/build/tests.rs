//! Kernels of small programs, as text and numbers.

use crate::{ArgKind, KernelStep, Options, Plan, Step, plan};
use numelt_ir::Program;
use std::sync::Arc;

fn planned(text: &str) -> Plan {
    let program: Program = text.parse().unwrap();
    numelt_ir::verify(&program).unwrap();
    plan(&program, &Options::default()).unwrap()
}

fn kernels(plan: &Plan) -> Vec<&KernelStep> {
    plan.steps
        .iter()
        .map(|s| match s {
            Step::Kernel(k) => k,
            Step::Nest(nest) => panic!("a nest: {nest}"),
            Step::Call(i) => panic!("instruction {i} is a call"),
        })
        .collect()
}

/// The text of the only kernel.
fn only(text: &str) -> (String, KernelStep) {
    let plan = planned(text);
    let steps = kernels(&plan);
    assert_eq!(steps.len(), 1, "{plan}");
    (steps[0].kernel.to_string(), steps[0].clone())
}

fn strip(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn casts_are_explicit_and_values_exist_once() {
    let (text, step) = only(
        "base %0 10 in\nbase %1 40\nbase %2 80 out\nbase %3 80 out\nconst $0 = f32 2.0\nconst $1 = f64 3.0\n\
         %1[f32 (10)] = multiply.f32 %0[i8 (10)], $0\n\
         %2[f64 (10)] = add.f64 %1[f32 (10)], $1\n\
         %3[f64 (10)] = add.f64 %1[f32 (10)], $1\n\
         %3[f64 (10)] = negative.f64 %3[f64 (10)]\n",
    );
    let expected = "kernel\na0 load i8 unit\na1 store f64 unit\na2 store f64 unit\np0 f32\np1 f64\nfor i0\n\
        v0 = load a0\nv1 = cast.f32 v0\nv3 = multiply.f32 v1, p0\nv4 = cast.f64 v3\nv6 = add.f64 v4, p1\n\
        v7 = negative.f64 v6\na1 = v6\na2 = v7";
    assert_eq!(strip(&text), expected);
    assert_eq!(step.params, [0, 1]);
    assert_eq!(step.bases, [0, 2, 3]);
}

#[test]
fn an_update_loads_before_it_stores() {
    let (text, _) = only(
        "base %0 80 in out\nbase %1 80 out\nconst $0 = f64 2.0\n\
         %1[f64 (10)] = copy.f64 %0[f64 (10)]\n\
         %0[f64 (10)] = multiply.f64 %0[f64 (10)], $0\n",
    );
    let expected = "kernel\na0 load f64 unit\na1 store f64 unit\na2 store f64 unit\np0 f64\nfor i0\n\
        v0 = load a0\nv2 = multiply.f64 v0, p0\na1 = v0\na2 = v2";
    assert_eq!(strip(&text), expected);
}

#[test]
fn ranges_count_in_their_own_shape() {
    let (text, step) = only(
        "base %0 96 out\nconst $0 = f32 1.0\nconst $1 = f32 0.5\n\
         %0[f32 (2, 3):(4, 8)] = range.f32 $0, $1\n",
    );
    let expected = "kernel\na0 index i64 any any\na1 store f32 any unit\np0 f32\np1 f32\nfor i0\nfor i1\n\
        v2 = index a0\nv3 = cast.f32 v2\nv4 = multiply.f32 v3, p1\nv5 = add.f32 p0, v4\na1 = v5";
    assert_eq!(strip(&text), expected);
    assert_eq!(step.params, [0, 1]);
    // The output is in Fortran order, the index in C order of shape (2, 3).
    assert_eq!(step.geometry.extents.to_vec(), [3, 2]);
    assert_eq!(step.geometry.args[0].strides.to_vec(), [1, 3]);
}

#[test]
fn loops_follow_memory_and_collapse() {
    let f_order = "base %0 960 in\nbase %1 960 out\n\
        %1[f64 (4, 5, 6):(8, 32, 160)] = negative.f64 %0[f64 (4, 5, 6):(8, 32, 160)]\n";
    let (text, step) = only(f_order);
    assert!(text.contains("a0 load f64 unit\n"), "{text}");
    assert_eq!(step.geometry.extents.to_vec(), [120]);
    let backward = "base %0 80 in\nbase %1 80 out\n\
        %1[f64 +72 (10):(-8)] = negative.f64 %0[f64 +72 (10):(-8)]\n";
    let (_, step) = only(backward);
    assert_eq!((step.geometry.args[0].offset, step.geometry.args[0].strides[0]), (0, 8));
}

#[test]
fn broadcast_operands_have_class_zero() {
    let (text, step) = only(
        "base %0 80 in\nbase %1 8 in\nbase %2 8000 out\n\
         %2[f64 (100, 10)] = add.f64 %0[f64 (100, 10):(0, 8)], %1[f64 (100, 10):(0, 0)]\n",
    );
    for line in ["a0 load f64 zero unit", "a1 load f64 zero zero", "a2 store f64 any unit"] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(step.geometry.extents.to_vec(), [100, 10]);
}

#[test]
fn reductions_keep_the_order_of_their_input() {
    let sum = |strides: &str| {
        let text =
            format!("base %0 960 in\nbase %1 40 out\n%1[f64 (1, 5)] = sum.f64 %0[f64 (4, 5):({strides})] axes=(0)\n");
        let (text, step) = only(&text);
        (text.contains("for i0 reduced"), step.geometry.extents.to_vec())
    };
    assert_eq!(sum("40, 8"), (true, vec![4, 5]));
    assert_eq!(sum("8, 32"), (false, vec![5, 4]));
    // Positions of arg-reductions count in logical order.
    let (_, step) =
        only("base %0 960 in\nbase %1 8 out\n%1[i64 (1, 1)] = argmin.f64 %0[f64 (4, 5):(8, 32)] axes=(0, 1)\n");
    assert_eq!(step.geometry.extents.to_vec(), [4, 5]);
    // A reversed sum is not turned: its order is its rounding.
    let (_, step) = only("base %0 80 in\nbase %1 8 out\n%1[f64 (1)] = sum.f64 %0[f64 +72 (10):(-8)] axes=(0)\n");
    assert_eq!(step.geometry.args[0].strides[0], -8);
}

#[test]
fn reductions_of_single_elements_still_have_a_loop() {
    for text in [
        "base %0 8 in\nbase %1 8 out\n%1[f64 ()] = sum.f64 %0[f64 ()]\n",
        "base %0 80 in\nbase %1 80 out\n%1[f64 (10, 1)] = sum.f64 %0[f64 (10, 1)] axes=(1)\n",
        "base %0 80 in\nbase %1 80 out\n%1[f64 (10)] = sum.f64 %0[f64 (10)]\n",
        "base %0 8 in\nbase %1 8 out\n%1[f64 (1, 1)] = max.f64 %0[f64 (1, 1)] axes=(0, 1)\n",
    ] {
        let (shown, step) = only(text);
        assert!(shown.contains("for i0 reduced"), "{text}{shown}");
        assert_eq!(step.kernel.args[1].kind, ArgKind::Reduced);
    }
}

/// Axes of extent one sit elsewhere in the views of instructions that share a kernel.
#[test]
fn shapes_that_differ_in_axes_of_one_fuse() {
    let (_, step) = only(
        "base %0 80 in\nbase %1 80\nbase %2 8 out\nconst $0 = f64 2.0\n\
         %1[f64 (1, 10)] = multiply.f64 %0[f64 (1, 10)], $0\n\
         %2[f64 (1, 1)] = sum.f64 %1[f64 (10, 1)] axes=(0)\n",
    );
    assert_eq!(step.geometry.extents.to_vec(), [10]);
}

#[test]
fn equal_kernels_are_shared() {
    let plan = planned(
        "base %0 800000 in out\nconst $0 = f64 1.0\nconst $1 = f64 2.0\n\
         %0[f64 (40000)] = add.f64 %0[f64 +320000 (40000)], $0\n\
         %0[f64 +400000 (40000)] = add.f64 %0[f64 +8 (40000)], $1\n\
         %0[f64 (40000)] = add.f64 %0[f64 +320008 (40000)], $1\n",
    );
    let steps = kernels(&plan);
    assert_eq!(steps.len(), 3);
    assert!(Arc::ptr_eq(&steps[0].kernel, &steps[1].kernel) && Arc::ptr_eq(&steps[1].kernel, &steps[2].kernel));
    assert_eq!((&steps[0].params[..], &steps[1].params[..]), (&[0][..], &[1][..]));
}

/// Memory that was never written still has to be there to be read.
#[test]
fn unwritten_bases_are_not_contracted() {
    let plan = planned("base %0 80\nbase %1 80 out\nbase %2 8\n%1[f64 (10)] = negative.f64 %0[f64 (10)]\n");
    assert_eq!(plan.contracted, [false, false, true]);
}

#[test]
fn programs_without_work_have_no_steps() {
    assert!(planned("").steps.is_empty());
    assert!(planned("base %0 0 out\n%0[f64 (0)] = add.f64 %0[f64 (0)], %0[f64 (0)]\n").steps.is_empty());
}
