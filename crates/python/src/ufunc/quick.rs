//! The fast path of operators: arrays in C order and Python numbers, in the cases that need no rule.
//!
//! In: native operands. Out: the recorded operation; `None` leaves it to the general path (`elementwise`).
//! `benches/fast_paths.py` measures what it gains.

use crate::numpy::convert;
use crate::object::fresh;
use crate::object::ndarray::{Payload, exact_native};
use crate::record::front::Attached;
use crate::record::run;
use numelt::rules::resolve::{self, Kind, Loop, Weak};
use numelt::rules::shape;
use numelt::takes_truth;
use numelt_ir::{Axes, DType, Dims, Op, OpKind, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;

/// The fast path of operators on a float array in C order and a Python number.
#[inline]
pub fn with_number<'py>(
    py: Python<'py>,
    op: Op,
    a: &ArrayView,
    number: &Bound<'py, PyAny>,
    swapped: bool,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let Some(literal) = literal(a.dtype, number) else { return mixed_number(py, op, a, number, swapped) };
    if let Some(result) = repeated_number(py, op, a, literal, swapped) {
        return Some(result);
    }
    let shape = c_ordered_shape(a, a)?;
    let (array, literal) = (Input::Array(a), Input::Const(literal));
    let inputs = if swapped { [literal, array] } else { [array, literal] };
    made(py, Loop { op, ty: a.dtype }, shape, &inputs)
}

/// An operator on an array and a literal of its dtype, in a program that is being repeated.
#[inline(never)]
fn repeated_number<'py>(
    py: Python<'py>,
    op: Op,
    a: &ArrayView,
    literal: Scalar,
    swapped: bool,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let (array, literal) = (Input::Array(a), Input::Const(literal));
    let known = match run::repeat(py, op, a.dtype, if swapped { [literal, array] } else { [array, literal] }) {
        Ok(known) => known?,
        Err(error) => return Some(Err(error)),
    };
    Some(fresh::c_ordered(py, known.base, known.dtype, &a.shape).map(Bound::into_any))
}

/// A number as an element of a dtype: for a float dtype a Python number (if it is an int, one that every float type
/// holds exactly) or a NumPy scalar of that dtype; for an integer dtype an int.
#[inline]
pub fn literal(dtype: DType, number: &Bound<'_, PyAny>) -> Option<Scalar> {
    let Some(weak) = convert::exact_weak(number) else { return strong_literal(dtype, number) };
    let value = match weak {
        weak @ Weak::Int(_) if dtype.is_integer() => return weak.to_scalar(dtype),
        _ if !dtype.is_float() => return None,
        // the general path reports the overflow
        Weak::Float(value) if value.abs() > largest(dtype) && value.is_finite() => return None,
        Weak::Float(value) => value,
        // beyond this, not every int is exactly a float
        Weak::Int(value) if value.unsigned_abs() <= if dtype == DType::F16 { 1 << 11 } else { 1 << 24 } => value as f64,
        _ => return None,
    };
    Some(if dtype == DType::F64 { Scalar::F64(value) } else { convert::cast(Scalar::F64(value), dtype) })
}

/// A NumPy scalar as a literal of an array's dtype, if that dtype is the common one of both.
#[inline]
fn strong_literal(dtype: DType, number: &Bound<'_, PyAny>) -> Option<Scalar> {
    match dtype {
        DType::F64 => convert::numpy_float64(number)
            .or_else(|| convert::numpy_int64(number).map(|value| value as f64))
            .map(Scalar::F64),
        DType::I64 => convert::numpy_int64(number).map(Scalar::I64),
        _ => convert::numpy_scalar_value(number).filter(|value| value.dtype() == dtype),
    }
}

/// The largest finite number of a float dtype.
const fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::F32 => f32::MAX as f64,
        _ => f64::MAX,
    }
}

/// The fast path of operators on two native arrays of one dtype, in C order.
#[inline]
pub fn pair<'py>(py: Python<'py>, op: Op, a: &ArrayView, b: &ArrayView) -> Option<PyResult<Bound<'py, PyAny>>> {
    if a.dtype != b.dtype {
        return None;
    }
    match run::repeat(py, op, a.dtype, [Input::Array(a), Input::Array(b)]) {
        Ok(Some(known)) => {
            let shape = if known.shape_of == 0 { &a.shape } else { &b.shape };
            return Some(fresh::c_ordered(py, known.base, known.dtype, shape).map(Bound::into_any));
        }
        Ok(None) => {}
        Err(error) => return Some(Err(error)),
    }
    let (resolved, inputs) = (Loop { op, ty: a.dtype }, [Input::Array(a), Input::Array(b)]);
    if same(&a.shape, &b.shape) {
        return made(py, resolved, c_ordered_shape(a, b)?, &inputs);
    }
    made(py, resolved, &broadcast_shape(a, b)?, &inputs)
}

/// The fast path of operators whose loop has another dtype than the operands: two native arrays in C order.
#[inline]
pub fn mixed<'py>(py: Python<'py>, op: Op, a: &ArrayView, b: &ArrayView) -> Option<PyResult<Bound<'py, PyAny>>> {
    let resolved = ordinary(op, &[Kind::Strong(a.dtype), Kind::Strong(b.dtype)])?;
    let inputs = [Input::Array(a), Input::Array(b)];
    if same(&a.shape, &b.shape) {
        return made(py, resolved, c_ordered_shape(a, b)?, &inputs);
    }
    made(py, resolved, &broadcast_shape(a, b)?, &inputs)
}

