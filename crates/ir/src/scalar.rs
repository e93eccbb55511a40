//! [`Scalar`], a value with its dtype: a literal of a program, or an element in the interpreter.

use crate::{DType, F16};

/// A complex number of two f32. It is an element of [`DType::C64`]: this name states the size of a part, the dtype's
/// the size of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Complex64 {
    pub re: f32,
    pub im: f32,
}

/// A complex number of two f64, an element of [`DType::C128`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Complex128 {
    pub re: f64,
    pub im: f64,
}

/// A value with its element type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F16(F16),
    F32(f32),
    F64(f64),
    C64(Complex64),
    C128(Complex128),
}

impl Scalar {
    /// The element type.
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::I8(_) => DType::I8,
            Scalar::U8(_) => DType::U8,
            Scalar::I16(_) => DType::I16,
            Scalar::U16(_) => DType::U16,
            Scalar::I32(_) => DType::I32,
            Scalar::U32(_) => DType::U32,
            Scalar::I64(_) => DType::I64,
            Scalar::U64(_) => DType::U64,
            Scalar::F16(_) => DType::F16,
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::C64(_) => DType::C64,
            Scalar::C128(_) => DType::C128,
        }
    }

    /// The value as in memory (native byte order), zero-padded to 16 bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut out = [0u8; 16];
        let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
        match self {
            Scalar::Bool(v) => put(&[v as u8]),
            Scalar::I8(v) => put(&v.to_ne_bytes()),
            Scalar::U8(v) => put(&v.to_ne_bytes()),
            Scalar::I16(v) => put(&v.to_ne_bytes()),
            Scalar::U16(v) => put(&v.to_ne_bytes()),
            Scalar::I32(v) => put(&v.to_ne_bytes()),
            Scalar::U32(v) => put(&v.to_ne_bytes()),
            Scalar::I64(v) => put(&v.to_ne_bytes()),
            Scalar::U64(v) => put(&v.to_ne_bytes()),
            Scalar::F16(v) => put(&v.0.to_ne_bytes()),
            Scalar::F32(v) => put(&v.to_ne_bytes()),
            Scalar::F64(v) => put(&v.to_ne_bytes()),
            Scalar::C64(v) => {
                put(&v.re.to_ne_bytes());
                out[4..8].copy_from_slice(&v.im.to_ne_bytes());
            }
            Scalar::C128(v) => {
                put(&v.re.to_ne_bytes());
                out[8..16].copy_from_slice(&v.im.to_ne_bytes());
            }
        }
        out
    }

    /// Reads a value of type `dtype` from the front of `bytes`.
    ///
    /// # Panics
    /// When `bytes` is shorter than one element.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Scalar {
        macro_rules! read {
            ($t:ty, $at:expr) => {
                <$t>::from_ne_bytes(
                    bytes[$at..$at + size_of::<$t>()].try_into().expect("length is checked by the slice"),
                )
            };
        }
        match dtype {
            DType::Bool => Scalar::Bool(bytes[0] != 0),
            DType::I8 => Scalar::I8(read!(i8, 0)),
            DType::U8 => Scalar::U8(bytes[0]),
            DType::I16 => Scalar::I16(read!(i16, 0)),
            DType::U16 => Scalar::U16(read!(u16, 0)),
            DType::I32 => Scalar::I32(read!(i32, 0)),
            DType::U32 => Scalar::U32(read!(u32, 0)),
            DType::I64 => Scalar::I64(read!(i64, 0)),
            DType::U64 => Scalar::U64(read!(u64, 0)),
            DType::F16 => Scalar::F16(F16(read!(u16, 0))),
            DType::F32 => Scalar::F32(read!(f32, 0)),
            DType::F64 => Scalar::F64(read!(f64, 0)),
            DType::C64 => Scalar::C64(Complex64 { re: read!(f32, 0), im: read!(f32, 4) }),
            DType::C128 => Scalar::C128(Complex128 { re: read!(f64, 0), im: read!(f64, 8) }),
        }
    }

    /// Whether the number, or a part of it, is NaN.
    pub fn is_nan(self) -> bool {
        self.any_part(f64::is_nan)
    }

    /// Whether the number, or a part of it, is infinite.
    pub fn is_infinite(self) -> bool {
        self.any_part(f64::is_infinite)
    }

    /// Whether a part passes a test, which integers always fail.
    fn any_part(self, test: fn(f64) -> bool) -> bool {
        match self {
            Scalar::F16(v) => test(v.to_f32().into()),
            Scalar::F32(v) => test(v.into()),
            Scalar::F64(v) => test(v),
            Scalar::C64(v) => test(v.re.into()) || test(v.im.into()),
            Scalar::C128(v) => test(v.re) || test(v.im),
            Scalar::Bool(_)
            | Scalar::I8(_)
            | Scalar::U8(_)
            | Scalar::I16(_)
            | Scalar::U16(_)
            | Scalar::I32(_)
            | Scalar::U32(_)
            | Scalar::I64(_)
            | Scalar::U64(_) => false,
        }
    }

    /// Whether dtype and bits are the same. So a NaN is the same as itself, and -0.0 differs from 0.0.
    pub fn same_bits(self, other: Scalar) -> bool {
        self.dtype() == other.dtype() && self.to_bytes() == other.to_bytes()
    }
}
