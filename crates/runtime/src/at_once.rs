//! Operations that run when they are called, and not when their results are read.
//!
//! [`run`] computes the result of an operation in memory, or decides that the operation must be recorded.
//!
//! Recording an operation, finding its plan and launching a kernel costs more than computing a few hundred elements.
//! So an operation whose operands and result have at most `few` elements each, and whose operands are in memory, runs
//! at once. `few` and `middle` are the engine's [`AtOnceLimits`]. The rule has no other condition; it does not depend
//! on what ran before. A small operation is recorded only if it reads the result of a pending one, or writes what
//! pending work reads or writes.
//!
//! Most of these operations go directly to the engine ([`Host::small`]), without an instruction. Operations that the
//! engine does not run in this way, and those that meet a floating-point condition which must be reported, run as a
//! batch of one instruction (`runtime/aside.rs`).
//!
//! Reductions of operands in memory run at once up to `middle` elements: their results are usually read next.
//!
//! Chains of elementwise operations on more than `few` elements can gain by fusion, and the more elements there are,
//! the shorter the chains that gain. With a thousand elements, the 45 operations of an option's price take half the
//! time if they are fused; but eliminating a row of a matrix and reading the result takes half the time if nothing is
//! recorded. Nothing in an operation tells which of the two follows, so the runtime tries it ([`Chains`]): from time
//! to time elementwise operations on up to `middle` elements are recorded until the next read, but not more than
//! [`TESTED`], and they continue to be recorded if the plan for them has many operations to a kernel. Gathers and
//! scatters between them, for example, divide a chain into many kernels. Operations on more elements are always
//! recorded.
//!
//! While operations are inspected or traced, all of them are recorded; after a request for an explanation, those of
//! the next batches.

use crate::engine::{SmallCall, SmallInput, SmallView};
use crate::heap::base::{ArrayView, Input};
use crate::heap::cell::note;
use crate::host::Host;
use crate::sequels;
use numelt_ir::{Axes, DType, Op, OpKind, Result};
use numelt_opt::AtOnceLimits;
use smallvec::SmallVec;

/// How many operations of more than `few` elements run at once before the next chain is recorded as a test: at first,
/// and at most.
const STRETCH: u32 = 64;
const LONGEST_STRETCH: u32 = 1 << 10;

/// The number of operations before the next test grows by this factor with each test.
const GROWTH: u32 = 4;

/// A test ends after so many instructions, although nothing has been read.
const TESTED: usize = 32;

/// Bases of at most this many bytes get their memory here.
const LARGEST: usize = 16 * SmallCall::MOST;

/// So many small operations in succession may wait for pending work before that work runs. Setting the edges of a large
/// array between two operations on all of it takes fewer, and those two can still be planned together.
pub(crate) const WAITING: u32 = 16;

/// A kernel of more instructions than this, on `elements` elements each, takes less time than running them one by one.
fn long(elements: i64) -> usize {
    (1 + 6000 / elements.max(1) as usize).clamp(2, 12)
}

/// Whether elementwise operations on more than `few` elements run at once.
#[derive(Debug)]
pub(crate) struct Chains {
    limits: AtOnceLimits,
    /// How many operations still run at once before the next test, and how many there were in all before it.
    left: u32,
    stretch: u32,
    /// Whether the last test has shown that recording takes less time.
    gains: bool,
}

impl Chains {
    /// The state before anything has been read.
    pub fn new(limits: AtOnceLimits) -> Chains {
        Chains { limits, left: STRETCH, stretch: STRETCH, gains: false }
    }

    /// Whether a batch of this many instructions and this work could have run at once. A batch of little work that was
    /// recorded nevertheless was recorded because of its largest operation.
    fn concerns(&self, instructions: usize, work: u64) -> bool {
        work as i64 > self.limits.few && elements(instructions, work) <= self.limits.middle
    }

    /// Whether the batch, which is a test, is long enough to be judged.
    #[inline]
    pub fn has_tested(&self, instructions: usize, work: u64) -> bool {
        instructions >= TESTED && self.left == 0 && !self.gains && self.concerns(instructions, work)
    }

    /// Notes a batch that has run. `kernels` is the number of kernels in its plan; `None` if there is no plan yet,
    /// because such a batch has not been seen often enough.
    pub fn note(&mut self, instructions: usize, kernels: Option<usize>, work: u64) {
        if self.left > 0 || !self.concerns(instructions, work) {
            return;
        }
        let elements = elements(instructions, work);
        if elements > self.limits.few && instructions >= kernels.unwrap_or(1) * long(elements) {
            (self.left, self.stretch) = (0, STRETCH / GROWTH);
            self.gains = kernels.is_some();
        } else {
            self.stretch = (self.stretch * GROWTH).min(LONGEST_STRETCH);
            (self.left, self.gains) = (self.stretch, false);
        }
    }

    /// Whether an elementwise operation on this many elements may run at once.
    #[inline]
    fn allows(&self, elements: i64) -> bool {
        elements <= self.limits.few || elements <= self.limits.middle && self.left > 0
    }

