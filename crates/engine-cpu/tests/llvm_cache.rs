//! Compiled kernels on disk: a later compilation uses what an earlier one has written, whatever happens to the files.

mod support;

use numelt_codegen::Tile;
use numelt_engine_cpu::llvm::{self, Options};
use numelt_ir::Op;
use numelt_vecmath::Isa;
use std::path::PathBuf;
use std::sync::Mutex;
use support::unary;

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn run(op: Op, input: &[f64]) -> Vec<f64> {
    let body = llvm::compile(&unary(op), Isa::detect()).unwrap();
    let (mut input, mut output) = (input.to_vec(), vec![0.0; input.len()]);
    let pointers = [input.as_mut_ptr().cast::<u8>(), output.as_mut_ptr().cast::<u8>()];
    let tile = Tile {
        bypass: 0,
        pointers: pointers.as_ptr(),
        inner_strides: [8, 8].as_ptr(),
        outer_strides: [0, 0].as_ptr(),
        params: std::ptr::null(),
        inner: output.len() as i64,
        outer: 1,
    };
    // SAFETY: both arrays hold `inner` elements.
    unsafe { body.run(&tile) };
    output
}

#[test]
fn objects_are_kept_and_damaged_ones_replaced() {
    let directory = std::env::temp_dir().join(format!("numelt-llvm-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    llvm::set_options(Options {
        cache_dir: Some(directory.clone()),
        secret_file: Some(directory.join("key")),
        cache_bytes: 1 << 20,
        warn: |text| WARNINGS.lock().unwrap().push(text.to_owned()),
    });
    let input: Vec<f64> = (0..37).map(f64::from).collect();
    let squares: Vec<f64> = input.iter().map(|x| x * x).collect();
    let inside = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let list = || inside(directory.join("kernels")).flat_map(inside).collect::<Vec<_>>();
    assert_eq!(run(Op::Square, &input), squares);
    let [file] = &list()[..] else { panic!("one object") };
    assert_eq!(run(Op::Square, &input), squares);
    assert_eq!(run(Op::Exp, &[0.0, 1.0]), [1.0, std::f64::consts::E]);
    assert_eq!(run(Op::Exp, &[0.0, 1.0]), [1.0, std::f64::consts::E]);
    assert_eq!(list().len(), 2);
    std::fs::write(file, b"not an object").unwrap();
    assert_eq!(run(Op::Square, &input), squares);
    assert!(std::fs::metadata(file).unwrap().len() > 100);
    // The directory is removed while a process runs: there is a warning, and results are as before.
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!(run(Op::Negative, &[1.0]), [-1.0]);
    assert_eq!(run(Op::Absolute, &[-1.0]), [1.0]);
    assert_eq!(WARNINGS.lock().unwrap().len(), 1);
}
