//! Arrays of one dtype joined along an old or a new axis: one recorded copy per piece.

use super::arguments::{Any, Quick, any_dtype, native};
use super::conversion;
use crate::array::assign;
use crate::array::sequence;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::{convert, errors};
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use crate::record::{front, reports, run};
use crate::sharing::policy;
use crate::ufunc::quick;
use numelt::joining::joined_shape;
use numelt::rules::{resolve, shape};
use numelt_ir::{DType, Dims, Op, Scalar, c_strides};
use numelt_runtime::{ArrayView, BaseRef, Runtime};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};
use smallvec::SmallVec;

type Pieces = SmallVec<[ArrayView; 8]>;

/// The native pieces in a sequence, including short sequences that arrays are made of, and their common dtype. Arrays
/// that are made here have that dtype.
fn pieces(arrays: Any<'_, '_>) -> PyResult<Option<(Pieces, DType)>> {
    match (arrays.cast_exact::<PyList>(), arrays.cast_exact::<PyTuple>()) {
        (Ok(list), _) => pieces_of(list.iter()),
        (_, Ok(tuple)) => pieces_of(tuple.iter()),
        (Err(_), Err(_)) => Ok(None),
    }
}

/// Whether all pieces have as many axes.
fn are_of_one_rank(pieces: &Pieces) -> bool {
    pieces.iter().all(|piece| piece.shape.len() == pieces[0].shape.len())
}

/// [`pieces`] of the items of a sequence. Numbers are pieces of rank zero.
fn pieces_of<'py>(items: impl IntoIterator<Item = Bound<'py, PyAny>>) -> PyResult<Option<(Pieces, DType)>> {
    let items: SmallVec<[Bound<'py, PyAny>; 8]> = items.into_iter().collect();
    let made = |item: Any<'_, '_>, dtype: Option<DType>| -> PyResult<Option<ArrayView>> {
        if let Some(made) = sequence::array(item.py(), item, |default| Some(dtype.unwrap_or(default)))? {
            return Ok(native(&made).cloned());
        }
        Ok(conversion::operand(item, &mut None)?.map(|(_, view)| view.clone()))
    };
    let mut out = Pieces::new();
    for item in &items {
        let piece = match native(item) {
            Some(view) => Some(view.clone()),
            None => made(item, None)?,
        };
        match piece {
            Some(piece) => out.push(piece),
            None => return Ok(None),
        }
    }
    let Some(dtype) = out.iter().map(|view| view.dtype).reduce(DType::promote) else { return Ok(None) };
    for (view, item) in out.iter_mut().zip(&items).filter(|(view, _)| view.dtype != dtype) {
        if native(item).is_none() {
            match made(item, Some(dtype))? {
                Some(made) => *view = made,
                None => return Ok(None),
            }
        }
    }
    Ok(Some((out, dtype)))
}

/// The elements of arrays in a list or tuple, or of the parts of an array, each as a vector, and their common dtype.
fn flattened(py: Python<'_>, arrays: Any<'_, '_>) -> PyResult<Option<(Pieces, DType)>> {
    // Python's numbers do not widen the dtype of the arrays that they are joined to
    let weak = |item: &Bound<'_, PyAny>| convert::exact_weak(item).is_some();
    let found = match (arrays.cast_exact::<PyList>(), arrays.cast_exact::<PyTuple>()) {
        (Ok(list), _) if !list.iter().any(|item| weak(&item)) => pieces_of(list.iter())?,
        (_, Ok(tuple)) if !tuple.iter().any(|item| weak(&item)) => pieces_of(tuple.iter())?,
        (Err(_), Err(_)) => rows(arrays)?,
        _ => None,
    };
    let Some((mut pieces, dtype)) = found else { return Ok(None) };
    for piece in &mut pieces {
        *piece = numelt::flatten(&Attached(py), piece)?;
    }
    Ok(Some((pieces, dtype)))
}

/// A given axis, within `rank`.
fn axis_of(axis: Arg<'_, '_>, rank: usize) -> Option<usize> {
    let axis = match axis.given() {
        None => 0,
        Some(axis) if axis.is_exact_instance_of::<PyInt>() => axis.extract::<i64>().ok()?,
        Some(_) => return None,
    };
    let rank = rank as i64;
    (-rank..rank).contains(&axis).then(|| axis.rem_euclid(rank) as usize)
}

/// Pieces of at most this many bytes together are copied at once, which takes less time than recording the copies (2
/// microseconds). For many pieces this is the limit of the average size of a piece.
const LITTLE: usize = 1 << 18;
const FEW: usize = 4096;

/// From this number of pieces on, the average size counts.
const MANY: usize = 8;

/// The elements of contiguous pieces one after the other, if they are to be copied at once.
fn appended(py: Python<'_>, pieces: &[ArrayView]) -> PyResult<Option<BaseRef>> {
    let total = pieces.iter().map(|p| p.size() as usize * p.dtype.size()).sum::<usize>();
    let few = total <= LITTLE || (pieces.len() >= MANY && total <= FEW * pieces.len());
    let dense = |p: &ArrayView| shape::is_c_contiguous(&p.shape, &p.strides, p.dtype.size() as i64);
    let ready = few && pieces.iter().all(|p| p.size() > 0 && p.base.is_readable() && dense(p));
    if !ready || !policy::at_once() {
        return Ok(None);
    }
    reports::count(Op::Copy);
    run::gathered(py, pieces, total).map(Some)
}

/// The array of a sequence of arrays of one dtype and shape.
pub fn stacked<'py>(py: Python<'py>, object: Any<'_, 'py>, dtype: impl FnOnce(DType) -> Option<DType>) -> Quick<'py> {
    let mut views: SmallVec<[ArrayView; 8]> = SmallVec::new();
    let mut push = |item: &Bound<'_, PyAny>| {
        let view = native(item)?;
        let fits = views.first().is_none_or(|first| first.dtype == view.dtype && first.shape == view.shape);
        fits.then(|| views.push(view.clone()))
    };
    let all = if let Ok(list) = object.cast_exact::<PyList>() {
        list.iter().try_for_each(|item| push(&item))
    } else {
        let Ok(tuple) = object.cast_exact::<PyTuple>() else { return Ok(None) };
        tuple.iter_borrowed().try_for_each(|item| push(&item))
    };
    let Some(first) = views.first().filter(|first| all.is_some() && first.size() > 0) else { return Ok(None) };
    if first.shape.is_empty() || first.shape.len() > 8 || dtype(first.dtype) != Some(first.dtype) {
        return Ok(None);
    }
    let mut dims = Dims::from_slice(&[views.len() as i64]);
    dims.extend_from_slice(&first.shape);
    if let Some(base) = appended(py, &views)? {
        return wrap_new(py, shape::whole(base, first.dtype, &dims)).map(Some);
    }
    crate::numpy::errors::check_bytes(py, &dims, first.dtype)?;
    let out = front::fresh(py, first.dtype, &dims, c_strides(&dims, first.dtype.size() as i64));
    out.base.settle_like_first(views.iter().map(|view| &view.base));
    for (at, view) in (0..).zip(&views) {
        let target = shape::window(&out, at * out.strides[0], view.shape.clone(), Dims::from_slice(&out.strides[1..]));
        assign::record(py, &target, view)?;
    }
    wrap_new(py, out).map(Some)
}

