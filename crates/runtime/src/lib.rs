//! The runtime: records instructions, decides when to run them, plans, allocates, launches.
//!
//! Not here: how a kernel is computed (engines), Python.

mod engine;

pub use engine::{Engine, Executable, Launch, LibraryCall, Operand};
