//! Conversions to arrays: `array`, `asarray` and their kin, of one of our arrays or of a sequence of numbers or of arrays.

use super::{Any, Arg, Out, Quick, joining, native, sequence, slow};
use crate::array::ndarray::wrap_new;
use crate::dispatch::module;
use crate::numpy::subclass;
use crate::record::front::Attached;
use numelt::Front;
use numelt::rules::shape::Order;
use numelt_ir::DType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

/// Make an array from nested sequences, numbers, or anything array-like.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.array([[1, 2], [3, 4]], dtype=float)
/// array([[1., 2.],
///        [3., 4.]])
#[pyfunction]
#[pyo3(
    signature = (object, dtype = Arg::Absent, *, copy = Arg::Absent, order = Arg::Absent, subok = Arg::Absent,
        ndmin = Arg::Absent, ndmax = Arg::Absent, like = Arg::Absent),
    text_signature = "(object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, ndmax=0, like=None)"
)]
#[allow(clippy::too_many_arguments)] // NumPy's own list
fn array<'py>(
    py: Python<'py>,
    object: Any<'_, 'py>,
    dtype: Arg<'py>,
    copy: Arg<'py>,
    order: Arg<'py>,
    subok: Arg<'py>,
    ndmin: Arg<'py>,
    ndmax: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    // our own class is none of the subclasses that `subok` is about
    let plain = native(object).is_some() || matches!(subok, Arg::Absent);
    if plain
        && matches!(ndmax, Arg::Absent)
        && like.is_none()
        && let Some(least) = few_axes(&ndmin)
        && let Some(made) = converted(py, object, (&dtype, &copy, &order), least)?
    {
        return Ok(made);
    }
    let named = [
        ("dtype", &dtype),
        ("copy", &copy),
        ("order", &order),
        ("subok", &subok),
        ("ndmin", &ndmin),
        ("ndmax", &ndmax),
        ("like", &like),
    ];
    slow(py, "array", &[object], &named)
}

/// What `copy=` says: always, never, or if need be; `None` where the package has to see to it.
fn copies(copy: &Arg<'_>) -> Option<Option<bool>> {
    match copy.given() {
        None => Some(Some(true)),
        Some(copy) if copy.is_none() => Some(None),
        Some(copy) => Some(Some(copy.cast_exact::<PyBool>().ok()?.is_true())),
    }
}

/// What `ndmin=` says; `None` where the package has to see to it.
fn few_axes(ndmin: &Arg<'_>) -> Option<usize> {
    match ndmin.given() {
        None => Some(0),
        Some(least) => least.cast_exact::<PyInt>().ok()?.extract().ok(),
    }
}

/// An array of `object`, one of our arrays or a sequence of numbers, of a dtype, copied or not and in an order as the
/// arguments `dtype`, `copy` and `order` say, with at least so many axes. `None` where the package has to see to it.
fn converted<'py>(
    py: Python<'py>,
    object: Any<'_, 'py>,
    (dtype, copy, order): (&Arg<'py>, &Arg<'py>, &Arg<'py>),
    least: usize,
) -> Quick<'py> {
    let order = match order {
        _ if order.is_word(&["K"]) => Order::K,
        _ if order.is_word(&["C"]) => Order::C,
        _ if order.is_word(&["F"]) => Order::F,
        _ if order.is_word(&["A"]) => Order::A,
        _ => return Ok(None),
    };
    let Some(copy) = copies(copy) else { return Ok(None) };
    if let Some(view) = native(object) {
        let Some(to) = dtype.dtype(view.dtype) else { return Ok(None) };
        // NumPy warns of imaginary parts that get lost, and floats beyond uint32 become what its loops make of them
        let warns = view.dtype.is_complex() && !to.is_complex() && to != DType::Bool;
        let wraps = view.dtype.is_float() && to == DType::U32;
        let as_it_is = view.shape.len() >= least && !warns && !wraps;
        return if as_it_is { module::native_asarray(py, object, view, to, copy, order).map(Some) } else { Ok(None) };
    }
    if copy == Some(false) {
        return Ok(None);
    }
    let made = match sequence::array(py, object, |default| dtype.dtype(default))? {
        Some(made) => Some(made),
        None => joining::stacked(py, object, |own| dtype.dtype(own))?,
    };
    match made {
        Some(made) => match native(&made) {
            Some(view) if view.shape.len() < least => Ok(None),
            // also where one order is as good as the other, NumPy's strides are those of the order
            Some(view) if order == Order::F && view.shape.len() > 1 => {
                wrap_new(py, Attached(py).copied(view, view.dtype, order)?).map(Some)
            }
            _ => Ok(Some(made)),
        },
        None => Ok(None),
    }
}

