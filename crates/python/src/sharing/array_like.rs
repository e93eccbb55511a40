//! Objects of the program's classes that become arrays by `__array__`.
//!
//! In: any object. Out: whether NumPy can convert it itself, so that a call with it needs no conversion by the package.
//! NumPy requires that `__array__` returns NumPy's array. The launcher makes it do so in classes of the program, and
//! marks the method.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyString, PyType};
use std::sync::{Mutex, PoisonError};

/// Whether this is an object of a class whose `__array__` returns NumPy's arrays, and which does not take part in calls
/// by another of NumPy's protocols.
pub fn is_array_like(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = value.get_type_ptr();
    // SAFETY: the class of a living object. The interpreter sets the tag to zero when the class or a base changes.
    let tag = unsafe { (*class).tp_version_tag };
    if let Some(known) = met().iter().find(|known| known.class.as_ptr() == class.cast() && known.tag == tag) {
        return Ok(known.is_array_like);
    }
    let class = value.get_type();
    let is_array_like = converts(&class)?;
    if tag != 0 {
        let mut met = met();
        let oldest = if met.len() < MOST_CLASSES { None } else { Some(met.remove(0)) };
        met.push(Known { class: class.unbind(), tag, is_array_like });
        drop(met);
        drop(oldest);
    }
    Ok(is_array_like)
}

/// Whether an object as in [`is_array_like`] has a length, and one above this number.
pub fn is_long(value: &Bound<'_, PyAny>, most: i64) -> PyResult<bool> {
    Ok(value.hasattr(intern!(value.py(), "__len__"))? && value.len()? as i64 > most)
}

/// What is known of a class in the state to which the interpreter has given this tag.
struct Known {
    class: Py<PyType>,
    tag: u32,
    is_array_like: bool,
}

/// The classes that were met last.
static CLASSES: Mutex<Vec<Known>> = Mutex::new(Vec::new());
const MOST_CLASSES: usize = 16;

fn met() -> std::sync::MutexGuard<'static, Vec<Known>> {
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`is_array_like`] of an object of this class.
fn converts(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = class.py();
    let has = |name: &Bound<'_, PyString>| Ok::<_, PyErr>(class.getattr_opt(name)?.is_some());
    let Some(method) = class.getattr_opt(intern!(py, "__array__"))? else { return Ok(false) };
    Ok(method.getattr_opt(intern!(py, "gives_numpys_arrays"))?.is_some()
        && !has(intern!(py, "__array_function__"))?
        && !has(intern!(py, "__array_ufunc__"))?
        && !has(intern!(py, "__array_wrap__"))?)
}
