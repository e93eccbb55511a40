//! NumPy's pairwise sums of runs.
//!
//! In: contiguous values. Out: their sum, by NumPy's tree of additions. The running sums of one block depend on each
//! other, so several blocks of a short run are summed side by side; which blocks does not change the bits. Blocks of a
//! long run, which comes from memory, are summed one after the other, because the processor prefetches one stream twice
//! as well as several alternating ones.
//!
//! No loop over elements is inside a closure: a closure is not inlined into the versions for each instruction set, but
//! compiled once, for the least of them.

use super::bounds::Bounds;
use super::opaque::Opaque;
use crate::driver::pairwise::{BLOCK, Unit};
use crate::tier0::{self, Any as _, Elem};
use numelt_ir::{Complex64, Complex128, F16};
use std::mem::MaybeUninit;

/// A number with NumPy's pairwise sum.
pub trait Pairwise: Elem {
    /// Type of the sum.
    type Sum: tier0::Number;
    /// Its unit in the tree.
    const UNIT: Unit;
    /// How many runs it is fastest to sum side by side; one if that gains nothing.
    const SIDES: usize = 1;
    /// Sums a run of at most one block; each step is also passed to `seen`.
    fn block(x: &[Self], seen: &mut impl Seen<Self>) -> Self::Sum;
    /// Sums runs side by side, each with at least one step and at most one block of elements.
    #[inline(always)]
    fn blocks<const K: usize>(x: [&[Self]; K]) -> [Self::Sum; K] {
        x.map(|x| Self::block(x, &mut ()))
    }
}

/// Receives the elements of a sum while it is computed.
pub trait Seen<T> {
    /// Receives the elements of a step.
    fn step(&mut self, x: &[T]);
    /// Receives an element that does not fill a step.
    fn one(&mut self, x: T);
}

impl<T> Seen<T> for () {
    #[inline(always)]
    fn step(&mut self, _: &[T]) {}
    #[inline(always)]
    fn one(&mut self, _: T) {}
}

/// A number that is added up in as many running sums as a step has elements.
trait Running<const N: usize>: Elem {
    /// The value to which elements are first added.
    const START: Self;
    /// The sum of two.
    fn plus(self, other: Self) -> Self;
    /// The sum of a block's running sums.
    fn joined(sums: [Self; N]) -> Self;
}

/// The sum of a run of at most a block.
#[inline(always)]
fn running<T: Running<N>, const N: usize>(x: &[T], seen: &mut impl Seen<T>) -> T {
    let (steps, rest) = x.as_chunks::<N>();
    let mut sum = match steps.split_first() {
        None => T::START,
        Some((first, steps)) => {
            let mut sums = *first;
            seen.step(first);
            for step in steps {
                for i in 0..N {
                    sums[i] = sums[i].plus(step[i]);
                }
                seen.step(step);
            }
            T::joined(Opaque(sums).settle())
        }
    };
    for &x in rest {
        sum = sum.plus(x);
        seen.one(x);
    }
    sum
}

/// The sums of `K` runs with at least one step, a step of `N` elements at a time.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // one index into several runs
fn running_sides<T: Running<N>, const N: usize, const K: usize>(x: [&[T]; K]) -> [T; K] {
    let mut sums = [[T::START; N]; K];
    let steps = x.map(|x| x.as_chunks::<N>().0);
    let common = shortest(steps);
    let heads = steps.map(|steps| &steps[..common]);
    for s in 0..common {
        for k in 0..K {
            for i in 0..N {
                sums[k][i] = sums[k][i].plus(heads[k][s][i]);
            }
        }
    }
    for k in 0..K {
        for step in &steps[k][common..] {
            for i in 0..N {
                sums[k][i] = sums[k][i].plus(step[i]);
            }
        }
    }
    let rests = x.map(|x| x.as_chunks::<N>().1);
    let common = shortest(rests);
    let heads = rests.map(|rest| &rest[..common]);
    let mut sums = sums.map(|sums| T::joined(Opaque(sums).settle()));
    for i in 0..common {
        for k in 0..K {
            sums[k] = sums[k].plus(heads[k][i]);
        }
    }
    for k in 0..K {
        for &x in &rests[k][common..] {
            sums[k] = sums[k].plus(x);
        }
    }
    sums
}

/// The length of the shortest.
#[inline(always)]
fn shortest<T, const K: usize>(slices: [&[T]; K]) -> usize {
    slices.iter().map(|slice| slice.len()).min().unwrap_or(0)
}

macro_rules! pairwise_real {
    ($($t:ident $sides:literal,)*) => {$(
        impl Running<8> for $t {
            const START: $t = -0.0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self + other
            }
            #[inline(always)]
            fn joined(r: [$t; 8]) -> $t {
                ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
            }
        }
        impl Pairwise for $t {
            const SIDES: usize = $sides;
            type Sum = $t;
            const UNIT: Unit = Unit::Real;
            #[inline(always)]
            fn block(x: &[$t], seen: &mut impl Seen<$t>) -> $t {
                running(x, seen)
            }
            #[inline(always)]
            fn blocks<const K: usize>(x: [&[$t]; K]) -> [$t; K] {
                running_sides(x)
            }
        }
    )*};
}
// at most as many runs as fill eight registers with running sums
pairwise_real!(f32 4, f64 2,);

