//! Indexing with arrays and masks, by the rules of `numelt::indexing`.
//!
//! In: an array, a key that is not basic, perhaps a value. Out: a new array, or the changed array. `key` parses the
//! key. `few`, `few_by_lookup` and `columns` read and write a few elements at once, without recording. If
//! this module declines a key (`None`, `false`), NumPy uses it or raises the error.

mod columns;
mod few;
mod few_by_lookup;
mod functions;
mod key;
mod scatter;

use crate::array::basic;
use crate::numpy::errors;
use crate::object::fresh::{wrap_new, wrap_window};
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::front::Attached;
use key::Key;
use numelt::Front;
use numelt::indexing::{self, Lookup};
use numelt::rules::shape::Order;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::PyList;

pub use functions::register;
pub use scatter::{set, set_few};

/// `array[key]` for an array of few positions, or a mask, all of it in memory; `None` for all others. It runs no
/// pending work and no Python code.
pub fn get_few<'py>(py: Python<'py>, view: &ArrayView, key: &ArrayView) -> Option<PyResult<Bound<'py, PyAny>>> {
    if !key.base.is_readable() {
        return None;
    }
    match few::quick(py, view, key) {
        Ok(found) => found.map(|found| wrap_new(py, found)),
        Err(error) => Some(Err(error)),
    }
}

/// `array[key]`; `None` if NumPy has to examine the key.
pub fn get<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    key: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    if let Some(one) = exact_native(key).and_then(NdArray::view)
        && let Some(result) = few::quick(py, view, one)?
    {
        return wrap_new(py, result).map(Some);
    }
    if let Ok(list) = key.cast_exact::<PyList>()
        && let Some(result) = few::listed(py, view, list)?
    {
        return wrap_new(py, result).map(Some);
    }
    if let Some(result) = few::paired(py, view, key)? {
        return wrap_new(py, result).map(Some);
    }
    let Some(key) = Key::parse(key)? else { return Ok(None) };
    if key.is_basic() {
        let selection = basic::select(view, &key.parts())?;
        if selection.scalar {
            return basic::read_element(py, &selection.view).map(Some);
        }
        return wrap_new(py, Attached(py).copied(&selection.view, view.dtype, Order::K)?).map(Some);
    }
    let lookup = Lookup::new(view, &key.items).map_err(errors::from_rules)?;
    if let Some(result) = few_by_lookup::get(py, &lookup)? {
        return wrap(py, &lookup, result).map(Some);
    }
    let picked = indexing::gather(&Attached(py), &lookup)?.recorded();
    picked.map(|result| wrap(py, &lookup, result)).transpose()
}

/// The result of a lookup as an object. NumPy puts the selected axes first; if they belong elsewhere, it returns a
/// view with the axes moved.
fn wrap<'py>(py: Python<'py>, lookup: &Lookup, result: ArrayView) -> PyResult<Bound<'py, PyAny>> {
    if lookup.before == 0 {
        return wrap_new(py, result);
    }
    wrap_window(py, lookup.picked_first(&result), result)
}
