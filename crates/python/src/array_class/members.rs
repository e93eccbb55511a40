//! Results of methods for calls that need no conversion of arguments.
//!
//! In: an array and the arguments of a call. Out: the result, or `None` if the general method has to be called.

use crate::array::basic;
use crate::array_class::attributes::{plain_extents, plain_shape};
use crate::cpython::given::Given;
use crate::object::fresh::wrap_view;
use crate::object::ndarray::NdArray;
use crate::record::run;
use numelt::rules::shape;
use numelt_ir::{DType, Dims};
use numelt_runtime::ArrayView;
use pyo3::ffi;
use pyo3::prelude::*;

/// The result of a method; `None` if the general method has to be called.
pub type Attempt<'py> = Option<PyResult<Bound<'py, PyAny>>>;

/// Arrays of at most this many elements are converted to lists here.
const LISTED: i64 = 1024;

/// Bases of at most this many bytes are copied, which takes less time than a guard.
const COPIED: usize = 256;

/// Memory for a copy of a small base.
#[repr(align(16))]
struct Aligned([u8; COPIED]);

/// A small array of f64 or int64, whose values are in memory, as a list of Python numbers, or as nested lists.
pub fn listed<'py>(py: Python<'py>, view: &ArrayView) -> Attempt<'py> {
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
        // SAFETY: views lie inside their base, and the memory of bases is aligned.
        unsafe { list_of(py, start, (&view.shape, &view.strides), number) }
    };
    // making a list may run the garbage collector, and that any Python code; so small bases are copied, and others
    // get a guard
    if view.base.nbytes() <= COPIED {
        let mut copy = Aligned([0; COPIED]);
        let copied = run::peek(py, &view.base, |bytes| copy.0[..bytes.len()].copy_from_slice(bytes));
        return copied.map(|()| list(&copy.0));
    }
    Some(run::read(py, &view.base).and_then(|guard| list(guard.bytes())))
}

/// A list along the first axis: of numbers, or of lists.
///
/// # Safety
/// The elements with these extents and strides lie in valid memory, and `number` makes an object of one element.
unsafe fn list_of<'py>(
    py: Python<'py>,
    start: *const u8,
    (shape, strides): (&[i64], &[i64]),
    number: unsafe fn(*const u8) -> *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the caller's contract. The list is new, has as many entries, and takes over the references stored in
    // it.
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

/// A view of the array with its axes reversed.
pub fn axes_reversed<'py>(array: &Bound<'py, NdArray>, view: &ArrayView) -> PyResult<Bound<'py, PyAny>> {
    let (mut extents, mut strides) = (Dims::from_slice(&view.shape), Dims::from_slice(&view.strides));
    extents.reverse();
    strides.reverse();
    wrap_view(array, shape::window(view, view.offset, extents, strides))
}

/// A view of the elements of a contiguous array along one axis.
pub fn vector<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, size: i64) -> PyResult<Bound<'py, PyAny>> {
    let one = |n: i64| Dims::from_slice(&[n]);
    wrap_view(array, shape::window(view, view.offset, one(size), one(view.dtype.size() as i64)))
}

/// `reshape` without a copy.
pub fn reshaped<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, given: &Given<'_, 'py>) -> Attempt<'py> {
    let dims = match given.in_c_order()? {
        [] => return None,
        &[whole] => plain_shape(&given.value(whole), view.size())?,
        extents => plain_extents(extents.iter().map(|&extent| given.value(extent)), view.size())?,
    };
    shape::reshaped(view, &dims, false).map(|new| wrap_view(array, new))
}

/// The most axes of a `transpose` with arguments that is answered here.
const AXES: usize = 4;

/// `transpose` with ints, or without arguments.
pub fn permuted<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, given: &Given<'_, 'py>) -> Attempt<'py> {
    let (axes, rank) = (given.plain()?, view.shape.len());
    if axes.is_empty() {
        return Some(axes_reversed(array, view));
    }
    if axes.len() != rank || !(2..=AXES).contains(&rank) {
        return None;
    }
    let (mut extents, mut strides, mut seen) = (Dims::new(), Dims::new(), 0u8);
    for &axis in axes {
        let axis = numelt::rules::slicing::within(basic::integer(&given.value(axis))?, rank as i64)? as usize;
        seen |= 1 << axis;
        extents.push(view.shape[axis]);
        strides.push(view.strides[axis]);
    }
    // each axis must occur once; for other axes the general method raises the error
    (seen.count_ones() as usize == rank).then(|| wrap_view(array, shape::window(view, view.offset, extents, strides)))
}
