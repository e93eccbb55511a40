//! Calls of public functions on few elements that are quicker done here than by NumPy's function on lent memory.
//!
//! In: the arguments of a call without keywords. Out: its result, or `None` for any other call than the plain one, and
//! where somebody looks at what is recorded.

use crate::array::ndarray::{NdArray, exact_native, wrap_new, wrap_view};
use crate::array::operand::Operand;
use crate::array::{advanced, assign, fresh};
use crate::functions::{front, solving, transforms};
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::numpy::{foreign, lend, library, loan, subclass};
use crate::record::front::Attached;
use crate::record::{errstate, run};
use crate::ufunc::quick;
use crate::ufunc::{operators, reduce};
use numelt::Front;
use numelt::rules::shape;
use numelt::rules::shape::Order;
use numelt_ir::{DType, Op, Scalar};
use numelt_runtime::{ArrayView, Runtime};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use smallvec::SmallVec;

/// The result of such a call.
pub type Quick<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// What answers a call.
pub type Shortcut = for<'a, 'py> fn(&'a Bound<'py, PyTuple>) -> Quick<'py>;

/// Elements up to which these are the quicker way.
const FEW: i64 = 1024;

/// The shortcut for calls of the function of this name.
pub fn of(name: &str) -> Option<Shortcut> {
    Some(match name {
        "linalg.norm" => front::products::length,
        "linalg.inv" => solving::inv,
        "linalg.solve" => solving::solve,
        "ndarray.dot" => front::products::dotted,
        "result_type" => common_dtype,
        "sort" => sorted,
        "nonzero" | "ndarray.nonzero" => nonzero,
        "flatnonzero" => flatnonzero,
        "diff" => diff,
        "cumsum" | "ndarray.cumsum" => |args| scanned(args, Op::Cumsum),
        "cumprod" | "ndarray.cumprod" => |args| scanned(args, Op::Cumprod),
        "fill_diagonal" => fill_diagonal,
        "take" | "ndarray.take" => take,
        "trace" | "ndarray.trace" => trace,
        "full_like" => full_like,
        "append" => front::append,
        "r_" => front::row,
        "clip" | "ndarray.clip" => clip,
        "flip" => flip,
        "tril" => tril,
        "triu" => triu,
        "unravel_index" => unravel_index,
        "ndarray.view" => subclass::viewed,
        "ndarray.__array_function__" => subclass::asked,
        "fft.fft" => transforms::fft,
        "fft.ifft" => transforms::ifft,
        "fft.rfft" => transforms::rfft,
        "fft.irfft" => transforms::irfft,
        _ => return None,
    })
}

/// The only argument, if it is an array of few elements that are in memory and nobody looks at what is recorded.
fn only<'py>(args: &Bound<'py, PyTuple>) -> Option<Bound<'py, NdArray>> {
    let array = args.get_item(0).ok()?.cast_into_exact::<NdArray>().ok()?;
    let view = array.get().view()?;
    let few = args.len() == 1 && view.size() <= FEW && !view.shape.is_empty() && !view.base.is_awaited();
    (few && Runtime::global().runs_at_once()).then_some(array)
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
    let made = wrap_new(py, Attached(py).copied(view, view.dtype, Order::K)?)?;
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
    let extents = [places.len() as i64, rank as i64];
    let base = if places.is_empty() {
        crate::record::run::new_base(0)
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
fn flatnonzero<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let Some(array) = only(args) else { return Ok(None) };
    if array.get().view().is_none_or(|view| view.shape.len() != 1) {
        return Ok(None);
    }
    nonzero(args)?.map(|columns| columns.get_item(0)).transpose()
}

/// `cumsum` or `cumprod` of a vector whose dtype is the result's.
fn scanned<'py>(args: &Bound<'py, PyTuple>, scan: Op) -> Quick<'py> {
    let py = args.py();
    let Some(array) = only(args) else { return Ok(None) };
    if errstate::is_strict(py)? {
        return Ok(None);
    }
    let kept = |view: &ArrayView| matches!(view.dtype, DType::F64 | DType::I64) && view.shape.len() == 1;
    if !array.get().view().is_some_and(kept) {
        return Ok(None);
    }
    reduce::scan(py, scan, &Operand::Array(array), None, None, None)
}

