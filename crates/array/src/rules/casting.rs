//! `casting=`: which conversions are allowed.

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
