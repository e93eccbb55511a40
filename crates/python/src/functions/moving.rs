//! Elements in other places: rolled, on a diagonal, chosen by a condition.

use super::arguments::{Any, Quick, int, native};
use super::{creation, searching};
use crate::array::assign;
use crate::array::ndarray::{NdArray, wrap_new, wrap_view};
use crate::array::operand::Operand;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::record::front::Attached;
use crate::ufunc::elementwise;
use numelt::joining::rolled;
use numelt::rules::shape;
use numelt_ir::{Dims, Op, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// `roll`: shifts elements along axes; what leaves one end enters at the other.
pub fn roll<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const ROLL: Parameters<3> = Parameters::new(["a", "shift", "axis"], 2);
    let (py, Some([a, shift, axis])) = (given.py(), given.bind(&ROLL)) else { return Ok(None) };
    let (Some(a), Some(shift)) = (a.given(), shift.given()) else { return Ok(None) };
    let Some(view) = native(&a) else { return Ok(None) };
    if let Some(axis) = axis.given().filter(|axis| !axis.is_none()) {
        return match shifts(view, &shift, &axis) {
            Some(shifts) => wrap_new(py, rolled(&Attached(py), view, &shifts)?).map(Some),
            None => Ok(None),
        };
    }
    let Some(shift) = int(&shift) else { return Ok(None) };
    let flat = rolled(&Attached(py), &numelt::flatten(&Attached(py), view)?, &[shift])?;
    let whole = shape::whole(flat.base.clone(), flat.dtype, &view.shape);
    // as in NumPy, the result is a view of the elements in a row
    let flat = wrap_new(py, flat)?;
    wrap_view(flat.cast::<NdArray>()?, whole).map(Some)
}

/// How far elements move along each axis, by ints or by tuples of as many; shifts along one axis add up.
fn shifts(view: &ArrayView, shift: Any<'_, '_>, axis: Any<'_, '_>) -> Option<SmallVec<[i64; 4]>> {
    let mut shifts = SmallVec::from_elem(0, view.shape.len());
    let mut add = |shift: Any<'_, '_>, axis: Any<'_, '_>| {
        let at = numelt::normalize_axis(int(axis)?, view.shape.len())?;
        // as far as the axis is long is nowhere
        shifts[at] += int(shift)?.checked_rem_euclid(view.shape[at].max(1))?;
        Some(())
    };
    match (shift.cast_exact::<PyTuple>(), axis.cast_exact::<PyTuple>()) {
        (Ok(shifts), Ok(axes)) if shifts.len() == axes.len() => {
            shifts.iter_borrowed().zip(axes.iter_borrowed()).try_for_each(|(shift, axis)| add(&shift, &axis))?;
        }
        (Err(_), Err(_)) => add(shift, axis)?,
        _ => return None,
    }
    (shifts.len() <= 4).then_some(shifts)
}

/// `diagonal`, as a read-only view.
pub fn diagonal<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const DIAGONAL: Parameters<4> = Parameters::new(["a", "offset", "axis1", "axis2"], 1);
    match given.bind(&DIAGONAL) {
        Some([Arg(Some(a)), offset, axis1, axis2]) => read_diagonal(&a, [offset, axis1, axis2]),
        _ => Ok(None),
    }
}

/// The diagonal as a view that nobody may write.
fn read_diagonal<'py>(a: Any<'_, 'py>, [offset, axis1, axis2]: [Arg<'_, 'py>; 3]) -> Quick<'py> {
    let Ok(array) = a.cast_exact::<NdArray>() else { return Ok(None) };
    let number = |arg: Arg<'_, '_>, default: i64| arg.given().map_or(Some(default), |value| int(&value));
    let (Some(offset), Some(axis1), Some(axis2)) = (number(offset, 0), number(axis1, 0), number(axis2, 1)) else {
        return Ok(None);
    };
    match array.get().view().and_then(|view| on_diagonal(view, offset, axis1, axis2)) {
        Some(window) => {
            let made = wrap_view(array, window)?;
            made.cast::<NdArray>()?.get().set_writeable(false);
            Ok(Some(made))
        }
        None => Ok(None),
    }
}

