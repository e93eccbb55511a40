//! How calls reach the other folders: the functions and types of `numelt._core`, their slots and their short calls.

pub mod bare;
pub mod direct;
pub mod module;
pub mod routine;
pub mod unbound;
