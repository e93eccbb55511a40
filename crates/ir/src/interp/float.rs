//! What each operation means on f32 and f64.
//!
//! Where IEEE 754 defines the result exactly, that is the result. Other functions of f32 are evaluated in f64 and
//! rounded. `maximum` and `minimum` propagate NaN, and return the second of two equal operands, as the vector
//! instructions that NumPy uses do (this matters for zeros of different signs).

use super::value::Value;
use crate::parts::FloatFunctions;
use crate::{Error, Op, Result};
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// The functions of a float that the operations need.
pub(super) trait Float:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
    + FloatFunctions
{
    const ZERO: Self;
    const HALF: Self;
    const ONE: Self;
    const NAN: Self;
    fn to_f64(self) -> f64;
    fn from_f64(value: f64) -> Self;
    fn abs(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn sqrt(self) -> Self;
    fn mul_add(self, factor: Self, term: Self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    fn round_even(self) -> Self;
    fn is_negative(self) -> bool;
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
}

macro_rules! float {
    ($t:ident) => {
        impl Float for $t {
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            const ONE: Self = 1.0;
            const NAN: Self = $t::NAN;
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            fn abs(self) -> Self {
                $t::abs(self)
            }
            fn copysign(self, sign: Self) -> Self {
                $t::copysign(self, sign)
            }
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $t::mul_add(self, factor, term)
            }
            fn floor(self) -> Self {
                $t::floor(self)
            }
            fn ceil(self) -> Self {
                $t::ceil(self)
            }
            fn trunc(self) -> Self {
                $t::trunc(self)
            }
            fn round_even(self) -> Self {
                $t::round_ties_even(self)
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            fn is_infinite(self) -> bool {
                $t::is_infinite(self)
            }
        }
    };
}
float!(f32);
float!(f64);

/// Python's quotient rounded down and its remainder, as NumPy computes them.
fn divmod<T: Float>(a: T, b: T) -> (T, T) {
    let mut rest = a % b;
    if b == T::ZERO {
        return (a / b, rest);
    }
    let mut quotient = (a - rest) / b;
    if rest != T::ZERO {
        if (b < T::ZERO) != (rest < T::ZERO) {
            rest = rest + b;
            quotient = quotient - T::ONE;
        }
    } else {
        rest = T::ZERO.copysign(b);
    }
    if quotient == T::ZERO {
        return (T::ZERO.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    // the division may have rounded down past an integer
    (if quotient - floor > T::HALF { floor + T::ONE } else { floor }, rest)
}

/// The larger operand: NaN if either is, the second when equal.
pub(super) fn maximum<T: Float>(a: T, b: T) -> T {
    if a.is_nan() || a > b { a } else { b }
}

/// The smaller operand: NaN if either is, the second when equal.
pub(super) fn minimum<T: Float>(a: T, b: T) -> T {
    if a.is_nan() || a < b { a } else { b }
}

fn sign<T: Float>(a: T) -> T {
    if a > T::ZERO {
        T::ONE
    } else if a < T::ZERO {
        -T::ONE
    } else if a == T::ZERO {
        T::ZERO
    } else {
        a
    }
}

/// An elementwise operation on floats; `b` is `a` for operations of one operand.
pub(super) fn float<T: Float>(op: Op, a: T, b: T) -> Result<Value<T>> {
    use Value::{Same, Truth};
    let (x, y) = (a != T::ZERO, b != T::ZERO);
    let through = |f: fn(f64) -> f64| Same(T::from_f64(f(a.to_f64())));
    let through2 = |f: fn(f64, f64) -> f64| Same(T::from_f64(f(a.to_f64(), b.to_f64())));
    Ok(match op {
        Op::Copy | Op::Positive | Op::Conjugate => Same(a),
        Op::Add => Same(a + b),
        Op::Subtract => Same(a - b),
        Op::Multiply => Same(a * b),
        Op::Divide => Same(a / b),
        Op::FloorDivide => Same(divmod(a, b).0),
        Op::Remainder => Same(divmod(a, b).1),
        Op::Fmod => Same(a % b),
        Op::Power => through2(f64::powf),
        Op::Negative => Same(-a),
        Op::Absolute => Same(a.abs()),
        Op::Sign => Same(sign(a)),
        Op::Square => Same(a * a),
        Op::Reciprocal => Same(T::ONE / a),
        Op::Maximum => Same(maximum(a, b)),
        Op::Minimum => Same(minimum(a, b)),
        Op::Fmax => Same(if b.is_nan() || a > b { a } else { b }),
        Op::Fmin => Same(if b.is_nan() || a < b { a } else { b }),
        Op::Copysign => Same(a.copysign(b)),
        Op::Sqrt => Same(a.sqrt()),
        Op::Cbrt => through(f64::cbrt),
        Op::Exp => through(f64::exp),
        Op::Exp2 => through(f64::exp2),
        Op::Expm1 => through(f64::exp_m1),
        Op::Log => through(f64::ln),
        Op::Log2 => through(f64::log2),
        Op::Log10 => through(f64::log10),
        Op::Log1p => through(f64::ln_1p),
        Op::Sin => through(f64::sin),
        Op::Cos => through(f64::cos),
        Op::Tan => through(f64::tan),
        Op::Arcsin => through(f64::asin),
        Op::Arccos => through(f64::acos),
        Op::Arctan => through(f64::atan),
        Op::Arctan2 => through2(f64::atan2),
        Op::Sinh => through(f64::sinh),
        Op::Cosh => through(f64::cosh),
        Op::Tanh => through(f64::tanh),
        // the standard library's own inverse hyperbolic functions are wrong in several last places
        Op::Arcsinh => through(libm::asinh),
        Op::Arccosh => through(libm::acosh),
        Op::Arctanh => through(libm::atanh),
        Op::Hypot => through2(f64::hypot),
        Op::Erf => through(libm::erf),
        Op::Floor => Same(a.floor()),
        Op::Ceil => Same(a.ceil()),
        Op::Trunc => Same(a.trunc()),
        Op::Rint => Same(a.round_even()),
        Op::Equal => Truth(a == b),
        Op::NotEqual => Truth(a != b),
        Op::Less => Truth(a < b),
        Op::LessEqual => Truth(a <= b),
        Op::Greater => Truth(a > b),
        Op::GreaterEqual => Truth(a >= b),
        Op::LogicalAnd => Truth(x && y),
        Op::LogicalOr => Truth(x || y),
        Op::LogicalXor => Truth(x != y),
        Op::LogicalNot => Truth(!x),
        Op::Isnan => Truth(a.is_nan()),
        Op::Isinf => Truth(a.is_infinite()),
        Op::Isfinite => Truth(a.is_finite()),
        Op::Signbit => Truth(a.is_negative()),
        Op::Logaddexp => Same(a.log_add_exp(b)),
        Op::Logaddexp2 => Same(a.log_add_exp2(b)),
        Op::FloatPower => through2(f64::powf),
        Op::Deg2rad => Same(a * T::DEGREE),
        Op::Rad2deg => Same(a * T::RADIAN),
        Op::Fabs => Same(a.abs()),
        Op::Heaviside => Same(a.heaviside(b)),
        Op::FrexpMantissa => Same(a.split_exponent().0),
        Op::ModfFraction => Same(a.fraction()),
        Op::ModfIntegral => Same(a.trunc()),
        // the op table does not list the others for these dtypes
        _ => absent(op)?,
    })
}

fn absent<T>(op: Op) -> Result<T> {
    Err(Error::Invalid(format!("{} is not an elementwise operation on floats", op.name())))
}
