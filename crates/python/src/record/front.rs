//! The Python module as a front end of NumPy's rules: the implementation of crate `numelt`'s trait `Front`.
//!
//! In: operations as the rules have decided them. Out: calls of `run`, and Python exceptions for errors.

use crate::numpy::errors;
use crate::record::{errstate, registry, reports, run, truths};
use numelt::rules::shape::{self, Order};
use numelt::{Error, Folded, Front};
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, BaseRef, Input, Runtime};
use pyo3::prelude::*;

/// A thread that holds the GIL, as the front end in which NumPy's rules record.
#[derive(Clone, Copy)]
pub struct Attached<'py>(pub Python<'py>);

impl Front for Attached<'_> {
    type Error = PyErr;

    fn error(&self, error: Error) -> PyErr {
        errors::from_rules(error)
    }

    #[inline]
    fn new_base(&self, nbytes: usize) -> BaseRef {
        run::new_base(nbytes)
    }

    #[inline]
    fn record(&self, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>], axes: Axes) -> PyResult<()> {
        run::record(self.0, op, ty, out, ins, axes)
    }

    fn copied(&self, view: &ArrayView, dtype: DType, order: Order) -> PyResult<ArrayView> {
        if dtype == view.dtype
            && matches!(order, Order::C | Order::K)
            && let Some(base) = run::copy_of_few(self.0, view)
        {
            return Ok(shape::whole(base, dtype, &view.shape));
        }
        let copy = self.new_like(view, dtype, order)?;
        if copy.size() > 0 {
            self.record(Op::Copy, dtype, &copy, &[Input::Array(view)], Axes::default())?;
        }
        Ok(copy)
    }

    fn product(&self, op: Op, ty: DType, out: &ArrayView, ins: [&ArrayView; 2]) -> PyResult<()> {
        run::product(self.0, op, ty, out, ins)
    }

    fn scan(&self, what: (Op, DType, Axes), out: &ArrayView, source: &ArrayView) -> PyResult<()> {
        run::scan(self.0, what, out, source)
    }

    fn known(&self, op: Op, ty: DType, view: &ArrayView, axes: Axes, array: bool) -> Option<Scalar> {
        let value = kept(op, ty, view, axes, array).or_else(|| truths::folded(self.0, op, ty, view, axes))?;
        reports::count(op);
        Some(value)
    }

    fn look<R>(&self, base: &BaseRef, look: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
        run::look(self.0, base, look)
    }

    fn read_scalar(&self, base: &BaseRef, dtype: DType, offset: i64) -> PyResult<Scalar> {
        run::read_scalar(self.0, base, dtype, offset)
    }

    fn fold_now(&self, view: &ArrayView, folds: &[(Op, DType)]) -> PyResult<Option<Folded>> {
        run::fold_now(view, folds)
    }

    fn set_bytes(&self, base: &BaseRef, bytes: &[u8]) -> PyResult<()> {
        run::set_bytes(self.0, base, bytes)
    }

    fn as_parts<T>(&self, record: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        errstate::as_parts(self.0, record)
    }

    fn literal_overflow(&self) -> PyResult<()> {
        errstate::literal_overflow(self.0)
    }

    fn check_size(&self, shape: &[i64], dtype: DType) -> PyResult<()> {
        errors::check_bytes(self.0, shape, dtype)
    }
}

/// The value of a full reduction, if an earlier pass over the same memory has computed it too (see `siblings` in the
/// runtime).
fn kept(op: Op, ty: DType, view: &ArrayView, axes: Axes, array: bool) -> Option<Scalar> {
    let possible = view.base.has_kept() && ty == view.dtype && axes.len() == view.shape.len();
    // two bases may share memory, so another base may have been written since
    if !possible || (view.base.is_foreign() && registry::is_tangled()) {
        return None;
    }
    Runtime::global().kept(op, view, array)
}

/// A new array without memory, with these dense strides; see [`Front::fresh`].
pub fn fresh(py: Python<'_>, dtype: DType, shape: &[i64], strides: Dims) -> ArrayView {
    Attached(py).fresh(dtype, shape, strides)
}

/// A new array without memory, in the memory order of its inputs.
pub fn like_inputs(py: Python<'_>, dtype: DType, shape: &[i64], inputs: &[&ArrayView]) -> ArrayView {
    Attached(py).like_inputs(dtype, shape, inputs)
}
