//! Runs folded in fewer instructions than step by step: extremes without NaN, truth values and their number.
//!
//! In: a run and what is folded. Out: the fold, or word that the run has to be folded as any other.

use super::plain::{Bounds, Step};
use super::trees::Opaque;
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

/// Elements that an extreme takes at a time: so many neighbours, each with so many others that are as many apart.
const SIDE: usize = 8;
const DEEP: usize = 8;

/// Extremes of a run of numbers, in lanes; where there is a NaN, `odd` says so and they mean nothing.
pub struct Lanes<T, M, const WATCH: bool> {
    best: [T; SIDE],
    odd: [M; SIDE],
}

impl<T: Bounds, M: MaskBits, const WATCH: bool> Lanes<T, M, WATCH> {
    /// Those of nothing.
    #[inline(always)]
    pub fn new(start: T) -> Self {
        Lanes { best: [start; SIDE], odd: [M::mask(false); SIDE] }
    }

    /// Absorbs a run by a step that is right for numbers. Eight of them make one before it meets the lane's, which depends
    /// on the one before: fewer instructions wait, and two registers hold all lanes.
    #[inline(always)]
    pub fn absorb(&mut self, x: &[T], step: impl Fn(T, T) -> T + Copy) {
        let (chunks, rest) = x.as_chunks::<{ SIDE * DEEP }>();
        for chunk in chunks {
            for i in 0..SIDE {
                let v: [T; DEEP] = std::array::from_fn(|k| chunk[i + SIDE * k]);
                let pairs: [T; 4] = std::array::from_fn(|k| step(v[2 * k], v[2 * k + 1]));
                self.best[i] = step(self.best[i], step(step(pairs[0], pairs[1]), step(pairs[2], pairs[3])));
                if WATCH {
                    let odd: [M; 4] = std::array::from_fn(|k| M::mask(v[2 * k].nan() | v[2 * k + 1].nan()));
                    self.odd[i] = self.odd[i].or(odd[0].or(odd[1]).or(odd[2].or(odd[3])));
                }
            }
        }
        let (chunks, rest) = rest.as_chunks::<SIDE>();
        for chunk in chunks {
            for (i, &x) in chunk.iter().enumerate() {
                self.one(i, x, step);
            }
        }
        for (i, &x) in rest.iter().enumerate() {
            self.one(i, x, step);
        }
    }

    #[inline(always)]
    fn one(&mut self, lane: usize, x: T, step: impl Fn(T, T) -> T) {
        self.best[lane] = step(self.best[lane], x);
        if WATCH {
            self.odd[lane] = self.odd[lane].or(M::mask(x.nan()));
        }
    }

    /// Has a lane met a NaN?
    #[inline(always)]
    pub fn odd(&self) -> bool {
        self.odd.iter().any(|o| o.any())
    }

    /// All lanes joined into an accumulator.
    #[inline(always)]
    pub fn join(&self, acc: T, join: impl Fn(T, T) -> T) -> T {
        Opaque(self.best).settle().into_iter().fold(acc, join)
    }
}

/// Folds a run by a step that is right for numbers alone; `None` if NaN is among them. `M` is as wide as an element.
#[inline(always)]
pub fn numbers_run<T: Bounds, S: Step<T, Acc = T>, M: MaskBits>(
    acc: T,
    x: &[T],
    step: impl Fn(T, T) -> T + Copy,
) -> Option<T> {
    if acc.nan() || x.len() < SIDE * DEEP {
        return None;
    }
    let mut lanes = Lanes::<T, M, true>::new(S::INIT);
    lanes.absorb(x, step);
    if lanes.odd() { None } else { Some(lanes.join(acc, S::join)) }
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
