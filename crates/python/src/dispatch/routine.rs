//! Public functions as objects, which decide how each call is answered.
//!
//! In: the user's call. Out: the first of these results: that of the compiled function of the same name
//! (`functions::table`); that of NumPy's function on our memory, if the policy decides so (`sharing::policy`: library
//! calls, small arrays, non-native dtypes); that of the general compiled function; or that of the package's Python
//! function. NumPy's function is called from the user's own frame, so that its warnings are attributed to it.

use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::cpython::vectorcall::{self, Callee, Entry};
use crate::dispatch::unbound;
use crate::functions::table::{self, Compiled};
use crate::object::ndarray::NdArray;
use crate::record::homes;
use crate::sharing::lend::{self, Terms};
use crate::sharing::policy::{Decision, Share};
use crate::sharing::{array_function, calling, foreign};
use numelt_runtime::Home;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple};
use std::mem::offset_of;

/// A public function.
#[pyclass(name = "routine", module = "numelt._core", dict, weakref, frozen, subclass)]
pub struct Routine {
    entry: Entry<Routine>,
    name: Py<PyString>,
    /// NumPy's function.
    original: Py<PyAny>,
    /// The package's function, for all other calls.
    general: Py<PyAny>,
    /// Which calls are passed to NumPy's function.
    share: Share,
    /// Whether it becomes a method of the instances of a class that has it as an attribute.
    binds: bool,
    /// Whether calls without arguments are passed to NumPy's function, because there is nothing to convert: draws of
    /// one number.
    draws: bool,
    /// The compiled function that is asked first.
    compiled: Option<Compiled>,
    /// The compiled function that is asked if NumPy does not do the call.
    recorded: Option<Compiled>,
    /// The method of NumPy's array that `original` calls if the first argument is an array, and that
    /// takes the same arguments.
    method: Option<Py<PyAny>>,
    /// The function that `original` calls if no other class claims the call: calling it directly saves a sixth of a
    /// microsecond.
    behind: Option<Py<PyAny>>,
    /// Whether `method` or `behind` is a C function, whose errors about arguments have another wording.
    in_c: bool,
    /// Whether this is a method of arrays. No class among its arguments can claim a call of it.
    of_arrays: bool,
}

#[pymethods]
impl Routine {
    /// `share` says which calls are passed to NumPy's function; see [`Share::parse`].
    #[new]
    #[pyo3(signature = (name, original, general, share, binds, most = None, method = None, draws = false))]
    #[expect(clippy::too_many_arguments, reason = "the package's tables call it by keywords")]
    fn new(
        name: Py<PyString>,
        original: Py<PyAny>,
        general: Py<PyAny>,
        share: &Bound<'_, PyAny>,
        binds: bool,
        most: Option<i64>,
        method: Option<Py<PyAny>>,
        draws: bool,
    ) -> PyResult<Routine> {
        let py = share.py();
        let text = name.bind(py).to_str()?;
        let share = Share::parse(share, most)?;
        let share = if PLACED.contains(&text) { Share::Placed(Box::new(share)) } else { share };
        let (compiled, recorded) = (table::of(text), table::general(text));
        let behind = implementation(original.bind(py))?;
        let descriptor =
            |function: &Py<PyAny>| Ok::<_, PyErr>(function.bind(py).get_type().name()? == "method_descriptor");
        // a compiled method that the package has not written has no better wording than NumPy's
        let in_c = method.is_some()
            || descriptor(&original)? && !descriptor(&general)?
            || behind.as_ref().is_some_and(|f| f.bind(py).is_instance_of::<PyCFunction>());
        let of_arrays = descriptor(&original)? && text.strip_prefix("ndarray.").is_some_and(|n| !n.starts_with("__"));
        Ok(Routine {
            entry: Entry::new(),
            of_arrays,
            name,
            original,
            general,
            share,
            binds,
            draws,
            compiled,
            recorded,
            method,
            behind,
            in_c,
        })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        given::unpacked(args, kwargs, |given| match slf.get().at_once(given)? {
            Some(made) => Ok(made),
            None => slf.get().called(given),
        })
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

    /// The package's function, for calls that nothing else answers.
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

    fn at_once<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(compiled) = self.compiled else { return Ok(None) };
        let made = compiled(given)?;
        if let (Some(_), Share::Library(library, _)) = (&made, &self.share) {
            library.get().count();
        }
        Ok(made)
    }

    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let made = self.answered(given);
        if homes::any() {
            return self.followed(given, made);
        }
        made
    }
}

