//! Sorting, and selecting by position.

use super::arguments::{Any, Out, Quick, any_int, any_ints, native, output};
use super::conversion;
use crate::array::{advanced, assign};
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::{convert, errors};
use crate::object::fresh::{self, wrap_view};
use crate::object::ndarray::NdArray;
use crate::record::front::Attached;
use crate::record::run;
use crate::sharing::policy::{self, limits};
use crate::ufunc::elementwise;
use numelt::indexing::{self, Mode};
use numelt::rules::shape;
use numelt::{Answer, Made, normalize_axis};
use numelt_ir::{DType, MAX_RANK, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// `nonzero`: the positions along each axis.
pub fn nonzero<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(a) = given.one() else { return Ok(None) };
    let mut slot = None;
    match conversion::operand(&a, &mut slot)? {
        Some((_, view)) if !view.shape.is_empty() => columns(given.py(), &true_table(given.py(), view)?).map(Some),
        Some(_) | None => Ok(None),
    }
}

/// `flatnonzero`
pub fn flatnonzero<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let (py, Some(a)) = (given.py(), given.one()) else { return Ok(None) };
    let mut slot = None;
    let Some((_, view)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    let table = true_table(py, &numelt::flatten(&Attached(py), view)?)?;
    columns(py, &table)?.get_item(0).map(Some)
}

/// The positions of the elements of an array that are not zero, one row for each: computed now of few elements,
/// otherwise recorded.
fn true_table(py: Python<'_>, view: &ArrayView) -> PyResult<ArrayView> {
    let few = policy::is_small(view, limits::FEW) && view.base.home().is_none();
    let dense = if few { run::on_dense(py, view, |bytes| true_places(view.dtype, bytes))? } else { None };
    let Some(places) = dense else { return indexing::true_positions(&Attached(py), view) };
    let rank = view.shape.len();
    let extents = [places.len() as i64, rank as i64];
    if places.is_empty() {
        return Ok(shape::whole(run::new_base(0), DType::I64, &extents));
    }
    if rank == 1 {
        return Ok(shape::whole(run::integers(&places)?, DType::I64, &extents));
    }
    let mut table = Positions::from_elem(0, places.len() * rank);
    for (row, &place) in table.chunks_exact_mut(rank).zip(&places) {
        let mut rest = place;
        for (at, &n) in row.iter_mut().zip(&view.shape).rev() {
            (*at, rest) = (rest % n, rest / n);
        }
    }
    Ok(shape::whole(run::integers(&table)?, DType::I64, &extents))
}

/// The columns of a table as a tuple of views.
fn columns<'py>(py: Python<'py>, table: &ArrayView) -> Out<'py> {
    let whole = fresh::object(py, || NdArray::new(table.clone(), None, true))?;
    let columns = (0..table.shape[1] as usize).map(|k| wrap_view(&whole, indexing::column(table, k)));
    let columns = columns.collect::<PyResult<SmallVec<[_; 4]>>>()?;
    Ok(PyTuple::new(py, columns)?.into_any())
}

/// The extents that an argument states, all of them above zero, and their product; `None` if NumPy has to read them.
fn extents(shape: Any<'_, '_>) -> Option<(SmallVec<[i64; 4]>, i64)> {
    let extents = any_ints(shape).filter(|all| (1..=MAX_RANK).contains(&all.len()) && all.iter().all(|&n| n > 0))?;
    let size = extents.iter().try_fold(1i64, |size, &n| size.checked_mul(n))?;
    Some((extents, size))
}

/// The parameters of `unravel_index`.
const UNRAVELED: Parameters<3> = Parameters::new(["indices", "shape", "order"], 2);

/// `unravel_index` of one position. NumPy raises all errors.
pub fn unravel_index<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([Arg(Some(place)), Arg(Some(shape)), order]) = given.bind(&UNRAVELED) else { return Ok(None) };
    let (Some(place), Some((extents, size))) = (any_int(&place), extents(&shape)) else { return Ok(None) };
    match row_by_row(order).filter(|_| (0..size).contains(&place)) {
        Some(c_order) => unraveled_one(given.py(), place, &extents, c_order).map(Some),
        None => Ok(None),
    }
}

