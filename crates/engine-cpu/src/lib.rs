//! numelt's CPU engine: blocked interpreter (tier 0), LLVM (tier 1), threads, folds, library calls.
//!
//! In: kernels and launches from the runtime. Out: memory written. Policy is not here.

pub mod body;
pub mod llvm;
