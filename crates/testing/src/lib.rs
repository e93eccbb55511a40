//! numelt's test tools.
//!
//! [`generator`] makes random programs, [`fill`] their data, [`kernel_interp`] runs plans slowly and strictly,
//! [`conformance`] compares an execution (an engine, a partition) with the reference interpreter, [`targets`] are
//! machines unlike the CPU, [`shrink`] reduces failing programs, and [`filetest`] runs the text files under
//! `tests/filetests`. The command line is in `src/bin`.
//!
//! Not here: anything that a user's program needs. Unsafe code is only in `far`, whose memory is locked pages.
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
pub mod shrink;
pub mod targets;
