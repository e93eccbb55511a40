//! Compares the costs of steps with counts made by hand.

use numelt_ir::Program;
use numelt_opt::{Cost, Options, Plan, Step, plan};

fn planned(text: &str) -> Plan {
    let program: Program = text.parse().unwrap();
    numelt_ir::verify(&program).unwrap();
    let plan = plan(&program, &Options::default()).unwrap();
    assert_eq!(plan.costs.len(), plan.steps.len());
    assert_eq!(plan.costs.iter().map(Cost::bytes).sum::<u64>(), plan.bytes_moved);
    plan
}

/// What the steps of a program read, write, compute, and compute serially.
fn costs(text: &str) -> Vec<[u64; 4]> {
    let costs = planned(text).costs;
    costs.iter().map(|&Cost { read, written, work, serial }| [read, written, work, serial]).collect()
}

/// The only step of a program.
fn cost(text: &str) -> [u64; 4] {
    let all = costs(text);
    assert_eq!(all.len(), 1, "{text}");
    all[0]
}

#[test]
fn elementwise() {
    // x * x + y, of which the product needs no memory
    let text = "base %0 80 in\nbase %1 80 in\nbase %2 80\nbase %3 80 out
%2[f64 (10)] = multiply.f64 %0[f64 (10)], %0[f64 (10)]
%3[f64 (10)] = add.f64 %2[f64 (10)], %1[f64 (10)]";
    assert_eq!(cost(text), [160, 80, 20, 0]);
    // an exponential is ten additions
    assert_eq!(cost(&text.replace("multiply.f64 %0[f64 (10)],", "subtract.f64 %0[f64 (10)],")), [160, 80, 20, 0]);
    assert_eq!(
        cost(&text.replace("multiply.f64 %0[f64 (10)], %0[f64 (10)]", "exp.f64 %0[f64 (10)]")),
        [160, 80, 110, 0]
    );
}

#[test]
fn conversions_and_complex_numbers() {
    let text = "base %0 40 in\nbase %1 80 out\n%1[f64 (10)] = copy.f64 %0[f32 (10)]";
    assert_eq!(cost(text), [40, 80, 10, 0]);
    let text = "base %0 160 in\nbase %1 160 out\n%1[c128 (10)] = square.c128 %0[c128 (10)]";
    assert_eq!(cost(text), [160, 160, 40, 0]);
}

#[test]
fn broadcast() {
    // a row and a column become a table
    let text = "base %0 40 in\nbase %1 32 in\nbase %2 160 out
%2[f64 (4, 5)] = add.f64 %0[f64 (4, 5):(0, 8)], %1[f64 (4, 5):(8, 0)]";
    assert_eq!(cost(text), [72, 160, 20, 0]);
}

#[test]
fn overlapping_views_share_their_bytes() {
    let text = "base %0 80 in\nbase %1 64 out\n%1[f64 (8)] = add.f64 %0[f64 (8)], %0[f64 +16 (8)]";
    assert_eq!(cost(text), [80, 64, 8, 0]);
}

#[test]
fn reductions() {
    let of = |op: &str, dtype: &str, out: &str, size: u64, axes: &str| {
        cost(&format!(
            "base %0 {} in\nbase %1 {} out\n%1[{dtype} {out}] = {op}.{dtype} %0[{dtype} (6, 5)] axes={axes}",
            30 * size,
            30 * size
        ))
    };
    // the additions form a tree
    assert_eq!(of("sum", "f64", "(1, 1)", 8, "(0, 1)"), [240, 8, 30, 0]);
    assert_eq!(of("sum", "f64", "(6, 1)", 8, "(1)"), [240, 48, 30, 0]);
    // the rows are added one after the other
    assert_eq!(of("sum", "f64", "(1, 5)", 8, "(0)"), [240, 40, 30, 5]);
    assert_eq!(of("sum", "f16", "(1, 5)", 2, "(0)"), [60, 10, 30, 5]);
    // the factors are multiplied one after the other
    assert_eq!(of("prod", "f64", "(1, 1)", 8, "(0, 1)"), [240, 8, 30, 29]);
    assert_eq!(of("prod", "f64", "(6, 1)", 8, "(1)"), [240, 48, 30, 4]);
    assert_eq!(of("prod", "c128", "(1, 5)", 16, "(0)"), [480, 80, 120, 20]);
    // the order is free
    assert_eq!(of("prod", "i64", "(1, 1)", 8, "(0, 1)"), [240, 8, 30, 0]);
    assert_eq!(of("sum", "i32", "(1, 5)", 4, "(0)"), [120, 20, 30, 0]);
    assert_eq!(of("max", "f64", "(1, 5)", 8, "(0)"), [240, 40, 30, 0]);
}

