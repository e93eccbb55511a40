//! Calls of public functions on few elements that are quicker done here than by NumPy's function on lent memory.
//!
//! In: the arguments of a call without keywords. Out: its result, or `None` for any other call than the plain one, and
//! where somebody looks at what is recorded.

use crate::convert::{self, Numpy, Weak};
use crate::methods::{Order, copied};
use crate::ndarray::{NdArray, exact_native, wrap_new, wrap_view};
use crate::{assign, fresh, front, library, loan, run, shape};
use numelt_ir::{DType, Scalar};
use numelt_runtime::{ArrayView, Runtime};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

type Quick<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// What answers a call.
pub type Shortcut = for<'a, 'py> fn(&'a Bound<'py, PyTuple>) -> Quick<'py>;

/// Elements up to which these are the quicker way.
const FEW: i64 = 1024;

/// The shortcut for calls of the function of this name.
pub fn of(name: &str) -> Option<Shortcut> {
    Some(match name {
        "linalg.norm" => front::products::length,
        "result_type" => common_dtype,
        "sort" => sorted,
        "nonzero" | "ndarray.nonzero" => nonzero,
        "fill_diagonal" => fill_diagonal,
        _ => return None,
    })
}

/// The only argument, if it is an array of few elements that are in memory and nobody looks at what is recorded.
fn only<'py>(args: &Bound<'py, PyTuple>) -> Option<Bound<'py, NdArray>> {
    let array = args.get_item(0).ok()?.cast_into_exact::<NdArray>().ok()?;
    let view = array.get().view()?;
    let few = args.len() == 1 && view.size() <= FEW && !view.shape.is_empty() && !view.base.is_awaited();
    (few && Runtime::global().is_unobserved()).then_some(array)
}

/// `result_type` of native arrays.
fn common_dtype<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let mut common: Option<DType> = None;
    for arg in args.iter_borrowed() {
        let Some(view) = exact_native(&arg).and_then(NdArray::view) else { return Ok(None) };
        common = Some(common.map_or(view.dtype, |c| c.promote(view.dtype)));
    }
    let py = args.py();
    common.map(|dtype| Ok(Numpy::get(py)?.descr(py, dtype).clone())).transpose()
}

/// `sort`: a copy that NumPy's method sorts in place.
fn sorted<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let py = args.py();
    let Some(array) = only(args).filter(|_| !library::is_watched()) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let made = wrap_new(py, copied(py, view, view.dtype, Order::K)?)?;
    let loan = loan::lend(made.cast::<NdArray>()?)?;
    let done = loan.view().call_method0(intern!(py, "sort"));
    loan.end()?;
    done.map(|_| Some(made))
}

/// `nonzero`: the positions along each axis, as columns of one array.
pub fn nonzero<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let py = args.py();
    let Some(array) = only(args) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let Some(places) = run::on_dense(py, view, |bytes| true_places(view.dtype, bytes))? else { return Ok(None) };
    let rank = view.shape.len();
    let mut bytes: SmallVec<[u8; 512]> = SmallVec::new();
    for &place in &places {
        let at = bytes.len();
        bytes.resize(at + 8 * rank, 0);
        let mut rest = place as i64;
        for axis in (0..rank).rev() {
            let n = view.shape[axis];
            bytes[at + 8 * axis..][..8].copy_from_slice(&(rest % n).to_ne_bytes());
            rest /= n;
        }
    }
    let extents = [places.len() as i64, rank as i64];
    let table = if places.is_empty() {
        shape::whole(shape::fresh(DType::I64, &extents, SmallVec::from_slice(&[8, 8])).base, DType::I64, &extents)
    } else {
        shape::whole(Runtime::global().filled(&bytes).map_err(crate::errors::to_py)?, DType::I64, &extents)
    };
    let whole = fresh::object(py, || NdArray::new(table.clone(), None, true))?;
    let columns = (0..rank).map(|axis| wrap_view(&whole, column(&table, axis)));
    let columns = columns.collect::<PyResult<SmallVec<[_; 4]>>>()?;
    Ok(Some(PyTuple::new(py, columns)?.into_any()))
}

fn column(table: &ArrayView, axis: usize) -> ArrayView {
    let one = |n: i64| SmallVec::from_slice(&[n]);
    shape::window(table, table.offset + 8 * axis as i64, one(table.shape[0]), one(8 * table.shape[1]))
}

/// `fill_diagonal` of a matrix with a Python number.
fn fill_diagonal<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let py = args.py();
    if args.len() != 2 {
        return Ok(None);
    }
    let (matrix, value) = (args.get_borrowed_item(0)?, args.get_borrowed_item(1)?);
    let Some(array) = exact_native(&matrix).filter(|array| array.writeable()) else { return Ok(None) };
    let Some(view) = array.view().filter(|v| v.shape.len() == 2 && v.size() > 0) else { return Ok(None) };
    if Weak::exact(&value).is_none() {
        return Ok(None);
    }
    let length = SmallVec::from_slice(&[view.shape[0].min(view.shape[1])]);
    let step = SmallVec::from_slice(&[view.strides[0] + view.strides[1]]);
    let diagonal = shape::window(view, view.offset, length, step);
    Ok(assign::assign(py, &diagonal, &value)?.then(|| py.None().into_bound(py)))
}

/// Places of the elements that are not zero.
fn true_places(dtype: DType, bytes: &[u8]) -> SmallVec<[usize; 64]> {
    let elements = bytes.chunks_exact(dtype.size()).enumerate();
    if dtype.is_float() || dtype.is_complex() {
        // zero has two signs
        let truth =
            |element: &[u8]| convert::cast(Scalar::from_bytes(dtype, element), DType::Bool) == Scalar::Bool(true);
        return elements.filter(|(_, element)| truth(element)).map(|(place, _)| place).collect();
    }
    elements.filter(|(_, element)| element.iter().any(|&b| b != 0)).map(|(place, _)| place).collect()
}
