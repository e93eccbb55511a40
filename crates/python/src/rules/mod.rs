//! NumPy's rules without Python objects: the loop and dtype of an operation, shapes, strides and memory order.

pub mod resolve;
pub mod shape;
