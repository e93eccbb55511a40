//! Arrays whose home is a device: the names of devices, copies between them, and the home of results.
//!
//! In: a name that a program gave (`x.to_device("opencl")`, `device="cuda:1"`), or the arguments and the result of a
//! call. Out: a home for the runtime, which runs work on arrays that have it there. Where no device is named, nothing
//! here is called.

use crate::cpython::given::Given;
use crate::numpy::errors;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::{NdArray, Payload};
use crate::record::front::Attached;
use numelt::Front;
use numelt::rules::shape::Order;
use numelt_engines::Engines;
use numelt_ir::{Axes, Error, Op};
use numelt_runtime::{ArrayView, BaseRef, Home, Input, Runtime};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The home of arrays on the CPU.
pub const CPU: &str = "cpu";

/// The device on which an array is, as a program sees it.
pub fn device_of(view: &ArrayView) -> &'static str {
    view.base.home().map_or(CPU, |home| Runtime::global().home_name(home))
}

/// The home that a name stands for, `None` inside for the CPU. `None` for a name that no device has.
///
/// # Errors
/// `ValueError` that says what is missing, if the device cannot be started.
pub fn named(text: &str) -> PyResult<Option<Option<Home>>> {
    if text == CPU {
        return Ok(Some(None));
    }
    let engines = Engines::default();
    let Some(name) = engines.device_name(text) else { return Ok(None) };
    let name = kept(name);
    let home = Runtime::global().home(name, |config, host| engines.device(name, config, host));
    ANY.store(true, Ordering::Relaxed);
    home.map(|home| Some(Some(home))).map_err(|error| match error {
        Error::Engine(why) | Error::Config(why) => PyValueError::new_err(format!("Unsupported device: {text}. {why}")),
        other => errors::to_py(other),
    })
}

/// The same text, for the life of the process. Programs name few devices.
fn kept(name: String) -> &'static str {
    static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}

/// The home that a call asks for by `device=`, `None` inside for the CPU. `None` if the call can go on without it:
/// there is no such argument, the CPU is asked for and everything is there, or NumPy has to raise the error.
///
/// # Errors
/// Those of [`named`].
pub fn asked(given: &Given<'_, '_>) -> PyResult<Option<Option<Home>>> {
    let Some(device) = argument(given, "device") else { return Ok(None) };
    let Ok(text) = device.cast_exact::<PyString>() else { return Ok(None) };
    let home = named(text.to_str()?)?;
    Ok(home.filter(|home| home.is_some() || home_of(given).is_some()))
}

/// A keyword argument of a call.
fn argument<'a, 'py>(given: &'a Given<'_, 'py>, name: &str) -> Option<Borrowed<'a, 'py, PyAny>> {
    let names = given.names()?;
    let mut named = names.iter_borrowed().zip(given.named());
    named.find(|(own, _)| own.cast::<PyString>().is_ok_and(|own| own == name)).map(|(_, value)| value)
}

/// The result of a call that `make` makes without its argument `device`, on that device. A new array is made there;
/// the values of others are copied.
///
/// # Errors
/// Those of `make`, and `ValueError` for what cannot be there, or not without the copy that the call forbids.
pub fn made_at<'py>(
    given: &Given<'_, 'py>,
    home: Option<Home>,
    make: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let made = {
        let _default = DefaultHome(Runtime::global().set_default_home(home));
        make()?
    };
    let Ok(array) = made.cast_exact::<NdArray>() else { return Ok(made) };
    let view = match array.get().payload() {
        Payload::Native(view) => view,
        Payload::Foreign(_) => return at_cpu_only(array, home),
    };
    if view.base.home() == home {
        return Ok(made);
    }
    let is_new = !view.base.is_foreign() && !arrays(given).any(|other| other.base.ptr_eq(&view.base));
    if is_new {
        view.base.set_home(home);
        return Ok(made);
    }
    if argument(given, "copy").is_some_and(|copy| copy.is_truthy().is_ok_and(|copy| !copy) && !copy.is_none()) {
        return Err(PyValueError::new_err("Unable to avoid copy while creating an array as requested."));
    }
    moved(made.py(), view, home)
}

/// Restores the default home.
struct DefaultHome(Option<Home>);

impl Drop for DefaultHome {
    fn drop(&mut self) {
        Runtime::global().set_default_home(self.0);
    }
}

/// An array on a device, or on the CPU: the array itself if it is there, otherwise a copy.
///
/// # Errors
/// `ValueError` for a dtype that only NumPy has, and errors of recording.
pub fn to_device<'py>(array: &Bound<'py, NdArray>, home: Option<Home>) -> PyResult<Bound<'py, PyAny>> {
    match array.get().payload() {
        Payload::Native(view) if view.base.home() == home => Ok(array.clone().into_any()),
        Payload::Native(view) => moved(array.py(), view, home),
        Payload::Foreign(_) => at_cpu_only(array, home),
    }
}

