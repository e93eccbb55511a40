//! Operations whose operands or results are not all of the loop dtype, and operations on the bits of halves.

use crate::parts::{FloatFunctions, FloatParts, IntParts};
use crate::{Op, Scalar};
use std::cmp::Ordering;

/// The result, if the operation is one of these.
pub(super) fn apply(op: Op, ins: &[Scalar]) -> Option<Scalar> {
    use Scalar::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    Some(match (op, ins) {
        (Op::Negative, [F16(a)]) => F16(a.negated()),
        (Op::Absolute, [F16(a)]) => F16(a.absolute()),
        (Op::Nextafter, [F16(a), F16(b)]) => F16(a.next_after(*b)),
        (Op::Nextafter, [F32(a), F32(b)]) => F32(a.next_after(*b)),
        (Op::Nextafter, [F64(a), F64(b)]) => F64(a.next_after(*b)),
        (Op::Spacing, [F16(a)]) => F16(a.spacing()),
        (Op::Spacing, [F32(a)]) => F32(a.spacing()),
        (Op::Spacing, [F64(a)]) => F64(a.spacing()),
        (Op::Ldexp, [F32(a), I64(n)]) => F32(a.load_exponent(*n)),
        (Op::Ldexp, [F64(a), I64(n)]) => F64(a.load_exponent(*n)),
        (Op::FrexpExponent, [F32(a)]) => I32(a.split_exponent().1),
        (Op::FrexpExponent, [F64(a)]) => I32(a.split_exponent().1),
        (Op::BitwiseCount, [value]) => U8(match value {
            I8(v) => v.count_bits(),
            U8(v) => v.count_bits(),
            I16(v) => v.count_bits(),
            U16(v) => v.count_bits(),
            I32(v) => v.count_bits(),
            U32(v) => v.count_bits(),
            I64(v) => v.count_bits(),
            U64(v) => v.count_bits(),
            _ => return None,
        }),
        (_, [I64(a), U64(b)]) => Scalar::Bool(holds(op, i128::from(*a).cmp(&i128::from(*b)))?),
        (_, [U64(a), I64(b)]) => Scalar::Bool(holds(op, i128::from(*a).cmp(&i128::from(*b)))?),
        _ => return None,
    })
}

/// Whether the comparison holds for numbers in this order.
fn holds(op: Op, order: Ordering) -> Option<bool> {
    Some(match op {
        Op::EqualMixed => order.is_eq(),
        Op::NotEqualMixed => order.is_ne(),
        Op::LessMixed => order.is_lt(),
        Op::LessEqualMixed => order.is_le(),
        Op::GreaterMixed => order.is_gt(),
        Op::GreaterEqualMixed => order.is_ge(),
        _ => return None,
    })
}
