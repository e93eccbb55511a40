//! The runtime: records instructions, decides when to run them, plans, allocates, launches.
//!
//! In: operations on views, from front ends. Out: memory with values in it.
//! Not here: how a kernel is computed (engines), Python. Unsafe code is in `pool.rs` (memory from
//! the system), `footprint.rs` (giving it back), `fork.rs` (registering handlers), `idle.rs` (asking for
//! limits), `base.rs` (returning it, reading a number), `exec.rs` and `at_once.rs` (temporaries), `trusted.rs` (the user's number), `shared.rs`, `batch.rs` and
//! `batch/repeat.rs` (counting references), `runtime.rs`, `runtime/gate.rs`,
//! `runtime/hosting.rs` and `runtime/repeat.rs` (one thread at a time).

mod at_once;
mod batch;
pub mod blas;
mod cache;
mod config;
mod engine;
mod exec;
mod filter;
pub mod footprint;
pub mod fork;
mod heap;
mod host;
mod journal;
mod null;
mod piecemeal;
mod placement;
mod put_off;
mod report;
mod runtime;
mod siblings;
mod stats;
pub mod trusted;

pub use batch::{Repeated, in_c_order};
pub use blas::BlasTable;
pub use config::{Config, InstructionSet, Jit, KEYS, Variants, listed};
pub use engine::{
    Buffer, Engine, EngineSet, Executable, Few, FewInput, Launch, LibraryCall, NestLaunch, Operand, PutCall, SmallCall,
    StageLaunch, Storage, Task, Ticket, WholeScratch, Work, run,
};
pub use filter::{Filter, FilterError};
pub use heap::base::{ArrayView, BaseRef, Export, Input, WeakBase};
pub use heap::memory::HostMemory;
pub use heap::pool::{Pool, PoolStats};
pub use host::{Bounded, Draw, Host, Integers, MaskedRows, Placed, RandomStream, Sequence, TWISTER_WORDS};
pub use null::NullEngine;
pub use placement::{Rates, Rule};
pub use report::Warning;
pub use runtime::{Away, Filtering, Runtime};
pub use stats::{FlushReport, Reason, Stats};
