//! Conversion between NumPy's dtype and scalar objects, Python's numbers, and numelt's dtypes and scalars.
//!
//! In: an object, or a dtype or scalar of numelt. Out: its counterpart. Not here: arrays (see `export.rs`).

use crate::object::ndarray::NdArray;
use numelt::rules::names::numpy_name;
use numelt::rules::resolve::Weak;
use numelt_ir::{DType, Scalar};
use numpy::npyffi::{NPY_TYPES, PY_ARRAY_API, PyArray_Descr, PyDataType_METADATA, PyDataType_NAMES};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};
use std::ffi::{c_int, c_long};

/// NumPy's objects that are often needed.
pub struct Numpy {
    descrs: Vec<Py<PyAny>>,
    /// Scalar types with their dtypes. `intc` stands beside `int32` if they are two types.
    types: Vec<(Py<PyType>, DType)>,
    /// `numpy.ndarray`.
    pub ndarray: Py<PyType>,
    /// `numpy.generic`.
    pub generic: Py<PyType>,
    /// `numpy.ufunc`.
    pub ufunc: Py<PyType>,
    /// The module `numpy`.
    pub module: Py<PyAny>,
    /// `numpy._NoValue`, the default of arguments that NumPy's functions pass on.
    pub no_value: Py<PyAny>,
    /// The fast way to make `numpy.float64` objects, if their memory layout is the expected one.
    float64: Option<Float64>,
    /// Whether the value of a `numpy.int64` object lies directly behind the head of the object.
    plain_int64: bool,
}

/// Makes `numpy.float64` objects, which have the layout of a Python float.
struct Float64 {
    class: *mut ffi::PyTypeObject,
    alloc: ffi::allocfunc,
}

// SAFETY: the type object lives as long as NumPy does, that is, for the whole process.
unsafe impl Send for Float64 {}
// SAFETY: as above; it is used with the GIL held.
unsafe impl Sync for Float64 {}

impl Float64 {
    /// Reads the type's allocator; `None` unless a number of this type has the layout of a Python float.
    fn of(class: &Bound<'_, PyType>) -> Option<Float64> {
        // SAFETY: the slot of a ready type holds a function of that kind or null.
        let alloc = unsafe {
            let slot = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_alloc);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::allocfunc>>(slot)?
        };
        lies_plainly(class, 1.618_033_988_749_895_f64).then_some(Float64 { class: class.as_type_ptr(), alloc })
    }

    /// A new number, or null with an exception set.
    #[inline]
    fn make(&self, _py: Python<'_>, value: f64) -> *mut ffi::PyObject {
        // SAFETY: allocates an object of the type, whose value lies directly behind the head, as `of` has checked.
        unsafe {
            let made = (self.alloc)(self.class, 0);
            if !made.is_null() {
                made.cast::<u8>().add(HEAD).cast::<f64>().write(value);
            }
            made
        }
    }
}

/// Size in bytes of the head that every Python object has.
const HEAD: usize = size_of::<ffi::PyObject>();

