//! What compiled functions read from their arguments.
//!
//! A compiled function of `table` gets the call's arguments as the interpreter has them, and binds them to its parameters
//! ([`Given::bind`](crate::cpython::given::Given::bind)). It gives `None`, before anything is recorded, for a call that it does not
//! do; the call then goes on to NumPy, or to the package's Python function of the same name if there is one. Functions that the
//! package's table names in `COMPILED` have no such function: the compiled one does everything that numelt records. It may raise what
//! NumPy raises, and never falls back by itself.

use crate::array::ndarray::NdArray;
use crate::cpython::given::{Arg, Given};
use crate::numpy::convert::{known_dtype, numpy_int64};
use crate::record::policy::{self, limits};
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// An object that is looked at.
pub type Any<'a, 'py> = &'a Bound<'py, PyAny>;
/// The result of a call.
pub type Out<'py> = PyResult<Bound<'py, PyAny>>;
/// What a compiled function gives: `None` where the call is not one of the plain ones.
pub type Quick<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// The view of an array of exactly our class with a native dtype.
pub fn native<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a ArrayView> {
    obj.cast_exact::<NdArray>().ok()?.get().view()
}

/// The only argument, if it is a native array of at least one axis.
pub fn one_array<'py>(given: &Given<'_, 'py>) -> Option<Bound<'py, NdArray>> {
    let array = given.one()?.to_owned().cast_into_exact::<NdArray>().ok()?;
    array.get().view().is_some_and(|view| !view.shape.is_empty()).then_some(array)
}

/// The same, if it has few elements that are in memory and nobody looks at what is recorded.
pub fn few<'py>(given: &Given<'_, 'py>) -> Option<Bound<'py, NdArray>> {
    let array = one_array(given)?;
    let view = array.get().view()?;
    policy::is_small(view, limits::FEW).then_some(array)
}

/// An exact Python int that 64 bits hold.
pub fn int(obj: &Bound<'_, PyAny>) -> Option<i64> {
    obj.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// An exact Python int, or a `numpy.int64`.
pub fn any_int(obj: &Bound<'_, PyAny>) -> Option<i64> {
    int(obj).or_else(|| numpy_int64(obj))
}

/// Ints from one, or from a list or tuple of them.
pub fn any_ints(obj: &Bound<'_, PyAny>) -> Option<SmallVec<[i64; 4]>> {
    if let Ok(tuple) = obj.cast_exact::<PyTuple>() {
        return tuple.iter_borrowed().map(|item| any_int(&item)).collect();
    }
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return list.iter().map(|item| any_int(&item)).collect();
    }
    any_int(obj).map(|one| SmallVec::from_slice(&[one]))
}

/// An exact Python truth value.
pub fn truth(obj: &Bound<'_, PyAny>) -> Option<bool> {
    obj.cast_exact::<PyBool>().ok().map(|truth| truth.is_true())
}

/// The native dtype of `dtype=`: the default where there is none; `None` when it needs NumPy to say what it is.
pub fn dtype_or(dtype: Arg<'_, '_>, default: DType) -> Option<DType> {
    match dtype.given().filter(|value| !value.is_none()) {
        Some(value) => known_dtype(&value),
        None => Some(default),
    }
}
