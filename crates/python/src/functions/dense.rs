//! Work on contiguous memory that is done when it is called: sorting of large arrays on all cores
//! (`numelt._routines.sorting`), and sums under masks (`numelt._ufunc.reductions`).
//!
//! In: contiguous arrays. Out: their order, merged runs, or sums. `NotImplemented` for what the host engine does not
//! support. If the result could depend on the algorithm, this is reported, and NumPy does the work.

use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::random::{contiguous, host_for};
use crate::record::run;
use numelt::rules::shape;
use numelt_ir::{DType, Dims};
use numelt_runtime::{ArrayView, Host, MaskedRows};
use pyo3::prelude::*;
use std::sync::Arc;

/// The view of a contiguous one-dimensional array whose dtype the host engine sorts; that engine; and how many
/// of its threads share the work.
fn dense<'a>(a: &'a Bound<'_, NdArray>) -> Option<(&'a ArrayView, Arc<dyn Host>, usize)> {
    let view = a.get().view()?;
    let dense = view.shape.len() == 1 && view.strides[0] == view.dtype.size() as i64;
    let (host, threads) = host_for(a.py(), view.size());
    (dense && view.size() > 0 && host.sorts(view.dtype)).then_some((view, host, threads))
}

/// The stable order of a contiguous vector, and whether no two elements are equal, so that this is the only order.
#[pyfunction]
fn stable_order<'py>(py: Python<'py>, a: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let Some((view, host, threads)) = dense(a) else { return Ok(py.NotImplemented().into_bound(py)) };
    let n = view.size();
    let order = contiguous(DType::I64, &Dims::from_elem(n, 1));
    let (mut places, guard) = (run::overwrite(py, &order.base)?, run::read(py, &view.base)?);
    let (values, to) = (&guard.bytes()[view.offset as usize..], places.bytes_mut());
    let dtype = view.dtype;
    let distinct = py.detach(move || {
        // SAFETY: the order's base was made for exactly these positions.
        let order = unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), n as usize) };
        // SAFETY: the view is dense, and its values are guarded.
        unsafe { host.argsort(dtype, values.as_ptr(), order, threads) }
    });
    drop(places);
    match distinct {
        Some(distinct) => Ok((wrap_new(py, order)?, distinct).into_pyobject(py)?.into_any()),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

/// Merges sorted runs of `part` elements of a contiguous vector in place; false if NumPy's result could differ in its
/// bits.
#[pyfunction]
fn merge_sorted<'py>(py: Python<'py>, a: &Bound<'py, NdArray>, part: usize) -> PyResult<Bound<'py, PyAny>> {
    let Some((view, host, threads)) = dense(a) else { return Ok(py.NotImplemented().into_bound(py)) };
    let n = view.size();
    let mut guard = run::write(py, &view.base)?;
    let values = &mut guard.bytes_mut()[view.offset as usize..];
    let dtype = view.dtype;
    // SAFETY: the view is dense, and its values are guarded.
    let sure = py.detach(move || unsafe { host.merge_runs(dtype, values.as_mut_ptr(), n as usize, part, threads) });
    Ok(sure.into_pyobject(py)?.to_owned().into_any())
}

/// The sums of `count` rows of an array in C order under a mask of the same shape, each from `start` on.
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
    let mut sums = run::overwrite(py, &out.base)?;
    let guards = run::read_all(py, [&view.base, &chosen.base])?;
    let (values, mask) = (&guards[0].bytes()[view.offset as usize..], &guards[1].bytes()[chosen.offset as usize..]);
    let to = sums.bytes_mut();
    let (dtype, count, length) = (view.dtype, count as usize, (view.size() / count) as usize);
    let (host, threads) = host_for(py, view.size());
    let added = py.detach(move || {
        let rows = MaskedRows { dtype, values: values.as_ptr(), mask: mask.as_ptr(), count, length };
        // SAFETY: both views are dense, and their values are guarded; the sums' base was made for exactly these rows.
        unsafe { host.masked_sums(&rows, start, to.as_mut_ptr(), threads) }
    });
    drop(sums);
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