/// Whether an object that a class makes of a value consists of the head of every object and then that value, and
/// nothing else.
fn lies_plainly<T>(class: &Bound<'_, PyType>, value: T) -> bool
where
    T: Copy + PartialEq + for<'py> IntoPyObject<'py>,
{
    let Ok(made) = class.call1((value,)) else { return false };
    let size = class.getattr("__basicsize__").and_then(|size| size.extract::<usize>());
    if !size.is_ok_and(|size| size == HEAD + size_of::<T>()) || made.get_type_ptr() != class.as_type_ptr() {
        return false;
    }
    // SAFETY: the object has that many bytes.
    let found = unsafe { made.as_ptr().cast::<u8>().add(HEAD).cast::<T>().read() };
    found == value
}

static NUMPY: PyOnceLock<Numpy> = PyOnceLock::new();

impl Numpy {
    fn load(py: Python<'_>) -> PyResult<Numpy> {
        let module = py.import("numpy")?;
        let class = |name: &str| -> PyResult<Py<PyType>> { Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        let mut descrs = Vec::new();
        let mut types = Vec::new();
        for dtype in DType::ALL {
            let descr = module.call_method1("dtype", (numpy_name(dtype),))?;
            types.push((descr.getattr("type")?.cast_into::<PyType>()?.unbind(), dtype));
            descrs.push(descr.unbind());
        }
        for name in ["intc", "uintc", "longlong", "ulonglong"] {
            let num: c_int = module.call_method1("dtype", (name,))?.getattr("num")?.extract()?;
            if let Some(dtype) = from_type_num(num) {
                types.push((class(name)?, dtype));
            }
        }
        let float64 = Float64::of(types[DType::F64 as usize].0.bind(py));
        let plain_int64 = lies_plainly(types[DType::I64 as usize].0.bind(py), 0x0123_4567_89ab_cdef_i64);
        Ok(Numpy {
            float64,
            plain_int64,
            descrs,
            types,
            ndarray: class("ndarray")?,
            generic: class("generic")?,
            ufunc: class("ufunc")?,
            no_value: module.getattr("_NoValue")?.unbind(),
            module: module.into_any().unbind(),
        })
    }

    /// The only instance of the process. The first call imports NumPy.
    pub fn get(py: Python<'_>) -> PyResult<&'static Numpy> {
        NUMPY.get_or_try_init(py, || Numpy::load(py))
    }

    /// The `numpy.dtype` object of a dtype.
    pub fn descr<'py>(&self, py: Python<'py>, dtype: DType) -> &Bound<'py, PyAny> {
        self.descrs[dtype as usize].bind(py)
    }

    /// The dtype of a NumPy scalar type; `None` if the dtype is not native, or the class is not a NumPy scalar type.
    pub fn dtype_of_type(&self, class: *mut ffi::PyTypeObject) -> Option<DType> {
        self.types.iter().find(|(t, _)| t.as_ptr().cast() == class).map(|(_, d)| *d)
    }

    /// An attribute of the module `numpy`.
    pub fn attr<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.module.bind(py).getattr(name)
    }
}

/// The native dtype of NumPy's type number. If `longlong` has the size of `long`, `longlong` is not native: results
/// tell the two apart by their type number, and only NumPy has the rules for which of them a result has.
pub fn from_type_num(num: c_int) -> Option<DType> {
    const LONG_IS_64: bool = size_of::<c_long>() == 8;
    const LONG: (DType, DType) = if LONG_IS_64 { (DType::I64, DType::U64) } else { (DType::I32, DType::U32) };
    Some(match num {
        0 => DType::Bool,
        1 => DType::I8,
        2 => DType::U8,
        3 => DType::I16,
        4 => DType::U16,
        5 => DType::I32,
        6 => DType::U32,
        7 => LONG.0,
        8 => LONG.1,
        9 if !LONG_IS_64 => DType::I64,
        10 if !LONG_IS_64 => DType::U64,
        11 => DType::F32,
        12 => DType::F64,
        14 => DType::C64,
        15 => DType::C128,
        23 => DType::F16,
        _ => return None,
    })
}

/// The native dtype of a `numpy.dtype` structure. `None` for other types, for non-native byte order, and for a dtype
/// that carries metadata or names parts of a number as fields (`('i4', [('low', 'i2'), ('high', 'i2')])`), because
/// results must carry those too.
///
/// # Safety
/// `descr` points to a living `numpy.dtype`.
pub unsafe fn from_descr(py: Python<'_>, descr: *const PyArray_Descr) -> Option<DType> {
    // SAFETY: the caller vouches for the pointer; these fields have the same offsets in NumPy 1 and 2.
    let (num, order) = unsafe { ((*descr).fields.type_num, (*descr).fields.byteorder as u8) };
    let dtype = from_type_num(num)?;
    // most arrays have the object that NumPy keeps for the dtype, which has native order, no metadata and no fields
    if Numpy::get(py).is_ok_and(|numpy| numpy.descr(py, dtype).as_ptr() == descr.cast_mut().cast()) {
        return Some(dtype);
    }
    let swapped = if cfg!(target_endian = "little") { b'>' } else { b'<' };
    // SAFETY: as above; both functions accept every dtype with a native type number.
    let (metadata, names) = unsafe { (PyDataType_METADATA(py, descr), PyDataType_NAMES(py, descr)) };
    // SAFETY: the constant lives as long as the interpreter.
    let nameless = || names.is_null() || names == unsafe { pyo3::ffi::Py_None() };
    (order != swapped && metadata.is_null() && nameless()).then_some(dtype)
}

