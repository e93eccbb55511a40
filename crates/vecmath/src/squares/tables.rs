//! The tables of the C library's `pow`, computed from their definitions while numelt is compiled.
//!
//! In: nothing. Out: [`LOGS`] and [`POWERS`]. Numbers are computed as integers with [`PLACES`] binary places.

/// The binary places of the integers that numbers are computed with.
const PLACES: u32 = 124;
const ONE: u128 = 1 << PLACES;
/// Logarithms in the table have this many binary places, so that sums with multiples of ln 2 are exact.
const LOG_PLACES: u32 = 43;
/// The fraction of a double has so many bits.
const FRACTION: u32 = 52;

/// The number of entries of each table, as a power of two.
pub(super) const BITS: u32 = 7;
const ENTRIES: usize = 1 << BITS;
/// The bits of the number at which the table of logarithms begins, about 0.7056; it ends at twice that number.
pub(super) const FIRST: u64 = 0x3FE6_9555_0000_0000;

/// About each of 128 parts of the numbers from [`FIRST`] on: about the reciprocal of c, a number in the middle; the
/// logarithm of c; and what it lacks.
pub(super) static LOGS: [[f64; 4]; ENTRIES] = logs();

/// Of each of the 128 powers 2^(k / 128): what the rounded power lacks, relative to it; and the bits of the rounded
/// power, less k / 128 of the exponent's unit.
pub(super) static POWERS: [[u64; 2]; ENTRIES] = powers();

const fn logs() -> [[f64; 4]; ENTRIES] {
    let mut table = [[0.0; 4]; ENTRIES];
    let mut k = 0;
    while k < ENTRIES {
        // the middle of the part is m 2^-e
        let middle = FIRST + ((k as u64) << (FRACTION - BITS)) + (1 << (FRACTION - BITS - 1));
        let m = (middle & ((1 << FRACTION) - 1) | 1 << FRACTION) as u128;
        let e = 1023 + FRACTION - (middle >> FRACTION) as u32;
        // its reciprocal in units of 1/256, rounded to an even number of them below one
        let step = if e > FRACTION { 2 } else { 1 };
        let reciprocal = ((256u128 << e) + m * step / 2) / (m * step) * step;
        let log = -log_of_256ths(reciprocal as i128);
        let unit = 1i128 << (PLACES - LOG_PLACES);
        let rounded = (log + unit / 2).div_euclid(unit);
        let rest = log - rounded * unit;
        table[k] = [reciprocal as f64 / 256.0, double(rounded, LOG_PLACES), double(rest, PLACES), 0.0];
        k += 1;
    }
    table
}

/// The natural logarithm of m / 256, for m near 256: twice the area tangent of (m - 256) / (m + 256).
const fn log_of_256ths(m: i128) -> i128 {
    let (above, below) = (m - 256, m + 256);
    let mut power = (above << 96) / below * (1 << (PLACES - 96));
    power += (((above << 96) % below) << (PLACES - 96)) / below;
    let (mut sum, mut k) = (0, 1);
    while power != 0 {
        sum += power / k;
        let (square, divisor) = (above * above, below * below);
        power = power / divisor * square + power % divisor * square / divisor;
        k += 2;
    }
    2 * sum
}

const fn powers() -> [[u64; 2]; ENTRIES] {
    // e^x for x = ln 2 / 128
    let x = -log_of_256ths(128) as u128 / ENTRIES as u128;
    let (mut root, mut term, mut k) = (0, ONE, 1);
    while term != 0 {
        root += term;
        term = product(term, x) / k;
        k += 1;
    }
    let mut table = [[0; 2]; ENTRIES];
    let (mut power, mut k) = (ONE, 0);
    while k < ENTRIES {
        let rounded = double(power as i128, PLACES).to_bits();
        let significand = (rounded & ((1 << FRACTION) - 1) | 1 << FRACTION) as i128;
        let rest = power as i128 - (significand << (PLACES - FRACTION));
        // rest 2^-124 / (significand 2^-52)
        let relative = double((rest << 50) / significand, PLACES - FRACTION + 50);
        table[k] = [relative.to_bits(), rounded - ((k as u64) << (FRACTION - BITS))];
        power = product(power, root);
        k += 1;
    }
    table
}

/// The product of two numbers.
const fn product(a: u128, b: u128) -> u128 {
    let half = u64::MAX as u128;
    let (high, low) = ([a >> 64, b >> 64], [a & half, b & half]);
    let middle = high[0] * low[1] + ((low[0] * low[1]) >> 64);
    let other = high[1] * low[0] + (middle & half);
    // the product's bits from 128 on, and the 64 below
    let top = high[0] * high[1] + (middle >> 64) + (other >> 64);
    top << (128 - PLACES) | (other & half) >> (PLACES - 64)
}

/// An integer with so many binary places, rounded to a double.
const fn double(number: i128, places: u32) -> f64 {
    let size = number.unsigned_abs();
    if size == 0 {
        return 0.0;
    }
    let length = 128 - size.leading_zeros();
    let excess = length as i32 - (FRACTION as i32 + 1);
    let significand = if excess > 0 { (size + (1 << (excess - 1))) >> excess } else { size << -excess };
    // a significand that rounding made longer goes into the exponent
    let exponent = (1023 + FRACTION as i32 + excess - places as i32 - 1) as u64;
    let bits = (exponent << FRACTION) + significand as u64;
    f64::from_bits(if number < 0 { bits | 1 << 63 } else { bits })
}
