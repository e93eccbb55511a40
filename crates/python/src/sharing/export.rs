//! Memory shared with NumPy: exports of our bases, adoption of NumPy's arrays, and views of exports that return to
//! us.
//!
//! In: a numelt array, or a `numpy.ndarray`. Out: the array of the other library on the same memory. An export is a
//! `numpy.ndarray` whose `.base` is an [`Exporter`]; while one exists, the runtime runs operations on that base at
//! once. A NumPy array that lies in our memory has an exporter at the end of its `.base` chain, or lies inside a base
//! of the [`registry`]; it becomes a view of our base again.

use crate::cpython::graveyard::{self, Owner};
use crate::numpy::convert::Numpy;
use crate::numpy::errors;
use crate::object::fresh::{self, stand};
use crate::object::ndarray::{NdArray, Payload, standing_for};
use crate::object::ufunc::Ufunc;
use crate::record::{registry, run};
use crate::sharing::real_array::RealArray;
use numelt::rules::shape;
use numelt_ir::DType;
use numelt_runtime::{ArrayView, BaseRef, Export, Runtime};
use numpy::npyffi::flags::{NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE};
use numpy::npyffi::{NPY_ORDER, PY_ARRAY_API, PyArrayObject, npy_intp};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use std::ffi::c_int;
use std::ops::Range;

/// NumPy's arrays of at most this many bytes are copied when an operation reads them: the
/// operation can then stay pending. Running it at once would cost more than the copy.
const SNAPSHOT_BYTES: i64 = 4096;

/// Results of NumPy of at most this many bytes are copied and not adopted, if nobody else holds them.
const COPIED_BYTES: i64 = 8192;

/// The owner of an exported window, at the end of the `.base` chain of every NumPy array on that memory.
#[pyclass(module = "numelt._core", frozen)]
pub struct Exporter {
    pub export: Export,
    /// The array that was exported; views of the export that return to us have it as `.base`.
    pub array: Option<Py<PyAny>>,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        graveyard::drain_after_drop();
    }
}

#[pymethods]
impl Exporter {
    /// Exposes all of the memory. NumPy requests and releases this buffer to learn whether one of its views may be
    /// made writeable again.
    ///
    /// # Safety
    /// Called by the interpreter with a valid `view`.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let this = slf.get();
        let array = this.array.as_ref().map(|array| array.bind(slf.py()));
        let writeable = array.is_some_and(|array| array.cast::<NdArray>().is_ok_and(|array| array.get().writeable()));
        let (start, length) = (this.export.ptr(), this.export.base().nbytes() as isize);
        // SAFETY: `view` is the caller's structure to fill; the exporter, its owner from now on, keeps the memory in
        // place.
        let failed =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast(), length, c_int::from(!writeable), flags) };
        if failed < 0 { Err(PyErr::fetch(slf.py())) } else { Ok(()) }
    }
}

// ---- Our arrays to NumPy ------------------------------------------------------------------------

/// A zero-copy `numpy.ndarray` of one of our arrays; pending work on it runs first.
pub fn to_numpy<'py>(array: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    match array.get().payload() {
        Payload::Foreign(real) => Ok(real.bind(py).clone()),
        Payload::Native(view) => export_view(py, view, Some(array.as_any()), array.get().writeable()),
    }
}

/// A zero-copy `numpy.ndarray` of a view.
pub fn export_view<'py>(
    py: Python<'py>,
    view: &ArrayView,
    array: Option<&Bound<'py, PyAny>>,
    writeable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let export = run::export(py, &view.base)?;
    let made = bare_view(py, view, export.ptr(), writeable)?;
    let exporter = Bound::new(py, Exporter { export, array: array.map(|a| a.clone().unbind()) })?;
    set_base(&made, exporter)?;
    Ok(made)
}

/// Sets an exporter as the base of an array that has no base.
pub fn set_base<'py>(array: &Bound<'py, PyAny>, exporter: Bound<'py, Exporter>) -> PyResult<()> {
    let py = array.py();
    // SAFETY: the array was made by `bare_view`. SetBaseObject takes over the exporter, which keeps the memory alive
    // and in place.
    let failed = unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), exporter.into_ptr()) };
    if failed < 0 { Err(PyErr::fetch(py)) } else { Ok(()) }
}

