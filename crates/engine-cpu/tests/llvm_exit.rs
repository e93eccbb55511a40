//! A process may end at any moment while other threads load LLVM or compile.

use numelt_engine_cpu::llvm;
use numelt_ir::{DType, Op};
use numelt_opt::{Arg, ArgKind, Kernel, Node, Store, StrideClass};
use numelt_vecmath::Isa;
use smallvec::smallvec;
use std::process::Command;
use std::time::Duration;

/// Microseconds after which the child ends.
const AFTER: &str = "NUMELT_TEST_EXIT_AFTER";

fn kernel() -> Kernel {
    let arg = |kind| Arg { kind, dtype: DType::F64, strides: smallvec![StrideClass::Unit], near: None };
    let mut body = vec![Node::Load(0)];
    for k in 0..30 {
        body.push(Node::Op(Op::Multiply, DType::F64, smallvec![k, k / 2]));
    }
    Kernel {
        reduced: smallvec![false],
        args: vec![arg(ArgKind::Load), arg(ArgKind::Store)],
        params: vec![],
        body,
        stores: vec![Store { arg: 1, value: 30 }],
        reductions: vec![],
    }
}

fn compile_for_ever() {
    while llvm::compile(&kernel(), Isa::detect()).is_ok() {}
}

/// Ends the process while two threads compile, after the time that the environment states.
fn child(first: bool) {
    let after = std::env::var(AFTER).unwrap().parse().unwrap();
    if first {
        llvm::compile(&kernel(), Isa::detect()).unwrap();
    }
    std::thread::spawn(compile_for_ever);
    std::thread::spawn(compile_for_ever);
    std::thread::sleep(Duration::from_micros(after));
    std::process::exit(0);
}

/// Runs one test of this program in child processes that end after increasing times.
fn parent(test: &str) {
    for after in (0..24).map(|k| 700 * k) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.args([test, "--exact"]).env(AFTER, after.to_string()).output().unwrap();
        assert!(output.status.success(), "after {after} µs: {output:?}");
    }
}

#[test]
fn exit_while_llvm_is_loaded_and_first_used() {
    if std::env::var_os(AFTER).is_some() {
        child(false);
    }
    parent("exit_while_llvm_is_loaded_and_first_used");
}

#[test]
fn exit_after_a_first_compile() {
    if std::env::var_os(AFTER).is_some() {
        child(true);
    }
    parent("exit_after_a_first_compile");
}
