//! Calls of NumPy with our arrays: counted as fallbacks, or not counted.
//!
//! In: a call that is not native. Out: what NumPy returns, with our arrays in place of NumPy's. The package's hook
//! counts the call, unless the package has not set it yet.

use crate::cpython::calls;
use crate::cpython::given;
use crate::numpy::convert::Numpy;
use crate::numpy::hooks::hook;
use crate::sharing::lend::Terms;
use crate::sharing::{export, foreign, lend, results};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

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
    results::wrap(&result, 1)
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
            PlainItems::TooDeep => None,
            PlainItems::Same => Some(obj.clone()),
            PlainItems::Changed(items) => Some(PyList::new(py, items)?.into_any()),
        });
    }
    if let Ok(tuple) = obj.cast_exact::<PyTuple>() {
        return Ok(match plain_items(&mut tuple.iter(), depth)? {
            PlainItems::TooDeep => None,
            PlainItems::Same => Some(obj.clone()),
            PlainItems::Changed(items) => Some(PyTuple::new(py, items)?.into_any()),
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
enum PlainItems<'py> {
    TooDeep,
    /// No item has changed: the sequence itself can be passed on.
    Same,
    Changed(Vec<Bound<'py, PyAny>>),
}

/// Converts the items of a sequence that is nested at this depth.
fn plain_items<'py>(items: &mut dyn Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> PyResult<PlainItems<'py>> {
    let (mut plain, mut changed) = (Vec::new(), false);
    for item in items {
        let Some(made) = plain_at(&item, depth + 1)? else { return Ok(PlainItems::TooDeep) };
        changed |= !made.is(&item);
        plain.push(made);
    }
    Ok(if changed { PlainItems::Changed(plain) } else { PlainItems::Same })
}
