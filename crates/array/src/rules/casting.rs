//! `casting=` and `order=`: which conversions are allowed, and the memory order of a new result.

use super::resolve;
use numelt_ir::DType;

/// The conversions that `casting=` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Casting {
    /// No conversions; `no` and `equiv` mean this for native dtypes.
    Equal,
    /// Conversions that keep every value.
    Safe,
    /// Also conversions within a kind.
    SameKind,
    /// All.
    Unsafe,
}

impl Casting {
    /// The rule of this name.
    pub fn from_name(name: &str) -> Option<Casting> {
        Some(match name {
            "no" | "equiv" => Casting::Equal,
            "safe" => Casting::Safe,
            "same_kind" => Casting::SameKind,
            "unsafe" => Casting::Unsafe,
            _ => return None,
        })
    }

    /// Whether values of one dtype may be converted to the other.
    pub fn allows(self, from: DType, to: DType) -> bool {
        match self {
            Casting::Equal => from == to,
            Casting::Safe => resolve::safe(from, to),
            Casting::SameKind => resolve::same_kind(from, to),
            Casting::Unsafe => true,
        }
    }
}

/// The memory order of a new result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOrder {
    /// That of the inputs.
    Keep,
    /// Fortran order if all inputs have it, otherwise C order.
    Any,
    /// C order.
    C,
    /// Fortran order.
    F,
}

impl MemoryOrder {
    /// The order of this name.
    pub fn from_name(name: &str) -> Option<MemoryOrder> {
        Some(match name {
            "K" | "k" => MemoryOrder::Keep,
            "A" | "a" => MemoryOrder::Any,
            "C" | "c" => MemoryOrder::C,
            "F" | "f" => MemoryOrder::F,
            _ => return None,
        })
    }
}
