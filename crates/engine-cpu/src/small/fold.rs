//! A reduction of few elements, without a kernel.
//!
//! In: a [`SmallCall`] of a reduction. Out: the output's elements, or the answer that nothing was done. Only operands
//! are supported whose reduced axes are adjacent and which, if the order matters, NumPy traverses in C order: then
//! NumPy's order is that of the folds. Outputs are new memory, in which the folds accumulate.

use super::{FEW, Room, WHOLE};
use crate::fold::{self, Fold, Order};
use crate::isa::Isa;
use crate::tier0::{Rect, pack, select_cast, splat};
use numelt_ir::{DType, Dims, Op, Result, warn};
use numelt_runtime::{SmallCall, SmallInput, SmallView};
use numelt_vecmath::flags;

/// The bytes for the values beside positions.
const VALUES: usize = 2048;

/// The extents of the operand's loops: kept, reduced, kept.
struct FoldExtents {
    groups: usize,
    steps: usize,
    width: usize,
}

impl FoldExtents {
    /// `None` if reduced axes are not adjacent, or nothing is reduced.
    fn new(call: &SmallCall<'_>, source: &SmallView<'_>) -> Option<FoldExtents> {
        let (mut groups, mut steps, mut width, mut reduced) = (1, 1, 1, false);
        for (axis, &n) in source.shape.iter().enumerate() {
            match (call.axes.contains(axis), n) {
                (_, 1) => {}
                (true, _) if width > 1 => return None,
                (true, n) => (steps, reduced) = (steps * n, true),
                (false, n) if reduced => width *= n,
                (false, n) => groups *= n,
            }
        }
        (reduced || groups == 1).then_some(FoldExtents {
            groups: groups as usize,
            steps: steps as usize,
            width: width as usize,
        })
    }
}

/// Runs the call; false when it did not.
///
/// # Safety
/// As for [`run`](super::run).
pub(super) unsafe fn run(call: &SmallCall<'_>, watch: u8, isa: Isa) -> bool {
    let (op, ty) = (call.op, call.ty);
    let [SmallInput::View(source)] = call.ins else { return false };
    let n: i64 = source.shape.iter().product();
    let sized = (1..=SmallCall::MOST as i64).contains(&n);
    if !call.fresh || !sized || ty == DType::F16 || step_of(&call.out) != Some(call.out.dtype.size() as i64) {
        return false;
    }
    let Some(extents) = FoldExtents::new(call, source) else { return false };
    if step_of(source) != Some(source.dtype.size() as i64) {
        // SAFETY: the caller's contract.
        return unsafe { packed(call, source, &extents, n as usize, watch, isa) };
    }
    // SAFETY: the caller's contract; the operand is dense.
    unsafe {
        if source.dtype == ty {
            return finish(call, fold::select(op, ty, isa), source.pointer, &extents, watch);
        }
        if op == Op::Sum && source.dtype == DType::Bool && ty == DType::I64 {
            return finish(call, Ok(fold::count(isa)), source.pointer, &extents, watch);
        }
        converted(call, source, &extents, n as usize, watch, isa)
    }
}

/// Folds elements that are not contiguous, such as rows of a larger matrix, a column, or every other element. They are
/// packed first, which keeps NumPy's order of additions if NumPy traverses them in C order, one run after the other.
///
/// # Safety
/// As for [`run`](super::run); the source has `n` elements.
#[inline(never)]
unsafe fn packed(
    call: &SmallCall<'_>,
    source: &SmallView<'_>,
    extents: &FoldExtents,
    n: usize,
    watch: u8,
    isa: Isa,
) -> bool {
    let (op, ty) = (call.op, call.ty);
    let counts = op == Op::Sum && source.dtype == DType::Bool && ty == DType::I64;
    if n > FEW || source.dtype != ty && !counts || !keeps_order(call, source, extents) {
        return false;
    }
    let mut room = Room::<WHOLE>::new();
    let fold = if counts { Ok(fold::count(isa)) } else { fold::select(op, ty, isa) };
    // SAFETY: the caller's contract; the room holds every operand.
    unsafe {
        pack_all(source, room.start());
        finish(call, fold, room.start(), extents, watch)
    }
}

/// Whether a fold of the packed elements, in C order, gives NumPy's bits.
fn keeps_order(call: &SmallCall<'_>, source: &SmallView<'_>, extents: &FoldExtents) -> bool {
    let (op, ty) = (call.op, call.ty);
    // the order does not matter, or is that of the positions
    if !ty.is_float() && !ty.is_complex() || matches!(op, Op::Any | Op::All | Op::Argmin | Op::Argmax) {
        return true;
    }
    let loops = || source.shape.iter().zip(source.strides).enumerate().filter(|(_, (n, _))| **n != 1);
    // NumPy traverses the axis with the smallest stride first, and an axis with a negative stride from its end
    let falls =
        loops().try_fold(i64::MAX, |outer, (_, (_, &stride))| (0 < stride && stride <= outer).then_some(stride));
    if falls.is_none() {
        return false;
    }
    if extents.width > 1 {
        return true;
    }
    // the reduced axes form one run with a constant stride; of equal extremes, NumPy finds another one if elements have
    // gaps
    let mut reduced = loops().filter(|(axis, _)| call.axes.contains(*axis)).map(|(_, (&n, &stride))| (n, stride));
    let Some(first) = reduced.next() else { return false };
    let run = reduced.try_fold(first.1, |outer, (n, stride)| (outer == n * stride).then_some(stride));
    run.is_some_and(|step| matches!(op, Op::Sum | Op::Prod) || step == ty.size() as i64)
}

