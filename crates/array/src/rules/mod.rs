//! Rules that depend on dtypes, shapes and strides only.

pub mod axes;
pub mod casting;
pub mod names;
pub mod ranges;
pub mod resolve;
pub mod shape;
pub mod slicing;
