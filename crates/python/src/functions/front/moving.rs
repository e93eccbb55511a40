//! Elements in other places: rolled, on a diagonal, chosen by a condition.

use super::{Any, Arg, Out, Quick, creation, function, native, slow};
use crate::array::assign;
use crate::array::ndarray::{NdArray, wrap_new, wrap_view};
use crate::array::operand::Operand;
use crate::functions::shortcuts;
use crate::record::front;
use crate::record::front::Attached;
use crate::record::run;
use crate::ufunc::elementwise;
use numelt::rules::shape;
use numelt_ir::{Axes, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use smallvec::SmallVec;

/// An exact Python int that 64 bits hold.
fn int(obj: Any<'_, '_>) -> Option<i64> {
    obj.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// Shift elements along axes; what leaves one end enters at the other.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.roll(np.arange(4), 1)
/// array([3, 0, 1, 2])
#[pyfunction]
#[pyo3(signature = (a, shift, axis = Arg::Absent), text_signature = "(a, shift, axis=None)")]
fn roll<'py>(py: Python<'py>, a: Any<'_, 'py>, shift: Any<'_, 'py>, axis: Arg<'py>) -> Out<'py> {
    match quick_roll(py, a, shift, &axis)? {
        Some(made) => Ok(made),
        None => slow(py, "roll", &[a, shift], &[("axis", &axis)]),
    }
}

fn quick_roll<'py>(py: Python<'py>, a: Any<'_, 'py>, shift: Any<'_, 'py>, axis: &Arg<'py>) -> Quick<'py> {
    let Some(view) = native(a) else { return Ok(None) };
    if let Some(axis) = axis.given().filter(|axis| !axis.is_none()) {
        return match shifts(view, shift, axis) {
            Some(shifts) => wrap_new(py, rolled(py, view, &shifts)?).map(Some),
            None => Ok(None),
        };
    }
    let Some(shift) = int(shift) else { return Ok(None) };
    let flat = rolled(py, &numelt::flatten(&Attached(py), view)?, &[shift])?;
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

/// Recorded copies: along each axis that is moved, of the part that moves on and of the part that starts anew.
fn rolled(py: Python<'_>, view: &ArrayView, shifts: &[i64]) -> PyResult<ArrayView> {
    let out = front::like_inputs(py, view.dtype, &view.shape, &[view]);
    if out.size() == 0 {
        return Ok(out);
    }
    let moved = shifts.iter().zip(&view.shape).map(|(shift, &extent)| shift.rem_euclid(extent)).enumerate();
    let moved: SmallVec<[(usize, i64); 4]> = moved.filter(|&(_, shift)| shift != 0).collect();
    for corner in 0..1 << moved.len() {
        let (mut target, mut source) = (out.clone(), view.clone());
        for (bit, &(axis, shift)) in moved.iter().enumerate() {
            let rest = view.shape[axis] - shift;
            let (to, from, length) = if corner >> bit & 1 == 0 { (shift, 0, rest) } else { (0, rest, shift) };
            for (part, start) in [(&mut target, to), (&mut source, from)] {
                part.offset += start * part.strides[axis];
                part.shape[axis] = length;
            }
        }
        run::record(py, Op::Copy, view.dtype, &target, &[Input::Array(&source)], Axes::default())?;
    }
    Ok(out)
}

/// Return a diagonal as a read-only view.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.diagonal(np.arange(4).reshape(2, 2))
/// array([0, 3])
#[pyfunction]
#[pyo3(
    signature = (a, offset = Arg::Absent, axis1 = Arg::Absent, axis2 = Arg::Absent),
    text_signature = "(a, offset=0, axis1=0, axis2=1)"
)]
fn diagonal<'py>(py: Python<'py>, a: Any<'_, 'py>, offset: Arg<'py>, axis1: Arg<'py>, axis2: Arg<'py>) -> Out<'py> {
    match read_diagonal(a, [&offset, &axis1, &axis2])? {
        Some(made) => Ok(made),
        None => slow_diagonal(py, a, [&offset, &axis1, &axis2]),
    }
}

/// The diagonal as a view that nobody may write.
fn read_diagonal<'py>(a: Any<'_, 'py>, [offset, axis1, axis2]: [&Arg<'py>; 3]) -> Quick<'py> {
    let Ok(array) = a.cast_exact::<NdArray>() else { return Ok(None) };
    match array.get().view().and_then(|view| on_diagonal(view, offset, axis1, axis2)) {
        Some(window) => {
            let made = wrap_view(array, window)?;
            made.cast::<NdArray>()?.get().set_writeable(false);
            Ok(Some(made))
        }
        None => Ok(None),
    }
}