/// An array of a dtype that only NumPy has, which is on the CPU.
fn at_cpu_only<'py>(array: &Bound<'py, NdArray>, home: Option<Home>) -> PyResult<Bound<'py, PyAny>> {
    let Some(home) = home else { return Ok(array.clone().into_any()) };
    let (dtype, name) = (array.getattr("dtype")?.str()?, Runtime::global().home_name(home));
    Err(PyValueError::new_err(format!("Unsupported device: {name}. Arrays of dtype {dtype} are on the CPU only.")))
}

/// A copy of an array with another home, or without one.
///
/// # Errors
/// Those of recording.
pub fn moved<'py>(py: Python<'py>, view: &ArrayView, home: Option<Home>) -> PyResult<Bound<'py, PyAny>> {
    let front = Attached(py);
    let copy = front.new_like(view, view.dtype, Order::K)?;
    copy.base.set_home(home);
    if copy.size() > 0 {
        front.record(Op::Copy, view.dtype, &copy, &[Input::Array(view)], Axes::default())?;
    }
    wrap_new(py, copy)
}

/// Whether a program has ever named a device.
static ANY: AtomicBool = AtomicBool::new(false);

/// Whether a program has ever named a device, so that results may have to follow their arguments.
#[inline(always)]
pub fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// The result of a call whose arrays have got the home of its arguments, if NumPy or Python code has made them and the
/// call does not say where they are to be.
#[cold]
pub fn followed<'py>(given: &Given<'_, 'py>, made: PyResult<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(made) = &made
        && argument(given, "device").is_none_or(|device| device.is_none())
        && let Some(home) = home_of(given)
    {
        follow_at(given, home, made);
    }
    made
}

fn follow_at(given: &Given<'_, '_>, home: Home, made: &Bound<'_, PyAny>) {
    if let Some(base) = base_of(made) {
        let is_new = base.home().is_none() && !base.is_visible() && !arrays(given).any(|own| own.base.ptr_eq(base));
        if is_new {
            base.set_home(Some(home));
        }
    } else if let Ok(tuple) = made.cast::<PyTuple>() {
        tuple.iter().for_each(|item| follow_at(given, home, &item));
    } else if let Ok(list) = made.cast_exact::<PyList>() {
        list.iter().for_each(|item| follow_at(given, home, &item));
    }
}

fn base_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a BaseRef> {
    object.cast_exact::<NdArray>().ok()?.get().view().map(|view| &view.base)
}

/// The home of the first argument that has one.
fn home_of(given: &Given<'_, '_>) -> Option<Home> {
    arrays(given).find_map(|view| view.base.home())
}

/// How deep lists and tuples are searched for arrays.
const DEEPEST: usize = 4;

/// The arrays among the arguments, and in lists and tuples among them.
fn arrays(given: &Given<'_, '_>) -> impl Iterator<Item = ArrayView> {
    let mut found = Vec::new();
    given.positional().chain(given.named()).for_each(|value| add_arrays(&value, 0, &mut found));
    found.into_iter()
}

fn add_arrays(value: &Bound<'_, PyAny>, depth: usize, found: &mut Vec<ArrayView>) {
    if let Ok(array) = value.cast_exact::<NdArray>() {
        found.extend(array.get().view().cloned());
    } else if depth == DEEPEST {
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        tuple.iter_borrowed().for_each(|item| add_arrays(&item, depth + 1, found));
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        list.iter().for_each(|item| add_arrays(&item, depth + 1, found));
    }
}

/// The names of the CPU and of the devices that the process uses already. Finding others would load their drivers.
#[pyfunction]
pub fn devices() -> Vec<&'static str> {
    let runtime = Runtime::global();
    let mut names = runtime.device_names();
    names.insert(0, CPU);
    names
}

/// Whether a name is that of a device that arrays can be on.
///
/// # Errors
/// Those of [`named`].
#[pyfunction]
pub fn is_device(text: &str) -> PyResult<bool> {
    named(text).map(|home| home.is_some())
}

/// Lets new arrays that this thread makes of no array be on a device, or on the CPU again. For tests, which run so with
/// homes everywhere.
///
/// # Errors
/// `ValueError` for a name that no device has, and those of [`named`].
#[pyfunction]
pub fn put_new_arrays(text: &str) -> PyResult<()> {
    let home = named(text)?.ok_or_else(|| PyValueError::new_err(format!("Unsupported device: {text}.")))?;
    Runtime::global().set_default_home(home);
    Ok(())
}

/// Adds the functions to the module.
///
/// # Errors
/// Those of Python.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(devices, module)?)?;
    module.add_function(wrap_pyfunction!(is_device, module)?)?;
    module.add_function(wrap_pyfunction!(put_new_arrays, module)?)
}
