//! Public functions as objects: what of a call is short is done here, the rest by the package's Python function.
//!
//! In: the user's call. Out: NumPy's result on our memory, where the call is one that NumPy does best (library
//! calls, small arrays, what is not native), or what the Python function gives. NumPy's function is called from the
//! user's own frame, so that its warnings are attributed as always.

use crate::lend::{self, Terms};
use crate::library::{self, Library};
use crate::ndarray::NdArray;
use crate::shortcuts::{self, Shortcut};
use crate::{coverage, escape, foreign};
use numelt_runtime::Runtime;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

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
#[pyclass(name = "routine", module = "numelt._core", dict, weakref, frozen)]
pub struct Routine {
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
    /// takes the same arguments, or the function behind the dispatch to other classes (a sixth of a microsecond).
    method: Option<Py<PyAny>>,
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
        let method = match method {
            Some(method) => Some(method),
            None => implementation(original.bind(py))?,
        };
        Ok(Routine { name, original, general, way, binds, short, method })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.quick(args, kwargs)? {
            Some(made) => Ok(made),
            None => self.general.bind(args.py()).call(args, kwargs),
        }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() || !slf.get().binds {
            return Ok(slf.clone().into_any());
        }
        escape::bound_method(slf.as_any(), instance)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let name = slf.getattr("__qualname__").map_or_else(|_| Ok(slf.get().name.to_string()), |n| n.extract())?;
        Ok(format!("<function {name} at {:#x}>", slf.as_ptr() as usize))
    }
}

impl Routine {
    /// The call where it is NumPy's to do.
    fn quick<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = args.py();
        let original = match &self.method {
            Some(method) if is_ours(args) => method.bind(py),
            _ => self.original.bind(py),
        };
        if let Some(short) = self.short
            && kwargs.is_none()
            && let Some(made) = short(args)?
        {
            if let Way::Library(library, _) = &self.way {
                library.get().count();
            }
            return Ok(Some(made));
        }
        match &self.way {
            Way::Small(_) | Way::Foreign if lend::has_foreign(args) => self.fall_back(args, kwargs, false),
            Way::Small(most) => {
                if !Runtime::global().is_unobserved() {
                    return Ok(None);
                }
                lend::call(original, args, kwargs, false, Terms { most: *most, native: true }, || Ok(()))
            }
            Way::Library(..) if library::is_watched() => Ok(None),
            Way::Library(library, most) => {
                let terms = if lend::has_foreign(args) { Terms::ANY } else { Terms { most: *most, native: true } };
                let count = || {
                    library.get().count();
                    Ok(())
                };
                lend::call(original, args, kwargs, false, terms, count)
            }
            Way::General | Way::Foreign => Ok(None),
            Way::Fallback => self.fall_back(args, kwargs, false),
            Way::Method => self.fall_back(args, kwargs, true),
            Way::Uncounted => {
                if !coverage::in_users_frame(py) {
                    return Ok(None);
                }
                lend::call(original, args, kwargs, false, Terms::ANY, || Ok(()))
            }
        }
    }

    /// The call as one that NumPy does for want of a native way.
    fn fall_back<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        method: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = args.py();
        foreign::call(self.name.bind(py).to_str()?, self.original.bind(py), args, kwargs, method)
    }
}

/// The function of Python's to which one of NumPy's leads if no other class claims the call: its errors have the same words.
fn implementation(original: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    let py = original.py();
    let function = py.import(intern!(py, "types"))?.getattr(intern!(py, "FunctionType"))?;
    match original.getattr_opt(intern!(py, "_implementation"))? {
        Some(found) if found.is_exact_instance(&function) => Ok(Some(found.unbind())),
        _ => Ok(None),
    }
}

/// Is the first argument an array of ours?
fn is_ours(args: &Bound<'_, PyTuple>) -> bool {
    args.get_borrowed_item(0).is_ok_and(|first| first.is_exact_instance_of::<NdArray>())
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Routine>()
}
