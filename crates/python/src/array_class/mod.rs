//! The array class as programs see it: attributes, methods, flags, protocols, and the slots of its operators.
//!
//! Not here: indexing and the conversion of operands (`array`), and what operators compute (`ufunc`).

pub mod attributes;
pub mod construction;
pub mod flags;
pub mod members;
pub mod methods;
pub mod protocols;
pub mod slots;
