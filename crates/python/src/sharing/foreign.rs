//! Indexing, operators and calls of arrays of non-native dtypes: objects, strings, dates, records.
//!
//! In: an operation with such an array. Out: what NumPy returns, counted as a fallback, without a detour through the
//! package; `None` if only the package can decide (other classes, policies that warn or raise). The elements of an
//! array of objects are returned, and stored, as the very objects.

use crate::cpython::given::{self, Given};
use crate::cpython::{Out, Quick};
use crate::numpy::coverage;
use crate::numpy::hooks;
use crate::object::ndarray::{NdArray, Payload};
use crate::sharing::export;
use crate::sharing::lend::{self, Lent, Terms, Values};
use crate::sharing::real_array;
use numpy::npyffi::NPY_TYPES;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PySlice, PyString, PyTuple};
use std::ffi::c_int;

/// The reason under which indexing is counted as a fallback.
const INDEXED: &str = "indexing an array that is not native";

/// Counts a call, here if possible, else by the package's hook.
fn note(py: Python<'_>, name: &str, reason: &str) -> PyResult<()> {
    if coverage::noted(py, name, reason)? {
        return Ok(());
    }
    match hooks::hook(py, "note")? {
        Some(note) => note.call1((name, reason)).map(drop),
        None => Ok(()),
    }
}

/// An item that NumPy returned: an array becomes a numelt array, anything else is returned unchanged.
pub fn given<'py>(item: Bound<'py, PyAny>) -> Out<'py> {
    export::from_numpy(&item, export::references(&item) == 1)
}

/// `array[key]`, where `real` is the `numpy.ndarray` of the array.
pub fn get<'py>(array: &Bound<'py, NdArray>, real: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> Quick<'py> {
    let py = key.py();
    if is_basic(key) {
        note(py, "ndarray.__getitem__", INDEXED)?;
        let item = real.get_item(key)?;
        if key.is_exact_instance_of::<PyString>() {
            return export::field(array, &item).map(Some);
        }
        return given(item).map(Some);
    }
    let mut lent = Lent::new(Terms::UNCLAIMED);
    let Some(plain) = lent.argument(key)? else { return Ok(None) };
    note(py, "ndarray.__getitem__", INDEXED)?;
    let made = real.get_item(plain);
    lent.end()?;
    given(made?).map(Some)
}

/// `array[key] = value`, where `real` is the `numpy.ndarray` of the array; false if the package has to do it.
pub fn set<'py>(real: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<bool> {
    let mut lent = Lent::new(Terms::UNCLAIMED);
    let place = if is_basic(key) { Some(key.clone()) } else { lent.argument(key)? };
    let Some(place) = place else { return Ok(false) };
    let stored =
        if !value.is_exact_instance_of::<NdArray>() && holds_objects(real) && is_element(key, real_array::rank(real)) {
            Some(value.clone())
        } else {
            lent.argument(value)?
        };
    let Some(stored) = stored else { return Ok(false) };
    note(key.py(), "ndarray.__setitem__", INDEXED)?;
    let done = real.set_item(place, &stored);
    drop(stored);
    lent.end()?;
    done.map(|()| true)
}

/// Whether a `numpy.ndarray` holds Python objects.
fn holds_objects(real: &Bound<'_, PyAny>) -> bool {
    real_array::type_number(real) == NPY_TYPES::NPY_OBJECT as c_int
}

/// Whether NumPy gets the key unchanged because it is an int, a string or a slice, or a tuple of ints and slices. The
/// parts of a slice are ints, or objects that NumPy asks for an int.
fn is_basic(key: &Bound<'_, PyAny>) -> bool {
    let is_part =
        |part: &Bound<'_, PyAny>| part.is_exact_instance_of::<PyInt>() || part.cast_exact::<PySlice>().is_ok();
    match key.cast_exact::<PyTuple>() {
        Ok(parts) => parts.iter_borrowed().all(|part| is_part(&part)),
        Err(_) => is_part(key) || key.is_exact_instance_of::<PyString>(),
    }
}

/// Whether the key has a Python int for each axis.
fn is_element(key: &Bound<'_, PyAny>, rank: usize) -> bool {
    match key.cast_exact::<PyTuple>() {
        Ok(parts) => parts.len() == rank && parts.iter_borrowed().all(|part| part.is_exact_instance_of::<PyInt>()),
        Err(_) => rank == 1 && key.is_exact_instance_of::<PyInt>(),
    }
}

