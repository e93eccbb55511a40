//! Reductions and scans: their loops, the shapes of results, and reductions of no elements.

use crate::answer::{Answer, NotNative};
use crate::elementwise::{Made, Output};
use crate::error::Error;
use crate::front::Front;
use crate::rules::{resolve, shape};
use numelt_ir::interp::cast;
use numelt_ir::{Axes, DType, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Input};

/// The axis counted from the front; `None` if there is no such axis.
pub fn normalize_axis(axis: i64, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    (0..rank as i64).contains(&from_front).then_some(from_front as usize)
}

/// The arguments of a reduction.
#[derive(Debug, Clone, Copy)]
pub struct Reduction<'a> {
    /// The reduction.
    pub op: Op,
    /// `axis=`; all axes if it is not given.
    pub axes: Axes,
    /// `keepdims=`
    pub keepdims: bool,
    /// `dtype=`: the loop dtype.
    pub dtype: Option<DType>,
    /// `out=`
    pub out: Option<Output<'a>>,
}

impl Reduction<'_> {
    /// Records the reduction of an array.
    ///
    /// # Errors
    /// If there are no elements and the reduction has no identity; if an output may not be written; and errors of
    /// recording.
    pub fn record<F: Front>(&self, front: &F, view: &ArrayView) -> Result<Answer<Made>, F::Error> {
        let rank = view.shape.len();
        let positional = matches!(self.op, Op::Argmin | Op::Argmax);
        let Some(ty) = self.loop_dtype(view.dtype) else { return Ok(Answer::NotNative(NotNative::Loop)) };
        self.check_not_empty(view).map_err(|error| front.error(error))?;
        // the largest of several bools is true if any of them is
        let op = match self.op {
            Op::Max if ty == DType::Bool => Op::Any,
            Op::Min if ty == DType::Bool => Op::All,
            op => op,
        };
        if positional && rank > 1 && self.axes.len() == rank {
            // the position counts the elements in C order, whatever their order in memory
            let flat = flatten(front, view)?;
            return self.finish(front, op, ty, &flat, Axes::all(1), rank);
        }
        if positional && self.axes.len() > 1 {
            return Ok(Answer::NotNative(NotNative::Shape));
        }
        self.finish(front, op, ty, view, self.axes, rank)
    }

    fn loop_dtype(&self, dtype: DType) -> Option<DType> {
        let asked = self.dtype;
        match self.op {
            Op::Sum | Op::Prod => {
                let ty = asked.unwrap_or_else(|| resolve::accumulator(dtype));
                resolve::same_kind(dtype, ty).then_some(ty)
            }
            Op::Min | Op::Max => asked.is_none_or(|t| t == dtype).then_some(dtype),
            // if all complex values are NaN, the parts of the first one would be lost
            Op::ReduceFmax | Op::ReduceFmin | Op::ReduceAnd | Op::ReduceOr | Op::ReduceXor => {
                (asked.is_none_or(|t| t == dtype) && self.op.info().dtypes.contains(dtype)).then_some(dtype)
            }
            Op::Any | Op::All => asked.is_none_or(|t| t == DType::Bool).then_some(dtype),
            Op::Argmin | Op::Argmax => asked.is_none().then_some(dtype),
            _ => None,
        }
    }

    fn check_not_empty(&self, view: &ArrayView) -> Result<(), Error> {
        if view.shape.is_empty() || self.axes.iter().all(|a| view.shape[a] != 0) {
            return Ok(());
        }
        match self.op {
            Op::Min => Err(Error::NoIdentity("minimum")),
            Op::Max => Err(Error::NoIdentity("maximum")),
            Op::ReduceFmin => Err(Error::NoIdentity("fmin")),
            Op::ReduceFmax => Err(Error::NoIdentity("fmax")),
            Op::Argmin | Op::Argmax => Err(Error::EmptySequence(self.op.name())),
            _ => Ok(()),
        }
    }

    fn finish<F: Front>(
        &self,
        front: &F,
        op: Op,
        ty: DType,
        view: &ArrayView,
        axes: Axes,
        rank: usize,
    ) -> Result<Answer<Made>, F::Error> {
        let kept: Dims = view.shape.iter().enumerate().map(|(a, &n)| if axes.contains(a) { 1 } else { n }).collect();
        let flattened = rank != view.shape.len();
        let final_shape: Dims = if self.keepdims {
            if flattened { Dims::from_elem(1, rank) } else { kept.clone() }
        } else {
            view.shape.iter().enumerate().filter(|(a, _)| !axes.contains(*a)).map(|(_, &n)| n).collect()
        };
        let out_dtype = op.output_dtype(ty);
        if let Some(out) = self.out {
            return record_into(front, (op, ty, axes), view, &final_shape, &out);
        }
        // the kept axes of the result have the memory order of the source, those of positions C order
        let like: &[&ArrayView] = if matches!(op, Op::Argmin | Op::Argmax) { &[] } else { &[view] };
        let mut target = front.like_inputs(out_dtype, &kept, like);
        match front.known(op, ty, view, axes, !final_shape.is_empty()) {
            Some(value) => front.set_bytes(&target.base, &value.to_bytes()[..out_dtype.size()])?,
            None => write(front, op, ty, &target, view, axes)?,
        }
        if flattened || !self.keepdims {
            target = drop_axes(target, axes, &final_shape);
        }
        Ok(Answer::Recorded(Made::New(target)))
    }
}

