//! Sums, products, extremes and truth tests.
//!
//! In: runs and rows of values. Out: accumulators. Each function is written once and compiled for each
//! instruction set.

use super::bounds::Bounds;
use super::numbers::{among_run, count_run, extreme_run, truths_run};
use super::step::Step;
use super::trees::{Summed, tree_run};
use super::{Fold, Order};
use crate::driver::pairwise::Unit;
use crate::isa::{Isa, versions};
use crate::tier0::{self, B8, Elem};
use numelt_ir::F16;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// A type whose bits are folded.
pub trait AllBits: tier0::Bits {
    /// Every bit is one.
    const ONES: Self;
}
macro_rules! all_bits {
    ($($t:ident)*) => {$(
        impl AllBits for $t {
            const ONES: $t = !0;
        }
    )*};
}
all_bits!(i8 i16 i32 i64 u8 u16 u32 u64);
impl AllBits for B8 {
    const ONES: B8 = B8(1);
}

macro_rules! steps {
    (of $bound:ident; $($name:ident: $acc:ty = $init:expr, |$a:ident, $x:ident| $step:expr, $join:expr $(, by $quick:ident)?;)*) => {$(
        pub struct $name;
        impl<T: $bound> Step<T> for $name {
            type Acc = $acc;
            const INIT: $acc = $init;
            #[inline(always)]
            fn step($a: $acc, $x: T) -> $acc {
                $step
            }
            #[inline(always)]
            fn join($a: $acc, $x: $acc) -> $acc {
                $join
            }
            $(
            #[inline(always)]
            fn quick_run(acc: $acc, x: &[T]) -> Option<$acc> {
                $quick::<T, Self>(acc, x)
            }
            )?
        }
    )*};
}
steps! { of Bounds;
    Sum: T = T::ZERO, |a, x| a.add(x), a.add(x);
    Any: B8 = B8(0), |a, x| B8(a.0 | x.truth() as u8), B8(a.0 | x.0), by truths_run;
    All: B8 = B8(1), |a, x| B8(a.0 & x.truth() as u8), B8(a.0 & x.0), by truths_run;
}
steps! { of AllBits;
    And: T = T::ONES, |a, x| a.and(x), a.and(x);
    Or: T = T::ZERO, |a, x| a.or(x), a.or(x);
    Xor: T = T::ZERO, |a, x| a.xor(x), a.xor(x);
}

macro_rules! extremes {
    ($($name:ident = $init:ident $step:ident, |$acc:ident, $x:ident| $quick:expr;)*) => {$(
        pub struct $name;
        impl<T: Bounds> Step<T> for $name {
            type Acc = T;
            const INIT: T = T::$init;
            #[inline(always)]
            fn step(acc: T, x: T) -> T {
                acc.$step(x)
            }
            #[inline(always)]
            fn join(acc: T, later: T) -> T {
                acc.$step(later)
            }
            #[inline(always)]
            fn choose(acc: T, x: &[T], result: T) -> T {
                T::first(acc, x, result)
            }
            #[inline(always)]
            fn quick_run($acc: T, $x: &[T]) -> Option<T> {
                $quick
            }
        }
    )*};
}
// one comparison less than in the step, and one instruction on most machines
extremes! {
    Min = GREATEST min, |acc, x| extreme_run::<T, Self>(acc, x, |a, x| if a.lt(x) { a } else { x });
    Max = LEAST max, |acc, x| extreme_run::<T, Self>(acc, x, |a, x| if x.lt(a) { a } else { x });
    Fmax = NO_MAXIMUM fmax, |acc, x| among_run::<T, Self>(acc, x);
    Fmin = NO_MINIMUM fmin, |acc, x| among_run::<T, Self>(acc, x);
}

/// Counts what is true.
pub struct Count;
impl Step<B8> for Count {
    type Acc = i64;
    const INIT: i64 = 0;
    #[inline(always)]
    fn step(acc: i64, x: B8) -> i64 {
        acc + i64::from(x.get())
    }
    #[inline(always)]
    fn join(acc: i64, later: i64) -> i64 {
        acc + later
    }
    #[inline(always)]
    fn quick_run(acc: i64, x: &[B8]) -> Option<i64> {
        Some(acc + count_run(x))
    }
}

pub struct Prod;
impl<T: Bounds> Step<T> for Prod {
    type Acc = T;
    const INIT: T = T::ONE;
    #[inline(always)]
    fn step(acc: T, x: T) -> T {
        acc.mul(x)
    }
    #[inline(always)]
    fn run_step(acc: T, x: T) -> T {
        acc.mul_in_run(x)
    }
    #[inline(always)]
    fn join(acc: T, later: T) -> T {
        acc.mul(later)
    }
}

