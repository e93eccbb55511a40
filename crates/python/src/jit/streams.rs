//! The copy of a random generator's state from which a run of compiled code draws, and which goes back to where it was
//! at the beginning of a statement if CPython has to repeat the statement.
//!
//! Not here: the generators of the program (`draws`), and how numbers are made of words (crate `numelt`).

use numelt::random::twister::polar;
use numelt::random::{Pcg64, Twister, Words, ziggurat};
use numelt_jit::Draw;

/// The words of a generator.
#[derive(Debug, Clone)]
pub enum Bits {
    /// PCG64 or PCG64DXSM.
    Pcg(Pcg64),
    /// MT19937.
    Twister(Twister),
}

/// A copy of the state of a generator.
#[derive(Debug)]
pub struct Stream {
    pub bits: Bits,
    /// The second number of a pair, which the next draw returns.
    pub kept: Option<f64>,
    /// The state at the beginning of a statement.
    before: Option<(Before, Option<f64>)>,
    /// Has anything been drawn?
    pub has_drawn: bool,
}

#[derive(Debug)]
enum Before {
    Pcg(Pcg64),
    Twister(usize),
}

impl Words for Bits {
    #[inline]
    fn word(&mut self) -> u64 {
        match self {
            Bits::Pcg(stream) => stream.word(),
            Bits::Twister(stream) => stream.word(),
        }
    }

    #[inline]
    fn half(&mut self) -> u32 {
        match self {
            Bits::Pcg(stream) => stream.half(),
            Bits::Twister(stream) => stream.half(),
        }
    }

    #[inline]
    fn uniform(&mut self) -> f64 {
        match self {
            Bits::Pcg(stream) => stream.uniform(),
            Bits::Twister(stream) => stream.uniform(),
        }
    }
}

impl Stream {
    /// The copy of a state.
    pub fn new(bits: Bits, kept: Option<f64>) -> Stream {
        Stream { bits, kept, before: None, has_drawn: false }
    }

    /// The first draw of a statement follows.
    pub fn begin(&mut self) {
        self.has_drawn = true;
        let before = match &mut self.bits {
            Bits::Pcg(stream) => Before::Pcg(stream.clone()),
            Bits::Twister(stream) => Before::Twister(stream.begin()),
        };
        self.before = Some((before, self.kept));
    }

    /// Undoes the draws since [`Stream::begin`].
    pub fn go_back(&mut self) {
        let Some((before, kept)) = self.before.take() else { return };
        self.kept = kept;
        match (&mut self.bits, before) {
            (Bits::Pcg(stream), Before::Pcg(before)) => *stream = before,
            (Bits::Twister(stream), Before::Twister(before)) => stream.go_back(before),
            _ => unreachable!("a stream stays what it is"),
        }
    }

    /// Draws a number, and returns its bits.
    pub fn draw(&mut self, draw: Draw, operands: [i64; 2]) -> u64 {
        let [low, last] = operands.map(|operand| operand as u64);
        let bits = &mut self.bits;
        match (draw, bits) {
            (Draw::Uniform, bits) => bits.uniform().to_bits(),
            (Draw::Normal, bits) => ziggurat::normal(bits).to_bits(),
            (Draw::Exponential, bits) => ziggurat::exponential(bits).to_bits(),
            (Draw::Between, bits) => low.wrapping_add(bits.below_or_at(last.wrapping_sub(low))),
            (Draw::MaskedBetween, bits) => low.wrapping_add(bits.masked(last.wrapping_sub(low))),
            (Draw::Polar, bits) => polar(bits, &mut self.kept).to_bits(),
            (Draw::BitsBetween, Bits::Twister(stream)) => low.wrapping_add(stream.up_to(last.wrapping_sub(low))),
            (Draw::Bits, Bits::Twister(stream)) => stream.bits(low as u32),
            (Draw::Gauss, Bits::Twister(stream)) => stream.gauss(&mut self.kept).to_bits(),
            (Draw::Ratio, Bits::Twister(stream)) => stream.ratio().to_bits(),
            _ => unreachable!("Python's generator is a twister"),
        }
    }
}
