//! Arrays filled with one value, ranges and unit matrices.

use super::arguments::{Any, Out, Quick, any_dtype, any_int, dtype_or, native, truth};
use super::conversion;
use crate::array::assign;
use crate::array::operand::{self, Operand};
use crate::array::sequence;
use crate::array_class::methods::parse_order;
use crate::cpython::calls;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::object::fresh::{self, wrap_new};
use crate::record::front::{self, Attached};
use crate::record::run;
use numelt::Front;
use numelt::matrices::diagonal;
use numelt::rules::names;
use numelt::rules::ranges;
use numelt::rules::resolve::Weak;
use numelt::rules::shape::{self, Order};
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, Dims, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, BaseRef, Input};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// The most elements of an array that is made here; more may not fit into memory.
const MOST: i64 = 1 << 28;

/// The extents that an int or a tuple of ints states, whose classes are exactly Python's.
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

/// A new array of as many elements as `count` says, each a step further than the one before. Few elements are written
/// at once, others are recorded.
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

/// A new array all of whose elements have one value.
pub fn fill<'py>(py: Python<'py>, view: ArrayView, value: Scalar) -> Out<'py> {
    if view.size() > 0 && !run::fill_new(py, &view, value)? {
        run::record(py, Op::Copy, view.dtype, &view, &[Input::Const(value)], Axes::default())?;
    }
    wrap_new(py, view)
}

/// A new array without memory, with NumPy's exceptions for invalid shapes and orders.
pub fn new_array(shape: Any<'_, '_>, dtype: DType, order: Option<Any<'_, '_>>) -> PyResult<ArrayView> {
    let dims = operand::new_shape(shape)?;
    errors::check_bytes(shape.py(), &dims, dtype)?;
    let itemsize = dtype.size() as i64;
    let strides = match parse_order(order, Order::C)? {
        Order::F => shape::f_strides(&dims, itemsize),
        Order::C | Order::A | Order::K => c_strides(&dims, itemsize),
    };
    Ok(front::fresh(shape.py(), dtype, &dims, strides))
}

/// A new array without memory of this shape, dtype and order, which may be any objects that stand for them; `None` if
/// NumPy has to raise the error.
fn any_new<'py>(
    shape: Any<'_, 'py>,
    dtype: Arg<'_, 'py>,
    default: DType,
    order: Arg<'_, 'py>,
) -> PyResult<Option<ArrayView>> {
    let Some(dtype) = any_dtype(dtype, default)?.filter(|_| order.is_word(&["C", "F"])) else { return Ok(None) };
    let made = new_array(shape, dtype, order.given().as_deref());
    errors::unless(shape.py(), made, &[errors::TYPE])
}

/// The parameters of `zeros`, `ones` and `empty`.
const FILLED: Parameters<5> = Parameters::new(["shape", "dtype", "order", "device", "like"], 1).by_position(3);

/// A new array of a shape, filled with this value if there is one.
fn filled<'py>(given: &Given<'_, 'py>, value: Option<i64>) -> Quick<'py> {
    let py = given.py();
    let Some([Arg(Some(shape)), dtype, order, device, like]) = given.bind(&FILLED) else { return Ok(None) };
    if !device.is_word(&["cpu"]) || !like.is_none() {
        return Ok(None);
    }
    let known = dtype_or(dtype, DType::F64).filter(|_| order.is_word(&["C"]));
    if let (Some(dtype), Some(dims)) = (known, extents(&shape)) {
        return match value.and_then(|value| Weak::Int(value).to_scalar(dtype)) {
            Some(value) => of_value(py, dtype, &dims, value).map(Some),
            None => {
                let base = run::new_base(shape::size(&dims) as usize * dtype.size());
                base.settle();
                fresh::c_ordered(py, base, dtype, &dims).map(|made| Some(made.into_any()))
            }
        };
    }
    let Some(view) = any_new(&shape, dtype, DType::F64, order)? else { return Ok(None) };
    if value.is_none() {
        view.base.settle();
    }
    filled_with(py, view, value).map(Some)
}