/// A `numpy.ndarray` on the memory of a view whose base starts at `start`. The caller keeps that memory in place.
pub fn bare_view<'py>(
    py: Python<'py>,
    view: &ArrayView,
    start: *mut u8,
    writeable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let data = start.wrapping_offset(view.offset as isize);
    let flags = if writeable { NPY_ARRAY_WRITEABLE } else { 0 };
    let numpy = Numpy::get(py)?;
    let mut dims: smallvec::SmallVec<[npy_intp; 4]> = view.shape.iter().map(|&n| n as npy_intp).collect();
    let mut strides: smallvec::SmallVec<[npy_intp; 4]> = view.strides.iter().map(|&n| n as npy_intp).collect();
    // SAFETY: NewFromDescr takes over one reference to the descr and copies dims and strides. The view lies inside
    // the memory, which the caller keeps in place.
    unsafe {
        let descr = numpy.descr(py, view.dtype).clone().into_ptr();
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            numpy.ndarray.as_ptr().cast(),
            descr.cast(),
            dims.len() as c_int,
            dims.as_mut_ptr(),
            strides.as_mut_ptr(),
            data.cast(),
            flags,
            std::ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The `numpy.ndarray` of one of our arrays; `None` for other objects.
pub fn as_numpy<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(array) = obj.cast::<NdArray>() {
        return to_numpy(array).map(Some);
    }
    Ok(None)
}

/// NumPy's ufunc for one of numelt's.
pub fn numpy_ufunc_of<'py>(obj: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    obj.cast_exact::<Ufunc>().ok().map(|u| u.get().numpy(obj.py()))
}

// ---- NumPy's arrays to ours ---------------------------------------------------------------------

/// Converts a `numpy.ndarray` to a numelt array. `fresh` says that nobody else holds it. Objects of all other
/// classes, derived ones included, are returned unchanged.
pub fn from_numpy<'py>(obj: &Bound<'py, PyAny>, fresh: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if !obj.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) {
        return Ok(obj.clone());
    }
    let real = RealArray::of(obj);
    let Some(dtype) = real.dtype else { return not_native(obj) };
    if let Some(back) = back_to_ours(obj, &real, dtype)? {
        return Ok(back);
    }
    let writeable = real.writeable();
    let fresh = fresh && is_sole_owner(&real);
    if fresh && let Some((base, offset)) = copy_of_few(&real, dtype)? {
        let RealArray { shape, strides, base: below, .. } = real;
        let view = ArrayView { base, dtype, offset, shape, strides };
        if !below.is_null() {
            return Ok(Bound::new(py, window(py, view, writeable)?)?.into_any());
        }
        return Ok(fresh::object(py, || NdArray::new(view, None, writeable))?.into_any());
    }
    let view = adopt(obj, &real, dtype, fresh)?;
    if fresh && !real.base.is_null() {
        return Ok(Bound::new(py, window(py, view, writeable)?)?.into_any());
    }
    // The owner of the memory usually keeps a visible base pinned; if it does not, this array does.
    let pin = if !fresh && !view.base.is_visible() { Some(run::export(py, &view.base)?) } else { None };
    let array = NdArray::new(view, below(py, &real, fresh)?, writeable);
    if let Some(export) = pin {
        let _ = array.pinned().set(Box::new(export));
    }
    Ok(Bound::new(py, array)?.into_any())
}

/// An array of a result of NumPy that nobody else holds: a view, because its `.base` and flags are those of a view in
/// NumPy.
fn window(py: Python<'_>, view: ArrayView, writeable: bool) -> PyResult<NdArray> {
    let whole = fresh::object(py, || NdArray::new(view.clone(), None, true))?;
    Ok(NdArray::new(view, Some(whole.into_any().unbind()), writeable))
}

