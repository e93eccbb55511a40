//! The way to the runtime: recording, flushing and reading; the error state, filters and inspection of what is recorded.

pub mod errstate;
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
