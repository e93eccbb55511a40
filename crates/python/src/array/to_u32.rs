//! Conversion of floats to uint32 for values that uint32 cannot hold: NumPy's vector code and its scalar code then
//! give different results.
//!
//! In: a view of floats. Out: the conversion that NumPy's vector code makes, where NumPy would use it.

use crate::cpython::calls;
use crate::numpy::hooks;
use crate::object::fresh;
use crate::object::ndarray::NdArray;
use crate::record::run;
use numelt::rules::shape;
use numelt_ir::{Axes, DType, Dims, Op};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Elements in one vector of NumPy's conversion to uint32.
const VECTOR: i64 = 4;

/// The elements as uint32, as NumPy's loop over a contiguous array converts them; `None` if NumPy would convert one
/// element at a time.
pub fn to_u32(py: Python<'_>, view: &ArrayView) -> PyResult<Option<ArrayView>> {
    let size = view.dtype.size() as i64;
    let dense = shape::is_c_contiguous(&view.shape, &view.strides, size)
        || shape::is_f_contiguous(&view.shape, &view.strides, size);
    if !matches!(view.dtype, DType::F32 | DType::F64) || !dense || view.size() < VECTOR {
        return Ok(None);
    }
    let Some(hook) = hooks::hook(py, "to_u32")? else { return Ok(None) };
    let floats = fresh::object(py, || NdArray::new(view.clone(), None, false))?;
    Ok(calls::apply(&hook, (floats,), None)?.cast::<NdArray>()?.get().view().cloned())
}

/// Records the assignment of floats to uint32 if NumPy would convert whole vectors; false if it would convert one
/// element at a time.
#[cold]
pub fn assign_u32(py: Python<'_>, target: &ArrayView, source: &ArrayView) -> PyResult<bool> {
    let Some((target, source)) = as_runs(target, source) else { return Ok(false) };
    let Some(hook) = hooks::hook(py, "to_u32")? else { return Ok(false) };
    let last = target.shape.len() - 1;
    let whole = target.shape[last] / VECTOR * VECTOR;
    let cut = |view: &ArrayView, from: i64, to: i64| {
        let mut shape = view.shape.clone();
        shape[last] = to - from;
        shape::window(view, view.offset + from * view.strides[last], shape, view.strides.clone())
    };
    // along axes of stride 0, the same source elements go to several places: they are converted once
    let mut once = cut(&source, 0, whole);
    for (n, stride) in once.shape.iter_mut().zip(&once.strides) {
        *n = if *stride == 0 { 1 } else { *n };
    }
    let floats = fresh::object(py, || NdArray::new(once, None, false))?;
    let converted = calls::apply(&hook, (floats,), None)?;
    let copy = |to: &ArrayView, from: &ArrayView| {
        run::record(py, Op::Copy, to.dtype, to, &[Input::Array(from)], Axes::default())
    };
    if let Some(numbers) = converted.cast::<NdArray>()?.get().view() {
        copy(&cut(&target, 0, whole), numbers)?;
    }
    if whole < target.shape[last] {
        copy(&cut(&target, whole, target.shape[last]), &cut(&source, whole, target.shape[last]))?;
    }
    Ok(true)
}

/// Both views with the axes over which NumPy loops: the target's axes from the largest stride to the smallest, with
/// adjacent ones joined if they are contiguous in both views. `None` unless the last axis is contiguous in both and
/// has at least a vector's length.
fn as_runs(target: &ArrayView, source: &ArrayView) -> Option<(ArrayView, ArrayView)> {
    let (size, steps) = (source.dtype.size() as i64, shape::broadcast_strides(source, &target.shape));
    let mut axes: SmallVec<[(i64, i64, i64); 4]> = (target.shape.iter().zip(&target.strides).zip(&steps))
        .map(|((&n, &to), &from)| (n, to, from))
        .filter(|axis| axis.0 != 1)
        .collect();
    if target.base.ptr_eq(&source.base) || axes.iter().any(|axis| axis.1 < 0) {
        return None;
    }
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.1));
    let mut joined: SmallVec<[(i64, i64, i64); 4]> = SmallVec::new();
    for (n, to, from) in axes {
        match joined.last_mut() {
            Some(outer) if outer.1 == n * to && outer.2 == n * from => *outer = (outer.0 * n, to, from),
            _ => joined.push((n, to, from)),
        }
    }
    let dense = joined.last().is_some_and(|&(n, to, from)| n >= VECTOR && to == 4 && from == size);
    let of = |view: &ArrayView, strides: Dims| {
        shape::window(view, view.offset, joined.iter().map(|axis| axis.0).collect(), strides)
    };
    dense.then(|| {
        let to = of(target, joined.iter().map(|axis| axis.1).collect());
        (to, of(source, joined.iter().map(|axis| axis.2).collect()))
    })
}
