//! Recording of elementwise operations on native operands, by the rules of crate `numelt`.
//!
//! In: an operation, its operands and options. Out: the recorded result; `None` if NumPy has to run the operation or
//! raise the error.

use crate::array::operand::Operand;
use crate::array::scalar;
use crate::cpython::calls;
use crate::numpy::convert::Numpy;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::record::errstate;
use crate::record::front::Attached;
use crate::sharing::calling;
use numelt::clip::Clip;
use numelt::rules::casting::Casting;
use numelt::rules::resolve::Weak;
use numelt::rules::shape::Order;
use numelt::{Answer, Elementwise, Made, NotNative, Output};
use numelt_ir::{DType, Op};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

/// The result of a native operation, or `None` if NumPy has to run the operation or raise the error.
pub type Native<'py> = PyResult<Option<Bound<'py, PyAny>>>;

/// One call of an elementwise operation.
pub struct Call<'a, 'py> {
    /// The operation.
    pub op: Op,
    /// Its operands.
    pub args: &'a [Operand<'py>],
    /// `out=`
    pub out: Option<&'a Bound<'py, NdArray>>,
    /// `dtype=`
    pub dtype: Option<DType>,
    /// `where=`
    pub mask: Option<&'a Operand<'py>>,
    /// `casting=`
    pub casting: Casting,
    /// `order=`
    pub order: Order,
}

impl<'py> Call<'_, 'py> {
    /// Records the call.
    pub fn apply(&self, py: Python<'py>) -> Native<'py> {
        let usual = self.mask.is_none() && self.casting == Casting::SameKind && self.order == Order::K;
        if errstate::is_strict(py)? {
            return if usual { in_numpy(py, self.op, self.args, self.out, self.dtype) } else { Ok(None) };
        }
        let out = match self.out.map(output) {
            Some(None) => return Ok(None),
            Some(out) => out,
            None => None,
        };
        let args: SmallVec<[numelt::Operand<'_>; 3]> = match self.args.iter().map(Operand::rule).collect() {
            Some(args) => args,
            None => return Ok(None),
        };
        let mask = match self.mask.map(Operand::rule) {
            Some(None) => return Ok(None),
            Some(mask) => mask,
            None => None,
        };
        let Call { op, dtype, casting, order, .. } = *self;
        let call = Elementwise { op, args: &args, out, dtype, mask, casting, order };
        match call.record(&Attached(py))? {
            Answer::NotNative(NotNative::Scalars) => function_of_scalars(py, op, self.args).map(Some),
            answer => finish(py, answer, self.out),
        }
    }
}

/// Records `op` on `args`, into `out`, or into a new array or scalar. `dtype` chooses the loop.
pub fn apply<'py>(
    py: Python<'py>,
    op: Op,
    args: &[Operand<'py>],
    out: Option<&Bound<'py, NdArray>>,
    dtype: Option<DType>,
) -> Native<'py> {
    Call { op, args, out, dtype, mask: None, casting: Casting::SameKind, order: Order::K }.apply(py)
}

/// Records `clip` between bounds.
pub fn clip<'py>(
    py: Python<'py>,
    array: &Operand<'py>,
    bounds: &[Option<Operand<'py>>; 2],
    out: Option<&Bound<'py, NdArray>>,
    dtype: Option<DType>,
) -> Native<'py> {
    let target = match out.map(output) {
        Some(None) => return Ok(None),
        Some(target) => target,
        None => None,
    };
    let mut rules = [None, None];
    for (rule, bound) in rules.iter_mut().zip(bounds) {
        *rule = bound.as_ref().and_then(Operand::rule);
        if rule.is_none() && bound.is_some() {
            return Ok(None);
        }
    }
    let (Some(array), [low, high]) = (array.rule(), rules) else { return Ok(None) };
    finish(py, Clip { array, low, high, out: target, dtype }.record(&Attached(py))?, out)
}

/// A numelt array as an output; `None` for one of a non-native dtype.
pub fn output<'a>(out: &'a Bound<'_, NdArray>) -> Option<Output<'a>> {
    let array = out.get();
    array.view().map(|view| Output { view, writeable: array.writeable() })
}

/// The Python object for the result of a rule: a new array, NumPy's scalar, or the given output.
pub fn finish<'py>(py: Python<'py>, answer: Answer<Made>, out: Option<&Bound<'py, NdArray>>) -> Native<'py> {
    match (answer.recorded(), out) {
        (Some(Made::New(view)), _) if view.shape.is_empty() => scalar::make(py, view).map(Some),
        (Some(Made::New(view)), _) => wrap_new(py, view).map(Some),
        (Some(Made::Written), Some(out)) => Ok(Some(out.clone().into_any())),
        (Some(Made::Written) | None, _) => Ok(None),
    }
}

/// A transcendental function of scalars, computed now by NumPy's ufunc, as if the program had called it.
fn function_of_scalars<'py>(py: Python<'py>, op: Op, args: &[Operand<'py>]) -> PyResult<Bound<'py, PyAny>> {
    let numbers: Vec<_> = args.iter().map(|arg| arg.to_object(py)).collect::<PyResult<_>>()?;
    calls::apply(&Numpy::get(py)?.attr(py, op.name())?, PyTuple::new(py, numbers)?, None)
}

/// Whether a Python number converts to `dtype` within its family (integers or floating-point numbers).
pub fn weak_fits(operand: &Operand<'_>, dtype: DType) -> bool {
    match operand {
        Operand::Weak(weak, _) if dtype == DType::Bool => matches!(weak, Weak::Bool(_)),
        Operand::Weak(weak, _) => weak.to_scalar(dtype).is_some(),
        Operand::Array(_) | Operand::Value(_) => true,
    }
}

/// Lets NumPy run the operation now; `None` if NumPy has no ufunc of that name.
fn in_numpy<'py>(
    py: Python<'py>,
    op: Op,
    args: &[Operand<'py>],
    out: Option<&Bound<'py, NdArray>>,
    dtype: Option<DType>,
) -> Native<'py> {
    let numpy = Numpy::get(py)?;
    let function = match op {
        Op::Where | Op::Copy | Op::RealPart | Op::ImagPart | Op::Erf => return Ok(None),
        _ => numpy.attr(py, op.name())?,
    };
    let objects = args.iter().map(|a| a.to_object(py)).collect::<PyResult<Vec<_>>>()?;
    let kwargs = PyDict::new(py);
    if let Some(out) = out {
        kwargs.set_item("out", PyTuple::new(py, [out])?)?;
    }
    if let Some(dtype) = dtype {
        kwargs.set_item("dtype", numpy.descr(py, dtype))?;
    }
    let result = calling::call_numpy(&function, &PyTuple::new(py, objects)?, Some(&kwargs))?;
    Ok(Some(out.map_or(result, |out| out.clone().into_any())))
}
