//! Operations that run when they are called, not when they are read.
//!
//! Recording an operation, finding its plan and launching a kernel costs more than computing a few hundred elements. So an
//! operation whose operands and result have at most `few` elements each, and whose operands are in memory, runs at
//! once. `few`, `middle` and `moved` are the engine's [`AtOnceLimits`]. The rule asks for nothing else: what ran before does
//! not matter. A small operation is recorded only if it reads the result of one that is pending, or writes what pending work
//! reads or writes.
//!
//! Most of these operations go straight to the engine ([`Host::small`]), without an instruction. What the engine does not
//! do that way, or what meets a floating-point condition that is to be reported, runs by itself as a batch of one
//! instruction does (`runtime/aside.rs`).
//!
//! From `few` elements on, chains of operations gain by fusion, the shorter ones the larger they are: with a thousand
//! elements, the 45 operations of an option's price take half the time if they are fused, while eliminating a row of a
//! matrix and looking at the result takes half the time if nothing is recorded. Which of the two a program does, its reads
//! tell ([`Habit`]): now and then such elementwise operations and reductions are recorded until the next read, and go on
//! being recorded if it turns out to be far away. Those of more than `middle` elements are recorded until reads have come
//! close upon each other; if they are in place, their array gets new memory. Long batches of which none is like one before
//! run this way, too: nothing would be gained by recording them.
//!
//! Whoever inspects or traces sees all operations recorded, and whoever asks for an explanation sees those of the next
//! batches.

use crate::engine::{Few, FewInput, Host, SmallCall};
use crate::heap::base::{ArrayView, Input};
use crate::heap::cell::{BaseCell, note};
use crate::siblings;
use numelt_ir::{Axes, DType, Op, OpKind, Result};
use numelt_opt::AtOnceLimits;
use smallvec::SmallVec;

/// Operations of more than `few` elements run at once before it is looked at whether chains are long, at first; and
/// at most, for those of up to `middle` and of more elements.
const STRETCH: u32 = 64;
const STRETCHES: [u32; 2] = [1 << 10, 1 << 8];

/// Short chains in a row after which operations of up to `middle` and of more elements run at once again.
const IN_A_ROW: [u32; 2] = [1, 2];

/// Long batches in a row, like none before, after which their operations run at once: recording them saves nothing.
const STRANGE: u32 = 4;

/// How many times as many operations as the last of them has run at once before the next look.
const UNSEEN: u32 = 12;

/// Bytes of the largest base that gets its memory here.
const LARGEST: usize = 16 * SmallCall::MOST;

/// Instructions in a batch, on so many elements each, from which on fusing them is better than running each at once.
fn long(elements: i64) -> usize {
    (1 + 6000 / elements.max(1) as usize).clamp(2, 12)
}

/// Whether operations of more than `few` elements run at once.
#[derive(Debug)]
pub(crate) struct Habit {
    limits: AtOnceLimits,
    /// Operations of up to `middle` elements, and larger ones.
    bands: [Band; 2],
    /// Long batches since the last one that was known.
    strange: u32,
}

/// Whether operations of more than `few` elements run at once.
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
fn band(limits: &AtOnceLimits, elements: i64) -> Option<usize> {
    if elements <= limits.few { None } else { Some(usize::from(elements > limits.middle)) }
}

impl Habit {
    /// Nothing has been read yet.
    pub fn new(limits: AtOnceLimits) -> Habit {
        let middle = Band { left: STRETCH, stretch: STRETCH, in_a_row: 0 };
        Habit { limits, bands: [middle, Band::default()], strange: 0 }
    }

    /// Notes a batch that was run because it was read.
    pub fn note_read(&mut self, instructions: usize, work: u64, most: usize) {
        if work > instructions as u64 * most as u64 {
            return;
        }
        let elements = (work / instructions.max(1) as u64) as i64;
        // what waits though it has few elements on the whole waited for the largest of its operations
        let largest = band(&self.limits, elements).or_else(|| band(&self.limits, work as i64).map(|_| 0));
        if let Some(at) = largest
            && self.bands[at].left == 0
        {
            let is_short = elements <= self.limits.few || instructions < long(elements);
            self.bands[at].note(is_short, IN_A_ROW[at], STRETCHES[at]);
        }
    }

    /// Notes a long batch of operations on few elements, and whether one like it came before.
    pub fn note_long(&mut self, instructions: usize, known: bool) {
        self.strange = match self.strange {
            _ if known => 0,
            // two that start at the same place of a loop are what three in a row show
            STRANGE => STRANGE - 2,
            strange => strange + 1,
        };
        if self.is_strange() {
            let left = (instructions as u32).saturating_mul(UNSEEN);
            self.bands.iter_mut().for_each(|band| band.left = band.left.max(left));
        }
    }

    /// Has what came last been like nothing before, so that what follows had better run at once?
    pub fn is_strange(&self) -> bool {
        self.strange == STRANGE
    }

    /// May an operation on so many elements run at once?
    #[inline]
    fn allows(&self, elements: i64) -> bool {
        band(&self.limits, elements).is_none_or(|at| self.bands[at].left > 0)
    }

    /// Notes that an operation on so many elements has run at once.
    #[inline]
    pub fn ran(&mut self, elements: i64) {
        if let Some(at) = band(&self.limits, elements) {
            self.bands[at].left = self.bands[at].left.saturating_sub(1);
        }
    }
}

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has run; so many elements.
    Done(i64),
    /// It has few elements and its operands are in memory, but the engine has no short way for it.
    Few,
    /// It is to be recorded.
    Large,
}

