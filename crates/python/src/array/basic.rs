//! Keys that give views or elements: integers, slices, `None` and `...`.
//!
//! In: a view and a key. Out: what the key selects, as a view or as the place of an element, and the value of an
//! element that is read. `index` reads and writes arrays with these and all other keys.

use crate::array::operand;
use crate::numpy::convert;
use crate::numpy::errors;
use crate::object::ndarray::NdArray;
use crate::record::run;
use numelt::rules::shape;
use numelt::rules::slicing::{self, Part, Selection, slice, within};
use numelt_ir::{DTypeKind, Dims};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use pyo3::{PyTypeInfo, ffi};
use smallvec::SmallVec;
type Parts = SmallVec<[Part; 4]>;

/// The parts of a basic index; `None` for any other key.
pub fn parse(key: &Bound<'_, PyAny>) -> PyResult<Option<Parts>> {
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
pub enum Reached {
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
pub fn quick(view: &ArrayView, key: &Bound<'_, PyAny>) -> PyResult<Option<Reached>> {
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
pub fn peek_at<'py>(py: Python<'py>, view: &ArrayView, offset: i64) -> Option<Bound<'py, PyAny>> {
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
