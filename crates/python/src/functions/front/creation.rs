//! Arrays filled with one value, ranges and unit matrices.

use super::{Any, Arg, Out, Quick, native, sequence, slow};
use crate::array::ndarray::wrap_new;
use crate::array::{assign, fresh, operand::Operand};
use crate::cpython::given;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::{foreign, lend};
use crate::record::front;
use crate::record::run;
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt_ir::{Axes, DType, Dims, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

/// Largest number of elements of a quick array; what is beyond may be more than there is memory.
const MOST: i64 = 1 << 28;

/// Extents from an int or a tuple of ints of exactly Python's class.
pub fn extents(shape: Any<'_, '_>) -> Option<Dims> {
    let one = |item: &Bound<'_, PyAny>| match convert::exact_weak(item)? {
        Weak::Int(n) if (0..=MOST).contains(&n) => Some(n),
        _ => None,
    };
    let dims: Dims = match shape.cast_exact::<PyTuple>() {
        Ok(tuple) => tuple.iter_borrowed().map(|item| one(&item)).collect::<Option<_>>()?,
        Err(_) => Dims::from_slice(&[one(shape)?]),
    };
    let fits = dims.len() <= 8 && dims.iter().try_fold(1i64, |a, &n| a.checked_mul(n)).is_some_and(|n| n <= MOST);
    fits.then_some(dims)
}

pub fn unset(py: Python<'_>, dtype: DType, dims: &[i64]) -> ArrayView {
    front::fresh(py, dtype, dims, c_strides(dims, dtype.size() as i64))
}

/// A new array of as many elements as `count` says, each a step further than the one before: written at once where there
/// are few, or recorded.
fn range<'py, const SIZE: usize>(
    py: Python<'py>,
    dtype: DType,
    count: i64,
    ends: [Scalar; 2],
    element: impl Fn(i64) -> [u8; SIZE],
) -> Out<'py> {
    if let Some(base) = run::new_written(Op::Range, count, element) {
        return fresh::c_ordered(py, base, dtype, &[count]).map(Bound::into_any);
    }
    let view = unset(py, dtype, &[count]);
    if count > 0 {
        run::record(py, Op::Range, dtype, &view, &ends.map(Input::Const), Axes::default())?;
    }
    wrap_new(py, view)
}

pub fn fill<'py>(py: Python<'py>, view: ArrayView, value: Scalar) -> Quick<'py> {
    if view.size() > 0 && !run::fill_new(py, &view, value)? {
        run::record(py, Op::Copy, view.dtype, &view, &[Input::Const(value)], Axes::default())?;
    }
    wrap_new(py, view).map(Some)
}

fn filled<'py>(
    py: Python<'py>,
    shape: Any<'_, 'py>,
    value: i64,
    dtype: &Arg<'py>,
    words: [&Arg<'py>; 3],
) -> Quick<'py> {
    let [order, device, like] = words;
    if !order.is_word(&["C"]) || !device.is_word(&["cpu"]) || !like.is_none() {
        return Ok(None);
    }
    let (Some(dtype), Some(dims)) = (dtype.dtype(DType::F64), extents(shape)) else { return Ok(None) };
    match Weak::Int(value).to_scalar(dtype) {
        Some(value) => fill(py, unset(py, dtype, &dims), value),
        None => Ok(None),
    }
}

/// Return an array of zeros.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.zeros((2, 2))
/// array([[0., 0.],
///        [0., 0.]])
#[pyfunction]
#[pyo3(
    signature = (shape, dtype = Arg::Absent, order = Arg::Absent, *, device = Arg::Absent, like = Arg::Absent),
    text_signature = "(shape, dtype=None, order='C', *, device=None, like=None)"
)]
fn zeros<'py>(
    py: Python<'py>,
    shape: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    match filled(py, shape, 0, &dtype, [&order, &device, &like])? {
        Some(made) => Ok(made),
        None => {
            slow(py, "zeros", &[shape], &[("dtype", &dtype), ("order", &order), ("device", &device), ("like", &like)])
        }
    }
}

/// Return an array of ones.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.ones(3, dtype=int)
/// array([1, 1, 1])
#[pyfunction]
#[pyo3(
    signature = (shape, dtype = Arg::Absent, order = Arg::Absent, *, device = Arg::Absent, like = Arg::Absent),
    text_signature = "(shape, dtype=None, order='C', *, device=None, like=None)"
)]
fn ones<'py>(
    py: Python<'py>,
    shape: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    match filled(py, shape, 1, &dtype, [&order, &device, &like])? {
        Some(made) => Ok(made),
        None => {
            slow(py, "ones", &[shape], &[("dtype", &dtype), ("order", &order), ("device", &device), ("like", &like)])
        }
    }
}

