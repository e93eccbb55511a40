//! Methods that are looked up on the array class itself, as in `ndarray.sum(x)`, without a Python frame.
//!
//! In: the package's table of such methods. Out: the base class of the array's metaclass, which looks names up there
//! first, and the base class of the methods themselves, which distinguish our arrays from NumPy's subclasses. The
//! metaclass also answers `isinstance`, equality and `hash`. This is compiled because NumPy looks `__array_ufunc__`
//! up on the class several times in every call of one of its ufuncs with one of our arrays. The module also gives
//! errors about wrong arguments NumPy's wording. Not here: which methods there are and what their names are (the
//! package).

use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::cpython::vectorcall::{self, Callee, Entry};
use crate::functions::table::{self, Compiled};
use crate::numpy::hooks;
use crate::object::ndarray::NdArray;
use crate::sharing::subclass;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple, PyType};
use std::ffi::c_int;
use std::mem::offset_of;

/// The methods, by name.
static METHODS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
/// The method for ufuncs, and its name: for each operator with one of its scalars on the left, NumPy looks it up twice.
static FOR_UFUNCS: PyOnceLock<(Py<PyString>, Py<PyAny>)> = PyOnceLock::new();
/// NumPy's array class.
static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A method of the class. If its first argument is a numelt array, the compiled function of that name answers, or the
/// one that is asked next, or `ours(...)`; if it is a NumPy array, `numpys(...)` does, or `others(...)` if only the
/// package can decide.
#[pyclass(subclass, dict, frozen, module = "numelt._core")]
pub struct UnboundCall {
    entry: Entry<UnboundCall>,
    compiled: Option<Compiled>,
    next: Option<Compiled>,
    ours: Py<PyAny>,
    others: Py<PyAny>,
    numpys: Py<PyAny>,
}

#[pymethods]
impl UnboundCall {
    #[new]
    #[pyo3(signature = (name, ours, others, numpys))]
    fn new(name: &str, ours: Py<PyAny>, others: Py<PyAny>, numpys: Py<PyAny>) -> UnboundCall {
        let [compiled, next] = table::of_method(name);
        UnboundCall { entry: Entry::new(), compiled, next, ours, others, numpys }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        given::unpacked(args, kwargs, |given| slf.get().called(given))
    }
}

impl Callee for UnboundCall {
    const ENTRY: usize = offset_of!(UnboundCall, entry);

    fn at_once<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let own = given.first().is_some_and(|first| first.is_exact_instance_of::<NdArray>());
        self.compiled.filter(|_| own).map_or(Ok(None), |compiled| compiled(given))
    }

    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        let numpys = match given.first() {
            Some(first) if first.is_exact_instance_of::<NdArray>() => false,
            Some(first) => first.is_instance(ARRAY.import(py, "numpy", "ndarray")?)?,
            None => false,
        };
        if !numpys {
            if let Some(next) = self.next
                && let Some(made) = next(given)?
            {
                return Ok(made);
            }
            return given.pass_to(self.ours.bind(py));
        }
        match subclass::method(self.numpys.bind(py), given)? {
            Some(made) => Ok(made),
            None => given.pass_to(self.others.bind(py)),
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<UnboundCall>()?;
    vectorcall::call_by_entry::<UnboundCall>(&module.py().get_type::<UnboundCall>())?;
    // before the hash of the class is needed
    let meta = array_meta(module.py())?;
    crate::dispatch::module::set_metaclass(&module.py().get_type::<NdArray>(), &meta)?;
    module.add("ArrayMeta", meta)?;
    module.add_function(wrap_pyfunction!(set_unbound, module)?)
}

/// Sets the methods that are found when they are looked up on the class itself.
#[pyfunction]
fn set_unbound(py: Python<'_>, methods: Bound<'_, PyDict>) -> PyResult<()> {
    for method in methods.values() {
        // before Python 3.12, a class does not inherit this from its base
        vectorcall::call_by_entry::<UnboundCall>(&method.get_type())?;
    }
    let name = PyString::intern(py, "__array_ufunc__");
    if let Some(method) = methods.get_item(&name)? {
        let _ = FOR_UFUNCS.set(py, (name.unbind(), method.unbind()));
    }
    METHODS.set(py, methods.unbind()).map_err(|_| PyRuntimeError::new_err("the methods have been set"))
}

