//! Attributes of arrays that describe shape, memory and dtype, and the attributes that return views.
//!
//! In: an array. Out: the value of an attribute, or a changed array. Also the functions that parse shapes.

use crate::array::{assign, operand};
use crate::array_class::flags::Flags;
use crate::cpython::Out;
use crate::cpython::calls;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::object::fresh::wrap_view;
use crate::object::ndarray::{NdArray, Payload};
use crate::record::front;
use crate::record::homes;
use crate::record::run;
use crate::sharing::export;
use crate::ufunc::reduce;
use numelt::rules::axes::permuted;
use numelt::rules::shape;
use numelt_ir::Dims;
use pyo3::exceptions::{PyAttributeError, PyDeprecationWarning, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyTuple};

/// The extents of a numelt array.
pub fn extents(array: &Bound<'_, NdArray>) -> PyResult<Dims> {
    match array.get().payload() {
        Payload::Native(view) => Ok(view.shape.clone()),
        Payload::Foreign(real) => Ok(Dims::from_vec(real.bind(array.py()).getattr("shape")?.extract::<Vec<i64>>()?)),
    }
}

/// An attribute of a `numpy.ndarray` of a non-native dtype, converted to our objects.
fn foreign<'py>(py: Python<'py>, real: &Py<PyAny>, name: &str) -> Out<'py> {
    crate::sharing::results::wrap(&real.bind(py).getattr(name)?, 1)
}

/// A shape of Python ints for `size` elements, with at most one extent unknown (-1); `None` for anything else, errors
/// included.
pub fn plain_shape(obj: &Bound<'_, PyAny>, size: i64) -> Option<Dims> {
    match obj.cast_exact::<PyTuple>() {
        Ok(tuple) => plain_extents(tuple.iter_borrowed(), size),
        Err(_) => plain_extents(std::iter::once(obj.as_borrowed()), size),
    }
}

/// [`plain_shape`] from the extents one by one.
pub fn plain_extents<'a, 'py: 'a>(items: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>, size: i64) -> Option<Dims> {
    let (mut dims, mut unknown, mut known) = (Dims::new(), None, 1i64);
    for item in items {
        let n = if item.is_exact_instance_of::<PyInt>() { item.extract::<i64>().ok()? } else { return None };
        match n {
            0.. => known = known.checked_mul(n)?,
            -1 if unknown.is_none() => unknown = Some(dims.len()),
            _ => return None,
        }
        dims.push(n);
    }
    if dims.len() > numelt_ir::MAX_RANK {
        return None;
    }
    match unknown {
        Some(_) if known == 0 || size % known != 0 => None,
        Some(axis) => {
            dims[axis] = size / known;
            Some(dims)
        }
        None => (known == size).then_some(dims),
    }
}

/// A shape from a Python int or sequence, for `size` elements. At most one extent is -1 and is worked out.
pub fn parse_shape(obj: &Bound<'_, PyAny>, size: i64) -> PyResult<Dims> {
    if let Some(dims) = plain_shape(obj, size) {
        return Ok(dims);
    }
    let mut dims = operand::dimensions(obj)?;
    let text = |dims: &[i64]| {
        PyValueError::new_err(format!(
            "cannot reshape array of size {size} into shape {}",
            errors::partial_shape_text(dims)
        ))
    };
    let unknown: Vec<usize> = (0..dims.len()).filter(|&a| dims[a] < 0).collect();
    match unknown[..] {
        [] => {}
        [axis] => {
            let known: i64 = dims.iter().filter(|n| **n >= 0).product();
            if known == 0 || size % known != 0 {
                dims[axis] = -1;
                return Err(text(&dims));
            }
            dims[axis] = size / known;
        }
        _ => return Err(PyValueError::new_err("can only specify one unknown dimension")),
    }
    let count = dims.iter().try_fold(1i64, |a, &n| a.checked_mul(n));
    if count != Some(size) { Err(text(&dims)) } else { Ok(dims) }
}

