//! Operands of operations: arrays, NumPy's scalars, Python's numbers.
//!
//! In: any Python object. Out: an operand as NumPy's rules see it, or `None` if the operation needs the fallback.
//! Also shapes and integers as arguments.

use crate::array::sequence;
use crate::cpython::calls;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::object::ndarray::NdArray;
use crate::sharing::{device_arrays, export};
use numelt::rules::resolve::{Kind, Weak};
use numelt_ir::{DType, Dims, MAX_RANK, Scalar};
use numelt_runtime::ArrayView;
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

/// One native operand.
pub enum Operand<'py> {
    /// A native array.
    Array(Bound<'py, NdArray>),
    /// A NumPy scalar, whose dtype takes part in the choice of the result's dtype (a strong operand).
    Value(Scalar),
    /// A Python number, which adapts to the other operands' dtype (a weak operand). The object is kept for error
    /// messages.
    Weak(Weak, Bound<'py, PyAny>),
}

impl<'py> Operand<'py> {
    /// The native operand that an object is; `None` if the object needs the fallback. Sequences become arrays.
    pub fn extract(obj: &Bound<'py, PyAny>) -> PyResult<Option<Operand<'py>>> {
        if let Some(operand) = Operand::quick(obj) {
            return Ok(operand);
        }
        let py = obj.py();
        let numpy = Numpy::get(py)?;
        if obj.is_exact_instance(numpy.ndarray.bind(py)) {
            return Operand::array(&export::operand_from_numpy(obj)?);
        }
        if obj.is_exact_instance_of::<PyList>() || obj.is_exact_instance_of::<PyTuple>() {
            return Operand::sequence(obj, None);
        }
        match device_arrays::taken(obj)? {
            Some(array) => Operand::array(&array),
            None => Ok(None),
        }
    }

    /// The operand, if the object needs no conversion; `None` otherwise.
    #[inline]
    pub fn extract_quick(obj: &Bound<'py, PyAny>) -> Option<Operand<'py>> {
        Operand::quick(obj).flatten()
    }

    /// The operand of an object that needs no conversion. The outer `None` means that the object has to be converted,
    /// the inner one that it needs the fallback.
    #[inline]
    fn quick(obj: &Bound<'py, PyAny>) -> Option<Option<Operand<'py>>> {
        if let Ok(array) = obj.cast_exact::<NdArray>() {
            return Some(array.get().view().map(|_| Operand::Array(array.clone())));
        }
        if let Some(value) = convert::numpy_float64(obj) {
            return Some(Some(Operand::Value(Scalar::F64(value))));
        }
        if let Some(weak) = convert::weak(obj) {
            return Some(Some(Operand::Weak(weak, obj.clone())));
        }
        if let Some(value) = convert::numpy_scalar_value(obj) {
            return Some(Some(Operand::Value(value)));
        }
        if obj.is_none() || obj.is_instance_of::<PyString>() || obj.is_instance_of::<PyBytes>() {
            return Some(None);
        }
        None
    }

    /// The operand of a numelt array with a native dtype; `None` for any other object.
    fn array(obj: &Bound<'py, PyAny>) -> PyResult<Option<Operand<'py>>> {
        Ok(match obj.cast_exact::<NdArray>() {
            Ok(array) if array.get().view().is_some() => Some(Operand::Array(array.clone())),
            Ok(_) | Err(_) => None,
        })
    }

    /// The operand that is stored into an array of this dtype. Numbers in lists and tuples are converted to the dtype
    /// one by one, and one that does not fit is an error.
    pub fn stored(obj: &Bound<'py, PyAny>, dtype: DType) -> PyResult<Option<Operand<'py>>> {
        if obj.is_exact_instance_of::<PyList>() || obj.is_exact_instance_of::<PyTuple>() {
            return Operand::sequence(obj, Some(dtype));
        }
        Operand::extract(obj)
    }

    /// The array of a list or tuple. Unless it holds plain numbers only, NumPy makes the array, with its own rules
    /// and errors.
    fn sequence(obj: &Bound<'py, PyAny>, dtype: Option<DType>) -> PyResult<Option<Operand<'py>>> {
        let py = obj.py();
        if dtype.is_none()
            && let Some(made) = sequence::array(obj.py(), obj, Some)?
        {
            return Operand::array(&made);
        }
        let plain = crate::sharing::calling::plain(obj)?;
        let dtype = dtype.map(numelt::rules::names::numpy_name);
        let made = calls::apply(&Numpy::get(py)?.attr(py, "asarray")?, (plain, dtype), None);
        // if NumPy refuses to make an array, the fallback raises the error
        let refused = [errors::TYPE, errors::VALUE, errors::OVERFLOW];
        let Some(made) = errors::unless(py, made, &refused)? else { return Ok(None) };
        Operand::array(&export::from_numpy(&made, true)?)
    }

    /// The operand as NumPy's rules see it; `None` for an array of a non-native dtype.
    pub fn rule(&self) -> Option<numelt::Operand<'_>> {
        Some(match self {
            Operand::Array(array) => numelt::Operand::Array(array.get().view()?),
            Operand::Value(value) => numelt::Operand::Value(*value),
            Operand::Weak(weak, _) => numelt::Operand::Weak(*weak),
        })
    }

    /// The operand as the rules for dtypes see it: weak, or strong with its dtype.
    pub fn kind(&self) -> Kind {
        match self {
            Operand::Weak(weak, _) => Kind::Weak(*weak),
            Operand::Value(value) => Kind::Strong(value.dtype()),
            Operand::Array(_) => Kind::Strong(self.dtype().unwrap_or(DType::F64)),
        }
    }

    /// The view of an array; `None` for numbers.
    pub fn view(&self) -> Option<&ArrayView> {
        match self {
            Operand::Array(array) => array.get().view(),
            Operand::Value(_) | Operand::Weak(..) => None,
        }
    }

    /// The operand as a Python object.
    pub fn to_object(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Operand::Array(array) => array.clone().into_any(),
            Operand::Value(value) => convert::to_numpy_scalar(py, *value)?,
            Operand::Weak(_, object) => object.clone(),
        })
    }

    /// The extents; empty for numbers.
    pub fn shape(&self) -> &[i64] {
        self.view().map_or(&[], |v| &v.shape)
    }

    /// The dtype of a strong operand; `None` for Python numbers.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Array(_) => self.view().map(|v| v.dtype),
            Operand::Value(value) => Some(value.dtype()),
            Operand::Weak(..) => None,
        }
    }
}

/// Whether a binary operator of numelt leaves the operation to the other operand. This is NumPy's rule:
/// `__array_ufunc__ = None`, or no `__array_ufunc__` and a higher `__array_priority__`.
pub fn defers_to(other: &Bound<'_, PyAny>, in_place: bool) -> PyResult<bool> {
    let py = other.py();
    // looking up a missing attribute on these objects would create an exception each time
    let plain = other.is_exact_instance_of::<PyInt>()
        || other.is_exact_instance_of::<PyFloat>()
        || other.is_exact_instance_of::<PyString>()
        || other.is_none()
        || other.is_exact_instance_of::<PyBool>()
        || other.is_exact_instance_of::<PyList>()
        || other.is_exact_instance_of::<PyTuple>();
    if plain {
        return Ok(false);
    }
    let class = other.get_type();
    // SAFETY: reads the flags of a living type.
    let is_static = unsafe { pyo3::ffi::PyType_GetFlags(class.as_type_ptr()) } & pyo3::ffi::Py_TPFLAGS_HEAPTYPE == 0;
    if is_static && other.is_instance(Numpy::get(py)?.generic.bind(py))? {
        return Ok(false);
    }
    if let Some(attribute) = class.getattr_opt(intern!(py, "__array_ufunc__"))? {
        return Ok(!in_place && attribute.is_none());
    }
    if in_place {
        return Ok(false);
    }
    match class.getattr_opt(intern!(py, "__array_priority__"))? {
        Some(priority) => {
            let number = priority.extract::<f64>();
            let refused = [errors::TYPE, errors::VALUE, errors::OVERFLOW];
            Ok(errors::unless(py, number, &refused)?.is_some_and(|priority| priority > 0.0))
        }
        None => Ok(false),
    }
}

/// Whether the operand's class has an `__array_ufunc__` that is not `None`.
pub fn carries_out_ufuncs(other: &Bound<'_, PyAny>) -> PyResult<bool> {
    let method = other.get_type().getattr_opt(intern!(other.py(), "__array_ufunc__"))?;
    Ok(method.is_some_and(|method| !method.is_none()))
}

/// Raises an error if there are more dimensions than an array may have.
pub fn check_rank(rank: usize) -> PyResult<()> {
    if rank <= MAX_RANK {
        return Ok(());
    }
    let text = format!("maximum supported dimension for an ndarray is currently {MAX_RANK}, found {rank}");
    Err(PyValueError::new_err(text))
}

/// Extents from a Python int or a sequence of ints, with NumPy's exceptions for anything else. Iterators are refused,
/// because they may never end.
pub fn dimensions(obj: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let not_integer = || PyTypeError::new_err("an integer is required");
    let dimension = |item: &Bound<'_, PyAny>| {
        if item.is_exact_instance_of::<PyBool>() {
            return Err(not_integer());
        }
        index(item).map_err(|error| {
            if error.is_instance_of::<PyIndexError>(item.py()) {
                PyValueError::new_err("Maximum allowed dimension exceeded")
            } else {
                error
            }
        })
    };
    if let Ok(tuple) = obj.cast_exact::<PyTuple>() {
        check_rank(tuple.len())?;
        return tuple.iter().map(|item| dimension(&item)).collect();
    }
    if obj.is_exact_instance_of::<PyInt>() {
        return Ok(Dims::from_slice(&[dimension(obj)?]));
    }
    // SAFETY: the object lives; the check cannot fail.
    let sequence = unsafe { pyo3::ffi::PySequence_Check(obj.as_ptr()) } != 0 || obj.is_instance_of::<NdArray>();
    if sequence && let Some(items) = errors::unless(obj.py(), obj.try_iter(), &[errors::TYPE])? {
        // an object that is a sequence only by `__getitem__` may have no length
        if let Some(rank) = errors::unless(obj.py(), obj.len(), &[errors::TYPE])? {
            check_rank(rank)?;
        }
        let items = items.take(MAX_RANK + 1).map(|item| dimension(&item?)).collect::<PyResult<Dims>>()?;
        check_rank(items.len())?;
        return Ok(items);
    }
    index(obj).map(|n| Dims::from_slice(&[n])).map_err(|error| no_extents(obj, error))
}

/// NumPy's error for an object that is neither an integer nor a sequence; other errors are returned unchanged.
fn no_extents(obj: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = obj.py();
    if !error.is_instance_of::<PyTypeError>(py) {
        return error;
    }
    match obj.repr() {
        Ok(text) => {
            let text: String = text.to_string_lossy().chars().take(100).collect();
            PyTypeError::new_err(format!("expected a sequence of integers or a single integer, got '{text}'"))
        }
        Err(error) => error,
    }
}

/// The integer that an object stands for (`__index__`).
pub fn index(obj: &Bound<'_, PyAny>) -> PyResult<i64> {
    // SAFETY: the object lives; -1 with an exception set is an error.
    let value = unsafe { pyo3::ffi::PyNumber_AsSsize_t(obj.as_ptr(), pyo3::ffi::PyExc_IndexError) };
    if value == -1
        && let Some(error) = PyErr::take(obj.py())
    {
        return Err(error);
    }
    Ok(value as i64)
}

/// Extents of a new array from an int or a sequence of ints.
pub fn new_shape(shape: &Bound<'_, PyAny>) -> PyResult<Dims> {
    if shape.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("a bool is no extent"));
    }
    let dims = dimensions(shape)?;
    if dims.iter().any(|&n| n < 0) {
        return Err(PyValueError::new_err("negative dimensions are not allowed"));
    }
    Ok(dims)
}
