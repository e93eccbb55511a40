//! New arrays from lists and tuples of numbers, nested at most once, written directly into memory.
//!
//! In: a list, tuple or number. Out: an array; `None` if the object holds anything but numbers, of any kind, for which
//! NumPy's rules are simple.

use crate::cpython::{Any, Quick};
use crate::numpy::convert;
use crate::numpy::errors;
use crate::object::fresh;
use numelt::rules::resolve::Weak;
use numelt_ir::{DType, Dims, Scalar};
use numelt_runtime::Runtime;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyList, PyTuple};
use smallvec::SmallVec;

/// The most numbers that are collected, which limits the time that is lost when a later item is not a plain number.
const MOST: usize = 1 << 22;

/// Why the numbers of a sequence were not collected.
enum NotCollected {
    /// Something in it is not a plain number, or there are too many numbers.
    NotPlain,
    /// An exception was raised when a scalar in it was computed.
    Raised(PyErr),
}

/// Numbers as they are stored: ints, until the first float or complex number makes all of them such numbers. Truth
/// values have only their like beside them.
enum Numbers {
    Bools(SmallVec<[bool; 16]>),
    Ints(SmallVec<[i64; 16]>),
    Floats(SmallVec<[f64; 16]>),
    Complexes(SmallVec<[[f64; 2]; 16]>),
}

impl Numbers {
    fn of_length(count: usize) -> Numbers {
        Numbers::Ints(SmallVec::with_capacity(count))
    }

    /// Adds a number; `None` if it is an int of more than 53 bits, or a truth value beside other numbers.
    #[inline(always)]
    fn push(&mut self, number: Weak) -> Option<()> {
        match (&mut *self, number) {
            (Numbers::Floats(floats), Weak::Float(value)) => floats.push(value),
            (Numbers::Ints(ints), Weak::Int(value)) if is_exact_in_f64(&number) => ints.push(value),
            (Numbers::Floats(floats), Weak::Int(value)) if is_exact_in_f64(&number) => floats.push(value as f64),
            _ => return self.push_other(number),
        }
        Some(())
    }

