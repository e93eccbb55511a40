//! `array[key] = value` for keys with arrays and masks, by the rules of `numelt::indexing`.

use super::key::{Key, KeyItem};
use super::{few, few_by_lookup};
use crate::array::operand::Operand;
use crate::array::{assign, basic, to_u32};
use crate::numpy::convert;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::front::Attached;
use numelt::Answer;
use numelt::indexing::{self, Assigned};
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// `array[key] = value` for an array of few positions, or a mask, and a vector or a Python number, all of it in memory;
/// `None`, with nothing done, for all others. It runs no Python code.
pub fn set_few<'py>(
    py: Python<'py>,
    view: &ArrayView,
    key: &ArrayView,
    value: &Bound<'py, PyAny>,
) -> Option<PyResult<()>> {
    let plain = match convert::exact_weak(value) {
        Some(number) => number.to_scalar(view.dtype).is_some_and(|stored| !number.overflowed(stored)),
        None => exact_native(value).is_some(),
    };
    if !plain {
        return None;
    }
    few::set(py, view, key, value).map(|done| done.then_some(())).transpose()
}

/// `array[key] = value`; false if NumPy has to examine the key.
pub fn set<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let py = array.py();
    if overflows(value, view.dtype) {
        return Ok(false);
    }
    if let Some(one) = exact_native(key).and_then(NdArray::view)
        && few::set(py, view, one, value)?
    {
        return Ok(true);
    }
    if let Ok(list) = key.cast_exact::<PyList>()
        && few::set_listed(py, view, list, value)?
    {
        return Ok(true);
    }
    if few::set_paired(py, view, key, value)? {
        return Ok(true);
    }
    let Some(key) = Key::parse(key)? else { return Ok(false) };
    if key.is_basic() {
        let target = basic::select(view, &key.parts())?;
        let fits = !target.scalar || Operand::extract_quick(value).is_some_and(|v| v.shape().is_empty());
        return Ok(fits && assign::assign(py, &target.view, value)?);
    }
    if few_by_lookup::set(py, view, &key.items, value)? {
        return Ok(true);
    }
    let by_mask = matches!(&key.items[..], [KeyItem::Mask(mask)] if mask.shape.len() == view.shape.len());
    let Some(value) = assigned(py, value, view, !by_mask)? else { return Ok(false) };
    Ok(matches!(indexing::set(&Attached(py), view, &key.items, value)?, Answer::Recorded(())))
}

/// Does a finite number become infinite when it is stored? NumPy warns once, whatever it then finds in the key.
fn overflows(value: &Bound<'_, PyAny>, dtype: DType) -> bool {
    if !matches!(dtype, DType::F16 | DType::F32 | DType::C64) {
        return false;
    }
    let Some(operand) = Operand::extract_quick(value) else { return false };
    let Some(value @ (numelt::Operand::Value(_) | numelt::Operand::Weak(_))) = operand.rule() else { return false };
    numelt::assign::literal(&value, dtype).is_some_and(|stored| numelt::assign::overflowed(&value, stored))
}

/// The value converted for the target; `None` if NumPy raises or warns. With `whole`, NumPy converts all of it in one
/// loop before it examines the positions.
fn assigned<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    target: &ArrayView,
    whole: bool,
) -> PyResult<Option<Assigned>> {
    let Some(operand) = Operand::extract(value)? else { return Ok(None) };
    let dtype = target.dtype;
    if let Some(view) = operand.view() {
        let sequence = value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>();
        // the elements of sequences are converted one by one, and one that does not fit is an error
        if sequence && view.dtype.promote(dtype) != dtype {
            return Ok(None);
        }
        if whole
            && dtype == DType::U32
            && let Some(numbers) = to_u32::to_u32(py, view)?
        {
            return Ok(Some(Assigned::View(numbers)));
        }
    }
    let Some(value) = operand.rule() else { return Ok(None) };
    indexing::stored(&Attached(py), &value, target).map(Answer::recorded)
}
