//! Without LLVM's library, kernels on disk are used nevertheless, and the others stay on the interpreter, with one
//! warning.

mod support;

use numelt_engine_cpu::llvm::{self, Options};
use numelt_ir::{Error, Op};
use numelt_vecmath::Isa;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use support::unary;

/// The cache's directory, for the child process.
const DIRECTORY: &str = "NUMELT_TEST_CACHE";

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn mapped() -> bool {
    std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("numelt_llvm"))
}

/// A process that cannot find the library.
fn child(directory: PathBuf) {
    llvm::set_options(Options {
        secret_file: Some(directory.join("key")),
        cache_dir: Some(directory),
        warn: |text| WARNINGS.lock().unwrap().push(text.to_owned()),
        ..Options::default()
    });
    assert!(llvm::compile(&unary(Op::Exp), Isa::detect()).is_ok(), "it is on disk");
    assert!(WARNINGS.lock().unwrap().is_empty() && !mapped());
    for op in [Op::Square, Op::Log] {
        assert!(matches!(llvm::compile(&unary(op), Isa::detect()), Err(Error::Unsupported(_))));
    }
    assert!(llvm::ir_text(&unary(Op::Square), Isa::detect()).is_err());
    let warnings = WARNINGS.lock().unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("libnumelt_llvm.so"), "{warnings:?}");
}

#[test]
fn what_is_on_disk_needs_no_llvm() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return child(directory.into());
    }
    let directory = std::env::temp_dir().join(format!("numelt-missing-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let secret_file = Some(directory.join("key"));
    llvm::set_options(Options { cache_dir: Some(directory.clone()), secret_file, ..Options::default() });
    assert!(!mapped());
    llvm::compile(&unary(Op::Exp), Isa::detect()).unwrap();
    assert!(mapped());
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["what_is_on_disk_needs_no_llvm", "--exact"]).env_remove("LD_LIBRARY_PATH").env(DIRECTORY, &directory);
    let output = again.output().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(output.status.success(), "{output:?}");
}
