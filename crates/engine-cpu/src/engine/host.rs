//! What the CPU engine offers as the host's engine: operations on few elements, scatters as a kernel runs, the search for
//! floating-point conditions, sorting, sums under masks, truth values, random numbers, BLAS.
//!
//! In: calls of the runtime and of front ends. Out: values in memory, done by the modules that are named here.

use super::{CpuEngine, own};
use crate::body::{Body, Tile};
use crate::driver;
use crate::driver::scattered::{self, Scattered};
use crate::tier0::{Audit, Interpreter, met_by_results, run_small};
use crate::{fold, library, sorting, streams};
use numelt_ir::{DType, Op, Result, Scalar};
use numelt_runtime::{
    BlasTable, Bounded, Draw, Executable, Host, Launch, MaskedRows, PutCall, RandomStream, Sequence, SmallCall,
};
use numelt_vecmath::flags;

/// A body that looks for conditions instead of storing.
struct Auditor<'a> {
    interpreter: &'a Interpreter,
    audit: Audit,
}

impl Body for Auditor<'_> {
    // SAFETY: the contract is the trait's.
    unsafe fn run(&self, tile: &Tile) {
        if !self.audit.is_done() {
            // SAFETY: the caller's contract.
            unsafe { self.interpreter.audit(tile, &self.audit) }
        }
    }
}

impl Host for CpuEngine {
    fn puts(&self, executable: &dyn Executable, launch: &Launch<'_>, puts: &[PutCall<'_>]) -> Result<Option<[u8; 2]>> {
        let compiled = own(executable)?;
        let scatters = Scattered::new(&compiled.kernel, puts, self.options.block)?;
        flags::clear();
        // SAFETY: the runtime promises the launch's and the puts' addresses; both bodies evaluate this kernel.
        let launched = unsafe {
            let tier = compiled.current();
            scattered::launch(&compiled.kernel, &compiled.recipe, tier, launch, &scatters, &self.threads)?
        };
        Ok(launched.map(|launched| {
            self.worked(compiled, &launched);
            scatters.met()
        }))
    }

    fn small(&self, call: &SmallCall<'_>, watch: u8) -> bool {
        // SAFETY: the runtime promises the views.
        unsafe { run_small(call, watch, self.isa) }
    }

    fn audit(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        let compiled = own(executable)?;
        let auditor = Auditor { interpreter: &compiled.interpreter, audit: Audit::new(&compiled.kernel, wanted) };
        // SAFETY: the runtime promises the launch's addresses; the auditor stores nothing.
        unsafe {
            driver::visit(&compiled.kernel, &compiled.recipe, (&auditor, &compiled.prices[0]), launch, &self.threads)?
        };
        let mut found = auditor.audit.found();
        for (reduction, met) in compiled.kernel.reductions.iter().zip(&mut found[compiled.kernel.body.len()..]) {
            let (arg, place) = (reduction.arg as usize, &launch.geometry.args[reduction.arg as usize]);
            let dtype = compiled.kernel.args[arg].dtype;
            // SAFETY: the launch has written the result there.
            *met &= unsafe {
                met_by_results(dtype, launch.buffers[arg].address(), &launch.geometry.extents, &place.strides)
            };
        }
        Ok(found)
    }

    fn variants(&self) -> [u64; 2] {
        self.promoter.variants()
    }

    fn threads(&self) -> usize {
        self.threads.count()
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
        fold::truths(op, bytes, self.isa)
    }

    // SAFETY: the contract is the trait's.
    unsafe fn fill_stream(&self, stream: &RandomStream<'_>, ty: DType, n: usize, to: *mut u8) -> bool {
        // SAFETY: the caller's contract. The error says that there is no such stream, and nothing was written.
        unsafe { streams::fill_stream(stream, ty, n, to, self.isa) }.is_ok()
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
        unsafe { streams::fill_bounded(stream, bounded, n, to, threads, self.isa) }.ok()
    }

    fn draw(&self, sequence: &mut Sequence<'_>, numbers: Draw<'_>, threads: usize) -> bool {
        streams::draw(sequence, numbers, threads, self.isa)
    }

    // SAFETY: the contract is the trait's.
    unsafe fn register_blas(&self, table: &BlasTable) -> bool {
        // SAFETY: the caller's contract.
        unsafe { library::register_blas(table) }
    }
}
