//! Extremes of runs without NaN, in fewer instructions than those that look out for it.
//!
//! In: a run and a step that is right for numbers. Out: the fold, or word that the run has a NaN.

use super::plain::{Bounds, LANES, Step};

/// An unsigned integer that masks an element.
pub trait MaskBits: Copy {
    /// All bits set for true.
    fn mask(truth: bool) -> Self;
    /// Bits of either.
    fn or(self, other: Self) -> Self;
    /// Is any bit set?
    fn any(self) -> bool;
}
macro_rules! mask_bits {
    ($($t:ident)*) => {$(
        impl MaskBits for $t {
            #[inline(always)]
            fn mask(truth: bool) -> $t {
                (truth as $t).wrapping_neg()
            }
            #[inline(always)]
            fn or(self, other: $t) -> $t {
                self | other
            }
            #[inline(always)]
            fn any(self) -> bool {
                self != 0
            }
        }
    )*};
}
mask_bits!(u32 u64);

/// Folds a run by a step that is right for numbers alone; `None` if NaN is among them. `M` is as wide as an element.
#[inline(always)]
pub fn numbers_run<T: Bounds, S: Step<T, Acc = T>, M: MaskBits>(
    acc: T,
    x: &[T],
    step: impl Fn(T, T) -> T + Copy,
) -> Option<T> {
    if acc.nan() || x.len() < 4 * LANES {
        return None;
    }
    let (mut lanes, mut odd) = ([S::INIT; LANES], [M::mask(false); LANES]);
    let mut chunks = x.chunks_exact(2 * LANES);
    for chunk in &mut chunks {
        for i in 0..LANES {
            let (a, b) = (chunk[i], chunk[i + LANES]);
            lanes[i] = step(step(lanes[i], a), b);
            odd[i] = odd[i].or(M::mask(a.nan() | b.nan()));
        }
    }
    if odd.iter().any(|o| o.any()) {
        return None;
    }
    // from here on as any run in free order
    let mut rest = chunks.remainder();
    if let Some((chunk, last)) = rest.split_first_chunk::<LANES>() {
        for i in 0..LANES {
            lanes[i] = S::step(lanes[i], chunk[i]);
        }
        rest = last;
    }
    let acc = lanes.into_iter().fold(acc, S::join);
    Some(rest.iter().fold(acc, |acc, &x| S::step(acc, x)))
}