/// A field of an array of records. The memory of the records stays one base as long as the array lives.
pub fn field<'py>(array: &Bound<'py, NdArray>, field: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = field.py();
    if !field.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) {
        return Ok(field.clone());
    }
    let (real, pin) = (RealArray::of(field), array.get().pinned());
    let Some(dtype) = real.dtype else { return not_native(field) };
    if let Some(pin) = pin.get() {
        let offset = real.data as i64 - pin.ptr() as i64;
        let range = shape::byte_range(&real.shape, &real.strides, dtype.size() as i64);
        if range.is_some_and(|(low, high)| offset + low >= 0 && offset + high <= pin.base().nbytes() as i64) {
            let (base, shape, strides) = (pin.base().clone(), real.shape.clone(), real.strides.clone());
            let view = ArrayView { base, dtype, offset, shape, strides };
            let below = if owns(array.get(), real.base) {
                Some(array.clone().into_any().unbind())
            } else {
                below(py, &real, false)?
            };
            return Ok(fresh::object(py, || NdArray::new(view, below, real.writeable()))?.into_any());
        }
    }
    let made = from_numpy(field, false)?;
    if let Ok(part) = made.cast_exact::<NdArray>()
        && let Some(view) = part.get().view()
        && pin.get().is_none()
    {
        // a base that another array has pinned starts where that array's base does
        let _ = pin.set(Box::new(run::export(py, &view.base)?));
    }
    Ok(made)
}

/// Whether `owner` is the `numpy.ndarray` of this array of a non-native dtype, and owns its memory.
fn owns(array: &NdArray, owner: *mut ffi::PyObject) -> bool {
    // SAFETY: the `numpy.ndarray` of an array lives as long as the array; see `RealArray::of`.
    let has_no_base = || unsafe { (*owner.cast::<PyArrayObject>()).fields.base.is_null() };
    let Payload::Foreign(real) = array.payload() else { return false };
    real.as_ptr() == owner && array.parent().is_none() && has_no_base()
}

/// Copies the elements of a small array, with the bytes between them, to memory of our own, and returns the base and
/// the offset of the first element. This is cheaper than keeping the NumPy array. `None` if the array spans too many
/// bytes.
fn copy_of_few(real: &RealArray, dtype: DType) -> PyResult<Option<(BaseRef, i64)>> {
    let range = shape::byte_range(&real.shape, &real.strides, dtype.size() as i64);
    let Some((low, high)) = range.filter(|(low, high)| high - low <= COPIED_BYTES) else { return Ok(None) };
    // SAFETY: all elements of the array lie in this range, which is memory of its owner.
    let bytes = unsafe { std::slice::from_raw_parts(real.data.offset(low as isize), (high - low) as usize) };
    // SAFETY: the GIL is held; see `run::record_as`.
    let base = unsafe { Runtime::global().filled_past(bytes) };
    base.map(|base| Some((base, -low))).map_err(errors::to_py)
}

/// The object at the end of the `.base` chain, if that is not an array: bytes, a memory map, a buffer of another
/// library.
fn buffer_below(py: Python<'_>, real: &RealArray) -> Option<Py<PyAny>> {
    let mut base = real.base;
    // SAFETY: a base is a living object or null, and an array's own base field is one too.
    unsafe {
        while !base.is_null() && is_numpy_array(base) {
            base = (*base.cast::<PyArrayObject>()).fields.base;
        }
        Bound::from_borrowed_ptr_or_opt(py, base).map(Bound::unbind)
    }
}

/// What `.base` of an adopted array returns: the object below all arrays that holds the memory, or else the array
/// that owns it.
fn below(py: Python<'_>, real: &RealArray, fresh: bool) -> PyResult<Option<Py<PyAny>>> {
    match buffer_below(py, real) {
        None if !fresh && !real.base.is_null() => {
            // SAFETY: a base that is not null is a living object.
            let base = unsafe { Bound::from_borrowed_ptr(py, real.base) };
            from_numpy(&base, false).map(|array| Some(array.unbind()))
        }
        below => Ok(below),
    }
}

