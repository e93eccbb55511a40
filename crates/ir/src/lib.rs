//! The vector bytecode: what front ends record, passes rewrite and engines run.
//!
//! In: values only. Out: [`Program`]s, their text form and their binary form, a verifier, and a slow reference
//! interpreter that defines what each operation means. Not here: I/O, threads, unsafe code, and everything about
//! engines and Python.
#![forbid(unsafe_code)]

mod dtype;
mod error;
mod half;
#[macro_use]
mod op;
pub mod interp;
mod overlap;
pub mod parts;
mod program;
mod scalar;
mod text;
mod verify;
mod view;
pub mod warn;
pub mod wire;

pub use dtype::{DType, DTypeSet, Kind as DTypeKind};
pub use error::{Error, Result};
pub use half::F16;
pub use interp::{Pieces, interpret, memory_order, pairwise_sum};
pub use op::{Loops, Op, OpInfo, OpKind, Signature};
pub use overlap::is_nested;
pub use program::{Axes, Base, BaseId, ConstId, Instr, Operand, Program};
pub use scalar::{C32, C64, Scalar};
pub use verify::{MAX_RANK, verify};
pub use view::{Dims, Offsets, View, c_strides, new_strides};
