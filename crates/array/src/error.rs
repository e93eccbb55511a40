//! Errors with NumPy's kinds and messages.

use crate::rules::names;
use crate::rules::resolve::Weak;
use numelt_ir::{DType, Dims};

/// The errors that NumPy raises.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The shapes of inputs do not fit each other.
    #[error("operands could not be broadcast together with shapes {}", shape_list(.0))]
    Broadcast(Vec<Dims>),
    /// The target of `out=` or of an operation in place is smaller than the result.
    #[error(
        "non-broadcastable output operand with shape {} doesn't match the broadcast shape {}",
        shape_text(out),
        shape_text(result)
    )]
    OutputShape {
        /// The output's shape.
        out: Dims,
        /// The result's shape.
        result: Dims,
    },
    /// An assigned value does not fit its target.
    #[error("could not broadcast input array from shape {} into shape {}", shape_text(value), shape_text(target))]
    AssignmentShape {
        /// The value's shape.
        value: Dims,
        /// The target's shape.
        target: Dims,
    },
    /// An operation writes to a read-only array.
    #[error("output array is read-only")]
    ReadOnlyOutput,
    /// An assignment to a read-only array.
    #[error("assignment destination is read-only")]
    ReadOnlyAssignment,
    /// An integer index is outside its axis.
    #[error("index {index} is out of bounds for axis {axis} with size {extent}")]
    IndexOutOfBounds {
        /// The index.
        index: i64,
        /// Its axis.
        axis: usize,
        /// The axis' extent.
        extent: i64,
    },
    /// There are more indices than axes.
    #[error("too many indices for array: array is {rank}-dimensional, but {indices} were indexed")]
    TooManyIndices {
        /// The number of axes.
        rank: usize,
        /// The number of indices.
        indices: usize,
    },
    /// The array does not have this axis.
    #[error("axis {axis} is out of bounds for array of dimension {rank}")]
    Axis {
        /// The axis.
        axis: i64,
        /// The number of axes.
        rank: usize,
    },
    /// An axis is named twice.
    #[error("duplicate value in 'axis'")]
    DuplicateAxis,
    /// A reduction of no elements that has no identity.
    #[error("zero-size array to reduction operation {0} which has no identity")]
    NoIdentity(&'static str),
    /// The position of an extreme among no elements.
    #[error("attempt to get {0} of an empty sequence")]
    EmptySequence(&'static str),
    /// The loop's dtype cannot hold a Python int.
    #[error("Python integer {} out of bounds for {}", int_text(value), names::numpy_name(*dtype))]
    IntegerOverflow {
        /// The int.
        value: Weak,
        /// The dtype.
        dtype: DType,
    },
    /// The array has more bytes than an address can count.
    #[error("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.")]
    TooBig,
    /// The array would have more axes than an array may have.
    #[error("maximum supported dimension for an ndarray is currently {max}, found {0}", max = numelt_ir::MAX_RANK)]
    TooManyAxes(usize),
    /// Another argument that NumPy refuses with a `ValueError`, with its message.
    #[error("{0}")]
    Value(String),
    /// Another argument that NumPy refuses with a `TypeError`, with its message.
    #[error("{0}")]
    Type(String),
    /// Another index that NumPy refuses with an `IndexError`, with its message.
    #[error("{0}")]
    Index(String),
    /// An error of the runtime.
    #[error(transparent)]
    Runtime(#[from] numelt_ir::Error),
}

/// The class of the Python exception that NumPy raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// `ValueError`
    Value,
    /// `TypeError`
    Type,
    /// `IndexError`
    Index,
    /// `OverflowError`
    Overflow,
    /// `numpy.exceptions.AxisError`
    Axis,
    /// The class for an error of the runtime.
    Runtime,
}

impl Error {
    /// The class of the exception that NumPy raises.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Broadcast(_)
            | Error::OutputShape { .. }
            | Error::AssignmentShape { .. }
            | Error::ReadOnlyOutput
            | Error::ReadOnlyAssignment
            | Error::DuplicateAxis
            | Error::NoIdentity(_)
            | Error::EmptySequence(_)
            | Error::TooBig
            | Error::TooManyAxes(_)
            | Error::Value(_) => ErrorKind::Value,
            Error::Type(_) => ErrorKind::Type,
            Error::IndexOutOfBounds { .. } | Error::TooManyIndices { .. } | Error::Index(_) => ErrorKind::Index,
            Error::IntegerOverflow { .. } => ErrorKind::Overflow,
            Error::Axis { .. } => ErrorKind::Axis,
            Error::Runtime(_) => ErrorKind::Runtime,
        }
    }
}

/// `(2,3)`, `(2,)`, `()`: a shape as NumPy's errors print it.
pub fn shape_text(shape: &[i64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(i64::to_string).collect::<Vec<_>>().join(",")),
    }
}

fn shape_list(shapes: &[Dims]) -> String {
    shapes.iter().map(|shape| shape_text(shape) + " ").collect()
}

fn int_text(value: &Weak) -> String {
    match value {
        Weak::Int(value) => value.to_string(),
        Weak::Unsigned(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}
