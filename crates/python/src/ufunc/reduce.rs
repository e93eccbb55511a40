//! Reductions and scans: axes, result dtypes, shapes.

use crate::array::ndarray::{NdArray, wrap_new, wrap_view};
use crate::array::operand::Operand;
use crate::array::{operand, scalar};
use crate::numpy::{convert, errors};
use crate::record::{inspect, registry, run, truths};
use crate::rules::{resolve, shape};
use crate::ufunc::elementwise::Native;
use numelt_ir::{Axes, DType, DTypeKind, Dims, Op, Scalar};
use numelt_runtime::{ArrayView, Input, Runtime};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

/// Which axes an `axis=` argument names: `None` is all.
pub fn parse_axes(axis: Option<&Bound<'_, PyAny>>, rank: usize) -> PyResult<Axes> {
    let Some(axis) = axis.filter(|a| !a.is_none()) else { return Ok(Axes::all(rank)) };
    if let Ok(list) = axis.cast::<PyTuple>() {
        let mut axes = Axes::default();
        for item in list {
            let one = parse_axis(&item, rank)?;
            if axes.contains(one) {
                return Err(PyValueError::new_err("duplicate value in 'axis'"));
            }
            axes = axes.with(one);
        }
        return Ok(axes);
    }
    parse_axis(axis, rank).map(|a| Axes::default().with(a))
}

/// Positions are along one axis, or all.
fn check_single_axis(axis: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match axis {
        Some(axis) if axis.is_instance_of::<PyTuple>() => {
            Err(PyTypeError::new_err("'tuple' object cannot be interpreted as an integer"))
        }
        Some(axis) if axis.is_exact_instance_of::<PyBool>() => {
            Err(PyTypeError::new_err("an integer is required for the axis"))
        }
        Some(_) | None => Ok(()),
    }
}

/// One axis, counted from the end when negative.
pub fn parse_axis(axis: &Bound<'_, PyAny>, rank: usize) -> PyResult<usize> {
    let py = axis.py();
    if axis.is_exact_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("an integer is required"));
    }
    let given: i64 = operand::index(axis)?;
    // NumPy lets 0-d arrays be reduced along axis 0 and -1.
    normalize_axis(given, rank).ok_or_else(|| errors::axis(py, given, rank))
}

/// The axis from the front; `None` when there is no such axis.
pub fn normalize_axis(axis: i64, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    (0..rank as i64).contains(&from_front).then_some(from_front as usize)
}

/// How a reduction is asked for.
pub struct Request<'a, 'py> {
    /// `axis=`
    pub axis: Option<&'a Bound<'py, PyAny>>,
    /// `keepdims=`
    pub keepdims: bool,
    /// `dtype=`: the loop dtype.
    pub dtype: Option<DType>,
    /// `out=`
    pub out: Option<&'a Bound<'py, NdArray>>,
}

/// Records a reduction; `None` when NumPy has to do it or to raise.
pub fn reduce<'py>(py: Python<'py>, op: Op, source: &Operand<'py>, request: &Request<'_, 'py>) -> Native<'py> {
    let Some(view) = source.view() else { return Ok(None) };
    let rank = view.shape.len();
    let positional = matches!(op, Op::Argmin | Op::Argmax);
    if rank == 0 && request.axis.is_some_and(|a| !a.is_none()) {
        return Ok(None);
    }
    if positional {
        check_single_axis(request.axis)?;
    }
    let axes = parse_axes(request.axis, rank)?;
    let Some(ty) = loop_dtype(op, view.dtype, request.dtype) else { return Ok(None) };
    check_not_empty(op, view, axes)?;
    // the extremes of truth values are settled by one element
    let op = match op {
        Op::Max if ty == DType::Bool => Op::Any,
        Op::Min if ty == DType::Bool => Op::All,
        _ => op,
    };
    if positional && rank > 1 && axes.len() == rank {
        // The position counts the elements in C order, whatever their order in memory.
        let flat = flatten(py, view)?;
        let all = Axes::all(1);
        return finish(py, op, ty, &flat, all, rank, request);
    }
    if positional && axes.len() > 1 {
        return Ok(None);
    }
    finish(py, op, ty, view, axes, rank, request)
}

fn loop_dtype(op: Op, dtype: DType, asked: Option<DType>) -> Option<DType> {
    match op {
        Op::Sum | Op::Prod => {
            let ty = asked.unwrap_or_else(|| resolve::accumulator(dtype));
            resolve::same_kind(dtype, ty).then_some(ty)
        }
        Op::Min | Op::Max => asked.is_none_or(|t| t == dtype).then_some(dtype),
        // complex values that are all NaN would lose the first one's parts
        Op::ReduceFmax | Op::ReduceFmin | Op::ReduceAnd | Op::ReduceOr | Op::ReduceXor => {
            (asked.is_none_or(|t| t == dtype) && op.info().dtypes.contains(dtype)).then_some(dtype)
        }
        Op::Any | Op::All => asked.is_none_or(|t| t == DType::Bool).then_some(dtype),
        Op::Argmin | Op::Argmax => asked.is_none().then_some(dtype),
        _ => None,
    }
}