/// `trace` of a matrix.
fn trace<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let Some(matrix) = only_array(args) else { return Ok(None) };
    let Some(view) = matrix.get().view() else { return Ok(None) };
    let (&[rows, columns], &[down, across]) = (view.shape.as_slice(), view.strides.as_slice()) else {
        return Ok(None);
    };
    let one = |n: i64| SmallVec::from_slice(&[n]);
    let diagonal = shape::window(view, view.offset, one(rows.min(columns)), one(down + across));
    let axis = PyInt::new(args.py(), 0).into_any();
    front::reductions::along(&wrap_view(&matrix, diagonal)?, Op::Sum, axis)
}

/// `diff`, of neighbours along the last axis.
fn diff<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let py = args.py();
    if args.len() == 1 && lend::has_foreign(args.iter_borrowed()) {
        return foreign::differences(&args.get_item(0)?);
    }
    let Some(array) = only(args) else { return Ok(None) };
    if errstate::is_strict(py)? {
        return Ok(None);
    }
    let Some(view) = array.get().view().filter(|view| view.dtype != DType::Bool) else { return Ok(None) };
    let last = view.shape.len() - 1;
    let from = |first: i64| {
        let mut part = view.clone();
        part.offset += first * view.strides[last];
        part.shape[last] -= 1;
        part
    };
    if view.shape[last] < 2 { Ok(None) } else { quick::pair(py, Op::Subtract, &from(1), &from(0)).transpose() }
}

fn column(table: &ArrayView, axis: usize) -> ArrayView {
    let one = |n: i64| SmallVec::from_slice(&[n]);
    shape::window(table, table.offset + 8 * axis as i64, one(table.shape[0]), one(8 * table.shape[1]))
}

/// `tril`
fn tril<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    triangle(args, |distance, k| distance <= k)
}

/// `triu`
fn triu<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    triangle(args, |distance, k| distance >= k)
}

/// A matrix whose elements are zero but those that `keeps` says of their distance from the diagonal and the argument `k`.
fn triangle<'py>(args: &Bound<'py, PyTuple>, keeps: impl Fn(i64, i64) -> bool) -> Quick<'py> {
    let k = match args.get_borrowed_item(1) {
        Ok(k) => k.cast_exact::<PyInt>().ok().and_then(|k| k.extract::<i64>().ok()),
        Err(_) => Some(0),
    };
    let Some(k) = k.filter(|_| args.len() <= 2) else { return Ok(None) };
    let (py, Ok(matrix)) = (args.py(), args.get_borrowed_item(0)) else { return Ok(None) };
    let Some(view) = exact_native(&matrix).and_then(NdArray::view) else { return Ok(None) };
    let (&[rows, columns], size) = (view.shape.as_slice(), view.dtype.size()) else { return Ok(None) };
    if !(1..=FEW).contains(&view.size()) || view.base.is_awaited() || !Runtime::global().runs_at_once() {
        return Ok(None);
    }
    let Some(mut bytes) = run::on_dense(py, view, SmallVec::<[u8; 512]>::from_slice)? else { return Ok(None) };
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| column - row));
    for (element, distance) in bytes.chunks_exact_mut(size).zip(places) {
        if !keeps(distance, k) {
            element.fill(0);
        }
    }
    let out = shape::whole(crate::record::run::new_base(bytes.len()), view.dtype, &view.shape);
    run::set_bytes(py, &out.base, &bytes)?;
    wrap_new(py, out).map(Some)
}

