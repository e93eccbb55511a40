//! Compiled functions for running sums, differences and limits.

use super::arguments::{Quick, any_dtype, any_int, few, given_value, native, output};
use super::{conversion, joining};
use crate::array::operand::Operand;
use crate::array_class::members::vector;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::object::fresh::wrap_view;
use crate::object::ndarray::NdArray;
use crate::record::errstate;
use crate::sharing::{foreign, lend};
use crate::ufunc::{elementwise, operators, quick, reduce};
use numelt::{clip, normalize_axis};
use numelt_ir::{DType, Op};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;

/// `cumsum` or `cumprod` of few elements of a vector whose dtype is the result's.
fn few_scanned<'py>(given: &Given<'_, 'py>, scan: Op) -> Quick<'py> {
    let py = given.py();
    let Some(array) = few(given) else { return Ok(None) };
    if errstate::is_strict(py)? {
        return Ok(None);
    }
    let kept = |view: &ArrayView| matches!(view.dtype, DType::F64 | DType::I64) && view.shape.len() == 1;
    if !array.get().view().is_some_and(kept) {
        return Ok(None);
    }
    reduce::scan(py, scan, &Operand::Array(array), None, None, None)
}

/// `cumsum` of few elements.
pub fn cumsum<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    few_scanned(given, Op::Cumsum)
}

/// `cumprod` of few elements.
pub fn cumprod<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    few_scanned(given, Op::Cumprod)
}

/// `cumsum`
pub fn running_sum<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    scanned(given, Op::Cumsum)
}

/// `cumprod`
pub fn running_product<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    scanned(given, Op::Cumprod)
}

/// A recorded scan with any of NumPy's arguments.
fn scanned<'py>(given: &Given<'_, 'py>, scan: Op) -> Quick<'py> {
    const SCAN: Parameters<4> = Parameters::new(["a", "axis", "dtype", "out"], 1);
    let py = given.py();
    let Some([Arg(Some(a)), axis, dtype, out]) = given.bind(&SCAN) else { return Ok(None) };
    let wanted = if dtype.is_none() { None } else { any_dtype(dtype, DType::F64)? };
    let mut slot = None;
    let Some((array, view)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    let Some(out) = output(out).filter(|_| wanted.is_some() || dtype.is_none()) else { return Ok(None) };
    // the dtype of the output takes part in the choice of the loop
    let target = out.as_ref().and_then(|out| out.get().view()).map(|target| target.dtype);
    let shared = target.filter(|&target| wanted.unwrap_or(target.promote(view.dtype)) == target);
    let array = match view.shape.len() {
        0 => vector(array, view, 1)?.cast_into::<NdArray>()?,
        _ => array.clone(),
    };
    reduce::scan(py, scan, &Operand::Array(array), axis.given().as_deref(), shared.or(wanted), out.as_ref())
}

/// `diff` of few elements along the last axis.
pub fn diff<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    if let Some(array) = given.one().filter(|array| lend::is_foreign(array)) {
        return foreign::differences(&array);
    }
    let Some(array) = few(given) else { return Ok(None) };
    if errstate::is_strict(py)? {
        return Ok(None);
    }
    let Some(view) = array.get().view().filter(|view| view.dtype != DType::Bool) else { return Ok(None) };
    let last = view.shape.len() - 1;
    let from = |first: i64| {
        let mut part = view.clone();
        part.offset += first * view.strides[last];
        part.shape[last] -= 1;
        part
    };
    if view.shape[last] < 2 { Ok(None) } else { quick::pair(py, Op::Subtract, &from(1), &from(0)).transpose() }
}

/// `diff`: recorded differences of neighbours along an axis, `n` times over.
pub fn differences<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const DIFF: Parameters<5> = Parameters::new(["a", "n", "axis", "prepend", "append"], 1);
    let py = given.py();
    let Some([Arg(Some(a)), n, axis, prepend, append]) = given.bind(&DIFF) else { return Ok(None) };
    let number = |arg: Arg<'_, '_>, default: i64| arg.given().map_or(Some(default), |value| any_int(&value));
    let (Some(n), Some(axis)) = (number(n, 1).filter(|&n| n >= 0), number(axis, -1)) else { return Ok(None) };
    let mut slot = None;
    let Some((array, view)) = conversion::operand(&a, &mut slot)? else { return Ok(None) };
    let Some(axis) = normalize_axis(axis, view.shape.len()).filter(|_| !view.shape.is_empty()) else {
        return Ok(None);
    };
    if n == 0 {
        return Ok(Some(a.to_owned()));
    }
    let (before, behind) = (given_value(&prepend), given_value(&append));
    let mut made = array.clone();
    if before.is_some() || behind.is_some() {
        match joining::extended(array, view, axis, [before, behind])? {
            Some(extended) => made = extended.cast_into::<NdArray>()?,
            None => return Ok(None),
        }
    }
    for _ in 0..n {
        let Some(view) = made.get().view() else { return Ok(None) };
        let op = if view.dtype == DType::Bool { Op::NotEqual } else { Op::Subtract };
        let part = |from: i64| {
            let mut part = view.clone();
            part.shape[axis] = (part.shape[axis] - 1).max(0);
            part.offset += from * part.strides[axis] * part.shape[axis].min(1);
            wrap_view(&made, part)?.cast_into::<NdArray>().map(Operand::Array).map_err(PyErr::from)
        };
        let neighbours = [part(1)?, part(0)?];
        match elementwise::apply(py, op, &neighbours, None, None)? {
            Some(differences) => made = differences.cast_into::<NdArray>()?,
            None => return Ok(None),
        }
    }
    Ok(Some(made.into_any()))
}

/// `clip` of a native array between two numbers that its dtype holds, by the steps that [`numelt::clip::Clip`] takes.
/// On few elements it runs at once.
pub fn clip<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([array, low, high]) = given.exactly() else { return Ok(None) };
    let Some(view) = native(&array).filter(|v| !v.shape.is_empty()) else { return Ok(None) };
    let dtype = view.dtype;
    // if an element and a bound are zeros of different signs, the element stays
    let known = clip::has_loop(dtype) && (dtype.is_integer() || clip::element_stays(dtype));
    if !known || [&low, &high].iter().any(|end| quick::literal(dtype, end).is_none()) {
        return Ok(None);
    }
    let Some(above) = operators::quick(Op::Maximum, &low, &array).transpose()? else { return Ok(None) };
    operators::quick(Op::Minimum, &high, &above).transpose()
}
