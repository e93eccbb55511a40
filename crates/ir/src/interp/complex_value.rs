//! A complex value of either width, its arithmetic and its order.
//!
//! In a multiplication, each part of the result is a fused multiply-add: one of its two products is not rounded, as in
//! NumPy's loops. In products over a run and in powers, both products are rounded. Division and reciprocal use Smith's
//! algorithm in the precision of the type. The order is by real part, then by imaginary part; a comparison that is
//! decided by a NaN is false.

use super::float::Float;

/// A complex value of either width.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Complex<T> {
    pub(super) re: T,
    pub(super) im: T,
}

/// `re + im i`
pub(super) fn complex<T>(re: T, im: T) -> Complex<T> {
    Complex { re, im }
}

impl<T: Float> Complex<T> {
    pub(super) const ZERO: Self = Complex { re: T::ZERO, im: T::ZERO };
    pub(super) const ONE: Self = Complex { re: T::ONE, im: T::ZERO };

    pub(super) fn add(self, b: Self) -> Self {
        complex(self.re + b.re, self.im + b.im)
    }

    /// The product, with a fused multiply-add in each part.
    pub(super) fn mul(self, b: Self) -> Self {
        complex(self.re.mul_add(b.re, -(self.im * b.im)), self.re.mul_add(b.im, self.im * b.re))
    }

    /// The product in which all products of parts are rounded before they are added.
    pub(super) fn mul_rounded(self, b: Self) -> Self {
        complex(self.re * b.re - self.im * b.im, self.re * b.im + self.im * b.re)
    }

    /// Smith's division; a zero divisor counts as positive.
    pub(super) fn div(self, b: Self) -> Self {
        let (c, d) = (b.re.abs(), b.im.abs());
        if c >= d {
            if c == T::ZERO && d == T::ZERO {
                return complex(self.re / c, self.im / c);
            }
            let ratio = b.im / b.re;
            let scale = T::ONE / (b.re + b.im * ratio);
            complex((self.re + self.im * ratio) * scale, (self.im - self.re * ratio) * scale)
        } else {
            let ratio = b.re / b.im;
            let scale = T::ONE / (b.im + b.re * ratio);
            complex((self.re * ratio + self.im) * scale, (self.im * ratio - self.re) * scale)
        }
    }

    pub(super) fn reciprocal(self) -> Self {
        if self.im.abs() <= self.re.abs() {
            let ratio = self.im / self.re;
            let scale = self.re + self.im * ratio;
            complex(T::ONE / scale, -ratio / scale)
        } else {
            let ratio = self.re / self.im;
            let scale = self.re * ratio + self.im;
            complex(ratio / scale, -T::ONE / scale)
        }
    }

    pub(super) fn is_nan(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }

    pub(super) fn is_nonzero(self) -> bool {
        self.re != T::ZERO || self.im != T::ZERO
    }

    pub(super) fn less(self, b: Self) -> bool {
        let apart = self.re < b.re && !self.im.is_nan() && !b.im.is_nan();
        apart || self.re == b.re && self.im < b.im
    }

    pub(super) fn less_equal(self, b: Self) -> bool {
        let apart = self.re < b.re && !self.im.is_nan() && !b.im.is_nan();
        apart || self.re == b.re && self.im <= b.im
    }

    /// The modulus as NumPy computes it: the larger part times `sqrt(1 + ratio * ratio)`.
    pub(super) fn absolute(self) -> T {
        let (re, im) = (self.re.abs(), self.im.abs());
        if re.is_infinite() || im.is_infinite() {
            return T::ONE / T::ZERO;
        }
        if self.is_nan() {
            return T::NAN;
        }
        let (large, small) = if re < im { (im, re) } else { (re, im) };
        let ratio = if large == T::ZERO { large } else { small / large };
        large * ratio.mul_add(ratio, T::ONE).sqrt()
    }

    /// The modulus, nearly correctly rounded.
    fn modulus(self) -> T {
        T::from_f64(self.re.to_f64().hypot(self.im.to_f64()))
    }

    /// `z / |z|`; zero for zero, a unit along the infinite part when only one is infinite.
    pub(super) fn sign(self) -> Self {
        let size = self.modulus();
        if size.is_nan() || self.re.is_infinite() && self.im.is_infinite() {
            complex(T::NAN, T::NAN)
        } else if self.re.is_infinite() {
            complex(T::ONE.copysign(self.re), T::ZERO)
        } else if self.im.is_infinite() {
            complex(T::ZERO, T::ONE.copysign(self.im))
        } else if size == T::ZERO {
            Self::ZERO
        } else {
            complex(self.re / size, self.im / size)
        }
    }

    pub(super) fn wide(self) -> Complex<f64> {
        complex(self.re.to_f64(), self.im.to_f64())
    }

    pub(super) fn narrow(value: Complex<f64>) -> Self {
        complex(T::from_f64(value.re), T::from_f64(value.im))
    }

    /// NumPy's steps, including the multiplication by one that turns infinities into NaN.
    pub(super) fn power_integer(self, exponent: i32) -> Self {
        match exponent {
            1 => return self,
            2 => return self.mul_rounded(self),
            3 => return self.mul_rounded(self.mul_rounded(self)),
            _ => {}
        }
        let (mut result, mut square, mut left) = (Self::ONE, self, exponent.unsigned_abs());
        loop {
            if left & 1 == 1 {
                result = result.mul_rounded(square);
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            square = square.mul_rounded(square);
        }
        if exponent < 0 { Self::ONE.div(result) } else { result }
    }
}
