//! One operation on one element: the dispatch over element types.

use super::complex_value::Complex;
use super::value::Value;
use super::{complex, float, int};
use crate::{Complex64, Complex128, DType, Error, Op, OpKind, Result, Scalar};
use smallvec::SmallVec;

/// An elementwise operation or random stream in loop dtype `ty`. The operands have exactly the dtypes of
/// [`Op::input_dtype`], the result has that of [`Op::output_dtype`].
///
/// # Errors
/// [`Error::Invalid`] when the operation does not exist for `ty`, is not elementwise, or the
/// operands are not of its types and number. Programs that the verifier accepts never cause it.
pub fn apply(op: Op, ty: DType, ins: &[Scalar]) -> Result<Scalar> {
    if op.is_stream() {
        return super::random::stream(op, ty, ins);
    }
    let typed = ins.iter().enumerate().all(|(i, v)| v.dtype() == op.input_dtype(ty, i));
    if op.kind() != OpKind::Elementwise || ins.len() != op.arity() || !typed {
        return Err(Error::Invalid(format!("{}.{ty} does not take these operands", op.name())));
    }
    if matches!(op, Op::Copy | Op::Positive) {
        return Ok(ins[0]);
    }
    if op == Op::Where {
        return Ok(if ins[0] == Scalar::Bool(true) { ins[1] } else { ins[2] });
    }
    let wide = op.computes_in(ty);
    if wide != ty {
        let mut ins: SmallVec<[Scalar; 3]> =
            ins.iter().enumerate().map(|(i, v)| super::cast(*v, op.input_dtype(wide, i))).collect();
        if op.swaps_halves(ty) {
            ins.swap(0, 1);
        }
        let result = apply(op, wide, &ins)?;
        return Ok(super::cast(result, op.output_dtype(ty)));
    }
    match super::special::apply(op, ins) {
        Some(result) => Ok(result),
        None => binary(op, ins[0], ins[ins.len() - 1]),
    }
}

/// Applies an operation to two operands of one type; operations of one operand use the first only.
pub(super) fn binary(op: Op, a: Scalar, b: Scalar) -> Result<Scalar> {
    macro_rules! of_type {
        ($kind:path, $variant:ident, $a:expr, $b:expr) => {
            $kind(op, $a, $b).map(|value| match value {
                Value::Same(v) | Value::Real(v) => Scalar::$variant(v),
                Value::Truth(v) => Scalar::Bool(v),
            })
        };
    }
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => int::boolean(op, a, b).map(Scalar::Bool),
        (Scalar::I8(a), Scalar::I8(b)) => of_type!(int::integer, I8, a, b),
        (Scalar::U8(a), Scalar::U8(b)) => of_type!(int::integer, U8, a, b),
        (Scalar::I16(a), Scalar::I16(b)) => of_type!(int::integer, I16, a, b),
        (Scalar::U16(a), Scalar::U16(b)) => of_type!(int::integer, U16, a, b),
        (Scalar::I32(a), Scalar::I32(b)) => of_type!(int::integer, I32, a, b),
        (Scalar::U32(a), Scalar::U32(b)) => of_type!(int::integer, U32, a, b),
        (Scalar::I64(a), Scalar::I64(b)) => of_type!(int::integer, I64, a, b),
        (Scalar::U64(a), Scalar::U64(b)) => of_type!(int::integer, U64, a, b),
        (Scalar::F32(a), Scalar::F32(b)) => of_type!(float::float, F32, a, b),
        (Scalar::F64(a), Scalar::F64(b)) => of_type!(float::float, F64, a, b),
        (Scalar::C64(a), Scalar::C64(b)) => complex::apply(op, a.into(), b.into()).map(|value| match value {
            Value::Same(v) => Scalar::C64(v.into()),
            Value::Real(v) => Scalar::F32(v),
            Value::Truth(v) => Scalar::Bool(v),
        }),
        (Scalar::C128(a), Scalar::C128(b)) => complex::apply(op, a.into(), b.into()).map(|value| match value {
            Value::Same(v) => Scalar::C128(v.into()),
            Value::Real(v) => Scalar::F64(v),
            Value::Truth(v) => Scalar::Bool(v),
        }),
        _ => Err(Error::Invalid(format!("{} of {} and {}", op.name(), a.dtype(), b.dtype()))),
    }
}

/// The product of two complex values of one type, with every product of parts rounded.
pub(super) fn multiply_rounded(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::C64(a), Scalar::C64(b)) => Scalar::C64(Complex::from(a).mul_rounded(b.into()).into()),
        (Scalar::C128(a), Scalar::C128(b)) => Scalar::C128(Complex::from(a).mul_rounded(b.into()).into()),
        _ => unreachable!("only complex runs are multiplied so"),
    }
}

/// Whether the value counts as true, that is, is not zero.
pub(super) fn truth(value: Scalar) -> bool {
    super::cast(value, DType::Bool) == Scalar::Bool(true)
}

macro_rules! conversions {
    ($pair:ident, $part:ident) => {
        impl From<$pair> for Complex<$part> {
            fn from(v: $pair) -> Self {
                Complex { re: v.re, im: v.im }
            }
        }
        impl From<Complex<$part>> for $pair {
            fn from(v: Complex<$part>) -> Self {
                $pair { re: v.re, im: v.im }
            }
        }
    };
}
conversions!(Complex64, f32);
conversions!(Complex128, f64);
