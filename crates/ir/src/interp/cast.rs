//! Conversions between element types, with the results of NumPy's `astype` on x86-64.
//!
//! A float that does not fit an integer type, or is NaN, gives what the machine's instructions give. The conversion to
//! i8, i16, i32, u8 and u16 is the truncating one to 32 bits, of which the low bits are kept. The conversion to i64 and
//! u32 is the truncating one to 64 bits. The conversion to u64 is the sequence of two conversions that compilers
//! generate. Each of these instructions yields the smallest value of its width if the number does not fit. (NumPy's
//! vector code converts contiguous floats to u32 through 32 bits; `astype` composes that of the conversions here.)

use crate::{Complex64, Complex128, DType, F16, Scalar};

/// `value` as an element of type `to`.
pub fn cast(value: Scalar, to: DType) -> Scalar {
    match value {
        Scalar::Bool(v) => from_integer(i128::from(v), to),
        Scalar::I8(v) => from_integer(i128::from(v), to),
        Scalar::U8(v) => from_integer(i128::from(v), to),
        Scalar::I16(v) => from_integer(i128::from(v), to),
        Scalar::U16(v) => from_integer(i128::from(v), to),
        Scalar::I32(v) => from_integer(i128::from(v), to),
        Scalar::U32(v) => from_integer(i128::from(v), to),
        Scalar::I64(v) => from_integer(i128::from(v), to),
        Scalar::U64(v) => from_integer(i128::from(v), to),
        Scalar::F16(v) => from_f16(v, to),
        Scalar::F32(v) => from_f32(v, to),
        Scalar::F64(v) => from_f64(v, to),
        Scalar::C64(v) => match to {
            DType::Bool => Scalar::Bool(v.re != 0.0 || v.im != 0.0),
            DType::C64 => value,
            DType::C128 => Scalar::C128(Complex128 { re: f64::from(v.re), im: f64::from(v.im) }),
            _ => from_f32(v.re, to),
        },
        Scalar::C128(v) => match to {
            DType::Bool => Scalar::Bool(v.re != 0.0 || v.im != 0.0),
            DType::C64 => Scalar::C64(Complex64 { re: v.re as f32, im: v.im as f32 }),
            DType::C128 => value,
            _ => from_f64(v.re, to),
        },
    }
}

/// Integers wrap to the target's width; floats round to nearest, ties to even, f16 through f32.
fn from_integer(v: i128, to: DType) -> Scalar {
    match to {
        DType::Bool => Scalar::Bool(v != 0),
        DType::I8 => Scalar::I8(v as i8),
        DType::U8 => Scalar::U8(v as u8),
        DType::I16 => Scalar::I16(v as i16),
        DType::U16 => Scalar::U16(v as u16),
        DType::I32 => Scalar::I32(v as i32),
        DType::U32 => Scalar::U32(v as u32),
        DType::I64 => Scalar::I64(v as i64),
        DType::U64 => Scalar::U64(v as u64),
        DType::F16 => Scalar::F16(F16::from_f32(v as f32)),
        DType::F32 => Scalar::F32(v as f32),
        DType::F64 => Scalar::F64(v as f64),
        DType::C64 => Scalar::C64(Complex64 { re: v as f32, im: 0.0 }),
        DType::C128 => Scalar::C128(Complex128 { re: v as f64, im: 0.0 }),
    }
}

/// f16 keeps its bits, and is an f32 for everything else.
fn from_f16(v: F16, to: DType) -> Scalar {
    if to == DType::F16 { Scalar::F16(v) } else { from_f32(v.to_f32(), to) }
}

/// f32 keeps its bits if the target does; everything else goes through f64, which is exact.
fn from_f32(v: f32, to: DType) -> Scalar {
    match to {
        DType::F16 => Scalar::F16(F16::from_f32(v)),
        DType::F32 => Scalar::F32(v),
        DType::C64 => Scalar::C64(Complex64 { re: v, im: 0.0 }),
        _ => from_f64(f64::from(v), to),
    }
}

fn from_f64(v: f64, to: DType) -> Scalar {
    match to {
        DType::Bool => Scalar::Bool(v != 0.0),
        DType::I8 => Scalar::I8(truncate_i32(v) as i8),
        DType::U8 => Scalar::U8(truncate_i32(v) as u8),
        DType::I16 => Scalar::I16(truncate_i32(v) as i16),
        DType::U16 => Scalar::U16(truncate_i32(v) as u16),
        DType::I32 => Scalar::I32(truncate_i32(v)),
        DType::U32 => Scalar::U32(truncate_i64(v) as u32),
        DType::I64 => Scalar::I64(truncate_i64(v)),
        DType::U64 => Scalar::U64(truncate_u64(v)),
        DType::F16 => Scalar::F16(F16::from_f64(v)),
        DType::F32 => Scalar::F32(v as f32),
        DType::F64 => Scalar::F64(v),
        DType::C64 => Scalar::C64(Complex64 { re: v as f32, im: 0.0 }),
        DType::C128 => Scalar::C128(Complex128 { re: v, im: 0.0 }),
    }
}

/// 2 to the 63.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// The 32-bit truncating conversion: `i32::MIN` for values that do not fit.
fn truncate_i32(v: f64) -> i32 {
    if v > -2_147_483_649.0 && v < 2_147_483_648.0 { v as i32 } else { i32::MIN }
}

/// The 64-bit truncating conversion: `i64::MIN` for values that do not fit.
fn truncate_i64(v: f64) -> i64 {
    if (-TWO_63..TWO_63).contains(&v) { v as i64 } else { i64::MIN }
}

/// Below 2^63 the signed conversion; from there on, the signed conversion of the excess over 2^63 with the top bit
/// flipped.
fn truncate_u64(v: f64) -> u64 {
    if v >= TWO_63 { truncate_i64(v - TWO_63) as u64 ^ 1 << 63 } else { truncate_i64(v) as u64 }
}