/// The number of accumulators that run side by side if the order is free.
pub const LANES: usize = 16;

/// Folds a run in any order, many lanes at a time.
#[inline(always)]
pub fn free_run<T: Elem, S: Step<T>>(acc: S::Acc, x: &[T]) -> S::Acc {
    if let Some(acc) = S::quick_run(acc, x) {
        return acc;
    }
    let mut acc = acc;
    let mut rest = x;
    if x.len() >= 2 * LANES {
        let mut lanes = [S::INIT; LANES];
        let mut chunks = x.chunks_exact(LANES);
        for chunk in &mut chunks {
            for i in 0..LANES {
                lanes[i] = S::step(lanes[i], chunk[i]);
            }
        }
        let joined = lanes.into_iter().fold(acc, S::join);
        rest = chunks.remainder();
        acc = S::choose(acc, &x[..x.len() - rest.len()], joined);
    }
    for &x in rest {
        acc = S::step(acc, x);
    }
    acc
}

#[inline(always)]
fn sequential_run<T: Elem, S: Step<T>>(acc: S::Acc, x: &[T]) -> S::Acc {
    x.iter().fold(acc, |acc, &x| S::run_step(acc, x))
}

/// How a row is absorbed. This is a type, because a function or closure that is passed as an argument is compiled only
/// once, for the least of all instruction sets, unless it is short.
trait Absorb<T> {
    /// Type of the accumulator.
    type Acc: Elem;
    /// The accumulator after absorbing a row.
    fn absorb(acc: Self::Acc, x: &[T]) -> Self::Acc;
}

/// Declares ways of absorbing rows.
macro_rules! absorbs {
    ($($name:ident[$($g:ident : $b:path),*] of $t:ty => $acc:ty: |$a:ident, $x:ident| $body:expr;)*) => {$(
        struct $name<$($g),*>(std::marker::PhantomData<($($g,)*)>);
        impl<$($g: $b),*> Absorb<$t> for $name<$($g),*> {
            type Acc = $acc;
            #[inline(always)]
            fn absorb($a: $acc, $x: &[$t]) -> $acc {
                $body
            }
        }
    )*};
}
absorbs! {
    Free[T: Elem, S: Step<T>] of T => S::Acc: |acc, x| free_run::<T, S>(acc, x);
    Sequential[T: Elem, S: Step<T>] of T => S::Acc: |acc, x| sequential_run::<T, S>(acc, x);
    Tree[T: Summed] of T => T: |acc, x| acc.add(tree_run(x));
    HalfTree[] of F16 => F16: |acc, x| F16::from_f32(acc.to_f32() + tree_run(x));
    HalfProduct[] of F16 => F16: |acc, x| F16::from_f32(x.iter().fold(acc.to_f32(), |acc, x| acc * x.to_f32()));
}

/// The common loop over rows: each row is absorbed into its accumulator.
///
/// # Safety
/// The contract of [`super::Rows`].
#[inline(always)]
unsafe fn each_row<T: Elem, F: Absorb<T>>(values: *mut u8, src: *const u8, row_stride: isize, rows: usize, n: usize) {
    let values = values.cast::<F::Acc>();
    for r in 0..rows {
        // SAFETY: the caller's contract.
        unsafe {
            let row = from_raw_parts(src.offset(r as isize * row_stride).cast::<T>(), n);
            let acc = values.add(r);
            acc.write(F::absorb(acc.read(), row));
        }
    }
}

/// [`Rows`](super::Rows) of a fold whose order is free.
///
/// # Safety
/// The contract of [`Rows`](super::Rows).
#[inline(always)]
unsafe fn rows_free<T: Elem, S: Step<T>>(
    values: *mut u8,
    _: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    _pos: i64,
) {
    // SAFETY: the contract of `Rows`.
    unsafe { each_row::<T, Free<T, S>>(values, src, stride, rows, n) }
}

/// [`Rows`](super::Rows) of a fold from the first element to the last.
///
/// # Safety
/// The contract of [`Rows`](super::Rows).
#[inline(always)]
unsafe fn rows_sequential<T: Elem, S: Step<T>>(
    values: *mut u8,
    _: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    _pos: i64,
) {
    // SAFETY: the contract of `Rows`.
    unsafe { each_row::<T, Sequential<T, S>>(values, src, stride, rows, n) }
}

