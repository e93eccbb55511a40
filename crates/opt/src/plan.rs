//! [`Plan`], the result of the optimizer: kernels and library calls in order.

use crate::{Cost, Geometry, Kernel, Recipe};
use numelt_ir::{BaseId, ConstId, Op, Program, Scalar};
use std::sync::Arc;

/// A finished plan for a program of one exact geometry. Literals are parameters, except for the pairs in `equal`.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program after the passes. The steps refer to its bases, literals and instructions. Its first bases and all
    /// literals are those of the recorded program. Bases that passes added (for copies that remove overlaps) come after
    /// them and are neither input nor output.
    pub program: Program,
    /// What to run, in order.
    pub steps: Vec<Step>,
    /// The cost of each step.
    pub costs: Vec<Cost>,
    /// For each base of `program`, whether it needs no memory (contracted or unused).
    pub contracted: Vec<bool>,
    /// Pairs of literals that have the same bits in the program for which the plan was made, and must have in any other
    /// for which it is used.
    pub equal: EqualLiterals,
    /// The bytes that the steps read and write: each element once per kernel, even if several operands contain it. It
    /// is the sum over `costs`.
    pub bytes_moved: u64,
}

/// Pairs of literals.
pub type EqualLiterals = Vec<(ConstId, ConstId)>;

impl Plan {
    /// Whether the value of a recipe need not be stored: no step needs it in memory, and if computing it could warn,
    /// the plan computes it.
    pub fn leaves_out(&self, recipe: &Recipe) -> bool {
        self.contracted[recipe.base as usize]
            && (!recipe.may_warn || self.program.instrs.iter().any(|instr| instr.out.base == recipe.base))
    }

    /// Whether the plan may be used with these literals.
    pub fn accepts(&self, consts: &[Scalar]) -> bool {
        let bits = |id: ConstId| (consts[id as usize].dtype(), consts[id as usize].to_bytes());
        self.equal.iter().all(|&(a, b)| bits(a) == bits(b))
    }
}

/// One unit of work for an engine.
#[derive(Debug, Clone)]
pub enum Step {
    /// A fused loop nest.
    Kernel(KernelStep),
    /// Loop nests that share a loop and take turns along it.
    Nest(NestStep),
    /// A library call or a scan: one instruction of `Plan::program` with materialized operands.
    Call(usize),
}

/// The conditions to report for a value (see [`numelt_ir::warn`]), and the operation that is named.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    /// The recorded operation.
    pub op: Op,
    /// Conditions.
    pub bits: u8,
    /// The base that it writes.
    pub out: BaseId,
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
    /// The delay of a store to memory that other points still read.
    pub delay: Option<Delay>,
    /// Results that are scattered. The kernel's loops then run in C order of the instructions' shape.
    pub puts: Vec<Put>,
}

impl KernelStep {
    /// Whether a scatter takes the base's values from the kernel as soon as they are computed, so that the base needs
    /// no memory.
    pub fn streams(&self, base: BaseId) -> bool {
        let made = self.puts.iter().flat_map(|put| [put.values, put.positions]).flatten();
        made.into_iter().any(|arg| self.bases[arg as usize] == base)
    }
}

/// Where a kernel gathers from the target of one of its scatters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathers {
    /// Nowhere.
    Not,
    /// At each point, at the position to which that point scatters. If positions are distinct, no point changes what
    /// another one gathers.
    There,
    /// Anywhere in the target.
    Anywhere,
}

/// A scatter of a kernel's results while they are computed. Element `n` of the values, in C order, is stored at its
/// position when point `n` has been evaluated and the elements before it have been stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// The scatter, an instruction of `Plan::program`. Its operands that are not arguments of the kernel are in memory
    /// when a point has been evaluated.
    pub instr: usize,
    /// The base that it writes. The kernel does not touch these elements, except as `gathers` says.
    pub target: BaseId,
    /// The `Store` argument of the values, if nothing else needs them; its base then has no memory.
    pub values: Option<u32>,
    /// The same for the positions, of which there is one for each value.
    pub positions: Option<u32>,
    /// Whether and where the kernel gathers from the target. Gathers read what the target held before.
    pub gathers: Gathers,
    /// The bytes that the scatter moves, without those that it takes from the kernel.
    pub bytes: u64,
}

/// The delay of a kernel that overwrites what it reads: an element that one point stores is loaded by other points, and
/// all of them need its old value. Points are counted in loop order, the last loop running fastest.
///
/// The element that point `q` stores is loaded only by the points from `q - ahead` to `q + behind`, and must not be
/// written before they have been evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The `Store` argument with the delay; all other stores follow the kernel form.
    pub arg: u32,
    /// A point that loads the element comes at most this many points after the one that stores it.
    pub behind: u64,
    /// A point that loads the element comes at most this many points before the one that stores it.
    pub ahead: u64,
    /// Whether the first point follows the last one, because the outermost loop wraps.
    pub cyclic: bool,
}

/// Kernels that share a loop that is not reduced. They run stage after stage for one stretch of the loop's steps, then
/// for the next stretch. What one stage writes is still in cache when a later stage of the same stretch reads it.
///
/// Stretches are independent of each other: they may have any length and run in any order.
#[derive(Debug, Clone)]
pub struct NestStep {
    /// The kernels, in order.
    pub stages: Vec<Stage>,
    /// Steps of the shared loop.
    pub extent: i64,
    /// Fewest steps that a stretch should have.
    pub grain: i64,
    /// Bases that need memory only for the current stretch.
    pub scratch: Vec<Scratch>,
}

/// A kernel of a nest.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The kernel with its numbers for the whole loop.
    pub step: KernelStep,
    /// The index of the shared loop among its loops.
    pub shared: usize,
    /// For each argument, the index in [`NestStep::scratch`] of its memory, if it is scratch memory.
    pub places: Vec<Option<u32>>,
}

/// A base that exists one stretch at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scratch {
    /// The base.
    pub base: BaseId,
    /// The byte of the base at which step zero starts.
    pub low: i64,
    /// The number of bytes that belong to each step; the stride of all its arguments along the shared loop.
    pub pitch: i64,
}

impl Step {
    /// The kernels of the step.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelStep> {
        let (one, many) = match self {
            Step::Kernel(step) => (Some(step), &[][..]),
            Step::Nest(nest) => (None, &nest.stages[..]),
            Step::Call(_) => (None, &[][..]),
        };
        one.into_iter().chain(many.iter().map(|stage| &stage.step))
    }
}
