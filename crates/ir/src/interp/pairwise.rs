//! The order in which NumPy adds floats: pairwise inside a run, runs in memory order.

use crate::{Complex64, Complex128, View};
use smallvec::SmallVec;

/// A type that is summed pairwise.
pub trait Summand: Copy {
    /// The number of running sums in a block.
    const LANES: usize;
    /// The identity of addition: it leaves every element unchanged, even minus zero.
    const NEGATIVE_ZERO: Self;
    /// One addition.
    fn plus(self, other: Self) -> Self;
}

impl Summand for f32 {
    const LANES: usize = 8;
    const NEGATIVE_ZERO: f32 = -0.0;
    fn plus(self, other: f32) -> f32 {
        self + other
    }
}

impl Summand for f64 {
    const LANES: usize = 8;
    const NEGATIVE_ZERO: f64 = -0.0;
    fn plus(self, other: f64) -> f64 {
        self + other
    }
}

impl Summand for Complex64 {
    const LANES: usize = 4;
    const NEGATIVE_ZERO: Complex64 = Complex64 { re: -0.0, im: -0.0 };
    fn plus(self, other: Complex64) -> Complex64 {
        Complex64 { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Summand for Complex128 {
    const LANES: usize = 4;
    const NEGATIVE_ZERO: Complex128 = Complex128 { re: -0.0, im: -0.0 };
    fn plus(self, other: Complex128) -> Complex128 {
        Complex128 { re: self.re + other.re, im: self.im + other.im }
    }
}

/// The sum of `get(0) … get(n - 1)` in NumPy's pairwise order.
///
/// With L lanes (8, or 4 for complex values): fewer than L elements are added one after the other to -0.0; up to 16 L
/// elements are added in L running sums, which are combined as a balanced tree, and then the rest one by one; more
/// elements are split in two parts, the first being half of the elements rounded down to a multiple of L, whose sums
/// are added.
pub fn pairwise_sum<T: Summand>(n: usize, get: &mut impl FnMut(usize) -> T) -> T {
    sum_of(0, n, get)
}

fn sum_of<T: Summand>(start: usize, n: usize, get: &mut impl FnMut(usize) -> T) -> T {
    let lanes = T::LANES;
    if n < lanes {
        return (start..start + n).fold(T::NEGATIVE_ZERO, |sum, i| sum.plus(get(i)));
    }
    if n > 16 * lanes {
        let half = n / 2 / lanes * lanes;
        let left = sum_of(start, half, get);
        return left.plus(sum_of(start + half, n - half, get));
    }
    let mut sums: SmallVec<[T; 8]> = (start..start + lanes).map(&mut *get).collect();
    let whole = n / lanes * lanes;
    for i in lanes..whole {
        sums[i % lanes] = sums[i % lanes].plus(get(start + i));
    }
    while sums.len() > 1 {
        sums = sums.chunks(2).map(|pair| pair[0].plus(pair[1])).collect();
    }
    (start + whole..start + n).fold(sums[0], |sum, i| sum.plus(get(i)))
}

/// The axes of a view with an extent other than one, outermost first, in the order in which NumPy traverses memory: by
/// descending size of stride, with C order among equals, and with axes of stride zero in their position in C order.
pub fn memory_order(view: &View) -> SmallVec<[usize; 4]> {
    let stride = |axis: usize| view.strides[axis].unsigned_abs();
    // innermost first, by an insertion sort that skips strides of zero
    let mut order: SmallVec<[usize; 4]> = SmallVec::new();
    for axis in (0..view.rank()).rev().filter(|&axis| view.shape[axis] != 1) {
        let mut target = order.len();
        if stride(axis) != 0 {
            for (i, &inner) in order.iter().enumerate().rev().filter(|(_, inner)| stride(**inner) != 0) {
                if stride(inner) <= stride(axis) {
                    break;
                }
                target = i;
            }
        }
        order.insert(target, axis);
    }
    order.reverse();
    order
}