/// Dense rows of fewer than eight elements. If their length is known at compile time, several rows fit into a vector.
#[inline(always)]
fn rows_of<T: Summed, const N: usize>(acc: &mut [T], x: &[T]) {
    for (acc, row) in acc.iter_mut().zip(x.chunks_exact(N)) {
        let mut sum = row[0];
        for x in &row[1..] {
            sum = sum.add(*x);
        }
        *acc = acc.add(sum);
    }
}

/// Sums dense rows of `n` elements if `n` is one of the short lengths.
///
/// # Safety
/// The contract of [`super::Rows`], rows one after the other.
#[inline(always)]
unsafe fn short_rows<T: Summed>(values: *mut u8, src: *const u8, rows: usize, n: usize) -> bool {
    // SAFETY: the caller's contract.
    let (acc, x) = unsafe { (from_raw_parts_mut(values.cast::<T>(), rows), from_raw_parts(src.cast::<T>(), rows * n)) };
    // rows of up to three elements of either kind are summed one by one, and those of reals up to seven
    match (n, T::UNIT) {
        (2, _) => rows_of::<T, 2>(acc, x),
        (3, _) => rows_of::<T, 3>(acc, x),
        (4, Unit::Real) => rows_of::<T, 4>(acc, x),
        (5, Unit::Real) => rows_of::<T, 5>(acc, x),
        (6, Unit::Real) => rows_of::<T, 6>(acc, x),
        (7, Unit::Real) => rows_of::<T, 7>(acc, x),
        _ => return false,
    }
    true
}

/// [`Rows`](super::Rows) of a leaf of a tree.
///
/// # Safety
/// The contract of [`Rows`](super::Rows).
#[inline(always)]
unsafe fn rows_tree<T: Summed>(
    values: *mut u8,
    _: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    _pos: i64,
) {
    // SAFETY: the contract of `Rows`.
    unsafe {
        if rows > 1 && stride == (n * size_of::<T>()) as isize && short_rows::<T>(values, src, rows, n) {
            return;
        }
        let sided = T::SIDES > 1 && (T::UNIT.step()..=T::UNIT.block()).contains(&n);
        let sides = if sided { rows / T::SIDES * T::SIDES } else { 0 };
        match T::SIDES {
            4 => side_rows::<T, 4>(values, src, stride, sides, n),
            2 => side_rows::<T, 2>(values, src, stride, sides, n),
            _ => {}
        }
        let (values, src) = (values.cast::<T>().add(sides), src.offset(sides as isize * stride));
        each_row::<T, Tree<T>>(values.cast(), src, stride, rows - sides, n)
    }
}

/// Sums rows with at least one step and at most one block of elements, `K` rows at a time.
///
/// # Safety
/// The contract of [`super::Rows`]; `rows` is a multiple of `K`.
#[inline(always)]
unsafe fn side_rows<T: Summed, const K: usize>(values: *mut u8, src: *const u8, stride: isize, rows: usize, n: usize) {
    let values = values.cast::<T>();
    for r in (0..rows).step_by(K) {
        // SAFETY: the caller's contract.
        unsafe {
            let row = |k: usize| from_raw_parts(src.offset((r + k) as isize * stride).cast::<T>(), n);
            let sums = T::blocks(std::array::from_fn::<_, K, _>(row));
            for (k, sum) in sums.into_iter().enumerate() {
                let acc = values.add(r + k);
                acc.write(acc.read().add(sum));
            }
        }
    }
}

/// Sums of half-precision runs.
///
/// # Safety
/// The contract of [`super::Rows`].
#[inline(always)]
pub unsafe fn rows_half_sum(
    values: *mut u8,
    _: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    _pos: i64,
) {
    // SAFETY: the contract of `Rows`.
    unsafe { each_row::<F16, HalfTree>(values, src, stride, rows, n) }
}

/// Products of half-precision runs.
///
/// # Safety
/// The contract of [`super::Rows`].
#[inline(always)]
pub unsafe fn rows_half_product(
    values: *mut u8,
    _: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    n: usize,
    _pos: i64,
) {
    // SAFETY: the contract of `Rows`.
    unsafe { each_row::<F16, HalfProduct>(values, src, stride, rows, n) }
}

/// Few columns, whose accumulators stay in registers.
///
/// # Safety
/// The contract of [`Columns`](super::Columns), for `W` columns.
#[inline(always)]
unsafe fn narrow<T: Elem, S: Step<T>, const W: usize>(acc: &mut [S::Acc], src: *const u8, stride: isize, rows: usize) {
    let mut local = [S::INIT; W];
    local.copy_from_slice(acc);
    for r in 0..rows {
        // SAFETY: the contract of `Columns`.
        let row = unsafe { from_raw_parts(src.offset(r as isize * stride).cast::<T>(), W) };
        for i in 0..W {
            local[i] = S::step(local[i], row[i]);
        }
    }
    acc.copy_from_slice(&local);
}

