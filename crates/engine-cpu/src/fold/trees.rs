//! NumPy's pairwise sums of runs.
//!
//! In: neighbouring values. Out: their sum, by the tree that NumPy adds them in. A block's running sums wait for each
//! other's additions, so that several blocks are summed side by side; which ones changes no bit.

use super::plain::Bounds;
use crate::driver::pairwise::{BLOCK, Unit};
use crate::tier0::{self, Any as _, Elem};
use numelt_ir::{C32, C64, F16};
use std::mem::MaybeUninit;

/// A number with NumPy's pairwise sum.
pub trait Pairwise: Elem {
    /// Type of the sum.
    type Sum: tier0::Number;
    /// Its unit in the tree.
    const UNIT: Unit;
    /// Are several blocks of a long run faster side by side? Measured in the engine: those of f32 by a half, those of f64,
    /// which fill two registers each, not at all.
    const SIDE_BY_SIDE: bool = false;
    /// Sums a run of at most a block.
    fn block(x: &[Self]) -> Self::Sum;
    /// Sums runs of a step or more, at most a block each, side by side.
    #[inline(always)]
    fn blocks<const K: usize>(x: [&[Self]; K]) -> [Self::Sum; K] {
        x.map(Self::block)
    }
}

/// Running sums of `K` runs, a step of `N` elements at a time; what is left of each is added to them one by one.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // one index into several runs
fn running<T: Elem, const N: usize, const K: usize>(
    x: [&[T]; K],
    start: T,
    add: impl Fn(T, T) -> T,
    join: impl Fn([T; N]) -> T,
) -> [T; K] {
    let mut sums = [[start; N]; K];
    let steps = x.map(|x| x.as_chunks::<N>().0);
    let common = shortest(steps);
    let heads = steps.map(|steps| &steps[..common]);
    for s in 0..common {
        for k in 0..K {
            for i in 0..N {
                sums[k][i] = add(sums[k][i], heads[k][s][i]);
            }
        }
    }
    for k in 0..K {
        for step in &steps[k][common..] {
            for i in 0..N {
                sums[k][i] = add(sums[k][i], step[i]);
            }
        }
    }
    let rests = x.map(|x| x.as_chunks::<N>().1);
    let common = shortest(rests);
    let heads = rests.map(|rest| &rest[..common]);
    let mut sums = sums.map(join);
    for i in 0..common {
        for k in 0..K {
            sums[k] = add(sums[k], heads[k][i]);
        }
    }
    std::array::from_fn(|k| rests[k][common..].iter().fold(sums[k], |acc, &x| add(acc, x)))
}

/// Length of the shortest.
#[inline(always)]
fn shortest<T, const K: usize>(slices: [&[T]; K]) -> usize {
    slices.iter().map(|slice| slice.len()).min().unwrap_or(0)
}

macro_rules! pairwise_real {
    ($($t:ident $sides:literal,)*) => {$(
        impl Pairwise for $t {
            const SIDE_BY_SIDE: bool = $sides;
            type Sum = $t;
            const UNIT: Unit = Unit::Real;
            #[inline(always)]
            fn block(x: &[$t]) -> $t {
                if x.len() < 8 {
                    return x.iter().fold(-0.0, |acc, x| acc + x);
                }
                let [sum] = Self::blocks([x]);
                sum
            }
            #[inline(always)]
            fn blocks<const K: usize>(x: [&[$t]; K]) -> [$t; K] {
                let join = |r: [$t; 8]| ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
                running(x, -0.0, |a, b| a + b, join)
            }
        }
    )*};
}
pairwise_real!(f32 true, f64 false,);

macro_rules! pairwise_complex {
    ($($t:ident)*) => {$(
        impl Pairwise for $t {
            type Sum = $t;
            const UNIT: Unit = Unit::Complex;
            #[inline(always)]
            fn block(x: &[$t]) -> $t {
                let start = $t { re: -0.0, im: -0.0 };
                if x.len() < 4 {
                    return x.iter().fold(start, |a, x| tier0::Any::add(a, *x));
                }
                let [sum] = Self::blocks([x]);
                sum
            }
            #[inline(always)]
            fn blocks<const K: usize>(x: [&[$t]; K]) -> [$t; K] {
                let add = |a: $t, b: $t| tier0::Any::add(a, b);
                running(x, $t { re: -0.0, im: -0.0 }, add, |r: [$t; 4]| add(add(r[0], r[1]), add(r[2], r[3])))
            }
        }
    )*};
}
pairwise_complex!(C32 C64);

