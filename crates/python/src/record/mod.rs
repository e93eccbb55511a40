//! The way from Python to the runtime: recording, flushing and reading, and what concerns recorded operations (the
//! error state, filters, reports).
//!
//! Not here: which operations are recorded, and with which dtypes and shapes.

pub mod errstate;
pub mod filters;
pub mod front;
pub mod gil;
pub mod homes;
pub mod inspect;
pub mod library_reports;
pub mod origin;
pub mod program;
pub mod progress;
pub mod registry;
pub mod reports;
pub mod routines;
pub mod run;
pub mod truths;