/// Fills a new array with this value, if there is one.
fn filled_with<'py>(py: Python<'py>, view: ArrayView, value: Option<i64>) -> Out<'py> {
    match value.and_then(|value| Weak::Int(value).to_scalar(view.dtype)) {
        Some(value) => fill(py, view, value),
        None => wrap_new(py, view),
    }
}

/// A new array filled with one value.
fn of_value<'py>(py: Python<'py>, dtype: DType, dims: &[i64], value: Scalar) -> Out<'py> {
    match run::new_filled(dims, value) {
        Some(base) => fresh::c_ordered(py, base, dtype, dims).map(Bound::into_any),
        None => fill(py, unset(py, dtype, dims), value),
    }
}

/// A new array in C order filled with one value, where a prototype of this dtype and shape is.
fn of_value_like<'py>(py: Python<'py>, prototype: &ArrayView, value: Scalar) -> Out<'py> {
    let (dtype, dims) = (prototype.dtype, &prototype.shape);
    match run::new_filled(dims, value) {
        Some(base) => {
            base.settle_like(&prototype.base);
            fresh::c_ordered(py, base, dtype, dims).map(Bound::into_any)
        }
        None => {
            let view = unset(py, dtype, dims);
            view.base.settle_like(&prototype.base);
            fill(py, view, value)
        }
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

/// `empty`: an array whose elements have no defined values.
pub fn empty<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    filled(given, None)
}

/// `full`
pub fn full<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const FULL: Parameters<6> =
        Parameters::new(["shape", "fill_value", "dtype", "order", "device", "like"], 2).by_position(4);
    let py = given.py();
    let Some([Arg(Some(shape)), Arg(Some(value)), dtype, order, device, like]) = given.bind(&FULL) else {
        return Ok(None);
    };
    if !device.is_word(&["cpu"]) || !like.is_none() {
        return Ok(None);
    }
    if is_number(&value) {
        let wanted = if dtype.is_none() { None } else { any_dtype(dtype, DType::F64)? };
        if wanted.is_none() && !dtype.is_none() {
            return Ok(None);
        }
        let Some(value) = element(&value, wanted)? else { return Ok(None) };
        if let Some(dims) = extents(&shape).filter(|_| order.is_word(&["C"])) {
            return of_value(py, value.dtype(), &dims, value).map(Some);
        }
        let made = any_new(&shape, Arg::ABSENT, value.dtype(), order)?;
        return made.map(|view| fill(py, view, value)).transpose();
    }
    let Some(value) = Operand::extract(&value)? else { return Ok(None) };
    let Some(natural) = value.dtype() else { return Ok(None) };
    let Some(view) = any_new(&shape, dtype, natural, order)? else { return Ok(None) };
    if assign::assign_operand(py, &view, &value)? { wrap_new(py, view).map(Some) } else { Ok(None) }
}

/// Whether it is a Python number or a NumPy scalar.
fn is_number(value: Any<'_, '_>) -> bool {
    convert::weak(value).is_some() || convert::numpy_scalar_value(value).is_some()
}

/// The value of an element to which a number is assigned, in this dtype or in the number's own. `None` if that is not
/// native.
fn element(number: Any<'_, '_>, dtype: Option<DType>) -> PyResult<Option<Scalar>> {
    let exact = match (convert::weak(number), convert::numpy_scalar_value(number)) {
        (Some(weak), _) => {
            let to = dtype.or(weak.default_dtype());
            to.and_then(|to| weak.to_scalar(to)).filter(|&value| !weak.overflowed(value))
        }
        (None, Some(value)) => Some(value).filter(|value| dtype.is_none_or(|dtype| dtype == value.dtype())),
        (None, None) => return Ok(None),
    };
    if exact.is_some() {
        return Ok(exact);
    }
    // NumPy converts all other numbers, and warns or raises
    let py = number.py();
    let one = PyTuple::empty(py);
    let made = calls::apply(&Numpy::get(py)?.attr(py, "full")?, (&one, number, dtype.map(names::numpy_name)), None)?;
    Ok(convert::numpy_scalar_value(&made.get_item(one)?))
}

