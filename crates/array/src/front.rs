//! The trait [`Front`]: the functions that the rules need from the front end that uses them.

use crate::error::Error;
use crate::rules::shape::{self, Order};
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, BaseRef, Input};
use smallvec::SmallVec;

/// The results of several reductions.
pub type Folded = SmallVec<[Scalar; 2]>;

/// A front end: where operations are recorded, and how conditions are reported.
pub trait Front {
    /// The front end's own errors.
    type Error;

    /// Converts an error of the rules to one of the front end.
    fn error(&self, error: Error) -> Self::Error;

    /// A new base without memory.
    fn new_base(&self, nbytes: usize) -> BaseRef;

    /// Appends an instruction.
    ///
    /// # Errors
    /// If the runtime refuses the instruction; if it runs at once, the errors of running it.
    fn record(&self, op: Op, ty: DType, out: &ArrayView, ins: &[Input<'_>], axes: Axes) -> Result<(), Self::Error>;

    /// Records a matrix product, or runs it at once.
    ///
    /// # Errors
    /// As [`Front::record`].
    fn product(&self, op: Op, ty: DType, out: &ArrayView, ins: [&ArrayView; 2]) -> Result<(), Self::Error> {
        self.record(op, ty, out, &ins.map(Input::Array), Axes::default())
    }

    /// Records a scan (a running sum and the like), or runs it at once.
    ///
    /// # Errors
    /// As [`Front::record`].
    fn scan(&self, what: (Op, DType, Axes), out: &ArrayView, source: &ArrayView) -> Result<(), Self::Error> {
        self.record(what.0, what.1, out, &[Input::Array(source)], what.2)
    }

    /// The value of a reduction over these axes, if it is known without running anything. `array` says that the result
    /// is an array.
    fn known(&self, _op: Op, _ty: DType, _view: &ArrayView, _axes: Axes, _array: bool) -> Option<Scalar> {
        None
    }

    /// Calls `look` with the bytes of a base, after everything that writes them has run.
    ///
    /// # Errors
    /// Those of running it.
    fn look<R>(&self, base: &BaseRef, look: impl FnOnce(&[u8]) -> R) -> Result<R, Self::Error>;

    /// The results of reductions of all elements of a view, if they can be computed while other work stays pending;
    /// `None` if the reductions have to be recorded.
    ///
    /// # Errors
    /// Those of running them.
    fn fold_now(&self, _view: &ArrayView, _folds: &[(Op, DType)]) -> Result<Option<Folded>, Self::Error> {
        Ok(None)
    }

    /// Stores these bytes in a new base on which nothing has been recorded yet.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn set_bytes(&self, base: &BaseRef, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Calls `record`, which records several instructions of one operation: a floating-point condition that several of
    /// them meet is reported once.
    ///
    /// # Errors
    /// Those of `record`.
    fn as_parts<T>(&self, record: impl FnOnce() -> Result<T, Self::Error>) -> Result<T, Self::Error> {
        record()
    }

    /// Reports that a finite number has become infinite in the dtype of a loop.
    ///
    /// # Errors
    /// If such a warning is an error.
    fn literal_overflow(&self) -> Result<(), Self::Error>;

    /// Whether a computation without elements, about which NumPy warns, is left to NumPy, so that NumPy reports it.
    fn leaves_warnings(&self) -> bool {
        true
    }

    /// Refuses an array that no memory can hold.
    ///
    /// # Errors
    /// [`Error::TooBig`], or the front end's error for insufficient memory.
    fn check_size(&self, shape: &[i64], dtype: DType) -> Result<(), Self::Error> {
        let bytes = shape.iter().filter(|n| **n > 0).try_fold(dtype.size() as i64, |a, &n| a.checked_mul(n));
        bytes.map(|_| ()).ok_or_else(|| self.error(Error::TooBig))
    }

    /// A new array without memory with these dense strides; as in NumPy, one without elements has strides of zero.
    fn fresh(&self, dtype: DType, shape: &[i64], mut strides: Dims) -> ArrayView {
        let bytes = shape::size(shape) as usize * dtype.size();
        if bytes == 0 {
            strides.fill(0);
        }
        ArrayView { base: self.new_base(bytes), dtype, offset: 0, shape: Dims::from_slice(shape), strides }
    }

    /// A new array without memory, in the memory order of its inputs.
    fn like_inputs(&self, dtype: DType, shape: &[i64], inputs: &[&ArrayView]) -> ArrayView {
        self.fresh(dtype, shape, shape::k_order_strides(shape, dtype.size() as i64, inputs))
    }

    /// The value of the element at a byte offset of a base.
    ///
    /// # Errors
    /// Those of running the work on which it depends.
    fn read_scalar(&self, base: &BaseRef, dtype: DType, offset: i64) -> Result<Scalar, Self::Error>;

    /// A new array for a copy of a view, converted to `dtype`, in a memory order.
    ///
    /// # Errors
    /// As [`Front::check_size`].
    fn new_like(&self, view: &ArrayView, dtype: DType, order: Order) -> Result<ArrayView, Self::Error> {
        self.check_size(&view.shape, dtype)?;
        let itemsize = dtype.size() as i64;
        let strides = match order {
            Order::K => shape::copy_strides(view, itemsize),
            Order::F => shape::f_strides(&view.shape, itemsize),
            Order::A if shape::is_fortran(view) => shape::f_strides(&view.shape, itemsize),
            Order::A | Order::C => numelt_ir::c_strides(&view.shape, itemsize),
        };
        Ok(self.fresh(dtype, &view.shape, strides))
    }

    /// A copy of a view, converted to `dtype`, in a memory order.
    ///
    /// # Errors
    /// As [`Front::check_size`] and [`Front::record`].
    fn copied(&self, view: &ArrayView, dtype: DType, order: Order) -> Result<ArrayView, Self::Error> {
        let copy = self.new_like(view, dtype, order)?;
        if copy.size() > 0 {
            self.record(Op::Copy, dtype, &copy, &[Input::Array(view)], Axes::default())?;
        }
        Ok(copy)
    }
}