/// The elements in C order as one axis; a copy only if the memory order requires one.
///
/// # Errors
/// Those of recording.
pub fn flatten<F: Front>(front: &F, view: &ArrayView) -> Result<ArrayView, F::Error> {
    let n = view.size();
    if let Some(flat) = shape::reshaped(view, &[n], false) {
        return Ok(flat);
    }
    front.check_size(&[n], view.dtype)?;
    let copy = shape::whole(front.new_base(n as usize * view.dtype.size()), view.dtype, &view.shape);
    front.record(Op::Copy, view.dtype, &copy, &[Input::Array(view)], Axes::default())?;
    Ok(shape::whole(copy.base, view.dtype, &[n]))
}

/// The result without its reduced axes (or, if flattened, with its final shape).
fn drop_axes(mut view: ArrayView, axes: Axes, shape: &Dims) -> ArrayView {
    let strides: Dims = view.strides.iter().enumerate().filter(|(a, _)| !axes.contains(*a)).map(|(_, &s)| s).collect();
    view.strides =
        if strides.len() == shape.len() { strides } else { Dims::from_elem(view.dtype.size() as i64, shape.len()) };
    view.shape = shape.clone();
    view
}

/// Records a reduction into the output argument.
fn record_into<F: Front>(
    front: &F,
    (op, ty, axes): (Op, DType, Axes),
    view: &ArrayView,
    shape: &Dims,
    out: &Output<'_>,
) -> Result<Answer<Made>, F::Error> {
    let target = out.view;
    let castable = match op {
        Op::Argmin | Op::Argmax => target.dtype == DType::I64,
        _ => resolve::same_kind(op.output_dtype(ty), target.dtype),
    };
    if target.shape != *shape || !castable {
        return Ok(Answer::NotNative(NotNative::Output));
    }
    if !out.writeable {
        return Err(front.error(Error::ReadOnlyOutput));
    }
    // the runtime expects the reduced axes with extent one
    let mut expanded = target.clone();
    expanded.shape = view.shape.iter().enumerate().map(|(a, &n)| if axes.contains(a) { 1 } else { n }).collect();
    let mut own = target.strides.iter().copied();
    let keeps = shape.len() == view.shape.len();
    let itemsize = target.dtype.size() as i64;
    let stride = |a| if keeps || !axes.contains(a) { own.next().unwrap_or(itemsize) } else { itemsize };
    expanded.strides = (0..view.shape.len()).map(stride).collect();
    write(front, op, ty, &expanded, view, axes)?;
    Ok(Answer::Recorded(Made::Written))
}

