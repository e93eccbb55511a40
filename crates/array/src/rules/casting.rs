//! `casting=` and `order=`: which conversions are allowed, and the memory order of a new result.

use super::resolve;
use numelt_ir::DType;

/// Which conversions `casting=` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Casting {
    /// None; what `no` and `equiv` say of native dtypes.
    Equal,
    /// Those that keep every value.
    Safe,
    /// Those within a kind, too.
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

    /// May values of one dtype become values of the other?
    pub fn allows(self, from: DType, to: DType) -> bool {
        match self {
            Casting::Equal => from == to,
            Casting::Safe => resolve::safe(from, to),
            Casting::SameKind => resolve::same_kind(from, to),
            Casting::Unsafe => true,
        }
    }
}

/// How a new result lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOrder {
    /// As the inputs lie.
    Keep,
    /// Fortran order if all inputs are in it, else C order.
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
