//! Kernels as C, with the same text for CUDA and OpenCL.
//!
//! In: a [`Kernel`], a dialect, a variant. Out: a [`Source`]: the text, which compiles by itself, and the meaning of
//! its parameters. The text evaluates the kernel's body at each point in a loop over all points, as many at a time as
//! there are work-items. Types have numelt's names. Functions that are not built in are defined before the kernel. Not
//! here: compilers, memory.

pub mod call_form;
pub mod calls;
mod complex;
mod dialect;
mod fold;
mod functions;
mod lanes;
mod library;
pub mod nonzero;
mod ops;
mod points;
mod streams;
mod template;
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
    /// First the leaves, then the joins, then the finish: see `fold.rs`.
    Runs {
        /// The number of elements that a leaf of the tree adds side by side; a leaf has up to 16 times as many.
        lanes: usize,
    },
}

/// What a text depends on besides the kernel's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Whether there are fewer than 2^31 points, so that they can be numbered in 32 bits.
    pub narrow: bool,
    /// Whether some load wraps around (see `ArgGeometry::wraps`).
    pub rolled: bool,
    /// Whether a work-item computes several points beside each other, whose elements it loads and stores together (see
    /// [`width`]).
    pub packed: bool,
    /// Whether the run is so short (see [`short_run`]) that a work-item computes a whole result.
    pub short: bool,
}

impl Default for Variant {
    fn default() -> Variant {
        Variant { narrow: true, rolled: false, packed: false, short: false }
    }
}

/// The meaning of a parameter of the text, in the order of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Param {
    /// Points of all loops together, an i64.
    Points,
    /// The extent of a loop, an i64.
    Extent(usize),
    /// The memory of an argument.
    Memory(usize),
    /// The position in it of the point with all indices zero, or the value of an `Index` there, an i64. All positions
    /// and strides are in units of [`unit`](fn@unit) bytes.
    Offset(usize),
    /// The stride of an argument along a loop, an i64.
    Stride(usize, usize),
    /// The index from which on an argument wraps along a loop, zero for none, an i64.
    Wrap(usize, usize),
    /// A literal; for a complex one, the real part.
    Literal(usize),
    /// The imaginary part of a complex literal.
    Imaginary(usize),
    /// The memory in which conditions are collected, words of 32 bits.
    Conditions,
    /// The index of the word for conditions, an i64.
    Word,
    /// The number of work-items that have work, an i64, like all of the following that are not memory.
    Items,
    /// The number of reduced points around the run.
    Outer,
    /// The number of points of the run: the innermost loops, if they are reduced.
    Run,
    /// The number of elements of the run that NumPy traverses together.
    Stretch,
    /// The number of those that NumPy adds at a time.
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

/// The loops of a kernel with reductions: kept loops, reduced loops around the run, and the loops of the run, if it is
/// launched as one.
pub fn loops(kernel: &Kernel, kind: Kind) -> [Vec<usize>; 3] {
    let loops = fold::Loops::of(kernel, kind);
    [loops.kept, loops.outer, loops.run]
}

/// The extent of a run below which NumPy adds its elements one after the other, so that no tree is needed; zero if the
/// kernel has no run that may be computed in this way.
pub fn short_run(kernel: &Kernel) -> i64 {
    fold::short_run(kernel)
}

/// The bytes of a partial result of a reduction.
pub fn partial_bytes(kernel: &Kernel, reduction: usize) -> usize {
    types::partial(&kernel.reductions[reduction]).size()
}

/// The number of points that a work-item of a packed text computes together; `None` if the kernel cannot be packed.
/// All offsets of a packed launch are multiples of it, in elements.
pub fn width(kernel: &Kernel) -> Option<usize> {
    points::width(kernel)
}

/// The bytes of the unit in which strides of an argument with this element type are counted.
pub fn unit(ty: DType) -> i64 {
    types::stored(ty).size() as i64
}

/// A kernel's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The whole text.
    pub text: String,
    /// The meaning of its parameters.
    pub params: Vec<Param>,
    /// Whether the text collects conditions. Otherwise the kernel meets none.
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

/// Renders a kernel; `None` if something in it has no text.
pub fn render(kernel: &Kernel, dialect: Dialect, variant: Variant) -> Option<Source> {
    let parts = parts(kernel, variant)?;
    let rest = format!("{}\n{}", library::needed_by(&parts.text), parts.text);
    let mut text = header(kernel);
    text.push_str(&dialect.prologue(uses_double(kernel) || rest.contains("f64")));
    text.push('\n');
    text.push_str(&rest);
    Some(Source { text, params: parts.params, watches: parts.watches, kind: parts.kind })
}

/// The number of parameters of a kernel's text; `None` if something in it has no text.
pub fn parameters(kernel: &Kernel, variant: Variant) -> Option<usize> {
    Some(parts(kernel, variant)?.params.len())
}

fn parts(kernel: &Kernel, variant: Variant) -> Option<KernelText> {
    if kernel.reductions.is_empty() { points::render(kernel, variant) } else { fold::render(kernel, variant) }
}

/// A kernel's text in parts.
struct KernelText {
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

/// Whether the kernel has values of 64-bit floats.
pub fn uses_double(kernel: &Kernel) -> bool {
    let double = |ty: DType| matches!(ty, DType::F64 | DType::C128);
    kernel.args.iter().any(|arg| double(arg.dtype))
        || kernel.params.iter().any(|&ty| double(ty))
        || (0..kernel.body.len()).any(|at| double(kernel.dtype_of(at as u32)))
        || kernel.body.iter().any(|node| matches!(node, Node::Op(_, ty, _) if double(*ty)))
}