/// Return the argument as an array, without a copy where none is needed.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> x = np.arange(3)
/// >>> np.asarray(x) is x
/// True
#[pyfunction]
#[pyo3(
    signature = (a, dtype = Arg::Absent, order = Arg::Absent, *, device = Arg::Absent, copy = Arg::Absent,
        like = Arg::Absent),
    text_signature = "(a, dtype=None, order=None, *, device=None, copy=None, like=None)"
)]
fn asarray<'py>(
    py: Python<'py>,
    a: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    copy: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    as_array(py, "asarray", a, [&dtype, &order, &device, &copy, &like])
}

/// `asarray` and `asanyarray`, which differ in classes that are not ours.
fn as_array<'py>(py: Python<'py>, name: &str, a: Any<'_, 'py>, arguments: [&Arg<'py>; 5]) -> Out<'py> {
    let [dtype, order, device, copy, like] = arguments;
    let plain =
        name == "asarray" && device.is_word(&["cpu"]) && [dtype, order, copy, like].iter().all(|arg| arg.is_none());
    if plain && native(a).is_none() && subclass::is_instance(a)? {
        return subclass::plain(a);
    }
    if device.is_word(&["cpu"]) && like.is_none() {
        let if_needed = Arg::Given(py.None().into_bound(py));
        let copy = if copy.is_none() { &if_needed } else { copy };
        if let Some(made) = converted(py, a, (dtype, copy, order), 0)? {
            return Ok(made);
        }
    }
    let named = [("dtype", dtype), ("order", order), ("device", device), ("copy", copy), ("like", like)];
    slow(py, name, &[a], &named)
}

/// Return the argument as an array; subclasses of NumPy's array pass through.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.asanyarray([1, 2])
/// array([1, 2])
#[pyfunction]
#[pyo3(
    signature = (a, dtype = Arg::Absent, order = Arg::Absent, *, device = Arg::Absent, copy = Arg::Absent,
        like = Arg::Absent),
    text_signature = "(a, dtype=None, order=None, *, device=None, copy=None, like=None)"
)]
fn asanyarray<'py>(
    py: Python<'py>,
    a: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    copy: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    as_array(py, "asanyarray", a, [&dtype, &order, &device, &copy, &like])
}

/// An array of at least one axis in this order.
fn in_order<'py>(
    py: Python<'py>,
    (name, order): (&str, &str),
    a: Any<'_, 'py>,
    dtype: &Arg<'py>,
    like: &Arg<'py>,
) -> Out<'py> {
    let (if_needed, order) = (Arg::Given(py.None().into_bound(py)), Arg::Given(PyString::intern(py, order).into_any()));
    if like.is_none()
        && let Some(made) = converted(py, a, (dtype, &if_needed, &order), 1)?
    {
        return Ok(made);
    }
    slow(py, name, &[a], &[("dtype", dtype), ("like", like)])
}

/// Return a C-contiguous array of at least one dimension.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.ascontiguousarray(np.ones((2, 3)).T).flags.c_contiguous
/// True
#[pyfunction]
#[pyo3(
    signature = (a, dtype = Arg::Absent, *, like = Arg::Absent),
    text_signature = "(a, dtype=None, *, like=None)"
)]
fn ascontiguousarray<'py>(py: Python<'py>, a: Any<'_, 'py>, dtype: Arg<'py>, like: Arg<'py>) -> Out<'py> {
    in_order(py, ("ascontiguousarray", "C"), a, &dtype, &like)
}

/// Return an array in Fortran order.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.asfortranarray(np.ones((2, 3))).flags.f_contiguous
/// True
#[pyfunction]
#[pyo3(
    signature = (a, dtype = Arg::Absent, *, like = Arg::Absent),
    text_signature = "(a, dtype=None, *, like=None)"
)]
fn asfortranarray<'py>(py: Python<'py>, a: Any<'_, 'py>, dtype: Arg<'py>, like: Arg<'py>) -> Out<'py> {
    in_order(py, ("asfortranarray", "F"), a, &dtype, &like)
}

/// Return a copy of an array.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> x = np.zeros(2)
/// >>> y = np.copy(x)
/// >>> y[0] = 1
/// >>> x
/// array([0., 0.])
#[pyfunction]
#[pyo3(
    signature = (a, order = Arg::Absent, subok = Arg::Absent),
    text_signature = "(a, order='K', subok=False)"
)]
fn copy<'py>(py: Python<'py>, a: Any<'_, 'py>, order: Arg<'py>, subok: Arg<'py>) -> Out<'py> {
    if let Some(made) = converted(py, a, (&Arg::Absent, &Arg::Absent, &order), 0)? {
        return Ok(made);
    }
    slow(py, "copy", &[a], &[("order", &order), ("subok", &subok)])
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(array, module)?)?;
    module.add_function(wrap_pyfunction!(asarray, module)?)?;
    module.add_function(wrap_pyfunction!(asanyarray, module)?)?;
    module.add_function(wrap_pyfunction!(ascontiguousarray, module)?)?;
    module.add_function(wrap_pyfunction!(asfortranarray, module)?)?;
    module.add_function(wrap_pyfunction!(copy, module)?)
}
