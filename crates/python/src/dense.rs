//! Work on dense memory that is done at once: sorting of large arrays on all cores (`numelt._routines.searching`) and
//! sums under masks (`numelt._reductions`).
//!
//! In: dense arrays. Out: their order, runs merged, or sums. What the host engine does not know gives
//! `NotImplemented`; whether the result can depend on the algorithm is told, so that NumPy decides then.

use crate::ndarray::{NdArray, wrap_new};
use crate::random::{contiguous, host_for};
use crate::{run, shape};
use numelt_ir::{DType, Dims};
use numelt_runtime::{ArrayView, Host, MaskedRows};
use pyo3::prelude::*;
use std::sync::Arc;

/// A dense one-dimensional view, if the array is one, and the dtype one that the host engine sorts; that engine, and how many
/// of its threads share the work.
fn dense<'a>(a: &'a Bound<'_, NdArray>) -> Option<(&'a ArrayView, Arc<dyn Host>, usize)> {
    let view = a.get().view()?;
    let dense = view.shape.len() == 1 && view.strides[0] == view.dtype.size() as i64;
    let (host, threads) = host_for(a.py(), view.size());
    (dense && view.size() > 0 && host.sorts(view.dtype)).then_some((view, host, threads))
}

/// The stable order of a dense vector, and whether no two elements are equal, so that every order is this one.
#[pyfunction]
fn stable_order<'py>(py: Python<'py>, a: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let Some((view, host, threads)) = dense(a) else { return Ok(py.NotImplemented().into_bound(py)) };
    let n = view.size();
    let order = contiguous(DType::I64, &Dims::from_elem(n, 1));
    let held = run::share(py, &view.base)?;
    let from = held.ptr() as usize + view.offset as usize;
    let to = run::write(py, &order.base)? as usize;
    let dtype = view.dtype;
    let distinct = py.detach(move || {
        // SAFETY: the order's base was made for exactly these positions, and nobody else knows it yet.
        let order = unsafe { std::slice::from_raw_parts_mut(to as *mut i64, n as usize) };
        // SAFETY: the view is dense and was flushed; its memory is held where it is.
        unsafe { host.argsort(dtype, from as *const u8, order, threads) }
    });
    match distinct {
        Some(distinct) => Ok((wrap_new(py, order)?, distinct).into_pyobject(py)?.into_any()),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// Merges sorted runs of `part` elements of a dense vector, in place; false where NumPy's result could be other bits.
#[pyfunction]
fn merge_sorted<'py>(py: Python<'py>, a: &Bound<'py, NdArray>, part: usize) -> PyResult<Bound<'py, PyAny>> {
    let Some((view, host, threads)) = dense(a) else { return Ok(py.NotImplemented().into_bound(py)) };
    let n = view.size();
    let held = run::share(py, &view.base)?;
    let at = held.ptr() as usize + view.offset as usize;
    let dtype = view.dtype;
    // SAFETY: the view is dense and was flushed; the caller made the array and has not passed it on.
    let sure = py.detach(move || unsafe { host.merge_runs(dtype, at as *mut u8, n as usize, part, threads) });
    Ok(sure.into_pyobject(py)?.to_owned().into_any())
}

/// Sums of `count` rows of a C-contiguous array under a mask of the same shape, each from `start` on.
#[pyfunction]
fn masked_sum<'py>(
    py: Python<'py>,
    a: &Bound<'py, NdArray>,
    mask: &Bound<'py, NdArray>,
    count: i64,
    start: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let declined = || Ok(py.NotImplemented().into_bound(py));
    let (Some(view), Some(chosen)) = (a.get().view(), mask.get().view()) else { return declined() };
    let dense = |v: &ArrayView| shape::is_c_contiguous(&v.shape, &v.strides, v.dtype.size() as i64);
    let fits = view.shape == chosen.shape && count > 0 && view.size() % count == 0;
    let float = matches!(view.dtype, DType::F32 | DType::F64) && chosen.dtype == DType::Bool;
    if !(fits && float && dense(view) && dense(chosen)) {
        return declined();
    }
    let out = contiguous(view.dtype, &Dims::from_elem(count, 1));
    let held = [run::share(py, &view.base)?, run::share(py, &chosen.base)?];
    let values = held[0].ptr() as usize + view.offset as usize;
    let mask = held[1].ptr() as usize + chosen.offset as usize;
    let to = run::write(py, &out.base)? as usize;
    let (dtype, count, length) = (view.dtype, count as usize, (view.size() / count) as usize);
    let (host, threads) = host_for(py, view.size());
    let added = py.detach(move || {
        let rows = MaskedRows { dtype, values: values as *const u8, mask: mask as *const u8, count, length };
        // SAFETY: both views are dense and were flushed, and their memory is held; the sums' base was made for exactly these rows.
        unsafe { host.masked_sums(&rows, start, to as *mut u8, threads) }
    });
    if !added {
        return declined();
    }
    wrap_new(py, out)
}

/// How many threads share work on this many elements.
#[pyfunction]
fn threads_for(py: Python<'_>, n: i64) -> usize {
    host_for(py, n).1
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stable_order, module)?)?;
    module.add_function(wrap_pyfunction!(merge_sorted, module)?)?;
    module.add_function(wrap_pyfunction!(masked_sum, module)?)?;
    module.add_function(wrap_pyfunction!(threads_for, module)?)
}
