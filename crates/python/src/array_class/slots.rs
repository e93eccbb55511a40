//! Operator slots of the array class, each a one-line call of `operators.rs`.

use crate::cpython::{Any, Out};
use crate::object::ndarray::NdArray;
use crate::ufunc::operators::{self as o, binary, divmod, in_place, power, unary};
use numelt_ir::Op;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;

fn compare<'py>(a: Any<'_, 'py>, b: Any<'_, 'py>, op: CompareOp) -> Out<'py> {
    let operator = match op {
        CompareOp::Eq => &o::EQUAL,
        CompareOp::Ne => &o::NOT_EQUAL,
        CompareOp::Lt => &o::LESS,
        CompareOp::Le => &o::LESS_EQUAL,
        CompareOp::Gt => &o::GREATER,
        CompareOp::Ge => &o::GREATER_EQUAL,
    };
    binary(a, b, operator, false)
}

#[pymethods]
#[rustfmt::skip]
impl NdArray {
    fn __add__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::ADD, false) }
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::ADD, true) }
    fn __iadd__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::ADD) }
    fn __sub__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::SUBTRACT, false) }
    fn __rsub__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::SUBTRACT, true) }
    fn __isub__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::SUBTRACT) }
    fn __mul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::MULTIPLY, false) }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::MULTIPLY, true) }
    fn __imul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::MULTIPLY) }
    fn __truediv__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::DIVIDE, false) }
    fn __rtruediv__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::DIVIDE, true) }
    fn __itruediv__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::DIVIDE) }
    fn __floordiv__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::FLOOR_DIVIDE, false) }
    fn __rfloordiv__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::FLOOR_DIVIDE, true) }
    fn __ifloordiv__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::FLOOR_DIVIDE) }
    fn __mod__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::REMAINDER, false) }
    fn __rmod__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::REMAINDER, true) }
    fn __imod__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::REMAINDER) }
    fn __and__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::AND, false) }
    fn __rand__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::AND, true) }
    fn __iand__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::AND) }
    fn __or__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::OR, false) }
    fn __ror__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::OR, true) }
    fn __ior__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::OR) }
    fn __xor__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::XOR, false) }
    fn __rxor__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::XOR, true) }
    fn __ixor__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::XOR) }
    fn __lshift__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::LEFT_SHIFT, false) }
    fn __rlshift__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::LEFT_SHIFT, true) }
    fn __ilshift__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::LEFT_SHIFT) }
    fn __rshift__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::RIGHT_SHIFT, false) }
    fn __rrshift__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::RIGHT_SHIFT, true) }
    fn __irshift__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::RIGHT_SHIFT) }
    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(slf.as_any(), other, &o::MATMUL, false) }
    fn __rmatmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { binary(other, slf.as_any(), &o::MATMUL, true) }
    fn __imatmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::MATMUL) }
    fn __pow__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, modulo: Any<'_, 'py>) -> Out<'py> { power(slf.as_any(), other, modulo, false) }
    fn __rpow__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, modulo: Any<'_, 'py>) -> Out<'py> { power(other, slf.as_any(), modulo, true) }
    fn __ipow__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, _modulo: Any<'_, 'py>) -> PyResult<()> { in_place(slf, other, &o::POWER) }
    fn __divmod__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { divmod(slf.as_any(), other, false) }
    fn __rdivmod__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> Out<'py> { divmod(other, slf.as_any(), true) }
    fn __neg__<'py>(slf: &Bound<'py, Self>) -> Out<'py> { unary(slf.as_any(), Op::Negative, "neg") }
    fn __pos__<'py>(slf: &Bound<'py, Self>) -> Out<'py> { unary(slf.as_any(), Op::Positive, "pos") }
    fn __abs__<'py>(slf: &Bound<'py, Self>) -> Out<'py> { unary(slf.as_any(), Op::Absolute, "abs") }
    fn __invert__<'py>(slf: &Bound<'py, Self>) -> Out<'py> { unary(slf.as_any(), Op::Invert, "invert") }
    fn __richcmp__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>, op: CompareOp) -> Out<'py> { compare(slf.as_any(), other, op) }
}
