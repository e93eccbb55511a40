//! Tiny operations, run while they are recorded.
//!
//! Where a program reads one small result after the other, queueing an operation costs more than running it. Once
//! that has been seen a few times, an elementwise operation on at most [`Config::at_once`](crate::Config) elements
//! whose operands are in memory, with nothing pending that writes them, goes straight to the engine. What the engine does not do
//! this way, or what meets a condition to be reported, is recorded like everything else. Whoever inspects, traces or
//! explains sees all operations recorded.

use crate::base::{ArrayView, BaseCell, Input, POOL};
use crate::batch::WATCH;
use crate::engine::{Engine, Few, FewInput, SmallCall};
use numelt_ir::{DType, Op, OpKind, Result};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// Reads of a few small results after which operations run at once.
const READS: u32 = 4;

/// Bytes of the largest base that gets its memory here.
const LARGEST: usize = 4096;

/// Whether operations run at once.
#[derive(Debug, Default)]
pub(crate) struct Habit {
    reads: u32,
    /// Somebody has asked to see what is recorded.
    watched: bool,
}

impl Habit {
    /// Notes a batch that was run because it was read.
    pub fn note_read(&mut self, instructions: usize, work: u64) {
        if work <= instructions as u64 * SmallCall::MOST as u64 {
            self.reads = self.reads.saturating_add(1);
        }
    }

    /// From now on everything is recorded, until settings change.
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// Settings have changed.
    pub fn unwatch(&mut self) {
        self.watched = false;
    }

    /// Has somebody asked, since settings last changed?
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// May an operation run at once?
    #[inline]
    pub fn is_on(&self) -> bool {
        self.reads >= READS && !self.watched
    }
}

/// Runs an operation now if it is one that can; `epoch` is the batch being recorded, and no other is running.
///
/// # Errors
/// [`numelt_ir::Error::OutOfMemory`] for the output.
#[inline]
pub(crate) fn run(
    engine: &dyn Engine,
    epoch: u64,
    most: i64,
    (op, ty): (Op, DType),
    out: &ArrayView,
    ins: &[Input<'_>],
) -> Result<bool> {
    let n: i64 = out.shape.iter().product();
    if n > most || op.kind() != OpKind::Elementwise || ins.len() > 3 {
        return Ok(false);
    }
    let sound = |cell: &BaseCell| !cell.failed.load(Ordering::Relaxed);
    let mut operands: SmallVec<[FewInput<'_>; 3]> = SmallVec::new();
    for input in ins {
        operands.push(match input {
            Input::Array(array) => {
                let (cell, address) = (&array.base.0, array.base.0.address());
                if cell.is_written_in(epoch) || address.is_null() || !sound(cell) {
                    return Ok(false);
                }
                FewInput::View(few(array, address))
            }
            Input::Const(value) => FewInput::Const(*value),
        });
    }
    let cell = &out.base.0;
    let known = cell.address();
    let fresh = known.is_null();
    if cell.slot_in(epoch).is_some() || fresh && cell.nbytes > LARGEST || !sound(cell) {
        return Ok(false);
    }
    let address = if fresh { POOL.alloc(cell.nbytes)? } else { known };
    let call = SmallCall { op, ty, out: few(out, address), fresh, ins: &operands };
    out.base.touch();
    let done = engine.small(&call, WATCH.load(Ordering::Relaxed));
    if fresh {
        if done {
            cell.set_address(address);
        } else {
            // SAFETY: the address came from `POOL.alloc` with this size, and nobody has got to know it.
            unsafe { POOL.free(address, cell.nbytes) };
        }
    }
    Ok(done)
}

#[inline]
fn few(array: &ArrayView, address: *mut u8) -> Few<'_> {
    Few {
        pointer: address.wrapping_offset(array.offset as isize),
        dtype: array.dtype,
        shape: &array.shape,
        strides: &array.strides,
    }
}
