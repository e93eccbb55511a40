//! Sorting of large arrays on all cores, for `numelt._routines.searching`.
//!
//! In: one-dimensional dense arrays. Out: their order, or runs merged. What the engine does not know
//! gives `NotImplemented`; whether the result can depend on the algorithm is told, so that NumPy decides then.

use crate::ndarray::{NdArray, wrap_new};
use crate::random::{contiguous, threads};
use crate::run;
use numelt_engine_cpu::{argsort, merge_runs, sorts};
use numelt_ir::{DType, Dims};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;

/// A dense one-dimensional view, if the array is one, and the dtype one that the engine sorts.
fn dense<'a>(a: &'a Bound<'_, NdArray>) -> Option<&'a ArrayView> {
    let view = a.get().view()?;
    let dense = view.shape.len() == 1 && view.strides[0] == view.dtype.size() as i64;
    (dense && view.size() > 0 && sorts(view.dtype)).then_some(view)
}

/// The stable order of a dense vector, and whether no two elements are equal, so that every order is this one.
#[pyfunction]
fn stable_order<'py>(py: Python<'py>, a: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let Some(view) = dense(a) else { return Ok(py.NotImplemented().into_bound(py)) };
    let n = view.size();
    let order = contiguous(DType::I64, &Dims::from_elem(n, 1));
    let from = run::read(py, &view.base)? as usize + view.offset as usize;
    let to = run::read(py, &order.base)? as usize;
    let (dtype, threads) = (view.dtype, threads(n));
    let distinct = py.detach(move || {
        // SAFETY: the order's base was made for exactly these positions, and nobody else knows it yet.
        let order = unsafe { std::slice::from_raw_parts_mut(to as *mut i64, n as usize) };
        // SAFETY: the view is dense and was flushed; the array keeps its memory alive.
        unsafe { argsort(dtype, from as *const u8, n as usize, order, threads) }
    });
    Ok((wrap_new(py, order)?, distinct).into_pyobject(py)?.into_any())
}

/// Merges sorted runs of `part` elements of a dense vector, in place; false where NumPy's result could be other bits.
#[pyfunction]
fn merge_sorted<'py>(py: Python<'py>, a: &Bound<'py, NdArray>, part: usize) -> PyResult<Bound<'py, PyAny>> {
    let Some(view) = dense(a) else { return Ok(py.NotImplemented().into_bound(py)) };
    let n = view.size();
    let at = run::read(py, &view.base)? as usize + view.offset as usize;
    let (dtype, threads) = (view.dtype, threads(n));
    // SAFETY: the view is dense and was flushed; the caller made the array and has not passed it on.
    let sure = py.detach(move || unsafe { merge_runs(dtype, at as *mut u8, n as usize, part, threads) });
    Ok(sure.into_pyobject(py)?.to_owned().into_any())
}

/// How many threads share work on this many elements.
#[pyfunction]
fn threads_for(n: i64) -> usize {
    threads(n)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stable_order, module)?)?;
    module.add_function(wrap_pyfunction!(merge_sorted, module)?)?;
    module.add_function(wrap_pyfunction!(threads_for, module)?)
}