/// Copies the elements of a view to `to`, in C order.
///
/// # Safety
/// The view is valid for reads, and `to` has room for its elements.
unsafe fn pack_all(view: &SmallView<'_>, to: *mut u8) {
    let size = view.dtype.size();
    let rank = view.shape.len();
    let axis = |from_inside: usize| match rank.checked_sub(from_inside + 1) {
        Some(at) => (view.shape[at] as usize, view.strides[at] as isize),
        None => (1, 0),
    };
    let ((inner, inner_stride), (rows, outer_stride)) = (axis(0), axis(1));
    let outer = &view.shape[..rank.saturating_sub(2)];
    let mut index: Dims = Dims::from_elem(0, outer.len());
    let (mut base, mut to) = (view.pointer, to);
    loop {
        let rect = Rect { base, inner_stride, outer_stride, inner, rows };
        // SAFETY: the rectangle is part of the view, and there is room for all of them.
        unsafe {
            pack(rect, size, to);
            to = to.add(inner * rows * size);
        }
        let mut at = outer.len();
        loop {
            let Some(axis) = at.checked_sub(1) else { return };
            index[axis] += 1;
            if index[axis] < outer[axis] {
                base = base.wrapping_offset(view.strides[axis] as isize);
                break;
            }
            base = base.wrapping_offset((view.strides[axis] * (1 - outer[axis])) as isize);
            index[axis] = 0;
            at = axis;
        }
    }
}

/// Folds elements that are first converted.
///
/// # Safety
/// As for [`run`](super::run); the source is dense and has `n` elements.
#[inline(never)]
unsafe fn converted(
    call: &SmallCall<'_>,
    source: &SmallView<'_>,
    extents: &FoldExtents,
    n: usize,
    watch: u8,
    isa: Isa,
) -> bool {
    let (op, ty) = (call.op, call.ty);
    let (Ok(fold), Ok(cast)) = (fold::select(op, ty, isa), select_cast(source.dtype, ty, isa)) else { return false };
    // NumPy converts them in a buffer, which cuts the runs of float sums; with so few elements, all of them are one run
    let whole = extents.groups == 1 && extents.width == 1;
    if n > FEW || fold.order != Order::Free && !whole || warn::cast_raises(source.dtype, ty) != 0 {
        return false;
    }
    let mut room = Room::<WHOLE>::new();
    // SAFETY: the caller's contract; the room holds every operand.
    unsafe {
        cast.call([source.pointer.cast_const(); 3], room.start(), n);
        finish(call, Ok(fold), room.start(), extents, watch)
    }
}

/// Folds contiguous values into the call's output; false if it did not.
///
/// # Safety
/// The number of values is that of the extents; the output is new memory for the results.
unsafe fn finish(
    call: &SmallCall<'_>,
    fold: Result<Fold>,
    values: *const u8,
    extents: &FoldExtents,
    watch: u8,
) -> bool {
    let Ok(fold) = fold else { return false };
    if fold.out != call.out.dtype || !fold.arg && fold.acc != fold.out {
        return false;
    }
    let asked = call.op.raises(call.ty) & watch;
    if asked != 0 {
        flags::clear();
    }
    // SAFETY: the caller's contract.
    let done = unsafe { absorb(&fold, values, extents, call.out.pointer) };
    done && (asked == 0 || flags::get() & asked == 0)
}

/// Folds contiguous values into results; false if there is not enough memory on the stack.
///
/// # Safety
/// The number of values is that of the extents, and `out` has space for all results, which nothing else uses.
unsafe fn absorb(fold: &Fold, values: *const u8, extents: &FoldExtents, out: *mut u8) -> bool {
    let (element, results) = (fold.ty.size(), extents.groups * extents.width);
    let mut room = Room::<VALUES>::new();
    let (mut accs, mut positions) = (out, std::ptr::null_mut::<i64>());
    if fold.arg {
        if results * fold.acc.size() > VALUES {
            return false;
        }
        (accs, positions) = (room.start(), out.cast());
    }
    // SAFETY: the caller's contract; there are an accumulator and a position for each result.
    unsafe {
        splat(fold.init.as_ptr(), fold.acc.size(), results, accs);
        for result in 0..if fold.arg { results } else { 0 } {
            positions.add(result).write(-1);
        }
        if extents.width == 1 {
            let stride = (extents.steps * element) as isize;
            (fold.rows)(accs, positions, values, stride, extents.groups, extents.steps, 0);
            return true;
        }
        let stride = (extents.width * element) as isize;
        for group in 0..extents.groups {
            let first = group * extents.width;
            let values = values.add(first * extents.steps * element);
            let positions = if fold.arg { positions.add(first) } else { positions };
            let accs = accs.add(first * fold.acc.size());
            (fold.columns)(accs, positions, values, stride, extents.steps, extents.width, 0);
        }
    }
    true
}

/// The bytes from each element to the next in C order, if the distance is constant.
fn step_of(view: &SmallView<'_>) -> Option<i64> {
    let mut expected = None;
    for (&n, &stride) in view.shape.iter().zip(view.strides).rev() {
        if n != 1 && *expected.get_or_insert(stride) != stride {
            return None;
        }
        expected = expected.map(|step| step * n);
    }
    let size = view.dtype.size() as i64;
    let inner = view.shape.iter().zip(view.strides).rev().find(|(n, _)| **n != 1);
    Some(inner.map_or(size, |(_, &stride)| stride))
}
