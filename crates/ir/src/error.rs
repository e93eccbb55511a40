//! The one error type of the workspace; front ends map it to their own exceptions in one place.

use crate::DType;

/// The errors of everything below a front end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A program, kernel or plan breaks an invariant of its form.
    #[error("invalid program: {0}")]
    Invalid(String),
    /// Text that does not parse.
    #[error("line {line}: {message}")]
    Parse {
        /// One-based line number.
        line: usize,
        /// What was expected or found.
        message: String,
    },
    /// Bytes that are not a program in binary form.
    #[error("byte {at}: {message}")]
    Decode {
        /// Position of the byte, counted from zero.
        at: usize,
        /// What was expected or found.
        message: String,
    },
    /// Shapes that do not fit. The text is that of the front end.
    #[error("{0}")]
    Shape(String),
    /// Dtypes that do not fit.
    #[error("{0}")]
    Type(String),
    /// This many bytes of memory could not be allocated.
    #[error("Unable to allocate {0} bytes")]
    OutOfMemory(usize),
    /// The same for the memory of an array, in NumPy's words.
    #[error("Unable to allocate an array with shape {shape:?} and data type {}", dtype.name())]
    ArrayOutOfMemory {
        /// Its element type.
        dtype: DType,
        /// Its extents.
        shape: Vec<i64>,
    },
    /// The extension method that was to compute an array has failed.
    #[error("the extension method {0} failed, so its result has no values")]
    Extension(String),
    /// The engine cannot do this; the caller takes another path.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// An engine failed in compiling or running.
    #[error("engine failure: {0}")]
    Engine(String),
    /// A bad configuration value.
    #[error("configuration: {0}")]
    Config(String),
    /// Reading or writing a file failed.
    #[error("{0}")]
    Io(String),
    /// Waiting for an array's memory would never end: the caller holds it itself, or waits for somebody who waits for
    /// the caller.
    #[error("the memory of an array is in use by the thread that asks for it")]
    Busy,
    /// A device does not respond any more, and the values that only it held are lost.
    #[error("device lost: {0}")]
    Lost(String),
}

/// Result with the workspace's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