#[pymethods]
impl NdArray {
    #[getter]
    fn shape<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(view) => Ok(PyTuple::new(slf.py(), view.shape.iter())?.into_any()),
            Payload::Foreign(real) => real.bind(slf.py()).getattr(intern!(slf.py(), "shape")),
        }
    }

    #[setter]
    fn set_shape(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match slf.get().payload() {
            Payload::Foreign(real) => real.bind(slf.py()).setattr("shape", value),
            Payload::Native(view) => {
                let dims = parse_shape(value, view.size())?;
                let Some(new) = shape::reshaped(view, &dims, false) else {
                    return Err(PyAttributeError::new_err(
                        "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape.",
                    ));
                };
                slf.get().set_view(new);
                Ok(())
            }
        }
    }

    #[getter]
    fn strides<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(view) => Ok(PyTuple::new(slf.py(), view.strides.iter())?.into_any()),
            Payload::Foreign(real) => real.bind(slf.py()).getattr("strides"),
        }
    }

    /// Replaces the strides. This is deprecated, as in NumPy.
    #[setter]
    fn set_strides(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let Payload::Native(view) = slf.get().payload() else {
            let real = export::to_numpy(slf)?;
            return real.setattr("strides", value);
        };
        let text = c"Setting the strides on a NumPy array has been deprecated in NumPy 2.4.\nAs an alternative, you can create a new view using np.lib.stride_tricks.as_strided.";
        PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), text, 1)?;
        let strides = operand::dimensions(value)?;
        if strides.len() != view.shape.len() {
            return Err(PyValueError::new_err(format!("strides must be same length as shape ({})", view.shape.len())));
        }
        let inside = match shape::byte_range(&view.shape, &strides, view.dtype.size() as i64) {
            Some((low, high)) => view.offset + low >= 0 && view.offset + high <= view.base.nbytes() as i64,
            None => true,
        };
        if !inside || strides.iter().any(|s| s % view.dtype.align() as i64 != 0) {
            return Err(PyValueError::new_err("strides is not compatible with available memory"));
        }
        slf.get().set_view(shape::window(view, view.offset, view.shape.clone(), strides));
        Ok(())
    }

    #[getter]
    fn dtype<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        dtype_object(slf)
    }

    #[setter]
    fn set_dtype(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let view = calls::method(&export::to_numpy(slf)?, "view", (value,), None)?;
        let back = export::from_numpy(&view, false)?;
        match back.cast::<NdArray>()?.get().payload() {
            Payload::Native(view) => slf.get().set_view(view.clone()),
            Payload::Foreign(real) => slf.get().set_foreign(real.clone_ref(py)),
        }
        Ok(())
    }

    #[getter]
    fn ndim(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(match slf.get().payload() {
            Payload::Native(view) => view.shape.len(),
            Payload::Foreign(_) => extents(slf)?.len(),
        })
    }

    #[getter]
    fn size(slf: &Bound<'_, Self>) -> PyResult<i64> {
        Ok(match slf.get().payload() {
            Payload::Native(view) => view.size(),
            Payload::Foreign(_) => shape::size(&extents(slf)?),
        })
    }

    #[getter]
    fn itemsize(slf: &Bound<'_, Self>) -> PyResult<i64> {
        match slf.get().payload() {
            Payload::Native(view) => Ok(view.dtype.size() as i64),
            Payload::Foreign(real) => real.bind(slf.py()).getattr("itemsize")?.extract(),
        }
    }

    #[getter]
    fn nbytes(slf: &Bound<'_, Self>) -> PyResult<i64> {
        match slf.get().payload() {
            Payload::Native(view) => Ok(view.size() * view.dtype.size() as i64),
            Payload::Foreign(real) => real.bind(slf.py()).getattr("nbytes")?.extract(),
        }
    }

    /// A view of the array with its axes reversed.
    #[getter(T)]
    fn transposed<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(view) => {
                let (mut shape, mut strides) = (Dims::from_slice(&view.shape), Dims::from_slice(&view.strides));
                shape.reverse();
                strides.reverse();
                wrap_view(slf, shape::window(view, view.offset, shape, strides))
            }
            Payload::Foreign(real) => foreign(slf.py(), real, "T"),
        }
    }

    /// A view of the array with its last two axes swapped.
    #[getter(mT)]
    fn matrix_transposed<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(view) => {
                let rank = view.shape.len();
                if rank < 2 {
                    return Err(PyValueError::new_err("matrix transpose with ndim < 2 is undefined"));
                }
                let mut order: Vec<usize> = (0..rank).collect();
                order.swap(rank - 2, rank - 1);
                wrap_view(slf, permuted(view, &order))
            }
            Payload::Foreign(real) => foreign(slf.py(), real, "mT"),
        }
    }

    /// The array that this one is a view of, or `None`.
    #[getter]
    fn base(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let py = slf.py();
        match (slf.get().parent(), slf.get().payload()) {
            (Some(parent), _) => Ok(Some(parent.clone_ref(py))),
            (None, Payload::Native(_)) => Ok(None),
            (None, Payload::Foreign(real)) => {
                let base = real.bind(py).getattr("base")?;
                if base.is_none() { Ok(None) } else { Ok(Some(crate::sharing::results::wrap(&base, 0)?.unbind())) }
            }
        }
    }

    #[getter]
    fn flags<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(_) => Flags::of(slf).object(slf.py()),
            Payload::Foreign(real) => real.bind(slf.py()).getattr("flags"),
        }
    }

    /// A view of the real part.
    #[getter]
    fn real<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        match slf.get().payload() {
            Payload::Native(view) => match reduce::complex_part(slf, view, false)? {
                Some(part) => Ok(part),
                None => Ok(slf.clone().into_any()),
            },
            Payload::Foreign(array) => {
                let part = array.bind(slf.py()).getattr("real")?;
                if part.is(array) { Ok(slf.clone().into_any()) } else { crate::sharing::results::wrap(&part, 1) }
            }
        }
    }

    #[setter]
    fn set_real(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        slf.get_item_setter("real", value)
    }

    /// A view of the imaginary part of a complex array, else read-only zeros.
    #[getter]
    fn imag<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        let py = slf.py();
        match slf.get().payload() {
            Payload::Native(view) => match reduce::complex_part(slf, view, true)? {
                Some(part) => Ok(part),
                None => {
                    let itemsize = view.dtype.size() as i64;
                    let fortran = shape::is_f_contiguous(&view.shape, &view.strides, itemsize)
                        && !shape::is_c_contiguous(&view.shape, &view.strides, itemsize);
                    let lay = if fortran { shape::f_strides } else { numelt_ir::c_strides };
                    let zeros = front::fresh(py, view.dtype, &view.shape, lay(&view.shape, itemsize));
                    let zero = crate::array::operand::Operand::Value(convert::cast(
                        numelt_ir::Scalar::Bool(false),
                        view.dtype,
                    ));
                    assign::assign_operand(py, &zeros, &zero)?;
                    Ok(Bound::new(py, NdArray::new(zeros, None, false))?.into_any())
                }
            },
            Payload::Foreign(real) => foreign(py, real, "imag"),
        }
    }

    #[setter]
    fn set_imag(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let complex = slf.get().view().is_none_or(|v| v.dtype.is_complex());
        if !complex {
            return Err(PyTypeError::new_err("array does not have imaginary part to set"));
        }
        slf.get_item_setter("imag", value)
    }

    /// NumPy's flat iterator on the shared memory.
    #[getter]
    fn flat<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        export::to_numpy(slf)?.getattr("flat")
    }

    #[setter]
    fn set_flat(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = crate::sharing::calling::plain(value)?;
        export::to_numpy(slf)?.setattr("flat", value)
    }

    #[getter]
    fn data<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        export::to_numpy(slf)?.getattr("data")
    }

    #[getter]
    fn ctypes<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        pin(slf)?;
        export::to_numpy(slf)?.getattr("ctypes")
    }

    #[getter]
    fn device(&self) -> &'static str {
        self.view().map_or(homes::CPU, homes::device_of)
    }

    #[pyo3(signature = (device, /, *, stream = None))]
    fn to_device<'py>(slf: &Bound<'py, Self>, device: &str, stream: Option<Bound<'py, PyAny>>) -> Out<'py> {
        if stream.is_some() {
            return Err(PyValueError::new_err("The stream argument in to_device() is not supported"));
        }
        if let Some(home) = homes::named(device)? {
            return homes::to_device(slf, home);
        }
        Err(PyValueError::new_err(format!("Unsupported device: {device}. Only 'cpu' is accepted.")))
    }

    #[getter(__array_interface__)]
    fn array_interface<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        pin(slf)?;
        export::to_numpy(slf)?.getattr("__array_interface__")
    }

    #[classattr]
    #[pyo3(name = "__array_priority__")]
    fn array_priority() -> f64 {
        0.0
    }

    #[classattr]
    #[pyo3(name = "__hash__")]
    fn unhashable() -> Option<bool> {
        None
    }
}