/// Many columns, four rows at a time.
///
/// # Safety
/// The contract of [`Columns`](super::Columns), for as many columns as accumulators.
#[inline(always)]
unsafe fn wide<T: Elem, S: Step<T>>(acc: &mut [S::Acc], src: *const u8, stride: isize, rows: usize) {
    let width = acc.len();
    // SAFETY: the contract of `Columns`.
    let row = |r: usize| unsafe { from_raw_parts(src.offset(r as isize * stride).cast::<T>(), width) };
    let mut r = 0;
    // four rows at a time load and store each accumulator once
    while r + 4 <= rows {
        let (a, b, c, d) = (row(r), row(r + 1), row(r + 2), row(r + 3));
        for i in 0..width {
            acc[i] = S::step(S::step(S::step(S::step(acc[i], a[i]), b[i]), c[i]), d[i]);
        }
        r += 4;
    }
    while r < rows {
        for (acc, &x) in acc.iter_mut().zip(row(r)) {
            *acc = S::step(*acc, x);
        }
        r += 1;
    }
}

/// [`Columns`](super::Columns) of any fold.
///
/// # Safety
/// The contract of [`Columns`](super::Columns).
#[inline(always)]
unsafe fn columns<T: Elem, S: Step<T>>(
    values: *mut u8,
    _: *mut i64,
    src: *const u8,
    stride: isize,
    rows: usize,
    width: usize,
    _pos: i64,
) {
    // SAFETY: the contract of `Columns`.
    unsafe {
        let acc = from_raw_parts_mut(values.cast::<S::Acc>(), width);
        match width {
            1 => narrow::<T, S, 1>(acc, src, stride, rows),
            2 => narrow::<T, S, 2>(acc, src, stride, rows),
            3 => narrow::<T, S, 3>(acc, src, stride, rows),
            4 => narrow::<T, S, 4>(acc, src, stride, rows),
            _ => wide::<T, S>(acc, src, stride, rows),
        }
    }
}

/// # Safety
/// That of `Join`.
#[inline(always)]
unsafe fn join<T: Elem, S: Step<T>>(values: *mut u8, _: *mut i64, other: *const u8, _o: *const i64, n: usize) {
    // SAFETY: the contract of `Join`.
    unsafe {
        let acc = from_raw_parts_mut(values.cast::<S::Acc>(), n);
        let other = from_raw_parts(other.cast::<S::Acc>(), n);
        for (a, &b) in acc.iter_mut().zip(other) {
            *a = S::join(*a, b);
        }
    }
}

versions!(
    two pick_rows_free, rows_free, [T: Elem, S: Step<T>],
    (v: *mut u8, p: *mut i64, src: *const u8, stride: isize, rows: usize, n: usize, pos: i64));
versions!(pick_rows_tree, rows_tree, [T: Summed],
    (v: *mut u8, p: *mut i64, src: *const u8, stride: isize, rows: usize, n: usize, pos: i64));
versions!(
    two pick_columns, columns, [T: Elem, S: Step<T>],
    (v: *mut u8, p: *mut i64, src: *const u8, stride: isize, rows: usize, n: usize, pos: i64));

fn base<T: Elem, S: Step<T>>(order: Order, rows: super::Rows, isa: Isa) -> Fold {
    let mut init = [0; 16];
    let value = S::INIT;
    // SAFETY: an element is at most 16 plain bytes.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast(), init.as_mut_ptr(), size_of::<S::Acc>()) };
    Fold {
        ty: T::DTYPE,
        out: S::Acc::DTYPE,
        acc: S::Acc::DTYPE,
        arg: false,
        order,
        init,
        rows,
        columns: pick_columns::<T, S>(isa),
        join: join::<T, S>,
    }
}

/// A fold of free or sequential order.
pub fn fold<T: Elem, S: Step<T>>(order: Order, isa: Isa) -> Fold {
    let rows = if order == Order::Sequential { rows_sequential::<T, S> } else { pick_rows_free::<T, S>(isa) };
    base::<T, S>(order, rows, isa)
}

/// A fold of half-precision runs.
pub fn halves<S: Step<F16>>(rows: super::Rows, isa: Isa) -> Fold {
    base::<F16, S>(Order::Runs, rows, isa)
}

/// NumPy's sum of floats.
pub fn tree<T: Summed>(order: Order, isa: Isa) -> Fold {
    base::<T, Sum>(order, pick_rows_tree::<T>(isa), isa)
}
