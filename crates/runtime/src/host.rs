//! [`Host`]: work that only an engine on the host can offer, on memory that the caller addresses, done before the
//! call returns.
//!
//! These calls do not go through the queue: front ends make them if a result cannot be recorded (how many random words
//! an integer takes is known only afterwards) or if recording takes longer than the work. The work is described by
//! [`RandomStream`], [`Sequence`], [`Draw`] and [`BlasTable`].
//!
//! A host engine may decline each call, by `false` or `None`, and declines every call that it does not implement. The
//! front end then records the work, or leaves it to NumPy.

use crate::blas::BlasTable;
use crate::engine::{Engine, Executable, Launch, LibraryCall, PutCall, SmallCall};
pub use numelt_ir::interp::random::TWISTER_WORDS;
use numelt_ir::{DType, Op, Result, Scalar};
use std::ops::Range;

/// An engine whose memory is the host's own, so that buffers are addresses. It does all work at once.
pub trait Host: Engine {
    /// Runs a kernel and scatters its results to positions in memory, in the order of its points. Returns the
    /// conditions that the kernel met, and those of the scatters. `None` if nothing was done, because the engine is
    /// faster if all results of the kernel get memory and the scatters are calls.
    ///
    /// # Errors
    /// Those of [`Engine::submit`].
    fn puts(&self, executable: &dyn Executable, launch: &Launch<'_>, puts: &[PutCall<'_>]) -> Result<Option<[u8; 2]>> {
        let _ = (executable, launch, puts);
        Ok(None)
    }

    /// Runs an operation on few elements now. Returns false if it was not done and has to be recorded, because the
    /// engine does not support it here or because it meets one of the conditions `watch`. The inputs are then
    /// unchanged, and the output may hold anything.
    fn small(&self, call: &SmallCall<'_>, watch: u8) -> bool {
        let _ = (call, watch);
        false
    }

    /// Finds which values of a kernel's body meet which of the wanted conditions, by evaluating the body once more on
    /// the present values of its operands. `wanted` has one entry for each value, including the result. Nothing is
    /// stored.
    ///
    /// # Errors
    /// Those of [`Engine::submit`].
    fn audit(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        let _ = (executable, launch);
        Ok(vec![0; wanted.len()])
    }

    /// The conditions that a matrix product has met, found from its factors and its results, if a device's library has
    /// computed it: such libraries do not say.
    ///
    /// # Errors
    /// Those of [`Engine::submit`].
    fn product_conditions(&self, call: &LibraryCall<'_>) -> Result<u8> {
        let _ = call;
        Ok(0)
    }

    /// How many kernels have been compiled for one geometry, and how many launches ran such code.
    fn variants(&self) -> [u64; 2] {
        [0; 2]
    }

    /// How many threads may share the engine's work, including the caller.
    fn threads(&self) -> usize {
        1
    }

    /// Calls `f` on ranges that together are `0..units`, on several threads if the work, in nanoseconds, is worth it.
    /// Floating-point conditions that other threads meet are met on the calling one.
    fn parallel(&self, units: usize, work: u64, f: &(dyn Fn(Range<usize>) + Sync)) {
        let _ = work;
        f(0..units);
    }

    /// Whether [`Host::in_background`] returns before the work is done. Otherwise the engine's settings ask for code
    /// that is compiled before it is first needed, or the engine has no thread for such work.
    fn has_background(&self) -> bool {
        false
    }

    /// Compiles something: `work`, on the thread that compiles kernels while the program runs, or else at once. The
    /// work takes no lock that the caller holds, and is dropped if no thread can be started.
    fn in_background(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }

    /// In a forked child, continues the work that the parent's thread had not begun. To be called while such work is
    /// awaited.
    fn continue_background(&self) {}

    /// Whether [`Host::argsort`] can sort values of this dtype, and [`Host::merge_runs`] can merge them.
    fn sorts(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }

    /// Writes the stable order of values to `order`, which is as long as there are values. NumPy's rules hold: NaN
    /// comes last, and both zeros are equal. Returns true if no two values are equal, so that there is no other
    /// order; `None`, without an order, if the dtype cannot be sorted.
    ///
    /// # Safety
    /// `values` holds `order.len()` dense aligned elements of the dtype.
    unsafe fn argsort(&self, dtype: DType, values: *const u8, order: &mut [i64], threads: usize) -> Option<bool> {
        let _ = (dtype, values, order, threads);
        None
    }

    /// Merges runs of `run` values each, sorted as NumPy sorts them, in place; the last run may be shorter. Returns
    /// false if the dtype cannot be sorted, or if the result depends on the order of values that are equal but differ
    /// in their bits.
    ///
    /// # Safety
    /// `values` holds `n` dense aligned elements of the dtype, which nobody else touches meanwhile.
    unsafe fn merge_runs(&self, dtype: DType, values: *mut u8, n: usize, run: usize, threads: usize) -> bool {
        let _ = (dtype, values, n, run, threads);
        false
    }

    /// Writes the sum of each row under the mask, from `start` on, to `out`. Returns false, without sums, for a dtype
    /// whose rows the engine cannot add.
    ///
    /// # Safety
    /// The rows are as [`MaskedRows`] says. `out` has room for `rows.count` aligned elements of their dtype, which
    /// nobody else touches meanwhile.
    unsafe fn masked_sums(&self, rows: &MaskedRows, start: f64, out: *mut u8, threads: usize) -> bool {
        let _ = (rows, start, out, threads);
        false
    }

    /// `any`, `all` or the number (`sum`) of true values among bytes that are zero or one; `None` for other
    /// reductions.
    fn truths(&self, op: Op, bytes: &[u8]) -> Option<Scalar> {
        let _ = (op, bytes);
        None
    }

    /// Writes the first `n` elements of a random stream as elements of `ty`. Returns false, with nothing written, if
    /// the engine does not have this stream.
    ///
    /// # Safety
    /// `to` has room for `n` aligned elements of `ty`, which nobody else touches meanwhile.
    unsafe fn fill_stream(&self, stream: &RandomStream<'_>, ty: DType, n: usize, to: *mut u8) -> bool {
        let _ = (stream, ty, n, to);
        false
    }

    /// Writes `n` integers below a bound, made from a random stream by multiplication and rejection as NumPy makes
    /// them. Returns how many elements of the stream they took; `None`, with nothing written, if the engine does not
    /// have this stream.
    ///
    /// # Safety
    /// `to` has room for `n` aligned integers of the size that `bounded` says, which nobody else touches meanwhile.
    unsafe fn fill_bounded(
        &self,
        stream: &RandomStream<'_>,
        bounded: Bounded,
        n: usize,
        to: *mut u8,
        threads: usize,
    ) -> Option<u64> {
        let _ = (stream, bounded, n, to, threads);
        None
    }

    /// Fills memory with the next numbers of a generator and advances its state. Returns false, with nothing changed,
    /// if the engine cannot make such numbers with this generator.
    fn draw(&self, sequence: &mut Sequence<'_>, numbers: Draw<'_>, threads: usize) -> bool {
        let _ = (sequence, numbers, threads);
        false
    }

    /// Lets an external BLAS do matrix products from now on, for this engine and all later engines of its kind in
    /// this process. Only the first call has an effect; the others return false.
    ///
    /// # Safety
    /// The addresses are CBLAS routines with 64-bit integers of the named kinds, and stay valid for ever.
    unsafe fn register_blas(&self, table: &BlasTable) -> bool {
        let _ = table;
        false
    }
}

