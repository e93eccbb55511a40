//! Compiled functions that move elements: rolling, diagonals, selection by a condition.

use super::arguments::{Any, Quick, any_dtype, any_int, any_ints, native};
use super::{conversion, creation, searching};
use crate::array::assign;
use crate::array::operand::Operand;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::errors;
use crate::object::fresh::{wrap_new, wrap_view};
use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use crate::ufunc::elementwise;
use crate::ufunc::reduce::{self, Request};
use numelt::joining::rolled;
use numelt::rules::{axes, shape};
use numelt::{matrices, normalize_axis};
use numelt_ir::{DType, Op, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

/// `roll`: shifts elements along axes. Elements that leave one end enter at the other.
pub fn roll<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const ROLL: Parameters<3> = Parameters::new(["a", "shift", "axis"], 2);
    let py = given.py();
    let Some([Arg(Some(a)), Arg(Some(shift)), axis]) = given.bind(&ROLL) else { return Ok(None) };
    let Some(steps) = any_ints(&shift) else { return Ok(None) };
    let mut slot = None;
    let Some((_, view)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    if let Some(axis) = axis.given().filter(|axis| !axis.is_none()) {
        // NumPy has its own error for arrays without axes
        if view.shape.is_empty() {
            return Ok(None);
        }
        return match any_ints(&axis).and_then(|axes| shifts(view, &steps, &axes)) {
            Some(shifts) => wrap_new(py, rolled(&Attached(py), view, &shifts)?).map(Some),
            None => Ok(None),
        };
    }
    let flat = numelt::flatten(&Attached(py), view)?;
    let Some(shifts) = shifts(&flat, &steps, &[0]) else { return Ok(None) };
    let flat = rolled(&Attached(py), &flat, &shifts)?;
    let whole = shape::whole(flat.base.clone(), flat.dtype, &view.shape);
    // as in NumPy, the result is a view of the flattened elements
    let flat = wrap_new(py, flat)?;
    wrap_view(flat.cast::<NdArray>()?, whole).map(Some)
}

/// The most axes along which one call moves elements: each axis doubles the number of copies.
const MOVED: usize = 4;

/// How far elements move along each axis. A single step holds for all axes, and all steps for a single axis; several
/// steps along one axis are added.
fn shifts(view: &ArrayView, steps: &[i64], axes: &[i64]) -> Option<SmallVec<[i64; 4]>> {
    let mut shifts = SmallVec::from_elem(0, view.shape.len());
    let pairs = steps.len().max(axes.len());
    if [steps.len(), axes.len()].iter().any(|&n| n != pairs && n != 1) {
        return None;
    }
    for at in 0..pairs {
        let (step, axis) = (steps[at % steps.len()], axes[at % axes.len()]);
        let axis = normalize_axis(axis, view.shape.len())?;
        // a step as long as the axis moves nothing
        shifts[axis] += step.checked_rem_euclid(view.shape[axis].max(1))?;
    }
    (shifts.iter().filter(|&&shift| shift != 0).count() <= MOVED).then_some(shifts)
}

/// `moveaxis`: a view in which axes have moved to other places, and the others have kept their order.
pub fn moveaxis<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const MOVEAXIS: Parameters<3> = Parameters::new(["a", "source", "destination"], 3);
    let Some([Arg(Some(a)), Arg(Some(from)), Arg(Some(to))]) = given.bind(&MOVEAXIS) else { return Ok(None) };
    let (Some(from), Some(to)) = (any_ints(&from), any_ints(&to)) else { return Ok(None) };
    let mut slot = None;
    let Some((array, view)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    match order_after(view.shape.len(), &from, &to) {
        Some(order) if !order.is_empty() => wrap_view(array, axes::permuted(view, &order)).map(Some),
        _ => Ok(None),
    }
}

/// The order of the axes after each axis of `from` has moved to its place in `to`; `None` if one does not exist or
/// occurs twice.
fn order_after(rank: usize, from: &[i64], to: &[i64]) -> Option<SmallVec<[usize; 4]>> {
    let within = |(&to, &from): (&i64, &i64)| Some((normalize_axis(to, rank)?, normalize_axis(from, rank)?));
    let mut moves: SmallVec<[(usize, usize); 4]> = to.iter().zip(from).map(within).collect::<Option<_>>()?;
    moves.sort_unstable();
    let mut order: SmallVec<[usize; 4]> =
        (0..rank).filter(|&axis| moves.iter().all(|&(_, moved)| moved != axis)).collect();
    let once = order.len() + moves.len() == rank && moves.windows(2).all(|pair| pair[0].0 != pair[1].0);
    if from.len() != to.len() || !once {
        return None;
    }
    for (place, axis) in moves {
        order.insert(place, axis);
    }
    Some(order)
}

/// `diagonal`, as a read-only view.
pub fn diagonal<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const DIAGONAL: Parameters<4> = Parameters::new(["a", "offset", "axis1", "axis2"], 1);
    match given.bind(&DIAGONAL) {
        Some([Arg(Some(a)), offset, axis1, axis2]) => read_diagonal(&a, [offset, axis1, axis2]),
        _ => Ok(None),
    }
}