/// Records the reduction into a target; if nothing is to be reduced, an elementwise operation or a constant.
fn write<F: Front>(
    front: &F,
    op: Op,
    ty: DType,
    target: &ArrayView,
    view: &ArrayView,
    axes: Axes,
) -> Result<(), F::Error> {
    if target.size() == 0 {
        return Ok(());
    }
    if view.size() == 0 {
        let identity = match op {
            Op::ReduceAnd => Scalar::I8(-1),
            _ => Scalar::Bool(matches!(op, Op::Prod | Op::All)),
        };
        let value = cast(identity, target.dtype);
        return front.record(Op::Copy, target.dtype, target, &[Input::Const(value)], Axes::default());
    }
    if axes.is_empty() {
        return write_without_axes(front, op, ty, target, view);
    }
    front.record(op, ty, target, &[Input::Array(view)], axes)
}

fn write_without_axes<F: Front>(
    front: &F,
    op: Op,
    ty: DType,
    target: &ArrayView,
    view: &ArrayView,
) -> Result<(), F::Error> {
    let (none, zero) = (Axes::default(), Input::Const(cast(Scalar::Bool(false), ty)));
    match op {
        Op::Any | Op::All => front.record(Op::NotEqual, ty, target, &[Input::Array(view), zero], none),
        Op::Argmin | Op::Argmax => front.record(Op::Copy, DType::I64, target, &[Input::Const(Scalar::I64(0))], none),
        // sums start from zero, which turns minus zero into zero
        Op::Sum => front.record(Op::Add, ty, target, &[Input::Array(view), zero], none),
        _ => front.record(Op::Copy, ty, target, &[Input::Array(view)], none),
    }
}

/// The arguments of a cumulative operation.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// The cumulative operation.
    pub op: Op,
    /// `axis=`; the flattened elements if it is not given.
    pub axis: Option<usize>,
    /// `dtype=`: the loop dtype.
    pub dtype: Option<DType>,
    /// `out=`
    pub out: Option<Output<'a>>,
}

impl Scan<'_> {
    /// The loop dtype for elements of a dtype, if there is such a loop.
    pub fn loop_dtype(&self, dtype: DType) -> Option<DType> {
        let ty = self.dtype.unwrap_or_else(|| match self.op {
            Op::Cumsum | Op::Cumprod => resolve::accumulator(dtype),
            Op::Cumdivide if !self.op.info().dtypes.contains(dtype) => DType::F64,
            _ => dtype,
        });
        (self.op.info().dtypes.contains(ty) && resolve::same_kind(dtype, ty)).then_some(ty)
    }

    /// Records the cumulative operation on an array.
    ///
    /// # Errors
    /// Those of recording.
    pub fn record<F: Front>(&self, front: &F, view: &ArrayView) -> Result<Answer<Made>, F::Error> {
        let Some(ty) = self.loop_dtype(view.dtype) else { return Ok(Answer::NotNative(NotNative::Loop)) };
        let (source, at) = match self.axis {
            Some(axis) => (view.clone(), axis),
            None => (flatten(front, view)?, 0),
        };
        let axes = Axes::default().with(at);
        if let Some(out) = self.out {
            let target = out.view;
            if target.shape != source.shape || !resolve::same_kind(ty, target.dtype) || !out.writeable {
                return Ok(Answer::NotNative(NotNative::Output));
            }
            if target.size() > 0 {
                front.record(self.op, ty, target, &[Input::Array(&source)], axes)?;
            }
            return Ok(Answer::Recorded(Made::Written));
        }
        front.check_size(&source.shape, ty)?;
        let target = front.like_inputs(ty, &source.shape, &[&source]);
        if target.size() > 0 {
            front.scan((self.op, ty, axes), &target, &source)?;
        }
        Ok(Answer::Recorded(Made::New(target)))
    }
}