/// Whether an argument `order` is C, not F; `None` if it is neither.
fn row_by_row(order: Arg<'_, '_>) -> Option<bool> {
    order.is_word(&["C", "F"]).then(|| order.is_word(&["C"]))
}

/// The indices of one position, as a tuple of numbers.
fn unraveled_one<'py>(py: Python<'py>, mut place: i64, extents: &[i64], c_order: bool) -> Out<'py> {
    let mut index = SmallVec::<[i64; 4]>::from_slice(extents);
    for step in 0..extents.len() {
        let axis = if c_order { extents.len() - 1 - step } else { step };
        (index[axis], place) = (place % extents[axis], place / extents[axis]);
    }
    let index = index.into_iter().map(|at| convert::to_numpy_scalar(py, Scalar::I64(at)));
    Ok(PyTuple::new(py, index.collect::<PyResult<SmallVec<[_; 4]>>>()?)?.into_any())
}

/// `unravel_index` of an array of positions: recorded divisions by the extents. NumPy raises all errors.
pub fn unraveled<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    let Some([Arg(Some(places)), Arg(Some(shape)), order]) = given.bind(&UNRAVELED) else { return Ok(None) };
    let (Some(c_order), Some((extents, size))) = (row_by_row(order), extents(&shape)) else { return Ok(None) };
    let mut slot = None;
    let Some((_, places)) = conversion::operand(&places, &mut slot)? else { return Ok(None) };
    if !places.dtype.is_integer() {
        return Ok(None);
    }
    match indexing::bounds(&Attached(py), places)? {
        Some((low, high)) if low < 0 || high >= size => return Ok(None),
        Some((place, _)) if places.shape.is_empty() => return unraveled_one(py, place, &extents, c_order).map(Some),
        Some(_) | None => {}
    }
    let table = indexing::unraveled(&Attached(py), places, &extents, c_order)?;
    let whole = fresh::object(py, || NdArray::new(table.clone(), None, true))?;
    let part = |axis: usize| {
        let mut part = table.clone();
        part.offset += 8 * axis as i64;
        part.shape.pop();
        part.strides.pop();
        wrap_view(&whole, part)
    };
    let parts = (0..extents.len()).map(part).collect::<PyResult<SmallVec<[_; 4]>>>()?;
    Ok(Some(PyTuple::new(py, parts)?.into_any()))
}

/// `take` from a vector of few positions, which indexing with an array or a list of ints does too. The general path
/// raises all errors.
pub fn take<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([array, key]) = given.exactly() else { return Ok(None) };
    let Ok(array) = array.cast_exact::<NdArray>() else { return Ok(None) };
    let Some(view) = array.get().view().filter(|view| view.shape.len() == 1) else { return Ok(None) };
    let plain = match (key.cast_exact::<PyList>(), native(&key)) {
        (Ok(list), _) => {
            (1..=LISTED).contains(&list.len()) && list.iter().all(|item| item.is_exact_instance_of::<PyInt>())
        }
        (_, Some(index)) => index.dtype.is_integer() && index.shape.len() == 1 && index.size() <= limits::FEW,
        _ => false,
    };
    if !plain || !policy::at_once() {
        return Ok(None);
    }
    let found = advanced::get(&array, view, &key);
    let wrong = [errors::INDEX, errors::TYPE, errors::VALUE];
    errors::unless(given.py(), found, &wrong).map(Option::flatten)
}

