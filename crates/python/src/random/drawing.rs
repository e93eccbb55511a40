//! Methods of random generators as compiled objects, so that a draw needs no Python function around NumPy's method.
//!
//! In: a call of a method of the package's generators. Out: the draw that NumPy's method makes on NumPy's generator
//! object, or a native one. Arguments that are numelt arrays are lent to NumPy.

use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::cpython::vectorcall::{self, Callee, Entry};
use crate::sharing::library::Library;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::mem::offset_of;

/// A method of a generator that draws numbers.
#[pyclass(name = "drawing", module = "numelt._core", dict, weakref, frozen)]
pub struct Drawing {
    entry: Entry<Drawing>,
    /// NumPy's method.
    original: Py<PyAny>,
    /// NumPy's method as a library call.
    library: Py<Library>,
    /// `native(instance._legacy, ...)` returns the draw, or `NotImplemented`.
    native: Option<Py<PyAny>>,
    /// Whether a list as the first argument is changed in place.
    shuffles: bool,
    /// If no argument of a draw exceeds this, NumPy makes the draw, even if there is a native one.
    few: i64,
}

#[pymethods]
impl Drawing {
    #[new]
    #[pyo3(signature = (original, library, native = None, shuffles = false, few = 0))]
    fn new(original: Py<PyAny>, library: Py<Library>, native: Option<Py<PyAny>>, shuffles: bool, few: i64) -> Drawing {
        Drawing { entry: Entry::new(), original, library, native, shuffles, few }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        calls::bound_method(slf.as_any(), instance)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        given::unpacked(args, kwargs, |given| self.called(given))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.getattr("__qualname__").map_err(|_| PyValueError::new_err("a method without a name"))?;
        Ok(format!("<function {} at {:#x}>", name.extract::<String>()?, slf.as_ptr() as usize))
    }
}

impl Callee for Drawing {
    const ENTRY: usize = offset_of!(Drawing, entry);

    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        let Some(instance) = given.first() else {
            return Err(PyTypeError::new_err("a method of a generator needs the generator"));
        };
        // NumPy's methods call each other, so they run on an object whose methods are NumPy's own
        let plain = instance.getattr(intern!(py, "_plain"))?;
        let lists = self.shuffles && given.positional().nth(1).is_some_and(|x| x.is_exact_instance_of::<PyList>());
        if lists || (given.positional().len() == 1 && given.names().is_none()) {
            // the items of a list are swapped without being converted; without arguments there is nothing to convert
            return given.with_first(&plain, |given| given.pass_to(self.original.bind(py)));
        }
        if self.few > 0
            && let Some(made) = given.with_first(&plain, |given| self.library.get().of_few(given, self.few))?
        {
            return Ok(made);
        }
        if let Some(native) = &self.native {
            let legacy = instance.getattr(intern!(py, "_legacy"))?;
            match given.with_first(&legacy, |given| given.pass_to(native.bind(py))) {
                Ok(made) if !made.is(py.NotImplemented()) => return Ok(made),
                // for a TypeError NumPy is called, for its wording
                Err(error) if !error.is_instance_of::<PyTypeError>(py) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        given.with_first(&plain, |given| self.library.get().run(given))
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Drawing>()?;
    vectorcall::call_by_entry::<Drawing>(&py.get_type::<Drawing>())?;
    vectorcall::call_as_methods(&py.get_type::<Drawing>());
    Ok(())
}
