//! Powers: which of them are squares, and which ones NumPy refuses.

use crate::front::Front;
use crate::operand::Operand;
use crate::rules::resolve::Weak;
use crate::rules::shape;
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, DTypeKind, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// Whether an operation raises floats to an exponent of exactly two. NumPy's loops compute that without `pow`.
pub fn is_float_square(op: Op, args: &[Operand<'_>]) -> bool {
    let (Op::Power, [base, Operand::Weak(exponent)]) = (op, args) else { return false };
    let two = match exponent {
        Weak::Int(value) => *value == 2,
        Weak::Float(value) => *value == 2.0,
        _ => false,
    };
    two && base.dtype().is_some_and(DType::is_float)
}

/// Whether an operation raises floats to the power one half. NumPy's loops compute the square root, which differs for
/// minus zero and minus infinity.
pub fn is_root(op: Op, args: &[Operand<'_>]) -> bool {
    let (Op::Power, [base, Operand::Weak(Weak::Float(exponent))]) = (op, args) else { return false };
    *exponent == 0.5 && matches!(base.dtype(), Some(DType::F32 | DType::F64))
}

/// Whether an operation is no power, or a power that NumPy accepts: it refuses integers raised to a negative power. The
/// elements of exponents in arrays of a signed type have to be examined.
pub fn is_defined<F: Front>(front: &F, op: Op, ty: DType, args: &[Operand<'_>]) -> Result<bool, F::Error> {
    if op != Op::Power || !ty.is_integer() {
        return Ok(true);
    }
    let signed = |dtype: DType| dtype.kind() == DTypeKind::Signed;
    Ok(match args[1] {
        Operand::Weak(weak) => !weak.is_negative_int(),
        Operand::Value(value) => !signed(value.dtype()) || !is_negative(value),
        Operand::Array(view) if !signed(view.dtype) || view.size() == 0 => true,
        Operand::Array(view) => match shape::dense_range(view) {
            Some(range) => !front.look(&view.base, |bytes| any_negative(view.dtype, &bytes[range]))?,
            None => !is_negative(least(front, view)?),
        },
    })
}

fn is_negative(value: Scalar) -> bool {
    matches!(cast(value, DType::I64), Scalar::I64(v) if v < 0)
}

/// Whether an element of a signed integer dtype is negative.
fn any_negative(dtype: DType, bytes: &[u8]) -> bool {
    match dtype.size() {
        1 => bytes.iter().any(|&byte| i8::from_ne_bytes([byte]) < 0),
        2 => bytes.as_chunks().0.iter().any(|&element| i16::from_ne_bytes(element) < 0),
        4 => bytes.as_chunks().0.iter().any(|&element| i32::from_ne_bytes(element) < 0),
        _ => bytes.as_chunks().0.iter().any(|&element| i64::from_ne_bytes(element) < 0),
    }
}

/// The least element, computed now.
fn least<F: Front>(front: &F, view: &ArrayView) -> Result<Scalar, F::Error> {
    let rank = view.shape.len();
    if rank == 0 {
        return front.read_scalar(&view.base, view.dtype, view.offset);
    }
    let out = front.like_inputs(view.dtype, &Dims::from_elem(1, rank), &[]);
    front.record(Op::Min, view.dtype, &out, &[Input::Array(view)], Axes::all(rank))?;
    front.read_scalar(&out.base, out.dtype, out.offset)
}