/// `unravel_index` of one position in C order; all that is wrong is NumPy's to say.
fn unravel_index<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let (py, Ok(given), Ok(extents)) = (args.py(), args.get_item(0), args.get_borrowed_item(1)) else {
        return Ok(None);
    };
    let Ok(extents) = extents.cast_exact::<PyTuple>() else { return Ok(None) };
    if args.len() != 2 || !(1..=numelt_ir::MAX_RANK).contains(&extents.len()) || !Runtime::global().runs_at_once() {
        return Ok(None);
    }
    let int = |value: &Bound<'_, PyAny>| value.cast_exact::<PyInt>().ok()?.extract::<i64>().ok();
    let Some(mut rest) = int(&given).or_else(|| convert::numpy_int64(&given)).filter(|&at| at >= 0) else {
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

/// `take` from a vector, which is what indexing with an array or a list of ints does; all that is wrong is the general way's
/// to say.
fn take<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    if args.len() != 2 {
        return Ok(None);
    }
    let (array, key) = (args.get_borrowed_item(0)?, args.get_borrowed_item(1)?);
    let Ok(array) = array.cast_exact::<NdArray>() else { return Ok(None) };
    let Some(view) = array.get().view().filter(|view| view.shape.len() == 1) else { return Ok(None) };
    let plain = match (key.cast_exact::<PyList>(), exact_native(&key).and_then(NdArray::view)) {
        (Ok(list), _) => {
            (1..=LISTED).contains(&list.len()) && list.iter().all(|item| item.is_exact_instance_of::<PyInt>())
        }
        (_, Some(index)) => index.dtype.is_integer() && index.shape.len() == 1 && index.size() <= FEW,
        _ => false,
    };
    if !plain || !Runtime::global().runs_at_once() {
        return Ok(None);
    }
    let found = advanced::get(&array, view, &key);
    let wrong = [errors::INDEX, errors::TYPE, errors::VALUE];
    errors::unless(args.py(), found, &wrong).map(Option::flatten)
}

/// Longest list of positions that is looked at.
const LISTED: usize = 32;

/// The only argument, if it is a native array of at least one dimension.
fn only_array<'py>(args: &Bound<'py, PyTuple>) -> Option<Bound<'py, NdArray>> {
    let array = args.get_item(0).ok().filter(|_| args.len() == 1)?.cast_into_exact::<NdArray>().ok()?;
    array.get().view().is_some_and(|view| !view.shape.is_empty()).then_some(array)
}

/// `full_like` of a dense array, with a Python number that its dtype holds.
fn full_like<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let (py, Ok(prototype), Ok(value)) = (args.py(), args.get_borrowed_item(0), args.get_borrowed_item(1)) else {
        return Ok(None);
    };
    let (Some(array), Some(value)) = (exact_native(&prototype), convert::exact_weak(&value)) else { return Ok(None) };
    let Some(view) = array.view().filter(|_| args.len() == 2) else { return Ok(None) };
    let dense = shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64);
    match value.to_scalar(view.dtype).filter(|&stored| dense && !value.overflowed(stored)) {
        Some(stored) => match run::new_filled(&view.shape, stored) {
            Some(base) => Ok(Some(fresh::c_ordered(py, base, view.dtype, &view.shape)?.into_any())),
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// `flip` of a native array along all its axes.
fn flip<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    let Some(array) = only_array(args) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let lasts = view.shape.iter().zip(&view.strides).map(|(&n, &stride)| (n - 1).max(0) * stride);
    let strides = view.strides.iter().map(|stride| -stride).collect();
    let flipped = shape::window(view, view.offset + lasts.sum::<i64>(), view.shape.clone(), strides);
    wrap_view(&array, flipped).map(Some)
}

/// `clip` of a native array to two numbers that its dtype holds. Of two zeros the element stays, as in NumPy's loop for
/// bounds that are numbers.
fn clip<'py>(args: &Bound<'py, PyTuple>) -> Quick<'py> {
    if args.len() != 3 {
        return Ok(None);
    }
    let (array, low, high) = (args.get_borrowed_item(0)?, args.get_borrowed_item(1)?, args.get_borrowed_item(2)?);
    let Some(view) = exact_native(&array).and_then(NdArray::view).filter(|v| !v.shape.is_empty()) else {
        return Ok(None);
    };
    let dtype = view.dtype;
    let known = matches!(dtype, DType::F32 | DType::F64) || dtype.is_integer();
    if !known || [&low, &high].iter().any(|end| quick::literal(dtype, end).is_none()) {
        return Ok(None);
    }
    let Some(above) = operators::quick(Op::Maximum, &low, &array).transpose()? else { return Ok(None) };
    operators::quick(Op::Minimum, &high, &above).transpose()
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
    if convert::exact_weak(&value).is_none() {
        return Ok(None);
    }
    let length = SmallVec::from_slice(&[view.shape[0].min(view.shape[1])]);
    let step = SmallVec::from_slice(&[view.strides[0] + view.strides[1]]);
    let diagonal = shape::window(view, view.offset, length, step);
    Ok(assign::assign(py, &diagonal, &value)?.then(|| py.None().into_bound(py)))
}

/// Places of elements, or their positions along each axis.
type Places = SmallVec<[i64; 64]>;

/// Places of the elements that are not zero; zero has two signs.
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
