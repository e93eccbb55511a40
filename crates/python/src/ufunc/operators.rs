//! Operators of arrays: NumPy's rules for which operand handles an operation, the fast path, the general path and the
//! fallback.
//!
//! In: an operator and its operands. Out: its result, or `NotImplemented`.

use crate::array::operand::{Operand, carries_out_ufuncs, defers_to};
use crate::cpython::calls;
use crate::numpy::convert;
use crate::numpy::convert::Numpy;
use crate::numpy::hooks;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::errstate;
use crate::sharing::policy::{self, Decision};
use crate::sharing::{calling, device_arrays, device_export, foreign, lend};
use crate::ufunc::elementwise;
use crate::ufunc::products;
use crate::ufunc::quick;
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt_ir::{DType, Dims, Op};
use numelt_runtime::ArrayView;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyTuple};
use std::borrow::Cow;

/// A binary operator.
pub struct Binary {
    /// The operation.
    pub op: Op,
    /// The name in the module `operator`.
    pub name: &'static str,
    /// The name of the in-place form in the module `operator`.
    pub in_place: &'static str,
    /// The name of the method, under which fallbacks are counted.
    pub method: &'static str,
}

macro_rules! binary_operators {
    ($($constant:ident $op:ident $name:literal $in_place:literal $method:literal;)*) => {
        $(
            #[doc = concat!("`", $method, "`")]
            pub const $constant: Binary =
                Binary { op: Op::$op, name: $name, in_place: $in_place, method: concat!("ndarray.", $method) };
        )*
    };
}

binary_operators! {
    ADD Add "add" "iadd" "__add__";
    SUBTRACT Subtract "sub" "isub" "__sub__";
    MULTIPLY Multiply "mul" "imul" "__mul__";
    DIVIDE Divide "truediv" "itruediv" "__truediv__";
    FLOOR_DIVIDE FloorDivide "floordiv" "ifloordiv" "__floordiv__";
    REMAINDER Remainder "mod" "imod" "__mod__";
    POWER Power "pow" "ipow" "__pow__";
    AND BitwiseAnd "and_" "iand" "__and__";
    OR BitwiseOr "or_" "ior" "__or__";
    XOR BitwiseXor "xor" "ixor" "__xor__";
    LEFT_SHIFT LeftShift "lshift" "ilshift" "__lshift__";
    RIGHT_SHIFT RightShift "rshift" "irshift" "__rshift__";
    EQUAL Equal "eq" "eq" "__eq__";
    NOT_EQUAL NotEqual "ne" "ne" "__ne__";
    LESS Less "lt" "lt" "__lt__";
    LESS_EQUAL LessEqual "le" "le" "__le__";
    GREATER Greater "gt" "gt" "__gt__";
    GREATER_EQUAL GreaterEqual "ge" "ge" "__ge__";
    MATMUL Matmul "matmul" "imatmul" "__matmul__";
}

/// `lhs (op) rhs`, one of which is a numelt array.
#[inline]
pub fn binary<'py>(
    lhs: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    operator: &'static Binary,
    reflected: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match quick(operator.op, lhs, rhs) {
        // returned in parts, because the compiler would copy the whole result
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => Err(error),
        None => general(lhs, rhs, operator, reflected),
    }
}

/// [`binary`] of operands that [`quick()`] has declined, in both orders, as the interpreter tries them: first as the
/// left operand's operator, then as the reflected one of the right.
pub fn after_quick<'py>(
    lhs: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    operator: &'static Binary,
) -> PyResult<Bound<'py, PyAny>> {
    let refused = lhs.py().NotImplemented();
    if lhs.is_instance_of::<NdArray>() {
        let made = general(lhs, rhs, operator, false)?;
        if !made.is(&refused) {
            return Ok(made);
        }
    }
    match rhs.is_instance_of::<NdArray>() {
        true => general(lhs, rhs, operator, true),
        false => Ok(refused.into_bound(lhs.py())),
    }
}