/// A new array without memory, with the shape and dtype of a prototype.
fn like_prototype(given: &Given<'_, '_>, parameters: &Parameters<6>) -> PyResult<Option<ArrayView>> {
    let Some([Arg(Some(prototype)), dtype, order, subok, shape, device]) = given.bind(parameters) else {
        return Ok(None);
    };
    like_array(&prototype, dtype, [order, subok, shape, device])
}

/// A new array with the shape and dtype of an array (or of an object that one can be made of). The dtype may be
/// replaced; the memory order is the one that `order` and `shape` request.
fn like_array<'py>(
    prototype: Any<'_, 'py>,
    dtype: Arg<'_, 'py>,
    [order, subok, shape, device]: [Arg<'_, 'py>; 4],
) -> PyResult<Option<ArrayView>> {
    let order = match order {
        _ if order.is_word(&["K"]) => Order::K,
        _ if order.is_word(&["C"]) => Order::C,
        _ if order.is_word(&["F"]) => Order::F,
        _ if order.is_word(&["A"]) => Order::A,
        _ => return Ok(None),
    };
    let plain = device.is_word(&["cpu"]) && subok.given().is_none_or(|subok| truth(&subok).is_some());
    let py = prototype.py();
    let mut slot = None;
    let found = if plain { conversion::operand(prototype, &mut slot)? } else { None };
    let Some((_, view)) = found else { return Ok(None) };
    let Some(dtype) = any_dtype(dtype, view.dtype)? else { return Ok(None) };
    // without the argument `device`, the new array is where the prototype is
    let settle = |base: &BaseRef| if device.is_none() { base.settle_like(&view.base) } else { base.settle() };
    let Some(shape) = shape.given().filter(|shape| !shape.is_none()) else {
        let made = Attached(py).new_like(view, dtype, order).map(Some);
        if let Ok(Some(made)) = &made {
            settle(&made.base);
        }
        return made;
    };
    let Some(dims) = errors::unless(py, operand::new_shape(&shape), &[errors::TYPE])? else { return Ok(None) };
    // if the number of axes is the same, the prototype's strides determine the order of the new axes
    let (strides, order) = match dims.len() == view.shape.len() {
        true => (view.strides.clone(), order),
        false => (c_strides(&dims, 1), if order == Order::A && shape::is_fortran(view) { Order::F } else { order }),
    };
    let made = Attached(py).new_like(&shape::window(view, view.offset, dims, strides), dtype, order).map(Some);
    if let Ok(Some(made)) = &made {
        settle(&made.base);
    }
    made
}

/// The parameters of `zeros_like` and `ones_like`.
const LIKE: Parameters<6> = Parameters::new(["a", "dtype", "order", "subok", "shape", "device"], 1).by_position(5);

/// `zeros_like`
pub fn zeros_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    like_prototype(given, &LIKE)?.map(|view| filled_with(given.py(), view, Some(0))).transpose()
}

/// `ones_like`
pub fn ones_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    like_prototype(given, &LIKE)?.map(|view| filled_with(given.py(), view, Some(1))).transpose()
}

/// `empty_like`
pub fn empty_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const LIKE: Parameters<6> =
        Parameters::new(["prototype", "dtype", "order", "subok", "shape", "device"], 1).by_position(5).nameless(1);
    like_prototype(given, &LIKE)?.map(|view| filled_with(given.py(), view, None)).transpose()
}

/// `full_like` with a number.
pub fn full_like<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const LIKE: Parameters<7> =
        Parameters::new(["a", "fill_value", "dtype", "order", "subok", "shape", "device"], 2).by_position(6);
    let py = given.py();
    if let Some([prototype, value]) = given.exactly()
        && let (Some(view), Some(value)) = (native(&prototype), convert::exact_weak(&value))
        && shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64)
        && let Some(stored) = value.to_scalar(view.dtype).filter(|&stored| !value.overflowed(stored))
    {
        return of_value_like(py, view, stored).map(Some);
    }
    let Some([Arg(Some(prototype)), Arg(Some(value)), dtype, order, subok, shape, device]) = given.bind(&LIKE) else {
        return Ok(None);
    };
    if !is_number(&value) {
        return Ok(None);
    }
    let Some(view) = like_array(&prototype, dtype, [order, subok, shape, device])? else { return Ok(None) };
    element(&value, Some(view.dtype))?.map(|value| fill(py, view, value)).transpose()
}

