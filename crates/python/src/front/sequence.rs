//! New arrays from lists and tuples of numbers, one or two deep, written straight into memory.

use super::{Any, Quick};
use crate::convert::{self, Weak};
use crate::scalar::DeferredScalar;
use crate::{errors, fresh};
use numelt_ir::{DType, DTypeKind, Dims, Scalar};
use numelt_runtime::Runtime;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};
use smallvec::SmallVec;

/// Elements up to which the quick way is the quicker one.
const MOST: usize = 4096;

type Numbers = SmallVec<[Weak; 16]>;

/// The array of a sequence of numbers, with the dtype that NumPy would give it; `dtype` says which one it is to have instead.
pub fn array<'py>(py: Python<'py>, object: Any<'_, 'py>, dtype: impl FnOnce(DType) -> Option<DType>) -> Quick<'py> {
    if let Some(values) = floats(object) {
        return match dtype(DType::F64) {
            Some(DType::F64) => vector(py, &values).map(Some),
            Some(dtype) => {
                converted(py, &values.iter().map(|&v| Weak::Float(v)).collect(), dtype, &[values.len() as i64])
            }
            None => Ok(None),
        };
    }
    let mut numbers = Numbers::new();
    let dims = match collect(object, &mut numbers)? {
        Some(dims) => dims,
        None => {
            let Some(number) = real(object).filter(is_held) else { return Ok(None) };
            numbers = Numbers::from_slice(&[number]);
            Dims::new()
        }
    };
    if numbers.is_empty() {
        return Ok(None);
    }
    let floats = numbers.iter().any(|n| n.kind() == DTypeKind::Float);
    let Some(dtype) = dtype(if floats { DType::F64 } else { DType::I64 }) else { return Ok(None) };
    converted(py, &numbers, dtype, &dims)
}

/// The floats of a list or tuple that holds nothing else.
fn floats(object: Any<'_, '_>) -> Option<SmallVec<[f64; 16]>> {
    let count = length(object).filter(|n| (1..=MOST).contains(n))?;
    let mut values = SmallVec::with_capacity(count);
    for at in 0..count {
        values.push(item(object, at)?.cast_exact::<PyFloat>().ok()?.value());
    }
    Some(values)
}

fn vector<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: floats are bytes without gaps.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
    // SAFETY: the GIL is held; see `run::record`.
    let base = unsafe { Runtime::global().filled_past(bytes) }.map_err(errors::to_py)?;
    fresh::c_ordered(py, base, DType::F64, &[values.len() as i64]).map(Bound::into_any)
}

/// The array of numbers as a dtype, where NumPy has no special rules for that.
fn converted<'py>(py: Python<'py>, numbers: &Numbers, dtype: DType, dims: &[i64]) -> Quick<'py> {
    let floats = numbers.iter().any(|n| n.kind() == DTypeKind::Float);
    // Floats in an integer array, or ints in a bool one, have rules of their own.
    if dtype == DType::Bool || dtype.is_complex() || (floats && dtype.is_integer()) {
        return Ok(None);
    }
    let mut bytes: SmallVec<[u8; 128]> = SmallVec::with_capacity(numbers.len() * dtype.size());
    for number in numbers {
        let plain = match (dtype, number) {
            (DType::F64, &Weak::Float(value)) => Some(value.to_ne_bytes()),
            (DType::F64, &Weak::Int(value)) => Some((value as f64).to_ne_bytes()),
            (DType::I64, &Weak::Int(value)) => Some(value.to_ne_bytes()),
            _ => None,
        };
        if let Some(plain) = plain {
            bytes.extend_from_slice(&plain);
            continue;
        }
        // NumPy warns of what a short dtype cannot hold
        let Some(value) = number.to_scalar(dtype).filter(|v| !number.overflowed(*v)) else { return Ok(None) };
        bytes.extend_from_slice(&value.to_bytes()[..dtype.size()]);
    }
    let base = Runtime::global().filled(&bytes).map_err(errors::to_py)?;
    fresh::c_ordered(py, base, dtype, dims).map(|made| Some(made.into_any()))
}

/// Extents of the sequence; its numbers in order. `None` unless all are floats and ints that 53 bits hold.
fn collect(object: Any<'_, '_>, numbers: &mut Numbers) -> PyResult<Option<Dims>> {
    let Some(rows) = length(object).filter(|rows| (1..=MOST).contains(rows)) else { return Ok(None) };
    let mut push = |at: Option<Bound<'_, PyAny>>| -> PyResult<bool> {
        let Some(number) = at.map(|item| number(&item)).transpose()?.flatten() else { return Ok(false) };
        numbers.push(number);
        Ok(true)
    };
    let mut columns = None;
    for at in 0..rows {
        let Some(item) = item(object, at) else { return Ok(None) };
        match length(&item) {
            Some(n) if (at == 0 || columns == Some(n)) && rows * n <= MOST => {
                columns = Some(n);
                for inner in 0..n {
                    if !push(self::item(&item, inner))? {
                        return Ok(None);
                    }
                }
            }
            None if columns.is_none() && push(Some(item))? => {}
            Some(_) | None => return Ok(None),
        }
    }
    Ok(match columns {
        Some(columns) => (numbers.len() == rows * columns).then(|| Dims::from_slice(&[rows as i64, columns as i64])),
        None => Some(Dims::from_slice(&[rows as i64])),
    })
}

fn length(object: Any<'_, '_>) -> Option<usize> {
    match object.cast_exact::<PyList>() {
        Ok(list) => Some(list.len()),
        Err(_) => object.cast_exact::<PyTuple>().ok().map(|tuple| tuple.len()),
    }
}

fn item<'py>(object: Any<'_, 'py>, at: usize) -> Option<Bound<'py, PyAny>> {
    match object.cast_exact::<PyList>() {
        Ok(list) => list.get_item(at).ok(),
        Err(_) => object.cast_exact::<PyTuple>().ok()?.get_item(at).ok(),
    }
}

/// A float or int; those of NumPy's scalars count that have the dtype which Python's numbers get.
fn number(item: Any<'_, '_>) -> PyResult<Option<Weak>> {
    if let Some(number) = real(item) {
        return Ok(Some(number).filter(is_held));
    }
    let value = match DeferredScalar::of(item) {
        Some(scalar) if matches!(scalar.get().view().dtype, DType::F64 | DType::I64) => {
            Some(scalar.get().value(item.py())?)
        }
        Some(_) => None,
        None => convert::numpy_scalar_value(item),
    };
    let number = match value {
        Some(Scalar::F64(value)) => Some(Weak::Float(value)),
        Some(Scalar::I64(value)) => Some(Weak::Int(value)),
        _ => None,
    };
    Ok(number.filter(is_held))
}

/// A float, or an int that 53 bits hold?
fn is_held(number: &Weak) -> bool {
    match number {
        Weak::Int(value) => value.unsigned_abs() <= 1 << 53,
        Weak::Float(_) => true,
        _ => false,
    }
}

/// The value of a number of Python's, or of a `numpy.float64` or `numpy.int64`.
pub fn real(item: Any<'_, '_>) -> Option<Weak> {
    let numpys = || convert::numpy_float64(item).map(Weak::Float);
    Weak::exact(item).or_else(numpys).or_else(|| convert::numpy_int64(item).map(Weak::Int))
}