/// Makes an array's base visible outside as long as the array lives: consumers of a bare address keep the array
/// alive, not an export.
pub fn pin(array: &Bound<'_, NdArray>) -> PyResult<()> {
    if let Some(view) = array.get().view() {
        let export = run::export(array.py(), &view.base)?;
        // If the array has been pinned before, the first export stays and this one is dropped.
        let _ = array.get().pinned().set(Box::new(export));
    }
    Ok(())
}

trait SetPart {
    fn get_item_setter(&self, part: &str, value: &Bound<'_, PyAny>) -> PyResult<()>;
}

impl SetPart for Bound<'_, NdArray> {
    /// `array.real = value` is `array.real[...] = value`.
    fn get_item_setter(&self, part: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.as_any().getattr(part)?.set_item(pyo3::types::PyEllipsis::get(self.py()), value)
    }
}

/// A dictionary of one keyword argument.
pub fn kwarg<'py>(py: Python<'py>, name: &str, value: impl IntoPyObject<'py>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(name, value)?;
    Ok(dict)
}

/// The method of `numpy.ndarray` with this name, for calls that run in NumPy.
pub fn numpy_method<'py>(py: Python<'py>, name: &str) -> Out<'py> {
    Numpy::get(py)?.ndarray.bind(py).getattr(name)
}

/// The dtype object of a numelt array.
fn dtype_object<'py>(array: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    match array.get().payload() {
        Payload::Native(view) => Ok(Numpy::get(py)?.descr(py, view.dtype).clone()),
        Payload::Foreign(real) => real.bind(py).getattr("dtype"),
    }
}
