//! The function IR: an intermediate representation of compiled Python loops, as operations on numbers and memory.
//!
//! The crate defines a [`Function`], its text form, a verifier, and a slow interpreter that defines the meaning of each
//! instruction. Crate `jit` builds functions, and crate `codegen` compiles them. The code is structured (`if`, `loop`
//! and `block`; there are no jumps) and typed, and each value is defined once. The types are those of numbers in memory
//! ([`numelt_ir::DType`]). Python's and NumPy's types do not occur: crate `jit` represents tuples, arrays and variables
//! of several types as several numbers.
//!
//! Not here: Python, LLVM, threads, unsafe code. The caller of the interpreter supplies the memory ([`Memory`]).
#![forbid(unsafe_code)]

mod interp;
mod program;
mod text;
mod uses;
mod verify;

pub use interp::{Memory, Outcome, interpret};
pub use program::{Ahead, Array, Body, CFunction, Carried, Function, Indices, Instr, Label, Linear, Value, Written};
pub use uses::{has_polls, iterations_ahead, only_polls_stop, uses, writes_in_branches};
pub use verify::verify;
