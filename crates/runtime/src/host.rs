//! What only an engine on the host can offer: work on memory that the caller addresses, done before the call returns.
//!
//! In: dense values in the host's memory, and plain descriptions of what is wanted ([`RandomStream`], [`Sequence`],
//! [`Draw`], [`BlasTable`]). Out: values in the host's memory. These calls do not go through the queue: front ends
//! make them where a result cannot be recorded (how many random words an integer takes is known only afterwards) or where
//! recording costs more than the work. Not here: the algorithms, which are the host engine's.
//!
//! A host engine may decline each call, by `false` or `None`, and declines all that it does not define. The front end
//! then records the work, or leaves it to NumPy.

use crate::blas::BlasTable;
use crate::engine::{Engine, Executable, Launch, PutCall, SmallCall};
use numelt_ir::{DType, Op, Result, Scalar};

/// An engine whose memory is the host's, so that its buffers are addresses. It does all work at once.
pub trait Host: Engine {
    /// Runs a kernel and puts what it makes to places in memory, in the order of its points. The results are the conditions
    /// that the kernel met, and those of the scatters. `None` where nothing was done, because the engine takes less time if all that the kernel makes gets
    /// memory, and the scatters are calls.
    ///
    /// # Errors
    /// Those of [`Engine::submit`].
    fn puts(&self, executable: &dyn Executable, launch: &Launch<'_>, puts: &[PutCall<'_>]) -> Result<Option<[u8; 2]>> {
        let _ = (executable, launch, puts);
        Ok(None)
    }

    /// Runs an operation on few elements now. False when it was not done, and has to be recorded: the engine has no
    /// short way for it, or it meets one of the conditions `watch`. Inputs are as they were then, the output anything.
    fn small(&self, call: &SmallCall<'_>, watch: u8) -> bool {
        let _ = (call, watch);
        false
    }

    /// Finds which values of a kernel's body meet which of the conditions wanted of each (`wanted` has one entry
    /// per value, the result too), by evaluating it once more on what its operands hold now. Nothing is stored.
    ///
    /// # Errors
    /// Those of [`Engine::submit`].
    fn audit(&self, executable: &dyn Executable, launch: &Launch<'_>, wanted: &[u8]) -> Result<Vec<u8>> {
        let _ = (executable, launch);
        Ok(vec![0; wanted.len()])
    }

    /// Kernels compiled for one geometry so far, and launches that such code ran.
    fn variants(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Threads that the engine's work may be shared by, the caller included.
    fn threads(&self) -> usize {
        1
    }

    /// Can values of this dtype be sorted by [`Host::argsort`] and merged by [`Host::merge_runs`]?
    fn sorts(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }

    /// Writes the stable order of values to `order`, which is as long as there are values. NumPy's rules hold: NaN comes last,
    /// and both zeros are equal. True where no two values are equal, so that there is no other order; `None`,
    /// without an order, where the dtype cannot be sorted.
    ///
    /// # Safety
    /// `values` holds `order.len()` dense aligned elements of the dtype.
    unsafe fn argsort(&self, dtype: DType, values: *const u8, order: &mut [i64], threads: usize) -> Option<bool> {
        let _ = (dtype, values, order, threads);
        None
    }

    /// Merges runs of `run` values each, sorted as NumPy sorts them, in place; the last run may be shorter. False where the
    /// dtype cannot be sorted, and where the result depends on the order of values that are equal but differ in their bits.
    ///
    /// # Safety
    /// `values` holds `n` dense aligned elements of the dtype, which nobody else touches meanwhile.
    unsafe fn merge_runs(&self, dtype: DType, values: *mut u8, n: usize, run: usize, threads: usize) -> bool {
        let _ = (dtype, values, n, run, threads);
        false
    }

    /// Writes the sum of each row under the mask, from `start` on, to `out`. False, without sums, for a dtype whose rows
    /// the engine cannot add.
    ///
    /// # Safety
    /// The rows are as [`MaskedRows`] says. `out` has room for `rows.count` aligned elements of their dtype, which nobody
    /// else touches meanwhile.
    unsafe fn masked_sums(&self, rows: &MaskedRows, start: f64, out: *mut u8, threads: usize) -> bool {
        let _ = (rows, start, out, threads);
        false
    }

    /// `any`, `all` or the number of truth values (`sum`) among bytes that are zero or one; `None` for other reductions.
    fn truths(&self, op: Op, bytes: &[u8]) -> Option<Scalar> {
        let _ = (op, bytes);
        None
    }

    /// Writes the first `n` elements of a random stream as elements of `ty`. False, with nothing written, where the engine
    /// has no such stream.
    ///
    /// # Safety
    /// `to` has room for `n` aligned elements of `ty`, which nobody else touches meanwhile.
    unsafe fn fill_stream(&self, stream: &RandomStream<'_>, ty: DType, n: usize, to: *mut u8) -> bool {
        let _ = (stream, ty, n, to);
        false
    }

    /// Writes `n` integers below a bound, made from a random stream by multiplication and rejection as NumPy makes them. The
    /// result is the number of the stream's elements that they took; `None`, with nothing written, where the engine
    /// has no such stream.
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

    /// Fills memory with the next numbers of a generator and moves its state. False, with nothing changed, where the engine
    /// cannot make such numbers with this generator.
    fn draw(&self, sequence: &mut Sequence<'_>, numbers: Draw<'_>, threads: usize) -> bool {
        let _ = (sequence, numbers, threads);
        false
    }

    /// Has matrix products done by an external BLAS from now on, by this and all later engines of its kind in this
    /// process. Only the first call counts; the others give false.
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
    /// Address of as many bytes; those that are not zero choose their elements.
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
    /// The words of state that the operation takes behind the position.
    pub state: &'a [u64],
}

/// Which integers to make from a random stream.
#[derive(Debug, Clone, Copy)]
pub struct Bounded {
    /// The smallest integer, as the bits of its type.
    pub low: u64,
    /// How many different integers there are.
    pub count: u64,
    /// Are the stream's elements 32-bit halves rather than words?
    pub halves: bool,
    /// Have the integers 64 bits, rather than 32?
    pub wide: bool,
}

/// Words of MT19937's state.
pub const TWISTER_WORDS: usize = 624;

/// The state, where its owner keeps it, of a generator whose numbers can only be made one after the other.
#[derive(Debug)]
pub enum Sequence<'a> {
    /// MT19937: the words, and how many of them have been used.
    Twister(&'a mut [u32; TWISTER_WORDS], &'a mut i32),
    /// SFC64: three words and a counter; whether a half waits, and the half.
    Sfc64(&'a mut [u64; 4], &'a mut i32, &'a mut u32),
}

/// Offset and scale of random numbers, `offset + scale * number`; `None` for the numbers as they are.
pub type Placed = Option<(f64, f64)>;

/// What [`Host::draw`] makes, and where it goes.
#[derive(Debug)]
pub enum Draw<'a> {
    /// Uniform numbers in `[0, 1)`, moved and scaled.
    Uniform(Placed, &'a mut [f64]),
    /// Uniform numbers of single precision in `[0, 1)`.
    UniformSingle(&'a mut [f32]),
    /// Pairs of normal numbers by the polar method, moved and scaled; an odd place at the end stays as it is.
    Normal(Placed, &'a mut [f64]),
    /// Integers from `low` to `low + last`: halves of words under the smallest mask that holds `last`, those beyond `last`
    /// skipped (NumPy's legacy rule).
    Masked {
        /// The smallest integer, as the bits of its type.
        low: u64,
        /// How far the largest one is from it.
        last: u32,
        /// Where they go.
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
