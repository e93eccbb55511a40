//! What the optimizer hands to the runtime: kernels and library calls in order.

use crate::{Geometry, Kernel};
use numelt_ir::{BaseId, ConstId, Op, Program};
use std::sync::Arc;

/// A finished plan for a program of one exact geometry; literals stay parameters.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program after the passes: steps refer to its bases, literals and instructions.
    /// Its first bases and all literals are those of the recorded program; bases that passes
    /// added (copies that break overlaps) come after them and are neither input nor output.
    pub program: Program,
    /// What to run, in order.
    pub steps: Vec<Step>,
    /// Per base of `program`: true where no memory is needed (contracted or unused).
    pub contracted: Vec<bool>,
    /// Bytes that the steps read and write: each operand of a kernel once.
    pub bytes_moved: u64,
}

/// One unit of work for an engine.
#[derive(Debug, Clone)]
pub enum Step {
    /// A fused loop nest.
    Kernel(KernelStep),
    /// A library call or a scan: one instruction of `Plan::program` with materialized operands.
    Call(usize),
}

/// What to report of a value (see [`numelt_ir::warn`]), and in whose name.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// The recorded operation.
    pub op: Op,
    /// Conditions.
    pub bits: u8,
}

/// A kernel with its numbers and operands.
#[derive(Debug, Clone)]
pub struct KernelStep {
    /// Structure, shared between steps that have the same.
    pub kernel: Arc<Kernel>,
    /// Extents, strides, offsets.
    pub geometry: Geometry,
    /// Base of each argument; unused (zero) for `Index` arguments.
    pub bases: Vec<BaseId>,
    /// Literal of each parameter.
    pub params: Vec<ConstId>,
    /// Conditions to report (see [`numelt_ir::warn`]), per value of the body and then per reduction.
    pub watch: Vec<Watch>,
    /// Instructions of `Plan::program` that this kernel performs, for `explain` and traces.
    pub instrs: Vec<usize>,
}
