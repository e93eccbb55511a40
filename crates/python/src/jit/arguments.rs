//! Classifies the arguments of a loop for the specializer: the type of a value and the numbers that represent it, or
//! the kind of another object.

use crate::jit::{draws, known};
use crate::numpy::convert::{self, Numpy};
use crate::object::ndarray::{NdArray, Payload};
use crate::record::run;
use crate::sharing::real_array::RealArray;
use numelt_ir::{DType, Scalar};
use numelt_jit::{Argument, ObjectKind, Type};
use numelt_runtime::{BaseRef, GuardSet, ReadGuard, Reason, WriteGuard};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyModule, PyRange, PyTuple};
use smallvec::SmallVec;

/// The arguments of a loop, followed by the objects found outside.
pub type Objects<'py> = SmallVec<[Bound<'py, PyAny>; 16]>;

/// The class of [`unbound`].
#[pyclass(name = "unbound", module = "numelt._core", frozen)]
struct Unbound;

#[pymethods]
impl Unbound {
    /// The object is pickled by its name, so that there is only one of it.
    fn __reduce__(&self) -> &'static str {
        "jit_unbound"
    }
}

/// The object that marks a variable without a value.
pub fn unbound(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static UNBOUND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = UNBOUND.get_or_try_init(py, || Ok::<_, PyErr>(Bound::new(py, Unbound)?.into_any().unbind()))?;
    Ok(made.bind(py).clone())
}

/// The numbers of all values among the arguments.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The numbers of all values, one after the other. The address of an array is zero until `hold` fills it in.
    pub words: SmallVec<[u64; 48]>,
    /// The arrays among the arguments.
    pub arrays: SmallVec<[ArrayAt; 8]>,
    /// The lists among the arguments. Their addresses are zero until `lists` has copied their numbers.
    pub lists: SmallVec<[ListAt; 4]>,
}

impl Numbers {
    /// How many words, arrays and lists there are.
    pub fn counts(&self) -> [usize; 3] {
        [self.words.len(), self.arrays.len(), self.lists.len()]
    }

    /// Removes all but so many of each.
    pub fn truncate(&mut self, [words, arrays, lists]: [usize; 3]) {
        self.words.truncate(words);
        self.arrays.truncate(arrays);
        self.lists.truncate(lists);
    }
}

/// An array among the arguments.
#[derive(Debug)]
pub struct ArrayAt {
    /// The index of the argument.
    pub argument: u32,
    /// The index of its first number.
    pub at: usize,
}

/// A list among the arguments.
#[derive(Debug)]
pub struct ListAt {
    /// The index of the argument.
    pub argument: u32,
    /// The index of its first number.
    pub at: usize,
    /// The type of the list's numbers, if they are all like the first one.
    pub dtype: DType,
    /// 1 for a list of numbers, 2 for a list of lists.
    pub depth: u8,
    /// Are the numbers held by tuples?
    pub fixed: bool,
}

fn value(ty: Type) -> Argument {
    Argument { kind: ObjectKind::Value, ty }
}

