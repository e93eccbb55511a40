//! Compiled functions for running sums, differences and limits.

use super::arguments::{Quick, few, native};
use crate::array::operand::Operand;
use crate::cpython::given::Given;
use crate::numpy::{foreign, lend};
use crate::record::errstate;
use crate::ufunc::{operators, quick, reduce};
use numelt::clip;
use numelt_ir::{DType, Op};
use numelt_runtime::ArrayView;

/// `cumsum` or `cumprod` of a vector whose dtype is the result's.
fn scanned<'py>(given: &Given<'_, 'py>, scan: Op) -> Quick<'py> {
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

/// `cumsum`
pub fn cumsum<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    scanned(given, Op::Cumsum)
}

/// `cumprod`
pub fn cumprod<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    scanned(given, Op::Cumprod)
}

/// `diff` of adjacent elements along the last axis.
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
