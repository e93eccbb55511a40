//! Products of vectors and matrices: Python's operands for the rules of crate `numelt`.

use crate::array::operand::Operand;
use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use crate::ufunc::elementwise::{self, Native};
use numelt::{Answer, Made};
use numelt_ir::Op;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;

/// The fast path of a product of two matrices or vectors of one dtype, by the rules of `matmul` and `dot`.
pub fn plain<'py>(py: Python<'py>, op: Op, a: &ArrayView, b: &ArrayView) -> Native<'py> {
    match numelt::plain_product(&Attached(py), op, a, b)? {
        Some(made) => elementwise::finish(py, Answer::Recorded(Made::New(made)), None),
        None => Ok(None),
    }
}

/// Records a product by the rules of the NumPy function that `op` is named after; `None` if NumPy has to run it or
/// raise the error.
pub fn product<'py>(
    py: Python<'py>,
    op: Op,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, NdArray>>,
) -> Native<'py> {
    let (Some(a), Some(b)) = (Operand::extract(a)?, Operand::extract(b)?) else { return Ok(None) };
    let (Some(left), Some(right)) = (a.view(), b.view()) else { return Ok(None) };
    let target = match out.map(elementwise::output) {
        Some(None) => return Ok(None),
        Some(target) => target,
        None => None,
    };
    elementwise::finish(py, numelt::product(&Attached(py), op, left, right, target)?, out)
}
