//! The functions that the interpreter calls: loops of this crate, and vector math.

use crate::tier0::loops::Loop;
use numelt_vecmath::{Slice1, Slice2};

/// The function that the interpreter calls for an instruction.
#[derive(Clone, Copy)]
pub enum Func {
    /// A loop of this crate.
    Loop(Loop),
    /// Vector math of one operand.
    Unary64(Slice1<f64>),
    /// The same on f32.
    Unary32(Slice1<f32>),
    /// Vector math of two operands.
    Binary64(Slice2<f64>),
    /// The same on f32.
    Binary32(Slice2<f32>),
}

impl Func {
    /// Computes `n` results.
    ///
    /// # Safety
    /// The contract of [`Loop`], for as many operands as the function has.
    #[inline]
    pub unsafe fn call(self, ins: [*const u8; 3], out: *mut u8, n: usize) {
        // SAFETY: the caller's contract.
        unsafe {
            match self {
                Func::Loop(f) => f(ins.as_ptr(), out, n),
                Func::Unary64(f) => f(ins[0].cast(), out.cast(), n),
                Func::Unary32(f) => f(ins[0].cast(), out.cast(), n),
                Func::Binary64(f) => f(ins[0].cast(), ins[1].cast(), out.cast(), n),
                Func::Binary32(f) => f(ins[0].cast(), ins[1].cast(), out.cast(), n),
            }
        }
    }
}
