//! Puts LLVM's library into the Python package, beside the module that loads it when it first compiles.
//!
//! In: the library that the crate `numelt-llvm` made (feature `llvm`). Out: a copy in `python/numelt`, which editable
//! installs use and maturin takes into wheels; without the feature, none.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../python/numelt");
    let target = package.join("libnumelt_llvm.so");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", target.display());
    let outcome = match env::var_os("DEP_NUMELT_LLVM_LIBRARY") {
        Some(library) => {
            println!("cargo::rerun-if-changed={}", library.display());
            replace(&library.into(), &target)
        }
        None => match fs::remove_file(&target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    };
    outcome.unwrap_or_else(|error| panic!("{}: {error}", target.display()));
}

/// By renaming: processes that run have the old file mapped.
fn replace(library: &PathBuf, target: &PathBuf) -> io::Result<()> {
    let bytes = fs::read(library)?;
    if fs::read(target).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let new = target.with_extension("so.new");
    fs::write(&new, bytes)?;
    fs::rename(new, target)
}
