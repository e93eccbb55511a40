//! Public functions as objects: what of a call is short is done here, the rest by the package's Python function.
//!
//! In: the user's call. Out: NumPy's result on our memory, where the call is one that NumPy does best (library
//! calls, small arrays, what is not native), or what the Python function gives. NumPy's function is called from the
//! user's own frame, so that its warnings are attributed as always.

use crate::array::ndarray::NdArray;
use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::cpython::vectorcall::{self, Callee, Entry};
use crate::dispatch::unbound;
use crate::functions::shortcuts::{self, Shortcut};
use crate::numpy::lend::{self, Terms};
use crate::numpy::library::{self, Library};
use crate::numpy::{coverage, foreign, subclass};
use numelt_runtime::Runtime;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple};
use std::mem::offset_of;

/// When NumPy's function is called at once.
enum Way {
    /// On few elements, while nobody looks at what is recorded.
    Small(i64),
    /// On so many elements; counted as a library call.
    Library(Py<Library>, i64),
    /// Always; counted as a fallback.
    Fallback,
    /// The same for a method, whose first argument is passed as it is.
    Method,
    /// Where an argument is not native; counted as a fallback.
    Foreign,
    /// Always; not counted.
    Uncounted,
    /// Never.
    General,
}

/// A public function.
#[pyclass(name = "routine", module = "numelt._core", dict, weakref, frozen, subclass)]
pub struct Routine {
    entry: Entry<Routine>,
    name: Py<PyString>,
    /// NumPy's function.
    original: Py<PyAny>,
    /// The package's, for all other calls.
    general: Py<PyAny>,
    way: Way,
    /// Does it become a method of instances of a class that holds it?
    binds: bool,
    /// What may answer calls without keywords.
    short: Option<Shortcut>,
    /// What `original` comes to where the first argument is an array: the method of NumPy's array that does the same and
    /// takes the same arguments.
    method: Option<Py<PyAny>>,
    /// What `original` comes to where no other class takes part: the function behind the dispatch (a sixth of a microsecond).
    behind: Option<Py<PyAny>>,
    /// Is either a compiled function, whose complaints of arguments have other words?
    compiled: bool,
}

#[pymethods]
impl Routine {
    /// `way` is the most elements that a small call has, a library function, "fallback", "method", "foreign", "uncounted" or
    /// "general"; `most` limits library calls.
    #[new]
    #[pyo3(signature = (name, original, general, way, binds, most = None, method = None))]
    fn new(
        name: Py<PyString>,
        original: Py<PyAny>,
        general: Py<PyAny>,
        way: &Bound<'_, PyAny>,
        binds: bool,
        most: Option<i64>,
        method: Option<Py<PyAny>>,
    ) -> PyResult<Routine> {
        let py = way.py();
        let way = if let Ok(library) = way.cast::<Library>() {
            Way::Library(library.clone().unbind(), most.unwrap_or(i64::MAX))
        } else if let Ok(most) = way.extract::<i64>() {
            Way::Small(most)
        } else {
            match way.extract::<&str>()? {
                "fallback" => Way::Fallback,
                "method" => Way::Method,
                "foreign" => Way::Foreign,
                "uncounted" => Way::Uncounted,
                "general" => Way::General,
                other => return Err(PyValueError::new_err(format!("no way is called {other}"))),
            }
        };
        let short = shortcuts::of(name.bind(py).to_str()?);
        let behind = implementation(original.bind(py))?;
        let compiled = method.is_some()
            || original.bind(py).get_type().name()? == "method_descriptor"
            || behind.as_ref().is_some_and(|f| f.bind(py).is_instance_of::<PyCFunction>());
        Ok(Routine { entry: Entry::new(), name, original, general, way, binds, short, method, behind, compiled })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        given::unpacked(args, kwargs, |given| slf.get().called(given))
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() || !slf.get().binds {
            return Ok(slf.clone().into_any());
        }
        calls::bound_method(slf.as_any(), instance)
    }

    /// The package's function, for calls that are not short.
    #[getter]
    fn _implementation(&self, py: Python<'_>) -> Py<PyAny> {
        self.general.clone_ref(py)
    }

    fn __str__(slf: &Bound<'_, Self>) -> PyResult<String> {
        unbound::text_of(slf.as_any())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        unbound::shown(slf.as_any(), slf.get().binds)
    }
}