/// The window on a diagonal; `None` where NumPy has to word an error.
fn on_diagonal(view: &ArrayView, offset: i64, axis1: i64, axis2: i64) -> Option<ArrayView> {
    let rank = view.shape.len();
    let (first, second) = (numelt::normalize_axis(axis1, rank)?, numelt::normalize_axis(axis2, rank)?);
    if first == second || offset.unsigned_abs() > 1 << 32 {
        return None;
    }
    let (rows, columns) = (view.shape[first], view.shape[second]);
    let (down, right) = (view.strides[first], view.strides[second]);
    let length = if offset >= 0 { rows.min(columns - offset) } else { (rows + offset).min(columns) }.max(0);
    let start = match length {
        0 => 0,
        _ if offset >= 0 => offset * right,
        _ => -offset * down,
    };
    let kept = (0..rank).filter(|&axis| axis != first && axis != second);
    let (mut dims, mut strides): (Dims, Dims) = kept.map(|axis| (view.shape[axis], view.strides[axis])).unzip();
    dims.push(length);
    strides.push(down + right);
    Some(shape::window(view, view.offset + start, dims, strides))
}

/// `diag`: a diagonal of a matrix, or a matrix with a given diagonal.
pub fn diag<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const DIAG: Parameters<2> = Parameters::new(["v", "k"], 1);
    let Some([Arg(Some(v)), k]) = given.bind(&DIAG) else { return Ok(None) };
    match native(&v).map(|view| view.shape.len()) {
        Some(2) => read_diagonal(&v, [k, Arg::ABSENT, Arg::ABSENT]),
        Some(1) => diagonal_matrix(given.py(), &v, k),
        _ => Ok(None),
    }
}

/// A matrix of zeros with a vector on a diagonal.
fn diagonal_matrix<'py>(py: Python<'py>, vector: Any<'_, 'py>, k: Arg<'_, 'py>) -> Quick<'py> {
    let Some(view) = native(vector) else { return Ok(None) };
    let k = k.given().map_or(Some(0), |k| int(&k)).filter(|k| k.unsigned_abs() <= 1 << 14);
    let Some((k, side)) = k.map(|k| (k, view.shape[0] + k.abs())).filter(|(_, side)| *side <= 1 << 14) else {
        return Ok(None);
    };
    let zero = Scalar::from_bytes(view.dtype, &[0; 16]);
    let made = creation::fill(py, creation::unset(py, view.dtype, &[side, side]), zero)?;
    if let Some(matrix) = native(&made)
        && let Some(diagonal) = on_diagonal(matrix, k, 0, 1)
        && let Some(values) = Operand::extract_quick(vector)
        && view.size() > 0
    {
        assign::assign_operand(py, &diagonal, &values)?;
    }
    Ok(Some(made))
}

/// A native array with at least so many axes: itself, or a view; `None` for all other calls.
fn with_axes<'py>(given: &Given<'_, 'py>, least: usize) -> Quick<'py> {
    let Some(array) = given.one() else { return Ok(None) };
    let Ok(array) = array.cast_exact::<NdArray>() else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let (mut dims, mut strides) = (view.shape.clone(), view.strides.clone());
    // new axes stand before a vector, and behind it and a matrix where there are to be three
    let places: &[usize] = match (least, view.shape.len()) {
        (_, 0) => return Ok(None),
        (2, 1) => &[0],
        (3, 1) => &[0, 2],
        (3, 2) => &[2],
        _ => return Ok(Some((*array).clone().into_any())),
    };
    for &place in places {
        dims.insert(place, 1);
        strides.insert(place, 0);
    }
    wrap_view(&array, shape::window(view, view.offset, dims, strides)).map(Some)
}

/// `atleast_1d` of one array.
pub fn atleast_1d<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    with_axes(given, 1)
}

/// `atleast_2d` of one array.
pub fn atleast_2d<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    with_axes(given, 2)
}

/// `atleast_3d` of one array.
pub fn atleast_3d<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    with_axes(given, 3)
}

/// `where`: elements of one array or another, by a condition; with the condition alone, the places where it holds.
pub fn choose<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    if given.names().is_none()
        && given.positional().len() == 3
        && let Some(condition) = given.first()
        && native(&condition).is_some_and(|condition| !condition.shape.is_empty())
        && let Some(operands) =
            given.positional().map(|arg| Operand::extract_quick(&arg)).collect::<Option<SmallVec<[_; 3]>>>()
        && let Some(made) = elementwise::apply(given.py(), Op::Where, &operands, None, None)?
    {
        return Ok(Some(made));
    }
    searching::nonzero(given)
}
