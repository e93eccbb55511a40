//! Extension methods in Python (`numelt.extension`): functions whose calls are recorded like operations.
//!
//! In: a function, an array for it to fill, and arrays for it to read. Out: a recorded call, which the runtime runs
//! when its turn comes, with NumPy's arrays on the memory of numelt. An exception of the function is raised by the
//! statement that made the call run.

use crate::numpy::errors;
use crate::object::ndarray::NdArray;
use crate::record::{filters, gil, registry, run};
use crate::sharing::export::{Exporter, bare_view, references, set_base};
use numelt_ir::{Error, Result};
use numelt_runtime::{ArrayView, Export, Extension, ExtensionInput, ExtensionOutput, Reason, Runtime};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// A Python function as an extension method.
struct Function {
    name: String,
    run: Py<PyAny>,
}

/// A NumPy array on memory of numelt, for the time of a call.
struct Shown<'py> {
    array: Bound<'py, PyAny>,
    export: Export,
}

impl<'py> Shown<'py> {
    fn new(py: Python<'py>, view: &ArrayView, export: Export, writeable: bool) -> PyResult<Shown<'py>> {
        Ok(Shown { array: bare_view(py, view, export.ptr(), writeable)?, export })
    }

    /// Ends the call. If the function has kept the array, the array owns a share of the memory from now on.
    fn end(self) -> PyResult<()> {
        if references(&self.array) == 1 {
            return Ok(());
        }
        registry::enter(self.export.base());
        let exporter = Bound::new(self.array.py(), Exporter { export: self.export, array: None })?;
        set_base(&self.array, exporter)
    }
}

impl Extension for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, out: &mut ExtensionOutput<'_>, inputs: &[ExtensionInput<'_>]) -> Result<()> {
        Python::attach(|py| {
            self.call(py, out, inputs).map_err(|error| {
                filters::raise_later(error);
                Error::Extension(self.name.clone())
            })
        })
    }
}

impl Function {
    fn call(&self, py: Python<'_>, out: &ExtensionOutput<'_>, inputs: &[ExtensionInput<'_>]) -> PyResult<()> {
        let mut shown = vec![Shown::new(py, out.view(), out.export(), true)?];
        for input in inputs {
            shown.push(Shown::new(py, input.view(), input.export(), false)?);
        }
        let given = PyTuple::new(py, shown.iter().map(|shown| &shown.array))?;
        let called = self.run.bind(py).call1(&given);
        drop(given);
        // a traceback may hold the function's variables, and thereby these arrays
        let ended = shown.into_iter().try_for_each(Shown::end);
        called.map(drop).and(ended)
    }
}

/// Records a call of `run` that fills `out` from the arrays `ins`. Returns false if that is not possible, and the
/// caller must call the function itself: an array is not native, or this thread is running an extension method.
#[pyfunction]
pub fn call_extension(
    py: Python<'_>,
    name: String,
    run: &Bound<'_, PyAny>,
    out: &Bound<'_, PyAny>,
    ins: &Bound<'_, PyTuple>,
) -> PyResult<bool> {
    let arrays = ins.iter().chain([out.clone()]).map(|array| array.cast_into::<NdArray>());
    let arrays = arrays.collect::<std::result::Result<Vec<_>, _>>()?;
    let views: Option<Vec<&ArrayView>> = arrays.iter().map(|array| array.get().view()).collect();
    let Some((out, ins)) = views.as_deref().and_then(<[_]>::split_last) else { return Ok(false) };
    // memory that is visible outside may change without notice, and the function must see it as it is now
    let at_once = filters::apply_here() || ins.iter().any(|view| view.base.is_visible());
    let method = Arc::new(Function { name, run: run.clone().unbind() });
    match gil::past_gil(py, |runtime| runtime.call_extension(method, out, ins)) {
        Ok(()) => {}
        Err(Error::Unsupported(_)) => return Ok(false),
        Err(error) => return Err(errors::to_py(error)),
    }
    if at_once {
        run::flush(py, Reason::Visible)?;
    }
    Ok(true)
}

/// How many calls of extension methods have not run.
#[pyfunction]
pub fn pending_calls() -> usize {
    Runtime::global().pending_calls()
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(call_extension, module)?)?;
    module.add_function(wrap_pyfunction!(pending_calls, module)?)
}
