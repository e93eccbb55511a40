//! Positions of extremes: the first position of the extreme, or of a NaN if there is one.
//!
//! In: runs and rows of values, with the position of their first element. Out: the best value so far and its position
//! (negative: none yet). Elements must come in order of their positions.

use super::numbers::{Lanes, MaskBits, integers_extreme};
use super::{Fold, Order};
use crate::fold::bounds::Bounds;
use crate::isa::{Isa, versions};
use crate::tier0::Elem;
use numelt_ir::DType;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// The direction of an extreme.
pub trait Extreme: 'static {
    /// Whether `a` is more extreme than `b`.
    fn beats<T: Bounds>(a: T, b: T) -> bool;
    /// The more extreme of two values; NaN wins.
    fn pick<T: Bounds>(a: T, b: T) -> T;
}

/// The least value.
pub struct Min;
/// The greatest value.
pub struct Max;

impl Extreme for Min {
    #[inline(always)]
    fn beats<T: Bounds>(a: T, b: T) -> bool {
        a.lt(b)
    }
    #[inline(always)]
    fn pick<T: Bounds>(a: T, b: T) -> T {
        a.min(b)
    }
}
impl Extreme for Max {
    #[inline(always)]
    fn beats<T: Bounds>(a: T, b: T) -> bool {
        b.lt(a)
    }
    #[inline(always)]
    fn pick<T: Bounds>(a: T, b: T) -> T {
        a.max(b)
    }
}

/// Whether `x`, which comes later, replaces the best value so far.
#[inline(always)]
fn wins<T: Bounds, E: Extreme>(x: T, best: T, position: i64) -> bool {
    position < 0 || (!best.nan() && (x.nan() || E::beats(x, best)))
}

/// The elements of a row that are not compared one by one.
const LANES: usize = 16;
/// The elements whose extreme is found in vector lanes before its position is looked up.
const CHUNK: usize = 1024;
/// The number of elements that are searched for a position at a time, and the number of such groups.
const PLACES: usize = 64;
const FEW: usize = 8;
/// The number of neighbouring columns that are tested together for a new extreme.
const BESIDE: usize = 16;

#[inline(always)]
fn extreme<T: Bounds, E: Extreme>(x: &[T]) -> T {
    let quick = match T::DTYPE {
        DType::F64 => quick_extreme::<T, E, u64>(x),
        DType::F32 => quick_extreme::<T, E, u32>(x),
        _ => integers_extreme(x, E::pick),
    };
    if let Some(quick) = quick {
        return quick;
    }
    let mut best = x[0];
    let mut chunks = x.chunks_exact(LANES);
    if x.len() >= LANES {
        let mut lanes = [best; LANES];
        for c in &mut chunks {
            for i in 0..LANES {
                lanes[i] = E::pick(lanes[i], c[i]);
            }
        }
        for lane in lanes {
            best = E::pick(best, lane);
        }
    }
    chunks.remainder().iter().fold(best, |best, &x| E::pick(best, x))
}

/// The extreme of numbers, unless there is a NaN. `M` is as wide as an element.
#[inline(always)]
fn quick_extreme<T: Bounds, E: Extreme, M: MaskBits>(x: &[T]) -> Option<T> {
    let step = |a: T, x: T| if E::beats(a, x) { a } else { x };
    let mut lanes = Lanes::<T, M, true>::new(x[0]);
    lanes.absorb(x, step);
    if lanes.odd() { None } else { Some(lanes.join(x[0], step)) }
}

/// The first position of a value, or of a NaN if the value is one.
#[inline(always)]
fn place<T: Bounds>(x: &[T], value: T) -> Option<usize> {
    if value.nan() {
        return x.iter().position(|x| x.nan());
    }
    let (blocks, rest) = x.as_chunks::<PLACES>();
    for (k, block) in blocks.iter().enumerate() {
        if among(block, value) {
            return first(block, value).map(|at| k * PLACES + at);
        }
    }
    first(rest, value).map(|at| x.len() - rest.len() + at)
}