/// The diagonal as a read-only view.
fn read_diagonal<'py>(a: Any<'_, 'py>, place: [Arg<'_, 'py>; 3]) -> Quick<'py> {
    let Some(diagonal) = diagonal_of(a, place)? else { return Ok(None) };
    diagonal.get().set_writeable(false);
    Ok(Some(diagonal.into_any()))
}

/// A view of the diagonal that `offset`, `axis1` and `axis2` name.
fn diagonal_of<'py>(
    a: Any<'_, 'py>,
    [offset, axis1, axis2]: [Arg<'_, 'py>; 3],
) -> PyResult<Option<Bound<'py, NdArray>>> {
    let number = |arg: Arg<'_, '_>, default: i64| arg.given().map_or(Some(default), |value| any_int(&value));
    let (Some(offset), Some(axis1), Some(axis2)) = (number(offset, 0), number(axis1, 0), number(axis2, 1)) else {
        return Ok(None);
    };
    let mut slot = None;
    let Some((array, view)) = conversion::operand(a, &mut slot)? else { return Ok(None) };
    match matrices::diagonal(view, offset, axis1, axis2).filter(|_| offset.unsigned_abs() <= 1 << 32) {
        Some(window) => Ok(Some(wrap_view(array, window)?.cast_into()?)),
        None => Ok(None),
    }
}

/// `trace`: the sum along a diagonal.
pub fn trace<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const TRACE: Parameters<6> = Parameters::new(["a", "offset", "axis1", "axis2", "dtype", "out"], 1);
    let Some([Arg(Some(a)), offset, axis1, axis2, dtype, out]) = given.bind(&TRACE) else { return Ok(None) };
    let wanted = if dtype.is_none() { None } else { any_dtype(dtype, DType::F64)? };
    let out = out.given().filter(|out| !out.is_none());
    let target = out.as_ref().and_then(|out| out.cast_exact::<NdArray>().ok());
    if wanted.is_none() != dtype.is_none() || target.is_none() != out.is_none() {
        return Ok(None);
    }
    let Some(diagonal) = diagonal_of(&a, [offset, axis1, axis2])? else { return Ok(None) };
    let last = PyInt::new(given.py(), -1).into_any();
    let request = Request { axis: Some(&last), keepdims: false, dtype: wanted, out: target.as_deref() };
    reduce::reduce(given.py(), Op::Sum, &Operand::Array(diagonal), &request)
}

/// `diag`: a diagonal of a matrix, or a matrix with a given diagonal.
pub fn diag<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const DIAG: Parameters<2> = Parameters::new(["v", "k"], 1);
    let Some([Arg(Some(v)), k]) = given.bind(&DIAG) else { return Ok(None) };
    let mut slot = None;
    let Some((array, view)) = conversion::operand(&v, &mut slot)? else { return Ok(None) };
    match view.shape.len() {
        2 => read_diagonal(array, [k, Arg::ABSENT, Arg::ABSENT]),
        1 => diagonal_matrix(given.py(), array, view, k),
        _ => Ok(None),
    }
}

