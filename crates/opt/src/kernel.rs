//! The kernel form: one loop nest with an elementwise body, stores, and reductions fused with
//! their producers.
//!
//! A kernel is split in two. [`Kernel`] is its structure: operations, dtypes, number of loops,
//! which loops are reduced, and for each operand and loop whether the stride is zero, one element
//! or something else. It is the key of the parametric cache, and what engines compile.
//! [`Geometry`] holds the numbers: extents, strides and offsets; literals are parameters too.
//!
//! For each point of the iteration space, in any order, a kernel evaluates `body` and then performs the stores. All
//! loads of a point come before its stores. The optimizer guarantees that an element stored by one point is loaded by
//! no other point; the one exception is the store that a step's [`crate::Delay`] names. Reductions combine a value over
//! the reduced loops:
//! - `Sum` of floats and complex values follows NumPy's order over the loops, outermost first. (The loops are already
//!   in the memory order that NumPy uses.) If the innermost loops are reduced, they form a run. The flattened run is
//!   cut into [`Geometry::pieces`], each piece is summed pairwise ([`numelt_ir::pairwise_sum`]), and the sums of all
//!   pieces that belong to one output element are added one after the other. If the innermost loop is not reduced,
//!   elements are added one after the other in loop order.
//! - `Prod` of floats and complex values multiplies elements one after the other in loop order.
//! - The others do not depend on the order, except `Argmin` and `Argmax`, whose position counts the flattened reduced
//!   loops.
//!
//! A reduction over an empty range stores the identity (sum 0, prod 1, any false, all true); min, max and
//! arg-reductions over an empty range never reach a kernel.

use numelt_ir::{DType, Dims, Op, Pieces};
use smallvec::SmallVec;

/// Index of a node in [`Kernel::body`].
pub type ValueId = u32;

/// The stride of an operand along a loop, as far as it is known at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StrideClass {
    /// Broadcast: the same element at each step.
    Zero,
    /// Contiguous elements (the stride equals the element size).
    Unit,
    /// Any other stride, a parameter.
    Any,
}

/// How a kernel uses an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArgKind {
    /// Memory that is read.
    Load,
    /// Memory that a [`Node::Gather`] reads: anywhere along one more axis than the loops. Nothing in the kernel writes
    /// it.
    Gather,
    /// Memory that is written by a [`Store`].
    Store,
    /// Memory that holds a [`Reduction`]'s result; its strides are zero on reduced loops.
    Reduced,
    /// No memory: the integer `offset + sum(index * stride)` (generators); dtype i64, strides and offset in units of
    /// one.
    Index,
}

/// An operand of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Arg {
    /// Load, gather, store, reduction result or index.
    pub kind: ArgKind,
    /// Element type in memory.
    pub dtype: DType,
    /// Stride class per loop, outermost first.
    pub strides: SmallVec<[StrideClass; 4]>,
    /// The distance from another `Load`, if it is known at compile time. Then the two need only one address, which
    /// matters for stencils: they have more operands than a processor has registers.
    pub near: Option<Near>,
}

/// The distance of an argument from another one with the same base, dtype and strides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Near {
    /// The other argument, which comes earlier and is not itself near to another one.
    pub arg: u32,
    /// The distance from the other argument to this one, in elements.
    pub elements: i32,
}

/// One value of the body, in static single assignment form: operands are earlier nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// The element of a `Load` argument at this point; dtype of the argument.
    Load(u32),
    /// A literal: index into [`Kernel::params`].
    Param(u32),
    /// The value of an `Index` argument, an i64.
    Index(u32),
    /// The element of a `Gather` argument that is `min(index, last) * step` bytes after its address at this point.
    Gather {
        /// The `Gather` argument; the value has its dtype.
        arg: u32,
        /// An `Index` argument that is constant: the largest index.
        last: u32,
        /// An `Index` argument that is constant: the bytes from one index to the next.
        step: u32,
        /// The index of the element, a u64.
        index: ValueId,
    },
    /// Conversion with C rules, as NumPy's `astype`.
    Cast(DType, ValueId),
    /// An elementwise operation, or a random stream at a position, with its loop dtype; operands have
    /// exactly the dtypes that `op.input_dtype(ty, i)` asks for, the value has `op.output_dtype(ty)`.
    Op(Op, DType, SmallVec<[ValueId; 3]>),
}

