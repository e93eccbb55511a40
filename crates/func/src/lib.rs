//! The function IR: what a compiled Python loop does, on numbers and on memory.
//!
//! In: nothing but values. Out: a [`Function`], its text form, a verifier, and a slow interpreter that defines what
//! each instruction means. The code is structured (`if`, `loop`, `block`; no jumps) and typed, each value is defined
//! once. Types are those of numbers in memory ([`numelt_ir::DType`]): what Python's and NumPy's types mean is decided
//! in crate `jit`, which takes tuples, arrays and variables of several types apart.
//! Not here: Python, LLVM, threads, unsafe code. Memory is whatever the caller of the interpreter says it is.
#![forbid(unsafe_code)]

mod interp;
mod program;
mod text;
mod uses;
mod verify;

pub use interp::{Memory, Outcome, interpret};
pub use program::{Ahead, Array, Body, CFunction, Carried, Function, Instr, Label, Value, Written};
pub use uses::{iterations_ahead, uses};
pub use verify::verify;
