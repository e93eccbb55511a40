//! Operands, indexing and assignment: what is done with arrays before operations are recorded.
//!
//! Not here: operators (`ufunc`), attributes and methods (`array_class`), public functions (`functions`), and the fast
//! paths by which the interpreter calls all of these (`dispatch`).

pub mod advanced;
pub mod assign;
pub mod basic;
pub mod flat;
pub mod index;
pub mod operand;
pub mod scalar;
pub mod sequence;
pub mod to_u32;
