//! Kernels as C, with the same text for CUDA and OpenCL.
//!
//! In: a [`Kernel`], a dialect, a variant. Out: a [`Source`]: the text, which compiles by itself, and the meaning of
//! its parameters. The text evaluates the kernel's body at each point in a loop over all points, as many at a time as
//! there are work-items. Types have numelt's names. Functions that are not built in are defined before the kernel. Not
//! here: compilers, memory.

pub mod calls;
mod complex;
mod dialect;
mod fold;
mod functions;
mod library;
mod ops;
mod points;
mod streams;
mod templates;
mod types;

pub use dialect::Dialect;

use numelt_ir::DType;
use numelt_opt::{Kernel, Node};
use std::fmt::Write;

/// The name of the function in the text.
pub const ENTRY: &str = "numelt_kernel";

/// How a text is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Once, with a work-item for each point.
    Points,
    /// Once, with a work-item for each result of its reductions.
    Columns,
    /// Leaves, then joins, then what finishes: see `fold.rs`.
    Runs {
        /// Elements that a leaf of the tree adds side by side; it has up to 16 times as many.
        lanes: usize,
    },
}

/// What a text is made for beside the kernel's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Are there fewer than 2^31 points, so that they can be numbered in 32 bits?
    pub narrow: bool,
    /// Does some load wrap around (see `ArgGeometry::wraps`)?
    pub rolled: bool,
}

/// What a parameter of the text stands for, in the order in which it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Param {
    /// Points of all loops together, an i64.
    Points,
    /// The extent of a loop, an i64.
    Extent(usize),
    /// The memory of an argument.
    Memory(usize),
    /// Where the point with all indices zero lies in it, or its value for an `Index`, an i64. All places and strides are in
    /// units of [`unit`] bytes.
    Offset(usize),
    /// The stride of an argument along a loop, an i64.
    Stride(usize, usize),
    /// The index from which on an argument wraps along a loop, zero for none, an i64.
    Wrap(usize, usize),
    /// A literal; of a complex one the real part.
    Literal(usize),
    /// The imaginary part of a complex literal.
    Imaginary(usize),
    /// The memory in which conditions are collected, words of 32 bits.
    Conditions,
    /// Which of its words, an i64.
    Word,
    /// Work-items that have something to do, an i64, as are all of the following that are no memory.
    Items,
    /// Reduced points around the run.
    Outer,
    /// Points of the run: the innermost loops, if they are reduced.
    Run,
    /// Elements of the run that NumPy walks together.
    Stretch,
    /// Elements of it that NumPy adds at a time.
    Piece,
    /// Pieces of the run.
    Pieces,
    /// Levels of the tree of the longest piece.
    Depth,
    /// The level to which partial results are joined.
    Top,
    /// The level from which they are.
    Bottom,
    /// Scratch memory for the partial results of a reduction.
    Scratch(usize),
    /// The same for their positions.
    Positions(usize),
}

/// The loops of a kernel with reductions: kept, reduced around the run, and those of the run.
pub fn loops(kernel: &Kernel) -> [Vec<usize>; 3] {
    let loops = fold::Loops::of(kernel);
    [loops.kept, loops.outer, loops.run]
}

/// Bytes of a partial result of a reduction.
pub fn partial_bytes(kernel: &Kernel, reduction: usize) -> usize {
    fold::scratch_type(&kernel.reductions[reduction], kernel, reduction).size()
}

/// Bytes of what strides of an argument's element type count.
pub fn unit(ty: DType) -> i64 {
    types::stored(ty).size() as i64
}

/// A kernel's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The whole text.
    pub text: String,
    /// What its parameters stand for.
    pub params: Vec<Param>,
    /// Does the text collect conditions? Otherwise it meets none.
    pub watches: bool,
    /// How it is launched.
    pub kind: Kind,
}

impl Kind {
    /// Names of the functions in the text.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Kind::Points | Kind::Columns => &[ENTRY],
            Kind::Runs { .. } => &fold::RUNS,
        }
    }
}

impl Source {
    /// Bytes of all arguments.
    pub fn parameter_bytes(&self) -> usize {
        // none is larger than a pointer or a number of eight bytes
        8 * self.params.len()
    }
}

/// Renders a kernel; `None` where something in it has no text.
pub fn render(kernel: &Kernel, dialect: Dialect, variant: Variant) -> Option<Source> {
    let parts = parts(kernel, variant)?;
    let rest = format!("{}\n{}", library::needed_by(&parts.text), parts.text);
    let mut text = header(kernel);
    text.push_str(&dialect.prologue(uses_double(kernel) || rest.contains("f64")));
    text.push('\n');
    text.push_str(&rest);
    Some(Source { text, params: parts.params, watches: parts.watches, kind: parts.kind })
}

/// How many parameters a kernel's text has; `None` where something in it has no text.
pub fn parameters(kernel: &Kernel, variant: Variant) -> Option<usize> {
    Some(parts(kernel, variant)?.params.len())
}

fn parts(kernel: &Kernel, variant: Variant) -> Option<Parts> {
    if kernel.reductions.is_empty() { points::render(kernel, variant) } else { fold::render(kernel, variant) }
}

/// A kernel's text in parts.
struct Parts {
    text: String,
    params: Vec<Param>,
    watches: bool,
    kind: Kind,
}

/// The kernel as comments.
fn header(kernel: &Kernel) -> String {
    let mut text = String::from("// A kernel of numelt's:\n");
    for line in kernel.to_string().lines() {
        let _ = writeln!(text, "//   {line}");
    }
    text
}

/// Has the kernel values of 64-bit floats?
pub fn uses_double(kernel: &Kernel) -> bool {
    let double = |ty: DType| matches!(ty, DType::F64 | DType::C128);
    kernel.args.iter().any(|arg| double(arg.dtype))
        || kernel.params.iter().any(|&ty| double(ty))
        || (0..kernel.body.len()).any(|at| double(kernel.dtype_of(at as u32)))
        || kernel.body.iter().any(|node| matches!(node, Node::Op(_, ty, _) if double(*ty)))
}