/// Return an array whose elements are not set yet.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.empty((3, 4), dtype=np.float32).shape
/// (3, 4)
#[pyfunction]
#[pyo3(
    signature = (shape, dtype = Arg::Absent, order = Arg::Absent, *, device = Arg::Absent, like = Arg::Absent),
    text_signature = "(shape, dtype=None, order='C', *, device=None, like=None)"
)]
fn empty<'py>(
    py: Python<'py>,
    shape: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    let plain = order.is_word(&["C"]) && device.is_word(&["cpu"]) && like.is_none();
    if plain && let (Some(dtype), Some(dims)) = (dtype.dtype(DType::F64), extents(shape)) {
        return wrap_new(py, unset(py, dtype, &dims));
    }
    slow(py, "empty", &[shape], &[("dtype", &dtype), ("order", &order), ("device", &device), ("like", &like)])
}

/// Return an array filled with one value.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.full(3, 2.5)
/// array([2.5, 2.5, 2.5])
#[pyfunction]
#[pyo3(
    signature = (shape, fill_value, dtype = Arg::Absent, order = Arg::Absent, *, device = Arg::Absent,
        like = Arg::Absent),
    text_signature = "(shape, fill_value, dtype=None, order='C', *, device=None, like=None)"
)]
fn full<'py>(
    py: Python<'py>,
    shape: Any<'_, 'py>,
    fill_value: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    let plain = order.is_word(&["C"]) && device.is_word(&["cpu"]) && like.is_none();
    if plain
        && let Some(value) = convert::weak(fill_value)
        && let Some(natural) = value.default_dtype()
        && let (Some(dtype), Some(dims)) = (dtype.dtype(natural), extents(shape))
        && let Some(value) = value.to_scalar(dtype)
        && let Some(made) = fill(py, unset(py, dtype, &dims), value)?
    {
        return Ok(made);
    }
    let named = [("dtype", &dtype), ("order", &order), ("device", &device), ("like", &like)];
    slow(py, "full", &[shape, fill_value], &named)
}

/// A new array in the shape of `prototype`, which must lie in C order.
fn like_prototype<'py>(
    prototype: Any<'_, 'py>,
    dtype: &Arg<'py>,
    order: &Arg<'py>,
    shape: &Arg<'py>,
    device: &Arg<'py>,
) -> Option<ArrayView> {
    let view = native(prototype)?;
    let plain = order.is_word(&["K", "C"]) && shape.is_none() && device.is_word(&["cpu"]);
    if !plain || !shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64) {
        return None;
    }
    Some(unset(prototype.py(), dtype.dtype(view.dtype)?, &view.shape))
}

macro_rules! filled_like {
    ($name:ident, $key:literal, $value:literal, $summary:literal, $example:literal) => {
        #[doc = $summary]
        ///
        /// Examples
        /// --------
        /// >>> import numelt as np
        #[doc = $example]
        #[pyfunction]
        #[pyo3(
            signature = (a, dtype = Arg::Absent, order = Arg::Absent, subok = Arg::Absent, shape = Arg::Absent, *,
                device = Arg::Absent),
            text_signature = "(a, dtype=None, order='K', subok=True, shape=None, *, device=None)"
        )]
        fn $name<'py>(
            py: Python<'py>,
            a: Any<'_, 'py>,
            dtype: Arg<'py>,
            order: Arg<'py>,
            subok: Arg<'py>,
            shape: Arg<'py>,
            device: Arg<'py>,
        ) -> Out<'py> {
            if let Some(view) = like_prototype(a, &dtype, &order, &shape, &device)
                && let Some(value) = Weak::Int($value).to_scalar(view.dtype)
                && let Some(made) = fill(py, view, value)?
            {
                return Ok(made);
            }
            let named =
                [("dtype", &dtype), ("order", &order), ("subok", &subok), ("shape", &shape), ("device", &device)];
            slow(py, $key, &[a], &named)
        }
    };
}

