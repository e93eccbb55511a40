//! Variants for one geometry: they have the same bits as the code for all, and are compiled when a geometry recurs, but
//! never when it shrinks.

mod support;

use numelt_engine_cpu::{CpuEngine, Jit, Options, Variants};
use numelt_ir::{DType, Op, Scalar};
use numelt_opt::Fuse;
use numelt_runtime::{Engine, Host, Launch, Work, run};
use numelt_testing::engine::{Tested, check_engine, conforms};
use std::fmt::Write;
use std::sync::Arc;
use support::{Build, noise};

fn engine(variants: Variants) -> CpuEngine {
    CpuEngine::new(Options { threads: 2, jit: Jit::Sync, variants, serial_below: 0, ..Options::default() })
}

#[test]
fn the_suite_on_variants() {
    let engine = engine(Variants::Fixed);
    conforms(Tested::host(&engine), 15);
    assert!(engine.variants()[0] > 0);
}

/// A program on rows of `inner` elements, whose operands are whole, broadcast in either direction, padded or reused in
/// place.
fn short_rows(rows: i64, inner: i64, ty: &str, size: i64, choice: u64) -> String {
    let mut state = choice.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut pick = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let (n, wide) = (rows * inner * size, inner + 2);
    let mut text = String::new();
    let sizes = [n, rows * size, inner * size, rows * wide * size, rows * wide * size];
    for (k, bytes) in sizes.iter().enumerate() {
        writeln!(text, "base %{k} {bytes} in{}", if k == 4 { " out" } else { "" }).unwrap();
    }
    let three = if ty.starts_with('c') { "(3,1)" } else { "3" };
    writeln!(text, "base %5 {n} out\nbase %6 {} out\nconst $0 = {ty} {three}", rows * size).unwrap();
    for k in 7..12 {
        writeln!(text, "base %{k} {n}").unwrap();
    }
    let shape = format!("({rows}, {inner})");
    let places = [
        format!("%0[{ty} {shape}]"),
        format!("%1[{ty} {shape}:({size}, 0)]"),
        format!("%2[{ty} {shape}:(0, {size})]"),
        format!("%3[{ty} +{size} {shape}:({}, {size})]", wide * size),
        format!("%4[{ty} {shape}:({}, {size})]", wide * size),
        "$0".into(),
    ];
    let mut last = places[pick(5) as usize].clone();
    for k in 7..12 {
        let op = ["add", "subtract", "multiply", "maximum", "minimum"][pick(5) as usize];
        let other = &places[pick(6) as usize];
        writeln!(text, "%{k}[{ty} {shape}] = {op}.{ty} {last}, {other}").unwrap();
        last = format!("%{k}[{ty} {shape}]");
    }
    match pick(3) {
        0 => writeln!(text, "{} = multiply.{ty} {last}, {}", places[4], places[4]).unwrap(),
        1 => writeln!(text, "%5[{ty} {shape}] = negative.{ty} {last}").unwrap(),
        _ => writeln!(text, "%6[{ty} ({rows}, 1)] = max.{ty} {last} axes=(1)").unwrap(),
    }
    text
}

#[test]
fn short_rows_have_the_bits_of_the_interpreter() {
    let engine = engine(Variants::Fixed);
    let types = [("f64", 8), ("f32", 4), ("i64", 8), ("i16", 2), ("c64", 8), ("c128", 16)];
    for choice in 0..36u64 {
        let (ty, size) = types[choice as usize % types.len()];
        let ty = if choice % 7 == 0 { ("f64", 8) } else { (ty, size) };
        let inner = [2, 3, 4, 5, 7, 8, 9, 12, 19, 33][(choice * 7 % 10) as usize];
        let rows = [1, 2, 5, 8, 17, 40][(choice % 6) as usize];
        let text = short_rows(rows, inner, ty.0, ty.1, choice);
        let program = match text.parse() {
            Ok(program) => program,
            Err(error) => panic!("{error}\n{text}"),
        };
        check_engine(Tested::host(&engine), &program, choice, Fuse::Greedy).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    }
    assert!(engine.variants()[0] > 15);
}

/// `out = (a - row) * column` on rows of three.
fn kernel(rows: i64, a: &[f64], out: &mut [f64]) -> Build {
    let mut build = Build::new(&[(rows, false), (3, false)]);
    let x = build.load(DType::F64, a.as_ptr().cast(), &[24, 8]);
    let row = build.load(DType::F64, a.as_ptr().cast(), &[0, 8]);
    let column = build.load(DType::F64, a.as_ptr().cast(), &[8, 0]);
    let two = build.param(Scalar::F64(2.0));
    let difference = build.op(Op::Subtract, DType::F64, &[x, row]);
    let scaled = build.op(Op::Multiply, DType::F64, &[difference, column]);
    let doubled = build.op(Op::Multiply, DType::F64, &[scaled, two]);
    build.store(doubled, out.as_mut_ptr().cast(), &[24, 8]);
    build
}

#[test]
fn a_geometry_that_recurs_gets_a_variant() {
    let engine = CpuEngine::new(Options { threads: 1, jit: Jit::Sync, serial_below: 1, ..Options::default() });
    let rows = 40_000;
    let a = noise(3 * rows as usize);
    let mut out = vec![0.0; a.len()];
    let build = kernel(rows, &a, &mut out);
    let executable = engine.compile(&Arc::new(build.kernel.clone())).unwrap();
    let buffers = build.buffers();
    let launch = Launch { geometry: &build.geometry, buffers: &buffers, params: &build.params };
    for _ in 0..15 {
        run(&engine, &Work::Kernel(&*executable, &launch, None)).unwrap();
    }
    assert_eq!(engine.variants(), [0, 0]);
    for _ in 0..2000 {
        run(&engine, &Work::Kernel(&*executable, &launch, None)).unwrap();
    }
    assert_eq!(engine.variants()[0], 1);
    assert!(engine.variants()[1] > 0);
    let want = |k: usize| (a[k] - a[k % 3]) * a[k / 3] * 2.0;
    assert!(out.iter().enumerate().all(|(k, got)| got.to_bits() == want(k).to_bits()));
}

#[test]
fn geometries_that_shrink_get_none() {
    let engine = CpuEngine::new(Options { threads: 1, jit: Jit::Sync, serial_below: 1, ..Options::default() });
    let a = noise(3 * 64);
    let mut out = vec![0.0; 64 * 64];
    let mut build = Build::new(&[(64, false), (64, false)]);
    let x = build.load(DType::F64, a.as_ptr().cast(), &[8, 0]);
    let y = build.load(DType::F64, a.as_ptr().cast(), &[0, 8]);
    let product = build.op(Op::Multiply, DType::F64, &[x, y]);
    build.store(product, out.as_mut_ptr().cast(), &[64 * 8, 8]);
    let executable = engine.compile(&Arc::new(build.kernel.clone())).unwrap();
    for _ in 0..200 {
        for n in (2..=64).rev() {
            build.geometry.extents = [n, n].into_iter().collect();
            let buffers = build.buffers();
            let launch = Launch { geometry: &build.geometry, buffers: &buffers, params: &build.params };
            run(&engine, &Work::Kernel(&*executable, &launch, None)).unwrap();
        }
    }
    assert_eq!(engine.variants(), [0, 0]);
}
