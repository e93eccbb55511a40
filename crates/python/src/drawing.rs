//! Methods of random generators as objects: a draw needs no Python function around NumPy's.
//!
//! In: a call of a method of the package's generators. Out: NumPy's draw, made on the plain generator beside, or a native
//! one; arguments that are ours are lent.

use crate::escape;
use crate::library::Library;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A method that draws.
#[pyclass(name = "drawing", module = "numelt._core", dict, weakref, frozen)]
pub struct Drawing {
    /// NumPy's method.
    original: Py<PyAny>,
    /// The same as a library call.
    library: Py<Library>,
    /// `native(instance._legacy, ...)` gives the draw, or `NotImplemented`.
    native: Option<Py<PyAny>>,
    /// Does a list as the first argument change in place?
    shuffles: bool,
}

#[pymethods]
impl Drawing {
    #[new]
    #[pyo3(signature = (original, library, native = None, shuffles = false))]
    fn new(original: Py<PyAny>, library: Py<Library>, native: Option<Py<PyAny>>, shuffles: bool) -> Drawing {
        Drawing { original, library, native, shuffles }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        escape::bound_method(slf.as_any(), instance)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let Ok(instance) = args.get_borrowed_item(0) else {
            return Err(PyTypeError::new_err("a method of a generator needs the generator"));
        };
        // NumPy's methods call each other, so they run on an object whose methods are NumPy's
        let plain = instance.getattr(intern!(py, "_plain"))?;
        let whole = |first: Bound<'py, PyAny>| {
            let rest = args.iter_borrowed().skip(1).map(|arg| arg.to_owned());
            PyTuple::new(py, std::iter::once(first).chain(rest).collect::<smallvec::SmallVec<[_; 6]>>())
        };
        let lists = self.shuffles && args.get_borrowed_item(1).is_ok_and(|x| x.is_exact_instance_of::<PyList>());
        if lists || (args.len() == 1 && kwargs.is_none_or(|k| k.is_empty())) {
            // the items of a list change places, whatever they are; for one number there is nothing to convert
            return self.original.bind(py).call(whole(plain)?, kwargs);
        }
        if let Some(native) = &self.native {
            let legacy = instance.getattr(intern!(py, "_legacy"))?;
            match native.bind(py).call(whole(legacy)?, kwargs) {
                Ok(made) if !made.is(py.NotImplemented()) => return Ok(made),
                // NumPy's to word
                Err(error) if !error.is_instance_of::<PyTypeError>(py) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        self.library.get().call(&whole(plain)?, kwargs)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.getattr("__qualname__").map_err(|_| PyValueError::new_err("a method without a name"))?;
        Ok(format!("<function {} at {:#x}>", name.extract::<String>()?, slf.as_ptr() as usize))
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Drawing>()
}