impl Pairwise for F16 {
    type Sum = f32;
    const UNIT: Unit = Unit::Real;
    #[inline(always)]
    fn block(x: &[F16]) -> f32 {
        let mut wide = [0.0; BLOCK];
        for (wide, x) in wide.iter_mut().zip(x) {
            *wide = x.to_f32();
        }
        f32::block(&wide[..x.len()])
    }
}

/// A number whose sums are of its own type.
pub trait Summed: Pairwise<Sum = Self> + tier0::Number + Bounds {}
impl<T: Pairwise<Sum = T> + tier0::Number + Bounds> Summed for T {}

/// The sum of a run that is a block, or two or four that go side by side: what the tree cuts it into.
#[inline(always)]
fn few_blocks<T: Pairwise>(x: &[T]) -> Option<T::Sum> {
    let block = T::UNIT.block();
    if x.len() <= block {
        return Some(T::block(x));
    }
    let halves = |x| <[T]>::split_at(x, T::UNIT.split(x.len()));
    let (left, right) = halves(x);
    if right.len() <= block {
        let [left, right] = T::blocks([left, right]);
        return Some(left.add(right));
    }
    let ((a, b), (c, d)) = (halves(left), halves(right));
    if left.len() <= block || b.len().max(d.len()) > block {
        return None;
    }
    let [a, b, c, d] = T::blocks([a, b, c, d]);
    Some(a.add(b).add(c.add(d)))
}

/// NumPy's sum of a run.
#[inline(always)]
pub fn tree_run<T: Pairwise>(x: &[T]) -> T::Sum {
    if x.len() <= T::UNIT.block() { T::block(x) } else { tree_parts(x, |_| {}) }
}

/// The same: `x` is cut in two until a part is a block, or a few that go side by side; each part is also `shown`. The
/// stack of half-finished sums is explicit, because a recursive function could not be inlined into each instruction
/// set's version.
#[inline(always)]
pub fn tree_parts<T: Pairwise>(x: &[T], shown: impl FnMut(&[T])) -> T::Sum {
    if T::SIDE_BY_SIDE && !x.is_empty() { parts_side_by_side(x, shown) } else { blocks_in_order(x, shown) }
}

/// The tree's blocks one after the other.
#[inline(always)]
fn blocks_in_order<T: Pairwise>(x: &[T], mut shown: impl FnMut(&[T])) -> T::Sum {
    let block = T::UNIT.block();
    // pending[d] waits for its right sibling; at most one entry per level of the tree
    let mut pending = [const { MaybeUninit::<(usize, usize, T::Sum, bool)>::uninit() }; LEVELS];
    let mut depth = 0;
    let (mut start, mut n) = (0, x.len());
    loop {
        while n > block {
            let left = T::UNIT.split(n);
            pending[depth].write((start + left, n - left, T::Sum::ZERO, false));
            depth += 1;
            n = left;
        }
        let part = &x[start..start + n];
        let mut sum = T::block(part);
        shown(part);
        loop {
            if depth == 0 {
                return sum;
            }
            // SAFETY: entries below `depth` have been written.
            let (right, len, left_sum, done) = unsafe { pending[depth - 1].assume_init() };
            if done {
                sum = left_sum.add(sum);
                depth -= 1;
            } else {
                pending[depth - 1].write((right, len, sum, true));
                (start, n) = (right, len);
                break;
            }
        }
    }
}

/// The tree's blocks two and four at a time.
#[inline(always)]
fn parts_side_by_side<T: Pairwise>(x: &[T], mut shown: impl FnMut(&[T])) -> T::Sum {
    // parts to be summed, the first on top; one of no elements stands for joining the last two sums
    let mut parts = [const { MaybeUninit::<&[T]>::uninit() }; 2 * LEVELS];
    let mut sums = [T::Sum::ZERO; LEVELS];
    let (mut left, mut done) = (1, 0);
    parts[0].write(x);
    while left > 0 {
        left -= 1;
        // SAFETY: entries below `left` have been written.
        let part = unsafe { parts[left].assume_init() };
        if part.is_empty() {
            done -= 1;
            sums[done - 1] = sums[done - 1].add(sums[done]);
        } else if let Some(sum) = few_blocks(part) {
            shown(part);
            sums[done] = sum;
            done += 1;
        } else {
            let (first, second) = part.split_at(T::UNIT.split(part.len()));
            parts[left].write(&[]);
            parts[left + 1].write(second);
            parts[left + 2].write(first);
            left += 3;
        }
    }
    sums[0]
}

/// More than the tree of any run has: a level halves it.
const LEVELS: usize = 64;
