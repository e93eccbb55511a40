//! NumPy's linear congruential bit generators PCG64 and PCG64DXSM: words one by one, and segments of the stream to be
//! recorded.

use super::seed_sequence::SeedSequence;
use super::words::Words;
use numelt_ir::Op;
use numelt_ir::interp::random::{Lcg, PCG64_CHEAP_MULTIPLIER, PCG64_MULTIPLIER, pcg64_output, pcg64dxsm_output};
use numelt_runtime::RandomStream;
use smallvec::SmallVec;

/// A segment of a stream: the operation with the literals of its first element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSegment {
    /// The operation.
    pub op: Op,
    /// Position of the first element.
    pub first: u64,
    /// The words of state, which the operation takes after the position.
    pub state: SmallVec<[u64; 6]>,
}

impl StreamSegment {
    /// The segment in the form that a host engine takes.
    pub fn stream(&self) -> RandomStream<'_> {
        RandomStream { op: self.op, position: self.first, state: &self.state }
    }
}

/// The state of a linear congruential generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pcg64 {
    /// The number to which a step is applied.
    pub state: u128,
    /// The number that each step adds.
    pub increment: u128,
    /// Whether it is PCG64, which steps before it outputs a word, or PCG64DXSM, which steps afterwards.
    pub steps_first: bool,
    /// The upper half of the last word of which the lower half has been output.
    pub half: u32,
    /// Whether `half` has not been output yet.
    pub has_half: bool,
}

/// One step back, as a multiplier and a factor of the increment; for PCG64DXSM, [`CHEAP_BACK`].
const BACK: (u128, u128) = Lcg::leap(PCG64_MULTIPLIER, u128::MAX);
const CHEAP_BACK: (u128, u128) = Lcg::leap(PCG64_CHEAP_MULTIPLIER, u128::MAX);

impl Pcg64 {
    /// PCG64 with a seed.
    pub fn new(seed: &SeedSequence) -> Pcg64 {
        let words = seed.state(4);
        let join = |at: usize| u128::from(words[at]) << 64 | u128::from(words[at + 1]);
        let increment = join(2) << 1 | 1;
        let first =
            Pcg64 { state: increment.wrapping_add(join(0)), increment, steps_first: true, half: 0, has_half: false };
        Pcg64 { state: first.stepped(), ..first }
    }

    fn multiplier(&self) -> u128 {
        if self.steps_first { PCG64_MULTIPLIER } else { PCG64_CHEAP_MULTIPLIER }
    }

    fn stepped(&self) -> u128 {
        self.state.wrapping_mul(self.multiplier()).wrapping_add(self.increment)
    }

    /// Takes `n` words, or halves of words, and advances the state as single draws would. `None`, with nothing changed,
    /// if the stored half is not of the previous word.
    pub fn take(&mut self, n: u64, halves: bool) -> Option<StreamSegment> {
        let multiplier = self.multiplier();
        let lcg = |state| Lcg { state, increment: self.increment, multiplier };
        // word number `k` from a state on
        let word = |from: Lcg, k: u64| {
            if self.steps_first {
                pcg64_output(from.after(u128::from(k) + 1).state)
            } else {
                pcg64dxsm_output(from.after(u128::from(k)).state)
            }
        };
        let (mut start, mut first, mut words) = (lcg(self.state), 0, n);
        let (mut half, mut has_half) = (self.half, self.has_half);
        if halves {
            if has_half {
                let (multiply, add) = if self.steps_first { BACK } else { CHEAP_BACK };
                start.state = multiply.wrapping_mul(self.state).wrapping_add(add.wrapping_mul(self.increment));
                first = 1;
                // the stored half may belong to another word than the last one
                if (word(start, 0) >> 32) as u32 != half {
                    return None;
                }
            }
            let last = first + n - 1;
            words = last / 2 + 1;
            (half, has_half) = ((word(start, last / 2) >> 32) as u32, last.is_multiple_of(2));
        }
        let [high, low] = [(start.state >> 64) as u64, start.state as u64];
        let state = [high, low, (self.increment >> 64) as u64, self.increment as u64];
        let op = if self.steps_first { Op::Pcg64 } else { Op::Pcg64Dxsm };
        self.state = start.after(u128::from(words)).state;
        (self.half, self.has_half) = (half, has_half);
        Some(StreamSegment { op, first, state: SmallVec::from_slice(&state) })
    }
}

impl Words for Pcg64 {
    #[inline]
    fn word(&mut self) -> u64 {
        let before = self.state;
        self.state = self.stepped();
        if self.steps_first { pcg64_output(self.state) } else { pcg64dxsm_output(before) }
    }

    #[inline]
    fn half(&mut self) -> u32 {
        if self.has_half {
            self.has_half = false;
            return self.half;
        }
        let word = self.word();
        (self.half, self.has_half) = ((word >> 32) as u32, true);
        word as u32
    }

    #[inline]
    fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_moves_the_state_as_single_draws_do() {
        for steps_first in [true, false] {
            let start = Pcg64 { steps_first, ..Pcg64::new(&SeedSequence::new(7)) };
            for n in 1..20 {
                let (mut taken, mut drawn) = (start.clone(), start.clone());
                taken.take(n, false).unwrap();
                (0..n).for_each(|_| assert!(drawn.word() > 0));
                assert_eq!(taken, drawn);
                for before in 0..2 {
                    let (mut taken, mut drawn) = (start.clone(), start.clone());
                    (0..before).for_each(|_| assert_eq!(taken.half(), drawn.half()));
                    taken.take(n, true).unwrap();
                    (0..n).for_each(|_| assert!(drawn.half() > 0));
                    assert_eq!(taken, drawn, "{n} after {before}");
                }
            }
        }
    }
}
