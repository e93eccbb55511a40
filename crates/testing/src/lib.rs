//! numelt's test tools.
//!
//! [`generator`] makes random programs, and [`fill`] their data. [`kernel_interp`] runs plans slowly and with strict
//! checks. [`conformance`] compares an execution (an engine, a partition) with the reference interpreter. [`targets`]
//! are machines that differ from the CPU. [`shrink`] reduces failing programs, and [`filetest`] runs the text files
//! under `tests/filetests`. The command line is in `src/bin`.
//!
//! Not here: anything that users' programs need. Unsafe code is only in `far`, which locks pages of memory.
#![deny(unsafe_code)]

pub mod closeness;
pub mod compare;
pub mod conformance;
pub mod engine;
#[allow(unsafe_code)]
pub mod far;
pub mod filetest;
pub mod fill;
pub mod generator;
pub mod kernel_interp;
pub mod rng;
pub mod routines;
pub mod shrink;
pub mod targets;
