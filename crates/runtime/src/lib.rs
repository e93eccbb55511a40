//! The runtime: records instructions, decides when to run them, plans, allocates, launches.
//!
//! Front ends record operations on views, and read the values of the results. How a kernel is computed is left to
//! engines.
//!
//! Each part has its own state, and its invariants at the top of its file: the recorder (`batch`,
//! `runtime/recording.rs`), the planner (`runtime/planning.rs`, `cache.rs`), the executor (`exec`, `placement`), the
//! heap (`heap`), and the files that decide from past batches when and with what an operation runs (`at_once.rs`,
//! `piecemeal.rs`, `siblings.rs`, `put_off.rs`). `runtime/fork.rs` prepares all runtimes for a fork.
//!
//! Unsafe code is in `heap` (memory from the system, values in it, counted references), `footprint.rs` (returning
//! memory to the system), `at_once.rs` (memory that is freed), `trusted.rs` (the user's number), `batch.rs` and
//! `batch/repeat.rs` (counting references), `runtime.rs` and `runtime/` (one thread at a time, and locks across a
//! fork), and in the contracts of `host.rs` and `blas.rs`.

mod at_once;
mod batch;
pub mod blas;
mod cache;
mod config;
mod engine;
mod engine_set;
mod exec;
mod extension;
mod filter;
pub mod footprint;
mod heap;
mod host;
mod journal;
mod null;
mod operands;
mod overwritten;
mod packed;
mod piecemeal;
mod placement;
mod planned;
mod progress;
mod put_off;
mod recipes;
mod report;
mod routine;
mod runtime;
mod sequels;
mod siblings;
mod stats;
pub mod store;
mod track;
pub mod trusted;

pub use batch::Repeated;
pub use blas::BlasTable;
pub use config::{Config, InstructionSet, Jit, KEYS, Variants, listed};
pub use engine::{
    Buffer, Engine, Executable, Launch, LibraryCall, NestLaunch, Operand, PutCall, Routines, Sharing, SmallCall,
    SmallInput, SmallView, StageLaunch, Storage, Stream, Task, Ticket, WholeScratch, Work, run,
};
pub use engine_set::EngineSet;
pub use extension::{Extension, ExtensionInput, ExtensionOutput};
pub use filter::{Filter, FilterError};
pub use heap::base::{ArrayView, BaseRef, Export, Input, WeakBase};
pub use heap::device_loan::DeviceLoan;
pub use heap::guards::{GuardSet, ReadGuard, WriteGuard};
pub use heap::homes::Home;
pub use heap::memory::HostMemory;
pub use heap::pool::{Pool, PoolStats};
pub use host::{Bounded, Draw, Host, Integers, MaskedRows, OffsetAndScale, RandomStream, Sequence, TWISTER_WORDS};
pub use null::NullEngine;
pub use numelt_opt::Explanation;
pub use placement::{Rates, Rule};
pub use progress::ProgressSnapshot;
pub use report::Warning;
pub use routine::{Domain, Routine, Transform, Use, Vectors};
pub use runtime::{Away, Filtering, Runtime, SharedDevice, Solved, fork};
pub use stats::{FlushReport, Reason, Stats};
pub use track::in_c_order;
