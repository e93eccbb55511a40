//! The way from Python to the runtime: recording, flushing and reading, and what concerns recorded operations: the
//! error state, filters and reports.
//!
//! Not here: which operations are recorded, and with which dtypes and shapes.

pub mod errstate;
pub mod extensions;
pub mod filters;
pub mod front;
pub mod inspect;
pub mod origin;
pub mod policy;
pub mod program;
pub mod progress;
pub mod registry;
pub mod run;
pub mod truths;
