//! What each operation means on booleans and integers.
//!
//! Integers wrap around. Division by zero gives zero. `floor_divide` and `remainder` round
//! towards minus infinity, so a remainder has its divisor's sign; `fmod` has its dividend's.

use super::value::Value;
use crate::parts::IntParts;
use crate::{Error, Op, Result};

/// The functions of an integer that the operations need.
pub(super) trait Int: Copy + Ord + Eq + IntParts {
    const ZERO: Self;
    const ONE: Self;
    /// The result of converting infinity, which is NumPy's reciprocal of zero.
    const RECIPROCAL_OF_ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    /// Quotient rounded down; zero for a zero divisor.
    fn floor_div(self, other: Self) -> Self;
    /// The remainder of `floor_div`.
    fn floor_rem(self, other: Self) -> Self;
    /// The remainder of the quotient rounded to zero; zero for a zero divisor.
    fn trunc_rem(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    /// The left shift; zero if the count is negative or not below the width.
    fn shl(self, count: Self) -> Self;
    /// The right shift; zero, or minus one for negative values, if the count is negative or not below the width.
    fn shr(self, count: Self) -> Self;
}

macro_rules! int {
    ($t:ty, $reciprocal:expr, $abs:expr, |$a:ident, $b:ident| $floor_div:expr, $floor_rem:expr) => {
        impl Int for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const RECIPROCAL_OF_ZERO: Self = $reciprocal;
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            fn abs(self) -> Self {
                $abs(self)
            }
            fn floor_div(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                if other == 0 { 0 } else { $floor_div }
            }
            fn floor_rem(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                if other == 0 { 0 } else { $floor_rem }
            }
            fn trunc_rem(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            fn not(self) -> Self {
                !self
            }
            fn shl(self, count: Self) -> Self {
                let count = u32::try_from(count).ok();
                count.and_then(|n| self.checked_shl(n)).unwrap_or(0)
            }
            fn shr(self, count: Self) -> Self {
                let count = u32::try_from(count).ok();
                let fill = if self < Self::ZERO { Self::ZERO.wrapping_sub(1) } else { 0 };
                count.and_then(|n| self.checked_shr(n)).unwrap_or(fill)
            }
        }
    };
}

macro_rules! signed {
    ($($t:ty, $reciprocal:expr;)*) => {$(
        int!($t, $reciprocal, <$t>::wrapping_abs,
            |a, b| {
                let quotient = a.wrapping_div(b);
                if (a.wrapping_rem(b) != 0) && ((a < 0) != (b < 0)) { quotient - 1 } else { quotient }
            },
            {
                let rest = a.wrapping_rem(b);
                if rest != 0 && ((rest < 0) != (b < 0)) { rest + b } else { rest }
            });
    )*};
}

macro_rules! unsigned {
    ($($t:ty;)*) => {$(int!($t, 0, std::convert::identity, |a, b| a / b, a % b);)*};
}

signed! { i8, 0; i16, 0; i32, i32::MIN; i64, i64::MIN; }
unsigned! { u8; u16; u32; u64; }

/// `base` to the `exponent` by repeated squaring, wrapping; zero for negative exponents, which
/// front ends refuse before they record.
fn power<T: Int>(base: T, exponent: T) -> T {
    if exponent < T::ZERO {
        return T::ZERO;
    }
    let (mut result, mut square, mut left) = (T::ONE, base, exponent);
    while left != T::ZERO {
        if left.and(T::ONE) != T::ZERO {
            result = result.mul(square);
        }
        square = square.mul(square);
        left = left.shr(T::ONE);
    }
    result
}

fn sign<T: Int>(a: T) -> T {
    match a.cmp(&T::ZERO) {
        std::cmp::Ordering::Less => T::ZERO.sub(T::ONE),
        std::cmp::Ordering::Equal => T::ZERO,
        std::cmp::Ordering::Greater => T::ONE,
    }
}

/// Exact unless the value is 1 or -1: everything else truncates to zero.
fn reciprocal<T: Int>(a: T) -> T {
    if a == T::ZERO {
        T::RECIPROCAL_OF_ZERO
    } else if a == T::ONE || a == T::ZERO.sub(T::ONE) && a < T::ZERO {
        a
    } else {
        T::ZERO
    }
}

/// An elementwise operation on integers; `b` is `a` for operations of one operand.
pub(super) fn integer<T: Int>(op: Op, a: T, b: T) -> Result<Value<T>> {
    use Value::{Same, Truth};
    let (x, y) = (a != T::ZERO, b != T::ZERO);
    Ok(match op {
        Op::Copy | Op::Positive | Op::Conjugate => Same(a),
        Op::Add => Same(a.add(b)),
        Op::Subtract => Same(a.sub(b)),
        Op::Multiply => Same(a.mul(b)),
        Op::FloorDivide => Same(a.floor_div(b)),
        Op::Remainder => Same(a.floor_rem(b)),
        Op::Fmod => Same(a.trunc_rem(b)),
        Op::Power => Same(power(a, b)),
        Op::Negative => Same(a.neg()),
        Op::Absolute => Same(a.abs()),
        Op::Sign => Same(sign(a)),
        Op::Square => Same(a.mul(a)),
        Op::Reciprocal => Same(reciprocal(a)),
        Op::Maximum | Op::Fmax => Same(a.max(b)),
        Op::Minimum | Op::Fmin => Same(a.min(b)),
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
        Op::BitwiseAnd => Same(a.and(b)),
        Op::BitwiseOr => Same(a.or(b)),
        Op::BitwiseXor => Same(a.xor(b)),
        Op::Invert => Same(a.not()),
        Op::LeftShift => Same(a.shl(b)),
        Op::RightShift => Same(a.shr(b)),
        Op::Gcd => Same(a.gcd(b)),
        Op::Lcm => Same(a.lcm(b)),
        Op::Isnan | Op::Isinf => Truth(false),
        Op::Isfinite => Truth(true),
        // the op table does not list the others for these dtypes
        _ => absent(op)?,
    })
}

/// An elementwise operation on truth values; `b` is `a` for operations of one operand.
pub(super) fn boolean(op: Op, a: bool, b: bool) -> Result<bool> {
    Ok(match op {
        Op::Copy | Op::Absolute => a,
        Op::Add | Op::Maximum | Op::Fmax | Op::LogicalOr | Op::BitwiseOr => a | b,
        Op::Multiply | Op::Minimum | Op::Fmin | Op::LogicalAnd | Op::BitwiseAnd => a & b,
        Op::NotEqual | Op::LogicalXor | Op::BitwiseXor => a ^ b,
        Op::Equal => a == b,
        Op::Less => !a & b,
        Op::LessEqual => a <= b,
        Op::Greater => a & !b,
        Op::GreaterEqual => a >= b,
        Op::LogicalNot | Op::Invert => !a,
        Op::Isnan | Op::Isinf => false,
        Op::Isfinite => true,
        // the op table does not list the others for these dtypes
        _ => absent(op)?,
    })
}

fn absent<T>(op: Op) -> Result<T> {
    Err(Error::Invalid(format!("{} is not an elementwise operation on integers or bool", op.name())))
}
