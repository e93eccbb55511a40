//! What each operation means on complex values.
//!
//! In a multiplication, each part of the result is a fused multiply-add: one of its two products is not rounded, as in
//! NumPy's loops. In products over a run and in powers, both products are rounded. Division and reciprocal use Smith's
//! algorithm in the precision of the type. Functions that IEEE 754 does not define exactly are evaluated in f64, with
//! the special values of C99 (Annex G), and rounded. The order is by real part, then by imaginary part; a comparison
//! that is decided by a NaN is false.

use super::float::Float;
use super::functions as fun;
use super::inverse;
use super::scalar::Value;
use crate::{Error, Op, Result};

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

    fn reciprocal(self) -> Self {
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

    fn is_nonzero(self) -> bool {
        self.re != T::ZERO || self.im != T::ZERO
    }

    pub(super) fn less(self, b: Self) -> bool {
        let apart = self.re < b.re && !self.im.is_nan() && !b.im.is_nan();
        apart || self.re == b.re && self.im < b.im
    }

    fn less_equal(self, b: Self) -> bool {
        let apart = self.re < b.re && !self.im.is_nan() && !b.im.is_nan();
        apart || self.re == b.re && self.im <= b.im
    }

    /// The modulus as NumPy computes it: the larger part times `sqrt(1 + ratio * ratio)`.
    fn absolute(self) -> T {
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
    fn sign(self) -> Self {
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

    fn wide(self) -> Complex<f64> {
        complex(self.re.to_f64(), self.im.to_f64())
    }

    fn narrow(value: Complex<f64>) -> Self {
        complex(T::from_f64(value.re), T::from_f64(value.im))
    }

    /// Small integer powers by multiplication in the type's precision, all others by `exp(b log a)`.
    fn power(self, b: Self) -> Self {
        if !b.is_nonzero() {
            return Self::ONE;
        }
        if !self.is_nonzero() {
            return if b.re > T::ZERO { Self::ZERO } else { complex(T::NAN, T::NAN) };
        }
        if b.im == T::ZERO && b.re.trunc() == b.re && b.re.abs().to_f64() < 100.0 {
            return self.power_integer(b.re.to_f64() as i32);
        }
        Self::narrow(fun::power(self.wide(), b.wide()))
    }

    /// NumPy's steps, including the multiplication by one that turns infinities into NaN.
    fn power_integer(self, exponent: i32) -> Self {
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

/// The larger operand; the first when equal, the first with a NaN if there is one.
pub(super) fn maximum<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if a.is_nan() || b.less_equal(a) { a } else { b }
}

/// The smaller operand; the first when equal, the first with a NaN if there is one.
pub(super) fn minimum<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if a.is_nan() || a.less_equal(b) { a } else { b }
}

/// An elementwise operation on complex values; `b` is `a` for operations of one operand.
pub(super) fn apply<T: Float>(op: Op, a: Complex<T>, b: Complex<T>) -> Result<Value<Complex<T>, T>> {
    use Value::{Real, Same, Truth};
    let (x, y) = (a.is_nonzero(), b.is_nonzero());
    let through = |f: fn(Complex<f64>) -> Complex<f64>| Same(Complex::narrow(f(a.wide())));
    Ok(match op {
        Op::Copy | Op::Positive => Same(a),
        Op::Add => Same(a.add(b)),
        Op::Subtract => Same(complex(a.re - b.re, a.im - b.im)),
        Op::Multiply => Same(a.mul(b)),
        Op::Divide => Same(a.div(b)),
        Op::Power => Same(a.power(b)),
        Op::Negative => Same(complex(-a.re, -a.im)),
        Op::Absolute => Real(a.absolute()),
        Op::Sign => Same(a.sign()),
        Op::Square => Same(a.mul(a)),
        Op::Reciprocal => Same(a.reciprocal()),
        Op::Maximum => Same(maximum(a, b)),
        Op::Minimum => Same(minimum(a, b)),
        Op::Fmax => Same(if b.is_nan() || b.less_equal(a) { a } else { b }),
        Op::Fmin => Same(if b.is_nan() || a.less_equal(b) { a } else { b }),
        Op::Sqrt => through(fun::sqrt),
        Op::Exp => through(fun::exp),
        Op::Log => through(fun::log),
        Op::Sin => through(fun::sin),
        Op::Cos => through(fun::cos),
        Op::Rint => Same(complex(a.re.round_even(), a.im.round_even())),
        Op::Equal => Truth(a == b),
        Op::NotEqual => Truth(a != b),
        Op::Less => Truth(a.less(b)),
        Op::LessEqual => Truth(a.less_equal(b)),
        Op::Greater => Truth(b.less(a)),
        Op::GreaterEqual => Truth(b.less_equal(a)),
        Op::LogicalAnd => Truth(x && y),
        Op::LogicalOr => Truth(x || y),
        Op::LogicalXor => Truth(x != y),
        Op::LogicalNot => Truth(!x),
        Op::Isnan => Truth(a.is_nan()),
        Op::Isinf => Truth(a.re.is_infinite() || a.im.is_infinite()),
        Op::Isfinite => Truth(a.re.is_finite() && a.im.is_finite()),
        Op::Conjugate => Same(complex(a.re, -a.im)),
        Op::RealPart => Real(a.re),
        Op::ImagPart => Real(a.im),
        Op::Exp2 => through(fun::exp2),
        Op::Expm1 => through(fun::expm1),
        Op::Log2 => through(fun::log2),
        Op::Log10 => through(fun::log10),
        Op::Log1p => through(fun::log1p),
        Op::Tan => through(inverse::tan),
        Op::Arcsin => through(inverse::arcsin),
        Op::Arccos => through(inverse::arccos),
        Op::Arctan => through(inverse::arctan),
        Op::Sinh => through(inverse::sinh),
        Op::Cosh => through(inverse::cosh),
        Op::Tanh => through(inverse::tanh),
        Op::Arcsinh => through(inverse::arcsinh),
        Op::Arccosh => through(inverse::arccosh),
        Op::Arctanh => through(inverse::arctanh),
        Op::FloatPower => Same(a.power(b)),
        // the op table does not list the others for these dtypes
        _ => absent(op)?,
    })
}

fn absent<T>(op: Op) -> Result<T> {
    Err(Error::Invalid(format!("{} is not an elementwise operation on complex values", op.name())))
}