/// The native dtype that a `dtype=` argument stands for; `Ok(None)` if it is a valid dtype that is not native.
pub fn parse_dtype(obj: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let py = obj.py();
    let numpy = Numpy::get(py)?;
    if obj.is_instance_of::<PyType>()
        && let Some(dtype) = numpy.dtype_of_type(obj.as_ptr().cast()).or_else(|| dtype_of_python_type(obj))
    {
        return Ok(Some(dtype));
    }
    if let Some(at) = numpy.descrs.iter().position(|descr| descr.is(obj)) {
        return Ok(Some(DType::ALL[at]));
    }
    if obj.is_instance_of::<NdArray>() {
        // an array has an attribute `dtype`, by which NumPy would accept it as a dtype
        return Err(PyTypeError::new_err("Cannot construct a dtype from an array"));
    }
    let mut descr: *mut PyArray_Descr = std::ptr::null_mut();
    // SAFETY: the API table is loaded by now; on success `descr` is a new reference.
    let ok = unsafe { PY_ARRAY_API.PyArray_DescrConverter(py, obj.as_ptr(), &mut descr) };
    if ok == 0 {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: success gives an owned reference to a dtype.
    let (owned, dtype) = unsafe { (Bound::from_owned_ptr(py, descr.cast()), from_descr(py, descr)) };
    drop(owned);
    Ok(dtype)
}

/// The dtype of one of Python's own number types.
pub fn dtype_of_python_type(obj: &Bound<'_, PyAny>) -> Option<DType> {
    use pyo3::PyTypeInfo;
    let (py, class) = (obj.py(), obj.as_ptr());
    let is = |other: *mut ffi::PyTypeObject| std::ptr::eq(class.cast(), other);
    if is(PyFloat::type_object_raw(py)) {
        Some(DType::F64)
    } else if is(PyInt::type_object_raw(py)) {
        Some(DType::I64)
    } else if is(PyBool::type_object_raw(py)) {
        Some(DType::Bool)
    } else {
        is(PyComplex::type_object_raw(py)).then_some(DType::C128)
    }
}

/// The native dtype of a dtype object, a scalar type, one of Python's number types, or a common name of a dtype;
/// `None` for all other objects.
pub fn known_dtype(obj: &Bound<'_, PyAny>) -> Option<DType> {
    let py = obj.py();
    if let Some(dtype) = dtype_of_python_type(obj) {
        return Some(dtype);
    }
    let numpy = Numpy::get(py).ok()?;
    if let Some(dtype) = numpy.dtype_of_type(obj.as_ptr().cast()) {
        return Some(dtype);
    }
    if let Some(dtype) = DType::ALL.into_iter().find(|&d| numpy.descr(py, d).is(obj)) {
        return Some(dtype);
    }
    obj.cast_exact::<PyString>().ok().and_then(|word| named_dtype(&word.to_cow().ok()?))
}

/// The native dtype of a name that means the same on all systems: the full name, or the kind and size.
fn named_dtype(word: &str) -> Option<DType> {
    const SHORT: [(&str, DType); 14] = [
        ("?", DType::Bool),
        ("i1", DType::I8),
        ("u1", DType::U8),
        ("i2", DType::I16),
        ("u2", DType::U16),
        ("i4", DType::I32),
        ("u4", DType::U32),
        ("i8", DType::I64),
        ("u8", DType::U64),
        ("f2", DType::F16),
        ("f4", DType::F32),
        ("f8", DType::F64),
        ("c8", DType::C64),
        ("c16", DType::C128),
    ];
    let short = SHORT.into_iter().find(|&(short, _)| short == word).map(|(_, dtype)| dtype);
    short.or_else(|| DType::ALL.into_iter().find(|&dtype| numpy_name(dtype) == word)).or(match word {
        "float" | "d" => Some(DType::F64),
        "f" => Some(DType::F32),
        "complex" => Some(DType::C128),
        _ => None,
    })
}

/// The NumPy scalar with this value.
pub fn to_numpy_scalar<'py>(py: Python<'py>, value: Scalar) -> PyResult<Bound<'py, PyAny>> {
    let mut bytes = value.to_bytes();
    // SAFETY: the bytes are the element's memory image.
    unsafe { numpy_scalar_at(py, value.dtype(), bytes.as_mut_ptr()) }
}

