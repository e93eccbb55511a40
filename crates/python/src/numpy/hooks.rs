//! Calls from the compiled module to the Python package, and to NumPy through it.
//!
//! In: a call that is not native. Out: what a Python callable of the package returns (the hooks, see [`NAMES`]), or
//! what NumPy returns if the package has not set that hook yet.

use crate::cpython::calls;
use crate::cpython::given;
use crate::numpy::convert::Numpy;
use crate::numpy::lend::Terms;
use crate::numpy::{export, foreign, lend};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::sync::Mutex;

/// The package's Python callables by name, set by `set_hooks`.
static HOOKS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
static OPERATOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
/// Held only while the dictionary is created.
static INIT: Mutex<()> = Mutex::new(());

/// The names that `set_hooks` accepts.
pub const NAMES: [&str; 12] = [
    "warn",
    "note",
    "fallback",
    "getitem",
    "setitem",
    "ufunc_call",
    "ufunc_method",
    "array_ufunc",
    "reduce",
    "to_u32",
    "resize",
    "reworded",
];

/// The dictionary of hooks.
pub fn table(py: Python<'_>) -> &Bound<'_, PyDict> {
    let _one = INIT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    HOOKS.get_or_init(py, || PyDict::new(py).unbind()).bind(py)
}

/// The hook of this name, if the package has set it.
pub fn hook<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    table(py).get_item(name)
}

/// The interned string object of a name that is a literal in this crate, kept for looking up attributes.
pub fn word<'py>(py: Python<'py>, name: &'static str) -> Bound<'py, PyString> {
    /// The names with their string objects, identified by the address and length of the text.
    static WORDS: Mutex<Vec<(usize, usize, Py<PyString>)>> = Mutex::new(Vec::new());
    let key = (name.as_ptr() as usize, name.len());
    let words = || WORDS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, _, word)) = words().iter().find(|(at, n, _)| (*at, *n) == key) {
        return word.bind(py).clone();
    }
    let made = PyString::intern(py, name);
    words().push((key.0, key.1, made.clone().unbind()));
    made
}

/// A function of Python's module `operator`.
pub fn operator<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    OPERATOR
        .get_or_try_init(py, || py.import("operator").map(|m| m.into_any().unbind()))?
        .bind(py)
        .getattr(PyString::intern(py, name))
}

/// Runs a NumPy callable for the user's call of `name`. The call is counted as a fallback.
pub fn fallback<'py>(
    name: &str,
    callable: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let composed = callable.is_instance(Numpy::get(py)?.ufunc.bind(py))?;
    if !composed
        && let Some(made) =
            given::unpacked(args, kwargs, |given| foreign::call(name, callable, given, false, Terms::ANY))?
    {
        return Ok(made);
    }
    match hook(py, "fallback")? {
        Some(hook) => {
            let kwargs = match kwargs {
                Some(kwargs) => kwargs.clone(),
                None => PyDict::new(py),
            };
            calls::apply(&hook, (name, callable, args, kwargs), None)
        }
        None => call_numpy(callable, args, kwargs),
    }
}

/// Runs a NumPy callable on zero-copy views of our arrays and converts what it returns to ours. The call is not
/// counted: this is for calls that end in NumPy's own exception, and for the package's hook.
pub fn call_numpy<'py>(
    callable: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let plain = args.iter().map(|a| plain(&a)).collect::<PyResult<Vec<_>>>()?;
    let plain_args = PyTuple::new(py, plain)?;
    let result = match kwargs {
        Some(kwargs) if !kwargs.is_empty() => {
            let converted = PyDict::new(py);
            for (key, value) in kwargs {
                converted.set_item(key, self::plain(&value)?)?;
            }
            calls::apply(callable, &plain_args, Some(&converted))?
        }
        Some(_) | None => calls::apply(callable, &plain_args, None)?,
    };
    wrap(&result, 1)
}

/// NumPy's limit on nesting is its limit on dimensions. Deeper lists are passed to NumPy, which refuses them.
const DEEPEST: usize = 64;

/// Converts our arrays to NumPy's, also inside lists, tuples and dictionaries. An object that is nested too deep,
/// such as a list that holds itself, is returned unchanged.
pub fn plain<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(plain_at(obj, 0)?.unwrap_or_else(|| obj.clone()))
}

/// `None` if the nesting is too deep; the search ends there.
fn plain_at<'py>(obj: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = obj.py();
    if lend::is_plain(obj) {
        return Ok(Some(obj.clone()));
    }
    if let Some(array) = export::as_numpy(obj)? {
        return Ok(Some(array));
    }
    if depth > DEEPEST {
        return Ok(None);
    }
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return Ok(match plain_items(&mut list.iter(), depth)? {
            Items::TooDeep => None,
            Items::Same => Some(obj.clone()),
            Items::Changed(items) => Some(PyList::new(py, items)?.into_any()),
        });
    }
    if let Ok(tuple) = obj.cast_exact::<PyTuple>() {
        return Ok(match plain_items(&mut tuple.iter(), depth)? {
            Items::TooDeep => None,
            Items::Same => Some(obj.clone()),
            Items::Changed(items) => Some(PyTuple::new(py, items)?.into_any()),
        });
    }
    if let Ok(dict) = obj.cast_exact::<PyDict>() {
        let out = PyDict::new(py);
        for (key, value) in dict {
            let Some(value) = plain_at(&value, depth + 1)? else { return Ok(None) };
            out.set_item(key, value)?;
        }
        return Ok(Some(out.into_any()));
    }
    if let Some(function) = export::numpy_ufunc_of(obj) {
        return Ok(Some(function));
    }
    Ok(Some(obj.clone()))
}

/// The items of a sequence after conversion.
enum Items<'py> {
    TooDeep,
    /// No item has changed: the sequence itself can be passed on.
    Same,
    Changed(Vec<Bound<'py, PyAny>>),
}

/// Converts the items of a sequence that is nested at this depth.
fn plain_items<'py>(items: &mut dyn Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> PyResult<Items<'py>> {
    let (mut plain, mut changed) = (Vec::new(), false);
    for item in items {
        let Some(made) = plain_at(&item, depth + 1)? else { return Ok(Items::TooDeep) };
        changed |= !made.is(&item);
        plain.push(made);
    }
    Ok(if changed { Items::Changed(plain) } else { Items::Same })
}

/// Converts NumPy's arrays to ours, also inside lists, tuples and named tuples; other objects are returned unchanged.
/// `holders` is the number of references to `obj` that the caller knows of: nobody else holds an array that has no
/// more references than these.
pub fn wrap<'py>(obj: &Bound<'py, PyAny>, holders: isize) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if obj.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) {
        return export::from_numpy(obj, export::references(obj) <= holders);
    }
    let each = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
        items.map(|item| wrap(&item, 2)).collect::<PyResult<SmallVec<[_; 4]>>>()
    };
    if let Ok(tuple) = obj.cast::<PyTuple>() {
        let items = each(&mut tuple.iter())?;
        if tuple.is_exact_instance_of::<PyTuple>() {
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        if tuple.get_type().getattr_opt(intern!(py, "_make"))?.is_some() {
            // does what `_make` does, without a Python frame
            static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let new = NEW.get_or_try_init(py, || py.get_type::<PyTuple>().getattr("__new__").map(Bound::unbind))?;
            return new.bind(py).call1((tuple.get_type(), PyTuple::new(py, items)?));
        }
        return Ok(obj.clone());
    }
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return Ok(PyList::new(py, each(&mut list.iter())?)?.into_any());
    }
    Ok(obj.clone())
}
