//! The functions that the CPU engine offers as the host's engine: sorting, sums under masks, truth values, random
//! numbers, BLAS.
//!
//! In: calls of front ends. Out: values in memory. The modules that are named here do the work.

use crate::background::{self, Task};
use crate::engine::CpuEngine;
use crate::{fold, library, sorting, streams};
use numelt_ir::{DType, Op, Result, Scalar};
use numelt_runtime::{
    BlasTable, Bounded, Draw, Executable, Host, Launch, LibraryCall, MaskedRows, PutCall, RandomStream, Sequence,
    SmallCall,
};
use std::ops::Range;

/// A piece of work of the front end, for the background thread.
struct HostTask(Box<dyn FnOnce() + Send>);

impl Task for HostTask {
    fn run(self: Box<Self>) {
        (self.0)();
    }
}

impl Host for CpuEngine {
    fn puts(&self, executable: &dyn Executable, launch: &Launch<'_>, puts: &[PutCall<'_>]) -> Result<Option<[u8; 2]>> {
        self.puts_now(executable, launch, puts)
    }

    fn small(&self, call: &SmallCall<'_>, watch: u8) -> bool {
        self.small_now(call, watch)
    }

    fn audit(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        self.audited(executable, launch, wanted)
    }

    fn product_conditions(&self, call: &LibraryCall<'_>) -> Result<u8> {
        library::product_conditions(call)
    }

    fn variants(&self) -> [u64; 2] {
        self.variant_counts()
    }

    fn threads(&self) -> usize {
        // the engine's own method of this name
        CpuEngine::threads(self)
    }

    fn parallel(&self, units: usize, work: u64, f: &(dyn Fn(Range<usize>) + Sync)) {
        self.share(units, work, f);
    }

    fn has_background(&self) -> bool {
        self.compiles_in_background()
    }

    fn in_background(&self, work: Box<dyn FnOnce() + Send>) {
        if self.compiles_in_background() { background::submit(Box::new(HostTask(work))) } else { work() }
    }

    fn continue_background(&self) {
        background::resume();
    }

    fn sorts(&self, dtype: DType) -> bool {
        sorting::sorts(dtype)
    }

    // SAFETY: the contract is the trait's.
    unsafe fn argsort(&self, dtype: DType, values: *const u8, order: &mut [i64], threads: usize) -> Option<bool> {
        // SAFETY: the caller's contract.
        unsafe { sorting::argsort(dtype, values, order, threads) }
    }

    // SAFETY: the contract is the trait's.
    unsafe fn merge_runs(&self, dtype: DType, values: *mut u8, n: usize, run: usize, threads: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { sorting::merge_runs(dtype, values, n, run, threads) }
    }

    // SAFETY: the contract is the trait's.
    unsafe fn masked_sums(&self, rows: &MaskedRows, start: f64, out: *mut u8, threads: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { fold::masked_sums(rows, start, out, threads) }
    }

    fn truths(&self, op: Op, bytes: &[u8]) -> Option<Scalar> {
        fold::truths(op, bytes, self.isa())
    }

    // SAFETY: the contract is the trait's.
    unsafe fn fill_stream(&self, stream: &RandomStream<'_>, ty: DType, n: usize, to: *mut u8) -> bool {
        // SAFETY: the caller's contract. The error says that there is no such stream, and nothing was written.
        unsafe { streams::fill_stream(stream, ty, n, to, self.isa()) }.is_ok()
    }

    // SAFETY: the contract is the trait's.
    unsafe fn fill_bounded(
        &self,
        stream: &RandomStream<'_>,
        bounded: Bounded,
        n: usize,
        to: *mut u8,
        threads: usize,
    ) -> Option<u64> {
        // SAFETY: the caller's contract; the error is that of `fill_stream`.
        unsafe { streams::fill_bounded(stream, bounded, n, to, threads, self.isa()) }.ok()
    }

    fn draw(&self, sequence: &mut Sequence<'_>, numbers: Draw<'_>, threads: usize) -> bool {
        streams::draw(sequence, numbers, threads, self.isa())
    }

    // SAFETY: the contract is the trait's.
    unsafe fn register_blas(&self, table: &BlasTable) -> bool {
        // SAFETY: the caller's contract.
        unsafe { library::register_blas(table) }
    }
}