fn check_not_empty(op: Op, view: &ArrayView, axes: Axes) -> PyResult<()> {
    if axes.iter().all(|a| view.shape[a] != 0) || (view.shape.is_empty()) {
        return Ok(());
    }
    match op {
        Op::Min | Op::Max | Op::ReduceFmax | Op::ReduceFmin => {
            let name = match op {
                Op::Min => "minimum",
                Op::Max => "maximum",
                Op::ReduceFmin => "fmin",
                _ => "fmax",
            };
            Err(PyValueError::new_err(format!("zero-size array to reduction operation {name} which has no identity")))
        }
        Op::Argmin | Op::Argmax => {
            Err(PyValueError::new_err(format!("attempt to get {} of an empty sequence", op.name())))
        }
        _ => Ok(()),
    }
}

/// The elements in C order as one axis; a copy only where the memory order demands one.
pub fn flatten(py: Python<'_>, view: &ArrayView) -> PyResult<ArrayView> {
    let n = view.size();
    if let Some(flat) = shape::reshaped(view, &[n], false) {
        return Ok(flat);
    }
    let copy = shape::whole(crate::record::run::new_base(n as usize * view.dtype.size()), view.dtype, &view.shape);
    run::record(py, Op::Copy, view.dtype, &copy, &[Input::Array(view)], Axes::default())?;
    Ok(shape::whole(copy.base, view.dtype, &[n]))
}

fn finish<'py>(
    py: Python<'py>,
    op: Op,
    ty: DType,
    view: &ArrayView,
    axes: Axes,
    rank: usize,
    request: &Request<'_, 'py>,
) -> Native<'py> {
    let kept: Dims = view.shape.iter().enumerate().map(|(a, &n)| if axes.contains(a) { 1 } else { n }).collect();
    let flattened = rank != view.shape.len();
    let final_shape: Dims = if request.keepdims {
        if flattened { Dims::from_elem(1, rank) } else { kept.clone() }
    } else {
        view.shape.iter().enumerate().filter(|(a, _)| !axes.contains(*a)).map(|(_, &n)| n).collect()
    };
    let out_dtype = op.output_dtype(ty);
    if let Some(out) = request.out {
        return into(py, op, ty, view, axes, &final_shape, out);
    }
    // Kept axes lie in the result as they lie in the source.
    let mut target = match op {
        // positions come in C order
        Op::Argmin | Op::Argmax => shape::fresh(out_dtype, &kept, numelt_ir::c_strides(&kept, out_dtype.size() as i64)),
        _ => shape::like_inputs(out_dtype, &kept, &[view]),
    };
    match known(op, ty, view, axes, !final_shape.is_empty()).or_else(|| truths::folded(py, op, ty, view, axes)) {
        Some(value) => {
            inspect::count(op);
            run::set_bytes(py, &target.base, &value.to_bytes()[..out_dtype.size()])?;
        }
        None => write(py, op, ty, &target, view, axes)?,
    }
    if final_shape.is_empty() {
        let view = drop_axes(target, axes, &final_shape);
        return scalar::make(py, view).map(Some);
    }
    if flattened || !request.keepdims {
        target = drop_axes(target, axes, &final_shape);
    }
    wrap_new(py, target).map(Some)
}

/// The value of a full reduction, where an earlier pass over the same memory has given it too.
fn known(op: Op, ty: DType, view: &ArrayView, axes: Axes, array: bool) -> Option<Scalar> {
    let possible = view.base.has_kept() && ty == view.dtype && axes.len() == view.shape.len();
    // memory of our own that others reach by another base is visible
    if !possible || (view.base.is_foreign() && registry::is_tangled()) {
        return None;
    }
    Runtime::global().kept(op, view, array)
}

/// The result without its reduced axes (or, flattened, with the shape it must have).
fn drop_axes(mut view: ArrayView, axes: Axes, shape: &Dims) -> ArrayView {
    let strides: Dims = view.strides.iter().enumerate().filter(|(a, _)| !axes.contains(*a)).map(|(_, &s)| s).collect();
    view.strides =
        if strides.len() == shape.len() { strides } else { Dims::from_elem(view.dtype.size() as i64, shape.len()) };
    view.shape = shape.clone();
    view
}

