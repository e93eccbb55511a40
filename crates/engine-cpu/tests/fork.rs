//! A child that was forked while the pool had threads can compute.

#![cfg(unix)]

mod support;

use numelt_ir::{DType, Op};
use support::{Build, engine, noise};

#[test]
fn forked_child_computes() {
    let engine = engine(3, 0);
    let x = noise(200_000);
    let sum = || {
        let mut out = 0.0f64;
        let mut b = Build::new(&[(x.len() as i64, true)]);
        let v = b.load(DType::F64, x.as_ptr().cast(), &[8]);
        b.reduce(Op::Sum, v, DType::F64, (&raw mut out).cast(), &[0]);
        b.run(&engine);
        out
    };
    let want = sum();
    // SAFETY: the child only computes, and exits without running destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let same = (0..20).all(|_| sum().to_bits() == want.to_bits());
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!same)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "child ended with {status}");
    assert_eq!(sum().to_bits(), want.to_bits());
}
