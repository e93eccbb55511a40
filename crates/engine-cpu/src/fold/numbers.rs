//! Runs folded in fewer instructions than step by step: extremes without NaN, truth values and their number.
//!
//! In: a run and what is folded. Out: the fold, or word that the run has to be folded as any other.

use super::plain::{Bounds, LANES, Step};
use crate::tier0::B8;

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
mask_bits!(u8 u16 u32 u64);

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

/// Truth values looked at before it is asked whether the result is known.
const BLOCK: usize = 1024;

/// Lanes of a run of truth values: a full register of the narrowest elements.
const WIDE: usize = 64;

/// Is an element true in a block?
#[inline(always)]
fn has_true<T: Bounds, M: MaskBits>(x: &[T], truth: impl Fn(T) -> bool + Copy) -> bool {
    let mut lanes = [M::mask(false); WIDE];
    let mut chunks = x.chunks_exact(WIDE);
    for chunk in &mut chunks {
        for i in 0..WIDE {
            lanes[i] = lanes[i].or(M::mask(truth(chunk[i])));
        }
    }
    lanes.iter().any(|lane| lane.any()) | chunks.remainder().iter().any(|&x| truth(x))
}

/// "Is any true?" or "are all?" of a run, which stops where the answer is known.
#[inline(always)]
pub fn truths_run<T: Bounds, S: Step<T, Acc = B8>>(acc: B8, x: &[T]) -> Option<B8> {
    // what decides: a true element for "any", whose start is false, and a false one for "all"
    let start = S::INIT.get();
    if acc.get() != start {
        return Some(acc);
    }
    if x.len() < WIDE {
        return None;
    }
    let decides = |x: T| x.truth() != start;
    for block in x.chunks(BLOCK) {
        let decided = match size_of::<T>() {
            1 => has_true::<T, u8>(block, decides),
            2 => has_true::<T, u16>(block, decides),
            4 => has_true::<T, u32>(block, decides),
            _ => has_true::<T, u64>(block, decides),
        };
        if decided {
            return Some(B8::new(!start));
        }
    }
    Some(acc)
}

/// How many are true: lanes of bytes, added up before they overflow.
#[inline(always)]
pub fn count_run(x: &[B8]) -> i64 {
    let mut count = 0i64;
    for block in x.chunks(255 * WIDE) {
        let mut lanes = [0u8; WIDE];
        let mut chunks = block.chunks_exact(WIDE);
        for chunk in &mut chunks {
            for i in 0..WIDE {
                lanes[i] += u8::from(chunk[i].get());
            }
        }
        count += lanes.iter().map(|&lane| i64::from(lane)).sum::<i64>();
        count += chunks.remainder().iter().map(|x| i64::from(x.get())).sum::<i64>();
    }
    count
}
