//! Recording of elementwise operations on native operands: dtype, shape, literals, output.

use crate::array::ndarray::{NdArray, Payload, exact_native, wrap_new};
use crate::array::operand::Operand;
use crate::array::scalar;
use crate::array::{fresh, places};
use crate::numpy::convert;
use crate::numpy::errors;
use crate::record::{errstate, run};
use crate::rules::resolve::Weak;
use crate::rules::resolve::{self, Kind, Loop};
use crate::rules::shape;
use crate::ufunc::ufunc_call::Casting;
use numelt_ir::{Axes, DType, DTypeKind, Dims, Op, OpKind, Scalar};
use numelt_runtime::{ArrayView, Input};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// Result of a native operation, or `None` when NumPy has to do it (or to raise).
pub type Native<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// A literal or a view, with what recording needs.
type Inputs<'a> = SmallVec<[Input<'a>; 3]>;

/// Records `op` on `args`; into `out`, or as a new array or scalar. `dtype` forces the loop.
pub fn apply<'py>(
    py: Python<'py>,
    op: Op,
    args: &[Operand<'py>],
    out: Option<&Bound<'py, NdArray>>,
    dtype: Option<DType>,
) -> Native<'py> {
    if errstate::is_strict(py)? {
        return errstate::run(py, op, args, out, dtype);
    }
    let kinds: SmallVec<[Kind; 3]> = args.iter().map(kind).collect();
    let (op, literal) = power_shortcut(op, args);
    let (args, kinds) = match literal {
        Some(()) => (&args[..1], &kinds[..1]),
        None => (args, &kinds[..]),
    };
    if dtype.is_none_or(|dtype| dtype == DType::Bool)
        && let Some(answer) = out_of_range_comparison(op, args, kinds)
    {
        return constant_bool(py, args, out, answer);
    }
    let resolved = match dtype {
        Some(ty) => forced(op, ty, kinds, Casting::SameKind),
        None => resolve::resolve(op, kinds),
    };
    let Some(resolved) = resolved else { return Ok(None) };
    if !integer_power_is_defined(py, op, resolved.ty, args)? {
        return Ok(None);
    }
    if out.is_none()
        && dtype.is_none()
        && resolved.op.is_approximate(resolved.ty)
        && args.iter().all(Operand::is_scalar)
    {
        return function_of_scalars(py, resolved.op, args).map(Some);
    }
    // NumPy looks at dtypes before shapes, so its cast error comes first.
    if let Some(view) = out.and_then(|o| o.get().view())
        && (!resolve::same_kind(resolved.output(), view.dtype) || !view.is_injective())
    {
        return Ok(None);
    }
    let mut inputs = Inputs::new();
    for (position, arg) in args.iter().enumerate() {
        match input(arg, resolved, position)? {
            Some(made) => inputs.push(made),
            None => return Ok(None),
        }
    }
    let shapes: SmallVec<[&[i64]; 3]> = args.iter().map(Operand::shape).collect();
    let Some(domain) = shape::broadcast(&shapes) else {
        let out = out.and_then(|o| o.get().view()).map(|v| v.shape.as_slice());
        return Err(errors::broadcast(&shapes.into_iter().chain(out).collect::<Vec<_>>()));
    };
    match out {
        Some(out) => into(py, resolved, &inputs, &domain, out),
        None => fresh(py, resolved, &inputs, &domain, args).map(Some),
    }
}

