//! What the optimizer hands to the runtime: kernels and library calls in order.

use crate::{Cost, Geometry, Kernel, Recipe};
use numelt_ir::{BaseId, ConstId, Op, Program, Scalar};
use std::sync::Arc;

/// A finished plan for a program of one exact geometry; literals stay parameters, but for `equal`.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The program after the passes: steps refer to its bases, literals and instructions.
    /// Its first bases and all literals are those of the recorded program; bases that passes
    /// added (copies that break overlaps) come after them and are neither input nor output.
    pub program: Program,
    /// What to run, in order.
    pub steps: Vec<Step>,
    /// What each of them takes.
    pub costs: Vec<Cost>,
    /// Per base of `program`: true where no memory is needed (contracted or unused).
    pub contracted: Vec<bool>,
    /// Pairs of literals that have the same bits in the program that was planned, and must have in any other that
    /// the plan is used for.
    pub equal: EqualLiterals,
    /// Bytes that the steps read and write: each element once per kernel, whichever operands it lies in. The sum of
    /// what `costs` say.
    pub bytes_moved: u64,
}

/// Pairs of literals.
pub type EqualLiterals = Vec<(ConstId, ConstId)>;

impl Plan {
    /// Does no step need the value of a recipe in memory, and does the plan compute it where it could warn?
    pub fn leaves_out(&self, recipe: &Recipe) -> bool {
        self.contracted[recipe.base as usize]
            && (!recipe.may_warn || self.program.instrs.iter().any(|instr| instr.out.base == recipe.base))
    }

    /// May the plan be used with these literals?
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
    /// Loop nests that take turns along a loop that they share.
    Nest(NestStep),
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
    /// A store whose memory other points still read.
    pub delay: Option<Delay>,
    /// Results that go where positions say. The kernel's loops then run in C order of the instructions' shape.
    pub puts: Vec<Put>,
}

impl KernelStep {
    /// Is the base one of those that a put takes from the kernel as they are made, so that it needs no memory?
    pub fn streams(&self, base: BaseId) -> bool {
        let made = self.puts.iter().flat_map(|put| [put.values, put.positions]).flatten();
        made.into_iter().any(|arg| self.bases[arg as usize] == base)
    }
}

/// Where a kernel gathers from a target of its puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathers {
    /// Nowhere.
    Not,
    /// At each point where that point puts to: no put reaches another point's gather, if positions are distinct.
    There,
    /// Anywhere in the target.
    Anywhere,
}

/// A scatter of what a kernel makes, as it makes it: element `n` of the values, in C order, is put when point `n` has been
/// evaluated, and those before it have been put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Put {
    /// The scatter, an instruction of `Plan::program`. Operands that no argument stands for lie in memory when a point
    /// has been evaluated.
    pub instr: usize,
    /// The base that it writes. The kernel touches none of those elements, but for `gathers`.
    pub target: BaseId,
    /// The `Store` argument of the values, if they are needed nowhere else; its base has no memory then.
    pub values: Option<u32>,
    /// The same of the positions, of which there is one for each value.
    pub positions: Option<u32>,
    /// Does the kernel gather from the target, and where? All that is gathered is what the target held before.
    pub gathers: Gathers,
    /// Bytes that the scatter moves, without what it takes from the kernel.
    pub bytes: u64,
}

/// A kernel that overwrites what it reads: an element that one point stores is loaded by other points, and all of them
/// need what it held before. Points are counted in loop order, the last loop running fastest.
///
/// What is stored at point `q` is loaded by points from `q - ahead` to `q + behind` only, and must not be written before they
/// have been evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The `Store` argument; all others follow the kernel form.
    pub arg: u32,
    /// How many points later an element may still be loaded.
    pub behind: u64,
    /// How many points earlier it may be loaded.
    pub ahead: u64,
    /// Does the first point follow on the last? So it is where the outermost loop wraps.
    pub cyclic: bool,
}

/// Kernels that share a kept loop. They run stage after stage for one stretch of the loop's steps, then for
/// the next; what one stage leaves for a later one of the same stretch is still in cache.
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
    /// Bases that need no memory but for the stretch at hand.
    pub scratch: Vec<Scratch>,
}

/// A kernel of a nest.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The kernel with its numbers for the whole loop.
    pub step: KernelStep,
    /// Which of its loops is the shared one. It is kept.
    pub shared: usize,
    /// Per argument, the index in [`NestStep::scratch`] of the memory it lies in, if it does.
    pub places: Vec<Option<u32>>,
}

/// A base that exists one stretch at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scratch {
    /// The base.
    pub base: BaseId,
    /// Byte of the base where step zero starts.
    pub low: i64,
    /// Bytes that each step has to itself; the stride of all its arguments along the shared loop.
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
