//! A reduction of few elements, without a kernel.
//!
//! In: a [`SmallCall`] of a reduction. Out: the output's elements, or word that it was not done. Only operands in C order
//! whose reduced axes lie side by side, which are most: there NumPy's order is that of the folds. Outputs are fresh
//! memory, in which the folds accumulate.

use crate::fold::{self, Fold, Order};
use crate::isa::Isa;
use crate::tier0::pack::splat;
use crate::tier0::select::select_cast;
use crate::tier0::small::{FEW, Room, WHOLE};
use numelt_ir::{DType, Op, Result, warn};
use numelt_runtime::{Few, FewInput, SmallCall};
use numelt_vecmath::flags;

/// Bytes of the values beside positions.
const VALUES: usize = 2048;

/// The operand's loops: kept ones, reduced ones, kept ones.
struct Extents {
    groups: usize,
    steps: usize,
    width: usize,
}

impl Extents {
    /// `None` where reduced axes do not lie side by side, or nothing is reduced.
    fn new(call: &SmallCall<'_>, source: &Few<'_>) -> Option<Extents> {
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
        (reduced || groups == 1).then_some(Extents {
            groups: groups as usize,
            steps: steps as usize,
            width: width as usize,
        })
    }
}

/// Runs the call; false when it did not.
///
/// # Safety
/// As for [`run`](super::small::run).
pub(super) unsafe fn run(call: &SmallCall<'_>, watch: u8, isa: Isa) -> bool {
    let (op, ty) = (call.op, call.ty);
    let [FewInput::View(source)] = call.ins else { return false };
    let n: i64 = source.shape.iter().product();
    let sized = (1..=SmallCall::MOST as i64).contains(&n);
    if !call.fresh || !sized || ty == DType::F16 || step_of(&call.out) != Some(call.out.dtype.size() as i64) {
        return false;
    }
    let (Some(extents), Some(step)) = (Extents::new(call, source), step_of(source)) else { return false };
    if step != source.dtype.size() as i64 {
        // SAFETY: the caller's contract; the elements of the operand lie so many bytes apart.
        return unsafe { spread(call, source, &extents, (n as usize, step), watch, isa) };
    }
    // SAFETY: the caller's contract; the operand is dense.
    unsafe {
        if source.dtype == ty {
            return finish(call, fold::select(op, ty, isa), source.pointer, &extents, watch);
        }
        if op == Op::Sum && source.dtype == DType::Bool && ty == DType::I64 {
            return finish(call, Ok(fold::count(isa)), source.pointer, &extents, watch);
        }
        converted(call, source, &extents, n as usize, isa)
    }
}

/// Folds elements that lie apart, as one part of complex numbers or one column of a matrix do: NumPy goes through them in the
/// same order. What it finds of equal extremes may differ, so floats are only added and multiplied.
///
/// # Safety
/// As for [`run`](super::small::run); the source has `n` elements, each so many bytes after the one before.
#[inline(never)]
unsafe fn spread(
    call: &SmallCall<'_>,
    source: &Few<'_>,
    extents: &Extents,
    (n, step): (usize, i64),
    watch: u8,
    isa: Isa,
) -> bool {
    let (op, ty) = (call.op, call.ty);
    let floats = ty.is_float() || ty.is_complex();
    if n > FEW || source.dtype != ty || step <= 0 || floats && !matches!(op, Op::Sum | Op::Prod) {
        return false;
    }
    let mut room = Room::<WHOLE>::new();
    // SAFETY: the caller's contract; the room holds every operand.
    unsafe {
        for at in 0..n {
            let from = source.pointer.cast_const().offset(at as isize * step as isize);
            let to = room.start().add(at * ty.size());
            match ty.size() {
                8 => to.cast::<u64>().write(from.cast::<u64>().read()),
                size => std::ptr::copy_nonoverlapping(from, to, size),
            }
        }
        finish(call, fold::select(op, ty, isa), room.start(), extents, watch)
    }
}

/// Folds elements that are converted before.
///
/// # Safety
/// As for [`run`](super::small::run); the source is dense and has `n` elements.
#[inline(never)]
unsafe fn converted(call: &SmallCall<'_>, source: &Few<'_>, extents: &Extents, n: usize, isa: Isa) -> bool {
    let (op, ty) = (call.op, call.ty);
    let (Ok(fold), Ok(cast)) = (fold::select(op, ty, isa), select_cast(source.dtype, ty, isa)) else { return false };
    // NumPy's buffer cuts sums of converted floats
    if n > FEW || fold.order != Order::Free || warn::cast_raises(source.dtype, ty) != 0 || op.raises(ty) != 0 {
        return false;
    }
    let mut room = Room::<WHOLE>::new();
    // SAFETY: the caller's contract; the room holds every operand.
    unsafe {
        cast.call([source.pointer.cast_const(); 3], room.start(), n);
        finish(call, Ok(fold), room.start(), extents, 0)
    }
}

/// Folds dense values into the call's output; false where it did not.
///
/// # Safety
/// The values are as many as the extents say; the output is fresh memory for the results.
unsafe fn finish(call: &SmallCall<'_>, fold: Result<Fold>, values: *const u8, extents: &Extents, watch: u8) -> bool {
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

/// Folds dense values into results; false where there is no room for it.
///
/// # Safety
/// The values are as many as the extents say, and `out` has room for all results, which nothing else uses.
unsafe fn absorb(fold: &Fold, values: *const u8, extents: &Extents, out: *mut u8) -> bool {
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

/// Bytes from each element to the next in C order, where that is the same for all.
fn step_of(view: &Few<'_>) -> Option<i64> {
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
