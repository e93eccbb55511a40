//! The array class: its objects, attributes, methods, indexing and protocols.
//!
//! Not here: operators (`ufunc`), public functions (`functions`), and the fast paths by which the interpreter calls
//! all of these (`dispatch`).

pub mod advanced;
pub mod assign;
pub mod attributes;
pub mod flags;
pub mod flat;
pub mod fresh;
pub mod index;
pub mod members;
pub mod methods;
pub mod ndarray;
pub mod operand;
pub mod protocols;
pub mod scalar;
pub mod sequence;
pub mod slots;
pub mod to_u32;
