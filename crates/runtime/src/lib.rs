//! The runtime: records instructions, decides when to run them, plans, allocates, launches.
//!
//! In: operations on views, from front ends. Out: memory with values in it.
//! Not here: how a kernel is computed (engines), Python. Unsafe code is in `pool.rs` (memory from
//! the system), `footprint.rs` (giving it back), `fork.rs` (registering handlers), `idle.rs` (asking for
//! limits), `base.rs` (returning it, reading a number), `exec.rs` and `at_once.rs` (temporaries), `trusted.rs` (the user's number), `shared.rs`, `batch.rs` and
//! `batch/repeat.rs` (counting references), `runtime.rs`, `runtime/gate.rs`,
//! `runtime/hosting.rs` and `runtime/repeat.rs` (one thread at a time).

mod at_once;
mod base;
mod batch;
pub mod blas;
mod cache;
mod config;
mod engine;
mod exec;
pub mod footprint;
pub mod fork;
mod host;
mod idle;
mod lost;
mod null;
mod piecemeal;
mod pool;
mod put_off;
mod report;
mod runtime;
mod shared;
mod siblings;
mod stats;
pub mod trusted;
mod zeros;

pub use base::{ArrayView, BaseRef, Export, Input, WeakBase};
pub use batch::{ASKED, Repeated, WATCH, in_c_order};
pub use blas::BlasTable;
pub use config::{Config, InstructionSet, Jit, KEYS, Variants, listed};
pub use engine::{
    Engine, Executable, Few, FewInput, Launch, LibraryCall, NestLaunch, Operand, PutCall, SmallCall, StageLaunch,
};
pub use host::{Bounded, Draw, Host, Integers, MaskedRows, Placed, RandomStream, Sequence, TWISTER_WORDS};
pub use null::NullEngine;
pub use pool::{Pool, PoolStats};
pub use report::Warning;
pub use runtime::{Away, Runtime};
pub use stats::{FlushReport, Reason, Stats};
