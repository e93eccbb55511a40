//! The way from Python to the runtime: recording, flushing and reading, what concerns recorded operations (the error
//! state, filters, reports), and the policy that decides who answers a call.
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
