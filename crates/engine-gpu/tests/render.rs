//! Texts of kernels, for which no device is needed: a few complete ones, which are in files next to this one
//! (`NUMELT_BLESS=1` writes them again), and properties of those of random programs.

use numelt_engine_gpu::render::{Dialect, Param, Source, Variant, render};
use numelt_ir::Program;
use numelt_opt::{Kernel, Options, Target, plan};
use numelt_testing::generator::{Limits, generate};
use std::path::Path;
use std::{env, fs};

const PLAIN: Variant = Variant { narrow: true, rolled: false, packed: false, short: false };

fn options() -> Options {
    Options { target: Target { nests: None, delays: None, puts: false, ..Target::cpu() }, ..Options::default() }
}

fn kernels(program: &Program) -> Vec<Kernel> {
    let plan = plan(program, &options()).unwrap();
    plan.steps.iter().flat_map(|step| step.kernels()).map(|step| (*step.kernel).clone()).collect()
}

fn source(text: &str, dialect: Dialect, variant: Variant) -> Source {
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    let kernels = kernels(&program);
    assert_eq!(kernels.len(), 1, "{text}");
    render(&kernels[0], dialect, variant).unwrap()
}

/// Compares a text with the file of that name.
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/texts").join(name);
    if env::var_os("NUMELT_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "{name} has changed; NUMELT_BLESS=1 rewrites it");
}

/// A column, a row and a transposed matrix.
const ELEMENTWISE: &str = "\
base %0 800 in
base %1 160 in
base %2 1600 in
base %3 1600
base %4 1600 out
const $0 = f32 2
%3[f64 (20, 10)] = multiply.f64 %2[f64 (20, 10):(8, 160)], %1[f64 (20, 10):(8, 0)]
%4[f64 (20, 10)] = add.f64 %3[f64 (20, 10)], %0[i32 (20, 10):(0, 8)]
";

/// The sums of rows of squares that are computed in the same kernel.
const ROWS: &str = "\
base %0 40000 in
base %1 40000
base %2 400 out
%1[f32 (100, 100)] = square.f32 %0[f32 (100, 100)]
%2[f32 (100, 1)] = sum.f32 %1[f32 (100, 100)] axes=(1)
";

/// The largest numbers of columns.
const COLUMNS: &str = "\
base %0 40000 in
base %1 800 out
%1[i64 (1, 100)] = argmax.f32 %0[f32 (100, 100)] axes=(0)
";

/// An array compared with a number and with half as many bytes for each element.
const BESIDE: &str = "\
base %0 400 in
base %1 200 in
base %2 400
base %3 100 out
const $0 = f32 2
%2[f32 (100)] = multiply.f32 %0[f32 (100)], $0
%3[bool (100)] = less.f32 %2[f32 (100)], %1[f16 (100)]
";

#[test]
fn texts_are_as_they_were() {
    for (name, text) in [("elementwise", ELEMENTWISE), ("rows", ROWS), ("columns", COLUMNS)] {
        check(&format!("{name}.cl"), &source(text, Dialect::OpenCl, PLAIN).text);
    }
    check("elementwise.cu", &source(ELEMENTWISE, Dialect::Cuda, PLAIN).text);
    check("beside.cu", &source(BESIDE, Dialect::Cuda, Variant { packed: true, ..PLAIN }).text);
}

/// The text after the prologue, which ends with a blank line.
fn body(text: &str) -> &str {
    text.split_once("\n\n").unwrap().1
}

#[test]
fn dialects_differ_in_the_prologue_only() {
    for seed in 0..300 {
        for kernel in kernels(&generate(seed, &Limits::default())) {
            let variant = Variant { packed: seed % 2 == 0, ..PLAIN };
            let texts = Dialect::ALL.map(|dialect| render(&kernel, dialect, variant));
            let [Some(cuda), Some(opencl)] = texts else { continue };
            assert_eq!(body(&cuda.text), body(&opencl.text), "seed {seed}");
            assert_eq!((cuda.params, cuda.watches), (opencl.params, opencl.watches), "seed {seed}");
        }
    }
}

#[test]
fn parameters_stand_for_what_the_kernel_has() {
    let params = source(ELEMENTWISE, Dialect::OpenCl, PLAIN).params;
    let memory = params.iter().filter(|param| matches!(param, Param::Memory(_))).count();
    assert_eq!(memory, 4);
    // strides of one are in the text, others are arguments of a launch
    assert!(params.contains(&Param::Stride(0, 1)) || params.contains(&Param::Stride(0, 0)), "{params:?}");
    let rolled = source(ELEMENTWISE, Dialect::OpenCl, Variant { rolled: true, ..PLAIN }).params;
    assert!(!params.iter().any(|param| matches!(param, Param::Wrap(..))));
    assert!(rolled.iter().any(|param| matches!(param, Param::Wrap(..))));
}

#[test]
fn without_doubles_no_double_is_named() {
    let text = source(ROWS, Dialect::OpenCl, PLAIN).text;
    assert!(!text.contains("double") && !text.contains("fp64"), "{text}");
    assert!(source(ELEMENTWISE, Dialect::OpenCl, PLAIN).text.contains("cl_khr_fp64 : enable"));
}