/// Whether the value is among these elements.
#[inline(always)]
fn among<T: Bounds, const N: usize>(x: &[T; N], value: T) -> bool {
    let mut found = false;
    for x in x {
        found |= x.eq(value);
    }
    found
}

/// The first position of a number among at most [`PLACES`] elements.
#[inline(always)]
fn first<T: Bounds>(x: &[T], value: T) -> Option<usize> {
    // elements that fill a register are compared one by one
    let few = if size_of::<T>() > 8 { &[] } else { x.as_chunks::<FEW>().0 };
    let skipped = few.iter().position(|few| among(few, value)).unwrap_or(few.len()) * FEW;
    x[skipped..].iter().position(|x| x.eq(value)).map(|at| skipped + at)
}

/// [`Rows`](super::Rows) for the position of an extreme.
///
/// # Safety
/// The contract of [`Rows`](super::Rows), with positions.
#[inline(always)]
unsafe fn arg_rows<T: Bounds, E: Extreme>(
    values: *mut u8,
    positions: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    pos: i64,
) {
    if stride == (n * size_of::<T>()) as isize {
        // SAFETY: the contract of `Rows`.
        let done = unsafe {
            match n {
                2 => few::<T, E, 2>(values, positions, src, rows, pos),
                3 => few::<T, E, 3>(values, positions, src, rows, pos),
                4 => few::<T, E, 4>(values, positions, src, rows, pos),
                _ => false,
            }
        };
        if done {
            return;
        }
    }
    for r in 0..rows {
        // SAFETY: the contract of `Rows`.
        let (row, value, position) = unsafe {
            (
                from_raw_parts(src.offset(r as isize * stride).cast::<T>(), n),
                values.cast::<T>().add(r),
                positions.add(r),
            )
        };
        if T::DTYPE == DType::Bool {
            // SAFETY: as above.
            let (best, at) = unsafe { (&mut *value, &mut *position) };
            let limit = E::pick(T::LEAST, T::GREATEST);
            if *at < 0 || !best.eq(limit) {
                let found = place(row, limit);
                if let Some(first) = found {
                    (*best, *at) = (limit, pos + first as i64);
                } else if *at < 0 {
                    (*best, *at) = (row[0], pos);
                }
            }
            continue;
        }
        if n <= LANES {
            // SAFETY: as above.
            let (mut best, mut at) = unsafe { (*value, *position) };
            for (k, &x) in row.iter().enumerate() {
                if wins::<T, E>(x, best, at) {
                    (best, at) = (x, pos + k as i64);
                }
            }
            // SAFETY: as above.
            unsafe { (*value, *position) = (best, at) };
            continue;
        }
        for (k, chunk) in row.chunks(CHUNK).enumerate() {
            // SAFETY: as above.
            let (best, at) = unsafe { (*value, *position) };
            let found = extreme::<T, E>(chunk);
            if wins::<T, E>(found, best, at) {
                let first = place(chunk, found);
                // SAFETY: as above.
                unsafe {
                    *value = found;
                    *position = pos + (k * CHUNK + first.unwrap_or(0)) as i64;
                }
            }
        }
    }
}

/// The same for dense rows with few elements and empty accumulators, without a branch per element.
///
/// # Safety
/// The contract of [`Rows`](super::Rows), with positions, for dense rows of `N` elements.
#[inline(always)]
unsafe fn few<T: Bounds, E: Extreme, const N: usize>(
    values: *mut u8,
    positions: *mut i64,
    src: *const u8,
    rows: usize,
    pos: i64,
) -> bool {
    // SAFETY: the caller's contract.
    let (values, positions, x) = unsafe {
        let values = from_raw_parts_mut(values.cast::<T>(), rows);
        (values, from_raw_parts_mut(positions, rows), from_raw_parts(src.cast::<[T; N]>(), rows))
    };
    if positions.iter().any(|&at| at >= 0) {
        return false;
    }
    for ((value, position), row) in values.iter_mut().zip(positions).zip(x) {
        let (mut best, mut at) = (row[0], 0);
        for (k, &x) in row.iter().enumerate().skip(1) {
            let better = !best.nan() & (x.nan() | E::beats(x, best));
            best = if better { x } else { best };
            at = if better { k as i64 } else { at };
        }
        (*value, *position) = (best, pos + at);
    }
    true
}