fn slow_diagonal<'py>(py: Python<'py>, a: Any<'_, 'py>, [offset, axis1, axis2]: [&Arg<'py>; 3]) -> Out<'py> {
    slow(py, "diagonal", &[a], &[("offset", offset), ("axis1", axis1), ("axis2", axis2)])
}

/// The window on a diagonal; `None` where NumPy has to word an error.
fn on_diagonal(view: &ArrayView, offset: &Arg<'_>, axis1: &Arg<'_>, axis2: &Arg<'_>) -> Option<ArrayView> {
    let number = |arg: &Arg<'_>, default: i64| arg.given().map_or(Some(default), int);
    let rank = view.shape.len();
    let first = numelt::normalize_axis(number(axis1, 0)?, rank)?;
    let second = numelt::normalize_axis(number(axis2, 1)?, rank)?;
    let offset = number(offset, 0)?;
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

/// Return a diagonal of a matrix, or a matrix with a given diagonal.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> np.diag([1, 2])
/// array([[1, 0],
///        [0, 2]])
#[pyfunction]
#[pyo3(signature = (v, k = Arg::Absent), text_signature = "(v, k=0)")]
fn diag<'py>(py: Python<'py>, v: Any<'_, 'py>, k: Arg<'py>) -> Out<'py> {
    let made = match native(v).map(|view| view.shape.len()) {
        Some(2) => read_diagonal(v, [&k, &Arg::Absent, &Arg::Absent])?,
        Some(1) => diagonal_matrix(py, v, &k)?,
        _ => None,
    };
    match made {
        Some(made) => Ok(made),
        None => slow(py, "diag", &[v], &[("k", &k)]),
    }
}

/// A matrix of zeros with a vector on a diagonal.
fn diagonal_matrix<'py>(py: Python<'py>, vector: Any<'_, 'py>, k: &Arg<'py>) -> Quick<'py> {
    let Some(view) = native(vector) else { return Ok(None) };
    let Some(k) = k.given().map_or(Some(0), int).filter(|k| k.unsigned_abs() <= 1 << 14) else { return Ok(None) };
    let side = view.shape[0] + k.abs();
    if side > 1 << 14 {
        return Ok(None);
    }
    let zero = Scalar::from_bytes(view.dtype, &[0; 16]);
    let Some(made) = creation::fill(py, creation::unset(py, view.dtype, &[side, side]), zero)? else { return Ok(None) };
    if let Some(matrix) = native(&made)
        && let Some(diagonal) =
            on_diagonal(matrix, &Arg::Given(PyInt::new(py, k).into_any()), &Arg::Absent, &Arg::Absent)
        && let Some(values) = Operand::extract_quick(vector)
        && view.size() > 0
    {
        assign::assign_operand(py, &diagonal, &values)?;
    }
    Ok(Some(made))
}

/// A native array with at least so many axes: itself, or a view; `None` for all other calls.
fn with_axes<'py>(arrays: &Bound<'py, PyTuple>, least: usize) -> Quick<'py> {
    let Ok(array) = arrays.get_item(0) else { return Ok(None) };
    let (Ok(array), 1) = (array.cast_into_exact::<NdArray>(), arrays.len()) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let (mut dims, mut strides) = (view.shape.clone(), view.strides.clone());
    // new axes stand before a vector, and behind it and a matrix where there are to be three
    let places: &[usize] = match (least, view.shape.len()) {
        (_, 0) => return Ok(None),
        (2, 1) => &[0],
        (3, 1) => &[0, 2],
        (3, 2) => &[2],
        _ => return Ok(Some(array.into_any())),
    };
    for &place in places {
        dims.insert(place, 1);
        strides.insert(place, 0);
    }
    wrap_view(&array, shape::window(view, view.offset, dims, strides)).map(Some)
}

