//! Functions of numbers that the reference interpreter and the engines share: neighbours, exponents and fractions of
//! floats, divisors and bits of integers. They have NumPy's results for zeros, infinities and NaN.

use crate::F16;

/// Functions on the bits of a float.
pub trait FloatParts: Copy {
    /// The next number from `self` towards `other`.
    fn next_after(self, other: Self) -> Self;
    /// The distance to the next number away from zero, with the sign of `self`; for f16, the distance to the next
    /// larger number.
    fn spacing(self) -> Self;
}

/// Functions of f32 and f64, the types in which floating-point arithmetic is computed: exponents, fractions, and others
/// that are a few steps of NumPy's.
pub trait FloatFunctions: Copy {
    /// `self` times two to the `exponent`, rounded once.
    fn load_exponent(self, exponent: i64) -> Self;
    /// Mantissa in [0.5, 1) and exponent; zeros, infinities and NaN are their own mantissa with exponent zero.
    fn split_exponent(self) -> (Self, i32);
    /// The fractional part, with the sign of `self`.
    fn fraction(self) -> Self;
    /// 0 below zero, 1 above, `at_zero` at zero.
    fn heaviside(self, at_zero: Self) -> Self;
    /// `log(exp(self) + exp(other))`, by NumPy's steps.
    fn log_add_exp(self, other: Self) -> Self;
    /// The same for base two.
    fn log_add_exp2(self, other: Self) -> Self;
    /// One degree in radians.
    const DEGREE: Self;
    /// One radian in degrees.
    const RADIAN: Self;
}

/// The result of `next_after` for two equal f16. (Zeros are equal, whatever their signs.)
fn first<T>(a: T, _: T) -> T {
    a
}

/// The same for other floats.
fn second<T>(_: T, b: T) -> T {
    b
}

macro_rules! next_after {
    ($t:ident, $nan:expr, $value:ident, $bits:ident, $equal:ident) => {
        #[inline]
        fn next_after(self, other: $t) -> $t {
            let (a, b) = ($value(self), $value(other));
            if a.is_nan() || b.is_nan() {
                return $nan;
            }
            if a == b {
                return $equal(self, other);
            }
            let (sign, size) = $bits::split(self);
            if size == 0 {
                return $bits::join(b.is_sign_negative(), 1);
            }
            let outwards = (a < b) == !sign;
            $bits::join(sign, if outwards { size + 1 } else { size - 1 })
        }
    };
}

macro_rules! bits {
    ($module:ident, $t:ty, $u:ty, $from:expr, $to:expr) => {
        mod $module {
            const SIGN: $u = 1 << (<$u>::BITS - 1);
            /// The sign, and the bits without it.
            #[inline]
            pub fn split(value: $t) -> (bool, $u) {
                let bits: $u = $to(value);
                (bits & SIGN != 0, bits & !SIGN)
            }
            /// The inverse of `split`.
            #[inline]
            pub fn join(sign: bool, size: $u) -> $t {
                $from(if sign { size | SIGN } else { size })
            }
        }
    };
}
bits!(bits16, super::F16, u16, super::F16, |v: super::F16| v.0);
bits!(bits32, f32, u32, f32::from_bits, f32::to_bits);
bits!(bits64, f64, u64, f64::from_bits, f64::to_bits);

impl FloatParts for F16 {
    next_after!(F16, F16(0x7E00), to_single, bits16, first);

    #[inline]
    fn spacing(self) -> F16 {
        const QUIET: F16 = F16(0x7E00);
        let (exponent, mantissa) = (self.0 & 0x7C00, self.0 & 0x3FF);
        if exponent == 0x7C00 {
            return QUIET;
        }
        if self.0 == 0x7BFF {
            return F16::INFINITY;
        }
        // below a negative power of two the numbers are twice as dense as above
        let exponent = i32::from(exponent >> 10) - i32::from(self.0 & 0x8000 != 0 && mantissa == 0);
        match exponent {
            11.. => F16(((exponent - 10) << 10) as u16),
            2..=10 => F16(1 << (exponent - 1)),
            _ => F16(1),
        }
    }
}

#[inline]
fn to_single(value: F16) -> f32 {
    value.to_f32()
}

#[inline]
fn itself<T>(value: T) -> T {
    value
}

