//! Operations on few elements run when they are called, not when they are read.
//!
//! Recording an operation, finding its plan and launching a kernel costs more than computing a few hundred elements. So an
//! operation whose operands and result have at most [`Config::at_once`](crate::Config) elements each, and whose operands
//! are in memory, runs at once. The rule asks for nothing else: what ran before does not matter. Larger operations are
//! recorded, as is a small operation that reads the result of one that is pending, or that writes what pending work
//! reads or writes.
//!
//! Most operations go straight to the engine ([`Engine::small`]), without an instruction. What the engine does not do that
//! way, or what meets a floating-point condition that is to be reported, is recorded and then run by itself
//! ([`Reason::Few`](crate::Reason::Few)), if nothing else is pending.
//!
//! Whoever inspects or traces sees all operations recorded, and whoever asks for an explanation sees those of the next
//! batches.

use crate::base::{ArrayView, BaseCell, Input, POOL};
use crate::batch::WATCH;
use crate::engine::{Engine, Few, FewInput, SmallCall};
use numelt_ir::{Axes, DType, Op, OpKind, Result};
use smallvec::SmallVec;
use std::sync::atomic::Ordering;

/// Bytes of the largest base that gets its memory here, for each element that an operation may have.
const LARGEST: i64 = 16;

/// What became of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has run.
    Done,
    /// It has few elements and its operands are in memory, but the engine has no short way for it.
    Few,
    /// It is to be recorded.
    Large,
}

/// Runs an operation now if it has few elements, at most `most` in each operand that it goes through and in its result, and
/// its operands are in memory; `epoch` is the batch being recorded, and no other is running.
///
/// # Errors
/// [`numelt_ir::Error::OutOfMemory`] for the output.
#[inline]
pub(crate) fn run(
    engine: &dyn Engine,
    most: i64,
    epoch: u64,
    (op, ty, axes): (Op, DType, Axes),
    out: &ArrayView,
    ins: &[Input<'_>],
) -> Result<Outcome> {
    if !is_few(op, out, ins, most) {
        return Ok(Outcome::Large);
    }
    let sound = |cell: &BaseCell| !cell.failed.load(Ordering::Relaxed);
    let mut operands: SmallVec<[FewInput<'_>; 3]> = SmallVec::new();
    for input in ins {
        operands.push(match input {
            Input::Array(array) => {
                let (cell, address) = (&array.base.0, array.base.0.address());
                if cell.is_written_in(epoch) || address.is_null() || !sound(cell) {
                    return Ok(Outcome::Large);
                }
                FewInput::View(few(array, address))
            }
            Input::Const(value) => FewInput::Const(*value),
        });
    }
    let cell = &out.base.0;
    if cell.slot_in(epoch).is_some() || cell.bonds.any() || !sound(cell) {
        return Ok(Outcome::Large);
    }
    let known = cell.address();
    let fresh = known.is_null();
    if fresh && cell.nbytes as i64 > LARGEST * most {
        return Ok(Outcome::Large);
    }
    out.base.touch();
    if !matches!(op.kind(), OpKind::Elementwise | OpKind::Reduction) || ins.len() > 3 {
        return Ok(Outcome::Few);
    }
    let address = if fresh { POOL.alloc(cell.nbytes)? } else { known };
    let call = SmallCall { op, ty, axes, out: few(out, address), fresh, ins: &operands };
    let done = engine.small(&call, WATCH.load(Ordering::Relaxed));
    if done && fresh {
        cell.set_address(address);
    } else if fresh {
        // SAFETY: the address came from `POOL.alloc` with this size, and nobody has got to know it.
        unsafe { POOL.free(address, cell.nbytes) };
    }
    Ok(if done { Outcome::Done } else { Outcome::Few })
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

#[inline]
fn few(array: &ArrayView, address: *mut u8) -> Few<'_> {
    Few {
        pointer: address.wrapping_offset(array.offset as isize),
        dtype: array.dtype,
        shape: &array.shape,
        strides: &array.strides,
    }
}