/// A matrix of zeros with a vector on a diagonal.
fn diagonal_matrix<'py>(
    py: Python<'py>,
    vector: &Bound<'py, NdArray>,
    view: &ArrayView,
    k: Arg<'_, 'py>,
) -> Quick<'py> {
    let k = k.given().map_or(Some(0), |k| any_int(&k)).filter(|k| k.unsigned_abs() <= 1 << 32);
    let Some(k) = k else { return Ok(None) };
    let side = view.shape[0] + k.abs();
    errors::check_bytes(py, &[side, side], view.dtype)?;
    let zero = Scalar::from_bytes(view.dtype, &[0; 16]);
    let made = creation::fill(py, creation::unset(py, view.dtype, &[side, side]), zero)?;
    if let Some(matrix) = native(&made)
        && let Some(diagonal) = matrices::diagonal(matrix, k, 0, 1)
        && view.size() > 0
    {
        assign::assign_operand(py, &diagonal, &Operand::Array(vector.clone()))?;
    }
    Ok(Some(made))
}

/// Arrays with at least `least` axes: the arrays themselves, or views of them.
fn with_axes<'py>(given: &Given<'_, 'py>, least: usize) -> Quick<'py> {
    if given.names().is_some() {
        return Ok(None);
    }
    if let Some(array) = given.one() {
        return one_with_axes(&array, least);
    }
    let mut made: SmallVec<[Bound<'py, PyAny>; 4]> = SmallVec::new();
    for array in given.positional() {
        match one_with_axes(&array, least)? {
            Some(array) => made.push(array),
            None => return Ok(None),
        }
    }
    PyTuple::new(given.py(), made).map(|made| Some(made.into_any()))
}

fn one_with_axes<'py>(array: Any<'_, 'py>, least: usize) -> Quick<'py> {
    let mut slot = None;
    let Some((array, view)) = conversion::operand(array, &mut slot)? else { return Ok(None) };
    let (mut dims, mut strides) = (view.shape.clone(), view.strides.clone());
    // new axes come before a vector; for three axes, one comes after a vector or matrix
    let places: &[usize] = match (least, view.shape.len()) {
        (_, 0) => &[0, 0, 0][..least],
        (2, 1) => &[0],
        (3, 1) => &[0, 2],
        (3, 2) => &[2],
        _ => return Ok(Some(array.clone().into_any())),
    };
    // NumPy reshapes arrays without axes, and indexes the others with `newaxis`
    let step = if view.shape.is_empty() { view.dtype.size() as i64 } else { 0 };
    for &place in places {
        dims.insert(place, 1);
        strides.insert(place, step);
    }
    wrap_view(array, shape::window(view, view.offset, dims, strides)).map(Some)
}

/// `atleast_1d`
pub fn atleast_1d<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    with_axes(given, 1)
}

/// `atleast_2d`
pub fn atleast_2d<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    with_axes(given, 2)
}

/// `atleast_3d`
pub fn atleast_3d<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    with_axes(given, 3)
}

/// `where`: elements of one array or the other, by a condition; with the condition alone, the positions at which it
/// is true.
pub fn choose<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([condition, x, y]) = given.exactly() else { return searching::nonzero(given) };
    let (py, mut slot) = (given.py(), None);
    let Some((condition, _)) = conversion::operand(&condition, &mut slot)? else { return Ok(None) };
    let (Some(x), Some(y)) = (Operand::extract(&x)?, Operand::extract(&y)?) else { return Ok(None) };
    let operands = [Operand::Array(condition.clone()), x, y];
    let Some(made) = elementwise::apply(py, Op::Where, &operands, None, None)? else { return Ok(None) };
    // unlike a ufunc, `where` returns an array without axes, not a scalar
    if made.is_exact_instance_of::<NdArray>() {
        return Ok(Some(made));
    }
    conversion::as_array(&made, None, None, None, 0).map(Some)
}