filled_like!(
    zeros_like,
    "zeros_like",
    0,
    "Return zeros in the shape, dtype and layout of another array.",
    ">>> np.zeros_like(np.array([1, 2]))\narray([0, 0])"
);
filled_like!(
    ones_like,
    "ones_like",
    1,
    "Return ones in the shape, dtype and layout of another array.",
    ">>> np.ones_like(np.array([1.5, 2.5]))\narray([1., 1.])"
);

/// Return an unset array in the shape, dtype and layout of another array.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.empty_like(np.zeros((2, 3))).shape
/// (2, 3)
#[pyfunction]
#[pyo3(
    signature = (prototype, /, dtype = Arg::Absent, order = Arg::Absent, subok = Arg::Absent, shape = Arg::Absent, *,
        device = Arg::Absent),
    text_signature = "(prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None)"
)]
fn empty_like<'py>(
    py: Python<'py>,
    prototype: Any<'_, 'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    subok: Arg<'py>,
    shape: Arg<'py>,
    device: Arg<'py>,
) -> Out<'py> {
    match like_prototype(prototype, &dtype, &order, &shape, &device) {
        Some(view) => wrap_new(py, view),
        None => {
            let named =
                [("dtype", &dtype), ("order", &order), ("subok", &subok), ("shape", &shape), ("device", &device)];
            slow(py, "empty_like", &[prototype], &named)
        }
    }
}

/// Return evenly spaced values: ``arange(stop)``, ``arange(start, stop, step)``.
///
/// The length is ``ceil((stop - start) / step)`` in floating-point arithmetic.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.arange(1, 2, 0.25)
/// array([1.  , 1.25, 1.5 , 1.75])
#[pyfunction]
#[pyo3(signature = (*args, **kwargs), text_signature = "(*args, dtype=None, device=None, like=None)")]
fn arange<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Out<'py> {
    if let Some(made) = whole_range(py, args, kwargs)? {
        return Ok(made);
    }
    if kwargs.is_none()
        && let Some(made) = float_range(py, args)?
    {
        return Ok(made);
    }
    let mut others = args.iter_borrowed().map(|end| is_no_number(&end)).filter(|other| !matches!(other, Ok(false)));
    if others.next().transpose()?.is_some()
        && let Some(made) = given::unpacked(args, kwargs, |given| {
            foreign::call("arange", &Numpy::get(py)?.attr(py, "arange")?, given, false, lend::Terms::ANY)
        })?
    {
        return Ok(made);
    }
    super::function(py, "arange")?.call(args, kwargs)
}

/// Is it a text or a date, the end of a range that is not native?
fn is_no_number(end: &Bound<'_, PyAny>) -> PyResult<bool> {
    let text = end.is_exact_instance_of::<PyString>();
    Ok(text || lend::passes(end)? && convert::numpy_scalar_value(end).is_none())
}

/// Ranges of small ints, as int64 or float64, where nothing rounds or overflows.
fn whole_range<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>, kwargs: Option<&Bound<'py, PyDict>>) -> Quick<'py> {
    let dtype = match kwargs {
        None => DType::I64,
        Some(kwargs) if kwargs.len() == 1 => match kwargs.get_item(pyo3::intern!(py, "dtype"))? {
            Some(dtype) => match Arg::Given(dtype).dtype(DType::I64) {
                Some(dtype @ (DType::I64 | DType::F64)) => dtype,
                _ => return Ok(None),
            },
            None => return Ok(None),
        },
        Some(_) => return Ok(None),
    };
    // within these bounds no sum overflows, and every float is exact
    let most = if dtype == DType::I64 { 1i64 << 61 } else { 1 << 40 };
    let (mut start, mut stop, mut step) = (0, 0, 1);
    for (at, item) in args.iter_borrowed().enumerate() {
        let value = match sequence::real(&item) {
            Some(Weak::Int(value)) if (-most..most).contains(&value) => value,
            _ => return Ok(None),
        };
        match (at, args.len()) {
            (0, 1) | (1, 2 | 3) => stop = value,
            (0, 2 | 3) => start = value,
            (2, 3) => step = value,
            _ => return Ok(None),
        }
    }
    if args.is_empty() || step == 0 {
        return Ok(None);
    }
    let span = stop - start;
    let count = if (span > 0) == (step > 0) { (span.abs() + step.abs() - 1) / step.abs() } else { 0 };
    if count > MOST {
        return Ok(None);
    }
    if dtype == DType::I64 {
        return range(py, dtype, count, [start, step].map(Scalar::I64), |i| (start + i * step).to_ne_bytes()).map(Some);
    }
    let ends = [start, step].map(|end| Scalar::F64(end as f64));
    range(py, dtype, count, ends, |i| ((start + i * step) as f64).to_ne_bytes()).map(Some)
}

