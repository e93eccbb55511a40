//! Basic indexing: integers, slices, `None` and `...` give views; one integer for each axis reads an element.
//!
//! In: an array, a key, and perhaps a value. Out: a view or a scalar, or the changed array. Not here: masks and index
//! arrays (`advanced`).

use crate::array::operand::{self, Operand};
use crate::array::{advanced, assign};
use crate::cpython::calls;
use crate::numpy::convert;
use crate::numpy::errors;
use crate::numpy::hooks;
use crate::object::ndarray::{NdArray, exact_native, wrap_view};
use crate::record::run;
use crate::sharing::calling;
use crate::sharing::policy;
use crate::sharing::{foreign, subclass};
use numelt::Error;
use numelt::assign::{literal, overflowed};
use numelt::rules::resolve::Weak;
use numelt::rules::shape;
use numelt::rules::slicing::{self, Part, Selection, slice, within};
use numelt_ir::{DType, DTypeKind, Dims, Scalar};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PySlice, PyTuple};
use pyo3::{PyTypeInfo, ffi};
use smallvec::SmallVec;

type Parts = SmallVec<[Part; 4]>;

/// The parts of a basic index; `None` for any other key.
fn parse(key: &Bound<'_, PyAny>) -> PyResult<Option<Parts>> {
    let mut parts = Parts::new();
    if let Ok(tuple) = key.cast_exact::<PyTuple>() {
        for item in tuple {
            match part(&item)? {
                Some(part) => parts.push(part),
                None => return Ok(None),
            }
        }
        return Ok(Some(parts));
    }
    Ok(part(key)?.map(|p| SmallVec::from_slice(&[p])))
}

/// An item of a key as a part of a basic index; `None` for any other item.
#[inline]
pub fn part(item: &Bound<'_, PyAny>) -> PyResult<Option<Part>> {
    let py = item.py();
    if item.is_exact_instance_of::<PyInt>() {
        return int(item);
    }
    if let Some((start, stop, step)) = unpacked(item)? {
        return Ok(Some(Part::Slice(start, stop, step)));
    }
    if item.is_none() {
        return Ok(Some(Part::NewAxis));
    }
    if item.is(PyEllipsis::get(py)) {
        return Ok(Some(Part::Ellipsis));
    }
    if item.is_instance_of::<PyBool>() || item.is_instance_of::<NdArray>() {
        return Ok(None);
    }
    let is_integer = match convert::numpy_scalar_value(item) {
        Some(value) => matches!(value.dtype().kind(), DTypeKind::Signed | DTypeKind::Unsigned),
        None => item.is_instance_of::<PyInt>(),
    };
    if is_integer { int(item) } else { Ok(None) }
}

/// An integer as a part of a basic index; `None` beyond 64 bits, which NumPy reports in its own words.
fn int(item: &Bound<'_, PyAny>) -> PyResult<Option<Part>> {
    Ok(errors::unless(item.py(), operand::index(item), &[errors::INDEX])?.map(Part::Int))
}

type Unpacked = (i64, i64, i64);

/// Start, stop and step of a slice. `None` for any other object, and if they are not integers: NumPy examines the
/// rest of the key before it raises an error.
#[inline]
fn unpacked(item: &Bound<'_, PyAny>) -> PyResult<Option<Unpacked>> {
    // A slice type has no subclasses.
    if item.get_type_ptr() != PySlice::type_object_raw(item.py()) {
        return Ok(None);
    }
    let (mut start, mut stop, mut step): (ffi::Py_ssize_t, ffi::Py_ssize_t, ffi::Py_ssize_t) = (0, 0, 0);
    // SAFETY: the object is a slice, the out-parameters are locals.
    let failed = unsafe { ffi::PySlice_Unpack(item.as_ptr(), &mut start, &mut stop, &mut step) };
    let read = if failed < 0 { Err(PyErr::fetch(item.py())) } else { Ok((start as i64, stop as i64, step as i64)) };
    // they are not integers, or the step is zero
    errors::unless(item.py(), read, &[errors::TYPE, errors::VALUE])
}

/// Applies a basic index.
pub fn select(view: &ArrayView, parts: &[Part]) -> PyResult<Selection> {
    slicing::select(view, parts).map_err(errors::from_rules)
}

/// What the fast path of [`get`] and [`set`] selects.
enum Reached {
    /// The byte offset of an element, by an integer for each axis.
    Element(i64),
    /// A view.
    Window(ArrayView),
}