macro_rules! at_least {
    ($name:ident, $key:literal, $axes:literal, $summary:literal, $example:literal) => {
        #[doc = $summary]
        ///
        /// Examples
        /// --------
        /// >>> import numelt as np
        #[doc = $example]
        #[pyfunction]
        #[pyo3(signature = (*arys), text_signature = "(*arys)")]
        fn $name<'py>(py: Python<'py>, arys: &Bound<'py, PyTuple>) -> Out<'py> {
            match with_axes(arys, $axes)? {
                Some(made) => Ok(made),
                None => function(py, $key)?.call1(arys),
            }
        }
    };
}

at_least!(
    atleast_1d,
    "atleast_1d",
    1,
    "Return arrays of at least one dimension.",
    ">>> np.atleast_1d(3.0)\narray([3.])"
);
at_least!(
    atleast_2d,
    "atleast_2d",
    2,
    "Return arrays of at least two dimensions.",
    ">>> np.atleast_2d([1, 2]).shape\n(1, 2)"
);
at_least!(
    atleast_3d,
    "atleast_3d",
    3,
    "Return arrays of at least three dimensions.",
    ">>> np.atleast_3d([1, 2]).shape\n(1, 2, 1)"
);

/// Choose elements of one array or another by a condition; with the condition alone, find where it holds.
///
/// Examples
/// --------
/// >>> import numelt as np
/// >>> x = np.arange(4)
/// >>> np.where(x < 2, x, -1)
/// array([ 0,  1, -1, -1])
#[pyfunction]
#[pyo3(name = "where", signature = (*args), text_signature = "(condition, x=None, y=None, /)")]
fn choose<'py>(py: Python<'py>, args: &Bound<'py, PyTuple>) -> Out<'py> {
    if args.len() == 3
        && let condition = args.get_borrowed_item(0)?
        && native(&condition).is_some_and(|condition| !condition.shape.is_empty())
        && let Some(operands) =
            args.iter_borrowed().map(|arg| Operand::extract_quick(&arg)).collect::<Option<SmallVec<[_; 3]>>>()
        && let Some(made) = elementwise::apply(py, Op::Where, &operands, None, None)?
    {
        return Ok(made);
    }
    if args.len() == 1
        && let Some(made) = shortcuts::nonzero(args)?
    {
        return Ok(made);
    }
    function(py, "where")?.call1(args)
}

#[pymethods]
impl NdArray {
    #[pyo3(signature = (offset = Arg::Absent, axis1 = Arg::Absent, axis2 = Arg::Absent))]
    #[pyo3(name = "diagonal")]
    fn diagonal_method<'py>(slf: &Bound<'py, Self>, offset: Arg<'py>, axis1: Arg<'py>, axis2: Arg<'py>) -> Out<'py> {
        diagonal(slf.py(), slf.as_any(), offset, axis1, axis2)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(roll, module)?)?;
    module.add_function(wrap_pyfunction!(diagonal, module)?)?;
    module.add_function(wrap_pyfunction!(diag, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_1d, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_2d, module)?)?;
    module.add_function(wrap_pyfunction!(atleast_3d, module)?)?;
    module.add_function(wrap_pyfunction!(choose, module)?)
}