/// Ranges of floats and small ints whose steps round as NumPy's do.
fn float_range<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>) -> Quick<'py> {
    const EXACT: i64 = 1 << 53;
    let mut values = SmallVec::<[f64; 3]>::new();
    for item in args.iter_borrowed() {
        match sequence::real(&item) {
            Some(Weak::Float(value)) if value.is_finite() => values.push(value),
            Some(Weak::Int(value)) if (-EXACT..=EXACT).contains(&value) => values.push(value as f64),
            _ => return Ok(None),
        }
    }
    let (start, stop, step) = match values[..] {
        [stop] => (0.0, stop, 1.0),
        [start, stop] => (start, stop, 1.0),
        [start, stop, step] => (start, stop, step),
        _ => return Ok(None),
    };
    // ints make ints
    if !args.iter_borrowed().any(|item| matches!(sequence::real(&item), Some(Weak::Float(_)))) {
        return Ok(None);
    }
    let (span, second) = (stop - start, start + step);
    let (count, delta) = (span / step, second - start);
    let ordinary = count.is_finite() && count < MOST as f64 && (count != 0.0 || span == 0.0);
    // the first element is stored as it is, the second is the sum
    let signed_zero = start == 0.0 && start.is_sign_negative();
    if step == 0.0 || !ordinary || signed_zero || start + delta != second || !delta.is_finite() {
        return Ok(None);
    }
    let count = count.ceil().max(0.0) as i64;
    let ends = [start, delta].map(Scalar::F64);
    range(py, DType::F64, count, ends, |i| (start + i as f64 * delta).to_ne_bytes()).map(Some)
}

/// Return a square matrix, or a rectangle, with ones on one diagonal and zeros elsewhere.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.eye(2, 3, k=1)
/// array([[0., 1., 0.],
///        [0., 0., 1.]])
#[pyfunction]
#[pyo3(
    signature = (N, M = Arg::Absent, k = Arg::Absent, dtype = Arg::Absent, order = Arg::Absent, *,
        device = Arg::Absent, like = Arg::Absent),
    text_signature = "(N, M=None, k=0, dtype=None, order='C', *, device=None, like=None)"
)]
#[allow(non_snake_case)] // NumPy's own names
#[allow(clippy::too_many_arguments)] // and its list
fn eye<'py>(
    py: Python<'py>,
    N: Any<'_, 'py>,
    M: Arg<'py>,
    k: Arg<'py>,
    dtype: Arg<'py>,
    order: Arg<'py>,
    device: Arg<'py>,
    like: Arg<'py>,
) -> Out<'py> {
    let plain = M.is_none() && matches!(k, Arg::Absent) && order.is_word(&["C"]);
    if plain
        && device.is_none()
        && like.is_none()
        && N.is_exact_instance_of::<PyInt>()
        && let (Some(dtype), Some(dims)) = (dtype.dtype(DType::F64), extents(N))
        && let Some(made) = square(py, dims[0], dtype)?
    {
        return Ok(made);
    }
    let named = [("M", &M), ("k", &k), ("dtype", &dtype), ("order", &order), ("device", &device), ("like", &like)];
    slow(py, "eye", &[N], &named)
}

fn square<'py>(py: Python<'py>, n: i64, dtype: DType) -> Quick<'py> {
    let (Some(zero), Some(one)) = (Weak::Int(0).to_scalar(dtype), Weak::Int(1).to_scalar(dtype)) else {
        return Ok(None);
    };
    if n.checked_mul(n).is_none_or(|size| size > MOST) {
        return Ok(None);
    }
    let view = unset(py, dtype, &[n, n]);
    if n > 0 {
        let step = dtype.size() as i64 * (n + 1);
        let diagonal = shape::window(&view, 0, Dims::from_slice(&[n]), Dims::from_slice(&[step]));
        assign::assign_operand(py, &view, &Operand::Value(zero))?;
        assign::assign_operand(py, &diagonal, &Operand::Value(one))?;
    }
    wrap_new(py, view).map(Some)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(zeros, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(zeros_like, module)?)?;
    module.add_function(wrap_pyfunction!(ones_like, module)?)?;
    module.add_function(wrap_pyfunction!(empty_like, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(eye, module)?)
}
