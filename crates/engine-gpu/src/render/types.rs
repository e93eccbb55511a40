//! Element types in C: names, numbers, conversions.

use numelt_ir::{DType, DTypeKind, Op};
use numelt_opt::Reduction;

/// A type that is as wide, and unsigned.
pub fn unsigned(ty: DType) -> DType {
    match ty.size() {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    }
}

/// The unsigned type in which integer arithmetic on a type wraps: C computes narrower ones as `int`.
pub fn wrapping(ty: DType) -> DType {
    if ty.size() == 8 { DType::U64 } else { DType::U32 }
}

/// The name of a value's type.
pub fn name(ty: DType) -> &'static str {
    ty.name()
}

/// The type of a reduction's partial results, which are in scratch memory: halves are added in f32.
pub fn partial(reduction: &Reduction) -> DType {
    match reduction.op {
        Op::Any | Op::All => DType::Bool,
        Op::Sum | Op::Prod if reduction.ty == DType::F16 => DType::F32,
        _ => reduction.ty,
    }
}

/// The type of the units in memory, in which strides are counted: truth values are bytes, complex numbers are pairs.
pub fn stored(ty: DType) -> DType {
    match ty {
        DType::Bool => DType::U8,
        other => other.real(),
    }
}

/// A finite or infinite number as a constant of a type, f32 or f64.
pub fn number(value: f64, ty: DType) -> String {
    let suffix = if ty == DType::F32 { "f" } else { "" };
    if value.is_nan() {
        format!("({ty})NAN")
    } else if value.is_infinite() {
        format!("({})({}INFINITY)", name(ty), if value < 0.0 { "-" } else { "" })
    } else if ty == DType::F32 {
        format!("{:?}{suffix}", value as f32)
    } else {
        format!("{value:?}{suffix}")
    }
}

/// The conversion of a value: C's rules, as NumPy's `astype`.
pub fn cast(value: &str, from: DType, to: DType) -> String {
    use DTypeKind::{Bool, Complex, Float, Signed, Unsigned};
    if from == to {
        return value.to_owned();
    }
    match (from.kind(), to.kind()) {
        (Complex, Bool) => format!("({value}.re != 0 || {value}.im != 0)"),
        (Complex, Complex) => {
            let part = name(to.real());
            format!("make_{to}(({part}){value}.re, ({part}){value}.im)")
        }
        (Complex, Signed | Unsigned | Float) => cast(&format!("{value}.re"), from.real(), to),
        (Bool | Signed | Unsigned | Float, Complex) => format!("make_{to}({}, 0)", cast(value, from, to.real())),
        _ if from == DType::F16 => cast(&format!("f32_of_f16({value})"), DType::F32, to),
        _ if to == DType::F16 && from == DType::F64 => format!("f16_of_f64({value})"),
        _ if to == DType::F16 => format!("f16_of_f32({})", cast(value, from, DType::F32)),
        (_, Bool) => format!("({value} != 0)"),
        (Float, Signed | Unsigned) => {
            let through = match to {
                DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::I32 => DType::I32,
                DType::U64 => DType::U64,
                _ => DType::I64,
            };
            cast(&format!("{through}_of_{from}({value})"), through, to)
        }
        _ => format!("({}){}", name(to), value),
    }
}
