//! The native dtypes, which numelt records and computes itself, and sets of them.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The element type of a view, in the order in which NumPy lists a ufunc's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // the names say it
pub enum DType {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
    C64,
    C128,
}

/// The family an element type belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DTypeKind {
    Bool,
    Unsigned,
    Signed,
    Float,
    Complex,
}

impl DType {
    /// Every native element type, in order.
    pub const ALL: [DType; 14] = [
        DType::Bool,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// Alignment of one element in bytes.
    pub const fn align(self) -> usize {
        match self {
            DType::C64 => 4,
            DType::C128 => 8,
            other => other.size(),
        }
    }

    /// The family.
    pub const fn kind(self) -> DTypeKind {
        match self {
            DType::Bool => DTypeKind::Bool,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => DTypeKind::Unsigned,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => DTypeKind::Signed,
            DType::F16 | DType::F32 | DType::F64 => DTypeKind::Float,
            DType::C64 | DType::C128 => DTypeKind::Complex,
        }
    }

    /// Signed or unsigned integer (bool is not).
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), DTypeKind::Signed | DTypeKind::Unsigned)
    }

    /// f16, f32 or f64.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), DTypeKind::Float)
    }

    /// c64 or c128.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), DTypeKind::Complex)
    }

    /// The type of the real part: f32 or f64 for a complex type, and the type itself for all others.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// Short name of the text form: `f64`, `i32`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::I16 => "i16",
            DType::U16 => "u16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// The smallest type to which both convert safely: `numpy.promote_types` for native types.
    pub fn promote(self, other: DType) -> DType {
        use DTypeKind::*;
        if self == other {
            return self;
        }
        let (low, high) = if self.kind() <= other.kind() { (self, other) } else { (other, self) };
        match (low.kind(), high.kind()) {
            (Bool, _) => high,
            (a, b) if a == b => {
                if low.size() >= high.size() {
                    low
                } else {
                    high
                }
            }
            (Unsigned, Signed) => match low.size().max(high.size() / 2) {
                1 => DType::I16,
                2 => DType::I32,
                4 => DType::I64,
                _ => DType::F64,
            }
            .at_least_signed(high),
            // an integer fits the float of twice its size, up to 64 bits
            (Unsigned | Signed, Float) => match low.size() {
                1 => high,
                2 => high.max(DType::F32),
                _ => DType::F64,
            },
            (Unsigned | Signed, Complex) => match low.size() {
                1 | 2 => high,
                _ => DType::C128,
            },
            (Float, Complex) => {
                if low == DType::F64 {
                    DType::C128
                } else {
                    high
                }
            }
            _ => unreachable!("kinds are ordered"),
        }
    }

    /// The larger of two signed types; a float stays.
    fn at_least_signed(self, signed: DType) -> DType {
        if self.kind() == DTypeKind::Signed && signed.size() > self.size() { signed } else { self }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;
    fn from_str(text: &str) -> Result<DType> {
        DType::ALL.into_iter().find(|d| d.name() == text).ok_or_else(|| Error::Type(format!("unknown dtype {text:?}")))
    }
}

/// A set of element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DTypeSet(u16);

impl DTypeSet {
    /// {bool}
    pub const BOOL: DTypeSet = DTypeSet(1);
    /// Signed and unsigned integers.
    pub const INTEGER: DTypeSet = DTypeSet(0x1FE);
    /// {f16, f32, f64}
    pub const FLOAT: DTypeSet = DTypeSet(0xE00);
    /// {u32, u64, f32, f64}: the types of random streams.
    pub const STREAM: DTypeSet = DTypeSet(0xD40);
    /// {f64, c128}
    pub const DOUBLE: DTypeSet = DTypeSet(0x2800);
    /// {i64, u64}
    pub const WIDE: DTypeSet = DTypeSet(0x180);
    /// {c64, c128}
    pub const COMPLEX: DTypeSet = DTypeSet(0x3000);
    /// Every native type.
    pub const ALL: DTypeSet = DTypeSet(0x3FFF);
    /// Integers and floats.
    pub const REAL: DTypeSet = Self::INTEGER.or(Self::FLOAT);
    /// Integers, floats and complex.
    pub const NUMBER: DTypeSet = Self::REAL.or(Self::COMPLEX);
    /// bool, integers and floats.
    pub const ORDERED: DTypeSet = Self::REAL.or(Self::BOOL);
    /// Floats and complex.
    pub const INEXACT: DTypeSet = Self::FLOAT.or(Self::COMPLEX);
    /// bool and integers.
    pub const BITS: DTypeSet = Self::BOOL.or(Self::INTEGER);

    /// Union.
    pub const fn or(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 | other.0)
    }

    /// Is `dtype` in the set?
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 >> dtype as u8 & 1 == 1
    }

    /// Members, in type order.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |d| self.contains(*d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_follows_numpy() {
        use DType::*;
        for (a, b, want) in [
            (Bool, I8, I8),
            (I8, U8, I16),
            (U8, I16, I16),
            (U32, I8, I64),
            (U64, I64, F64),
            (U16, I64, I64),
            (I16, F32, F32),
            (Bool, F16, F16),
            (U8, F16, F16),
            (I16, F16, F32),
            (U32, F16, F64),
            (F16, F32, F32),
            (F16, C64, C64),
            (I32, F32, F64),
            (U8, C64, C64),
            (I32, C64, C128),
            (F64, C64, C128),
            (F32, C64, C64),
            (U8, U32, U32),
        ] {
            assert_eq!(a.promote(b), want, "{a} {b}");
            assert_eq!(b.promote(a), want, "{b} {a}");
        }
    }

    #[test]
    fn names_round_trip() {
        for d in DType::ALL {
            assert_eq!(d.name().parse::<DType>().unwrap(), d);
        }
    }
}