#[test]
fn sums_that_pass_through_a_buffer() {
    // NumPy converts 8192 elements at a time: three pieces, added one after the other
    let text = "base %0 80000 in\nbase %1 8 out\n%1[f64 (1)] = sum.f64 %0[f32 (20000)] axes=(0)";
    assert_eq!(cost(text), [80_000, 8, 40_000, 2]);
}

#[test]
fn nests() {
    // the deviations from the means of rows: the means stay in the cache, and are not read from memory again
    let text = "base %0 800000 in\nbase %1 8000\nbase %2 800000 out
%1[f64 (1000, 1)] = sum.f64 %0[f64 (1000, 100)] axes=(1)
%2[f64 (1000, 100)] = subtract.f64 %0[f64 (1000, 100)], %1[f64 (1000, 100):(8, 0)]";
    let plan = planned(text);
    assert!(matches!(&plan.steps[..], [Step::Nest(nest)] if nest.scratch.len() == 1));
    assert_eq!(plan.costs, [Cost { read: 800_000, written: 800_000, work: 200_000, serial: 0 }]);
    // the stages wait for each other
    let products = text.replace("sum", "prod");
    assert_eq!(cost(&products), [800_000, 800_000, 200_000, 99]);
}

#[test]
fn matrix_products() {
    // matrices of 3 x 4 and 4 x 5, real and complex
    let text = "base %0 96 in\nbase %1 160 in\nbase %2 120 out
%2[f64 (3, 5)] = matmul.f64 %0[f64 (3, 4)], %1[f64 (4, 5)]";
    assert_eq!(cost(text), [256, 120, 2 * 3 * 4 * 5, 0]);
    let complex = "base %0 192 in\nbase %1 320 in\nbase %2 240 out
%2[c128 (3, 5)] = matmul.c128 %0[c128 (3, 4)], %1[c128 (4, 5)]";
    assert_eq!(cost(complex), [512, 240, 8 * 3 * 4 * 5, 0]);
}

#[test]
fn scans() {
    let text = "base %0 240 in\nbase %1 240 out\n%1[f64 (6, 5)] = cumsum.f64 %0[f64 (6, 5)] axes=(0)";
    assert_eq!(cost(text), [240, 240, 30, 5]);
    assert_eq!(cost(&text.replace("axes=(0)", "axes=(1)")), [240, 240, 30, 4]);
    // a division is four additions
    assert_eq!(cost(&text.replace("cumsum", "cumdivide")), [240, 240, 120, 20]);
    assert_eq!(cost(&text.replace("f64", "i64")), [240, 240, 30, 0]);
    assert_eq!(cost(&text.replace("cumsum", "cummax")), [240, 240, 30, 0]);
}

#[test]
fn gathers() {
    // as many elements of the source as are selected, and their positions
    let text = "base %0 800 in\nbase %1 80 in\nbase %2 80 out
%2[f64 (10)] = gather.f64 %0[f64 (100, 10):(8, 0)], %1[u64 (10)]";
    assert_eq!(cost(text), [160, 80, 10, 0]);
}

#[test]
fn scatters() {
    let text = "base %0 800 in out\nbase %1 80 in\nbase %2 80 in
%0[f64 (100)] = scatter_add.f64 %0[f64 (100)], %1[f64 (10)], %2[i64 (10)]";
    assert_eq!(cost(text), [800 + 160, 800, 10, 10]);
    assert_eq!(cost(&text.replace("_add", "")), [960, 800, 10, 0]);
    let integers = text.replace("f64", "i64");
    assert_eq!(cost(&integers), [960, 800, 10, 0]);
}

#[test]
fn scatters_of_what_a_kernel_makes() {
    // the values are squares that nothing else needs, so they are never stored
    let text = "base %0 80000 in out\nbase %1 8000 in\nbase %2 8000 in\nbase %3 8000
%3[f64 (1000)] = square.f64 %1[f64 (1000)]
%0[f64 (10000)] = scatter_add.f64 %0[f64 (10000)], %3[f64 (1000)], %2[i64 (1000)]";
    let plan = planned(text);
    assert!(matches!(&plan.steps[..], [Step::Kernel(kernel)] if kernel.puts.len() == 1));
    let moved = Cost { read: 80_000 + 8_000 + 8_000, written: 80_000, work: 1000 + 1000, serial: 1000 };
    assert_eq!(plan.costs, [moved]);
}

#[test]
fn words() {
    let text = "base %0 240 in\nbase %1 240 out\n%1[f64 (6, 5)] = cumsum.f64 %0[f64 (6, 5)] axes=(0)";
    let plan = planned(text);
    assert!(
        plan.to_string()
            .ends_with("\n  cost: 240 bytes read, 240 written, work of 30 additions, 5 of them one after the other\n")
    );
    let program: Program = text.replace("f64", "i64").parse().unwrap();
    let shown = numelt_opt::explain(&program, &Options::default()).unwrap().to_string();
    assert!(shown.ends_with("\n  cost: 240 bytes read, 240 written, work of 30 additions\n"), "{shown}");
}
