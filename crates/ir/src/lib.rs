//! The vector bytecode: what front ends record, passes rewrite and engines run.
//!
//! This crate holds [`Program`]s, their text form and their binary form, a verifier, and a slow reference interpreter
//! that defines what each operation means. It has no I/O, threads or unsafe code, and knows nothing of engines and
//! Python.
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

pub use dtype::{DType, DTypeKind, DTypeSet};
pub use error::{Error, Result};
pub use half::F16;
pub use interp::{Pieces, interpret, memory_order, pairwise_sum};
pub use op::{Loops, Op, OpInfo, OpKind, Signature};
pub use overlap::is_nested;
pub use program::{Axes, Base, BaseId, ConstId, Instr, Operand, Program};
pub use scalar::{Complex64, Complex128, Scalar};
pub use verify::{MAX_RANK, verify};
pub use view::{Dims, Offsets, View, c_strides, new_strides};