/// Classifies an object. The numbers of a value are appended to `numbers`.
pub fn classify(object: &Bound<'_, PyAny>, number: u32, numbers: &mut Numbers) -> PyResult<Argument> {
    let other = || Argument { kind: ObjectKind::Other, ty: Type::None };
    if let Ok(int) = object.cast_exact::<PyInt>() {
        return Ok(match small_int(int) {
            Some(int) => {
                numbers.words.push(int as u64);
                value(Type::Int)
            }
            None => other(),
        });
    }
    if let Ok(float) = object.cast_exact::<PyFloat>() {
        numbers.words.push(float.value().to_bits());
        return Ok(value(Type::Float));
    }
    if let Ok(array) = object.cast_exact::<NdArray>() {
        return Ok(array_type(array, number, numbers).map_or_else(other, value));
    }
    if let Ok(truth) = object.cast_exact::<PyBool>() {
        numbers.words.push(truth.is_true().into());
        return Ok(value(Type::Bool));
    }
    if object.is_none() {
        return Ok(value(Type::None));
    }
    if object.is(unbound(object.py())?) {
        return Ok(value(Type::Unbound));
    }
    // SAFETY: the object is alive.
    let is_callable =
        unsafe { ffi::PyType_Check(object.as_ptr()) != 0 || ffi::PyCFunction_Check(object.as_ptr()) != 0 };
    if is_callable {
        let kind = known::object_kind(object)?.or_else(|| draws::object_kind(object));
        return Ok(kind.map_or_else(other, |kind| Argument { kind, ty: Type::None }));
    }
    if let Some(scalar) = convert::numpy_scalar_value(object) {
        if scalar.dtype() == DType::F16 {
            return Ok(other());
        }
        push_scalar(scalar, &mut numbers.words);
        return Ok(value(Type::Scalar(scalar.dtype())));
    }
    if object.get_type_ptr() == Numpy::get(object.py())?.ndarray.as_ptr().cast() {
        return Ok(numpy_array(object, number, numbers).map_or_else(other, value));
    }
    if let Ok(complex) = object.cast_exact::<PyComplex>() {
        numbers.words.extend([complex.real().to_bits(), complex.imag().to_bits()]);
        return Ok(value(Type::Complex));
    }
    if let Ok(list) = object.cast_exact::<PyList>() {
        return Ok(list_type(list, number, numbers).map_or_else(other, value));
    }
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        return tuple_type(tuple, numbers);
    }
    if let Ok(range) = object.cast_exact::<PyRange>() {
        return Ok(range_type(range, numbers).map_or_else(other, value));
    }
    if object.cast_exact::<PyModule>().is_ok() || object.is_instance_of::<PyModule>() {
        return Ok(Argument { kind: ObjectKind::Module, ty: Type::None });
    }
    // SAFETY: the object is alive.
    if unsafe { ffi::PyFunction_Check(object.as_ptr()) } != 0 && !known::is_known(object) {
        return Ok(Argument { kind: ObjectKind::Function, ty: Type::None });
    }
    let kind = known::object_kind(object)?.or_else(|| draws::object_kind(object));
    Ok(kind.map_or_else(other, |kind| Argument { kind, ty: Type::None }))
}

/// The value of an `int`, if it fits 64 bits.
fn small_int(int: &Bound<'_, PyInt>) -> Option<i64> {
    let mut overflow = 0;
    // SAFETY: the object is an int.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(int.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}

fn push_scalar(scalar: Scalar, words: &mut SmallVec<[u64; 48]>) {
    let bytes = scalar.to_bytes();
    let half = |at: usize, size: usize| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[at..at + size]);
        u64::from_le_bytes(word)
    };
    match scalar.dtype() {
        DType::C128 => words.extend([half(0, 8), half(8, 8)]),
        DType::C64 => words.extend([half(0, 4), half(4, 4)]),
        dtype => words.push(half(0, dtype.size())),
    }
}

/// Longer tuples are not treated as values.
const LONGEST: usize = 16;

fn tuple_type(tuple: &Bound<'_, PyTuple>, numbers: &mut Numbers) -> PyResult<Argument> {
    let start = numbers.counts();
    let mut types = Vec::with_capacity(tuple.len());
    for item in tuple.iter().take(LONGEST + 1) {
        let argument = classify(&item, u32::MAX, numbers)?;
        let is_simple = argument.kind == ObjectKind::Value
            && !matches!(argument.ty, Type::Array { .. } | Type::List { .. } | Type::Unbound)
            && types.len() < LONGEST;
        if !is_simple {
            numbers.truncate(start);
            return Ok(Argument { kind: ObjectKind::Other, ty: Type::None });
        }
        types.push(argument.ty);
    }
    Ok(value(Type::Tuple(types)))
}

