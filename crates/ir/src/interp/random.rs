//! Random streams: element `position` of the stream that begins at a given state of a bit generator.
//!
//! From the literals of an instruction and a position follows the number that NumPy's generator draws there. So the
//! operations are pure functions of their operands: PCG64 jumps ahead by a power of its multiplier, and Philox encrypts
//! a counter.
//!
//! Positions count 64-bit words for `u64` and `f64`, and halves of words (the low half first) for `u32` and `f32`.
//! NumPy makes uniform floats from the top 53 and 24 bits.

use crate::{DType, Error, Op, Result, Scalar};

/// Multiplier of PCG64's linear congruential generator.
pub const PCG64_MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
/// Multiplier of PCG64DXSM's.
pub const PCG64_CHEAP_MULTIPLIER: u128 = 0xda94_2042_e4dd_58b5;

/// The number of words in the state of MT19937.
pub const TWISTER_WORDS: usize = 624;
/// The distance of the word that MT19937 mixes in.
const TWISTER_MIDDLE: usize = 397;

/// A word of the next state of MT19937.
#[inline(always)]
pub const fn twister_mix(upper: u32, lower: u32, mixed: u32) -> u32 {
    let y = (upper & 0x8000_0000) | (lower & 0x7fff_ffff);
    mixed ^ (y >> 1) ^ (0u32.wrapping_sub(y & 1) & 0x9908_b0df)
}

/// The next 624 words of the state of MT19937.
#[inline(always)]
pub fn twister_next(key: &mut [u32; TWISTER_WORDS]) {
    for i in 0..TWISTER_WORDS - TWISTER_MIDDLE {
        key[i] = twister_mix(key[i], key[i + 1], key[i + TWISTER_MIDDLE]);
    }
    for i in TWISTER_WORDS - TWISTER_MIDDLE..TWISTER_WORDS - 1 {
        key[i] = twister_mix(key[i], key[i + 1], key[i + TWISTER_MIDDLE - TWISTER_WORDS]);
    }
    key[TWISTER_WORDS - 1] = twister_mix(key[TWISTER_WORDS - 1], key[0], key[TWISTER_MIDDLE - 1]);
}

/// The word that MT19937 makes of one of its state.
#[inline(always)]
pub const fn twister_output(word: u32) -> u32 {
    let mut y = word;
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c_5680;
    y ^= (y << 15) & 0xefc6_0000;
    y ^ (y >> 18)
}

/// The number in `[0, 1)` with 53 bits that MT19937 makes of two words.
#[inline(always)]
pub fn twister_double(first: u32, second: u32) -> f64 {
    let (a, b) = ((first >> 5) as i32, (second >> 6) as i32);
    (f64::from(a) * 67_108_864.0 + f64::from(b)) * (1.0 / 9_007_199_254_740_992.0)
}

/// State of a linear congruential generator modulo 2^128.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lcg {
    /// The current state.
    pub state: u128,
    /// The odd constant that each step adds.
    pub increment: u128,
    /// The multiplier of each step.
    pub multiplier: u128,
}

impl Lcg {
    /// The multiplier, and the factor of the increment, of `steps` steps; steps count modulo 2^128.
    pub const fn leap(multiplier: u128, steps: u128) -> (u128, u128) {
        let (mut multiply, mut add) = (1u128, 0u128);
        let (mut power, mut sum) = (multiplier, 1u128);
        let mut left = steps;
        while left > 0 {
            if left & 1 == 1 {
                multiply = multiply.wrapping_mul(power);
                add = add.wrapping_mul(power).wrapping_add(sum);
            }
            sum = power.wrapping_add(1).wrapping_mul(sum);
            power = power.wrapping_mul(power);
            left >>= 1;
        }
        (multiply, add)
    }

    /// The generator after `steps` steps.
    pub const fn after(self, steps: u128) -> Lcg {
        let (multiply, add) = Lcg::leap(self.multiplier, steps);
        let state = multiply.wrapping_mul(self.state).wrapping_add(add.wrapping_mul(self.increment));
        Lcg { state, ..self }
    }
}

