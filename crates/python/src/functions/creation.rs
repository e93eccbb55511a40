//! Arrays filled with one value, ranges and unit matrices.

use super::arguments::{Any, Out, Quick, dtype_or, native};
use crate::array::ndarray::wrap_new;
use crate::array::sequence;
use crate::array::{assign, fresh, operand::Operand};
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::convert;
use crate::record::front;
use crate::record::run;
use numelt::rules::ranges;
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt_ir::{Axes, DType, Dims, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
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

/// A new array in C order without memory.
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

/// A new array whose elements all get one value.
pub fn fill<'py>(py: Python<'py>, view: ArrayView, value: Scalar) -> Out<'py> {
    if view.size() > 0 && !run::fill_new(py, &view, value)? {
        run::record(py, Op::Copy, view.dtype, &view, &[Input::Const(value)], Axes::default())?;
    }
    wrap_new(py, view)
}

/// `zeros`, `ones` and `empty`.
const FILLED: Parameters<5> = Parameters::new(["shape", "dtype", "order", "device", "like"], 1).by_position(3);

/// A new array of a shape; of this value, if there is one.
fn filled<'py>(given: &Given<'_, 'py>, value: Option<i64>) -> Quick<'py> {
    let py = given.py();
    let Some([shape, dtype, order, device, like]) = given.bind(&FILLED) else { return Ok(None) };
    if !order.is_word(&["C"]) || !device.is_word(&["cpu"]) || !like.is_none() {
        return Ok(None);
    }
    let dims = shape.given().and_then(|shape| extents(&shape));
    let (Some(dtype), Some(dims)) = (dtype_or(dtype, DType::F64), dims) else { return Ok(None) };
    let Some(value) = value else {
        let base = run::new_base(shape::size(&dims) as usize * dtype.size());
        return fresh::c_ordered(py, base, dtype, &dims).map(|made| Some(made.into_any()));
    };
    match Weak::Int(value).to_scalar(dtype) {
        Some(value) => of_value(py, dtype, &dims, value).map(Some),
        None => Ok(None),
    }
}

/// A new array of one value.
fn of_value<'py>(py: Python<'py>, dtype: DType, dims: &[i64], value: Scalar) -> Out<'py> {
    match run::new_filled(dims, value) {
        Some(base) => fresh::c_ordered(py, base, dtype, dims).map(Bound::into_any),
        None => fill(py, unset(py, dtype, dims), value),
    }
}

/// `zeros`
pub fn zeros<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    filled(given, Some(0))
}

/// `ones`
pub fn ones<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    filled(given, Some(1))
}

/// `empty`: an array whose elements are not set yet.
pub fn empty<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    filled(given, None)
}

/// `full` of a Python number.
pub fn full<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const FULL: Parameters<6> =
        Parameters::new(["shape", "fill_value", "dtype", "order", "device", "like"], 2).by_position(4);
    let Some([shape, value, dtype, order, device, like]) = given.bind(&FULL) else { return Ok(None) };
    let plain = order.is_word(&["C"]) && device.is_word(&["cpu"]) && like.is_none();
    let (Some(shape), Some(value)) = (shape.given(), value.given().filter(|_| plain)) else { return Ok(None) };
    if let Some(value) = convert::weak(&value)
        && let Some(natural) = value.default_dtype()
        && let (Some(dtype), Some(dims)) = (dtype_or(dtype, natural), extents(&shape))
        && let Some(value) = value.to_scalar(dtype)
    {
        return fill(given.py(), unset(given.py(), dtype, &dims), value).map(Some);
    }
    Ok(None)
}

/// A new array in the shape of a prototype, which must lie in C order.
fn like_prototype(given: &Given<'_, '_>, parameters: &Parameters<6>) -> Option<ArrayView> {
    let [prototype, dtype, order, _, shape, device] = given.bind(parameters)?;
    let prototype = prototype.given()?;
    let view = native(&prototype)?;
    let plain = order.is_word(&["K", "C"]) && shape.is_none() && device.is_word(&["cpu"]);
    if !plain || !shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64) {
        return None;
    }
    Some(unset(given.py(), dtype_or(dtype, view.dtype)?, &view.shape))
}

/// `zeros_like` and `ones_like`.
fn filled_like<'py>(given: &Given<'_, 'py>, value: i64) -> Quick<'py> {
    const LIKE: Parameters<6> = Parameters::new(["a", "dtype", "order", "subok", "shape", "device"], 1).by_position(5);
    let Some(view) = like_prototype(given, &LIKE) else { return Ok(None) };
    match Weak::Int(value).to_scalar(view.dtype) {
        Some(value) => fill(given.py(), view, value).map(Some),
        None => Ok(None),
    }
}

/// `zeros_like`
pub fn zeros_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    filled_like(given, 0)
}

/// `ones_like`
pub fn ones_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    filled_like(given, 1)
}

