//! Indexing with any key: reading and writing a view, an element, or what masks and index arrays select.
//!
//! In: an array, a key, and perhaps a value. Out: a view, a new array or a scalar, or the changed array. Not here: what
//! keys without arrays select (`basic`), and masks and index arrays (`advanced`).

use crate::array::basic::{Reached, element, integer, parse, peek_at, quick, read_at, read_element, select};
use crate::array::operand::Operand;
use crate::array::{advanced, assign};
use crate::cpython::calls;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::numpy::hooks;
use crate::object::fresh::wrap_view;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::run;
use crate::sharing::policy;
use crate::sharing::{array_like, calling, derived, foreign, subclass};
use numelt::Error;
use numelt::assign::{literal, overflowed};
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt_ir::{DType, Dims, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyTuple};

/// `array[key]`
pub fn get<'py>(array: &Bound<'py, NdArray>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let Ok(view) = policy::of_index(array.get()) else { return get_fallback(array, key) };
    if let Some(offset) = element(view, key) {
        return read_at(py, view, offset);
    }
    if key.is_exact_instance_of::<NdArray>()
        && let Some(picked) = advanced::get(array, view, key)?
    {
        return Ok(picked);
    }
    match quick(view, key)? {
        Some(Reached::Element(offset)) => return read_at(py, view, offset),
        Some(Reached::Window(window)) => return wrap_view(array, window),
        None => {}
    }
    let Some(parts) = parse(key)? else {
        return match advanced::get(array, view, key)? {
            Some(result) => Ok(result),
            None => get_fallback(array, key),
        };
    };
    let selection = select(view, &parts)?;
    if selection.scalar {
        return read_element(py, &selection.view);
    }
    wrap_view(array, selection.view)
}

/// [`get`] for the most frequent keys, without running anything and without calling Python; `None` for all others.
#[inline(always)]
pub fn quick_get<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    key: &Bound<'py, PyAny>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if let Some(offset) = element(view, key) {
        let py = array.py();
        return peek_at(py, view, offset).map(Ok);
    }
    if let Some(positions) = exact_native(key).and_then(NdArray::view) {
        return advanced::get_few(array.py(), view, positions);
    }
    match quick(view, key) {
        Ok(Some(Reached::Window(window))) => Some(wrap_view(array, window)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }
}

/// [`set`] for the most frequent keys and values; `None`, with nothing done, for all others.
#[inline(always)]
pub fn quick_set<'py>(
    array: &Bound<'py, NdArray>,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> Option<PyResult<()>> {
    policy::fast(array.py(), || set_quickly(array, key, value))
}

#[inline(always)]
fn set_quickly<'py>(
    array: &Bound<'py, NdArray>,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> Option<PyResult<()>> {
    let view = array.get().view().filter(|_| array.get().writeable())?;
    if let Some(offset) = element(view, key) {
        return (write_plain(view, offset, value) || write_converted(view, offset, value)).then_some(Ok(()));
    }
    if let Some(positions) = exact_native(key).and_then(NdArray::view) {
        return advanced::set_few(array.py(), view, positions, value);
    }
    let target = match quick(view, key) {
        Ok(Some(Reached::Window(target))) => target,
        Ok(_) => return None,
        Err(error) => return Some(Err(error)),
    };
    if exact_native(value).is_none() && convert::exact_weak(value).is_none() {
        return None;
    }
    match assign::assign(array.py(), &target, value) {
        Ok(true) => Some(Ok(())),
        Ok(false) => None,
        Err(error) => Some(Err(error)),
    }
}

fn get_fallback<'py>(array: &Bound<'py, NdArray>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if let Err(real) = policy::of_index(array.get())
        && let Some(item) = foreign::get(array, real.bind(py), key)?
    {
        return Ok(item);
    }
    if derived::is_instance(key)? {
        return get(array, &subclass::plain(key)?);
    }
    match hooks::hook(py, "getitem")? {
        Some(hook) => calls::apply(&hook, (array, key), None),
        None => {
            let args = PyTuple::new(py, [array.as_any(), key])?;
            calling::fallback("ndarray.__getitem__", &hooks::operator(py, "getitem")?, &args, None)
        }
    }
}

/// `array[key] = value`
pub fn set<'py>(array: &Bound<'py, NdArray>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
    if let Ok(view) = policy::of_index(array.get()) {
        if !array.get().writeable() {
            return Err(errors::from_rules(Error::ReadOnlyAssignment));
        }
        if let Some(offset) = element(view, key)
            && (write_plain(view, offset, value) || write_element(array.py(), view, offset, value)?)
        {
            return Ok(());
        }
        match quick(view, key)? {
            Some(Reached::Element(offset)) if write_element(array.py(), view, offset, value)? => return Ok(()),
            Some(Reached::Window(target)) if assign::assign(array.py(), &target, value)? => return Ok(()),
            Some(Reached::Window(_)) => return set_fallback(array, key, value),
            Some(Reached::Element(_)) | None => {}
        }
        if let Some(parts) = parse(key)? {
            let target = select(view, &parts)?;
            let py = array.py();
            if target.scalar && Operand::extract_quick(value).is_none_or(|v| !v.shape().is_empty()) {
                // NumPy decides what a sequence or another object is as one element; usually it raises an error
                let args = PyTuple::new(py, [array.as_any(), key, value])?;
                return calling::call_numpy(&hooks::operator(py, "setitem")?, &args, None).map(|_| ());
            }
            if assign::assign(py, &target.view, value)? {
                return Ok(());
            }
        } else if advanced::set(array, view, key, value)? {
            return Ok(());
        }
    }
    set_fallback(array, key, value)
}

