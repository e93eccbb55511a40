//! Rules that only look at dtypes, shapes and strides.

pub mod axes;
pub mod casting;
pub mod names;
pub mod ranges;
pub mod resolve;
pub mod shape;
pub mod slicing;
