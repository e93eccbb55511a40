//! How a call reaches the code that answers it: the functions and types of `numelt._core`, their slots, and their
//! fast paths.

pub mod direct;
pub mod module;
pub mod routine;
pub mod unbound;
