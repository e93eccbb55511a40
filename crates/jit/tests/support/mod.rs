//! What the tests of specialized loops share: memory of eight bytes per element, and arguments.

use numelt_ir::{DType, Scalar};
use numelt_jit::{Argument, ObjectKind, Type};

/// The element at an address.
pub fn load(cells: &[u64], address: i64, ty: DType) -> Scalar {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&cells[address as usize / 8].to_le_bytes());
    Scalar::from_bytes(ty, &bytes)
}

/// Replaces the element at an address.
pub fn store(cells: &mut [u64], address: i64, value: Scalar) {
    cells[address as usize / 8] = u64::from_le_bytes(value.to_bytes()[..8].try_into().expect("eight bytes"));
}

/// An argument of this type.
pub fn value(ty: Type) -> Argument {
    Argument { kind: ObjectKind::Value, ty }
}

/// The builtin class `range`.
pub fn range() -> Argument {
    Argument { kind: ObjectKind::Builtin("range"), ty: Type::None }
}