/// The byte offset of the element that integers within bounds select, one for each axis; `None` for any other index.
#[inline(always)]
pub fn element(view: &ArrayView, key: &Bound<'_, PyAny>) -> Option<i64> {
    if let (&[extent], &[stride]) = (view.shape.as_slice(), view.strides.as_slice())
        && let Some(distance) = along(key, extent, stride)
    {
        return Some(view.offset + distance);
    }
    element_of(view, key.cast_exact::<PyTuple>().ok()?.iter_borrowed())
}

/// The byte offset of the element that `item` names: by as many indices as the array has axes, or by its position
/// among all elements in C order. `None` for any other key, and beyond the bounds.
#[inline(always)]
pub fn element_by<'a, 'py: 'a>(
    view: &ArrayView,
    mut key: impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> Option<i64> {
    if key.len() != 1 {
        return element_of(view, key);
    }
    let item = key.next()?;
    if view.shape.len() == 1 || !item.is_exact_instance_of::<PyInt>() {
        return element(view, &item);
    }
    let mut at = within(integer(&item)?, view.size())?;
    let mut offset = view.offset;
    for (&extent, &stride) in view.shape.iter().zip(&view.strides).rev() {
        offset += at % extent * stride;
        at /= extent;
    }
    Some(offset)
}

/// [`element`] with as many indices as the array has axes.
#[inline(always)]
pub fn element_of<'a, 'py: 'a>(
    view: &ArrayView,
    key: impl ExactSizeIterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> Option<i64> {
    if key.len() != view.shape.len() {
        return None;
    }
    let mut offset = view.offset;
    for ((item, &extent), &stride) in key.zip(&view.shape).zip(&view.strides) {
        offset += along(&item, extent, stride)?;
    }
    Some(offset)
}

/// The value of a Python int or a `numpy.int64`; `None` for any other object, and beyond 64 bits.
#[inline(always)]
pub fn integer(item: &Bound<'_, PyAny>) -> Option<i64> {
    if !item.is_exact_instance_of::<PyInt>() {
        return convert::numpy_int64(item);
    }
    // SAFETY: the object is an int; -1 is a value or an error, which the general path distinguishes.
    let value = unsafe { ffi::PyLong_AsSsize_t(item.as_ptr()) } as i64;
    if value == -1 && PyErr::take(item.py()).is_some() { None } else { Some(value) }
}

/// The byte distance of the position that an int within bounds selects on an axis.
#[inline(always)]
fn along(item: &Bound<'_, PyAny>, extent: i64, stride: i64) -> Option<i64> {
    within(integer(item)?, extent).map(|at| at * stride)
}

/// The view that the most frequent keys select: a slice of a vector, a row of a matrix. `None` for any other key,
/// errors included.
#[inline(always)]
fn simple(view: &ArrayView, key: &Bound<'_, PyAny>) -> PyResult<Option<Reached>> {
    let one = |n: i64| Dims::from_slice(&[n]);
    match (view.shape.as_slice(), view.strides.as_slice()) {
        (&[extent], &[stride]) => {
            let Some((start, stop, step)) = unpacked(key)? else { return Ok(None) };
            let (first, n, step) = slice(extent, start, stop, step);
            Ok(Some(Reached::Window(shape::window(view, view.offset + first * stride, one(n), one(stride * step)))))
        }
        (&[extent, n], &[stride, step]) => {
            let Some(distance) = along(key, extent, stride) else { return Ok(None) };
            Ok(Some(Reached::Window(shape::window(view, view.offset + distance, one(n), one(step)))))
        }
        _ => Ok(None),
    }
}

/// The selection by integers within bounds, slices and `None`; `None` for any other key, errors included.
#[inline(always)]
fn quick(view: &ArrayView, key: &Bound<'_, PyAny>) -> PyResult<Option<Reached>> {
    match simple(view, key)? {
        Some(found) => Ok(Some(found)),
        None => walked(view, key),
    }
}