/// A transcendental function of scalars, computed now by NumPy's ufunc, as if the program had called that.
fn function_of_scalars<'py>(py: Python<'py>, op: Op, args: &[Operand<'py>]) -> PyResult<Bound<'py, PyAny>> {
    let numbers: Vec<_> = args.iter().map(|arg| arg.to_object(py)).collect::<PyResult<_>>()?;
    convert::Numpy::get(py)?.attr(py, op.name())?.call1(PyTuple::new(py, numbers)?)
}

/// What the dtype rules need to know of an operand.
pub fn kind(operand: &Operand<'_>) -> Kind {
    match operand {
        Operand::Weak(weak, _) => Kind::Weak(*weak),
        Operand::Value(value) => Kind::Strong(value.dtype()),
        Operand::Array(_) => Kind::Strong(operand.dtype().unwrap_or(DType::F64)),
    }
}

/// `dtype=` picks the loop with that output; inputs must convert to it as `casting` allows.
pub fn forced(op: Op, ty: DType, kinds: &[Kind], casting: Casting) -> Option<Loop> {
    let info = op.info();
    let natural = resolve::resolve(op, kinds)?;
    if info.signature == numelt_ir::Signature::Predicate && ty == DType::Bool {
        return Some(natural);
    }
    let keeps_dtype = matches!(info.signature, numelt_ir::Signature::Same | numelt_ir::Signature::Select);
    if !keeps_dtype || natural.op != op || !info.dtypes.contains(ty) {
        return None;
    }
    let allowed = |k: &Kind| match k {
        Kind::Strong(d) => casting.allows(*d, ty),
        Kind::Weak(w) => w.kind() <= ty.kind(),
    };
    kinds.iter().skip(usize::from(op == Op::Where)).all(allowed).then_some(Loop { op, ty })
}

/// Powers that NumPy's loops compute without `pow`: a float exponent of exactly two.
fn power_shortcut(op: Op, args: &[Operand<'_>]) -> (Op, Option<()>) {
    match (op, args) {
        (Op::Power, [base, exponent]) if is_float_square(base, exponent) => (Op::Square, Some(())),
        _ => (op, None),
    }
}

fn is_float_square(base: &Operand<'_>, exponent: &Operand<'_>) -> bool {
    let two = match exponent {
        Operand::Weak(Weak::Int(2), _) => true,
        Operand::Weak(Weak::Float(value), _) => *value == 2.0,
        _ => false,
    };
    two && base.dtype().is_some_and(DType::is_float)
}

/// Integer powers are native when no exponent is negative; NumPy raises otherwise. Exponents in arrays of a
/// signed type have to be looked at.
pub fn integer_power_is_defined(py: Python<'_>, op: Op, ty: DType, args: &[Operand<'_>]) -> PyResult<bool> {
    if op != Op::Power || !ty.is_integer() {
        return Ok(true);
    }
    let signed = |d: DType| d.kind() == DTypeKind::Signed;
    Ok(match &args[1] {
        Operand::Weak(weak, _) => !weak.is_negative_int(),
        Operand::Value(value) => !signed(value.dtype()) || !is_negative(*value),
        other => match other.view() {
            Some(view) if signed(view.dtype) => match run::on_dense(py, view, |bytes| any_negative(view.dtype, bytes))?
            {
                Some(found) => !found,
                None => view.size() == 0 || !is_negative(least(py, view)?),
            },
            Some(_) => true,
            None => false,
        },
    })
}

fn is_negative(value: Scalar) -> bool {
    matches!(convert::cast(value, DType::I64), Scalar::I64(v) if v < 0)
}

/// Is one of these elements of a signed integer dtype negative?
fn any_negative(dtype: DType, bytes: &[u8]) -> bool {
    match dtype.size() {
        1 => bytes.iter().any(|&byte| i8::from_ne_bytes([byte]) < 0),
        2 => bytes.as_chunks().0.iter().any(|&element| i16::from_ne_bytes(element) < 0),
        4 => bytes.as_chunks().0.iter().any(|&element| i32::from_ne_bytes(element) < 0),
        _ => bytes.as_chunks().0.iter().any(|&element| i64::from_ne_bytes(element) < 0),
    }
}

/// The least element, computed now.
fn least(py: Python<'_>, view: &ArrayView) -> PyResult<Scalar> {
    let rank = view.shape.len();
    if rank == 0 {
        return run::read_scalar(py, &view.base, view.dtype, view.offset);
    }
    let ones = Dims::from_elem(1, rank);
    let out = shape::fresh(view.dtype, &ones, numelt_ir::c_strides(&ones, view.dtype.size() as i64));
    run::record(py, Op::Min, view.dtype, &out, &[Input::Array(view)], Axes::all(rank))?;
    run::read_scalar(py, &out.base, out.dtype, out.offset)
}

/// A comparison of integers with a Python int that their dtype cannot hold has one answer.
pub fn out_of_range_comparison(op: Op, args: &[Operand<'_>], kinds: &[Kind]) -> Option<bool> {
    let compares = matches!(op, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
    if !compares {
        return None;
    }
    let (strong, weak, swapped) = match (kinds.first()?, kinds.get(1)?) {
        (Kind::Strong(d), Kind::Weak(w)) => (*d, *w, false),
        (Kind::Weak(w), Kind::Strong(d)) => (*d, *w, true),
        (Kind::Strong(_), Kind::Strong(_)) | (Kind::Weak(_), Kind::Weak(_)) => return None,
    };
    let is_int = weak.kind() == DTypeKind::Signed;
    if !is_int || !strong.is_integer() || weak.to_scalar(strong).is_some() {
        return None;
    }
    debug_assert_eq!(args.len(), 2);
    // The int lies beyond every element: above all, or below all.
    let above = !weak.is_negative_int();
    let array_is_less = above != swapped;
    Some(match op {
        Op::Equal => false,
        Op::NotEqual => true,
        Op::Less | Op::LessEqual => array_is_less,
        _ => !array_is_less,
    })
}

fn constant_bool<'py>(
    py: Python<'py>,
    args: &[Operand<'py>],
    out: Option<&Bound<'py, NdArray>>,
    answer: bool,
) -> Native<'py> {
    let shapes: SmallVec<[&[i64]; 3]> = args.iter().map(Operand::shape).collect();
    let Some(domain) = shape::broadcast(&shapes) else { return Err(errors::broadcast(&shapes)) };
    let copy = Loop { op: Op::Copy, ty: DType::Bool };
    let value = [Input::Const(Scalar::Bool(answer))];
    match out {
        Some(out) => into(py, copy, &value, &domain, out),
        None => fresh(py, copy, &value, &domain, args).map(Some),
    }
}

/// The operand as the runtime takes it; `None` when only NumPy can say what it means.
pub fn input<'a>(arg: &'a Operand<'_>, resolved: Loop, position: usize) -> PyResult<Option<Input<'a>>> {
    let want = resolved.op.input_dtype(resolved.ty, position);
    match arg {
        Operand::Array(_) => Ok(arg.view().map(Input::Array)),
        Operand::Value(value) => {
            let literal = convert::cast(*value, want);
            if resolve::overflowed(*value, literal) {
                Python::attach(errstate::literal_overflow)?;
            }
            Ok(Some(Input::Const(literal)))
        }
        Operand::Weak(weak, _) if takes_truth(resolved.op) => Ok(match weak {
            Weak::Unsigned(_) | Weak::Huge(_) => None,
            _ => weak_literal(*weak, DType::Bool).map(|truth| Input::Const(convert::cast(truth, want))),
        }),
        // two numbers that a C long cannot hold are of its type nevertheless
        Operand::Weak(Weak::Unsigned(_), _) if resolved.op == Op::Where => Ok(None),
        Operand::Weak(weak, obj) => match weak_literal(*weak, want) {
            Some(value) => {
                if weak.overflowed(value) {
                    errstate::literal_overflow(obj.py())?;
                }
                Ok(Some(Input::Const(value)))
            }
            // `where` casts numbers as it casts arrays, without looking whether they fit.
            None if resolved.op == Op::Where && want.is_integer() => Ok(match weak {
                Weak::Int(value) => Some(Input::Const(convert::cast(Scalar::I64(*value), want))),
                _ => None,
            }),
            // What a C long cannot hold has other words, which are NumPy's to say.
            None if matches!(weak, Weak::Int(_)) && want.is_integer() => Err(convert::int_overflow(obj, want)),
            None => Ok(None),
        },
    }
}

/// Logic sees only the truth value of an operand, so any number fits any dtype.
fn takes_truth(op: Op) -> bool {
    matches!(op, Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor)
}

fn weak_literal(weak: Weak, want: DType) -> Option<Scalar> {
    // The condition of `where` is a truth value of any family.
    if want == DType::Bool {
        return weak.to_scalar(weak.default_dtype()?).map(|v| convert::cast(v, DType::Bool));
    }
    weak.to_scalar(want)
}

fn into<'py>(
    py: Python<'py>,
    resolved: Loop,
    inputs: &[Input<'_>],
    domain: &Dims,
    out: &Bound<'py, NdArray>,
) -> Native<'py> {
    let Some(view) = out.get().view() else { return Ok(None) };
    if !out.get().writeable() {
        return Err(errors::read_only_output());
    }
    if shape::broadcast(&[domain, &view.shape]).as_ref() != Some(&view.shape) {
        let Some(joint) = shape::broadcast(&[domain, &view.shape]) else {
            return Err(mismatch(inputs, view));
        };
        return Err(errors::output_shape(&view.shape, &joint));
    }
    if !resolve::same_kind(resolved.output(), view.dtype) {
        return Ok(None);
    }
    if places::is_one_by_one(resolved.op, resolved.ty, inputs, &view.shape, Some(view)) {
        places::record_one_by_one(py, resolved.op, resolved.ty, view, inputs)?;
    } else if view.size() > 0 {
        run::record(py, resolved.op, resolved.ty, view, inputs, Axes::default())?;
    }
    Ok(Some(out.clone().into_any()))
}

fn mismatch(inputs: &[Input<'_>], out: &ArrayView) -> PyErr {
    let shape_of = |input: &Input<'_>| -> Dims {
        match input {
            Input::Array(view) => view.shape.clone(),
            Input::Const(_) => Dims::new(),
        }
    };
    let shapes: Vec<Dims> = inputs.iter().map(shape_of).chain([out.shape.clone()]).collect();
    errors::broadcast(&shapes.iter().map(|s| s.as_slice()).collect::<Vec<_>>())
}

fn fresh<'py>(
    py: Python<'py>,
    resolved: Loop,
    inputs: &[Input<'_>],
    domain: &Dims,
    args: &[Operand<'py>],
) -> PyResult<Bound<'py, PyAny>> {
    let views: SmallVec<[&ArrayView; 3]> = args.iter().filter_map(Operand::view).collect();
    crate::numpy::errors::check_bytes(py, domain, resolved.output())?;
    let out = shape::result_like(resolved.output(), resolved.ty, domain, &views);
    if places::is_one_by_one(resolved.op, resolved.ty, inputs, domain, None) {
        places::record_one_by_one(py, resolved.op, resolved.ty, &out, inputs)?;
    } else if out.size() > 0 {
        run::record(py, resolved.op, resolved.ty, &out, inputs, Axes::default())?;
    }
    if domain.is_empty() { scalar::make(py, out) } else { wrap_new(py, out) }
}

/// The quick path of operators: a float array in C order and a Python number.
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

/// An array and a literal of its dtype, in a program that is being repeated.
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

/// A number as an element of a float dtype: Python's, where every int is one, or NumPy's of that dtype; or an int as one
/// of an integer dtype.
#[inline]
pub fn literal(dtype: DType, number: &Bound<'_, PyAny>) -> Option<Scalar> {
    let Some(weak) = Weak::exact(number) else { return strong_literal(dtype, number) };
    let value = match weak {
        weak @ Weak::Int(_) if dtype.is_integer() => return weak.to_scalar(dtype),
        _ if !dtype.is_float() => return None,
        // an overflow is the general path's to report
        Weak::Float(value) if value.abs() > largest(dtype) && value.is_finite() => return None,
        Weak::Float(value) => value,
        // Beyond this not every int is a float.
        Weak::Int(value) if value.unsigned_abs() <= if dtype == DType::F16 { 1 << 11 } else { 1 << 24 } => value as f64,
        _ => return None,
    };
    Some(if dtype == DType::F64 { Scalar::F64(value) } else { convert::cast(Scalar::F64(value), dtype) })
}

/// One of NumPy's scalars as a literal of an array's dtype, where that is the dtype in which the two meet.
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

/// The quick path of operators: two native arrays of one dtype, in C order.
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

/// The quick path of operators whose loop has another dtype than the operands: two native arrays in C order.
#[inline]
pub fn mixed<'py>(py: Python<'py>, op: Op, a: &ArrayView, b: &ArrayView) -> Option<PyResult<Bound<'py, PyAny>>> {
    let resolved = ordinary(op, &[Kind::Strong(a.dtype), Kind::Strong(b.dtype)])?;
    let inputs = [Input::Array(a), Input::Array(b)];
    if same(&a.shape, &b.shape) {
        return made(py, resolved, c_ordered_shape(a, b)?, &inputs);
    }
    made(py, resolved, &broadcast_shape(a, b)?, &inputs)
}

