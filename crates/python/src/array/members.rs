//! What the plain calls of methods give that [`bare`](crate::dispatch::bare) answers.

use crate::array::attributes::{plain_extents, plain_shape};
use crate::array::index;
use crate::array::ndarray::{NdArray, wrap_view};
use crate::cpython::given::Given;
use crate::record::run;
use numelt::rules::shape;
use numelt_ir::{DType, Dims};
use numelt_runtime::ArrayView;
use pyo3::ffi;
use pyo3::prelude::*;

/// What a member gives: `None` where the one that was there before has to be asked.
pub type Quick<'py> = Option<PyResult<Bound<'py, PyAny>>>;

/// Elements up to which lists are made here.
const LISTED: i64 = 1024;

/// Bytes up to which copying is cheaper than a guard.
const COPIED: usize = 256;

/// A copy of few bytes.
#[repr(align(16))]
struct Aligned([u8; COPIED]);

/// A short dense vector of floats or ints that are computed as a list of Python's numbers.
pub fn listed<'py>(py: Python<'py>, view: &ArrayView) -> Quick<'py> {
    let number: unsafe fn(*const u8) -> *mut ffi::PyObject = match view.dtype {
        // SAFETY: the address is that of a float.
        DType::F64 => |at| unsafe { ffi::PyFloat_FromDouble(at.cast::<f64>().read()) },
        // SAFETY: the address is that of an integer.
        DType::I64 => |at| unsafe { ffi::PyLong_FromLongLong(at.cast::<i64>().read()) },
        _ => return None,
    };
    if view.shape.is_empty() || view.size() > LISTED || !view.base.is_readable() {
        return None;
    }
    let list = |bytes: &[u8]| {
        let start = bytes.as_ptr().wrapping_offset(view.offset as isize);
        // SAFETY: views lie inside their base, and memory of bases is aligned.
        unsafe { list_of(py, start, (&view.shape, &view.strides), number) }
    };
    // making lists may run the garbage collector, and that any Python code: few bytes are copied, for others there is a guard
    if view.base.nbytes() <= COPIED {
        let mut copy = Aligned([0; COPIED]);
        let copied = run::peek(py, &view.base, |bytes| copy.0[..bytes.len()].copy_from_slice(bytes));
        return copied.map(|()| list(&copy.0));
    }
    Some(run::read(py, &view.base).and_then(|guard| list(guard.bytes())))
}

/// A list of the elements along the first axis: numbers, or lists.
///
/// # Safety
/// The elements of these extents and strides lie there, and `number` makes an object of one.
unsafe fn list_of<'py>(
    py: Python<'py>,
    start: *const u8,
    (shape, strides): (&[i64], &[i64]),
    number: unsafe fn(*const u8) -> *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's contract. The list is new, has as many places, and takes over what is put there.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(shape[0] as ffi::Py_ssize_t))?;
        for at in 0..shape[0] {
            let place = start.offset((at * strides[0]) as isize);
            let made = match shape.len() {
                1 => Bound::from_owned_ptr_or_err(py, number(place))?,
                _ => list_of(py, place, (&shape[1..], &strides[1..]), number)?,
            };
            ffi::PyList_SetItem(list.as_ptr(), at as ffi::Py_ssize_t, made.into_ptr());
        }
        Ok(list)
    }
}

/// The array with its axes reversed.
pub fn turned<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView) -> PyResult<Bound<'py, PyAny>> {
    let (mut extents, mut strides) = (Dims::from_slice(&view.shape), Dims::from_slice(&view.strides));
    extents.reverse();
    strides.reverse();
    wrap_view(array, shape::window(view, view.offset, extents, strides))
}

/// The elements of a dense array along one axis.
pub fn vector<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView, size: i64) -> PyResult<Bound<'py, PyAny>> {
    let one = |n: i64| Dims::from_slice(&[n]);
    wrap_view(array, shape::window(view, view.offset, one(size), one(view.dtype.size() as i64)))
}

/// `reshape` to extents that fit, without a copy.
pub fn reshaped<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView, given: &Given<'_, 'py>) -> Quick<'py> {
    let dims = match given.in_c_order()? {
        [] => return None,
        &[whole] => plain_shape(&given.value(whole), view.size())?,
        extents => plain_extents(extents.iter().map(|&extent| given.value(extent)), view.size())?,
    };
    shape::reshaped(view, &dims, false).map(|new| wrap_view(array, new))
}

/// Axes of a quick `transpose`.
const AXES: usize = 4;

/// `transpose` by ints, or without arguments.
pub fn permuted<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView, given: &Given<'_, 'py>) -> Quick<'py> {
    let (axes, rank) = (given.plain()?, view.shape.len());
    if axes.is_empty() {
        return Some(turned(array, view));
    }
    if axes.len() != rank || !(2..=AXES).contains(&rank) {
        return None;
    }
    let (mut extents, mut strides, mut seen) = (Dims::new(), Dims::new(), 0u8);
    for &axis in axes {
        let axis = numelt::rules::slicing::within(index::integer(&given.value(axis))?, rank as i64)? as usize;
        seen |= 1 << axis;
        extents.push(view.shape[axis]);
        strides.push(view.strides[axis]);
    }
    // every axis once; what is wrong is the general way's to say
    (seen.count_ones() as usize == rank).then(|| wrap_view(array, shape::window(view, view.offset, extents, strides)))
}