/// `arange`: the length is `ceil((stop - start) / step)` in floating-point arithmetic.
pub fn arange<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const ARANGE: Parameters<6> = Parameters::new(["", "", "", "dtype", "device", "like"], 1).by_position(4);
    let py = given.py();
    let Some([start, stop, step, dtype, device, like]) = given.bind(&ARANGE) else { return Ok(None) };
    if !device.is_word(&["cpu"]) || !like.is_none() {
        return Ok(None);
    }
    let step = if step.is_none() { None } else { step.given() };
    let ends: SmallVec<[Borrowed<'_, 'py, PyAny>; 3]> =
        [start.given(), stop.given(), step].into_iter().flatten().collect();
    if let Some(made) = whole_range(py, &ends, dtype)? {
        return Ok(Some(made));
    }
    if dtype.is_none()
        && let Some(made) = float_range(py, &ends)?
    {
        return Ok(Some(made));
    }
    let Some((start, stop, step)) = numbers(&ends) else { return Ok(None) };
    let whole = [start, stop, step].iter().all(|number| matches!(number, Weak::Int(_)));
    let default = if whole { DType::I64 } else { DType::F64 };
    match any_dtype(dtype, default)? {
        Some(dtype) if dtype.is_complex() => {
            let Some(parts) = any_range(py, dtype.real(), start, stop, step)? else { return Ok(None) };
            wrap_new(py, Attached(py).copied(&parts, dtype, Order::K)?).map(Some)
        }
        Some(dtype) => any_range(py, dtype, start, stop, step)?.map(|view| wrap_new(py, view)).transpose(),
        None => Ok(None),
    }
}

/// The start, the stop and the step that a range's arguments state; `None` if they are not all real numbers of at
/// most 64 bits.
fn numbers(ends: &[Borrowed<'_, '_, PyAny>]) -> Option<(Weak, Weak, Weak)> {
    let number = |item: &Borrowed<'_, '_, PyAny>| match sequence::real(item)? {
        number @ (Weak::Int(_) | Weak::Float(_)) => Some(number),
        _ => None,
    };
    match ends {
        [stop] => Some((Weak::Int(0), number(stop)?, Weak::Int(1))),
        [start, stop] => Some((number(start)?, number(stop)?, Weak::Int(1))),
        [start, stop, step] => Some((number(start)?, number(stop)?, number(step)?)),
        _ => None,
    }
}

/// A recorded range of any real dtype. NumPy converts the first two elements to the dtype, and steps by their
/// difference. `None` if a number overflows, or if the second element is not the first plus the difference.
fn any_range(py: Python<'_>, dtype: DType, start: Weak, stop: Weak, step: Weak) -> PyResult<Option<ArrayView>> {
    let Some(count) = range_length(start, stop, step).filter(|&count| count <= MOST) else { return Ok(None) };
    let ends = match dtype.is_integer() {
        true => whole_ends(dtype, count, start, step),
        false if dtype.is_float() => float_ends(dtype, count, start, step),
        false => None,
    };
    let Some(ends) = ends else { return Ok(None) };
    errors::check_bytes(py, &[count], dtype)?;
    let view = unset(py, dtype, &[count]);
    if count > 0 {
        run::record(py, Op::Range, dtype, &view, &ends.map(Input::Const), Axes::default())?;
        // NumPy stores the first element unchanged, where the sum of minus zero and nothing is zero
        if matches!(start, Weak::Float(first) if first == 0.0 && first.is_sign_negative()) && dtype.is_float() {
            let first = shape::window(&view, 0, Dims::from_slice(&[1]), view.strides.clone());
            assign::assign_operand(py, &first, &Operand::Value(cast(Scalar::F64(-0.0), dtype)))?;
        }
    }
    Ok(Some(view))
}