/// The same for an array and a Python number that the loop's dtype holds.
#[inline]
pub fn mixed_number<'py>(
    py: Python<'py>,
    op: Op,
    a: &ArrayView,
    number: &Bound<'py, PyAny>,
    swapped: bool,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let weak = Weak::exact(number)?;
    let (array, other) = (Kind::Strong(a.dtype), Kind::Weak(weak));
    let resolved = ordinary(op, &if swapped { [other, array] } else { [array, other] })?;
    let want = resolved.op.input_dtype(resolved.ty, usize::from(!swapped));
    // what is not exactly an element of the loop's dtype has rules, and warnings, of its own
    if takes_truth(op) || want == DType::Bool {
        return None;
    }
    let literal = weak.to_scalar(want).filter(|&value| !weak.overflowed(value))?;
    let shape = c_ordered_shape(a, a)?;
    let (array, literal) = (Input::Array(a), Input::Const(literal));
    let inputs = if swapped { [literal, array] } else { [array, literal] };
    made(py, resolved, shape, &inputs)
}

/// The loop of an elementwise operation on two operands of which nothing but the dtypes matters.
#[inline]
fn ordinary(op: Op, kinds: &[Kind; 2]) -> Option<Loop> {
    let inexact = |kind: &Kind| matches!(kind, Kind::Strong(dtype) if dtype.is_float() || dtype.is_complex());
    // powers of integers may be errors, and a number as the exponent may stand for another operation
    let plain = op != Op::Power || kinds.iter().all(inexact);
    if op.kind() != OpKind::Elementwise || op.arity() != 2 || !plain {
        return None;
    }
    resolve::resolve(op, kinds)
}

