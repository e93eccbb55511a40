//! The workspace's conformance suite on this engine, under several settings.

mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options};
use numelt_opt::Fuse;
use numelt_testing::engine::{check_engine, conforms};
use std::fmt::Write;
use support::engine;

#[test]
fn default_blocks() {
    conforms(&engine(1, 0), 10_000);
}

#[test]
fn blocks_of_one() {
    conforms(&engine(1, 1), 1000);
}

#[test]
fn blocks_of_two() {
    conforms(&engine(2, 2), 1000);
}

#[test]
fn odd_blocks() {
    conforms(&engine(3, 13), 1000);
}

#[test]
fn compiled_at_once() {
    let options = Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() };
    conforms(&CpuEngine::new(options), 150);
}

/// The sum of all neighbours of the inner points of a cube of `n`, 27 loads of which nine have addresses.
fn stencil(n: i64, dtype: &str, size: i64) -> String {
    let cube = (n + 2).pow(3) * size;
    let mut text = format!("base %0 {cube} in\nbase %1 {} out\n", n.pow(3) * size);
    let mut acc = format!("%0[{dtype} ({n}, {n}, {n}):({}, {}, {size})]", (n + 2).pow(2) * size, (n + 2) * size);
    for at in 1..27 {
        let (i, j, k) = (at / 9, at / 3 % 3, at % 3);
        let offset = (i * (n + 2).pow(2) + j * (n + 2) + k) * size;
        let strides = format!("({}, {}, {size})", (n + 2).pow(2) * size, (n + 2) * size);
        let out = format!("%1[{dtype} ({n}, {n}, {n})]");
        writeln!(text, "{out} = add.{dtype} {acc}, %0[{dtype} +{offset} ({n}, {n}, {n}):{strides}]").unwrap();
        acc = out;
    }
    text
}

#[test]
fn stencils() {
    let compiled = CpuEngine::new(Options { threads: 2, jit: Jit::Sync, serial_below: 0, ..Options::default() });
    for engine in [&compiled, &engine(1, 0), &engine(2, 3)] {
        for (n, dtype, size) in [(1, "f64", 8), (7, "f64", 8), (8, "f32", 4), (9, "i16", 2), (19, "c128", 16)] {
            let program = stencil(n, dtype, size).parse().unwrap();
            check_engine(engine, &program, n as u64, Fuse::Greedy).unwrap();
        }
    }
}
