//! Small operations, run while they are recorded.
//!
//! Where a program reads one small result after the other, queueing an operation costs more than running it. Once
//! that has been seen a few times, or many small operations wait that repeat no known batch, an elementwise operation or
//! a reduction on at most [`Config::at_once`](crate::Config) elements whose operands are in memory, with nothing
//! pending that writes them, goes straight to the engine. From
//! [`SURE`] elements on, chains of operations gain by fusion, the shorter ones the larger they are: now and then such
//! operations are recorded until the next read, and go on being recorded if it turns out to be far away. Those of more than
//! [`MIDDLE`] elements are recorded until reads have come close upon each other; if they are in place, their array
//! gets new memory. Long batches of which none is like one before are better run this way, too: nothing would be gained by
//! recording them. What the engine does not do this way, or what meets a
//! condition to be reported, is recorded like everything else. Whoever inspects or traces sees all operations
//! recorded, and whoever asks for an explanation those of the next batches.

use crate::base::{ArrayView, BaseCell, Input, POOL};
use crate::batch::WATCH;
use crate::engine::{Engine, Few, FewInput, SmallCall};
use crate::siblings;
use numelt_ir::{Axes, DType, Op, OpKind, Result};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// Reads of a few small results after which operations run at once.
const READS: u32 = 4;

/// Elements up to which an operation is better run at once, however many follow it.
const SURE: i64 = 256;

/// Instructions on [`SURE`] elements and less in one batch after which it runs, and what follows runs at once.
const MANY: usize = 64;

/// Elements up to which operations run at once until a long chain has been seen.
const MIDDLE: i64 = 2048;

/// Operations of more than [`SURE`] elements run at once before it is looked at whether chains are long, at first; and
/// at most, for those of up to [`MIDDLE`] and of more elements.
const STRETCH: u32 = 64;
const STRETCHES: [u32; 2] = [1 << 10, 1 << 8];

/// Short chains in a row after which operations of up to [`MIDDLE`] and of more elements run at once again.
const IN_A_ROW: [u32; 2] = [1, 2];

/// Batches after a question in which everything is recorded.
const WATCHED: u32 = 256;

/// Long batches in a row, like none before, after which their operations run at once: recording them saves nothing.
const STRANGE: u32 = 4;

/// How many times as many operations as the last of them has run at once before the next look.
const UNSEEN: u32 = 12;

/// Elements up to which an operation in place gives its array new memory instead of waiting: with more, another array in the
/// caches costs more than recording does.
const MOVED: i64 = 3 * MIDDLE;

/// Bytes of the largest base that gets its memory here.
const LARGEST: usize = 16 * SmallCall::MOST;

/// Instructions in a batch, on so many elements each, from which on fusing them is better than running each at once.
fn long(elements: i64) -> usize {
    (1 + 6000 / elements.max(1) as usize).clamp(2, 12)
}

/// Whether operations run at once.
#[derive(Debug)]
pub(crate) struct Habit {
    reads: u32,
    /// Batches that are still recorded as a whole, because somebody has asked to see what is recorded.
    watched: u32,
    /// Operations of up to [`MIDDLE`] elements, and larger ones.
    bands: [Band; 2],
    /// Long batches since the last one that was known.
    strange: u32,
}

/// Whether operations of more than [`SURE`] elements run at once.
#[derive(Debug)]
struct Band {
    /// Operations that still run at once before the next look, and how many it was.
    left: u32,
    stretch: u32,
    /// Short chains since the last long one.
    in_a_row: u32,
}

impl Default for Band {
    fn default() -> Band {
        Band { left: 0, stretch: STRETCH / 4, in_a_row: 0 }
    }
}

impl Band {
    /// Notes a chain that was recorded as a whole.
    fn note(&mut self, is_short: bool, enough: u32, most: u32) {
        if !is_short {
            *self = Band::default();
            return;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row >= enough {
            self.stretch = (self.stretch * 4).min(most);
            (self.left, self.in_a_row) = (self.stretch, 0);
        }
    }
}

/// The band of operations on so many elements; none for those that always run at once.
#[inline]
fn band(elements: i64) -> Option<usize> {
    if elements <= SURE { None } else { Some(usize::from(elements > MIDDLE)) }
}

impl Habit {
    /// Nothing has been read yet.
    pub fn new() -> Habit {
        let middle = Band { left: STRETCH, stretch: STRETCH, in_a_row: 0 };
        Habit { reads: 0, watched: 0, bands: [middle, Band::default()], strange: 0 }
    }

    /// Notes a batch that was run because it was read.
    pub fn note_read(&mut self, instructions: usize, work: u64, most: usize) {
        self.watched = self.watched.saturating_sub(1);
        if work > instructions as u64 * most as u64 {
            return;
        }
        self.reads = self.reads.saturating_add(1);
        let elements = (work / instructions.max(1) as u64) as i64;
        // what waits though it has few elements on the whole waited for the largest of its operations
        let largest = band(elements).or_else(|| band(work as i64).map(|_| 0));
        if let Some(at) = largest
            && self.bands[at].left == 0
        {
            let is_short = elements <= SURE || instructions < long(elements);
            self.bands[at].note(is_short, IN_A_ROW[at], STRETCHES[at]);
        }
    }

