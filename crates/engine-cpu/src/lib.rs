//! numelt's CPU engine: blocked interpreter (tier 0), LLVM (tier 1), threads, folds, library calls.
//!
//! In: kernels and launches from the runtime. Out: memory written. Not here: policy.
//!
//! `engine` implements the runtime's trait for engines, and `host` that for host engines. `driver` splits a launch into
//! tiles and folds reductions with `fold`. `streams` computes random numbers for a tile. A
//! [`Body`](numelt_codegen::Body) evaluates tiles: `tier0` from the start, and `llvm` when `promote` has had it
//! compiled; `variants` decides for which geometries it is compiled again. `small` computes one operation on few
//! elements without a kernel.
//!
//! Unsafe code is where addresses are: `driver`, `fold`, `tier0`, `small` and `library` (elements), `threads` (the job
//! on the caller's stack), `streams` (scratch memory), `sorting` (elements), `llvm` (functions that compiled code
//! calls), and `variants` (a tile's numbers). `engine`, `host` and `promote` only pass on their callers' promises.

mod background;
mod counts;
mod crowd;
mod driver;
mod engine;
mod fold;
mod host;
mod isa;
mod library;
mod lines;
pub mod llvm;
mod promote;
mod small;
mod sorting;
mod streams;
mod threads;
mod tier0;
mod variants;

pub use engine::{CpuEngine, Options};
pub use isa::Isa;
pub use numelt_runtime::{Jit, Variants};
