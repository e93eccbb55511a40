//! sin, cos, tan of one f64 of any size, by exact reduction modulo pi/2.
//!
//! x * 2/pi modulo 4 is computed in integers from as many bits of 2/pi as the exponent
//! of x calls for. In: a scalar the fast reduction refused. Out: the result. Rare, so
//! never inlined, and the only part of the crate that branches on values freely.

use super::quadrant::{quadrant, tan_quadrant};
use crate::coeffs::{FRAC_PI_2, FRAC_PI_2_LO, TWO_OVER_PI_BITS};
use crate::vector::Rare;

macro_rules! rare {
    ($($name:ident $text:literal $of:ident;)*) => {$(
        /// The function as a type.
        pub(super) struct $name;
        impl Rare<f64> for $name {
            const NAME: &'static str = $text;
            #[inline(always)]
            fn of(x: f64) -> f64 {
                $of(x)
            }
        }
    )*};
}
rare! {
    Sin "sin_far" sin;
    Cos "cos_far" cos;
    Tan "tan_far" tan;
}

/// Sine.
#[inline(never)]
fn sin(x: f64) -> f64 {
    signed(x, |q, r, rl| quadrant(r, rl, q))
}

/// Cosine.
#[inline(never)]
fn cos(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (q, r, rl) = reduce(x.abs());
    quadrant(r, rl, q + 1)
}

/// Tangent.
#[inline(never)]
fn tan(x: f64) -> f64 {
    signed(x, |q, r, rl| tan_quadrant(r, rl, q))
}

/// An odd function through the reduction of |x|.
fn signed(x: f64, f: impl Fn(u64, f64, f64) -> f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (q, r, rl) = reduce(x.abs());
    let y = f(q, r, rl);
    if x < 0.0 { -y } else { y }
}

/// Four words of 2/pi from bit `skip` after the binary point.
fn window(skip: usize) -> [u64; 4] {
    let (word, shift) = (skip / 64, skip % 64);
    let at = |i: usize| TWO_OVER_PI_BITS.get(i).copied().unwrap_or(0);
    std::array::from_fn(|i| {
        let pair = u128::from(at(word + i)) << 64 | u128::from(at(word + i + 1));
        (pair << shift >> 64) as u64
    })
}

/// x = (4 n + q) pi/2 + r + rl with |r| <= pi/4, for finite x >= 2^-10.
fn reduce(x: f64) -> (u64, f64, f64) {
    let exponent = (x.to_bits() >> 52) as i64 - 1075;
    let mantissa = (x.to_bits() & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000;
    // bits of 2/pi that only add multiples of 4 are skipped
    let skip = (exponent - 2).max(0);
    let right = (2 - (exponent - skip)) as u32;
    // x / (2 pi) = whole.frac * 2^-right, frac in words, most significant first
    let mut words = [0u64; 5];
    let mut carry = 0u128;
    for (i, w) in window(skip as usize).iter().enumerate().rev() {
        carry += u128::from(*w) * u128::from(mantissa);
        words[i + 1] = carry as u64;
        carry >>= 64;
    }
    words[0] = carry as u64;
    let frac: [u64; 4] = std::array::from_fn(|i| {
        let pair = u128::from(words[i]) << 64 | u128::from(words[i + 1]);
        (pair >> right) as u64
    });
    let q = ((frac[0] >> 61) + 1) >> 1 & 3;
    let (r, rl) = turn_fraction(frac);
    (q, r, rl)
}

/// pi/2 times the signed fraction that is left of `turn * 4` after its nearest integer.
fn turn_fraction(turn: [u64; 4]) -> (f64, f64) {
    let next = |i: usize| if i < 3 { turn[i + 1] >> 62 } else { 0 };
    let mut f: [u64; 4] = std::array::from_fn(|i| turn[i] << 2 | next(i));
    let negative = f[0] >> 63 == 1;
    if negative {
        // The one's complement differs from the negative number by 2^-256, far below the precision of the result.
        f = f.map(|w| !w);
    }
    let mut exponent = -64;
    while f[0] == 0 && exponent > -256 {
        f = [f[1], f[2], f[3], 0];
        exponent -= 64;
    }
    let lead = f[0].leading_zeros() % 64;
    let top = (u128::from(f[0]) << 64 | u128::from(f[1])) << lead;
    let rest = u128::from(f[2]) << lead >> 64;
    let top = top | rest;
    let scale = f64::from_bits(((1023 + exponent - i64::from(lead)) as u64) << 52);
    let high = ((top >> 75) as u64) as f64 * 2048.0;
    let low = ((top >> 11) as u64) as f64 * 2.0f64.powi(-53);
    let (fh, fl) = (high * scale, low * scale);
    let r = fh * FRAC_PI_2;
    let rl = fh.mul_add(FRAC_PI_2, -r) + fh.mul_add(FRAC_PI_2_LO, fl * FRAC_PI_2);
    let (s, e) = (r + rl, (r - (r + rl)) + rl);
    if negative { (-s, -e) } else { (s, e) }
}