macro_rules! floats {
    ($($t:ident, $u:ident, $bits:ident, $max:literal, $min:literal, $mantissa:literal;)*) => {$(
        impl FloatParts for $t {
            next_after!($t, $t::NAN, itself, $bits, second);

            #[inline]
            fn spacing(self) -> $t {
                if self.is_infinite() {
                    return $t::NAN;
                }
                if self == 0.0 {
                    return $t::from_bits(1);
                }
                self.next_after($t::INFINITY.copysign(self)) - self
            }
        }

        impl FloatFunctions for $t {
            #[inline]
            fn load_exponent(self, exponent: i64) -> $t {
                let power = |n: i64| $t::from_bits(((n + $max) as $u) << ($mantissa - 1));
                // the steps keep the mantissa away from subnormals, so that only the last product rounds
                let (mut value, mut left) = (self, exponent.clamp(-4 * $max, 4 * $max));
                for _ in 0..2 {
                    let part = if left > $max { $max } else if left < $min { $min + $mantissa } else { 0 };
                    value *= power(part);
                    left -= part;
                }
                value * power(left.clamp($min, $max))
            }

            #[inline]
            fn split_exponent(self) -> ($t, i32) {
                if self == 0.0 || !self.is_finite() {
                    return (self, 0);
                }
                let subnormal = self.abs() < $t::MIN_POSITIVE;
                let scaled = if subnormal { self * (1u64 << $mantissa) as $t } else { self };
                let (sign, size) = $bits::split(scaled);
                let exponent = (size >> ($mantissa - 1)) as i32 - ($max - 1);
                let mantissa = size & ((1 << ($mantissa - 1)) - 1) | (($max - 1) << ($mantissa - 1));
                ($bits::join(sign, mantissa), exponent - if subnormal { $mantissa } else { 0 })
            }

            #[inline]
            fn fraction(self) -> $t {
                let rest = if self.is_infinite() { 0.0 } else { self - self.trunc() };
                if self.is_nan() { self } else { rest.copysign(self) }
            }

            const DEGREE: $t = std::$t::consts::PI / 180.0;
            const RADIAN: $t = 180.0 / std::$t::consts::PI;

            #[inline]
            fn log_add_exp(self, other: $t) -> $t {
                let difference = self - other;
                if self == other {
                    self + std::$t::consts::LN_2
                } else if difference > 0.0 {
                    self + (-difference).exp().ln_1p()
                } else if difference <= 0.0 {
                    other + difference.exp().ln_1p()
                } else {
                    difference
                }
            }

            #[inline]
            fn log_add_exp2(self, other: $t) -> $t {
                let difference = self - other;
                if self == other {
                    self + 1.0
                } else if difference > 0.0 {
                    self + std::$t::consts::LOG2_E * (-difference).exp2().ln_1p()
                } else if difference <= 0.0 {
                    other + std::$t::consts::LOG2_E * difference.exp2().ln_1p()
                } else {
                    difference
                }
            }

            #[inline]
            fn heaviside(self, at_zero: $t) -> $t {
                if self.is_nan() {
                    self
                } else if self == 0.0 {
                    at_zero
                } else if self < 0.0 {
                    0.0
                } else {
                    1.0
                }
            }
        }
    )*};
}
floats! {
    f32, u32, bits32, 127, -126, 24;
    f64, u64, bits64, 1023, -1022, 53;
}

/// Divisors, multiples and bits of integers. Signed ones are treated as their absolute values.
pub trait IntParts: Copy {
    /// The greatest common divisor; zero if both are zero.
    fn gcd(self, other: Self) -> Self;
    /// The least common multiple, wrapping; zero if one is zero.
    fn lcm(self, other: Self) -> Self;
    /// The number of ones in the bits of the absolute value.
    fn count_bits(self) -> u8;
}

macro_rules! integers {
    ($($t:ty, $size:expr;)*) => {$(
        impl IntParts for $t {
            #[inline]
            fn gcd(self, other: $t) -> $t {
                let (mut a, mut b) = ($size(self), $size(other));
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                a as $t
            }
            #[inline]
            fn lcm(self, other: $t) -> $t {
                let (a, b) = ($size(self), $size(other));
                let divisor = $size(self.gcd(other));
                if divisor == 0 { 0 } else { (a / divisor).wrapping_mul(b) as $t }
            }
            #[inline]
            fn count_bits(self) -> u8 {
                $size(self).count_ones() as u8
            }
        }
    )*};
}
integers! {
    i8, i8::unsigned_abs; i16, i16::unsigned_abs; i32, i32::unsigned_abs; i64, i64::unsigned_abs;
    u8, itself; u16, itself; u32, itself; u64, itself;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours() {
        assert_eq!(1f64.next_after(2.0), 1.0 + f64::EPSILON);
        assert_eq!(0f64.next_after(-1.0).to_bits(), (-5e-324f64).to_bits());
        assert_eq!(f32::MAX.next_after(f32::INFINITY), f32::INFINITY);
        assert_eq!(5e-324f64.next_after(-1.0), 0.0);
        assert!(0f64.next_after(-0.0).is_sign_negative());
        assert_eq!(F16(0).next_after(F16(0x8000)), F16(0));
        assert_eq!((1f64.spacing(), (-1f64).spacing()), (f64::EPSILON, -f64::EPSILON));
        assert_eq!(F16(0x3C00).next_after(F16(0)), F16(0x3BFF));
        assert_eq!((F16(0x3C00).spacing(), F16(0xBC00).spacing()), (F16(0x1400), F16(0x1000)));
    }

    #[test]
    fn exponents() {
        assert_eq!(0.75f64.load_exponent(2), 3.0);
        assert_eq!(1f64.load_exponent(i64::MAX), f64::INFINITY);
        assert_eq!(1.5f64.load_exponent(-1074), 1e-323);
        assert_eq!(1f64.load_exponent(-1074), 5e-324);
        assert_eq!(5e-324f64.load_exponent(2097), 2f64.powi(1023));
        assert_eq!(1f32.load_exponent(-149), 1e-45);
        assert_eq!(5e-324f64.split_exponent(), (0.5, -1073));
        assert_eq!((-3f32).split_exponent(), (-0.75, 2));
        assert_eq!((-2.5f64).fraction(), -0.5);
        assert!((-f64::INFINITY).fraction().is_sign_negative());
    }

    #[test]
    fn divisors() {
        assert_eq!((12i8.gcd(-18), (-128i8).gcd(0), 0u64.gcd(0)), (6, -128, 0));
        assert_eq!((4i32.lcm(-6), 0i32.lcm(3), (-1i8).count_bits()), (12, 0, 1));
    }
}