/// The fast path of an operation on two operands, arrays and Python numbers.
#[inline]
pub fn quick<'py>(op: Op, lhs: &Bound<'py, PyAny>, rhs: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
    let (a, b) = (native_view(lhs), native_view(rhs));
    let view = a.or(b)?;
    let py = lhs.py();
    let keeps = keeps_dtype(op, view.dtype);
    policy::fast(py, || match (a, b) {
        (Some(a), Some(b)) if keeps && a.dtype == b.dtype => quick::pair(py, op, a, b),
        (Some(a), Some(b)) => quick::mixed(py, op, a, b),
        (Some(a), None) if keeps => quick::with_number(py, op, a, rhs, false),
        (Some(a), None) => quick::mixed_number(py, op, a, rhs, false),
        (None, Some(b)) if keeps => quick::with_number(py, op, b, lhs, true),
        (None, Some(b)) => quick::mixed_number(py, op, b, lhs, true),
        (None, None) => None,
    })
}

/// The fast path of an operation on all pairs of elements of two vectors.
pub fn outer<'py>(op: Op, lhs: &Bound<'py, PyAny>, rhs: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
    let vector = |obj| native_view(obj).filter(|view| view.shape.len() == 1);
    let (a, b) = (vector(lhs)?, vector(rhs)?);
    let (extents, strides) = (Dims::from_slice(&[a.shape[0], 1]), Dims::from_slice(&[a.strides[0], 0]));
    let column = shape::window(a, a.offset, extents, strides);
    let like = keeps_dtype(op, a.dtype) && a.dtype == b.dtype;
    let way = if like { quick::pair } else { quick::mixed };
    policy::fast(lhs.py(), || way(lhs.py(), op, &column, b))
}

/// The fast path of an operation on the first two of a list of arrays of one shape and dtype, then on the result and
/// the third, and so on, as NumPy's reduction of such a list does it.
pub fn chained<'py>(op: Op, list: &Bound<'py, PyList>) -> Option<PyResult<Bound<'py, PyAny>>> {
    let first = list.get_item(0).ok()?;
    let whole = native_view(&first).filter(|view| !view.shape.is_empty() && view.size() > 0)?;
    let same = |item: &Bound<'py, PyAny>| {
        native_view(item).is_some_and(|view| view.shape == whole.shape && view.dtype == whole.dtype)
    };
    if list.len() < 2 || !keeps_dtype(op, whole.dtype) || !list.iter().all(|item| same(&item)) {
        return None;
    }
    let mut made = first.clone();
    for item in list.iter().skip(1) {
        made = match quick(op, &made, &item)? {
            Ok(made) => made,
            error => return Some(error),
        };
    }
    Some(Ok(made))
}

/// The fast path of an operation on one array.
#[inline]
pub fn quick_unary<'py>(op: Op, operand: &Bound<'py, PyAny>) -> Option<PyResult<Bound<'py, PyAny>>> {
    let view = native_view(operand)?;
    policy::fast(operand.py(), || quick::single(operand.py(), op, view))
}

/// The view of an array whose class is exactly ours and whose dtype is native.
#[inline(always)]
fn native_view<'a>(obj: &'a Bound<'_, PyAny>) -> Option<&'a ArrayView> {
    obj.cast_exact::<NdArray>().ok()?.get().view()
}

/// Whether the loop dtype of an operation is the common dtype of its operands, and no operand of this dtype can cause
/// an error.
#[inline]
fn keeps_dtype(op: Op, dtype: DType) -> bool {
    match op {
        Op::Add | Op::Multiply => true,
        Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => true,
        Op::Subtract
        | Op::FloorDivide
        | Op::Remainder
        | Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::LeftShift
        | Op::RightShift => dtype != DType::Bool && op.info().dtypes.contains(dtype),
        Op::Maximum | Op::Minimum => op.info().dtypes.contains(dtype),
        Op::Divide => dtype.is_float() || dtype.is_complex(),
        _ => false,
    }
}

