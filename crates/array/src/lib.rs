//! NumPy's arrays for Rust programs: operations are recorded, fused across statements, compiled, and run on all cores.
//!
//! # Arrays
//!
//! [`AnyArray`] knows its dtype at run time, as NumPy's arrays do. [`Array<T>`](Array) has it in its type, so that the
//! compiler knows the type of a result. Both have the same methods: an `Array<T>` derefs to an `AnyArray`, and
//! [`AnyArray::typed`] converts back.
//!
//! ```
//! use numelt::{AnyArray, Array, DType, s};
//!
//! let x = Array::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
//! let centred = &x - x.mean_over(1).expand_dims(1).unwrap();
//! assert_eq!(centred.to_vec(), [-1.0, 0.0, 1.0, -1.0, 0.0, 1.0]);
//!
//! let any: AnyArray = numelt::arange(4) * 2;
//! assert_eq!(any.dtype(), DType::I64);
//! ```
//!
//! Rust's numbers act as Python's do: they take the dtype of the array with which they are combined, unless they are of
//! a higher kind. Arrays of different dtypes are converted to NumPy's common dtype, and shapes broadcast.
//!
//! ```
//! use numelt::{Array, DType};
//! let bytes = Array::from([200u8, 100]);
//! assert_eq!((&bytes + 1).dtype(), DType::U8);
//! assert_eq!((&bytes * 0.5).dtype(), DType::F64);
//! assert_eq!((&bytes + Array::from([1i8, 1])).dtype(), DType::I16);
//! ```
//!
//! # Views
//!
//! A slice is a view of the array's memory, and so are a transposed array, a diagonal, and the real parts of complex
//! numbers. Assigning to a view changes the array. A `clone` is the same array under another name; [`AnyArray::copy`]
//! has memory of its own.
//!
//! ```
//! use numelt::{Array, s};
//! let grid = Array::zeros(&[4, 4]);
//! let mut inner = grid.slice(s![1..-1, 1..-1]);
//! inner += 1;
//! grid.slice(s![.., 0]).fill(Array::from([1.0, 2.0, 3.0, 4.0]));
//! assert_eq!(grid.sum().item(), 14.0);
//! ```
//!
//! # Values
//!
//! Nothing is computed before a value is requested: by [`item`](AnyArray::item), [`to_vec`](AnyArray::to_vec),
//! iteration, or a guard, which gives access to the memory itself. Operations that conflict with a guard wait until it
//! has ended.
//!
//! ```
//! use numelt::Array;
//! let x = Array::linspace(0.0, 1.0, 5).pow(2);
//! let values = x.read().unwrap();
//! assert_eq!(values[2], 0.25);
//! drop(values);
//! x.write().unwrap()[2] = 7.0;
//! assert_eq!(x.max().item(), 7.0);
//! ```
//!
//! # Errors
//!
//! Operators, and functions with plain names, panic with the messages of NumPy's exceptions, as those of `ndarray` do.
//! Methods whose names begin with `try_`, and those that return a `Result` anyway, return an [`Error`] with the same
//! message.
//!
//! # Other libraries
//!
//! A large `Vec` becomes an array without a copy. With the feature `ndarray`, an array of that crate does, too, and
//! `Array::nd` gives an `ndarray` view of an array. [`AnyArray::to_dlpack`] and [`AnyArray::from_dlpack`] share memory
//! with every library that supports DLPack.
//!
//! # Random numbers
//!
//! [`Generator`] gives the numbers of `numpy.random.default_rng` for the same seed.
//!
//! # NumPy's rules
//!
//! The rest of this crate implements NumPy's rules, without Python; the Python module uses them, too. A front end
//! passes operands whose arguments it has parsed: arrays (views of bases of the runtime), NumPy's scalars and Python's
//! numbers. A rule decides, as NumPy would, which loop runs, what shape and memory order the result has, which
//! conversions are allowed and which error is raised, and records the operations. It returns an [`Answer`]: the result,
//! or the reason why numelt does not support the call. The trait [`Front`] has what a rule needs from its surroundings:
//! new memory, the recording itself, values that it reads, and warnings.

mod answer;
mod api;
pub mod assign;
pub mod clip;
mod elementwise;
mod error;
mod front;
pub mod indexing;
pub mod joining;
pub mod matrices;
mod operand;
mod power;
mod products;
pub mod random;
mod reductions;
pub mod rules;
mod scalar_loop;
pub mod statistics;

pub use answer::{Answer, NotNative};
pub use api::dlpack;
#[doc(hidden)]
pub use api::stepped as __stepped;
pub use api::{
    AnyArray, Argument, Array, Element, Ellipsis, Generator, NewAxis, Over, Promote, Unique, Values, ValuesMut, With,
    abs, add, arange, arange_in, atan2, bitwise_and, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor,
    broadcast_arrays, concat, configure, copysign, divide, equal, eye, eye_of, floor_divide, flush, fmax, fmin, fmod,
    full, full_like, gcd, greater, greater_equal, hypot, lcm, less, less_equal, linspace, logaddexp, logical_and,
    logical_or, logical_xor, maximum, meshgrid, minimum, multiply, nextafter, not_equal, ones, ones_like, pow,
    remainder, runtime, select, stack, subtract, try_linspace, try_select, zeros, zeros_like, zeros_of,
};
#[cfg(feature = "ndarray")]
pub use api::{NdValues, NdValuesMut};
pub use elementwise::{Elementwise, Made, Output, forced, literal_input, out_of_range_comparison, takes_truth};
pub use error::{Error, ErrorKind, shape_text};
pub use front::{Folded, Front};
pub use numelt_ir::{Complex64, Complex128, DType, F16, Scalar};
pub use numelt_runtime::Config;
pub use operand::Operand;
pub use products::{plain as plain_product, product};
pub use reductions::{Reduction, Scan, flatten, normalize_axis};
pub use rules::slicing::Part;
pub use scalar_loop::{record_scalar_loop, uses_scalar_loop};

/// The guide, whose programs are tested as this crate's examples are.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;
