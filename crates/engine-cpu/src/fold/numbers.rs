//! Runs that can be folded in fewer instructions: extremes without NaN, truth values, and counts of truth values.
//!
//! In: a run, and the operation of the fold. Out: the fold, or the answer that the run must be folded in the general
//! way.

use super::bounds::Bounds;
use super::opaque::Opaque;
use super::step::Step;
use crate::tier0::B8;
use numelt_ir::DType;

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

/// Applies a step to each pair of corresponding elements of two groups. It works on whole registers: written lane by
/// lane, the compiler would put some types into parts of registers.
#[inline(always)]
fn beside<T: Copy, const N: usize>(a: &[T; N], b: &[T; N], step: impl Fn(T, T) -> T) -> [T; N] {
    let mut out = *a;
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = step(*a, *b);
    }
    out
}

/// The positions of NaNs.
#[inline(always)]
fn unordered<T: Bounds, M: MaskBits, const N: usize>(a: &[T; N], b: &[T; N]) -> [M; N] {
    let mut out = [M::mask(false); N];
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = M::mask(a.nan() | b.nan());
    }
    out
}

/// The number of contiguous elements that an extreme takes at a time, from each of as many rows of that length.
const SIDE: usize = 8;
const DEEP: usize = 8;

/// The extremes of a run of numbers, in lanes. If there is a NaN, `odd` says so, and the extremes are meaningless.
pub struct Lanes<T, M, const WATCH: bool> {
    best: [T; SIDE],
    odd: [M; SIDE],
}

impl<T: Bounds, M: MaskBits, const WATCH: bool> Lanes<T, M, WATCH> {
    /// The extremes of the empty range.
    #[inline(always)]
    pub fn new(start: T) -> Self {
        Lanes { best: [start; SIDE], odd: [M::mask(false); SIDE] }
    }

    /// Absorbs a run by a step that is right for numbers only. Eight elements are combined before they meet the lane's
    /// extreme, which depends on the previous one: so fewer instructions wait for each other, and two registers hold
    /// all lanes.
    #[inline(always)]
    pub fn absorb(&mut self, x: &[T], step: impl Fn(T, T) -> T + Copy) {
        let (rows, _) = x.as_chunks::<SIDE>();
        let (blocks, _) = rows.as_chunks::<DEEP>();
        let rest = &x[blocks.len() * SIDE * DEEP..];
        for [a, b, c, d, e, f, g, h] in blocks {
            let first = beside(&beside(a, b, step), &beside(c, d, step), step);
            let second = beside(&beside(e, f, step), &beside(g, h, step), step);
            self.best = beside(&self.best, &beside(&first, &second, step), step);
            if WATCH {
                let first = beside(&unordered(a, b), &unordered(c, d), M::or);
                let second = beside(&unordered(e, f), &unordered(g, h), M::or);
                self.odd = beside(&self.odd, &beside(&first, &second, M::or), M::or);
            }
        }
        let (chunks, rest) = rest.as_chunks::<SIDE>();
        for chunk in chunks {
            self.row(chunk, step);
        }
        // missing elements of the last row are the lanes' own values: accessing single lanes would move the registers
        // to memory
        let mut last = self.best;
        last[..rest.len()].copy_from_slice(rest);
        self.row(&last, step);
    }

    #[inline(always)]
    fn row(&mut self, x: &[T; SIDE], step: impl Fn(T, T) -> T) {
        self.best = beside(&self.best, x, step);
        if WATCH {
            self.odd = beside(&self.odd, &unordered(x, x), M::or);
        }
    }

    /// Whether a lane has met a NaN.
    #[inline(always)]
    pub fn odd(&self) -> bool {
        Opaque(self.odd).settle().iter().any(|o| o.any())
    }

    /// All lanes joined into an accumulator.
    #[inline(always)]
    pub fn join(&self, acc: T, join: impl Fn(T, T) -> T) -> T {
        Opaque(self.best).settle().into_iter().fold(acc, join)
    }
}

/// Folds a run to an extreme by a step that is right for numbers only; `None` if there is a NaN, and for other types.
#[inline(always)]
pub fn extreme_run<T: Bounds, S: Step<T, Acc = T>>(acc: T, x: &[T], step: impl Fn(T, T) -> T + Copy) -> Option<T> {
    match T::DTYPE {
        DType::F64 => numbers_run::<T, S, u64>(acc, x, step),
        DType::F32 => numbers_run::<T, S, u32>(acc, x, step),
        _ => integers_extreme(x, step).map(|found| step(acc, found)),
    }
}

/// Folds a run of floats to the extreme of those that are numbers. `None` if there is none, or if the extreme is a
/// zero, whose sign depends on the order; and for other types.
#[inline(always)]
pub fn among_run<T: Bounds, S: Step<T, Acc = T>>(acc: T, x: &[T]) -> Option<T> {
    let found = match T::DTYPE {
        DType::F64 | DType::F32 if x.len() >= SIDE * DEEP => {
            let mut lanes = Lanes::<T, u8, false>::new(S::INIT);
            lanes.absorb(x, S::step);
            lanes.join(S::INIT, S::step)
        }
        _ => return None,
    };
    if found.nan() | found.has_zero() { None } else { Some(S::join(acc, found)) }
}

/// Folds a run by a step that is right for numbers only; `None` if there is a NaN. `M` is as wide as an element.
#[inline(always)]
fn numbers_run<T: Bounds, S: Step<T, Acc = T>, M: MaskBits>(
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

/// The extreme of a run of integers, in any order, as many elements at a time as fill a register; `None` for other
/// types and short runs.
#[inline(always)]
pub fn integers_extreme<T: Bounds>(x: &[T], step: impl Fn(T, T) -> T + Copy) -> Option<T> {
    match T::DTYPE {
        DType::I8 | DType::U8 => registers_extreme::<T, 32>(x, step),
        DType::I16 | DType::U16 => registers_extreme::<T, 16>(x, step),
        DType::I32 | DType::U32 => registers_extreme::<T, 8>(x, step),
        DType::I64 | DType::U64 => registers_extreme::<T, 4>(x, step),
        DType::Bool | DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 => None,
    }
}

/// The same, `N` elements at a time.
#[inline(always)]
fn registers_extreme<T: Bounds, const N: usize>(x: &[T], step: impl Fn(T, T) -> T + Copy) -> Option<T> {
    let (registers, rest) = x.as_chunks::<N>();
    let mut best = *registers.first()?;
    let (blocks, single) = registers.as_chunks::<4>();
    for [a, b, c, d] in blocks {
        let both = beside(&beside(a, b, step), &beside(c, d, step), step);
        best = beside(&best, &both, step);
    }
    for register in single {
        best = beside(&best, register, step);
    }
    let first = best[0];
    Some(Opaque(best).settle().into_iter().chain(rest.iter().copied()).fold(first, step))
}

/// The number of truth values after which it is tested whether the result is known.
const BLOCK: usize = 1024;

/// Lanes of a run of truth values: a full register of the narrowest elements.
const WIDE: usize = 64;

/// Whether an element of a block is true.
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

/// `any` or `all` of a run, which stops when the result is known.
#[inline(always)]
pub fn truths_run<T: Bounds, S: Step<T, Acc = B8>>(acc: B8, x: &[T]) -> Option<B8> {
    // the deciding value: true for `any`, which starts with false, and false for `all`
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

/// The number of true elements, counted in lanes of bytes, which are added up before they overflow.
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
