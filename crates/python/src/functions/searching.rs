//! Sorting and searching of few elements, which takes less time here than in NumPy's function on lent memory.
//!
//! In: a call without keywords. Out: its result; `None` for all other calls, and while recorded operations are
//! inspected.

use super::arguments::{Quick, few, int, native};
use crate::array::ndarray::{NdArray, wrap_new, wrap_view};
use crate::array::{advanced, fresh};
use crate::cpython::given::Given;
use crate::numpy::{convert, errors, library, loan};
use crate::record::front::Attached;
use crate::record::policy::{self, limits};
use crate::record::run;
use numelt::Front;
use numelt::rules::shape::{self, Order};
use numelt_ir::{DType, Scalar};
use numelt_runtime::ArrayView;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// `sort`: a copy that NumPy's method sorts in place.
pub fn sorted<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    let Some(array) = few(given).filter(|_| !library::is_watched()) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let made = wrap_new(py, Attached(py).copied(view, view.dtype, Order::K)?)?;
    let loan = loan::lend(made.cast::<NdArray>()?)?;
    let done = loan.view().call_method0(intern!(py, "sort"));
    loan.end()?;
    done.map(|_| Some(made))
}

/// `nonzero`: the positions along each axis, as columns of one array.
pub fn nonzero<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    let Some(array) = few(given) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let Some(places) = run::on_dense(py, view, |bytes| true_places(view.dtype, bytes))? else { return Ok(None) };
    let rank = view.shape.len();
    let extents = [places.len() as i64, rank as i64];
    let base = if places.is_empty() {
        run::new_base(0)
    } else if rank == 1 {
        run::integers(&places)?
    } else {
        let mut table = Places::from_elem(0, places.len() * rank);
        for (row, &place) in table.chunks_exact_mut(rank).zip(&places) {
            let mut rest = place;
            for (at, &n) in row.iter_mut().zip(&view.shape).rev() {
                (*at, rest) = (rest % n, rest / n);
            }
        }
        run::integers(&table)?
    };
    let table = shape::whole(base, DType::I64, &extents);
    let whole = fresh::object(py, || NdArray::new(table.clone(), None, true))?;
    let columns = (0..rank).map(|axis| wrap_view(&whole, column(&table, axis)));
    let columns = columns.collect::<PyResult<SmallVec<[_; 4]>>>()?;
    Ok(Some(PyTuple::new(py, columns)?.into_any()))
}

/// `flatnonzero` of a vector.
pub fn flatnonzero<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(array) = few(given) else { return Ok(None) };
    if array.get().view().is_none_or(|view| view.shape.len() != 1) {
        return Ok(None);
    }
    nonzero(given)?.map(|columns| columns.get_item(0)).transpose()
}

fn column(table: &ArrayView, axis: usize) -> ArrayView {
    let one = |n: i64| SmallVec::from_slice(&[n]);
    shape::window(table, table.offset + 8 * axis as i64, one(table.shape[0]), one(8 * table.shape[1]))
}

/// `unravel_index` of one position in C order. NumPy raises all errors.
pub fn unravel_index<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let (py, Some([place, extents])) = (given.py(), given.exactly()) else { return Ok(None) };
    let Ok(extents) = extents.cast_exact::<PyTuple>() else { return Ok(None) };
    if !(1..=numelt_ir::MAX_RANK).contains(&extents.len()) || !policy::at_once() {
        return Ok(None);
    }
    let Some(mut rest) = int(&place).or_else(|| convert::numpy_int64(&place)).filter(|&at| at >= 0) else {
        return Ok(None);
    };
    let mut index: SmallVec<[i64; 4]> = SmallVec::new();
    for extent in extents.iter_borrowed() {
        let Some(n) = int(&extent).filter(|&n| n > 0) else { return Ok(None) };
        index.push(n);
    }
    if index.iter().try_fold(1i64, |size, &n| size.checked_mul(n)).is_none_or(|size| rest >= size) {
        return Ok(None);
    }
    for at in index.iter_mut().rev() {
        (*at, rest) = (rest % *at, rest / *at);
    }
    let index = index.into_iter().map(|at| convert::to_numpy_scalar(py, Scalar::I64(at)));
    Ok(Some(PyTuple::new(py, index.collect::<PyResult<SmallVec<[_; 4]>>>()?)?.into_any()))
}

/// `take` from a vector, which indexing with an array or a list of ints does too. The general path raises all
/// errors.
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

/// The longest list of positions that is read here.
const LISTED: usize = 32;

/// Positions of elements in C order, or along each axis.
type Places = SmallVec<[i64; 64]>;

/// The positions of the elements that are not zero; both signs of zero are zero.
fn true_places(dtype: DType, bytes: &[u8]) -> Places {
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

fn places<const N: usize>(bytes: &[u8], is_true: impl Fn([u8; N]) -> bool) -> Places {
    let mut found = Places::new();
    for (place, element) in bytes.as_chunks().0.iter().enumerate() {
        if is_true(*element) {
            found.push(place as i64);
        }
    }
    found
}
