//! Functions by which compiled functions read their arguments.
//!
//! In: the arguments of a call as the interpreter passes them, bound to parameters
//! ([`Given::bind`](crate::cpython::given::Given::bind)). Out: a value, or `None` if the argument is not of this
//! kind. A compiled function of `table` returns `None`, before anything is recorded, for a call that it does not
//! answer. It may raise the errors that NumPy raises, and never calls the fallback itself.

use crate::array_class::methods::is_ordered;
use crate::cpython::given::{Arg, Given};
pub use crate::cpython::{Any, Out, Quick};
use crate::numpy::convert::{self, Numpy, known_dtype, numpy_int64};
use crate::numpy::errors;
use crate::object::ndarray::NdArray;
use crate::sharing::policy::{self, limits};
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// The view of an array whose class is exactly ours and whose dtype is native.
pub fn native<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a ArrayView> {
    obj.cast_exact::<NdArray>().ok()?.get().view()
}

/// The only argument, if it is a native array of at least one axis.
pub fn one_array<'py>(given: &Given<'_, 'py>) -> Option<Bound<'py, NdArray>> {
    let array = given.one()?.to_owned().cast_into_exact::<NdArray>().ok()?;
    array.get().view().is_some_and(|view| !view.shape.is_empty()).then_some(array)
}

/// The only argument, if it is a native array of at least one axis with few elements, all in memory, and recorded
/// operations are not inspected.
pub fn few<'py>(given: &Given<'_, 'py>) -> Option<Bound<'py, NdArray>> {
    let array = one_array(given)?;
    let view = array.get().view()?;
    policy::is_small(view, limits::FEW).then_some(array)
}

/// The value of an argument, unless it was left out or is the object that stands for an absent argument in NumPy's
/// own functions.
pub fn given_value<'a, 'py>(arg: &Arg<'a, 'py>) -> Option<Borrowed<'a, 'py, PyAny>> {
    arg.given().filter(|value| !Numpy::get(value.py()).is_ok_and(|numpy| numpy.no_value.is(value)))
}

/// The array that `out=` names; the outer `None` if that is not a numelt array to which results can be written in
/// any order.
pub fn output<'py>(out: Arg<'_, 'py>) -> Option<Option<Bound<'py, NdArray>>> {
    match out.given().filter(|out| !out.is_none()) {
        None => Some(None),
        Some(out) => out.to_owned().cast_into_exact::<NdArray>().ok().filter(is_ordered).map(Some),
    }
}

/// The value of an object whose class is exactly `int`, if 64 bits hold it.
pub fn int(obj: &Bound<'_, PyAny>) -> Option<i64> {
    obj.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// The value of an object whose class is exactly `int` or `numpy.int64`.
pub fn any_int(obj: &Bound<'_, PyAny>) -> Option<i64> {
    int(obj).or_else(|| numpy_int64(obj))
}

/// The values of an int, or of a list or tuple of ints.
pub fn any_ints(obj: &Bound<'_, PyAny>) -> Option<SmallVec<[i64; 4]>> {
    if let Ok(tuple) = obj.cast_exact::<PyTuple>() {
        return tuple.iter_borrowed().map(|item| any_int(&item)).collect();
    }
    if let Ok(list) = obj.cast_exact::<PyList>() {
        return list.iter().map(|item| any_int(&item)).collect();
    }
    any_int(obj).map(|one| SmallVec::from_slice(&[one]))
}

/// The value of an object whose class is exactly `bool`.
pub fn truth(obj: &Bound<'_, PyAny>) -> Option<bool> {
    obj.cast_exact::<PyBool>().ok().map(|truth| truth.is_true())
}

/// The native dtype that `dtype=` names, or the default if it is left out; `None` if NumPy has to decide what it
/// names.
pub fn dtype_or(dtype: Arg<'_, '_>, default: DType) -> Option<DType> {
    match dtype.given().filter(|value| !value.is_none()) {
        Some(value) => known_dtype(&value),
        None => Some(default),
    }
}

/// The native dtype that any `dtype=` argument names, or the default.
pub fn any_dtype(dtype: Arg<'_, '_>, default: DType) -> PyResult<Option<DType>> {
    match (dtype_or(dtype, default), dtype.given()) {
        (None, Some(dtype)) => Ok(errors::unless(dtype.py(), convert::parse_dtype(&dtype), &[errors::TYPE])?.flatten()),
        (known, _) => Ok(known),
    }
}