/// [`quick`] for keys that [`simple`] declines.
#[inline(never)]
fn walked(view: &ArrayView, key: &Bound<'_, PyAny>) -> PyResult<Option<Reached>> {
    let ellipsis = PyEllipsis::get(key.py());
    if key.is(ellipsis) {
        return Ok(Some(Reached::Window(view.clone())));
    }
    let mut at =
        ReadSoFar { view, axis: 0, offset: view.offset, dims: Dims::new(), strides: Dims::new(), window: false };
    if let Ok(tuple) = key.cast_exact::<PyTuple>() {
        let mut skipped = false;
        for item in tuple.iter_borrowed() {
            if item.is(ellipsis) && !skipped {
                skipped = true;
                let others = tuple.iter_borrowed().filter(|item| !item.is_none()).count() - 1;
                if others > view.shape.len() || !at.skip(view.shape.len() - others) {
                    return Ok(None);
                }
            } else if !at.advance(&item)? {
                return Ok(None);
            }
        }
    } else if !at.advance(key)? {
        return Ok(None);
    }
    let ReadSoFar { axis, offset, mut dims, mut strides, window, .. } = at;
    if !window && axis == view.shape.len() {
        return Ok(Some(Reached::Element(offset)));
    }
    dims.extend_from_slice(&view.shape[axis..]);
    strides.extend_from_slice(&view.strides[axis..]);
    if dims.len() > numelt_ir::MAX_RANK {
        return Ok(None);
    }
    Ok(Some(Reached::Window(shape::window(view, offset, dims, strides))))
}

/// The part of a key that has been read, and the part of the view that it selects.
struct ReadSoFar<'a> {
    view: &'a ArrayView,
    axis: usize,
    offset: i64,
    dims: Dims,
    strides: Dims,
    /// Whether there was any item but integers.
    window: bool,
}

impl ReadSoFar<'_> {
    /// Keeps this many axes unchanged; false if there are fewer.
    fn skip(&mut self, axes: usize) -> bool {
        let range = self.axis..self.axis + axes;
        let (Some(dims), Some(strides)) = (self.view.shape.get(range.clone()), self.view.strides.get(range)) else {
            return false;
        };
        self.dims.extend_from_slice(dims);
        self.strides.extend_from_slice(strides);
        self.axis += axes;
        self.window = true;
        true
    }

    /// Reads one item; false if the fast path does not support it.
    #[inline(always)]
    fn advance(&mut self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        if item.is_none() {
            self.dims.push(1);
            self.strides.push(0);
            self.window = true;
            return Ok(true);
        }
        let Some(&extent) = self.view.shape.get(self.axis) else { return Ok(false) };
        let stride = self.view.strides[self.axis];
        if let Some(index) = integer(item) {
            let Some(at) = within(index, extent) else { return Ok(false) };
            self.offset += at * stride;
        } else {
            let Some((start, stop, step)) = unpacked(item)? else { return Ok(false) };
            let (first, n, step) = slice(extent, start, stop, step);
            self.offset += first * stride;
            self.dims.push(n);
            self.strides.push(stride * step);
            self.window = true;
        }
        self.axis += 1;
        Ok(true)
    }
}

/// The element that one integer for each axis selects, as a NumPy scalar.
pub fn read_element<'py>(py: Python<'py>, view: &ArrayView) -> PyResult<Bound<'py, PyAny>> {
    read_at(py, view, view.offset)
}

/// The element at a byte offset of the view's base, as a NumPy scalar.
#[inline(always)]
pub fn read_at<'py>(py: Python<'py>, view: &ArrayView, offset: i64) -> PyResult<Bound<'py, PyAny>> {
    match peek_at(py, view, offset) {
        Some(number) => Ok(number),
        None => read_late(py, view, offset),
    }
}

/// [`read_at`] if the value is in memory; `None` otherwise.
#[inline(always)]
fn peek_at<'py>(py: Python<'py>, view: &ArrayView, offset: i64) -> Option<Bound<'py, PyAny>> {
    // A scalar is not tracked by the garbage collector, so making one runs no Python code.
    run::peek(py, &view.base, |bytes| {
        let bytes = &bytes[offset as usize..][..view.dtype.size()];
        // SAFETY: there are as many bytes as the element has.
        unsafe { convert::quick_numpy_scalar_at(py, view.dtype, bytes.as_ptr().cast_mut()) }
    })?
}

/// [`read_at`] if the value has to be computed first.
#[inline(never)]
fn read_late<'py>(py: Python<'py>, view: &ArrayView, offset: i64) -> PyResult<Bound<'py, PyAny>> {
    let mut bytes = run::read_element(py, &view.base, view.dtype, offset)?;
    // SAFETY: the bytes begin with an element.
    unsafe { convert::numpy_scalar_at(py, view.dtype, bytes.as_mut_ptr()) }
}

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
    if subclass::is_instance(key)? {
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
    if subclass::is_instance(key)? {
        return set(array, &subclass::plain(key)?, value);
    }
    if array.get().view().is_some() && subclass::is_instance(value)? {
        return set(array, key, &subclass::plain(value)?);
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