/// The NumPy scalar with the value at an address.
///
/// # Safety
/// `address` holds one element of `dtype`.
pub unsafe fn numpy_scalar_at<'py>(py: Python<'py>, dtype: DType, address: *mut u8) -> PyResult<Bound<'py, PyAny>> {
    let numpy = Numpy::get(py)?;
    // SAFETY: the caller's contract; a null result has an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, scalar_or_null(py, numpy, dtype, address)) }
}

/// [`numpy_scalar_at`] without a reason if there is no memory: then the result is `None`, and no exception is set. Such
/// a result is passed on in a register. A `PyResult` is copied in memory, which takes as long as making the scalar.
///
/// # Safety
/// `address` holds one element of `dtype`.
#[inline(always)]
pub unsafe fn quick_numpy_scalar_at<'py>(py: Python<'py>, dtype: DType, address: *mut u8) -> Option<Bound<'py, PyAny>> {
    let numpy = NUMPY.get(py)?;
    // SAFETY: the caller's contract.
    unsafe {
        let made = Bound::from_owned_ptr_or_opt(py, scalar_or_null(py, numpy, dtype, address));
        if made.is_none() {
            ffi::PyErr_Clear();
        }
        made
    }
}

/// A new NumPy scalar with the value at an address, or null with an exception set.
///
/// # Safety
/// `address` holds one element of `dtype`.
#[inline]
unsafe fn scalar_or_null(py: Python<'_>, numpy: &Numpy, dtype: DType, address: *mut u8) -> *mut ffi::PyObject {
    if dtype == DType::F64
        && let Some(float64) = &numpy.float64
    {
        // SAFETY: the address holds an element, by the caller's contract.
        return float64.make(py, unsafe { address.cast::<f64>().read() });
    }
    let descr = numpy.descr(py, dtype).as_ptr();
    // SAFETY: NumPy copies one element from `address`; the descr is alive.
    unsafe { PY_ARRAY_API.PyArray_Scalar(py, address.cast(), descr.cast(), std::ptr::null_mut()) }
}

/// The value of an object whose class is exactly `numpy.float64`.
#[inline]
pub fn numpy_float64(obj: &Bound<'_, PyAny>) -> Option<f64> {
    let numpy = NUMPY.get(obj.py())?;
    let own = std::ptr::eq(obj.get_type_ptr().cast(), numpy.types[DType::F64 as usize].0.as_ptr());
    // SAFETY: a `numpy.float64` is a float.
    own.then(|| unsafe { ffi::PyFloat_AsDouble(obj.as_ptr()) })
}

/// The value of an object whose class is exactly `numpy.int64`.
#[inline]
pub fn numpy_int64(obj: &Bound<'_, PyAny>) -> Option<i64> {
    let numpy = NUMPY.get(obj.py())?;
    let own = std::ptr::eq(obj.get_type_ptr().cast(), numpy.types[DType::I64 as usize].0.as_ptr());
    // SAFETY: the value of an object of that class lies there, as was checked when NumPy was loaded.
    (own && numpy.plain_int64).then(|| unsafe { obj.as_ptr().cast::<u8>().add(HEAD).cast::<i64>().read() })
}

