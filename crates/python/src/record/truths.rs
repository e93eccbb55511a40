//! `any`, `all` and counts of arrays of bool, computed when called if the values are in memory: recording would take
//! longer than that.
//!
//! In: full reductions of contiguous arrays of bool. Out: their values; `None` if recorded operations are inspected
//! or traced, or the values are not in memory.

use crate::object::ndarray::NdArray;
use crate::record::{registry, reports, run};
use numelt::rules::shape;
use numelt_ir::{Axes, DType, Op, Scalar};
use numelt_runtime::{ArrayView, Runtime};
use pyo3::prelude::*;

/// The most elements that are counted when called.
const MOST: i64 = 1 << 17;

/// The value of `any`, `all` or the number of true elements; `None` if the reduction has to be recorded.
pub fn folded(py: Python<'_>, op: Op, ty: DType, view: &ArrayView, axes: Axes) -> Option<Scalar> {
    let counts = match op {
        Op::Sum => ty == DType::I64,
        Op::Any | Op::All => true,
        _ => false,
    };
    if !counts || view.dtype != DType::Bool || axes.len() != view.shape.len() {
        return None;
    }
    let (n, strides) = (view.size(), &view.strides);
    let packed = || shape::is_c_contiguous(&view.shape, strides, 1) || shape::is_f_contiguous(&view.shape, strides, 1);
    if !(1..=MOST).contains(&n) || !packed() || !Runtime::global().runs_at_once() {
        return None;
    }
    // two bases may share memory, so pending work on another base may write these values
    if view.base.is_foreign() && registry::is_tangled() {
        return None;
    }
    let (start, n) = (view.offset as usize, n as usize);
    // SAFETY: settings change only with the GIL held; the caller holds it, and counting does not release it.
    let count = |bytes: &[u8]| unsafe { Runtime::global().with_host(|host| host.truths(op, &bytes[start..start + n])) };
    run::peek(py, &view.base, count)?
}

/// The number of true elements of an array of bool; `None` if the reduction has to be recorded.
#[pyfunction]
pub fn count_true(a: &Bound<'_, PyAny>) -> Option<i64> {
    let view = a.cast::<NdArray>().ok()?.get().view()?;
    let found = folded(a.py(), Op::Sum, DType::I64, view, Axes::all(view.shape.len()))?;
    reports::count(Op::Sum);
    match found {
        Scalar::I64(n) => Some(n),
        _ => None,
    }
}