/// Stores a number in an element of an array of floats, ints or bools at once; false if that is not possible
/// here.
#[inline(always)]
fn write_plain(view: &ArrayView, offset: i64, value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    match view.dtype {
        DType::F64 => match value.cast_exact::<PyFloat>() {
            Ok(value) => write(py, view, offset, value.value().to_ne_bytes()),
            Err(_) => convert::numpy_float64(value)
                .or_else(|| integer(value).map(|value| value as f64))
                .is_some_and(|value| write(py, view, offset, value.to_ne_bytes())),
        },
        DType::I64 => integer(value).is_some_and(|value| write(py, view, offset, value.to_ne_bytes())),
        // a number that does not fit is an error or a warning
        DType::F32 => {
            let whole = || integer(value).filter(|value| value.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS);
            let number = value.cast_exact::<PyFloat>().map(|value| value.value()).ok();
            number.or_else(|| whole().map(|value| value as f64)).is_some_and(|number| {
                let stored = number as f32;
                stored.is_finite() == number.is_finite() && write(py, view, offset, stored.to_ne_bytes())
            })
        }
        DType::I32 => {
            let fitting = integer(value).and_then(|value| i32::try_from(value).ok());
            fitting.is_some_and(|value| write(py, view, offset, value.to_ne_bytes()))
        }
        DType::U8 => {
            let fitting = integer(value).and_then(|value| u8::try_from(value).ok());
            fitting.is_some_and(|value| write(py, view, offset, [value]))
        }
        DType::Bool => {
            value.cast_exact::<PyBool>().is_ok_and(|value| write(py, view, offset, [value.is_true().into()]))
        }
        _ => false,
    }
}

/// Stores a number in an element of another dtype at once; false if that is not possible here, or NumPy raises or
/// warns.
#[inline(never)]
fn write_converted(view: &ArrayView, offset: i64, value: &Bound<'_, PyAny>) -> bool {
    let weak = || match value.cast_exact::<PyBool>() {
        Ok(value) => Some(Weak::Bool(value.is_true())),
        Err(_) => convert::exact_weak(value),
    };
    let number = match weak() {
        Some(weak) => numelt::Operand::Weak(weak),
        None => match convert::numpy_int64(value).map(Scalar::I64).or_else(|| convert::numpy_scalar_value(value)) {
            Some(value) => numelt::Operand::Value(value),
            None => return false,
        },
    };
    match literal(&number, view.dtype).filter(|&stored| !overflowed(&number, stored)) {
        Some(stored) => {
            let (bytes, size) = (stored.to_bytes(), view.dtype.size());
            let store = |memory: &mut [u8]| memory[offset as usize..][..size].copy_from_slice(&bytes[..size]);
            run::poke(value.py(), &view.base, store).is_some()
        }
        None => false,
    }
}

/// Stores an element of the view's dtype, given as bytes, at a byte offset of its base; false if the memory has still
/// to be computed.
#[inline(always)]
fn write<const SIZE: usize>(py: Python<'_>, view: &ArrayView, offset: i64, value: [u8; SIZE]) -> bool {
    let store = |bytes: &mut [u8]| bytes[offset as usize..][..SIZE].copy_from_slice(&value);
    run::poke(py, &view.base, store).is_some()
}

/// Stores a number in one element at once; false if the assignment has to be recorded, or is left to NumPy.
pub fn write_element(py: Python<'_>, view: &ArrayView, offset: i64, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if view.base.is_pending() {
        return Ok(false);
    }
    let literal = match Operand::extract_quick(value) {
        Some(number) => assign::stored_literal(py, &number, view.dtype)?,
        None => None,
    };
    match literal {
        Some(literal) => run::write_scalar(py, &view.base, offset, literal),
        None => Ok(false),
    }
}

fn set_fallback<'py>(array: &Bound<'py, NdArray>, key: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<()> {
    let py = array.py();
    if let Err(real) = policy::of_index(array.get())
        && foreign::set(real.bind(py), key, value)?
    {
        return Ok(());
    }
    if derived::is_instance(key)? {
        return set(array, &subclass::plain(key)?, value);
    }
    if array.get().view().is_some() && derived::is_instance(value)? {
        return set(array, key, &subclass::plain(value)?);
    }
    if array.get().view().is_some() && array_like::is_array_like(value)? {
        let convert = Numpy::get(py)?.attr(py, "asarray")?;
        return set(array, key, &calls::apply(&convert, (value,), None)?);
    }
    match hooks::hook(py, "setitem")? {
        Some(hook) => calls::apply(&hook, (array, key, value), None).map(|_| ()),
        None => {
            let args = PyTuple::new(py, [array.as_any(), key, value])?;
            calling::fallback("ndarray.__setitem__", &hooks::operator(py, "setitem")?, &args, None).map(|_| ())
        }
    }
}

/// The element or sub-array at a position of the first axis, which has that position.
#[inline(always)]
pub fn item<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, position: i64) -> PyResult<Bound<'py, PyAny>> {
    let offset = view.offset + position * view.strides[0];
    if view.shape.len() == 1 {
        return read_at(array.py(), view, offset);
    }
    let (dims, strides) = (Dims::from_slice(&view.shape[1..]), Dims::from_slice(&view.strides[1..]));
    wrap_view(array, shape::window(view, offset, dims, strides))
}