/// [`Columns`](super::Columns) for the position of an extreme.
///
/// # Safety
/// The contract of [`Columns`](super::Columns), with positions.
#[inline(always)]
unsafe fn arg_columns<T: Bounds, E: Extreme>(
    values: *mut u8,
    positions: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    width: usize,
    pos: i64,
) {
    // SAFETY: the contract of `Columns`.
    let (values, positions) =
        unsafe { (from_raw_parts_mut(values.cast::<T>(), width), from_raw_parts_mut(positions, width)) };
    let fresh = positions.iter().any(|&at| at < 0);
    for r in 0..rows {
        // SAFETY: the contract of `Columns`.
        let row = unsafe { from_raw_parts(src.offset(r as isize * stride).cast::<T>(), width) };
        let at = pos + r as i64;
        // until every column has seen an element, each one is compared
        let asked = if fresh && r == 0 { 0 } else { width / BESIDE * BESIDE };
        let blocks = values.as_chunks_mut::<BESIDE>().0.iter_mut().zip(positions.as_chunks_mut::<BESIDE>().0);
        for ((values, positions), x) in blocks.zip(row[..asked].as_chunks::<BESIDE>().0) {
            replace::<T, E>(values, positions, x, at);
        }
        let rest = values[asked..].iter_mut().zip(&mut positions[asked..]);
        for ((value, position), &x) in rest.zip(&row[asked..]) {
            if wins::<T, E>(x, *value, *position) {
                (*value, *position) = (x, at);
            }
        }
    }
}

/// Absorbs a row into columns that have seen an element each. Few of them have a new extreme.
#[inline(always)]
fn replace<T: Bounds, E: Extreme>(values: &mut [T; BESIDE], positions: &mut [i64; BESIDE], x: &[T; BESIDE], at: i64) {
    let mut any = false;
    for (value, &x) in values.iter().zip(x) {
        any |= !value.nan() & (x.nan() | E::beats(x, *value));
    }
    if any {
        for ((value, position), &x) in values.iter_mut().zip(positions).zip(x) {
            let better = !value.nan() & (x.nan() | E::beats(x, *value));
            *value = if better { x } else { *value };
            *position = if better { at } else { *position };
        }
    }
}

/// [`Join`](super::Join) for positions of extremes.
///
/// # Safety
/// The contract of [`Join`](super::Join), with positions on both sides.
unsafe fn join<T: Bounds, E: Extreme>(
    values: *mut u8,
    positions: *mut i64,
    other: *const u8,
    other_positions: *const i64,
    n: usize,
) {
    for i in 0..n {
        // SAFETY: the contract of `Join`.
        unsafe {
            let (value, position) = (values.cast::<T>().add(i), positions.add(i));
            let (x, at) = (*other.cast::<T>().add(i), *other_positions.add(i));
            if at >= 0 && wins::<T, E>(x, *value, *position) {
                *value = x;
                *position = at;
            }
        }
    }
}

versions!(
    two pick_rows, arg_rows, [T: Bounds, E: Extreme],
    (v: *mut u8, p: *mut i64, src: *const u8, stride: isize, rows: usize, n: usize, pos: i64));
versions!(
    two pick_columns, arg_columns, [T: Bounds, E: Extreme],
    (v: *mut u8, p: *mut i64, src: *const u8, stride: isize, rows: usize, n: usize, pos: i64));

/// The fold of an arg-reduction.
pub fn fold<T: Bounds, E: Extreme>(isa: Isa) -> Fold {
    Fold {
        ty: T::DTYPE,
        out: DType::I64,
        acc: <T as Elem>::DTYPE,
        arg: true,
        order: Order::Free,
        init: [0; 16],
        rows: pick_rows::<T, E>(isa),
        columns: pick_columns::<T, E>(isa),
        join: join::<T, E>,
    }
}