/// The quick path of operations on one native array in C order.
#[inline]
pub fn single<'py>(py: Python<'py>, op: Op, a: &ArrayView) -> Option<PyResult<Bound<'py, PyAny>>> {
    let resolved = resolve::resolve(op, &[Kind::Strong(a.dtype)])?;
    made(py, resolved, c_ordered_shape(a, a)?, &[Input::Array(a)])
}

/// The quick path of in-place operators: an array of the target's dtype and shape, or a Python number.
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
    if places::is_one_by_one(op, target.dtype, &inputs, &target.shape, Some(target)) {
        return Some(places::record_one_by_one(py, op, target.dtype, target, &inputs));
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
    // more may be more than there is memory
    if size == 0 || size > 1 << 28 {
        return None;
    }
    let base = crate::record::run::new_base(size as usize * dtype.size());
    let out = match fresh::c_ordered(py, base, dtype, shape) {
        Ok(out) => out,
        Err(error) => return Some(Err(error)),
    };
    let Payload::Native(view) = out.get().payload() else { unreachable!("it is new") };
    // SAFETY: the base was made here, and nobody has seen the array.
    match unsafe { run::record_new(py, resolved.op, resolved.ty, view, inputs) } {
        Ok(()) => Some(Ok(out.into_any())),
        Err(error) => Some(Err(error)),
    }
}

/// The shape of operands of one shape that lie in C order; `None` for other ones.
#[inline]
fn c_ordered_shape<'a>(a: &'a ArrayView, b: &ArrayView) -> Option<&'a [i64]> {
    let ordered = !a.shape.is_empty() && in_c_order(a) && (std::ptr::eq(a, b) || in_c_order(b));
    ordered.then_some(&a.shape[..])
}

/// The shape of operands that lie in C order together; `None` where they do not, or do not broadcast.
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

/// Do strides fall from axis to axis?
#[inline]
fn in_c_order(view: &ArrayView) -> bool {
    numelt_runtime::in_c_order(&view.shape, &view.strides)
}

#[inline]
fn same(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

/// Does a Python number convert to `dtype` within its family?
pub fn weak_fits(operand: &Operand<'_>, dtype: DType) -> bool {
    match operand {
        Operand::Weak(weak, _) if dtype == DType::Bool => matches!(weak, Weak::Bool(_)),
        Operand::Weak(weak, _) => weak.to_scalar(dtype).is_some(),
        Operand::Array(_) | Operand::Value(_) => true,
    }
}