    /// Is a batch of so many instructions, which repeats no known one, the start of a long program on few elements? Each
    /// length is asked about once. From now on such a program runs at once.
    #[inline]
    pub fn is_long_and_small(&mut self, instructions: usize, work: u64) -> bool {
        let found = instructions == MANY && work <= instructions as u64 * SURE as u64 && self.watched == 0;
        if found {
            self.reads = self.reads.max(READS);
            let middle = &mut self.bands[0];
            if middle.left == 0 {
                // what has more elements was in the way of the rest
                middle.note(true, IN_A_ROW[0], STRETCHES[0]);
            }
        }
        found
    }

    /// Notes a long batch of operations on few elements, and whether one like it came before.
    pub fn note_long(&mut self, instructions: usize, known: bool) {
        self.strange = match self.strange {
            _ if known => 0,
            // two that start at the same place of a loop are what three in a row show
            STRANGE => STRANGE - 2,
            strange => strange + 1,
        };
        if self.is_strange() && self.watched == 0 {
            self.reads = self.reads.max(READS);
            let left = (instructions as u32).saturating_mul(UNSEEN);
            self.bands.iter_mut().for_each(|band| band.left = band.left.max(left));
        }
    }

    /// Has what came last been like nothing before, so that what follows had better run at once?
    pub fn is_strange(&self) -> bool {
        self.strange == STRANGE
    }

    /// For some time everything is recorded, or until settings change.
    pub fn watch(&mut self) {
        self.watched = WATCHED;
    }

    /// Settings have changed.
    pub fn unwatch(&mut self) {
        *self = Habit { reads: self.reads, ..Habit::new() };
    }

    /// Has somebody asked, not long ago?
    pub fn is_watched(&self) -> bool {
        self.watched > 0
    }

    /// May an operation run at once?
    #[inline]
    pub fn is_on(&self) -> bool {
        self.reads >= READS && self.watched == 0
    }

    /// May one on so many elements?
    #[inline]
    fn allows(&self, elements: i64) -> bool {
        band(elements).is_none_or(|at| self.bands[at].left > 0)
    }

    /// Notes that an operation on so many elements has run at once.
    #[inline]
    pub fn ran(&mut self, elements: i64) {
        if let Some(at) = band(elements) {
            self.bands[at].left = self.bands[at].left.saturating_sub(1);
        }
    }
}

/// Runs an operation now if it is one that can, of at most `most` elements, and the habit is so; `epoch` is the batch
/// being recorded, and no other is running. The elements that it has, or none where it did not run.
///
/// # Errors
/// [`numelt_ir::Error::OutOfMemory`] for the output.
#[inline]
pub(crate) fn run(
    engine: &dyn Engine,
    (habit, most): (&Habit, i64),
    epoch: u64,
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
    if elements > most || ins.len() > 3 || !habit.allows(elements) {
        return Ok(0);
    }
    if let [Input::Array(source)] = ins
        && source.base.nbytes() >= siblings::SMALLEST
        && siblings::concerns(op, ty)
    {
        // others like it may share its pass over memory
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
    // what overwrites its operands goes to new memory if it is too much to be put together beside them
    let moves = !known.is_null() && (MIDDLE + 1..=MOVED).contains(&elements) && is_whole(out);
    let fresh = known.is_null() || moves;
    if cell.slot_in(epoch).is_some() || cell.bonds.any() || fresh && cell.nbytes > LARGEST || !sound(cell) {
        return Ok(0);
    }
    let address = match fresh.then(|| POOL.alloc(cell.nbytes)) {
        None => known,
        Some(Ok(address)) => address,
        Some(Err(_)) if moves => return Ok(0),
        Some(Err(error)) => return Err(error),
    };
    let call = SmallCall { op, ty, axes, out: few(out, address), fresh, ins: &operands };
    out.base.touch();
    let done = engine.small(&call, WATCH.load(Ordering::Relaxed));
    if fresh {
        let unused = if done { known } else { address };
        if done {
            cell.set_address(address);
        }
        if !unused.is_null() {
            // SAFETY: the address came from `POOL.alloc` with this size. Nobody has got to know it, or nobody knows it any
            // more: what looks into memory that may move holds the base, and asks it for the address each time.
            unsafe { POOL.free(unused, cell.nbytes) };
        }
    }
    Ok(if done { elements } else { 0 })
}

/// Is a view all of its base, in C order, and may the base move?
fn is_whole(view: &ArrayView) -> bool {
    let size = view.dtype.size() as i64;
    let mut inner = size;
    let dense = view.shape.iter().zip(&view.strides).rev().all(|(&n, &stride)| {
        let fits = n == 1 || stride == inner;
        inner *= n;
        fits
    });
    // a reduction has fewer elements in its result than in its domain
    dense && view.offset == 0 && inner == view.base.nbytes() as i64 && view.base.0.may_move()
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
