//! Links LLVM's static archives into one shared library that exports the functions of `src/functions.rs`.
//!
//! In: `src/library.c`, `src/passes.cpp` and the LLVM 19 under `LLVM_SYS_191_PREFIX`. Out: `libnumelt_llvm.so` in
//! `OUT_DIR`. Crates that depend on this one get its path as `DEP_NUMELT_LLVM_LIBRARY`; programs that cargo runs find
//! it because `OUT_DIR` is on the link path. Without the feature `library`, nothing is built.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

macro_rules! functions {
    ($($name:ident: $type:ty;)*) => { const NAMES: &[&str] = &[$(stringify!($name)),*]; };
}
include!("src/functions.rs");

const PREFIX: &str = "LLVM_SYS_191_PREFIX";
/// Set when the library is built for `scripts/llvm_hot.py`, which needs the names of the functions.
const SYMBOLS: &str = "NUMELT_LLVM_SYMBOLS";

fn main() {
    for path in ["build.rs", "src/functions.rs", "src/library.c", "src/passes.cpp", "src/hot.txt"] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed={PREFIX}");
    println!("cargo::rerun-if-env-changed={SYMBOLS}");
    if env::var_os("CARGO_FEATURE_LIBRARY").is_none() {
        println!("cargo::rustc-env=NUMELT_LLVM_VERSION=");
        return;
    }
    let version = llvm_config(&["--version"]).concat();
    assert!(version.starts_with("19."), "LLVM {version} under {PREFIX}; 19 is needed");
    println!("cargo::rustc-env=NUMELT_LLVM_VERSION={version}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let library = out.join("libnumelt_llvm.so");
    link(&out, &library);
    println!("cargo::metadata=library={}", library.display());
    println!("cargo::rustc-link-search=native={}", out.display());
}

/// The name of LLVM's component for the processor for which this is compiled.
fn code_generator() -> &'static str {
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86codegen",
        Ok("aarch64") => "aarch64codegen",
        other => panic!("no compiled kernels for {other:?}: build with --no-default-features"),
    }
}

fn llvm_config(arguments: &[&str]) -> Vec<String> {
    let prefix = env::var_os(PREFIX).map_or_else(|| PathBuf::from("/usr/lib/llvm-19"), PathBuf::from);
    let program = prefix.join("bin/llvm-config");
    let output = Command::new(&program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}; is LLVM 19 installed?", program.display()));
    assert!(output.status.success(), "{} {arguments:?} failed", program.display());
    let text = String::from_utf8(output.stdout).expect("llvm-config prints text");
    text.split_whitespace().map(str::to_owned).collect()
}

fn link(out: &Path, library: &Path) {
    let exports = out.join("exports.map");
    let names: String = NAMES.iter().map(|name| format!("{name}; ")).collect();
    std::fs::write(&exports, format!("{{ global: numelt_llvm_start; {names} local: *; }};\n"))
        .expect("OUT_DIR is ours");

    let mut command = cc::Build::new().cpp(true).get_compiler().to_command();
    command.arg("-shared").arg("-o").arg(library).args(["-x", "c", "src/library.c", "-x", "none"]);
    command.arg(passes(out));
    command.arg(joined("-Wl,--version-script=", &exports));
    // The exported names are requested (`-u`), so that the linker takes the archive members that define them and what
    // these need; everything else is left out. Destructors of LLVM's static objects are never registered: see
    // `library.c`.
    command.args(NAMES.iter().map(|name| format!("-Wl,-u,{name}")));
    if env::var_os(SYMBOLS).is_none() {
        command.arg("-Wl,-s");
    }
    command.args(["-Wl,--gc-sections", "-Wl,-O1", "-Wl,--as-needed", "-Wl,-Bsymbolic-functions"]);
    command.arg("-Wl,--wrap=__cxa_atexit");
    let components = [
        code_generator(),
        "core",
        "analysis",
        "instcombine",
        "scalaropts",
        "support",
        "targetparser",
        "transformutils",
        "vectorize",
    ];
    command.args(llvm_config(&["--libdir"]).iter().map(|folder| format!("-L{folder}")));
    command.args(llvm_config(&[&["--link-static", "--libs"], &components[..]].concat()));
    command.args(llvm_config(&[&["--link-static", "--system-libs"], &components[..]].concat()));
    // Linkers that do not support such scripts leave the order of the functions unchanged.
    let succeeds =
        |command: &mut Command| command.status().unwrap_or_else(|error| panic!("{command:?}: {error}")).success();
    let plain = command.get_args().map(ToOwned::to_owned).collect::<Vec<_>>();
    if !succeeds(command.arg(joined("-Wl,-T,", &hot_first(out)))) {
        println!("cargo::warning=the linker does not order functions: compiling kernels takes more memory");
        let mut command = Command::new(command.get_program());
        assert!(succeeds(command.args(plain)), "linking LLVM failed: {command:?}");
    }
}

/// Compiles `src/passes.cpp`. It is C++ because LLVM's C interface does not offer single passes.
fn passes(out: &Path) -> PathBuf {
    let object = out.join("passes.o");
    let mut command = cc::Build::new().cpp(true).get_compiler().to_command();
    command.args(["-std=c++17", "-O2", "-fPIC", "-fno-exceptions", "-fno-rtti"]);
    command.args(["-ffunction-sections", "-fdata-sections", "-fvisibility-inlines-hidden", "-w"]);
    if llvm_config(&["--assertion-mode"]).concat() == "OFF" {
        command.arg("-DNDEBUG");
    }
    command.args(["-isystem", &llvm_config(&["--includedir"]).concat(), "-c", "src/passes.cpp", "-o"]).arg(&object);
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "compiling src/passes.cpp failed: {command:?}");
    object
}

/// A linker script that places the functions that run to compile kernels next to each other. They are a third of LLVM's
/// code, but would otherwise be spread over all of its pages. `src/hot.txt` contains prefixes of their names.
fn hot_first(out: &Path) -> PathBuf {
    let script = out.join("hot.ld");
    let sections: String = include_str!("src/hot.txt").lines().map(|name| format!("*(.text.{name}*) ")).collect();
    std::fs::write(&script, format!("SECTIONS {{ .text.hot : {{ {sections}}} }} INSERT BEFORE .text;\n"))
        .expect("OUT_DIR is ours");
    script
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}
