//! Operands of an operation.

use crate::rules::resolve::{Kind, Weak};
use numelt_ir::{DType, Scalar};
use numelt_runtime::ArrayView;

/// One operand.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// An array.
    Array(&'a ArrayView),
    /// A NumPy scalar: its dtype counts.
    Value(Scalar),
    /// A Python number: its dtype adapts to that of the arrays with which it is combined.
    Weak(Weak),
}

impl<'a> Operand<'a> {
    /// The information about the operand that the dtype rules need.
    pub fn kind(&self) -> Kind {
        match self {
            Operand::Array(view) => Kind::Strong(view.dtype),
            Operand::Value(value) => Kind::Strong(value.dtype()),
            Operand::Weak(weak) => Kind::Weak(*weak),
        }
    }

    /// The view of an operand that has one.
    pub fn view(&self) -> Option<&'a ArrayView> {
        match self {
            Operand::Array(view) => Some(view),
            Operand::Value(_) | Operand::Weak(_) => None,
        }
    }

    /// Extents; none for scalars.
    pub fn shape(&self) -> &'a [i64] {
        self.view().map_or(&[], |view| &view.shape)
    }

    /// The dtype of the operand; `None` for Python numbers.
    pub fn dtype(&self) -> Option<DType> {
        match self.kind() {
            Kind::Strong(dtype) => Some(dtype),
            Kind::Weak(_) => None,
        }
    }

    /// Whether it is a scalar of any kind.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Operand::Array(_))
    }
}
