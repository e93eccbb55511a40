//! Small operations, run while they are recorded.
//!
//! Where a program reads one small result after the other, queueing an operation costs more than running it. Once
//! that has been seen a few times, an elementwise operation or a reduction on at most [`Config::at_once`](crate::Config)
//! elements whose operands are in memory, with nothing pending that writes them, goes straight to the engine. From
//! [`SURE`] elements on, long chains gain by fusion: now and then such operations are recorded until the next read, and
//! go on being recorded if it turns out to be far away. What the engine does not do this way, or what meets a
//! condition to be reported, is recorded like everything else. Whoever inspects, traces or explains sees all
//! operations recorded.

use crate::base::{ArrayView, BaseCell, Input, POOL};
use crate::batch::WATCH;
use crate::engine::{Engine, Few, FewInput, SmallCall};
use numelt_ir::{Axes, DType, Op, OpKind, Result};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// Reads of a few small results after which operations run at once.
const READS: u32 = 4;

/// Elements up to which an operation is better run at once, however many follow it.
pub(crate) const SURE: i64 = 256;

/// Instructions in a batch from which on fusing them is better than running each at once.
const LONG: usize = 12;

/// Operations of more than [`SURE`] elements run at once before it is looked at whether chains are long, at first and
/// at most.
const STRETCH: [u32; 2] = [64, 1 << 10];

/// Bytes of the largest base that gets its memory here.
const LARGEST: usize = 16 * SmallCall::MOST;

/// Whether operations run at once.
#[derive(Debug)]
pub(crate) struct Habit {
    reads: u32,
    /// Somebody has asked to see what is recorded.
    watched: bool,
    /// Operations of more than [`SURE`] elements that still run at once before the next look, and how many it was.
    left: u32,
    stretch: u32,
}

impl Default for Habit {
    fn default() -> Habit {
        Habit { reads: 0, watched: false, left: STRETCH[0], stretch: STRETCH[0] }
    }
}

impl Habit {
    /// Notes a batch that was run because it was read.
    pub fn note_read(&mut self, instructions: usize, work: u64, most: usize) {
        if work > instructions as u64 * most as u64 {
            return;
        }
        self.reads = self.reads.saturating_add(1);
        if self.left == 0 && work > instructions as u64 * SURE as u64 {
            if instructions < LONG {
                self.stretch = (self.stretch * 4).min(STRETCH[1]);
                self.left = self.stretch;
            } else {
                self.stretch = STRETCH[0];
            }
        }
    }

    /// From now on everything is recorded, until settings change.
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// Settings have changed.
    pub fn unwatch(&mut self) {
        *self = Habit { reads: self.reads, ..Habit::default() };
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

    /// Elements that an operation may have, of at most `most`.
    #[inline]
    pub fn most(&self, most: usize) -> i64 {
        if self.left > 0 { most as i64 } else { SURE.min(most as i64) }
    }

    /// An operation of more than [`SURE`] elements has run at once.
    #[inline]
    pub fn ran_larger(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

/// Runs an operation now if it is one that can, of at most `most` elements; `epoch` is the batch being recorded, and no
/// other is running. The elements that it has, or none where it did not run.
///
/// # Errors
/// [`numelt_ir::Error::OutOfMemory`] for the output.
#[inline]
pub(crate) fn run(
    engine: &dyn Engine,
    epoch: u64,
    most: i64,
    (op, ty, axes): (Op, DType, Axes),
    out: &ArrayView,
    ins: &[Input<'_>],
) -> Result<i64> {
    let domain = match (op.kind(), ins) {
        (OpKind::Elementwise, _) => &out.shape,
        (OpKind::Reduction, [Input::Array(source)]) => &source.shape,
        _ => return Ok(0),
    };
    let elements = domain.iter().product();
    if elements > most || ins.len() > 3 {
        return Ok(0);
    }
    let sound = |cell: &BaseCell| !cell.failed.load(Ordering::Relaxed);
    let mut operands: SmallVec<[FewInput<'_>; 3]> = SmallVec::new();
    for input in ins {
        operands.push(match input {
            Input::Array(array) => {
                let (cell, address) = (&array.base.0, array.base.0.address());
                if cell.is_written_in(epoch) || address.is_null() || !sound(cell) {
                    return Ok(0);
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
        return Ok(0);
    }
    let address = if fresh { POOL.alloc(cell.nbytes)? } else { known };
    let call = SmallCall { op, ty, axes, out: few(out, address), fresh, ins: &operands };
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
    Ok(if done { elements } else { 0 })
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
