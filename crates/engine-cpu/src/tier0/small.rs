//! One elementwise operation on a few elements, without a kernel.
//!
//! In: a [`SmallCall`] and the conditions that somebody wants reported. Out: the output's elements, or nothing at
//! all: where the operation is none for this way, or meets such a condition, the caller records it instead. The
//! loops are those of the interpreter, so the values are too. Not here: which memory is ready to be used.

use crate::isa::Isa;
use crate::tier0::pack::{Rect, pack, splat, unpack};
use crate::tier0::report::{self, Report};
use crate::tier0::select::{Func, select, select_cast};
use numelt_ir::{DType, Op, warn};
use numelt_runtime::{Few, FewInput, SmallCall};
use numelt_vecmath::flags;
use std::mem::MaybeUninit;

/// Room for one operand: the largest elements, as many as a call may have.
#[repr(align(64))]
struct Room(MaybeUninit<[u8; 16 * SmallCall::MOST]>);

impl Room {
    const fn new() -> Room {
        Room(MaybeUninit::uninit())
    }

    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Runs the call; false when it did not, and the output is as it was (a fresh one: anything).
///
/// # Safety
/// The call's views are valid for their elements, inputs for reads and the output for writes.
pub unsafe fn run(call: &SmallCall<'_>, watch: u8, isa: Isa) -> bool {
    let (op, ty) = (call.op, call.ty);
    let n: i64 = call.out.shape.iter().product();
    if call.ins.len() > 3 || op.computes_in(ty) != ty || !(1..=SmallCall::MOST as i64).contains(&n) {
        return false;
    }
    let n = n as usize;
    let mut rooms = [const { Room::new() }; 3];
    let mut ins = [std::ptr::null::<u8>(); 3];
    for (position, ((input, room), slot)) in call.ins.iter().zip(&mut rooms).zip(&mut ins).enumerate() {
        // SAFETY: the caller's contract; a room holds the largest call.
        match unsafe { bring(input, op.input_dtype(ty, position), call.out.shape, watch, n, room.start(), isa) } {
            Some(address) => *slot = address,
            None => return false,
        }
    }
    let made = op.output_dtype(ty);
    let (mut result, mut cast) = (Room::new(), Room::new());
    let dense = is_dense(&call.out, call.out.shape);
    if !dense && outer(&call.out, call.out.shape).is_none() {
        return false;
    }
    let mut value = if call.fresh && dense && made == call.out.dtype { call.out.pointer } else { result.start() };
    // SAFETY: the operands hold `n` elements each, `value` has room for as many and is none of them: a fresh output
    // has no elements that anything reads.
    let Some(met) = (unsafe { compute(op, ty, &ins, &mut value, n, isa) }) else { return false };
    if met & watch != 0 {
        return false;
    }
    if made != call.out.dtype {
        // SAFETY: `value` holds `n` elements of `made`, the room as many of any dtype.
        match unsafe { convert(value, (made, call.out.dtype), watch, n, cast.start(), isa) } {
            Some(address) => value = address.cast_mut(),
            None => return false,
        }
    }
    if dense {
        // SAFETY: the output is valid for writes, the value holds as many elements; they may overlap.
        unsafe { std::ptr::copy(value.cast_const(), call.out.pointer, n * call.out.dtype.size()) };
        return true;
    }
    // an operand that is copied as it is may lie where the output does
    if value == ins[0].cast_mut() {
        // SAFETY: the operand holds `n` elements, the room as many of any dtype.
        unsafe { std::ptr::copy(ins[0], result.start(), n * made.size()) };
        value = result.start();
    }
    // SAFETY: the output is valid for writes, and a room overlaps it nowhere.
    unsafe { spread(&call.out, value) };
    true
}

/// Computes into `value`, or lets `value` be the operand where that is the result; the conditions met.
///
/// # Safety
/// The operands hold `n` elements; `value` has room for `n` results and overlaps no operand.
#[inline(always)]
unsafe fn compute(op: Op, ty: DType, ins: &[*const u8; 3], value: &mut *mut u8, n: usize, isa: Isa) -> Option<u8> {
    if matches!(op, Op::Copy | Op::Positive) || op == Op::Conjugate && !ty.is_complex() {
        *value = ins[0].cast_mut();
        return Some(0);
    }
    let func = select(op, ty, isa).ok()?;
    // SAFETY: the caller's contract.
    unsafe {
        Some(match report::of(op, ty) {
            Report::Quiet => {
                func.call(*ins, *value, n);
                0
            }
            Report::Hardware if op.raises(ty) == 0 => {
                func.call(*ins, *value, n);
                0
            }
            Report::Hardware => {
                flags::clear();
                func.call(*ins, *value, n);
                flags::get() & op.raises(ty)
            }
            Report::Checked(check) => {
                func.call(*ins, *value, n);
                check(ins.as_ptr(), *value, n)
            }
        })
    }
}

/// An operand as `n` elements of `want`, one after the other: where they are, or in the room.
///
/// # Safety
/// The input is valid for reads and broadcasts to `shape`, which has `n` elements; the room holds `n` of the largest.
#[inline(always)]
unsafe fn bring(
    input: &FewInput<'_>,
    want: DType,
    shape: &[i64],
    watch: u8,
    n: usize,
    room: *mut u8,
    isa: Isa,
) -> Option<*const u8> {
    let view = match input {
        FewInput::Const(value) => {
            if value.dtype() != want {
                return None;
            }
            // SAFETY: the bytes are those of one element, and the room has its own memory.
            unsafe { splat(value.to_bytes().as_ptr(), want.size(), n, room) };
            return Some(room);
        }
        FewInput::View(view) => view,
    };
    if view.dtype == want && is_dense(view, shape) {
        return Some(view.pointer);
    }
    let mut spare = Room::new();
    let packed = if view.dtype == want { room } else { spare.start() };
    // SAFETY: the caller's contract.
    unsafe {
        gather(view, shape, packed)?;
        if view.dtype == want { Some(packed) } else { convert(packed, (view.dtype, want), watch, n, room, isa) }
    }
}

/// `n` elements in another dtype, in the room; `None` where that meets a condition of `watch`.
///
/// # Safety
/// `from` holds `n` elements, `room` has room for `n` of the largest.
unsafe fn convert(
    at: *const u8,
    (from, to): (DType, DType),
    watch: u8,
    n: usize,
    room: *mut u8,
    isa: Isa,
) -> Option<*const u8> {
    let func: Func = select_cast(from, to, isa).ok()?;
    // SAFETY: the caller's contract; the two do not overlap.
    let met = unsafe {
        match report::of_cast(from, to).0 {
            Report::Checked(check) => {
                func.call([at; 3], room, n);
                check([at; 3].as_ptr(), room, n)
            }
            Report::Quiet | Report::Hardware if warn::cast_raises(from, to) == 0 => {
                func.call([at; 3], room, n);
                0
            }
            Report::Quiet | Report::Hardware => {
                flags::clear();
                func.call([at; 3], room, n);
                flags::get() & warn::cast_raises(from, to)
            }
        }
    };
    (met & watch == 0).then_some(room.cast_const())
}

/// Do the elements lie one after the other, in C order over `shape`?
#[inline(always)]
fn is_dense(view: &Few<'_>, shape: &[i64]) -> bool {
    if view.shape.len() != shape.len() {
        return false;
    }
    let mut expected = view.dtype.size() as i64;
    for ((&n, &own), &stride) in shape.iter().zip(view.shape).zip(view.strides).rev() {
        if own != n || n != 1 && stride != expected {
            return false;
        }
        expected *= n;
    }
    true
}

/// Extents and byte strides of the two innermost loops and those outside, the view broadcast to `shape`.
fn outer(view: &Few<'_>, shape: &[i64]) -> Option<([i64; 4], [i64; 4])> {
    let (rank, own) = (shape.len(), view.shape.len());
    if rank > 4 || own > rank {
        return None;
    }
    let (mut extents, mut strides) = ([1i64; 4], [0i64; 4]);
    extents[4 - rank..].copy_from_slice(shape);
    for axis in 0..own {
        let (n, whole) = (view.shape[axis], shape[rank - own + axis]);
        if n != whole && n != 1 {
            return None;
        }
        strides[4 - own + axis] = if n == 1 { 0 } else { view.strides[axis] };
    }
    Some((extents, strides))
}

/// Copies the elements of a broadcast view to dense memory.
///
/// # Safety
/// The view is valid for reads, `to` for as many elements as `shape` has.
unsafe fn gather(view: &Few<'_>, shape: &[i64], to: *mut u8) -> Option<()> {
    let (extents, strides) = outer(view, shape)?;
    let size = view.dtype.size();
    let block = (extents[2] * extents[3]) as usize * size;
    for i in 0..extents[0] {
        for j in 0..extents[1] {
            let rect = rect(view.pointer, (i, j), &extents, &strides);
            // SAFETY: inside the view; `to` has room for all blocks.
            unsafe { pack(rect, size, to.add((i * extents[1] + j) as usize * block)) };
        }
    }
    Some(())
}

/// Copies dense elements to a view of at most four axes.
///
/// # Safety
/// The view is valid for writes, `from` holds its elements, and they do not overlap.
unsafe fn spread(view: &Few<'_>, from: *const u8) {
    let Some((extents, strides)) = outer(view, view.shape) else { unreachable!("its rank was looked at before") };
    let size = view.dtype.size();
    let block = (extents[2] * extents[3]) as usize * size;
    for i in 0..extents[0] {
        for j in 0..extents[1] {
            let rect = rect(view.pointer, (i, j), &extents, &strides);
            // SAFETY: inside the view; `from` holds all blocks.
            unsafe { unpack(rect, size, from.add((i * extents[1] + j) as usize * block)) };
        }
    }
}

fn rect(base: *mut u8, at: (i64, i64), extents: &[i64; 4], strides: &[i64; 4]) -> Rect {
    Rect {
        base: base.wrapping_offset((at.0 * strides[0] + at.1 * strides[1]) as isize),
        inner_stride: strides[3] as isize,
        outer_stride: strides[2] as isize,
        inner: extents[3] as usize,
        rows: extents[2] as usize,
    }
}
