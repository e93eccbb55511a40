//! Arrays for Rust programs: NumPy's rules with Rust's types and operators around them.

mod any_array;
mod argument;
mod array;
mod creation;
pub mod dlpack;
mod element;
mod elementwise;
mod generator;
mod indexing;
mod linear_algebra;
mod manipulation;
mod memory;
mod operators;
mod recorder;
mod reductions;
mod sorting;
#[cfg(feature = "ndarray")]
mod with_ndarray;

pub use any_array::{AnyArray, Values, ValuesMut};
pub use argument::{Argument, With};
pub use array::Array;
pub use creation::{
    arange, arange_in, eye, eye_of, full, full_like, linspace, meshgrid, ones, ones_like, try_linspace, zeros,
    zeros_like, zeros_of,
};
pub use element::{Element, Promote};
pub use elementwise::functions::*;
pub use elementwise::{abs, select, try_select};
pub use generator::Generator;
pub use indexing::{Ellipsis, NewAxis, stepped};
pub use manipulation::{broadcast_arrays, concat, stack};
pub use recorder::{configure, flush, runtime};
pub use reductions::Over;
pub use sorting::Unique;
#[cfg(feature = "ndarray")]
pub use with_ndarray::{NdValues, NdValuesMut};
