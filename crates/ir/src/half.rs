//! Half-precision floats: storage of 16 bits, conversions that round once to nearest even.
//!
//! Arithmetic on them happens in f32 (see [`crate::Op::computes_in`]). A vectorizer can turn all branches of the
//! conversions into selections. The payload of a NaN is kept.

/// An IEEE 754 binary16 number, as its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct F16(pub u16);

impl F16 {
    /// Plus zero.
    pub const ZERO: F16 = F16(0);
    /// One.
    pub const ONE: F16 = F16(0x3C00);
    /// Infinity.
    pub const INFINITY: F16 = F16(0x7C00);

    /// The same number as f32.
    #[inline(always)]
    pub fn to_f32(self) -> f32 {
        const EXPONENT: u32 = 0x7C00 << 13;
        // the difference of the exponent biases of f32 and f16
        const REBIAS: u32 = (127 - 15) << 23;
        let magnitude = u32::from(self.0 & 0x7FFF) << 13;
        let exponent = magnitude & EXPONENT;
        let normal = magnitude + REBIAS;
        // a subnormal is computed by adding its mantissa to the least normal number, and subtracting that number again
        let subnormal = (f32::from_bits(normal + (1 << 23)) - f32::from_bits(REBIAS + (1 << 23))).to_bits();
        let finite = if exponent == 0 { subnormal } else { normal };
        let bits = if exponent == EXPONENT { normal + REBIAS } else { finite };
        f32::from_bits(bits | u32::from(self.0 & 0x8000) << 16)
    }

    /// The same bits with the other sign.
    #[inline(always)]
    pub const fn negated(self) -> F16 {
        F16(self.0 ^ 0x8000)
    }

    /// The same bits without the sign.
    #[inline(always)]
    pub const fn absolute(self) -> F16 {
        F16(self.0 & 0x7FFF)
    }

    /// The nearest half, ties to even.
    #[inline(always)]
    pub fn from_f32(value: f32) -> F16 {
        const LEAST_NORMAL: u32 = 113 << 23;
        // adding this shifts a subnormal's mantissa into place, rounded
        const ALIGN: u32 = (127 - 15 + 23 - 10 + 1) << 23;
        let bits = value.to_bits();
        let magnitude = bits & 0x7FFF_FFFF;
        // for larger numbers, this addition could raise floating-point flags
        let small = f32::from_bits(magnitude.min(LEAST_NORMAL)) + f32::from_bits(ALIGN);
        let subnormal = small.to_bits().wrapping_sub(ALIGN);
        let odd = magnitude >> 13 & 1;
        let normal = magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0xFFF + odd) >> 13;
        let payload = magnitude >> 13 & 0x3FF;
        let nan = 0x7C00 | if payload == 0 { 1 } else { payload };
        let large = if magnitude > 0x7F80_0000 { nan } else { 0x7C00 };
        let finite = if magnitude < LEAST_NORMAL { subnormal } else { normal };
        // from 2^16 on everything is infinite; numbers that round up to 2^16 become infinite in the normal case
        let rounded = if magnitude >= 143 << 23 { large } else { finite };
        F16((rounded | bits >> 16 & 0x8000) as u16)
    }

    /// The same number as f64.
    #[inline(always)]
    pub fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    /// The nearest half, ties to even. The intermediate f32 is rounded to odd, so the result is as if rounded once.
    #[inline(always)]
    pub fn from_f64(value: f64) -> F16 {
        let single = value as f32;
        let back = f64::from(single);
        let away = u32::from(back.abs() > value.abs());
        let odd = (single.to_bits().wrapping_sub(away)) | 1;
        let exact = back == value || value.is_nan();
        F16::from_f32(if exact { single } else { f32::from_bits(odd) })
    }
}

#[cfg(test)]
mod tests {
    use super::F16;

    /// The nearest half, found by a search: halves of one sign are ordered like their bits.
    fn nearest(value: f64) -> u16 {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let size = value.abs();
        // infinity counts as the number that would follow the largest half
        let of = |bits: u16| if bits == 0x7C00 { 65536.0 } else { F16(bits).to_f64() };
        let (mut low, mut high) = (0u16, 0x7C00u16);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if of(middle) <= size { low = middle } else { high = middle - 1 }
        }
        if low == 0x7C00 {
            return low | sign;
        }
        let (below, above) = (size - of(low), of(low + 1) - size);
        (if above < below || above == below && low & 1 == 1 { low + 1 } else { low }) | sign
    }

    #[test]
    fn every_half_survives_both_ways() {
        for bits in 0..=u16::MAX {
            let half = F16(bits);
            assert_eq!(F16::from_f32(half.to_f32()), half);
            // a NaN may become quiet in the conversion
            let quiet = if half.to_f32().is_nan() { 0x200 } else { 0 };
            assert_eq!(F16::from_f64(half.to_f64()).0 | quiet, bits | quiet);
        }
        assert_eq!(F16(1).to_f64(), 2f64.powi(-24));
        assert_eq!(F16(0x7BFF).to_f64(), 65504.0);
        assert_eq!(F16(0xFC00).to_f32(), f32::NEG_INFINITY);
    }

    #[test]
    fn conversions_round_to_the_nearest_even() {
        let mut state = 1u64;
        for i in 0..200_000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // exponents around those of halves, and values next to ties
            let exponent = 1023 - 30 + (state >> 40) % 50;
            let mantissa = if i % 2 == 0 { state >> 12 } else { (state >> 53) << 41 | u64::from(i % 8 == 1) };
            let value = f64::from_bits(exponent << 52 | mantissa & ((1 << 52) - 1) | (state >> 33 & 1) << 63);
            assert_eq!(F16::from_f64(value).0, nearest(value), "{value:e}");
            let single = value as f32;
            assert_eq!(F16::from_f32(single).0, nearest(f64::from(single)), "{single:e}");
        }
        for value in [65519.999, 65520.0, 1e300, 1e-300, 0.0, f64::MIN_POSITIVE, 2f64.powi(-25), 2.98023224e-8] {
            assert_eq!(F16::from_f64(value).0, nearest(value), "{value:e}");
            assert_eq!(F16::from_f64(-value).0, nearest(-value), "{value:e}");
        }
        assert_eq!(F16::from_f64(f64::INFINITY), F16::INFINITY);
    }
}