/// The base class of the array's metaclass: `type`, except that a method of the table comes before the class's own.
///
/// # Errors
/// Python's, if the type cannot be made.
fn array_meta(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let check = ffi::PyMethodDef {
        ml_name: c"__instancecheck__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: is_instance },
        ml_flags: ffi::METH_O,
        ml_doc: c"Is it an array, ours or one of NumPy's?".as_ptr(),
    };
    // the type uses them as long as it lives
    let methods = Box::leak(Box::new([check, ffi::PyMethodDef::zeroed()])).as_mut_ptr();
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_methods, pfunc: methods.cast() },
        ffi::PyType_Slot { slot: ffi::Py_tp_getattro, pfunc: getattro as *mut _ },
        ffi::PyType_Slot { slot: ffi::Py_tp_richcompare, pfunc: compare as *mut _ },
        ffi::PyType_Slot { slot: ffi::Py_tp_hash, pfunc: hash as *mut _ },
        ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"numelt._core.ArrayMeta".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [py.get_type::<PyType>()])?;
    // SAFETY: the specification and its slots live until the call returns, which copies them, and the name lives for
    // ever. Sizes of 0 are those of the base, `type`. The result is a new reference to a type, or null with an
    // exception set.
    unsafe {
        let made = ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// `getattr(cls, name)`.
unsafe extern "C" fn getattro(cls: *mut ffi::PyObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls a slot with the GIL held, an instance of the slot's class and a name. The dictionary
    // lives as long as the process; a reference is taken to its borrowed item before anything else runs.
    unsafe {
        let py = Python::assume_attached();
        if let Some((known, method)) = FOR_UFUNCS.get(py)
            && known.as_ptr() == name
        {
            return ffi::Py_NewRef(method.as_ptr());
        }
        if let Some(methods) = METHODS.get(py) {
            let found = ffi::PyDict_GetItemWithError(methods.as_ptr(), name);
            if !found.is_null() {
                ffi::Py_INCREF(found);
                return found;
            }
            if !ffi::PyErr_Occurred().is_null() {
                return std::ptr::null_mut();
            }
        }
        // `type` has a function in this slot
        ffi::PyType_Type.tp_getattro.unwrap_unchecked()(cls, name)
    }
}

/// `cls == other`: NumPy's array class equals ours, because programs and libraries compare `type(x)` with it.
unsafe extern "C" fn compare(cls: *mut ffi::PyObject, other: *mut ffi::PyObject, op: c_int) -> *mut ffi::PyObject {
    // SAFETY: Python calls a slot with the GIL held, an instance of the slot's class and any object.
    unsafe {
        let py = Python::assume_attached();
        let equal = match ARRAY.import(py, "numpy", "ndarray") {
            Ok(numpys) => cls == other || numpys.as_ptr() == other,
            Err(error) => {
                error.restore(py);
                return std::ptr::null_mut();
            }
        };
        match op {
            ffi::Py_EQ if equal => ffi::PyBool_FromLong(1),
            ffi::Py_NE if equal => ffi::PyBool_FromLong(0),
            _ => ffi::Py_NewRef(ffi::Py_NotImplemented()),
        }
    }
}

/// `hash(cls)`: the hash of NumPy's array class, which is equal to ours.
unsafe extern "C" fn hash(_: *mut ffi::PyObject) -> ffi::Py_hash_t {
    // SAFETY: Python calls a slot with the GIL held and an instance of the slot's class.
    unsafe {
        let py = Python::assume_attached();
        match ARRAY.import(py, "numpy", "ndarray") {
            Ok(numpys) => ffi::PyObject_Hash(numpys.as_ptr()),
            Err(error) => {
                error.restore(py);
                -1
            }
        }
    }
}

/// `isinstance(object, cls)`: whether it is an instance of the class, or any NumPy array.
unsafe extern "C" fn is_instance(cls: *mut ffi::PyObject, object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls it with the GIL held, a class of this kind and any object.
    unsafe {
        let py = Python::assume_attached();
        let answer = |found: bool| ffi::PyBool_FromLong(found.into());
        let class = ffi::Py_TYPE(object);
        if ffi::PyType_IsSubtype(class, cls.cast()) != 0 {
            return answer(true);
        }
        let numpys = match ARRAY.import(py, "numpy", "ndarray") {
            Ok(numpys) => numpys,
            Err(error) => {
                error.restore(py);
                return std::ptr::null_mut();
            }
        };
        if ffi::PyType_IsSubtype(class, numpys.as_ptr().cast()) != 0 {
            return answer(true);
        }
        // the class that the object states counts, too
        let said = ffi::PyObject_GetAttr(object, pyo3::intern!(py, "__class__").as_ptr());
        if said.is_null() {
            if ffi::PyErr_ExceptionMatches(ffi::PyExc_AttributeError) == 0 {
                return said;
            }
            ffi::PyErr_Clear();
        }
        let is_class = !said.is_null() && ffi::PyType_Check(said) != 0;
        let is = |wanted: *mut ffi::PyObject| ffi::PyType_IsSubtype(said.cast(), wanted.cast()) != 0;
        let found = is_class && (is(cls) || is(numpys.as_ptr()));
        ffi::Py_XDECREF(said);
        answer(found)
    }
}

// ---- wording of errors ----------------------------------------------------------------------

/// A `TypeError` of a public function, ours or NumPy's own, with NumPy's wording if NumPy raises an error for the
/// same arguments.
#[cold]
pub fn reworded(
    function: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
    error: PyErr,
) -> PyErr {
    let py = function.py();
    let hook = match hooks::hook(py, "reworded") {
        Ok(Some(hook)) => hook,
        Ok(None) => return error,
        Err(error) => return error,
    };
    match calls::apply(&hook, (function, args, kwargs, error.value(py)), None) {
        Ok(found) => PyErr::from_value(found),
        Err(error) => error,
    }
}

/// The text (`repr`) of a public function: as a compiled function if NumPy's is compiled.
pub fn text_of(function: &Bound<'_, PyAny>) -> PyResult<String> {
    let inner = function.getattr_opt("__wrapped__")?;
    shown(function, inner.is_some_and(|inner| !inner.is_instance_of::<PyCFunction>()))
}

/// The text (`repr`) of a public function. One that binds is not a compiled function in NumPy.
pub fn shown(function: &Bound<'_, PyAny>, binds: bool) -> PyResult<String> {
    let name = function.getattr(if binds { "__qualname__" } else { "__name__" })?;
    Ok(match binds {
        true => format!("<function {name} at {:#x}>", function.as_ptr() as usize),
        false => format!("<built-in function {name}>"),
    })
}
