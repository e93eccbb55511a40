//! Class statements whose bases stand for other classes.
//!
//! In: the interpreter's function for class statements (`builtins.__build_class__`), and the metaclass of stand-ins.
//! Out: a function in its place that passes the classes themselves as bases. It is not written in Python: code that
//! runs in a class statement looks at the frames of its callers to find the module.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

/// The place of the bases among the arguments: a function and the name of the class come first.
const BASES: usize = 2;

/// A function that takes the place of `builtins.__build_class__`.
#[pyclass(module = "numelt._core", frozen)]
pub struct ClassStatements {
    /// The function that it calls.
    make: Py<PyAny>,
    /// The class of stand-ins.
    metaclass: Py<PyType>,
    /// The attribute of a stand-in that holds the class for which it stands.
    key: String,
}

#[pymethods]
impl ClassStatements {
    #[new]
    fn new(make: Py<PyAny>, metaclass: Py<PyType>, key: String) -> ClassStatements {
        ClassStatements { make, metaclass, key }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, metaclass) = (args.py(), self.metaclass.as_ptr());
        let stands_in = |base: &Bound<'py, PyAny>| base.get_type_ptr().cast() == metaclass;
        let make = self.make.bind(py);
        if !args.iter_borrowed().skip(BASES).any(|base| stands_in(&base)) {
            return make.call(args, kwargs);
        }
        let named = |arg: Bound<'py, PyAny>| if stands_in(&arg) { arg.getattr(self.key.as_str()) } else { Ok(arg) };
        let args = args.iter().map(named).collect::<PyResult<Vec<_>>>()?;
        make.call(PyTuple::new(py, args)?, kwargs)
    }
}
