//! NumPy's functions that are called with our arrays (`array.__array_function__`), which NumPy's own Python code and
//! libraries do.
//!
//! In: such a call. Out: what numelt's function returns; `None` if only the package can decide, because numelt has no
//! such function, another class takes part, or the call has come back from numelt's function. Also: whether a class
//! among the arguments of a call has an `__array_function__` of its own.

use crate::cpython::Quick;
use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::numpy::convert::Numpy;
use crate::object::ndarray::NdArray;
use crate::sharing::{derived, lend};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PySet, PyTuple};

/// The package's table from NumPy's functions to numelt's, and its set of the calls in progress.
static NATIVE: PyOnceLock<(Py<PyDict>, Py<PySet>)> = PyOnceLock::new();

/// Sets the package's table of functions, and the set of calls in progress: pairs of a function of NumPy and the
/// address of its first argument.
#[pyfunction]
fn set_native(functions: Bound<'_, PyDict>, entered: Bound<'_, PySet>) {
    let py = functions.py();
    let _ = NATIVE.set(py, (functions.unbind(), entered.unbind()));
}

/// `array.__array_function__(function, types, args, kwargs)`
pub fn asked<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([_, function, types, args, kwargs]) = given.exactly() else { return Ok(None) };
    let py = given.py();
    let (Ok(types), Ok(args), Ok(kwargs)) =
        (types.cast_exact::<PyTuple>(), args.cast_exact::<PyTuple>(), kwargs.cast_exact::<PyDict>())
    else {
        return Ok(None);
    };
    let (ours, numpys) = (py.get_type::<NdArray>(), Numpy::get(py)?.ndarray.bind(py));
    if !types.iter_borrowed().all(|class| class.is(&ours) || class.is(numpys)) {
        return Ok(None);
    }
    let Some((functions, entered)) = NATIVE.get(py) else { return Ok(None) };
    let Some(native) = functions.bind(py).get_item(function)? else { return Ok(None) };
    let first = args.get_item(0).unwrap_or_else(|_| py.None().into_bound(py));
    let (entered, key) = (entered.bind(py), (function, first.as_ptr() as usize).into_pyobject(py)?);
    if entered.contains(&key)? {
        return Ok(None);
    }
    entered.add(&key)?;
    let made = calls::apply(&native, args.to_owned(), if kwargs.is_empty() { None } else { Some(&kwargs) });
    entered.discard(&key)?;
    made.map(Some)
}

/// Longest list or tuple that is searched for objects that claim a call.
const ITEMS: usize = 16;

/// Whether an argument after the first, or an item of a short list or tuple among them, is of a class with an
/// `__array_function__` of its own.
pub fn is_claimed(given: &Given<'_, '_>) -> PyResult<bool> {
    for value in given.positional().skip(1).chain(given.named()) {
        let claimed = if let Ok(list) = value.cast_exact::<PyList>() {
            list.len() <= ITEMS && any_claims(list.iter())?
        } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            tuple.len() <= ITEMS && any_claims(tuple.iter())?
        } else {
            claims(&value)?
        };
        if claimed {
            return Ok(true);
        }
    }
    Ok(false)
}

fn any_claims<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<bool> {
    for item in items {
        if claims(&item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the class of an object has an `__array_function__` of its own.
fn claims(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if lend::is_plain(value) || value.is_exact_instance_of::<NdArray>() {
        return Ok(false);
    }
    let method = value.get_type().getattr_opt(intern!(value.py(), "__array_function__"))?;
    let numpys = derived::numpys_method(value.py())?;
    Ok(method.is_some_and(|method| !method.is(numpys)))
}

/// Adds the function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_native, module)?)
}