impl Routine {
    /// The result of a call that the compiled function has declined.
    #[inline(always)]
    fn answered<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        if self.draws && given.positional().len() == 0 && given.names().is_none() {
            return given.pass_to(self.original.bind(py));
        }
        match self.by_numpy(given) {
            Ok(Some(made)) => return Ok(made),
            Ok(None) => {}
            // the package's function raises the same error, with NumPy's wording
            Err(error) if self.in_c && error.is_instance_of::<PyTypeError>(py) => {}
            // the error may come from the code that examines the arguments' classes, before the function itself
            Err(error) => return Err(self.reworded(given, error)),
        }
        let recorded = match self.recorded {
            Some(recorded) => recorded(given).map_err(|error| self.reworded(given, error))?,
            None => None,
        };
        match recorded {
            Some(made) => Ok(made),
            None if self.of_arrays && array_function::is_claimed(given)? => {
                // the package's function would pass the call to NumPy's function, which asks the classes
                let (args, kwargs) = given::pack(given)?;
                calling::fallback(self.name.bind(py).to_str()?, self.original.bind(py), &args, kwargs.as_ref())
            }
            None => given.pass_to(self.general.bind(py)).map_err(|error| self.reworded(given, error)),
        }
    }

    /// A `TypeError` with NumPy's wording.
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

    /// The result of a call, where its arguments are. That of `to_device` is where the program has asked it to be.
    #[cold]
    fn followed<'py>(&self, given: &Given<'_, 'py>, made: PyResult<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        if self.name.bind(given.py()) == "ndarray.to_device" { made } else { homes::followed(given, made) }
    }

    /// The same call without the argument `device`, with its result on that device.
    #[cold]
    fn called_at<'py>(&self, given: &Given<'_, 'py>, home: Option<Home>) -> PyResult<Bound<'py, PyAny>> {
        homes::made_at(given, home, || {
            let (args, kwargs) = given::pack(given)?;
            if let Some(kwargs) = &kwargs {
                kwargs.del_item(intern!(given.py(), "device"))?;
            }
            given::unpacked(&args, kwargs.as_ref(), |given| match self.at_once(given)? {
                Some(made) => Ok(made),
                None => self.called(given),
            })
        })
    }

    /// Calls NumPy's function with converted arguments, if the policy decides so.
    fn by_numpy<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = given.py();
        let callable = match (&self.method, &self.behind) {
            (Some(method), _) if given.first().is_some_and(|a| a.is_exact_instance_of::<NdArray>()) => method.bind(py),
            (_, Some(behind)) => behind.bind(py),
            _ => self.original.bind(py),
        };
        match self.share.decide(given)? {
            Decision::Lend(terms) => lend::call(callable, given, false, terms, || Ok(())),
            Decision::Library(library, terms) => lend::call(callable, given, false, terms, || {
                library.count();
                Ok(())
            }),
            Decision::FallBack { method: true } => {
                foreign::method_in_python(self.name.bind(py).to_str()?, callable, given)
            }
            Decision::FallBack { method: false } => {
                foreign::call(self.name.bind(py).to_str()?, callable, given, false, Terms::ANY)
            }
            Decision::Declined => foreign::accepted(self.name.bind(py).to_str()?, callable, given),
            Decision::At(home) => self.called_at(given, home).map(Some),
            Decision::Rules | Decision::Package => Ok(None),
        }
    }
}

/// The functions with an argument `device`.
const PLACED: [&str; 17] = [
    "arange",
    "asanyarray",
    "asarray",
    "astype",
    "empty",
    "empty_like",
    "eye",
    "fft.fftfreq",
    "fft.rfftfreq",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
];

/// A routine that is an attribute of a class, with the instance as its first argument. The interpreter makes no bound
/// method to call it.
#[pyclass(name = "method", module = "numelt._core", extends = Routine, frozen)]
pub struct Method;

#[pymethods]
impl Method {
    /// The parameters of [`Routine`]'s constructor.
    #[new]
    #[pyo3(signature = (name, original, general, share, most = None, method = None))]
    fn new(
        name: Py<PyString>,
        original: Py<PyAny>,
        general: Py<PyAny>,
        share: &Bound<'_, PyAny>,
        most: Option<i64>,
        method: Option<Py<PyAny>>,
    ) -> PyResult<PyClassInitializer<Method>> {
        let routine = Routine::new(name, original, general, share, true, most, method, false)?;
        Ok(PyClassInitializer::from(routine).add_subclass(Method))
    }
}

/// The function that NumPy's function calls if no other class claims the call. Its errors have the same wording,
/// except those of compiled functions about arguments.
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
    vectorcall::call_by_entry::<Routine>(&py.get_type::<Routine>())?;
    vectorcall::call_by_entry::<Routine>(&py.get_type::<Method>())?;
    vectorcall::call_as_methods(&py.get_type::<Method>());
    Ok(())
}
