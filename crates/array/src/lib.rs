//! NumPy's rules, without Python.
//!
//! A front end hands in operands whose arguments it has parsed: arrays (views of bases of the runtime), NumPy's scalars and
//! Python's numbers. A rule decides as NumPy would which loop runs, what shape and memory order the result has, which conversions
//! are allowed and which error is raised, and records the operations. Its answer is [`Answer`]: the result, or why this is
//! nothing that numelt does itself.
//!
//! What a rule needs from its surroundings (new memory, the recording itself, values that are looked at, warnings) is the trait
//! [`Front`]. The Python module implements it around the interpreter's lock.

mod answer;
mod api;
pub mod assign;
mod elementwise;
mod error;
mod front;
pub mod joining;
mod one_by_one;
mod operand;
mod power;
mod products;
pub mod random;
mod reductions;
pub mod rules;

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
pub use front::Front;
pub use numelt_ir::{C32 as Complex64, C64 as Complex128, DType, F16, Scalar};
pub use numelt_runtime::Config;
pub use one_by_one::{is_one_by_one, record_one_by_one};
pub use operand::Operand;
pub use products::{plain as plain_product, product};
pub use reductions::{Reduction, Scan, flatten, normalize_axis};
pub use rules::slicing::Part;
