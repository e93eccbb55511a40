//! Operations that run when they are called, and not when their results are read.
//!
//! In: an operation, and what is known of past ones. Out: its result in memory, or the decision that it must be
//! recorded.
//!
//! Recording an operation, finding its plan and launching a kernel costs more than computing a few hundred elements.
//! So an operation whose operands and result have at most `few` elements each, and whose operands are in memory, runs
//! at once. `few`, `middle` and `moved` are the engine's [`AtOnceLimits`]. The rule has no other condition; it does
//! not depend on what ran before. A small operation is recorded only if it reads the result of a pending one, or
//! writes what pending work reads or writes.
//!
//! Most of these operations go directly to the engine ([`Host::small`]), without an instruction. Operations that the
//! engine does not run in this way, and those that meet a floating-point condition which must be reported, run as a
//! batch of one instruction (`runtime/aside.rs`).
//!
//! Chains of operations on more than `few` elements can gain by fusion, and the more elements there are, the shorter
//! the chains that gain. With a thousand elements, the 45 operations of an option's price take half the time if they
//! are fused; but eliminating a row of a matrix and reading the result takes half the time if nothing is recorded. A
//! program's reads show which of the two it does ([`Habit`]): from time to time such elementwise operations and
//! reductions are recorded until the next read, and they continue to be recorded if many operations come before that
//! read. Operations on more than `middle` elements are recorded until reads have followed each other closely; if they
//! are in place, their array gets new memory. The operations of long batches of which none repeats an earlier one run
//! at once, too: recording them would gain nothing.
//!
//! While operations are inspected or traced, all of them are recorded; after a request for an explanation, those of
//! the next batches.

use crate::engine::{Few, FewInput, Host, SmallCall};
use crate::heap::base::{ArrayView, Input};
use crate::heap::cell::{BaseCell, note};
use crate::siblings;
use numelt_ir::{Axes, DType, Op, OpKind, Result};
use numelt_opt::AtOnceLimits;
use smallvec::SmallVec;

/// How many operations of more than `few` elements run at once before the next chain is recorded as a test: at first;
/// and at most, for operations of up to `middle` elements and of more.
const STRETCH: u32 = 64;
const STRETCHES: [u32; 2] = [1 << 10, 1 << 8];

/// After this many short chains in a row, operations run at once again: those of up to `middle` elements, and larger
/// ones.
const IN_A_ROW: [u32; 2] = [1, 2];

/// After this many long batches in a row of which none repeats an earlier one, their operations run at once, because
/// recording them gains nothing.
const STRANGE: u32 = 4;

/// The number of operations before the next test grows by this factor with each test.
const UNSEEN: u32 = 12;

/// Bases of at most this many bytes get their memory here.
const LARGEST: usize = 16 * SmallCall::MOST;

/// A batch of more instructions than this, on `elements` elements each, is better fused than run operation by
/// operation.
fn long(elements: i64) -> usize {
    (1 + 6000 / elements.max(1) as usize).clamp(2, 12)
}

/// Whether operations of more than `few` elements run at once.
#[derive(Debug)]
pub(crate) struct Habit {
    limits: AtOnceLimits,
    /// Operations of up to `middle` elements, and larger ones.
    bands: [Band; 2],
    /// How many long batches have come since the last one that repeated an earlier one.
    strange: u32,
}

/// Whether operations of more than `few` elements run at once.
#[derive(Debug)]
struct Band {
    /// How many operations still run at once before the next test, and how many there were in all before it.
    left: u32,
    stretch: u32,
    /// How many short chains have come since the last long one.
    in_a_row: u32,
}

impl Default for Band {
    fn default() -> Band {
        Band { left: 0, stretch: STRETCH / 4, in_a_row: 0 }
    }
}

impl Band {
    /// Notes the length of a chain that was recorded as a whole.
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

/// The index of the band for operations on this many elements; `None` for those that always run at once.
#[inline]
fn band(limits: &AtOnceLimits, elements: i64) -> Option<usize> {
    if elements <= limits.few { None } else { Some(usize::from(elements > limits.middle)) }
}

impl Habit {
    /// The state before anything has been read.
    pub fn new(limits: AtOnceLimits) -> Habit {
        let middle = Band { left: STRETCH, stretch: STRETCH, in_a_row: 0 };
        Habit { limits, bands: [middle, Band::default()], strange: 0 }
    }

    /// Notes a batch that ran because it was read.
    pub fn note_read(&mut self, instructions: usize, work: u64, most: usize) {
        if work > instructions as u64 * most as u64 {
            return;
        }
        let elements = (work / instructions.max(1) as u64) as i64;
        // a batch of little work that was recorded nevertheless was recorded because of its largest operation
        let largest = band(&self.limits, elements).or_else(|| band(&self.limits, work as i64).map(|_| 0));
        if let Some(at) = largest
            && self.bands[at].left == 0
        {
            let is_short = elements <= self.limits.few || instructions < long(elements);
            self.bands[at].note(is_short, IN_A_ROW[at], STRETCHES[at]);
        }
    }