/// NumPy's length of a range; `None` if it is not an ordinary number.
fn range_length(start: Weak, stop: Weak, step: Weak) -> Option<i64> {
    const EXACT: i64 = 1 << 53;
    let real = |number: Weak| match number {
        Weak::Int(number) => Some(number as f64),
        Weak::Float(number) => Some(number).filter(|number| number.is_finite()),
        _ => None,
    };
    let (span, divisor) = match (start, stop, step) {
        // Python divides ints of any length, and rounds once
        (Weak::Int(start), Weak::Int(stop), Weak::Int(step)) => {
            let span = stop.checked_sub(start).filter(|span| span.abs() <= EXACT && step.abs() <= EXACT)?;
            (span as f64, step as f64)
        }
        // Python subtracts ints without rounding
        (Weak::Int(start), Weak::Int(stop), _) => (stop.checked_sub(start)? as f64, real(step)?),
        _ => (real(stop)? - real(start)?, real(step)?),
    };
    let count = span / divisor;
    if divisor == 0.0 || !span.is_finite() || !count.is_finite() || count.abs() >= 2f64.powi(62) {
        return None;
    }
    if count == 0.0 && span != 0.0 {
        return Some(i64::from(count.is_sign_positive()));
    }
    Some((count.ceil() as i64).max(0))
}

/// The sum of two real numbers, as Python adds them; `None` if an int overflows 64 bits.
fn sum(a: Weak, b: Weak) -> Option<Weak> {
    match (a, b) {
        (Weak::Int(a), Weak::Int(b)) => a.checked_add(b).map(Weak::Int),
        (Weak::Int(a), Weak::Float(b)) | (Weak::Float(b), Weak::Int(a)) => Some(Weak::Float(a as f64 + b)),
        (Weak::Float(a), Weak::Float(b)) => Some(Weak::Float(a + b)),
        _ => None,
    }
}

/// The first element of a range of integers and the step, if all elements fit the dtype.
fn whole_ends(dtype: DType, count: i64, start: Weak, step: Weak) -> Option<[Scalar; 2]> {
    let whole = |number: Weak| match number {
        Weak::Int(number) => Some(i128::from(number)),
        Weak::Float(number) => (number.abs() < 2f64.powi(63)).then_some(number.trunc() as i128),
        _ => None,
    };
    let fits = |number: i128| i64::try_from(number).ok().and_then(|number| Weak::Int(number).to_scalar(dtype));
    let first = whole(start)?;
    let delta = whole(sum(start, step)?)? - first;
    fits(first + delta)?;
    fits(first + delta * i128::from((count - 1).max(0)))?;
    Some([fits(first)?, fits(delta)?])
}

/// The first element of a range of floats and the difference to the second, if that is their difference also after
/// it has been rounded.
fn float_ends(dtype: DType, count: i64, start: Weak, step: Weak) -> Option<[Scalar; 2]> {
    let real = |number: Weak| match number {
        Weak::Int(number) => Some(number as f64),
        Weak::Float(number) => Some(number),
        _ => None,
    };
    let rounded = |number: f64| cast(Scalar::F64(number), dtype);
    // sums of two numbers of less precision are exact in float64, or round twice to the same number
    let value = |number: f64| match cast(rounded(number), DType::F64) {
        Scalar::F64(number) => number,
        _ => f64::NAN,
    };
    let (first, second) = (value(real(start)?), value(real(sum(start, step)?)?));
    let delta = value(second - first);
    // NumPy does not round the difference of two numbers of float16
    let kept = dtype != DType::F16 || delta == second - first;
    let even = kept && (count <= 1 || value(first + delta) == second);
    (even && first.is_finite() && delta.is_finite()).then(|| [rounded(first), rounded(delta)])
}