fn range_type(range: &Bound<'_, PyRange>, numbers: &mut Numbers) -> Option<Type> {
    let get = |name| range.getattr(name).ok()?.extract::<i64>().ok();
    let parts = [get("start")?, get("stop")?, get("step")?];
    // so that the difference of two of them fits 64 bits
    parts.iter().all(|part| part.unsigned_abs() <= 1 << 61).then(|| {
        numbers.words.extend(parts.map(|part| part as u64));
        Type::Range
    })
}

/// The type of a list, by its first number. Whether the others are like it is seen when they are copied.
fn list_type(list: &Bound<'_, PyList>, number: u32, numbers: &mut Numbers) -> Option<Type> {
    let first = list.get_item(0).ok().filter(|_| number != u32::MAX)?;
    let length = list.len() as i64;
    if let Ok(row) = first.cast_exact::<PyList>() {
        let dtype = number_dtype(&row.get_item(0).ok()?)?;
        return Some(push_list(number, &[length, row.len() as i64], dtype, false, numbers));
    }
    if let Ok(row) = first.cast_exact::<PyTuple>() {
        let dtype = number_dtype(&row.get_item(0).ok()?)?;
        return Some(push_list(number, &[length, row.len() as i64], dtype, true, numbers));
    }
    Some(push_list(number, &[length], number_dtype(&first)?, false, numbers))
}

fn push_list(number: u32, shape: &[i64], dtype: DType, fixed: bool, numbers: &mut Numbers) -> Type {
    let size = dtype.size() as i64;
    let strides: &[i64] = if let [_, columns] = shape { &[columns * size, size] } else { &[size] };
    let depth = shape.len() as u8;
    numbers.lists.push(ListAt { argument: number, at: numbers.words.len(), dtype, depth, fixed });
    numbers.words.extend([u64::from(number), 0]);
    numbers.words.extend(shape.iter().chain(strides).map(|&n| n as u64));
    Type::List { dtype, depth, fixed }
}

/// How a number of Python is represented in a list.
fn number_dtype(number: &Bound<'_, PyAny>) -> Option<DType> {
    if number.is_exact_instance_of::<PyFloat>() {
        Some(DType::F64)
    } else if number.is_exact_instance_of::<PyInt>() {
        Some(DType::I64)
    } else if number.is_exact_instance_of::<PyBool>() {
        Some(DType::Bool)
    } else {
        None
    }
}

fn push_array(number: u32, shape: &[i64], strides: &[i64], numbers: &mut Numbers) {
    numbers.arrays.push(ArrayAt { argument: number, at: numbers.words.len() });
    numbers.words.extend([u64::from(number), 0]);
    numbers.words.extend(shape.iter().chain(strides).map(|&n| n as u64));
}

/// Arrays with more axes are not treated as values.
const MOST_AXES: usize = 8;

fn array_type(array: &Bound<'_, NdArray>, number: u32, numbers: &mut Numbers) -> Option<Type> {
    let Payload::Native(view) = array.get().payload() else { return None };
    if view.dtype == DType::F16 || view.shape.len() > MOST_AXES || number == u32::MAX {
        return None;
    }
    push_array(number, &view.shape, &view.strides, numbers);
    let ndim = view.shape.len() as u8;
    Some(Type::Array { dtype: view.dtype, ndim, writeable: array.get().writeable(), foreign: false })
}

fn numpy_array(array: &Bound<'_, PyAny>, number: u32, numbers: &mut Numbers) -> Option<Type> {
    let real = RealArray::of(array);
    let dtype = real.dtype.filter(|dtype| *dtype != DType::F16)?;
    if real.shape.len() > MOST_AXES || number == u32::MAX {
        return None;
    }
    push_array(number, &real.shape, &real.strides, numbers);
    let ndim = real.shape.len() as u8;
    Some(Type::Array { dtype, ndim, writeable: real.writeable(), foreign: true })
}

