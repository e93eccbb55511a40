//! `ufunc.at` with one array of positions on the first axis, which combines values with the elements in order. Also
//! the methods that NumPy's class of ufuncs has.

use crate::array::ndarray::{NdArray, exact_native};
use crate::array::operand::Operand;
use crate::numpy::convert::Numpy;
use crate::record::errstate;
use crate::record::front::Attached;
use crate::ufunc::elementwise::Native;
use crate::ufunc::quick;
use numelt::indexing;
use numelt_ir::{DType, Op};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// Records `target[positions] = step(target[positions], values)`, where each of several equal positions takes part.
/// `None` unless the operands need no conversion: positions of int64 inside the first axis, which the caller has
/// checked, and values of the target's dtype and of the shape that the positions select.
pub fn at<'py>(
    py: Python<'py>,
    step: Op,
    target: &Bound<'py, NdArray>,
    positions: &Operand<'py>,
    values: &Operand<'py>,
) -> Native<'py> {
    let (Some(view), Some(positions), Some(values)) = (target.get().view(), positions.view(), values.view()) else {
        return Ok(None);
    };
    if !target.get().writeable() {
        return Ok(None);
    }
    let done = indexing::combine_at(&Attached(py), step, view, positions, values)?;
    Ok(done.recorded().map(|()| target.clone().into_any()))
}

/// `scatter(op, target, positions, values)`: see [`at`].
#[pyfunction]
fn scatter<'py>(
    py: Python<'py>,
    op: &str,
    target: &Bound<'py, NdArray>,
    positions: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let (positions, values) = (Operand::extract(positions)?, Operand::extract(values)?);
    let result = match (Op::from_name(op), positions, values) {
        // the values have been negated; the operation is recorded under its own name
        (Some(Op::Subtract), Some(positions), Some(values)) => {
            errstate::as_parts(py, || at(py, Op::Add, target, &positions, &values))?
        }
        (Some(op), Some(positions), Some(values)) => at(py, op, target, &positions, &values)?,
        _ => None,
    };
    Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
}

/// Whether NumPy's `at` has one loop for these operands. It has for vectors of one dtype and positions in a vector.
pub fn is_one_loop(args: &Bound<'_, PyTuple>) -> bool {
    let view = |n| args.get_borrowed_item(n).ok().and_then(|arg| exact_native(&arg).and_then(NdArray::view).cloned());
    let (Some(target), Some(positions)) = (view(0), view(1)) else { return false };
    let vectors = target.shape.len() == 1 && positions.shape.len() == 1 && positions.dtype == DType::I64;
    let value = args.get_borrowed_item(2).is_ok_and(|value| match exact_native(&value).and_then(NdArray::view) {
        Some(values) => values.dtype == target.dtype && values.shape == positions.shape,
        None => quick::literal(target.dtype, &value).is_some(),
    });
    vectors && value && (target.dtype.is_integer() || matches!(target.dtype, DType::F32 | DType::F64))
}

/// The most segments that the package reduces one by one (`numelt._ufunc.ufuncs._MANY_SEGMENTS`).
const SEGMENTS: i64 = 64;

/// Whether there are more segments than the package reduces one by one.
pub fn has_many_segments(args: &Bound<'_, PyTuple>) -> bool {
    args.get_borrowed_item(1).is_ok_and(|starts| {
        exact_native(&starts).and_then(NdArray::view).is_some_and(|v| v.shape.len() == 1 && v.size() > SEGMENTS)
    })
}

/// A method of NumPy's class of ufuncs.
pub fn unbound<'py>(py: Python<'py>, name: &'static str) -> PyResult<Bound<'py, PyAny>> {
    static METHODS: [PyOnceLock<Py<PyAny>>; 5] = [const { PyOnceLock::new() }; 5];
    let get = || Numpy::get(py)?.ufunc.bind(py).getattr(name).map(Bound::unbind);
    let at = ["reduce", "accumulate", "reduceat", "outer", "at"].iter().position(|known| *known == name);
    match at {
        Some(at) => Ok(METHODS[at].get_or_try_init(py, get)?.bind(py).clone()),
        None => get().map(|method| method.into_bound(py)),
    }
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scatter, module)?)
}