/// An operator with two operands, at least one of which is a numelt array; `act` applies it in NumPy.
pub fn operate<'py>(
    name: &str,
    operands: [&Bound<'py, PyAny>; 2],
    act: impl FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> Out<'py>,
) -> Quick<'py> {
    let mut lent = Lent::new(Terms::UNCLAIMED);
    let Some(a) = lent.argument(operands[0])? else { return Ok(None) };
    let Some(b) = lent.argument(operands[1])? else { return Ok(None) };
    note(a.py(), name, "not native")?;
    let made = act(&a, &b);
    drop((a, b));
    lent.take_back(made).map(Some)
}

/// An operator with one operand, a numelt array; `act` applies it in NumPy.
pub fn operate_one<'py>(
    name: &str,
    operand: &Bound<'py, PyAny>,
    act: impl FnOnce(&Bound<'py, PyAny>) -> Out<'py>,
) -> Quick<'py> {
    let mut lent = Lent::new(Terms::UNCLAIMED);
    let Some(plain) = lent.argument(operand)? else { return Ok(None) };
    note(operand.py(), name, "not native")?;
    let made = act(&plain);
    drop(plain);
    lent.take_back(made).map(Some)
}

/// `diff` of an array with one axis.
pub fn differences<'py>(array: &Bound<'py, PyAny>) -> Quick<'py> {
    let py = array.py();
    let Some(ours) = array.cast_exact::<NdArray>().ok().filter(|_| coverage::is_silent()) else { return Ok(None) };
    let Payload::Foreign(real) = ours.get().payload() else { return Ok(None) };
    if real_array::rank(real.bind(py)) != 1 {
        return Ok(None);
    }
    operate_one("diff", array, |real| {
        let (later, sooner) = (PySlice::new(py, 1, isize::MAX, 1), PySlice::new(py, 0, -1, 1));
        real.get_item(later)?.sub(real.get_item(sooner)?)
    })
}

/// Calls a method of NumPy's array class if calls that run in NumPy are only counted; `label` is the name for
/// counting, with the class before the method.
pub fn method<'py>(
    array: &Bound<'py, NdArray>,
    label: &'static str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Quick<'py> {
    let name = hooks::word(args.py(), label.rsplit_once('.').map_or(label, |(_, name)| name));
    given::unpacked(args, kwargs, |given| method_of(array, label, &name, given))
}

/// [`method`] with unpacked arguments; `name` is that of the method alone.
pub fn method_of<'py>(
    array: &Bound<'py, NdArray>,
    label: &str,
    name: &Bound<'py, PyString>,
    given: &Given<'_, 'py>,
) -> Quick<'py> {
    let Some(place) = coverage::simple(given.py())? else { return Ok(None) };
    let (mut lent, mut values) = (Lent::new(Terms::UNCLAIMED), Values::new());
    let Some(real) = lent.argument(array)? else { return Ok(None) };
    if !lent.arguments(given, false, &mut values)? {
        return Ok(None);
    }
    coverage::note(place, label, "not native")?;
    let bound = real.getattr(name)?;
    drop(real);
    let made = lent.call(&bound, &mut values, given.names());
    made.map(Some)
}

/// Calls a NumPy callable, counted under the user's line, if calls that run in NumPy are only counted and the user
/// makes this one; the first argument of a `method` is passed unchanged.
pub fn call<'py>(
    name: &str,
    callable: &Bound<'py, PyAny>,
    given: &Given<'_, 'py>,
    method: bool,
    terms: Terms,
) -> Quick<'py> {
    let py = given.py();
    let Some(place) = coverage::simple(py)? else { return Ok(None) };
    lend::call(callable, given, method, terms, || coverage::note(place, name, "not native"))
}

/// Calls a method of a class of NumPy that is written in Python, for a method of the package's own class that the
/// user's program has called. The first argument, the object, is passed unchanged. `None` as for [`call`].
pub fn method_in_python<'py>(name: &str, callable: &Bound<'py, PyAny>, given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(place) = coverage::around(given.py()) else { return Ok(None) };
    lend::call(callable, given, true, Terms::ANY, || coverage::note(place, name, "not native"))
}

/// Calls a NumPy callable for a call that numelt's own function has declined. The call is counted under the user's
/// line if NumPy accepts it. `None` as for [`call`].
pub fn accepted<'py>(name: &str, callable: &Bound<'py, PyAny>, given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(place) = coverage::simple(given.py())? else { return Ok(None) };
    let made = lend::call(callable, given, false, Terms::ANY, || Ok(()))?;
    if made.is_some() {
        coverage::note(place, name, "arguments that only NumPy accepts")?;
    }
    Ok(made)
}
