//! What each operation means on complex values.
//!
//! Arithmetic and order are those of [`Complex`]. Functions that IEEE 754 does not define exactly are evaluated in f64,
//! with the special values of C99 (Annex G), and rounded.

use super::complex_value::{Complex, complex};
use super::float::Float;
use super::functions as fun;
use super::inverse;
use super::value::Value;
use crate::{Error, Op, Result};

/// Small integer powers by multiplication in the type's precision, all others by `exp(b log a)`.
fn power<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if !b.is_nonzero() {
        return Complex::ONE;
    }
    if !a.is_nonzero() {
        return if b.re > T::ZERO { Complex::ZERO } else { complex(T::NAN, T::NAN) };
    }
    if b.im == T::ZERO && b.re.trunc() == b.re && b.re.abs().to_f64() < 100.0 {
        return a.power_integer(b.re.to_f64() as i32);
    }
    Complex::narrow(fun::power(a.wide(), b.wide()))
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
        Op::Power => Same(power(a, b)),
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
        Op::FloatPower => Same(power(a, b)),
        // the op table does not list the others for these dtypes
        _ => absent(op)?,
    })
}

fn absent<T>(op: Op) -> Result<T> {
    Err(Error::Invalid(format!("{} is not an elementwise operation on complex values", op.name())))
}
