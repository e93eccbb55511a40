//! Library calls: functions of NumPy's whose own compiled code is what should run (sorting, FFT, LAPACK).
//!
//! In: a call of the user's. Out: what NumPy returns, as arrays of ours. The function works on our memory
//! without a copy, and its results are adopted without one. Such a call is counted here, apart from
//! fallbacks: it is the intended implementation, no gap.

use crate::convert::Numpy;
use crate::ndarray::NdArray;
use crate::scalar::DeferredScalar;
use crate::{export, hooks};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Is anybody interested in single calls: a trace, or a callable?
static WATCHED: AtomicBool = AtomicBool::new(false);
static TRACED: AtomicBool = AtomicBool::new(false);
static ON_LIBRARY: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

fn listener() -> std::sync::MutexGuard<'static, Option<Py<PyAny>>> {
    ON_LIBRARY.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Sets or removes the callable that hears of each library call: `callable(name, seconds)`.
pub fn set_listener(callable: &Bound<'_, PyAny>) {
    let new = (!callable.is_none()).then(|| callable.clone().unbind());
    let mut slot = listener();
    let old = std::mem::replace(&mut *slot, new);
    WATCHED.store(slot.is_some() || TRACED.load(Ordering::Relaxed), Ordering::Relaxed);
    drop(slot);
    drop(old);
}

/// Prints each library call to standard error, or no longer.
pub fn set_trace(on: bool) {
    TRACED.store(on, Ordering::Relaxed);
    WATCHED.store(on || listener().is_some(), Ordering::Relaxed);
}

/// A function of NumPy's as a library call; calling it calls the function.
#[pyclass(name = "library", module = "numelt._core", frozen)]
pub struct Library {
    #[pyo3(get)]
    name: String,
    callable: Py<PyAny>,
    /// What calls with arguments that have to be searched (lists, functions): `general(callable, args, kwargs)`.
    general: Py<PyAny>,
    /// Is the first argument an object whose method the callable is, to be passed as it is?
    method: bool,
    calls: AtomicU64,
}

#[pymethods]
impl Library {
    #[new]
    #[pyo3(signature = (name, callable, general, method = false))]
    fn new(name: String, callable: Py<PyAny>, general: Py<PyAny>, method: bool) -> Library {
        Library { name, callable, general, method, calls: AtomicU64::new(0) }
    }

    /// How often it was called.
    #[getter]
    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        // only written with the GIL held, so no read-modify-write is needed
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if !WATCHED.load(Ordering::Relaxed) {
            return self.run(py, args, kwargs);
        }
        let start = Instant::now();
        let result = self.run(py, args, kwargs);
        let seconds = start.elapsed().as_secs_f64();
        if TRACED.load(Ordering::Relaxed) {
            eprintln!("numelt: library {}, {:.3} ms", self.name, seconds * 1e3);
        }
        let callable = listener().as_ref().map(|c| c.clone_ref(py));
        if let Some(callable) = callable {
            callable.call1(py, (&self.name, seconds))?;
        }
        result
    }
}

impl Library {
    fn run<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = kwargs.filter(|k| !k.is_empty());
        let mut lent = Lent::default();
        let Some(plain) = lent.arguments(args, self.method)? else { return self.general(py, args, kwargs) };
        let callable = self.callable.bind(py);
        let result = match kwargs {
            None => callable.call1(&plain)?,
            Some(kwargs) => {
                let Some(plain_kwargs) = lent.keywords(kwargs)? else { return self.general(py, args, Some(kwargs)) };
                callable.call(&plain, Some(&plain_kwargs))?
            }
        };
        lent.take_back(result)
    }

    fn general<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
        self.general.bind(py).call1((&self.callable, args, kwargs))
    }
}

/// Our arrays with the views that NumPy sees of them during a call.
#[derive(Default)]
struct Lent<'py> {
    pairs: SmallVec<[(Bound<'py, PyAny>, Bound<'py, PyAny>); 4]>,
}

impl<'py> Lent<'py> {
    /// The argument as NumPy sees it; `None` when it has to be searched for arrays.
    fn plain(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Ok(array) = value.cast_exact::<NdArray>() {
            let view = export::to_numpy(array)?;
            self.pairs.push((view.clone(), value.clone()));
            return Ok(Some(view));
        }
        if let Some(scalar) = DeferredScalar::of(value) {
            return DeferredScalar::realize(scalar).map(Some);
        }
        let simple = is_plain(value) || is_short_plain_sequence(value) || is_numpys(value)?;
        Ok(simple.then(|| value.clone()))
    }

    fn arguments(&mut self, args: &Bound<'py, PyTuple>, method: bool) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let mut plain: SmallVec<[Bound<'py, PyAny>; 4]> = SmallVec::with_capacity(args.len());
        for (place, value) in args.iter().enumerate() {
            if method && place == 0 {
                plain.push(value);
                continue;
            }
            let Some(value) = self.plain(&value)? else { return Ok(None) };
            plain.push(value);
        }
        PyTuple::new(args.py(), plain).map(Some)
    }

    fn keywords(&mut self, kwargs: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let plain = PyDict::new(kwargs.py());
        for (key, value) in kwargs {
            // a real array given as `out` is returned as it is
            if key.cast::<PyString>()?.to_str()? == "out" && value.cast_exact::<NdArray>().is_err() {
                self.pairs.push((value.clone(), value.clone()));
            }
            let Some(value) = self.plain(&value)? else { return Ok(None) };
            plain.set_item(key, value)?;
        }
        Ok(Some(plain))
    }

    /// The result as ours: an argument that NumPy returned is the very object that was given.
    fn take_back(&self, result: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        for (view, ours) in &self.pairs {
            if result.is(view) {
                return Ok(ours.clone());
            }
        }
        hooks::wrap(&result, 1)
    }
}

/// None, a Python number or a string.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyComplex>()
}

/// A list or tuple that is quickly seen to hold nothing of ours.
fn is_short_plain_sequence(value: &Bound<'_, PyAny>) -> bool {
    const SHORT: usize = 64;
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.len() <= SHORT && list.iter().all(|item| is_plain(&item));
    }
    value.cast_exact::<PyTuple>().is_ok_and(|tuple| tuple.len() <= SHORT && tuple.iter().all(|item| is_plain(&item)))
}

/// A plain array or scalar of NumPy's.
fn is_numpys(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let numpy = Numpy::get(value.py())?;
    let class = value.get_type();
    Ok(class.is(numpy.ndarray.bind(value.py()))
        || numpy.dtype_of_type(class.as_ptr().cast()).is_some()
        || value.is_instance(numpy.generic.bind(value.py()))?)
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Library>()
}