    /// Notes that an operation on this many elements has run at once.
    #[inline]
    pub fn ran(&mut self, elements: i64) {
        if elements > self.limits.few {
            self.left = self.left.saturating_sub(1);
        }
    }
}

/// The mean number of elements of a batch's instructions.
fn elements(instructions: usize, work: u64) -> i64 {
    (work / instructions.max(1) as u64) as i64
}

/// What has become of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has run, on this many elements.
    Done(i64),
    /// It is small and its operands are in memory, but the engine only runs it as an instruction.
    NeedsInstruction,
    /// It is small and must be recorded, because it has to wait for pending work.
    Waits,
    /// It must be recorded.
    Record,
}

/// Runs an operation now if its operands are in memory and it has few elements; or at most `most` elements, if it is a
/// reduction, or if elementwise operations run at once at present. `epoch` is the number of the batch being recorded;
/// no other batch is running.
///
/// # Errors
/// [`numelt_ir::Error::OutOfMemory`] for the output.
#[inline]
pub(crate) fn run(
    engine: &dyn Host,
    (chains, most): (&Chains, i64),
    epoch: u64,
    (op, ty, axes): (Op, DType, Axes),
    out: &ArrayView,
    ins: &[Input<'_>],
) -> Result<Outcome> {
    let short = matches!(op.kind(), OpKind::Elementwise | OpKind::Reduction) && ins.len() <= 3;
    let is_few = is_few(op, out, ins, most.min(chains.limits.few));
    let elements = match (op.kind(), ins) {
        (OpKind::Reduction, [Input::Array(source)]) => source.size(),
        _ => out.size(),
    };
    let allowed = match op.kind() {
        OpKind::Reduction => elements <= chains.limits.middle,
        _ => chains.allows(elements),
    };
    if !is_few && (!short || elements > most || !allowed || has_siblings(op, ty, ins)) {
        return Ok(Outcome::Record);
    }
    let waits = if is_few { Outcome::Waits } else { Outcome::Record };
    let Some(operands) = operands_in_memory(epoch, ins) else { return Ok(waits) };
    let cell = &out.base.0;
    // an operation that a guard blocks is recorded and waits
    if cell.heap.guards.any() && is_blocked(out, ins) {
        return Ok(Outcome::Record);
    }
    let known = cell.host_address();
    let fresh = known.is_null();
    if cell.has(note::AWAY | note::REMOTE) {
        return Ok(Outcome::Record);
    }
    if cell.slot_in(epoch).is_some() || cell.bonds.any() || fresh && cell.nbytes > LARGEST {
        return Ok(waits);
    }
    let otherwise = if is_few { Outcome::NeedsInstruction } else { Outcome::Record };
    cell.touch();
    if !short {
        return Ok(otherwise);
    }
    let address = match fresh.then(|| cell.heap.pool.alloc(cell.nbytes)) {
        None => known,
        Some(Ok(address)) => address,
        Some(Err(error)) => return Err(error),
    };
    let call = SmallCall { op, ty, axes, out: small_view(out, address), fresh, ins: &operands };
    let done = engine.small(&call, cell.heap.watched());
    if fresh && done {
        cell.set_host_address(address);
    } else if fresh {
        // SAFETY: the address came from `pool.alloc` with this size, and nobody knows it.
        unsafe { cell.heap.pool.free(address, cell.nbytes) };
    }
    Ok(if done { Outcome::Done(elements) } else { otherwise })
}

/// The inputs of an operation, if all of them are in memory and the batch being recorded does not write them.
#[inline]
fn operands_in_memory<'a>(epoch: u64, ins: &'a [Input<'_>]) -> Option<SmallVec<[SmallInput<'a>; 3]>> {
    let mut operands = SmallVec::new();
    for input in ins {
        operands.push(match input {
            Input::Array(array) => {
                let (cell, address) = (&array.base.0, array.base.0.host_address());
                if cell.is_written_in(epoch) || address.is_null() || cell.has(note::REMOTE) {
                    return None;
                }
                SmallInput::View(small_view(array, address))
            }
            Input::Const(value) => SmallInput::Const(*value),
        });
    }
    Some(operands)
}

/// Whether a guard forbids writing the output or reading an input.
#[cold]
fn is_blocked(out: &ArrayView, ins: &[Input<'_>]) -> bool {
    let reads = ins.iter().filter_map(|input| match input {
        Input::Array(array) => Some((&array.base.0, false)),
        Input::Const(_) => None,
    });
    out.base.0.heap.guards.blocking_any(reads.chain([(&out.base.0, true)])).is_some()
}

/// Whether other reductions can share the pass over memory of this one.
fn has_siblings(op: Op, ty: DType, ins: &[Input<'_>]) -> bool {
    matches!(ins, [Input::Array(source)] if source.base.nbytes() >= sequels::SMALLEST && sequels::concerns(op, ty))
}

/// Whether an operation has at most `most` results and uses at most `most` elements of each operand.
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

#[inline]
fn small_view(array: &ArrayView, address: *mut u8) -> SmallView<'_> {
    SmallView {
        pointer: address.wrapping_offset(array.offset as isize),
        dtype: array.dtype,
        shape: &array.shape,
        strides: &array.strides,
    }
}