/// `empty_like`
pub fn empty_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const LIKE: Parameters<6> =
        Parameters::new(["prototype", "dtype", "order", "subok", "shape", "device"], 1).by_position(5).nameless(1);
    like_prototype(given, &LIKE).map(|view| wrap_new(given.py(), view)).transpose()
}

/// `full_like` of a dense array, with a Python number that its dtype holds.
pub fn full_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let (py, Some([prototype, value])) = (given.py(), given.exactly()) else { return Ok(None) };
    let (Some(view), Some(value)) = (native(&prototype), convert::exact_weak(&value)) else { return Ok(None) };
    let dense = shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64);
    match value.to_scalar(view.dtype).filter(|&stored| dense && !value.overflowed(stored)) {
        Some(stored) => match run::new_filled(&view.shape, stored) {
            Some(base) => Ok(Some(fresh::c_ordered(py, base, view.dtype, &view.shape)?.into_any())),
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// `arange`: the length is `ceil((stop - start) / step)` in floating-point arithmetic.
pub fn arange<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([start, stop, step, dtype]) = given.bind(&ARANGE) else { return Ok(None) };
    let ends: SmallVec<[Borrowed<'_, 'py, PyAny>; 3]> = [start, stop, step].iter().filter_map(Arg::given).collect();
    match whole_range(given.py(), &ends, dtype)? {
        None if dtype.is_absent() => float_range(given.py(), &ends),
        made => Ok(made),
    }
}

/// Only `dtype` is given by name in what is answered here.
const ARANGE: Parameters<4> = Parameters::new(["", "", "", "dtype"], 1).by_position(3);

/// Ranges of small ints, as int64 or float64, where nothing rounds or overflows.
fn whole_range<'py>(py: Python<'py>, ends: &[Borrowed<'_, 'py, PyAny>], dtype: Arg<'_, 'py>) -> Quick<'py> {
    let dtype = match dtype_or(dtype, DType::I64) {
        Some(dtype @ (DType::I64 | DType::F64)) => dtype,
        _ => return Ok(None),
    };
    // within these bounds no sum overflows, and every float is exact
    let most = if dtype == DType::I64 { 1i64 << 61 } else { 1 << 40 };
    let (mut start, mut stop, mut step) = (0, 0, 1);
    for (at, item) in ends.iter().enumerate() {
        let value = match sequence::real(item) {
            Some(Weak::Int(value)) if (-most..most).contains(&value) => value,
            _ => return Ok(None),
        };
        match (at, ends.len()) {
            (0, 1) | (1, 2 | 3) => stop = value,
            (0, 2 | 3) => start = value,
            (2, 3) => step = value,
            _ => return Ok(None),
        }
    }
    let Some(count) = ranges::whole_count(start, stop, step).ok().filter(|&count| count <= MOST) else {
        return Ok(None);
    };
    if dtype == DType::I64 {
        return range(py, dtype, count, [start, step].map(Scalar::I64), |i| (start + i * step).to_ne_bytes()).map(Some);
    }
    let ends = [start, step].map(|end| Scalar::F64(end as f64));
    range(py, dtype, count, ends, |i| ((start + i * step) as f64).to_ne_bytes()).map(Some)
}

/// Ranges of floats and small ints whose steps round as NumPy's do.
fn float_range<'py>(py: Python<'py>, ends: &[Borrowed<'_, 'py, PyAny>]) -> Quick<'py> {
    const EXACT: i64 = 1 << 53;
    let mut values = SmallVec::<[f64; 3]>::new();
    for item in ends {
        match sequence::real(item) {
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
    if !ends.iter().any(|item| matches!(sequence::real(item), Some(Weak::Float(_)))) {
        return Ok(None);
    }
    let Ok((count, delta)) = ranges::float_count(start, stop, step) else { return Ok(None) };
    let second = start + step;
    // a distance that the step divides to nothing is one that NumPy looks at again
    let ordinary = count < MOST && (stop == start || (stop - start) / step != 0.0);
    // the first element is stored as it is, the second is the sum
    let signed_zero = start == 0.0 && start.is_sign_negative();
    if !ordinary || signed_zero || start + delta != second || !delta.is_finite() {
        return Ok(None);
    }
    let ends = [start, delta].map(Scalar::F64);
    range(py, DType::F64, count, ends, |i| (start + i as f64 * delta).to_ne_bytes()).map(Some)
}

/// `eye`: a square matrix with ones on its diagonal.
pub fn eye<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const EYE: Parameters<7> = Parameters::new(["N", "M", "k", "dtype", "order", "device", "like"], 1).by_position(5);
    let Some([n, m, k, dtype, order, device, like]) = given.bind(&EYE) else { return Ok(None) };
    let plain = m.is_none() && k.is_absent() && order.is_word(&["C"]) && device.is_none() && like.is_none();
    let Some(n) = n.given().filter(|n| plain && n.is_exact_instance_of::<PyInt>()) else { return Ok(None) };
    match (dtype_or(dtype, DType::F64), extents(&n)) {
        (Some(dtype), Some(dims)) => square(given.py(), dims[0], dtype),
        _ => Ok(None),
    }
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
