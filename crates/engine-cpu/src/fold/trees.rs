//! NumPy's pairwise sums of runs.
//!
//! In: neighbouring values. Out: their sum, by the tree that NumPy adds them in.

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
    /// Sums a run of at most a block.
    fn block(x: &[Self]) -> Self::Sum;
}

macro_rules! pairwise_real {
    ($($t:ident)*) => {$(
        impl Pairwise for $t {
            type Sum = $t;
            const UNIT: Unit = Unit::Real;
            #[inline(always)]
            fn block(x: &[$t]) -> $t {
                if x.len() < 8 {
                    return x.iter().fold(-0.0, |acc, x| acc + x);
                }
                let mut chunks = x.chunks_exact(8);
                let mut r = [-0.0; 8];
                for c in &mut chunks {
                    for i in 0..8 {
                        r[i] += c[i];
                    }
                }
                let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
                chunks.remainder().iter().fold(sum, |acc, x| acc + x)
            }
        }
    )*};
}
pairwise_real!(f32 f64);

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
                let mut chunks = x.chunks_exact(4);
                let mut r = [start; 4];
                for c in &mut chunks {
                    for i in 0..4 {
                        r[i] = tier0::Any::add(r[i], c[i]);
                    }
                }
                let (a, b) = (tier0::Any::add(r[0], r[1]), tier0::Any::add(r[2], r[3]));
                chunks.remainder().iter().fold(tier0::Any::add(a, b), |a, x| tier0::Any::add(a, *x))
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

/// NumPy's sum of a run: `x` is cut in two until a part is a block. The stack of half-finished sums is
/// explicit, because a recursive function could not be inlined into each instruction set's version.
#[inline(always)]
pub fn tree_run<T: Pairwise>(x: &[T]) -> T::Sum {
    let block = T::UNIT.block();
    if x.len() <= block {
        return T::block(x);
    }
    // pending[d] waits for its right sibling; at most one entry per level of the tree
    let mut pending = [const { MaybeUninit::<(usize, usize, T::Sum, bool)>::uninit() }; 64];
    let mut depth = 0;
    let (mut start, mut n) = (0, x.len());
    loop {
        while n > block {
            let left = T::UNIT.split(n);
            pending[depth].write((start + left, n - left, T::Sum::ZERO, false));
            depth += 1;
            n = left;
        }
        let mut sum = T::block(&x[start..start + n]);
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