/// Converts a NumPy array of a non-native dtype to a numelt array.
fn not_native<'py>(real: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match foreign_below(real)? {
        None if let Some(known) = standing_for(real) => Ok(known),
        parent => stand(real, parent),
    }
}

/// What `.base` of an array of a non-native dtype returns, if that is another such array.
fn foreign_below(real: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    let py = real.py();
    // SAFETY: a base is a living object or null.
    let Some(base) = (unsafe { Bound::from_borrowed_ptr_or_opt(py, RealArray::base(real)) }) else { return Ok(None) };
    if !base.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) {
        return Ok(None);
    }
    if let Some(known) = standing_for(&base) {
        return Ok(Some(known.unbind()));
    }
    if RealArray::of(&base).dtype.is_some() {
        return Ok(None);
    }
    from_numpy(&base, false).map(|array| Some(array.unbind()))
}

/// Converts an operand that is read by one operation. A small one is copied, so that the operation can stay pending.
pub fn operand_from_numpy<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    if obj.is_exact_instance(Numpy::get(py)?.ndarray.bind(py)) {
        let real = RealArray::of(obj);
        if real.dtype.is_some() && real.nbytes() <= SNAPSHOT_BYTES {
            // SAFETY: the object is an array; the result is a new reference or null with an exception set.
            let copy = unsafe {
                let made = PY_ARRAY_API.PyArray_NewCopy(py, obj.as_ptr().cast(), NPY_ORDER::NPY_KEEPORDER);
                Bound::from_owned_ptr_or_err(py, made)?
            };
            return from_numpy(&copy, true);
        }
    }
    from_numpy(obj, false)
}

/// A view of a base for NumPy's memory, with the shape and strides of `obj`.
fn adopt(obj: &Bound<'_, PyAny>, real: &RealArray, dtype: DType, fresh: bool) -> PyResult<ArrayView> {
    let Some((low, high)) = shape::byte_range(&real.shape, &real.strides, dtype.size() as i64) else {
        let (shape, strides) = (real.shape.clone(), real.strides.clone());
        return Ok(ArrayView { base: run::new_base(0), dtype, offset: 0, shape, strides });
    };
    let window = |base: BaseRef, start: usize| {
        let offset = real.data as i64 - start as i64;
        ArrayView { base, dtype, offset, shape: real.shape.clone(), strides: real.strides.clone() }
    };
    let start = real.data.wrapping_offset(low as isize);
    let range = start as usize..start as usize + (high - low) as usize;
    if !fresh && let Some((base, start)) = shared(obj, &range)? {
        return Ok(window(base, start));
    }
    let owner = Box::new(Owner::of(obj.clone().unbind()));
    // SAFETY: the owner keeps the array, which keeps `start..start + (high - low)` valid; no operation that writes to
    // it is recorded unless the array is writeable.
    let base = unsafe { Runtime::global().adopt(start, (high - low) as usize, owner, !fresh) };
    if !fresh {
        registry::enter_adopted(&base, None);
    }
    Ok(window(base, range.start))
}

/// The base of memory that an array shares with others, and the first address of the base: a registered base, or a
/// new one of all memory of the owner, so that all arrays on that memory are views of one base. `None` if `range` is
/// not inside what seems to be the owner's memory.
fn shared(obj: &Bound<'_, PyAny>, range: &Range<usize>) -> PyResult<Option<(BaseRef, usize)>> {
    let py = obj.py();
    let mut root = obj.clone();
    let below = loop {
        let base = RealArray::of(&root).base;
        if base.is_null() {
            break None;
        }
        // SAFETY: a base that is not null is a living object.
        let base = unsafe { Bound::from_borrowed_ptr(py, base) };
        // SAFETY: just made from a living object.
        if unsafe { !is_numpy_array(base.as_ptr()) } {
            break Some(base);
        }
        root = base;
    };
    let inside = |all: &Range<usize>| all.start <= range.start && range.end <= all.end;
    let own = RealArray::of(&root).flags & NPY_ARRAY_OWNDATA != 0;
    let key = own.then_some(root.as_ptr() as usize);
    if let Some(found) = registry::find(range, key) {
        return Ok(Some(found));
    }
    let offered = below.map(|below| buffer_range(&below)).transpose()?.flatten();
    let all = match offered.filter(inside) {
        Some(all) => all,
        None => memory_of(&root)?,
    };
    if !inside(&all) {
        return Ok(None);
    }
    let owner = Box::new(Owner::of(root.unbind()));
    // SAFETY: the owner keeps the root array, which keeps its memory; see `adopt` on writes.
    let base = unsafe { Runtime::global().adopt(all.start as *mut u8, all.len(), owner, true) };
    registry::enter_adopted(&base, key);
    Ok(Some((base, all.start)))
}

