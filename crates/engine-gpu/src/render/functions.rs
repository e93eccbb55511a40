//! Functions of the vector math crate, in C.

use numelt_ir::{DType, Op};

/// The name of the function that an operation calls.
pub fn name(_: Op, _: DType) -> Option<String> {
    None
}

/// The definition of a function.
pub fn definition(_: &str) -> Option<String> {
    None
}