impl Callee for Routine {
    const ENTRY: usize = offset_of!(Routine, entry);

    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.quick(given)? {
            Some(made) => Ok(made),
            None => given.pass_to(self.general.bind(given.py())).map_err(|error| self.reworded(given, error)),
        }
    }
}

impl Routine {
    /// A `TypeError` in NumPy's words.
    #[cold]
    fn reworded(&self, given: &Given<'_, '_>, error: PyErr) -> PyErr {
        let py = given.py();
        match given::pack(given) {
            Ok((args, kwargs)) if error.is_instance_of::<PyTypeError>(py) => {
                unbound::reworded(self.original.bind(py), &args, kwargs.as_ref(), error)
            }
            _ => error,
        }
    }

    /// The call where it is NumPy's to do.
    fn quick<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(short) = self.short
            && given.names().is_none()
            && let Some(made) = short(&given::pack(given)?.0)?
        {
            if let Way::Library(library, _) = &self.way {
                library.get().count();
            }
            return Ok(Some(made));
        }
        match self.lent(given) {
            // the public function finds the same wrong, in its own words
            Err(error) if self.compiled && error.is_instance_of::<PyTypeError>(given.py()) => Ok(None),
            made => made,
        }
    }

    /// The call by NumPy's function on what is lent to it, where nobody wants to know more of it.
    fn lent<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = given.py();
        let callable = match (&self.method, &self.behind) {
            (Some(method), _) if given.first().is_some_and(|a| a.is_exact_instance_of::<NdArray>()) => method.bind(py),
            (_, Some(behind)) => behind.bind(py),
            _ => self.original.bind(py),
        };
        let fall_back = |method| foreign::call(self.name.bind(py).to_str()?, callable, given, method, Terms::ANY);
        let native = |most| Terms { most, native: true, ..Terms::ANY };
        let lend = |terms| lend::call(callable, given, false, terms, || Ok(()));
        let made = match &self.way {
            Way::Small(_) | Way::Foreign if lend::has_foreign(given.positional()) => fall_back(false),
            Way::Small(most) if Runtime::global().runs_at_once() => lend(native(*most)),
            Way::Library(library, most) if !library::is_watched() => {
                let any = lend::has_foreign(given.positional()) || subclass::among(given)?;
                let terms = if any { Terms::ANY } else { native(*most) };
                lend::call(callable, given, false, terms, || {
                    library.get().count();
                    Ok(())
                })
            }
            Way::Small(_) | Way::Library(..) | Way::General | Way::Foreign => Ok(None),
            Way::Fallback => fall_back(false),
            Way::Method => fall_back(true),
            Way::Uncounted if coverage::in_users_frame(py) => lend(Terms::ANY),
            Way::Uncounted => Ok(None),
        }?;
        match (made, &self.way) {
            (None, Way::Small(_) | Way::Foreign | Way::General) if subclass::among(given)? => fall_back(false),
            (made, _) => Ok(made),
        }
    }
}

/// The same as a member of a class, whose instance is the first argument: the interpreter makes no bound method to call it.
#[pyclass(name = "method", module = "numelt._core", extends = Routine, frozen)]
pub struct Method;

#[pymethods]
impl Method {
    /// As [`Routine`]'s.
    #[new]
    #[pyo3(signature = (name, original, general, way, most = None, method = None))]
    fn new(
        name: Py<PyString>,
        original: Py<PyAny>,
        general: Py<PyAny>,
        way: &Bound<'_, PyAny>,
        most: Option<i64>,
        method: Option<Py<PyAny>>,
    ) -> PyResult<PyClassInitializer<Method>> {
        let routine = Routine::new(name, original, general, way, true, most, method)?;
        Ok(PyClassInitializer::from(routine).add_subclass(Method))
    }
}

/// The function to which one of NumPy's leads if no other class claims the call: its errors have the same words, but for
/// those of compiled functions about arguments.
fn implementation(original: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    let py = original.py();
    let function = py.import(intern!(py, "types"))?.getattr(intern!(py, "FunctionType"))?;
    match original.getattr_opt(intern!(py, "_implementation"))? {
        Some(found) if found.is_exact_instance(&function) || found.is_instance_of::<PyCFunction>() => {
            Ok(Some(found.unbind()))
        }
        _ => Ok(None),
    }
}

/// Adds the classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<Routine>()?;
    module.add_class::<Method>()?;
    vectorcall::call_by_entry::<Routine>(&py.get_type::<Method>())?;
    vectorcall::call_as_methods(&py.get_type::<Method>());
    Ok(())
}