/// Dense rows of floats, and a mask with a byte for each element.
#[derive(Debug, Clone, Copy)]
pub struct MaskedRows {
    /// Element type of the rows.
    pub dtype: DType,
    /// Address of `count * length` aligned elements.
    pub values: *const u8,
    /// Address of as many bytes; an element counts if its byte is not zero.
    pub mask: *const u8,
    /// Number of rows.
    pub count: usize,
    /// Elements in a row.
    pub length: usize,
}

/// A random stream whose elements are functions of their positions, from one position on.
#[derive(Debug, Clone, Copy)]
pub struct RandomStream<'a> {
    /// The operation: [`Op::Pcg64`], [`Op::Pcg64Dxsm`] or [`Op::Philox`].
    pub op: Op,
    /// Position of the first element.
    pub position: u64,
    /// The words of state that the operation takes after the position.
    pub state: &'a [u64],
}

/// The integers to make from a random stream.
#[derive(Debug, Clone, Copy)]
pub struct Bounded {
    /// The smallest integer, as the bits of its type.
    pub low: u64,
    /// How many different integers there are.
    pub count: u64,
    /// Whether the stream's elements are 32-bit halves instead of words.
    pub halves: bool,
    /// Whether the integers have 64 bits instead of 32.
    pub wide: bool,
}

/// The state of a generator whose numbers can only be made one after the other, in its owner's memory.
#[derive(Debug)]
pub enum Sequence<'a> {
    /// MT19937: the words, and how many of them have been used.
    Twister(&'a mut [u32; TWISTER_WORDS], &'a mut i32),
    /// SFC64: three words and a counter; whether half a word is left over; that half.
    Sfc64(&'a mut [u64; 4], &'a mut i32, &'a mut u32),
}

/// Offset and scale of random numbers, `offset + scale * number`; `None` if the numbers are not changed.
pub type OffsetAndScale = Option<(f64, f64)>;

/// The numbers that [`Host::draw`] makes, and the memory for them.
#[derive(Debug)]
pub enum Draw<'a> {
    /// Uniform numbers in `[0, 1)`, moved and scaled.
    Uniform(OffsetAndScale, &'a mut [f64]),
    /// Uniform numbers of single precision in `[0, 1)`.
    UniformSingle(&'a mut [f32]),
    /// Pairs of normal numbers by the polar method, moved and scaled. An odd element at the end is not written.
    Normal(OffsetAndScale, &'a mut [f64]),
    /// Integers from `low` to `low + last`: halves of words under the smallest mask that covers `last`, without those
    /// beyond `last` (NumPy's legacy rule).
    Masked {
        /// The smallest integer, as the bits of its type.
        low: u64,
        /// The difference between the largest integer and the smallest.
        last: u32,
        /// The memory for the integers.
        to: Integers<'a>,
    },
}

/// Memory for integers, signed or not.
#[derive(Debug)]
pub enum Integers<'a> {
    /// Integers of 32 bits.
    Narrow(&'a mut [u32]),
    /// Integers of 64 bits.
    Wide(&'a mut [u64]),
}
