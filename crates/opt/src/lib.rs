//! The optimizer: a recorded [`numelt_ir::Program`] in, a [`Plan`] of kernels and library calls out.
//!
//! [`plan`] runs the passes, partitions the program into blocks that may share a loop nest, and builds a
//! kernel for each. [`explain`] shows every stage of that as text or as a graph.
//!
//! Not here: memory, pointers, engines, I/O, unsafe code.
#![forbid(unsafe_code)]

mod access;
mod build;
mod cost;
mod demands;
mod explain;
mod fuse;
mod kernel;
mod options;
mod overlap;
mod passes;
mod pipeline;
mod plan;
mod print;
mod recipe;
mod target;
mod verify;

pub use build::one::{ArgSource, OneKernel, OneKey, Outline, copied_before, overlaps_itself};
pub use cost::Cost;
pub use explain::{BlockSummary, Explanation, explain};
pub use kernel::{Arg, ArgGeometry, ArgKind, Geometry, Kernel, Near, Node, Reduction, Store, StrideClass, ValueId};
pub use options::{Fuse, Options, Pass, Passes};
pub use passes::{covers, dense_like};
pub use pipeline::{plan, plan_owned};
pub use plan::{Delay, EqualLiterals, Gathers, KernelStep, NestStep, Plan, Put, Scratch, Stage, Step, Watch};
pub use recipe::{Recipe, recipes};
pub use target::{AlternationLimits, AtOnceLimits, DelayLimits, NearLoads, NestLimits, PlanningCosts, Target};
pub use verify::{verify_kernel, verify_nest};