fn general<'py>(
    lhs: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    operator: &'static Binary,
    reflected: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = lhs.py();
    if let Decision::FallBack { .. } = policy::of_operator(lhs, rhs)? {
        return fall_back(operator, operator.name, lhs, rhs);
    }
    if operator.op == Op::Power
        && let Some(result) = fast_power(lhs, rhs)?
    {
        return Ok(result);
    }
    let (a, b) = (Operand::extract_quick(lhs), Operand::extract_quick(rhs));
    if let (Some(a), Some(b)) = (a, b) {
        let result = if operator.op == Op::Matmul {
            products::product(py, Op::Matmul, lhs, rhs, None)?
        } else {
            elementwise::apply(py, operator.op, &[a, b], None, None)?
        };
        return match result {
            Some(result) => Ok(result),
            None => fall_back(operator, operator.name, lhs, rhs),
        };
    }
    slow(lhs, rhs, operator, reflected)
}

/// An operator one of whose operands is neither a numelt array nor a number: other classes are asked first, then
/// the operand is converted.
#[cold]
fn slow<'py>(
    lhs: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    operator: &'static Binary,
    reflected: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = lhs.py();
    let (own, other) = if reflected { (rhs, lhs) } else { (lhs, rhs) };
    if let Some(other) = beside_it(own, other)? {
        let (lhs, rhs) = if reflected { (&other, own) } else { (own, &other) };
        return binary(lhs, rhs, operator, reflected);
    }
    // if our operator is the reflected one, the other operand's method has been called already
    if !reflected && !other.is_instance_of::<NdArray>() && defers_to(other, false)? {
        let method = right_method(operator);
        if is_compiled(other, &method)? {
            let args = PyTuple::new(py, [own])?;
            return calling::fallback(operator.method, &other.getattr(&*method)?, &args, None);
        }
        return Ok(py.NotImplemented().into_bound(py));
    }
    if lend::is_foreign(own) {
        return fall_back(operator, operator.name, lhs, rhs);
    }
    if operator.op == Op::Matmul {
        if let Some(result) = products::product(py, Op::Matmul, lhs, rhs, None)? {
            return Ok(result);
        }
    } else if let (Some(a), Some(b)) = (Operand::extract(lhs)?, Operand::extract(rhs)?)
        && let Some(result) = elementwise::apply(py, operator.op, &[a, b], None, None)?
    {
        return Ok(result);
    }
    fall_back(operator, operator.name, lhs, rhs)
}

/// The other operand of an array on a device as numelt's array, if it is an array of another library on such a device.
/// NumPy has no rule for these, because it has no such arrays.
fn beside_it<'py>(own: &Bound<'py, PyAny>, other: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match own.cast_exact::<NdArray>() {
        Ok(array) if device_export::device_of(array.get()).is_some() => device_arrays::taken(other),
        Ok(_) | Err(_) => Ok(None),
    }
}

/// The name of the method of an operator's right operand.
fn right_method(operator: &Binary) -> Cow<'static, str> {
    match operator.op {
        Op::Equal => "__eq__".into(),
        Op::NotEqual => "__ne__".into(),
        Op::Less => "__gt__".into(),
        Op::LessEqual => "__ge__".into(),
        Op::Greater => "__lt__".into(),
        Op::GreaterEqual => "__le__".into(),
        _ => operator.method.replace("ndarray.__", "__r").into(),
    }
}

/// Whether a method is compiled. Compiled methods recognize arrays by NumPy's class.
fn is_compiled(object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    // the metaclass may have a method of the same name, as `type.__ror__`
    match object.get_type().getattr_opt(method)? {
        Some(found) if object.hasattr(method)? => Ok(found.get_type().name()? != "function"),
        _ => Ok(false),
    }
}

fn fall_back<'py>(
    operator: &'static Binary,
    function: &'static str,
    lhs: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = lhs.py();
    if !lhs.is_instance_of::<NdArray>() && !rhs.is_instance_of::<NdArray>() {
        // an operation on scalars alone is NumPy's, and not counted as a fallback
        let callable = hooks::operator(py, function)?;
        return calling::call_numpy(&callable, &PyTuple::new(py, [lhs, rhs])?, None);
    }
    let act = |a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>| numpys(operator, function, a, b);
    if let Some(result) = foreign::operate(operator.method, [lhs, rhs], act)? {
        return Ok(result);
    }
    let args = PyTuple::new(py, [lhs, rhs])?;
    calling::fallback(operator.method, &hooks::operator(py, function)?, &args, None)
}