/// PCG64's output of a state (xor shift low, random rotation).
#[inline(always)]
pub const fn pcg64_output(state: u128) -> u64 {
    ((state >> 64) as u64 ^ state as u64).rotate_right((state >> 122) as u32)
}

/// PCG64DXSM's output of a state (double xor shift multiply).
#[inline(always)]
pub const fn pcg64dxsm_output(state: u128) -> u64 {
    let (mut high, low) = ((state >> 64) as u64, state as u64 | 1);
    high ^= high >> 32;
    high = high.wrapping_mul(PCG64_CHEAP_MULTIPLIER as u64);
    high ^= high >> 48;
    high.wrapping_mul(low)
}

/// Philox 4x64 with ten rounds.
#[inline(always)]
pub const fn philox4x64(counter: [u64; 4], key: [u64; 2]) -> [u64; 4] {
    let ([mut a, mut b, mut c, mut d], [mut k, mut l]) = (counter, key);
    let mut round = 0;
    while round < 10 {
        let left = a as u128 * 0xd2e7_470e_e14c_6c93;
        let right = c as u128 * 0xca5a_8263_9512_1157;
        (a, b, c, d) = ((right >> 64) as u64 ^ b ^ k, right as u64, (left >> 64) as u64 ^ d ^ l, left as u64);
        k = k.wrapping_add(0x9e37_79b9_7f4a_7c15);
        l = l.wrapping_add(0xbb67_ae85_84ca_a73b);
        round += 1;
    }
    [a, b, c, d]
}

/// A 256-bit counter advanced by `blocks`, least significant word first.
#[inline(always)]
pub const fn counter_after(counter: [u64; 4], blocks: u64) -> [u64; 4] {
    let (a, carry) = counter[0].overflowing_add(blocks);
    let (b, carry) = counter[1].overflowing_add(carry as u64);
    let (c, carry) = counter[2].overflowing_add(carry as u64);
    [a, b, c, counter[3].wrapping_add(carry as u64)]
}

/// Word number `position` of a stream whose literals are `state`.
fn word(op: Op, position: u64, state: &[u64]) -> Result<u64> {
    let lcg = |multiplier| Lcg {
        state: u128::from(state[0]) << 64 | u128::from(state[1]),
        increment: u128::from(state[2]) << 64 | u128::from(state[3]),
        multiplier,
    };
    match (op, state.len()) {
        (Op::Pcg64, 4) => Ok(pcg64_output(lcg(PCG64_MULTIPLIER).after(u128::from(position) + 1).state)),
        (Op::Pcg64Dxsm, 4) => Ok(pcg64dxsm_output(lcg(PCG64_CHEAP_MULTIPLIER).after(u128::from(position)).state)),
        (Op::Philox, 6) => {
            let counter = counter_after([state[0], state[1], state[2], state[3]], position >> 2);
            Ok(philox4x64(counter, [state[4], state[5]])[(position & 3) as usize])
        }
        _ => Err(Error::Invalid(format!("{} is not a random stream of {} words", op.name(), state.len()))),
    }
}

/// An element of a stream; see the module's documentation.
pub(super) fn stream(op: Op, ty: DType, ins: &[Scalar]) -> Result<Scalar> {
    let invalid = || Error::Invalid(format!("{}.{ty} does not take these operands", op.name()));
    let words = ins.iter().map(|v| if let Scalar::U64(v) = v { Some(*v) } else { None });
    let words = words.collect::<Option<Vec<u64>>>().ok_or_else(invalid)?;
    let (position, state) = words.split_first().ok_or_else(invalid)?;
    let half = |position: u64| -> Result<u32> { Ok((word(op, position >> 1, state)? >> (32 * (position & 1))) as u32) };
    match ty {
        DType::U64 => Ok(Scalar::U64(word(op, *position, state)?)),
        DType::F64 => Ok(Scalar::F64((word(op, *position, state)? >> 11) as f64 * 2f64.powi(-53))),
        DType::U32 => Ok(Scalar::U32(half(*position)?)),
        DType::F32 => Ok(Scalar::F32((half(*position)? >> 8) as f32 * 2f32.powi(-24))),
        _ => Err(invalid()),
    }
}
