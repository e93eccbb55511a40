//! `ufunc.at` by one array of positions on the first axis: values combined with what is there, in order.

use crate::elementwise::Native;
use crate::ndarray::NdArray;
use crate::operand::Operand;
use crate::{errstate, run};
use numelt_ir::{Axes, DType, Op};
use numelt_runtime::Input;
use pyo3::prelude::*;

/// The scatter that combines values by an elementwise operation.
fn scatter_of(step: Op) -> Option<Op> {
    Op::ALL.iter().copied().find(|op| op.scatter_step() == Some(Some(step)))
}

/// Records `target[positions] = step(target[positions], values)` with every equal position taking part;
/// `None` unless the operands fit as they are: positions of int64 inside the first axis, which the caller has
/// checked, and values of the target's dtype and of the shape of what the positions select.
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
    let Some(op) = scatter_of(step) else { return Ok(None) };
    let lead = positions.shape.len();
    let fits = !view.shape.is_empty()
        && positions.dtype == DType::I64
        && values.dtype == view.dtype
        && values.shape.len() == lead + view.shape.len() - 1
        && values.shape[..lead] == positions.shape[..]
        && values.shape[lead..] == view.shape[1..];
    if !fits || !target.get().writeable() {
        return Ok(None);
    }
    if values.size() > 0 {
        let ins = [Input::Array(view), Input::Array(values), Input::Array(positions)];
        run::record(py, op, view.dtype, view, &ins, Axes::default())?;
    }
    Ok(Some(target.clone().into_any()))
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
        // the values have changed their signs; the operation keeps its name
        (Some(Op::Subtract), Some(positions), Some(values)) => {
            let _part = errstate::As::parts();
            at(py, Op::Add, target, &positions, &values)?
        }
        (Some(op), Some(positions), Some(values)) => at(py, op, target, &positions, &values)?,
        _ => None,
    };
    Ok(result.unwrap_or_else(|| py.NotImplemented().into_bound(py)))
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(scatter, module)?)
}