/// Guards that keep the memory of arrays in place while compiled code runs.
#[derive(Default)]
pub struct Held<'a> {
    all: Option<GuardSet<'a>>,
    read: SmallVec<[ReadGuard<'a>; 4]>,
    write: SmallVec<[WriteGuard<'a>; 4]>,
}

/// Does any of the arrays have pending work?
fn any_pending(objects: &[Bound<'_, PyAny>], numbers: &Numbers) -> bool {
    numbers.arrays.iter().any(|array| match objects[array.argument as usize].cast_exact::<NdArray>() {
        Ok(own) => own.get().view().is_some_and(|view| view.base.is_pending()),
        Err(_) => false,
    })
}

/// Locks the memory of the arrays and fills in their addresses, if nothing is in the way.
fn hold_all<'a>(
    py: Python<'_>,
    objects: &'a [Bound<'_, PyAny>],
    written: &[u32],
    numbers: &mut Numbers,
) -> Option<GuardSet<'a>> {
    let own = |array: &ArrayAt| objects[array.argument as usize].cast_exact::<NdArray>().ok();
    let mut uses: SmallVec<[(&BaseRef, bool); 8]> = SmallVec::new();
    for array in &numbers.arrays {
        let Some(own) = own(array) else { continue };
        let view = own.get().view()?;
        let is_written = written.contains(&array.argument);
        match uses.iter_mut().find(|(base, _)| base.ptr_eq(&view.base)) {
            Some((_, writes)) => *writes |= is_written,
            None => uses.push((&view.base, is_written)),
        }
    }
    let all = run::hold(py, &uses)?;
    for array in &numbers.arrays {
        let start = match own(array) {
            Some(own) => {
                let view = own.get().view()?;
                (all.start_of(&view.base) as u64).wrapping_add_signed(view.offset)
            }
            None => RealArray::of(&objects[array.argument as usize]).data as u64,
        };
        numbers.words[array.at + 1] = start;
    }
    Some(all)
}

/// Locks the memory of the arrays, after pending work on them has run, and fills in their addresses.
pub fn hold<'a>(
    py: Python<'_>,
    objects: &'a [Bound<'_, PyAny>],
    written: &[u32],
    numbers: &mut Numbers,
) -> PyResult<Held<'a>> {
    let mut held = Held::default();
    if let Some(all) = hold_all(py, objects, written, numbers) {
        held.all = Some(all);
        return Ok(held);
    }
    if any_pending(objects, numbers) {
        run::flush(py, Reason::Read)?;
    }
    // each base is locked once, because a thread would wait for its own guard forever
    let mut bases: SmallVec<[(usize, u64); 8]> = SmallVec::new();
    for pass in [true, false] {
        for array in &numbers.arrays {
            let object = &objects[array.argument as usize];
            let Ok(own) = object.cast_exact::<NdArray>() else {
                numbers.words[array.at + 1] = RealArray::of(object).data as u64;
                continue;
            };
            let Payload::Native(view) = own.get().payload() else {
                return Err(PyTypeError::new_err("an array has changed"));
            };
            let is_written = written.contains(&array.argument);
            if pass != is_written {
                continue;
            }
            let known = bases.iter().find(|(id, _)| *id == view.base.id());
            let start = match known {
                Some((_, start)) => *start,
                None => {
                    let start = if is_written {
                        let mut guard = run::write(py, &view.base)?;
                        let start = guard.as_mut_ptr() as u64;
                        held.write.push(guard);
                        start
                    } else {
                        let guard = run::read(py, &view.base)?;
                        let start = guard.as_ptr() as u64;
                        held.read.push(guard);
                        start
                    };
                    bases.push((view.base.id(), start));
                    start
                }
            };
            numbers.words[array.at + 1] = start.wrapping_add_signed(view.offset);
        }
    }
    Ok(held)
}