/// The value of a NumPy scalar of a native dtype.
pub fn numpy_scalar_value(obj: &Bound<'_, PyAny>) -> Option<Scalar> {
    let py = obj.py();
    let class = obj.get_type_ptr();
    if let Some(value) = numpy_float64(obj) {
        return Some(Scalar::F64(value));
    }
    let dtype = Numpy::get(py).ok()?.dtype_of_type(class)?;
    let mut bytes = [0u64; 2];
    // SAFETY: the object is an instance of exactly that scalar type, whose C value has at most 16 bytes.
    unsafe { PY_ARRAY_API.PyArray_ScalarAsCtype(py, obj.as_ptr(), bytes.as_mut_ptr().cast()) };
    // SAFETY: two u64 are 16 bytes.
    let image = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), 16) };
    Some(Scalar::from_bytes(dtype, image))
}

/// The value of an object whose class is exactly Python's `float` or `int`; `None` for other objects.
#[inline]
pub fn exact_weak(obj: &Bound<'_, PyAny>) -> Option<Weak> {
    if let Ok(value) = obj.cast_exact::<PyFloat>() {
        return Some(Weak::Float(value.value()));
    }
    if obj.is_exact_instance_of::<PyInt>() { weak_int(obj) } else { None }
}

/// The value of a Python number as a weak operand; `None` for other objects. NumPy's scalars are not weak, even those
/// derived from Python's numbers.
pub fn weak(obj: &Bound<'_, PyAny>) -> Option<Weak> {
    let py = obj.py();
    if let Ok(value) = obj.cast_exact::<PyFloat>() {
        return Some(Weak::Float(value.value()));
    }
    if let Ok(value) = obj.cast_exact::<PyInt>() {
        return weak_int(value.as_any());
    }
    if let Ok(value) = obj.cast_exact::<PyBool>() {
        return Some(Weak::Bool(value.is_true()));
    }
    let generic = Numpy::get(py).ok()?.generic.as_ptr();
    // SAFETY: reads the class of a living object, and runs no Python code.
    if unsafe { ffi::PyObject_TypeCheck(obj.as_ptr(), generic.cast()) } != 0 {
        return None;
    }
    if let Ok(value) = obj.cast::<PyInt>() {
        return weak_int(value.as_any());
    }
    if let Ok(value) = obj.cast::<PyFloat>() {
        return Some(Weak::Float(value.value()));
    }
    // SAFETY: the object is a complex; both calls only read it.
    obj.cast::<PyComplex>().ok().map(|c| unsafe {
        Weak::Complex(ffi::PyComplex_RealAsDouble(c.as_ptr()), ffi::PyComplex_ImagAsDouble(c.as_ptr()))
    })
}

fn weak_int(obj: &Bound<'_, PyAny>) -> Option<Weak> {
    let mut overflow: c_int = 0;
    // SAFETY: the object is an int; overflow is reported through the out-parameter.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(obj.as_ptr(), &mut overflow) };
    match overflow {
        0 => Some(Weak::Int(value)),
        1 => Some(obj.extract::<u64>().map_or(Weak::Huge(false), Weak::Unsigned)),
        _ => Some(Weak::Huge(true)),
    }
}

/// Conversion of scalars by C's rules (NumPy's `casting='unsafe'`).
pub use numelt_ir::interp::cast;

/// Loads NumPy's C API and makes one call of it as a check.
pub fn load_api(py: Python<'_>) -> PyResult<()> {
    Numpy::get(py)?;
    // SAFETY: the first call loads the API table; the result is a new reference to a built-in dtype.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, NPY_TYPES::NPY_DOUBLE as c_int);
        drop(Bound::from_owned_ptr_or_err(py, descr.cast())?);
    }
    Ok(())
}