/// The fast path of the same operators on an array and a Python number that the loop's dtype holds.
#[inline]
pub fn mixed_number<'py>(
    py: Python<'py>,
    op: Op,
    a: &ArrayView,
    number: &Bound<'py, PyAny>,
    swapped: bool,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let weak = convert::exact_weak(number)?;
    let (array, other) = (Kind::Strong(a.dtype), Kind::Weak(weak));
    let resolved = ordinary(op, &if swapped { [other, array] } else { [array, other] })?;
    let want = resolved.op.input_dtype(resolved.ty, usize::from(!swapped));
    // a number that is not exactly an element of the loop's dtype has rules and warnings of its own
    if takes_truth(op) || want == DType::Bool {
        return None;
    }
    let literal = weak.to_scalar(want).filter(|&value| !weak.overflowed(value))?;
    let shape = c_ordered_shape(a, a)?;
    let (array, literal) = (Input::Array(a), Input::Const(literal));
    let inputs = if swapped { [literal, array] } else { [array, literal] };
    made(py, resolved, shape, &inputs)
}

/// The loop of an elementwise operation on two operands for which only the dtypes matter.
#[inline]
fn ordinary(op: Op, kinds: &[Kind; 2]) -> Option<Loop> {
    let inexact = |kind: &Kind| matches!(kind, Kind::Strong(dtype) if dtype.is_float() || dtype.is_complex());
    // powers of integers may be errors, and a number as the exponent may select another operation
    let plain = op != Op::Power || kinds.iter().all(inexact);
    if op.kind() != OpKind::Elementwise || op.arity() != 2 || !plain {
        return None;
    }
    resolve::resolve(op, kinds)
}

/// The fast path of operations on one native array in C order.
#[inline]
pub fn single<'py>(py: Python<'py>, op: Op, a: &ArrayView) -> Option<PyResult<Bound<'py, PyAny>>> {
    let resolved = resolve::resolve(op, &[Kind::Strong(a.dtype)])?;
    made(py, resolved, c_ordered_shape(a, a)?, &[Input::Array(a)])
}

/// The fast path of in-place operators with an array of the target's dtype and shape, or a Python number.
#[inline]
pub fn update<'py>(py: Python<'py>, op: Op, target: &ArrayView, other: &Bound<'py, PyAny>) -> Option<PyResult<()>> {
    let other = match exact_native(other) {
        Some(array) => {
            let view = array.view()?;
            let fits = view.dtype == target.dtype && same(&view.shape, &target.shape);
            fits.then_some(Input::Array(view))?
        }
        None => Input::Const(literal(target.dtype, other)?),
    };
    if op.output_dtype(target.dtype) != target.dtype || shape::size(&target.shape) == 0 || !target.is_injective() {
        return None;
    }
    let inputs = [Input::Array(target), other];
    if numelt::uses_scalar_loop(op, target.dtype, &inputs, &target.shape, Some(target)) {
        return Some(numelt::record_scalar_loop(&Attached(py), op, target.dtype, target, &inputs));
    }
    Some(run::record(py, op, target.dtype, target, &inputs, Axes::default()))
}

/// A new array in C order with the result of an operation; `None` for empty and very large ones.
#[inline]
fn made<'py>(
    py: Python<'py>,
    resolved: Loop,
    shape: &[i64],
    inputs: &[Input<'_>],
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let (size, dtype) = (shape::size(shape), resolved.output());
    // more elements may not fit into memory
    if size == 0 || size > 1 << 28 {
        return None;
    }
    let base = run::new_base(size as usize * dtype.size());
    let out = match fresh::c_ordered(py, base, dtype, shape) {
        Ok(out) => out,
        Err(error) => return Some(Err(error)),
    };
    let Payload::Native(view) = out.get().payload() else { unreachable!("it is new") };
    // SAFETY: the base was made here, and nobody else has a reference to it.
    match unsafe { run::record_new(py, resolved.op, resolved.ty, view, inputs) } {
        Ok(()) => Some(Ok(out.into_any())),
        Err(error) => Some(Err(error)),
    }
}

/// The shape of operands that have the same shape, if the result of an operation on them is in C order; `None` for
/// others. With one axis, results are in C order whatever the strides of the operands are; but with negative strides,
/// NumPy's loops of complex numbers round differently, for which there is a rule.
#[inline]
fn c_ordered_shape<'a>(a: &'a ArrayView, b: &ArrayView) -> Option<&'a [i64]> {
    let both = || in_c_order(a) && (std::ptr::eq(a, b) || in_c_order(b));
    let is_real_vector = a.shape.len() == 1 && !a.dtype.is_complex() && !b.dtype.is_complex();
    let ordered = is_real_vector || !a.shape.is_empty() && both();
    ordered.then_some(&a.shape[..])
}

/// The broadcast shape of operands in C order; `None` if they are not, or do not broadcast.
#[inline]
fn broadcast_shape(a: &ArrayView, b: &ArrayView) -> Option<Dims> {
    let (long, short) = if a.shape.len() >= b.shape.len() { (a, b) } else { (b, a) };
    if long.shape.is_empty() || !in_c_order(a) || !in_c_order(b) {
        return None;
    }
    let mut dims = Dims::from_slice(&long.shape);
    let lead = dims.len() - short.shape.len();
    for (n, &m) in dims[lead..].iter_mut().zip(&short.shape) {
        match (*n, m) {
            (1, _) => *n = m,
            (own, other) if other == 1 || other == own => {}
            _ => return None,
        }
    }
    Some(dims)
}

/// Whether strides decrease from axis to axis.
#[inline]
fn in_c_order(view: &ArrayView) -> bool {
    numelt_runtime::in_c_order(&view.shape, &view.strides)
}

#[inline]
fn same(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}