/// Writes a value to a `Store` argument of the same dtype.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Store {
    /// Index into [`Kernel::args`].
    pub arg: u32,
    /// What is written.
    pub value: ValueId,
}

/// Folds a value over the reduced loops into a `Reduced` argument.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reduction {
    /// An operation of kind `Reduction`.
    pub op: Op,
    /// Its loop dtype: `value` has it, the fold runs in it. The result, of `op.output_dtype(ty)`, is converted to the
    /// argument's dtype when stored.
    pub ty: DType,
    /// What is folded.
    pub value: ValueId,
    /// Index into [`Kernel::args`].
    pub arg: u32,
}

/// The structure of a kernel; its meaning is in the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// For each loop, outermost first, whether it is reduced. Kernels of rank zero have one loop of extent one, so
    /// there is always an innermost loop.
    pub reduced: SmallVec<[bool; 4]>,
    /// Operands.
    pub args: Vec<Arg>,
    /// Dtypes of the literals.
    pub params: Vec<DType>,
    /// Values.
    pub body: Vec<Node>,
    /// Elementwise results.
    pub stores: Vec<Store>,
    /// Folded results. A kernel with reductions has at least one reduced loop; one without them has none.
    pub reductions: Vec<Reduction>,
}

impl Kernel {
    /// Number of loops.
    pub fn rank(&self) -> usize {
        self.reduced.len()
    }

    /// The dtype of a value.
    pub fn dtype_of(&self, value: ValueId) -> DType {
        match &self.body[value as usize] {
            Node::Load(arg) | Node::Gather { arg, .. } => self.args[*arg as usize].dtype,
            Node::Param(param) => self.params[*param as usize],
            Node::Index(_) => DType::I64,
            Node::Cast(to, _) => *to,
            Node::Op(op, ty, _) => op.output_dtype(*ty),
        }
    }
}

/// The numbers of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Extent of each loop, outermost first.
    pub extents: Dims,
    /// One per argument.
    pub args: Vec<ArgGeometry>,
    /// How the runs of floating-point sums are cut.
    pub pieces: Pieces,
}

/// The position of an argument in its base.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArgGeometry {
    /// Byte offset of the point with all indices zero (for `Index`: the value there).
    pub offset: i64,
    /// Bytes per step of each loop (for `Index`: the value's increment).
    pub strides: Dims,
    /// For a `Load` of a rolled array, the index at which each loop wraps, or zero if it does not wrap: from this index
    /// on, the address is lower by the whole extent of the loop. Empty for all other arguments.
    pub wraps: Dims,
}

impl ArgGeometry {
    /// A geometry in which no loop wraps.
    pub fn new(offset: i64, strides: Dims) -> ArgGeometry {
        ArgGeometry { offset, strides, wraps: Dims::new() }
    }

    /// The index at which a loop wraps, or zero.
    pub fn wrap(&self, axis: usize) -> i64 {
        self.wraps.get(axis).copied().unwrap_or(0)
    }

    /// The lowest and highest address of the loops' points, as bytes from the base.
    pub fn reach(&self, extents: &[i64]) -> (i64, i64) {
        let (mut low, mut high) = (self.offset, self.offset);
        for (axis, (&n, &stride)) in extents.iter().zip(&self.strides).enumerate() {
            let first = match self.wrap(axis) {
                0 => 0,
                wrap => (wrap - n) * stride,
            };
            let last = first + (n - 1) * stride;
            (low, high) = (low + first.min(last), high + first.max(last));
        }
        (low, high)
    }

    /// The byte offset, or value, at a point.
    pub fn at(&self, extents: &[i64], index: &[i64]) -> i64 {
        let step = |(axis, &i): (usize, &i64)| {
            let wrap = self.wrap(axis);
            let back = if wrap > 0 && i >= wrap { extents[axis] } else { 0 };
            (i - back) * self.strides[axis]
        };
        self.offset + index.iter().enumerate().map(step).sum::<i64>()
    }
}