/// Joins pieces of one rank; `None` if their shapes do not fit.
fn join<'py>(py: Python<'py>, pieces: &[ArrayView], axis: usize, dtype: DType) -> Quick<'py> {
    let Ok(dims) = joined_shape(pieces, axis) else { return Ok(None) };
    let strides = shape::joined_strides(&dims, dtype.size() as i64, pieces);
    let outer = axis == 0 && shape::is_c_contiguous(&dims, &strides, dtype.size() as i64);
    if outer
        && pieces.iter().all(|p| p.dtype == dtype)
        && let Some(base) = appended(py, pieces)?
    {
        return wrap_new(py, shape::whole(base, dtype, &dims)).map(Some);
    }
    crate::numpy::errors::check_bytes(py, &dims, dtype)?;
    let out = front::fresh(py, dtype, &dims, strides);
    out.base.settle_like_first(pieces.iter().map(|piece| &piece.base));
    let mut offset = 0;
    for piece in pieces.iter().filter(|p| p.size() > 0) {
        let target = shape::window(&out, offset, piece.shape.clone(), out.strides.clone());
        assign::record(py, &target, piece)?;
        offset += piece.shape[axis] * out.strides[axis];
    }
    wrap_new(py, out).map(Some)
}

/// `append`: values joined to the end of an array, of all elements as vectors without an axis.
pub fn append<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const APPEND: Parameters<3> = Parameters::new(["arr", "values", "axis"], 2);
    let py = given.py();
    let Some([Arg(Some(array)), Arg(Some(values)), axis]) = given.bind(&APPEND) else { return Ok(None) };
    let Some((mut pieces, dtype)) = pieces_of([array.to_owned(), values.to_owned()])? else { return Ok(None) };
    if axis.is_none() {
        for piece in &mut pieces {
            *piece = numelt::flatten(&Attached(py), piece)?;
        }
    }
    let rank = pieces[0].shape.len();
    let axis = if axis.is_none() { Some(0) } else { axis_of(axis, rank) };
    match axis.filter(|_| pieces[1].shape.len() == rank) {
        Some(axis) => join(py, &pieces, axis, dtype),
        None => Ok(None),
    }
}