/// Ranges of small ints, as integers or floats of at least 32 bits, in which nothing rounds or overflows.
fn whole_range<'py>(py: Python<'py>, ends: &[Borrowed<'_, 'py, PyAny>], dtype: Arg<'_, 'py>) -> Quick<'py> {
    let Some(dtype) = dtype_or(dtype, DType::I64) else { return Ok(None) };
    // within these bounds no sum overflows, and every float is exact
    let most = match dtype {
        DType::F64 => 1 << 40,
        DType::F32 => 1 << 22,
        _ if dtype.is_integer() => 1i64 << 61,
        _ => return Ok(None),
    };
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
    // NumPy divides in floating-point arithmetic, which is exact within this bound
    let exact = stop.abs_diff(start).max(step.unsigned_abs()) <= 1 << 53;
    let Some(count) = ranges::whole_count(start, stop, step).ok().filter(|&count| exact && count <= MOST) else {
        return Ok(None);
    };
    // NumPy converts the first two elements, the latter also where the range does not reach it
    let fits = |value: i64| Weak::Int(value).to_scalar(dtype);
    let last = start + (count - 1).max(1) * step;
    let (Some(first), Some(delta), Some(_), Some(_)) = (fits(start), fits(step), fits(start + step), fits(last)) else {
        return Ok(None);
    };
    let at = |i: i64| start + i * step;
    match dtype {
        DType::F64 => range(py, dtype, count, [first, delta], |i| (at(i) as f64).to_ne_bytes()),
        DType::F32 => range(py, dtype, count, [first, delta], |i| (at(i) as f32).to_ne_bytes()),
        _ => match dtype.size() {
            1 => range(py, dtype, count, [first, delta], |i| (at(i) as u8).to_ne_bytes()),
            2 => range(py, dtype, count, [first, delta], |i| (at(i) as u16).to_ne_bytes()),
            4 => range(py, dtype, count, [first, delta], |i| (at(i) as u32).to_ne_bytes()),
            _ => range(py, dtype, count, [first, delta], |i| at(i).to_ne_bytes()),
        },
    }
    .map(Some)
}

/// Ranges of floats and small ints, whose elements round as NumPy's do.
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
    // a range of ints alone has an integer dtype
    if !ends.iter().any(|item| matches!(sequence::real(item), Some(Weak::Float(_)))) {
        return Ok(None);
    }
    let Ok((count, delta)) = ranges::float_count(start, stop, step) else { return Ok(None) };
    let second = start + step;
    // NumPy treats a distance that is not zero but becomes zero when divided by the step as a special case
    let ordinary = count < MOST && (stop == start || (stop - start) / step != 0.0);
    // minus zero plus nothing is zero
    let signed_zero = start == 0.0 && start.is_sign_negative();
    if !ordinary || signed_zero || start + delta != second || !delta.is_finite() {
        return Ok(None);
    }
    let ends = [start, delta].map(Scalar::F64);
    range(py, DType::F64, count, ends, |i| (start + i as f64 * delta).to_ne_bytes()).map(Some)
}

/// `eye`: a matrix with ones on one diagonal.
pub fn eye<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const EYE: Parameters<7> = Parameters::new(["N", "M", "k", "dtype", "order", "device", "like"], 1).by_position(5);
    let py = given.py();
    let Some([Arg(Some(n)), m, k, dtype, order, device, like]) = given.bind(&EYE) else { return Ok(None) };
    let m = if m.is_none() { Some(n) } else { m.given() };
    let (Some(rows), Some(columns), Some(k)) =
        (any_int(&n), m.and_then(|m| any_int(&m)), k.given().map_or(Some(0), |k| any_int(&k)))
    else {
        return Ok(None);
    };
    let plain = device.is_word(&["cpu"]) && like.is_none() && order.is_word(&["C", "F"]);
    if !plain || rows < 0 || columns < 0 || k.unsigned_abs() > MOST as u64 {
        return Ok(None);
    }
    let Some(dtype) = any_dtype(dtype, DType::F64)? else { return Ok(None) };
    let dims = [rows, columns];
    errors::check_bytes(py, &dims, dtype)?;
    let view = if order.is_word(&["C"]) {
        unset(py, dtype, &dims)
    } else {
        front::fresh(py, dtype, &dims, shape::f_strides(&dims, dtype.size() as i64))
    };
    let (Some(zero), Some(one)) = (Weak::Int(0).to_scalar(view.dtype), Weak::Int(1).to_scalar(view.dtype)) else {
        return Ok(None);
    };
    if view.size() > 0 {
        assign::assign_operand(py, &view, &Operand::Value(zero))?;
    }
    if let Some(diagonal) = diagonal(&view, k, 0, 1).filter(|diagonal| diagonal.size() > 0) {
        assign::assign_operand(py, &diagonal, &Operand::Value(one))?;
    }
    wrap_new(py, view).map(Some)
}