/// The addresses of the buffer that an object (which is not an array) exposes, if the buffer is contiguous.
fn buffer_range(obj: &Bound<'_, PyAny>) -> PyResult<Option<Range<usize>>> {
    let mut obj = obj.clone();
    while let Ok(memory) = obj.cast::<PyMemoryView>() {
        // a memory view that has been released raises a ValueError
        let below = errors::unless(obj.py(), memory.getattr("obj"), &[errors::VALUE])?;
        let Some(below) = below else { return Ok(None) };
        obj = below;
    }
    // SAFETY: the call fills the zeroed structure, which is released if the call succeeded.
    let range = unsafe {
        if ffi::PyObject_CheckBuffer(obj.as_ptr()) == 0 {
            return Ok(None);
        }
        let mut buffer: ffi::Py_buffer = std::mem::zeroed();
        if ffi::PyObject_GetBuffer(obj.as_ptr(), &mut buffer, ffi::PyBUF_SIMPLE) < 0 {
            Err(PyErr::fetch(obj.py()))
        } else {
            let range = buffer.buf as usize..buffer.buf as usize + buffer.len as usize;
            ffi::PyBuffer_Release(&mut buffer);
            Ok(range)
        }
    };
    errors::unless(obj.py(), range, &[errors::BUFFER, errors::VALUE])
}

/// The addresses of an array's memory, for any dtype.
fn memory_of(array: &Bound<'_, PyAny>) -> PyResult<Range<usize>> {
    let real = RealArray::of(array);
    let itemsize = array.getattr("itemsize")?.extract::<i64>()?;
    let (low, high) = shape::byte_range(&real.shape, &real.strides, itemsize).unwrap_or((0, 0));
    let at = |offset: i64| real.data.wrapping_offset(offset as isize) as usize;
    Ok(at(low)..at(high))
}

/// The number of references to an object.
pub fn references(obj: &Bound<'_, PyAny>) -> isize {
    // SAFETY: the object lives and the GIL is held.
    unsafe { ffi::Py_REFCNT(obj.as_ptr()) }
}

/// Whether each array along the `.base` chain is held only by the array before it, and the last one owns its memory.
fn is_sole_owner(real: &RealArray) -> bool {
    let mut base = real.base;
    let mut flags = real.flags;
    while !base.is_null() {
        // SAFETY: a base is a living object, kept by the array that it belongs to.
        let is_array = unsafe { ffi::Py_REFCNT(base) == 1 && is_numpy_array(base) };
        if !is_array {
            return false;
        }
        // SAFETY: just checked to be an array.
        (base, flags) = unsafe {
            let fields = &(*base.cast::<PyArrayObject>()).fields;
            (fields.base, fields.flags)
        };
    }
    flags & NPY_ARRAY_OWNDATA != 0
}

/// Whether an object is a `numpy.ndarray`, or of a derived class.
///
/// # Safety
/// `obj` is a living Python object, with the GIL held.
unsafe fn is_numpy_array(obj: *mut ffi::PyObject) -> bool {
    // SAFETY: the GIL is held by contract.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: type check on a living object.
    Numpy::get(py).is_ok_and(|n| unsafe { ffi::PyObject_TypeCheck(obj, n.ndarray.as_ptr().cast()) != 0 })
}