macro_rules! pairwise_complex {
    ($($t:ident)*) => {$(
        impl Running<4> for $t {
            const START: $t = $t { re: -0.0, im: -0.0 };
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                tier0::Any::add(self, other)
            }
            #[inline(always)]
            fn joined(r: [$t; 4]) -> $t {
                (r[0].plus(r[1])).plus(r[2].plus(r[3]))
            }
        }
        impl Pairwise for $t {
            type Sum = $t;
            const UNIT: Unit = Unit::Complex;
            #[inline(always)]
            fn block(x: &[$t], seen: &mut impl Seen<$t>) -> $t {
                running(x, seen)
            }
        }
    )*};
}
pairwise_complex!(Complex64 Complex128);

impl Pairwise for F16 {
    type Sum = f32;
    const UNIT: Unit = Unit::Real;
    #[inline(always)]
    fn block(x: &[F16], seen: &mut impl Seen<F16>) -> f32 {
        let mut wide = [0.0; BLOCK];
        for (wide, x) in wide.iter_mut().zip(x) {
            *wide = x.to_f32();
        }
        seen.step(x);
        f32::block(&wide[..x.len()], &mut ())
    }
}

/// A number whose sums are of its own type.
pub trait Summed: Pairwise<Sum = Self> + tier0::Number + Bounds {}
impl<T: Pairwise<Sum = T> + tier0::Number + Bounds> Summed for T {}

/// The sum of a run that is one block, or two or four blocks that are summed side by side.
#[inline(always)]
fn few_blocks<T: Pairwise>(x: &[T]) -> Option<T::Sum> {
    let block = T::UNIT.block();
    if x.len() <= block {
        return Some(T::block(x, &mut ()));
    }
    let (left, right) = halves(x);
    if right.len() <= block {
        let [left, right] = T::blocks([left, right]);
        return Some(left.add(right));
    }
    if T::SIDES < 4 || left.len() <= block {
        return None;
    }
    let ((a, b), (c, d)) = (halves(left), halves(right));
    if b.len().max(d.len()) > block {
        return None;
    }
    let [a, b, c, d] = T::blocks([a, b, c, d]);
    Some(a.add(b).add(c.add(d)))
}

/// The two parts into which the tree cuts a run that is longer than a block.
#[inline(always)]
fn halves<T: Pairwise>(x: &[T]) -> (&[T], &[T]) {
    x.split_at(T::UNIT.split(x.len()))
}

/// The elements of the longest run whose blocks are summed side by side. Nodes that threads share are longer.
pub const NEAR: usize = 1 << 14;

/// NumPy's sum of a run.
#[inline(always)]
pub fn tree_run<T: Pairwise>(x: &[T]) -> T::Sum {
    if x.len() <= T::UNIT.block() {
        T::block(x, &mut ())
    } else if T::SIDES > 1 && x.len() <= NEAR {
        side_by_side(x)
    } else {
        in_order(x, &mut ())
    }
}

/// The same, one block after the other: `x` is cut in two until a part is a block; each step is also passed to `seen`.
/// The stack of partial sums is explicit, because a recursive function could not be inlined into each instruction set's
/// version.
#[inline(always)]
pub fn in_order<T: Pairwise>(x: &[T], seen: &mut impl Seen<T>) -> T::Sum {
    let block = T::UNIT.block();
    // pending[d] waits for its right sibling; there is at most one entry per level of the tree
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
        let mut sum = T::block(&x[start..start + n], seen);
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

/// The same, two or four blocks at a time; `x` has at least one block.
#[inline(always)]
fn side_by_side<T: Pairwise>(x: &[T]) -> T::Sum {
    // the parts to sum, the first on top; an empty part means that the last two sums are to be joined
    let mut parts = [const { MaybeUninit::<&[T]>::uninit() }; 2 * LEVELS];
    let mut sums = [const { MaybeUninit::<T::Sum>::uninit() }; LEVELS];
    let (mut left, mut done) = (1, 0);
    parts[0].write(x);
    while left > 0 {
        left -= 1;
        // SAFETY: entries below `left` have been written.
        let part = unsafe { parts[left].assume_init() };
        if part.is_empty() {
            done -= 1;
            // SAFETY: entries below `done` have been written.
            let (first, second) = unsafe { (sums[done - 1].assume_init(), sums[done].assume_init()) };
            sums[done - 1].write(first.add(second));
        } else if let Some(sum) = few_blocks(part) {
            sums[done].write(sum);
            done += 1;
        } else {
            let (first, second) = halves(part);
            parts[left].write(&[]);
            parts[left + 1].write(second);
            parts[left + 2].write(first);
            left += 3;
        }
    }
    // SAFETY: all parts are joined in one sum.
    unsafe { sums[0].assume_init() }
}

/// More levels than the tree of any run has, because each level halves it.
const LEVELS: usize = 64;