/// `take`: a recorded gather. NumPy raises all errors.
pub fn taken<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const TAKE: Parameters<5> = Parameters::new(["a", "indices", "axis", "out", "mode"], 2);
    let py = given.py();
    let Some([Arg(Some(a)), Arg(Some(indices)), axis, out, mode]) = given.bind(&TAKE) else { return Ok(None) };
    let mode = match () {
        () if mode.is_word(&["raise"]) => Mode::Raise,
        () if mode.is_word(&["wrap"]) => Mode::Wrap,
        () if mode.is_word(&["clip"]) => Mode::Clip,
        () => return Ok(None),
    };
    let (mut slot, mut second) = (None, None);
    let Some((_, view)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    let Some((index, out)) = positions(&indices, &mut second)?.zip(output(out)) else { return Ok(None) };
    let flat = axis.is_none() || view.shape.is_empty();
    let view = if flat { numelt::flatten(&Attached(py), view)? } else { view.clone() };
    let axis = if axis.is_none() { Some(0) } else { axis.given().and_then(|axis| any_int(&axis)) };
    let Some(axis) = axis.and_then(|axis| normalize_axis(axis, view.shape.len())) else { return Ok(None) };
    let extents = [&view.shape[..axis], &index.shape[..], &view.shape[axis + 1..]].concat();
    let fits = |out: &Bound<'_, NdArray>| {
        out.get().view().is_some_and(|target| target.shape[..] == extents[..] && target.dtype == view.dtype)
            && out.get().writeable()
    };
    if out.as_ref().is_some_and(|out| !fits(out)) {
        return Ok(None);
    }
    let taken = indexing::take(&Attached(py), &view, axis, &index, mode);
    // a result of too many axes is refused here, because NumPy writes beyond the end of an array of its own
    let taken = errors::unless(py, taken, &[errors::INDEX])?.and_then(Answer::recorded);
    match (taken, out) {
        (None, _) => Ok(None),
        (Some(taken), None) => elementwise::finish(py, Answer::Recorded(Made::New(taken)), None),
        (Some(taken), Some(out)) => {
            if let Some(target) = out.get().view() {
                assign::record(py, target, &taken)?;
            }
            Ok(Some(out.into_any()))
        }
    }
}

/// Positions that `take` accepts: integers that fit 64 bits, or truth values; an empty list has no elements of any
/// dtype.
fn positions<'py>(indices: Any<'_, 'py>, slot: &mut Option<Bound<'py, NdArray>>) -> PyResult<Option<ArrayView>> {
    let listed = indices.is_exact_instance_of::<PyList>() || indices.is_exact_instance_of::<PyTuple>();
    let Some((_, view)) = conversion::operand(indices, slot)? else { return Ok(None) };
    if listed && view.size() == 0 {
        return Ok(Some(shape::whole(run::new_base(0), DType::I64, &view.shape)));
    }
    let fits = view.dtype == DType::Bool || view.dtype.is_integer() && view.dtype != DType::U64;
    Ok(fits.then(|| view.clone()))
}

/// The longest list of positions that is read here.
const LISTED: usize = 32;

/// Positions of elements in C order, or along each axis.
type Positions = SmallVec<[i64; 64]>;

/// The positions of the elements that are not zero; both signs of zero are zero.
fn true_places(dtype: DType, bytes: &[u8]) -> Positions {
    const SIGN: u64 = 1 << 63;
    match dtype {
        DType::F16 => places(bytes, |bits| u16::from_ne_bytes(bits) << 1 != 0),
        DType::F32 => places(bytes, |bits| u32::from_ne_bytes(bits) << 1 != 0),
        DType::F64 => places(bytes, |bits| u64::from_ne_bytes(bits) << 1 != 0),
        DType::C64 => places(bytes, |bits| u64::from_ne_bytes(bits) & !(SIGN | 1 << 31) != 0),
        DType::C128 => {
            places(bytes, |bits| u128::from_ne_bytes(bits) & !(u128::from(SIGN) << 64 | u128::from(SIGN)) != 0)
        }
        DType::Bool | DType::I8 | DType::U8 => places(bytes, |[bits]: [u8; 1]| bits != 0),
        DType::I16 | DType::U16 => places(bytes, |bits| u16::from_ne_bytes(bits) != 0),
        DType::I32 | DType::U32 => places(bytes, |bits| u32::from_ne_bytes(bits) != 0),
        DType::I64 | DType::U64 => places(bytes, |bits| u64::from_ne_bytes(bits) != 0),
    }
}

fn places<const N: usize>(bytes: &[u8], is_true: impl Fn([u8; N]) -> bool) -> Positions {
    let mut found = Positions::new();
    for (place, element) in bytes.as_chunks().0.iter().enumerate() {
        if is_true(*element) {
            found.push(place as i64);
        }
    }
    found
}