/// Calls `function`, one of the operator's names in the module `operator`, with the operands as NumPy gets them.
fn numpys<'py>(
    operator: &'static Binary,
    function: &'static str,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let comparison = match operator.op {
        Op::Equal => CompareOp::Eq,
        Op::NotEqual => CompareOp::Ne,
        Op::Less => CompareOp::Lt,
        Op::LessEqual => CompareOp::Le,
        Op::Greater => CompareOp::Gt,
        Op::GreaterEqual => CompareOp::Ge,
        Op::Add if function == operator.name => return a.add(b),
        Op::Subtract if function == operator.name => return a.sub(b),
        Op::Multiply if function == operator.name => return a.mul(b),
        Op::Divide if function == operator.name => return a.div(b),
        _ => return calls::apply(&hooks::operator(a.py(), function)?, (a, b), None),
    };
    a.rich_compare(b, comparison)
}

/// The operations by which NumPy replaces `a ** n` for some Python numbers `n`, on arrays (not scalars).
fn fast_power<'py>(lhs: &Bound<'py, PyAny>, rhs: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = lhs.py();
    let Some(array) = exact_native(lhs) else { return Ok(None) };
    let Some(dtype) = array.view().map(|v| v.dtype) else { return Ok(None) };
    let Some(op) = power_op(dtype, rhs) else { return Ok(None) };
    match (quick_unary(op, lhs), Operand::extract_quick(lhs)) {
        (Some(made), _) => made.map(Some),
        (None, Some(a)) => elementwise::apply(py, op, &[a], None, None),
        (None, None) => Ok(None),
    }
}

fn power_op(dtype: DType, exponent: &Bound<'_, PyAny>) -> Option<Op> {
    let inexact = dtype.is_float() || dtype.is_complex();
    if exponent.is_exact_instance_of::<PyInt>() {
        return match convert::weak(exponent)? {
            Weak::Int(2) => Some(Op::Square),
            Weak::Int(-1) if inexact => Some(Op::Reciprocal),
            Weak::Int(1) if inexact => Some(Op::Positive),
            _ => None,
        };
    }
    let value = exponent.cast_exact::<PyFloat>().ok()?.value();
    if !inexact {
        return None;
    }
    if value == 0.5 {
        return Some(Op::Sqrt);
    }
    (value == 2.0 && dtype.is_complex()).then_some(Op::Square)
}

/// The fast path of an operation in place on an array.
#[inline]
pub fn quick_in_place(op: Op, target: &NdArray, other: &Bound<'_, PyAny>) -> Option<PyResult<()>> {
    let view = target.view()?;
    if !target.writeable() || !keeps_dtype(op, view.dtype) {
        return None;
    }
    policy::fast(other.py(), || quick::update(other.py(), op, view, other))
}

/// `lhs (op)= rhs` on an array. What an operand's class returns for it is dropped.
pub fn in_place<'py>(lhs: &Bound<'py, NdArray>, rhs: &Bound<'py, PyAny>, operator: &'static Binary) -> PyResult<()> {
    match quick_in_place(operator.op, lhs.get(), rhs) {
        Some(done) => done,
        None => slow_in_place(lhs, rhs, operator).map(drop),
    }
}

/// The object that `lhs (op)= rhs` binds to the name on its left: the array, unless the right operand's class returns
/// another object.
#[cold]
pub fn slow_in_place<'py>(
    lhs: &Bound<'py, NdArray>,
    rhs: &Bound<'py, PyAny>,
    operator: &'static Binary,
) -> PyResult<Bound<'py, PyAny>> {
    let py = lhs.py();
    let target = lhs.as_any();
    if operator.op != Op::Matmul
        && lhs.get().view().is_some()
        && let Some(b) = Operand::extract(rhs)?
    {
        let a = Operand::Array(lhs.clone());
        let short = if operator.op == Op::Power { power_op(a.dtype().unwrap_or(DType::F64), rhs) } else { None };
        let done = match short {
            Some(op) => elementwise::apply(py, op, &[a], Some(lhs), None)?,
            None => elementwise::apply(py, operator.op, &[a, b], Some(lhs), None)?,
        };
        if done.is_some() {
            return Ok(target.clone());
        }
    }
    // NumPy writes into our memory through the zero-copy view, or into the `numpy.ndarray` of a non-native dtype
    let made = fall_back(operator, operator.in_place, target, rhs)?;
    let same = match (exact_native(&made).and_then(NdArray::view), lhs.get().view()) {
        (Some(made), Some(view)) => shape::same_window(made, view),
        _ => made.is(target),
    };
    Ok(if same { target.clone() } else { made })
}