/// A view of our own base, if the NumPy array lies in one.
fn back_to_ours<'py>(obj: &Bound<'py, PyAny>, real: &RealArray, dtype: DType) -> PyResult<Option<Bound<'py, PyAny>>> {
    if real.base.is_null() {
        return Ok(None);
    }
    let py = obj.py();
    let Some((base, start, parent)) = owner_of(py, real.base) else { return Ok(None) };
    let offset = real.data as i64 - start as i64;
    let range = shape::byte_range(&real.shape, &real.strides, dtype.size() as i64);
    let inside = range.is_none_or(|(low, high)| offset + low >= 0 && offset + high <= base.nbytes() as i64);
    if !inside {
        return Ok(None);
    }
    let view = ArrayView { base, dtype, offset, shape: real.shape.clone(), strides: real.strides.clone() };
    // SAFETY: a base is a living object.
    let below = unsafe { Bound::from_borrowed_ptr(py, real.base) };
    if below.cast_exact::<PyMemoryView>().is_ok() {
        return Ok(Some(fresh::object(py, || NdArray::new(view, Some(below.unbind()), real.writeable()))?.into_any()));
    }
    // this is the array that was exported, not a view that NumPy made of it
    if below.cast_exact::<Exporter>().is_ok()
        && let Some(parent) = &parent
        && let Ok(array) = parent.bind(py).cast_exact::<NdArray>()
        && let Some(whole) = array.get().view()
        && shape::same_window(whole, &view)
        && array.get().writeable() == real.writeable()
    {
        return Ok(Some(array.clone().into_any()));
    }
    let parent = parent.map(|p| root_of(py, p));
    Ok(Some(fresh::object(py, || NdArray::new(view, parent, real.writeable()))?.into_any()))
}

/// A numelt array on the memory of an array of a class that is derived from NumPy's, if the latter is a view of a
/// `numpy.ndarray` on memory of numelt; `None` for others.
pub fn derived_to_ours<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(dtype) = RealArray::dtype(obj) else { return Ok(None) };
    let (real, numpy) = (RealArray::of(obj), Numpy::get(obj.py())?);
    // SAFETY: a base that is not null is a living object.
    let is_view = !real.base.is_null() && unsafe { ffi::Py_TYPE(real.base).cast() == numpy.ndarray.as_ptr() };
    if is_view { back_to_ours(obj, &real, dtype) } else { Ok(None) }
}

/// The array that owns the memory of a numelt array; other objects are returned unchanged.
fn root_of(py: Python<'_>, array: Py<PyAny>) -> Py<PyAny> {
    match array.bind(py).cast::<NdArray>() {
        Ok(ours) => ours.get().parent().map_or_else(|| array.clone_ref(py), |p| p.clone_ref(py)),
        Err(_) => array,
    }
}

/// A base, the address at which its memory starts, and the array on all of it.
type OurMemory = (BaseRef, usize, Option<Py<PyAny>>);

/// Follows a `.base` chain to a base of the runtime.
fn owner_of(py: Python<'_>, first: *mut ffi::PyObject) -> Option<OurMemory> {
    // SAFETY: a base is a living object.
    let mut base = unsafe { Bound::from_borrowed_ptr(py, first) };
    loop {
        if let Ok(exporter) = base.cast_exact::<Exporter>() {
            let inner = exporter.get();
            let array = inner.array.as_ref().map(|a| a.clone_ref(py));
            return Some((inner.export.base().clone(), inner.export.ptr() as usize, array));
        }
        if let Ok(array) = base.cast::<NdArray>() {
            let view = array.get().view()?;
            let start = view.base.place()?;
            return Some((view.base.clone(), start, Some(array.clone().into_any().unbind())));
        }
        if let Ok(memory) = base.cast::<PyMemoryView>() {
            base = memory.getattr("obj").ok()?;
            continue;
        }
        // SAFETY: a living object; if it is an array its base field is a living object or null.
        base = unsafe {
            if !is_numpy_array(base.as_ptr()) {
                return None;
            }
            let next = (*base.as_ptr().cast::<PyArrayObject>()).fields.base;
            if next.is_null() {
                return None;
            }
            Bound::from_borrowed_ptr(py, next)
        };
    }
}