    /// Adds a number that may change how numbers are stored.
    #[inline(never)]
    fn push_other(&mut self, number: Weak) -> Option<()> {
        match (&mut *self, number) {
            (Numbers::Bools(bools), Weak::Bool(value)) => bools.push(value),
            (Numbers::Complexes(complexes), _) => complexes.push(complex(number)?),
            (Numbers::Ints(ints), Weak::Bool(value)) if ints.is_empty() => {
                let mut bools = SmallVec::with_capacity(ints.capacity());
                bools.push(value);
                *self = Numbers::Bools(bools);
            }
            (Numbers::Ints(ints), Weak::Float(value)) => {
                let mut floats = SmallVec::with_capacity(ints.capacity());
                floats.extend(ints.iter().map(|&value| value as f64));
                floats.push(value);
                *self = Numbers::Floats(floats);
            }
            (Numbers::Ints(ints), Weak::Complex(..)) => {
                let before = ints.iter().map(|&value| value as f64);
                *self = Numbers::complexes(ints.capacity(), before, number)?;
            }
            (Numbers::Floats(floats), Weak::Complex(..)) => {
                *self = Numbers::complexes(floats.capacity(), floats.iter().copied(), number)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Complex numbers: real ones and another one.
    fn complexes(count: usize, before: impl Iterator<Item = f64>, last: Weak) -> Option<Numbers> {
        let mut complexes = SmallVec::with_capacity(count);
        complexes.extend(before.map(|re| [re, 0.0]));
        complexes.push(complex(last)?);
        Some(Numbers::Complexes(complexes))
    }

    fn len(&self) -> usize {
        match self {
            Numbers::Bools(bools) => bools.len(),
            Numbers::Ints(ints) => ints.len(),
            Numbers::Floats(floats) => floats.len(),
            Numbers::Complexes(complexes) => complexes.len(),
        }
    }

    /// The dtype that NumPy would choose for these numbers.
    fn dtype(&self) -> DType {
        match self {
            Numbers::Bools(_) => DType::Bool,
            Numbers::Ints(_) => DType::I64,
            Numbers::Floats(_) => DType::F64,
            Numbers::Complexes(_) => DType::C128,
        }
    }
}

/// The parts of a number as a complex one; `None` if it is an int of more than 53 bits, or a truth value.
fn complex(number: Weak) -> Option<[f64; 2]> {
    match number {
        Weak::Complex(re, im) => Some([re, im]),
        Weak::Float(value) => Some([value, 0.0]),
        Weak::Int(value) if is_exact_in_f64(&number) => Some([value as f64, 0.0]),
        _ => None,
    }
}

/// The array of a sequence of numbers. `dtype` gets the dtype that NumPy would choose, and returns the one that the
/// array shall have; `None` leaves the call to NumPy.
pub fn array<'py>(py: Python<'py>, object: Any<'_, 'py>, dtype: impl FnOnce(DType) -> Option<DType>) -> Quick<'py> {
    let collected = match length(object) {
        Some(count) => collect(object, count),
        None => one(object).ok_or(NotCollected::NotPlain),
    };
    let (numbers, dims) = match collected {
        Ok(collected) if collected.0.len() > 0 => collected,
        Ok(_) | Err(NotCollected::NotPlain) => return Ok(None),
        Err(NotCollected::Raised(error)) => return Err(error),
    };
    let Some(dtype) = dtype(numbers.dtype()) else { return Ok(None) };
    stored(py, &numbers, dtype, &dims)
}

/// The array of numbers in a dtype; `None` if NumPy has special rules for this conversion.
fn stored<'py>(py: Python<'py>, numbers: &Numbers, dtype: DType, dims: &[i64]) -> Quick<'py> {
    match (numbers, dtype) {
        (Numbers::Bools(bools), DType::Bool) => of_elements(py, bools, dtype, dims),
        (Numbers::Complexes(complexes), DType::C128) => of_elements(py, complexes, dtype, dims),
        (Numbers::Floats(floats), DType::F64) => of_elements(py, floats, dtype, dims),
        (Numbers::Ints(ints), DType::I64) => of_elements(py, ints, dtype, dims),
        (Numbers::Ints(ints), DType::F64) => {
            of_elements(py, &ints.iter().map(|&n| n as f64).collect::<SmallVec<[f64; 16]>>(), dtype, dims)
        }
        // NumPy has special rules for floats in an integer array, and for numbers in an array of bool.
        (_, DType::Bool) => Ok(None),
        (Numbers::Floats(_), _) if dtype.is_integer() => Ok(None),
        // ... and for complex numbers as others
        (Numbers::Complexes(_), _) => Ok(None),
        _ if dtype.is_complex() => Ok(None),
        (Numbers::Bools(bools), _) => converted(py, bools.iter().map(|&n| Weak::Int(n.into())), dtype, dims),
        (Numbers::Floats(floats), _) => converted(py, floats.iter().map(|&n| Weak::Float(n)), dtype, dims),
        (Numbers::Ints(ints), _) => converted(py, ints.iter().map(|&n| Weak::Int(n)), dtype, dims),
    }
}

/// A new array of these elements.
fn of_elements<'py, T: Copy>(py: Python<'py>, values: &[T], dtype: DType, dims: &[i64]) -> Quick<'py> {
    // SAFETY: truth values, ints, floats and pairs of floats have no padding.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
    // SAFETY: the GIL is held; see `run::record_as`.
    let base = unsafe { Runtime::global().filled_past(bytes) }.map_err(errors::to_py)?;
    fresh::c_ordered(py, base, dtype, dims).map(|made| Some(made.into_any()))
}

/// The array of numbers, converted to another dtype; `None` if one does not fit, because NumPy then warns or raises.
fn converted<'py>(
    py: Python<'py>,
    numbers: impl ExactSizeIterator<Item = Weak>,
    dtype: DType,
    dims: &[i64],
) -> Quick<'py> {
    let mut bytes: SmallVec<[u8; 128]> = SmallVec::with_capacity(numbers.len() * dtype.size());
    for number in numbers {
        let Some(value) = number.to_scalar(dtype).filter(|v| !number.overflowed(*v)) else { return Ok(None) };
        bytes.extend_from_slice(&value.to_bytes()[..dtype.size()]);
    }
    let base = Runtime::global().filled(&bytes).map_err(errors::to_py)?;
    fresh::c_ordered(py, base, dtype, dims).map(|made| Some(made.into_any()))
}