/// Runs an operation now if it has few elements, or not too many (`most`) and the habit is so, and its operands are in
/// memory; `epoch` is the batch being recorded, and no other is running.
///
/// # Errors
/// [`numelt_ir::Error::OutOfMemory`] for the output.
#[inline]
pub(crate) fn run(
    engine: &dyn Host,
    (habit, most): (&Habit, i64),
    epoch: u64,
    (op, ty, axes): (Op, DType, Axes),
    out: &ArrayView,
    ins: &[Input<'_>],
) -> Result<Outcome> {
    let short = matches!(op.kind(), OpKind::Elementwise | OpKind::Reduction) && ins.len() <= 3;
    let is_few = is_few(op, out, ins, most.min(habit.limits.few));
    let elements = match (op.kind(), ins) {
        (OpKind::Reduction, [Input::Array(source)]) => source.size(),
        _ => out.size(),
    };
    if !is_few && (!short || elements > most || !habit.allows(elements) || has_siblings(op, ty, ins)) {
        return Ok(Outcome::Large);
    }
    let sound = |cell: &BaseCell| !cell.has(note::FAILED);
    let mut operands: SmallVec<[FewInput<'_>; 3]> = SmallVec::new();
    for input in ins {
        operands.push(match input {
            Input::Array(array) => {
                let (cell, address) = (&array.base.0, array.base.0.here());
                if cell.is_written_in(epoch) || address.is_null() || !sound(cell) {
                    return Ok(Outcome::Large);
                }
                FewInput::View(few(array, address))
            }
            Input::Const(value) => FewInput::Const(*value),
        });
    }
    let cell = &out.base.0;
    // what a guard hinders waits in the queue
    if cell.heap.guards.any() && is_hindered(out, ins) {
        return Ok(Outcome::Large);
    }
    let known = cell.here();
    // what overwrites its operands goes to new memory if it is too much to be put together beside them
    let moves = !known.is_null()
        && (habit.limits.middle + 1..=habit.limits.moved).contains(&elements)
        && is_whole(out, elements);
    let fresh = known.is_null() || moves;
    if cell.slot_in(epoch).is_some()
        || cell.bonds.any()
        || fresh && cell.nbytes > LARGEST
        || !sound(cell)
        || cell.has(note::AWAY)
    {
        return Ok(Outcome::Large);
    }
    let otherwise = if is_few { Outcome::Few } else { Outcome::Large };
    cell.touch();
    if !short {
        return Ok(otherwise);
    }
    let address = match fresh.then(|| cell.heap.pool.alloc(cell.nbytes)) {
        None => known,
        Some(Ok(address)) => address,
        Some(Err(_)) if moves => return Ok(otherwise),
        Some(Err(error)) => return Err(error),
    };
    let call = SmallCall { op, ty, axes, out: few(out, address), fresh, ins: &operands };
    let done = engine.small(&call, cell.heap.watched());
    if fresh {
        let unused = if done { known } else { address };
        if done {
            cell.set_here(address);
        }
        if !unused.is_null() {
            // SAFETY: the address came from `pool.alloc` with this size. Nobody has got to know it, or nobody knows it any
            // more: who looks into memory that may move has a guard of the base, and there is none, or asks for the address each time.
            unsafe { cell.heap.pool.free(unused, cell.nbytes) };
        }
    }
    Ok(if done { Outcome::Done(elements) } else { otherwise })
}

/// Does a guard keep somebody from writing the output, or from reading an input?
#[cold]
fn is_hindered(out: &ArrayView, ins: &[Input<'_>]) -> bool {
    let reads = ins.iter().filter_map(|input| match input {
        Input::Array(array) => Some((&array.base.0, false)),
        Input::Const(_) => None,
    });
    out.base.0.heap.guards.hindrance_of(reads.chain([(&out.base.0, true)])).is_some()
}

/// May others like a reduction share its pass over memory?
fn has_siblings(op: Op, ty: DType, ins: &[Input<'_>]) -> bool {
    matches!(ins, [Input::Array(source)] if source.base.nbytes() >= siblings::SMALLEST && siblings::concerns(op, ty))
}

/// Has an operation at most so many elements in its result and in each operand that it goes through?
#[inline]
fn is_few(op: Op, out: &ArrayView, ins: &[Input<'_>], most: i64) -> bool {
    let few = |view: &ArrayView| view.size() <= most;
    let all =
        |ins: &[Input<'_>]| ins.iter().all(|input| if let Input::Array(array) = input { few(array) } else { true });
    match op.kind() {
        // operands of an elementwise operation are broadcast to its result
        OpKind::Elementwise | OpKind::Generator | OpKind::Roll => few(out),
        // positions lead to as many elements as the result has, of a source of any size
        OpKind::Gather => few(out),
        OpKind::Reduction | OpKind::Scan => all(ins),
        OpKind::Library => match ins {
            // what no position leads to is left alone
            [Input::Array(target), values, positions] if op.scatter_step().is_some() => {
                (few(out) || target.base.ptr_eq(&out.base)) && all(&[*values, *positions])
            }
            _ => few(out) && all(ins),
        },
    }
}

/// Is a view all of its base, in C order, and may the base move?
fn is_whole(view: &ArrayView, elements: i64) -> bool {
    let size = view.dtype.size() as i64;
    let mut inner = size;
    let dense = view.shape.iter().zip(&view.strides).rev().all(|(&n, &stride)| {
        let fits = n == 1 || stride == inner;
        inner *= n;
        fits
    });
    dense && view.offset == 0 && elements * size == view.base.nbytes() as i64 && view.base.0.may_move()
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
