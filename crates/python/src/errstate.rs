//! `numpy.errstate` modes that act inside an operation: `raise`, `call`, `print`, `log`.
//!
//! While one of them is in force, elementwise operations run one at a time, by NumPy on zero-copy views, so that
//! the error comes from the line that caused it. The package says when such a mode may be in force; only
//! then is NumPy's state asked, because it is kept per context and asking costs more than recording.

use crate::convert::Numpy;
use crate::elementwise::Native;
use crate::hooks;
use crate::ndarray::NdArray;
use crate::operand::Operand;
use numelt_ir::{DType, Op};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicI64, Ordering};

/// Contexts with a strict mode that are open.
static WATCHED: AtomicI64 = AtomicI64::new(0);

/// May a strict mode be in force anywhere?
#[inline]
pub fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed) > 0
}

/// Is a strict mode in force here?
#[inline]
pub fn is_strict(py: Python<'_>) -> PyResult<bool> {
    if !is_watched() {
        return Ok(false);
    }
    let modes = Numpy::get(py)?.attr(py, "geterr")?.call0()?.cast_into::<PyDict>()?;
    for (_, mode) in modes {
        if !matches!(mode.extract::<String>()?.as_str(), "ignore" | "warn") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The operation, run now by NumPy; `None` where NumPy has no ufunc of that name.
pub fn run<'py>(
    py: Python<'py>,
    op: Op,
    args: &[Operand<'py>],
    out: Option<&Bound<'py, NdArray>>,
    dtype: Option<DType>,
) -> Native<'py> {
    let numpy = Numpy::get(py)?;
    let function = match op {
        Op::Where | Op::Copy | Op::RealPart | Op::ImagPart | Op::Erf => return Ok(None),
        _ => numpy.attr(py, op.name())?,
    };
    let objects = args.iter().map(|a| a.to_object(py)).collect::<PyResult<Vec<_>>>()?;
    let kwargs = PyDict::new(py);
    if let Some(out) = out {
        kwargs.set_item("out", PyTuple::new(py, [out])?)?;
    }
    if let Some(dtype) = dtype {
        kwargs.set_item("dtype", numpy.descr(py, dtype))?;
    }
    let result = hooks::call_numpy(&function, &PyTuple::new(py, objects)?, Some(&kwargs))?;
    Ok(Some(out.map_or(result, |out| out.clone().into_any())))
}

/// The package opens (+1) or closes (-1) a context in which a strict mode may be in force.
#[pyfunction]
fn watch_errstate(change: i64) -> PyResult<()> {
    if WATCHED.fetch_add(change, Ordering::Relaxed) + change < 0 {
        WATCHED.store(0, Ordering::Relaxed);
        return Err(PyValueError::new_err("more contexts closed than opened"));
    }
    Ok(())
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(watch_errstate, module)?)
}