/// An array with other values before and behind it along an axis; a number is repeated along the other axes.
pub fn extended<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    axis: usize,
    ends: [Option<Borrowed<'_, 'py, PyAny>>; 2],
) -> Quick<'py> {
    let [before, behind] = ends;
    let mut pieces = Pieces::new();
    for end in [before, None, behind].iter().enumerate() {
        let mut slot = None;
        let piece = match end {
            (1, _) => view.clone(),
            (_, None) => continue,
            (_, Some(values)) => match conversion::operand(values, &mut slot)? {
                Some((_, one)) if one.shape.is_empty() => {
                    let mut dims = view.shape.clone();
                    dims[axis] = 1;
                    shape::window(one, one.offset, dims, Dims::from_elem(0, view.shape.len()))
                }
                Some((_, several)) if several.shape.len() == view.shape.len() => several.clone(),
                Some(_) | None => return Ok(None),
            },
        };
        pieces.push(piece);
    }
    let Some(dtype) = pieces.iter().map(|piece| piece.dtype).reduce(DType::promote) else { return Ok(None) };
    join(array.py(), &pieces, axis, dtype)
}

/// `r_` of vectors of one dtype, and of numbers that convert to that dtype without loss.
pub fn row<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(key) = given.one() else { return Ok(None) };
    let Ok(items) = key.cast_exact::<PyTuple>() else { return Ok(None) };
    let Some(dtype) = items.iter_borrowed().find_map(|item| native(&item).map(|view| view.dtype)) else {
        return Ok(None);
    };
    let mut pieces = Pieces::new();
    for item in items.iter_borrowed() {
        let piece = match native(&item) {
            Some(view) => (view.dtype == dtype && view.shape.len() == 1).then(|| view.clone()),
            None => element(&item, dtype)?,
        };
        let Some(piece) = piece else { return Ok(None) };
        pieces.push(piece);
    }
    join(given.py(), &pieces, 0, dtype)
}

/// A vector of a single Python number, if its kind is not above that of the dtype.
fn element(number: Any<'_, '_>, dtype: DType) -> PyResult<Option<ArrayView>> {
    let value = if let Ok(truth) = number.cast_exact::<PyBool>() {
        (dtype == DType::Bool).then(|| Scalar::Bool(truth.is_true()))
    } else {
        let int = number.is_exact_instance_of::<PyInt>();
        let fits = int && dtype != DType::Bool || number.is_exact_instance_of::<PyFloat>() && dtype.is_float();
        quick::literal(dtype, number).filter(|_| fits)
    };
    let Some(value) = value else { return Ok(None) };
    let base = Runtime::global().filled(&value.to_bytes()[..dtype.size()]).map_err(errors::to_py)?;
    Ok(Some(shape::whole(base, dtype, &[1])))
}

/// The parameters of `concatenate` and `stack`.
const JOINED: Parameters<5> = Parameters::new(["arrays", "axis", "out", "dtype", "casting"], 1).by_position(3);

/// The dtype of the result of joining pieces; `None` if NumPy has to refuse it, or to warn.
fn joined_dtype(pieces: &Pieces, common: DType, dtype: Arg<'_, '_>, casting: Arg<'_, '_>) -> PyResult<Option<DType>> {
    let Some(dtype) = any_dtype(dtype, common)? else { return Ok(None) };
    let converts: fn(DType, DType) -> bool = match casting {
        _ if casting.is_word(&["same_kind"]) => resolve::same_kind,
        _ if casting.is_word(&["safe"]) => resolve::safe,
        _ if casting.is_word(&["unsafe"]) => |_, _| true,
        _ if casting.is_word(&["no", "equiv"]) => |from, to| from == to,
        _ => return Ok(None),
    };
    let refused = |from| !converts(from, dtype) || assign::drops_imaginary(from, dtype);
    Ok((!pieces.iter().any(|piece| refused(piece.dtype))).then_some(dtype))
}

