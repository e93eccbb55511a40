//! How calls reach the other folders: the functions and types of `numelt._core`, their slots and their short calls.

pub mod bare;
pub mod direct;
pub mod module;
pub mod policy;
pub mod routine;
pub mod unbound;
