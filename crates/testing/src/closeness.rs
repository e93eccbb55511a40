//! How closely two correct executions of a program agree, per base.
//!
//! Most operations determine every bit. Some do not: transcendental functions may differ in the last places, and minima
//! and maxima over an axis may meet zeros of both signs in any order. This module propagates such differences to later
//! results, so that comparisons are as strict as they can be, and so that the generator avoids programs whose results
//! could not be compared at all.

use numelt_ir::{DType, Instr, Op, OpKind, Operand, Program, View};

/// How closely two correct executions agree, from identical bits to no agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// The same bits, except that all NaNs are considered equal.
    Exact,
    /// Same values, but a zero may have either sign.
    ZeroSign,
    /// The same values within a few units in the last place (of the modulus, for complex values).
    Ulps,
    /// An operation may have magnified a difference, so the values cannot be compared.
    Unknown,
}

/// The closeness of each base after the program has run. A base has one closeness as a whole.
pub fn of_bases(program: &Program) -> Vec<Closeness> {
    let mut bases = vec![Closeness::Exact; program.bases.len()];
    for instr in &program.instrs {
        let result = of_result(instr, |view| bases[view.base as usize]);
        let slot = &mut bases[instr.out.base as usize];
        *slot = result.max(*slot);
    }
    bases
}

/// The closeness of an instruction's result, from that of the views that it reads.
pub fn of_result(instr: &Instr, of_view: impl Fn(&View) -> Closeness) -> Closeness {
    let of_input = |place: usize| match &instr.ins[place] {
        Operand::View(view) => match of_view(view) {
            // the parts of a complex value are close only relative to its modulus
            Closeness::Ulps if !is_inexact_type(view.dtype) => Closeness::Unknown,
            closeness => closeness,
        },
        Operand::Const(_) => Closeness::Exact,
    };
    let worst = (0..instr.ins.len()).map(of_input).max().unwrap_or(Closeness::Exact);
    let result = match worst {
        Closeness::Exact => own(instr.op, instr.ty),
        Closeness::ZeroSign if sees_zero_sign(instr.op, instr.ty) => Closeness::Unknown,
        Closeness::ZeroSign if hides_zero_sign(instr) => own(instr.op, instr.ty),
        Closeness::ZeroSign => own(instr.op, instr.ty).max(Closeness::ZeroSign),
        Closeness::Ulps if keeps_ulps(instr, of_input(0)) => Closeness::Ulps,
        Closeness::Ulps | Closeness::Unknown => Closeness::Unknown,
    };
    // after a conversion of the result to another type, nothing is known about the last places
    if result == Closeness::Ulps && instr.out.dtype != instr.op.output_dtype(instr.ty) {
        Closeness::Unknown
    } else {
        result
    }
}

fn is_inexact_type(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// The closeness of an operation's result if its operands are exact.
fn own(op: Op, ty: DType) -> Closeness {
    match op {
        Op::Min | Op::Max if ty.is_float() => Closeness::ZeroSign,
        // which of two NaNs is the result decides about the other part
        Op::Min | Op::Max if ty.is_complex() => Closeness::Ulps,
        op if op.is_product() && is_inexact_type(ty) => Closeness::Ulps,
        // the reference's formulas do not reproduce the C library's special values and branch cuts
        Op::Exp2 | Op::Expm1 | Op::Log2 | Op::Log10 | Op::Log1p | Op::Tan if ty.is_complex() => Closeness::Unknown,
        Op::Arcsin | Op::Arccos | Op::Arctan | Op::Sinh | Op::Cosh if ty.is_complex() => Closeness::Unknown,
        Op::Tanh | Op::Arcsinh | Op::Arccosh | Op::Arctanh | Op::FloatPower if ty.is_complex() => Closeness::Unknown,
        Op::FloatPower => Closeness::Ulps,
        Op::Cbrt | Op::Exp2 | Op::Expm1 | Op::Log2 | Op::Log10 | Op::Log1p | Op::Tan | Op::Arcsin => Closeness::Ulps,
        Op::Arccos | Op::Arctan | Op::Arctan2 | Op::Sinh | Op::Cosh | Op::Tanh | Op::Arcsinh => Closeness::Ulps,
        Op::Arccosh | Op::Arctanh | Op::Hypot | Op::Erf => Closeness::Ulps,
        // next to zero, the larger operand and the logarithm cancel, and the reference's formula loses the last places
        Op::Logaddexp | Op::Logaddexp2 => Closeness::Unknown,
        Op::Exp | Op::Log | Op::Sin | Op::Cos => Closeness::Ulps,
        Op::Power if ty.is_float() => Closeness::Ulps,
        // correct executions differ by |y log x| units, which has no bound; the engines' own tests use moderate powers
        Op::Power if ty.is_complex() => Closeness::Unknown,
        Op::Sign | Op::Sqrt if ty.is_complex() => Closeness::Ulps,
        _ => Closeness::Exact,
    }
}

/// Whether the sign of a zero may influence a result that is not zero.
fn sees_zero_sign(op: Op, ty: DType) -> bool {
    match op {
        Op::Divide | Op::Reciprocal | Op::FloorDivide | Op::Power | Op::Copysign | Op::Signbit => is_inexact_type(ty),
        Op::Arctan2 | Op::Nextafter | Op::FloatPower => true,
        Op::Sqrt | Op::Log | Op::Sign => ty.is_complex(),
        _ => false,
    }
}

/// Whether the result is the same for zeros of either sign.
fn hides_zero_sign(instr: &Instr) -> bool {
    let predicate = instr.op.output_dtype(instr.ty) == DType::Bool || instr.op.output_dtype(instr.ty) == DType::I64;
    predicate && instr.op.kind() != OpKind::Scan || !is_inexact_type(instr.ty)
}

/// Whether the operation passes values on without magnifying differences. `first` is the closeness of the first input.
fn keeps_ulps(instr: &Instr, first: Closeness) -> bool {
    let same_types = instr.reads().all(|v| v.dtype == instr.ty || v.dtype == DType::Bool) && is_inexact_type(instr.ty);
    same_types
        && match instr.op {
            Op::Copy | Op::Negative | Op::Positive | Op::Conjugate => true,
            Op::Absolute | Op::Min | Op::Max => instr.ty.is_float(),
            // the condition must be exact
            Op::Where => first == Closeness::Exact,
            _ => false,
        }
}