    /// Notes a long batch of operations on few elements; `known` says whether it repeats an earlier one.
    pub fn note_long(&mut self, instructions: usize, known: bool) {
        self.strange = match self.strange {
            _ if known => 0,
            // two batches that start at the same point of a loop would be seen among three in a row
            STRANGE => STRANGE - 2,
            strange => strange + 1,
        };
        if self.is_strange() {
            let left = (instructions as u32).saturating_mul(UNSEEN);
            self.bands.iter_mut().for_each(|band| band.left = band.left.max(left));
        }
    }

    /// Whether the last long batches repeated nothing, so that the operations that follow had better run at once.
    pub fn is_strange(&self) -> bool {
        self.strange == STRANGE
    }

    /// Whether an operation on this many elements may run at once.
    #[inline]
    fn allows(&self, elements: i64) -> bool {
        band(&self.limits, elements).is_none_or(|at| self.bands[at].left > 0)
    }

    /// Notes that an operation on this many elements has run at once.
    #[inline]
    pub fn ran(&mut self, elements: i64) {
        if let Some(at) = band(&self.limits, elements) {
            self.bands[at].left = self.bands[at].left.saturating_sub(1);
        }
    }
}

/// The outcome for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has run, on this many elements.
    Done(i64),
    /// It has few elements and its operands are in memory, but the engine does not run it without an instruction.
    Few,
    /// It must be recorded.
    Large,
}

/// Runs an operation now if its operands are in memory and it has few elements; or at most `most` elements, if such
/// operations run at once at present. `epoch` is the number of the batch being recorded; no other batch is running.
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
    // an operation that a guard blocks is recorded and waits
    if cell.heap.guards.any() && is_hindered(out, ins) {
        return Ok(Outcome::Large);
    }
    let known = cell.here();
    // an operation in place gets new memory if its result is too large to be computed beside the operands first
    let moves = !known.is_null() && (habit.limits.middle + 1..=habit.limits.moved).contains(&elements) && is_whole(out);
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
            // SAFETY: the address came from `pool.alloc` with this size. Nobody knows it: memory is moved only while
            // there is no guard of the base, and code without a guard reads the address each time.
            unsafe { cell.heap.pool.free(unused, cell.nbytes) };
        }
    }
    Ok(if done { Outcome::Done(elements) } else { otherwise })
}

/// Whether a guard forbids writing the output or reading an input.
#[cold]
fn is_hindered(out: &ArrayView, ins: &[Input<'_>]) -> bool {
    let reads = ins.iter().filter_map(|input| match input {
        Input::Array(array) => Some((&array.base.0, false)),
        Input::Const(_) => None,
    });
    out.base.0.heap.guards.hindrance_of(reads.chain([(&out.base.0, true)])).is_some()
}

/// Whether other reductions can share the pass over memory of this one.
fn has_siblings(op: Op, ty: DType, ins: &[Input<'_>]) -> bool {
    matches!(ins, [Input::Array(source)] if source.base.nbytes() >= siblings::SMALLEST && siblings::concerns(op, ty))
}

/// Whether the result of an operation, and the elements that it uses of each operand, number at most `most`.
#[inline]
fn is_few(op: Op, out: &ArrayView, ins: &[Input<'_>], most: i64) -> bool {
    let few = |view: &ArrayView| view.size() <= most;
    let all =
        |ins: &[Input<'_>]| ins.iter().all(|input| if let Input::Array(array) = input { few(array) } else { true });
    match op.kind() {
        // operands of elementwise operations are broadcast to the result
        OpKind::Elementwise | OpKind::Generator | OpKind::Roll => few(out),
        // as many elements are read as the result has, from a source of any size
        OpKind::Gather => few(out),
        OpKind::Reduction | OpKind::Scan => all(ins),
        OpKind::Library => match ins {
            // elements of the target to which no position leads are not touched
            [Input::Array(target), values, positions] if op.scatter_step().is_some() => {
                (few(out) || target.base.ptr_eq(&out.base)) && all(&[*values, *positions])
            }
            _ => few(out) && all(ins),
        },
    }
}

/// Whether a view is all of its base, in C order, and the base may be moved to other memory.
fn is_whole(view: &ArrayView) -> bool {
    let mut inner = view.dtype.size() as i64;
    let dense = view.shape.iter().zip(&view.strides).rev().all(|(&n, &stride)| {
        let fits = n == 1 || stride == inner;
        inner *= n;
        fits
    });
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
