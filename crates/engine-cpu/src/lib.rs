//! numelt's CPU engine: blocked interpreter (tier 0), LLVM (tier 1), threads, folds, library calls.
//!
//! In: kernels and launches from the runtime. Out: memory written. Policy is not here.
//!
//! `engine` implements the runtime's trait for engines and `host` that for host engines; `driver` splits a launch into tiles and folds reductions with
//! `fold`; `streams` makes random numbers for a tile; a [`Body`](numelt_codegen::Body) evaluates tiles: `tier0` at once, `llvm` when `promote` has had it compiled, for one geometry where `variants` says so.
//!
//! Unsafe code is where addresses are: `driver`, `fold`, `tier0`, `library` (elements), `threads` (the job on the
//! caller's stack), `streams` (scratch), `sorting` (elements), `llvm` (what compiled code calls). `variants` (a tile's numbers). `engine`, `host` and `promote` only pass promises on.

mod background;
mod counts;
mod crowd;
mod driver;
mod engine;
mod fold;
mod host;
mod isa;
mod library;
pub mod llvm;
mod promote;
mod sorting;
mod streams;
mod threads;
mod tier0;
mod variants;

pub use engine::{CpuEngine, Options};
pub use isa::Isa;
pub use numelt_runtime::{Jit, Variants};
