//! Programs: bases, literals and a list of instructions over views.
//!
//! Semantics. Instructions run in order. An instruction reads all of its inputs before it
//! writes any output element, so a view may overlap itself: the result is as if the inputs
//! had been copied first. Every input is converted from its view's dtype to the dtype that the
//! operation's signature asks for, and the result is converted to the output view's dtype, with
//! C conversion rules (NumPy's `casting='unsafe'`; the front end has checked what is allowed).

use crate::{DType, Op, Scalar, View};
use smallvec::SmallVec;

/// Index of a base in its program.
pub type BaseId = u32;
/// Index of a literal in its program.
pub type ConstId = u32;

/// A flat stretch of memory that views look into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Base {
    /// Size in bytes.
    pub nbytes: usize,
    /// Holds values before the program runs.
    pub input: bool,
    /// Must hold its values after the program ran; a base that is neither lives only inside.
    pub output: bool,
}

/// What an instruction reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Elements of a base.
    View(View),
    /// A literal: plans are independent of its value, only its dtype matters to them.
    Const(ConstId),
}

/// A set of axes, one bit each (bit 0 is axis 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Axes(pub u64);

impl Axes {
    /// Axes `0..rank`.
    pub fn all(rank: usize) -> Axes {
        Axes(if rank >= 64 { u64::MAX } else { (1 << rank) - 1 })
    }

    /// Is `axis` in the set?
    pub fn contains(self, axis: usize) -> bool {
        axis < 64 && self.0 >> axis & 1 == 1
    }

    /// The set with `axis` added.
    pub fn with(self, axis: usize) -> Axes {
        Axes(self.0 | 1 << axis)
    }

    /// Number of axes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// No axis at all?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Members, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |&a| self.contains(a))
    }
}

/// One operation on views.
///
/// Shapes: elementwise and generator operations have all views of the output's shape (the
/// recorder broadcasts). A reduction's output has its input's rank, with extent one on each
/// reduced axis. A scan has one axis and equal shapes. `matmul` is `(…, m, k) x (…, k, n)`.
/// `gather` has positions of the output's shape `s` and a source of shape `(n, s…)`. `scatter` has a
/// target and an output of shape `(n, s…)`, positions of any shape `q` and values of shape `(q…, s…)`.
/// `nonzero` of rank `r` gives `(count, r)`: the first `count` positions, zeros if there are fewer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instr {
    /// What to do.
    pub op: Op,
    /// The loop dtype: with the op's signature it fixes what inputs convert to.
    pub ty: DType,
    /// Where the result goes.
    pub out: View,
    /// What is read, in the op's order.
    pub ins: SmallVec<[Operand; 3]>,
    /// Reduced axes of a reduction, the axis of a scan; empty otherwise.
    pub axes: Axes,
    /// Conditions to report (see [`crate::warn`]); no value depends on it, and the text form leaves it out.
    pub watch: u8,
}

impl Instr {
    /// Views that are read.
    pub fn reads(&self) -> impl Iterator<Item = &View> {
        self.ins.iter().filter_map(|o| match o {
            Operand::View(v) => Some(v),
            Operand::Const(_) => None,
        })
    }

    /// The iteration space: the input's shape for a reduction, else the output's.
    pub fn domain(&self) -> &[i64] {
        if self.op.kind() == crate::OpKind::Reduction
            && let Some(Operand::View(v)) = self.ins.first()
        {
            return &v.shape;
        }
        &self.out.shape
    }
}

/// A batch of recorded work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The bases that views index into.
    pub bases: Vec<Base>,
    /// The literals.
    pub consts: Vec<Scalar>,
    /// The instructions, in program order.
    pub instrs: Vec<Instr>,
}