/// A unary operator or method with one operand.
pub fn unary<'py>(operand: &Bound<'py, PyAny>, op: Op, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = operand.py();
    if let Some(result) = quick_unary(op, operand) {
        return result;
    }
    if let Some(a) = Operand::extract_quick(operand)
        && let Some(result) = elementwise::apply(py, op, &[a], None, None)?
    {
        return Ok(result);
    }
    let args = || PyTuple::new(py, [operand]);
    if !operand.is_instance_of::<NdArray>() {
        return calling::call_numpy(&hooks::operator(py, name)?, &args()?, None);
    }
    let label = match op {
        Op::Negative => "ndarray.__neg__",
        Op::Positive => "ndarray.__pos__",
        Op::Absolute => "ndarray.__abs__",
        _ => "ndarray.__invert__",
    };
    let act = |operand: &Bound<'py, PyAny>| match op {
        Op::Negative => operand.neg(),
        Op::Positive => operand.pos(),
        Op::Absolute => operand.abs(),
        _ => operand.bitnot(),
    };
    match foreign::operate_one(label, operand, act)? {
        Some(made) => Ok(made),
        None => calling::fallback(label, &hooks::operator(py, name)?, &args()?, None),
    }
}

/// `divmod`.
pub fn divmod<'py>(lhs: &Bound<'py, PyAny>, rhs: &Bound<'py, PyAny>, reflected: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = lhs.py();
    if errstate::is_strict(py)? {
        let divmod = py.import("builtins")?.getattr("divmod")?;
        return calling::call_numpy(&divmod, &PyTuple::new(py, [lhs, rhs])?, None);
    }
    let (own, other) = if reflected { (rhs, lhs) } else { (lhs, rhs) };
    let fall_back = |divmod: &Bound<'py, PyAny>| {
        calling::fallback("ndarray.__divmod__", divmod, &PyTuple::new(py, [lhs, rhs])?, None)
    };
    if !other.is_instance_of::<NdArray>() && carries_out_ufuncs(other)? {
        return fall_back(&Numpy::get(py)?.attr(py, "divmod")?);
    }
    // NumPy's single operation may refuse operands that its two operations would accept
    let refusing = if !reflected && !other.is_instance_of::<NdArray>() && defers_to(other, false)? {
        is_compiled(other, "__rdivmod__")?
    } else {
        lend::is_foreign(own) || lend::is_foreign(other) || Operand::extract(other)?.is_none()
    };
    if refusing {
        return fall_back(&py.import("builtins")?.getattr("divmod")?);
    }
    errstate::as_parts(py, || {
        let quotient = match binary(lhs, rhs, &FLOOR_DIVIDE, reflected) {
            // the error names the single operation, as in NumPy
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                return fall_back(&py.import("builtins")?.getattr("divmod")?);
            }
            quotient => quotient?,
        };
        if quotient.is(py.NotImplemented()) {
            return Ok(quotient);
        }
        let remainder = binary(lhs, rhs, &REMAINDER, reflected)?;
        Ok(PyTuple::new(py, [quotient, remainder])?.into_any())
    })
}

/// `__pow__` with a modulus is not defined for arrays.
pub fn power<'py>(
    lhs: &Bound<'py, PyAny>,
    rhs: &Bound<'py, PyAny>,
    modulo: &Bound<'py, PyAny>,
    reflected: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if modulo.is_none() {
        binary(lhs, rhs, &POWER, reflected)
    } else {
        Ok(lhs.py().NotImplemented().into_bound(lhs.py()))
    }
}
