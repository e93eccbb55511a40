//! MT19937, the bit generator of NumPy's legacy functions and of Python's module `random`, word by word, and their
//! normal numbers.

use super::words::Words;
use numelt_ir::interp::random::{TWISTER_WORDS, twister_double, twister_next, twister_output};
use std::f64::consts::TAU;

/// The state of MT19937.
#[derive(Debug, Clone, PartialEq)]
pub struct Twister {
    /// The words of which the next outputs are made.
    pub key: Box<[u32; TWISTER_WORDS]>,
    /// How many of them have been used.
    pub position: usize,
    /// The key before the last call of [`Twister::begin`], if it has changed since.
    before: Option<Box<[u32; TWISTER_WORDS]>>,
    keeps: bool,
}

impl Twister {
    /// The generator in this state; `None` if there are not as many words, or more of them have been used.
    pub fn new(key: &[u32], position: usize) -> Option<Twister> {
        let key = Box::new(<[u32; TWISTER_WORDS]>::try_from(key).ok()?);
        (position <= TWISTER_WORDS).then_some(Twister { key, position, before: None, keeps: false })
    }

    /// From now on the generator keeps what [`Twister::go_back`] needs, and no more than that. Returns the position.
    pub fn begin(&mut self) -> usize {
        (self.before, self.keeps) = (None, true);
        self.position
    }

    /// Restores the state of when `begin` returned this position.
    pub fn go_back(&mut self, position: usize) {
        if let Some(before) = self.before.take() {
            self.key = before;
        }
        self.position = position;
    }

    /// The next integer from zero to `last`, which is less than the largest number of 64 bits, by rejection of words of
    /// as few bits as possible: the method of Python's `random`.
    pub fn up_to(&mut self, last: u64) -> u64 {
        let bits = 64 - (last + 1).leading_zeros();
        loop {
            let value = self.bits(bits);
            if value <= last {
                return value;
            }
        }
    }

    /// The next integer with this many bits, at most 64: `random.getrandbits`.
    pub fn bits(&mut self, bits: u32) -> u64 {
        match bits {
            0 => 0,
            1..=32 => u64::from(self.half() >> (32 - bits)),
            _ => {
                let low = u64::from(self.half());
                low | u64::from(self.half() >> (64 - bits)) << 32
            }
        }
    }

    /// The next number of `random.gauss`, which makes two at a time. `kept` is the second one, until it is used.
    pub fn gauss(&mut self, kept: &mut Option<f64>) -> f64 {
        if let Some(number) = kept.take() {
            return number;
        }
        let angle = self.uniform() * TAU;
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        *kept = Some(angle.sin() * radius);
        angle.cos() * radius
    }

    /// The next number of `random.normalvariate`, by the method of Kinderman and Monahan.
    pub fn ratio(&mut self) -> f64 {
        // Python computes `4 * exp(-0.5) / sqrt(2)`
        const MAGIC: f64 = 1.715_527_769_921_413_5;
        loop {
            let first = self.uniform();
            let second = 1.0 - self.uniform();
            let number = MAGIC * (first - 0.5) / second;
            if number * number / 4.0 <= -second.ln() {
                return number;
            }
        }
    }
}

/// The next normal number of NumPy's legacy generator, which makes two at a time by the polar method. `kept` is the
/// second one, until it is used.
pub fn polar(stream: &mut impl Words, kept: &mut Option<f64>) -> f64 {
    if let Some(number) = kept.take() {
        return number;
    }
    loop {
        let first = 2.0 * stream.uniform() - 1.0;
        let second = 2.0 * stream.uniform() - 1.0;
        let square = first * first + second * second;
        if square < 1.0 && square != 0.0 {
            let factor = (-2.0 * square.ln() / square).sqrt();
            *kept = Some(factor * first);
            return factor * second;
        }
    }
}

impl Words for Twister {
    fn word(&mut self) -> u64 {
        let high = u64::from(self.half());
        high << 32 | u64::from(self.half())
    }

    #[inline]
    fn half(&mut self) -> u32 {
        if self.position >= TWISTER_WORDS {
            if self.keeps && self.before.is_none() {
                self.before = Some(self.key.clone());
            }
            twister_next(&mut self.key);
            self.position = 0;
        }
        self.position += 1;
        twister_output(self.key[self.position - 1])
    }

    #[inline]
    fn uniform(&mut self) -> f64 {
        let first = self.half();
        twister_double(first, self.half())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_restores_the_state() {
        let key: Vec<u32> = (0..TWISTER_WORDS as u32).map(|word| word.wrapping_mul(2_654_435_761)).collect();
        let mut stream = Twister::new(&key, TWISTER_WORDS).expect("a state");
        for draws in [0, 1, 5, 700, 2000] {
            let before = (stream.key.clone(), stream.position);
            let position = stream.begin();
            let drawn: Vec<u32> = (0..draws).map(|_| stream.half()).collect();
            stream.go_back(position);
            assert_eq!((stream.key.clone(), stream.position), before, "after {draws}");
            assert!(drawn.iter().all(|word| *word == stream.half()));
        }
        assert!(Twister::new(&key, TWISTER_WORDS + 1).is_none() && Twister::new(&key[1..], 0).is_none());
    }
}