fn into<'py>(
    py: Python<'py>,
    op: Op,
    ty: DType,
    view: &ArrayView,
    axes: Axes,
    shape: &Dims,
    out: &Bound<'py, NdArray>,
) -> Native<'py> {
    let Some(target) = out.get().view() else { return Ok(None) };
    let castable = match op {
        Op::Argmin | Op::Argmax => target.dtype == DType::I64,
        _ => resolve::same_kind(op.output_dtype(ty), target.dtype),
    };
    if target.shape != *shape || !castable {
        return Ok(None);
    }
    if !out.get().writeable() {
        return Err(errors::read_only_output());
    }
    // The runtime wants the reduced axes with extent one.
    let mut expanded = target.clone();
    expanded.shape = view.shape.iter().enumerate().map(|(a, &n)| if axes.contains(a) { 1 } else { n }).collect();
    let mut own = target.strides.iter().copied();
    let keeps = shape.len() == view.shape.len();
    expanded.strides = (0..view.shape.len())
        .map(|a| {
            let itemsize = target.dtype.size() as i64;
            if keeps || !axes.contains(a) { own.next().unwrap_or(itemsize) } else { itemsize }
        })
        .collect();
    write(py, op, ty, &expanded, view, axes)?;
    Ok(Some(out.clone().into_any()))
}

/// Records the fold itself; the cases without anything to fold are elementwise or constant.
fn write(py: Python<'_>, op: Op, ty: DType, target: &ArrayView, view: &ArrayView, axes: Axes) -> PyResult<()> {
    if target.size() == 0 {
        return Ok(());
    }
    if view.size() == 0 {
        let identity = match op {
            Op::ReduceAnd => Scalar::I8(-1),
            _ => Scalar::Bool(matches!(op, Op::Prod | Op::All)),
        };
        let value = convert::cast(identity, target.dtype);
        return run::record(py, Op::Copy, target.dtype, target, &[Input::Const(value)], Axes::default());
    }
    if axes.is_empty() {
        return write_without_axes(py, op, ty, target, view);
    }
    run::record(py, op, ty, target, &[Input::Array(view)], axes)
}

fn write_without_axes(py: Python<'_>, op: Op, ty: DType, target: &ArrayView, view: &ArrayView) -> PyResult<()> {
    let none = Axes::default();
    match op {
        Op::Any | Op::All => {
            let zero = Input::Const(convert::cast(Scalar::Bool(false), ty));
            run::record(py, Op::NotEqual, ty, target, &[Input::Array(view), zero], none)
        }
        Op::Argmin | Op::Argmax => run::record(py, Op::Copy, DType::I64, target, &[Input::Const(Scalar::I64(0))], none),
        // sums start from zero, which turns minus zero into zero
        Op::Sum => {
            let zero = Input::Const(convert::cast(Scalar::Bool(false), ty));
            run::record(py, Op::Add, ty, target, &[Input::Array(view), zero], none)
        }
        _ => run::record(py, Op::Copy, ty, target, &[Input::Array(view)], none),
    }
}

/// Records a running fold along one axis (`None`: over the flattened elements).
pub fn scan<'py>(
    py: Python<'py>,
    op: Op,
    source: &Operand<'py>,
    axis: Option<&Bound<'py, PyAny>>,
    dtype: Option<DType>,
    out: Option<&Bound<'py, NdArray>>,
) -> Native<'py> {
    let Some(view) = source.view() else { return Ok(None) };
    let ty = dtype.unwrap_or_else(|| match op {
        Op::Cumsum | Op::Cumprod => resolve::accumulator(view.dtype),
        Op::Cumdivide if !op.info().dtypes.contains(view.dtype) => DType::F64,
        _ => view.dtype,
    });
    if !op.info().dtypes.contains(ty) || !resolve::same_kind(view.dtype, ty) {
        return Ok(None);
    }
    let (flat, at) = match axis.filter(|a| !a.is_none()) {
        Some(axis) => (view.clone(), parse_axis(axis, view.shape.len())?),
        None => (flatten(py, view)?, 0),
    };
    let axes = Axes::default().with(at);
    if let Some(out) = out {
        let Some(target) = out.get().view() else { return Ok(None) };
        if target.shape != flat.shape || !resolve::same_kind(ty, target.dtype) || !out.get().writeable() {
            return Ok(None);
        }
        if target.size() > 0 {
            run::record(py, op, ty, target, &[Input::Array(&flat)], axes)?;
        }
        return Ok(Some(out.clone().into_any()));
    }
    let target = shape::like_inputs(ty, &flat.shape, &[&flat]);
    if target.size() > 0 {
        run::scan(py, (op, ty, axes), &target, &flat)?;
    }
    wrap_new(py, target).map(Some)
}

/// The real or imaginary part as a view (complex), or of a real array itself.
pub fn complex_part<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, imaginary: bool) -> Native<'py> {
    if view.dtype.kind() != DTypeKind::Complex {
        return Ok(None);
    }
    let real = view.dtype.real();
    let offset = view.offset + if imaginary { real.size() as i64 } else { 0 };
    let mut part = shape::window(view, offset, view.shape.clone(), view.strides.clone());
    part.dtype = real;
    wrap_view(array, part).map(Some)
}