/// A number as an array without axes.
fn one(object: Any<'_, '_>) -> Option<(Numbers, Dims)> {
    let mut numbers = Numbers::of_length(1);
    numbers.push(real(object)?)?;
    Some((numbers, Dims::new()))
}

/// The numbers of a sequence in order, and the extents, if all are floats or ints of at most 53 bits.
fn collect(object: Any<'_, '_>, rows: usize) -> Result<(Numbers, Dims), NotCollected> {
    if rows == 0 || rows > MOST {
        return Err(NotCollected::NotPlain);
    }
    let first = length(&item(object, 0).ok_or(NotCollected::NotPlain)?);
    let count = rows.checked_mul(first.unwrap_or(1)).filter(|&count| count <= MOST).ok_or(NotCollected::NotPlain)?;
    let mut numbers = Numbers::of_length(count);
    match first {
        None => add(object, rows, &mut numbers)?,
        Some(columns) => {
            for at in 0..rows {
                let row = item(object, at).filter(|row| length(row) == Some(columns)).ok_or(NotCollected::NotPlain)?;
                add(&row, columns, &mut numbers)?;
            }
        }
    }
    let dims = [rows as i64, first.unwrap_or(1) as i64];
    Ok((numbers, Dims::from_slice(&dims[..1 + usize::from(first.is_some())])))
}

/// Adds the numbers of a list or tuple of this length.
fn add(object: Any<'_, '_>, count: usize, numbers: &mut Numbers) -> Result<(), NotCollected> {
    match (object.cast_exact::<PyList>(), object.cast_exact::<PyTuple>()) {
        // the list may become shorter while a scalar in it is computed
        (Ok(list), _) => {
            (0..count).try_for_each(|at| add_one(&list.get_item(at).or(Err(NotCollected::NotPlain))?, numbers))
        }
        (_, Ok(tuple)) => tuple.iter_borrowed().try_for_each(|item| add_one(&item, numbers)),
        _ => Err(NotCollected::NotPlain),
    }
}

#[inline(always)]
fn add_one(item: Any<'_, '_>, numbers: &mut Numbers) -> Result<(), NotCollected> {
    let value = match (item.cast_exact::<PyFloat>(), &mut *numbers) {
        (Ok(value), Numbers::Floats(floats)) => {
            floats.push(value.value());
            return Ok(());
        }
        (Ok(value), _) => Some(Weak::Float(value.value())),
        (Err(_), _) => match real(item) {
            Some(value) => Some(value),
            None => other(item).map_err(NotCollected::Raised)?,
        },
    };
    value.and_then(|value| numbers.push(value)).ok_or(NotCollected::NotPlain)
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

/// The value of a number that is not [`real`], if its dtype is one that NumPy chooses for Python's numbers.
#[inline(never)]
fn other(item: Any<'_, '_>) -> PyResult<Option<Weak>> {
    if let Ok(value) = item.cast_exact::<PyBool>() {
        return Ok(Some(Weak::Bool(value.is_true())));
    }
    if let Ok(value) = item.cast_exact::<PyComplex>() {
        return Ok(Some(Weak::Complex(value.real(), value.imag())));
    }
    Ok(match convert::numpy_scalar_value(item) {
        Some(Scalar::Bool(value)) => Some(Weak::Bool(value)),
        Some(Scalar::F64(value)) => Some(Weak::Float(value)),
        Some(Scalar::I64(value)) => Some(Weak::Int(value)),
        Some(Scalar::C128(value)) => Some(Weak::Complex(value.re, value.im)),
        _ => None,
    })
}

/// Whether a number is a float, or an int of at most 53 bits, which a float holds exactly.
fn is_exact_in_f64(number: &Weak) -> bool {
    match number {
        Weak::Int(value) => value.unsigned_abs() <= 1 << 53,
        Weak::Float(_) => true,
        _ => false,
    }
}

/// The value of a Python number, or of a `numpy.float64` or `numpy.int64`.
pub fn real(item: Any<'_, '_>) -> Option<Weak> {
    let numpys = || convert::numpy_float64(item).map(Weak::Float);
    convert::exact_weak(item).or_else(numpys).or_else(|| convert::numpy_int64(item).map(Weak::Int))
}
