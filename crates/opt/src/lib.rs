//! The optimizer: a recorded [`numelt_ir::Program`] in, a [`Plan`] of kernels and library calls out.
//!
//! Not here: memory, pointers, engines, I/O, unsafe code.
#![forbid(unsafe_code)]

mod kernel;
mod plan;

pub use kernel::{Arg, ArgGeometry, ArgKind, Geometry, Kernel, Node, Reduction, Store, StrideClass, ValueId};
pub use plan::{KernelStep, Plan, Step};