/// `concatenate`: joins arrays along an axis.
pub fn concatenate<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const CONCATENATE: Parameters<5> = JOINED.nameless(1);
    let py = given.py();
    let Some([Arg(Some(arrays)), axis, out, dtype, casting]) = given.bind(&CONCATENATE) else { return Ok(None) };
    let flat = axis.given().is_some_and(|axis| axis.is_none());
    let found = match out.is_none() {
        true if flat => flattened(py, &arrays)?,
        true => rows(&arrays)?,
        false => None,
    };
    let Some((pieces, common)) = found.filter(|(pieces, _)| are_of_one_rank(pieces)) else { return Ok(None) };
    let rank = pieces[0].shape.len();
    let Some(axis) = (if flat { Some(0) } else { axis_of(axis, rank) }) else { return Ok(None) };
    match joined_dtype(&pieces, common, dtype, casting)? {
        Some(dtype) => join(py, &pieces, axis, dtype),
        None => Ok(None),
    }
}

/// `stack`: joins arrays along a new axis.
pub fn stack<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([Arg(Some(arrays)), axis, out, dtype, casting]) = given.bind(&JOINED) else { return Ok(None) };
    let found = if out.is_none() { rows(&arrays)? } else { None };
    let Some((mut pieces, common)) = found else { return Ok(None) };
    let rank = pieces[0].shape.len();
    if rank >= numelt_ir::MAX_RANK || pieces.iter().any(|p| p.shape != pieces[0].shape) {
        return Ok(None);
    }
    let Some(axis) = axis_of(axis, rank + 1) else { return Ok(None) };
    let Some(dtype) = joined_dtype(&pieces, common, dtype, casting)? else { return Ok(None) };
    for piece in &mut pieces {
        piece.shape.insert(axis, 1);
        piece.strides.insert(axis, 0);
    }
    join(given.py(), &pieces, axis, dtype)
}

/// `column_stack`: joins vectors as the columns of a matrix, and arrays of more axes along the second one.
pub fn column_stack<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const COLUMNS: Parameters<1> = Parameters::new(["tup"], 1);
    let Some([Arg(Some(arrays))]) = given.bind(&COLUMNS) else { return Ok(None) };
    let Some((mut pieces, dtype)) = rows(&arrays)? else { return Ok(None) };
    make_columns(&mut pieces);
    if are_of_one_rank(&pieces) { join(given.py(), &pieces, 1, dtype) } else { Ok(None) }
}

/// Makes vectors and numbers among the pieces matrices of one column.
fn make_columns(pieces: &mut Pieces) {
    for piece in pieces {
        while piece.shape.len() < 2 {
            piece.shape.push(1);
            piece.strides.push(0);
        }
    }
}

/// `c_` of arrays: joins vectors as the columns of a matrix, and arrays of more axes along the last one.
pub fn columns<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(key) = given.one() else { return Ok(None) };
    let Ok(items) = key.cast_exact::<PyTuple>() else { return Ok(None) };
    let vectors = |item: Borrowed<'_, '_, PyAny>| native(&item).filter(|view| !view.shape.is_empty()).cloned();
    let Some(mut pieces) = items.iter_borrowed().map(vectors).collect::<Option<Pieces>>() else { return Ok(None) };
    let Some(dtype) = pieces.iter().map(|piece| piece.dtype).reduce(DType::promote) else { return Ok(None) };
    make_columns(&mut pieces);
    let last = pieces[0].shape.len() - 1;
    if are_of_one_rank(&pieces) { join(given.py(), &pieces, last, dtype) } else { Ok(None) }
}

/// The pieces of a list or tuple, or the parts of an array along its first axis, with their common dtype.
fn rows(arrays: Any<'_, '_>) -> PyResult<Option<(Pieces, DType)>> {
    let Some(view) = native(arrays).filter(|view| !view.shape.is_empty() && view.shape[0] > 0) else {
        return pieces(arrays);
    };
    let row = |at| {
        let (dims, strides) = (Dims::from_slice(&view.shape[1..]), Dims::from_slice(&view.strides[1..]));
        shape::window(view, view.offset + at * view.strides[0], dims, strides)
    };
    Ok(Some(((0..view.shape[0]).map(row).collect(), view.dtype)))
}
