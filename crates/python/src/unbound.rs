//! Methods looked up on the array class, as in `ndarray.sum(x)`, without a Python frame.
//!
//! In: the package's table of such methods. Out: the base of the array's metaclass, which looks there first, and the
//! base of the methods themselves, which tell our arrays from NumPy's subclasses. The metaclass also says what an instance is. NumPy looks `__array_ufunc__` up on
//! the class several times in every call of one of its ufuncs with one of our arrays. Not here: which methods
//! there are and what they are called (the package).

use crate::ndarray::NdArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::ffi::c_int;

/// The methods by name.
static METHODS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
/// NumPy's array class.
static ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// What a method of the class does with its first argument: `ours(...)`, or `others(...)` for an array of NumPy's.
#[pyclass(subclass, dict, frozen, module = "numelt._core")]
pub struct UnboundCall {
    ours: Py<PyAny>,
    others: Py<PyAny>,
}

#[pymethods]
impl UnboundCall {
    #[new]
    #[pyo3(signature = (ours, others, *_args))]
    fn new(ours: Py<PyAny>, others: Py<PyAny>, _args: &Bound<'_, PyTuple>) -> UnboundCall {
        UnboundCall { ours, others }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let numpys = match args.get_item(0) {
            Ok(first) if first.is_exact_instance_of::<NdArray>() => false,
            Ok(first) => first.is_instance(ARRAY.import(py, "numpy", "ndarray")?)?,
            Err(_) => false,
        };
        let callable = if numpys { &self.others } else { &self.ours };
        callable.bind(py).call(args, kwargs)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<UnboundCall>()?;
    module.add("ArrayMeta", array_meta(module.py())?)?;
    module.add_function(wrap_pyfunction!(set_unbound, module)?)
}

/// Sets the methods that the class has when it is asked for them itself.
#[pyfunction]
fn set_unbound(py: Python<'_>, methods: Bound<'_, PyDict>) -> PyResult<()> {
    METHODS.set(py, methods.unbind()).map_err(|_| PyRuntimeError::new_err("the methods have been set"))
}

/// The base of the array's metaclass: `type`, but a method of the table goes before the class's own.
///
/// # Errors
/// Python's, where the type cannot be made.
fn array_meta(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let check = ffi::PyMethodDef {
        ml_name: c"__instancecheck__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: is_instance },
        ml_flags: ffi::METH_O,
        ml_doc: c"Is it an array, ours or one of NumPy's?".as_ptr(),
    };
    // the type looks at them as long as it lives
    let methods = Box::leak(Box::new([check, ffi::PyMethodDef::zeroed()])).as_mut_ptr();
    let mut slots = [
        ffi::PyType_Slot { slot: ffi::Py_tp_methods, pfunc: methods.cast() },
        ffi::PyType_Slot { slot: ffi::Py_tp_getattro, pfunc: getattro as *mut _ },
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
    // SAFETY: the specification and its slots live until the call returns, which copies them, and the name for ever;
    // sizes of 0 are those of the base, `type`. The result is a new reference to a type, or null with an exception.
    unsafe {
        let made = ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// `getattr(cls, name)`.
unsafe extern "C" fn getattro(cls: *mut ffi::PyObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls a slot with the interpreter held, an instance of the slot's class and a name. The dictionary
    // lives as long as the process; what it lends is taken a reference to before anything else runs.
    unsafe {
        let py = Python::assume_attached();
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
        let inherited = ffi::PyType_GetSlot(&raw mut ffi::PyType_Type, ffi::Py_tp_getattro as c_int);
        let inherited: ffi::getattrofunc = std::mem::transmute(inherited);
        inherited(cls, name)
    }
}

/// `isinstance(object, cls)`: of the class, or any array of NumPy's.
unsafe extern "C" fn is_instance(cls: *mut ffi::PyObject, object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: Python calls it with the interpreter held, a class of this kind and any object.
    unsafe {
        let py = Python::assume_attached();
        let answer = |found: bool| ffi::PyBool_FromLong(found.into());
        let class = ffi::Py_TYPE(object);
        if ffi::PyType_IsSubtype(class, cls.cast()) != 0 {
            return answer(true);
        }
        let Ok(numpys) = ARRAY.import(py, "numpy", "ndarray") else { return answer(false) };
        // what it says that it is counts, too
        let said = ffi::PyObject_GetAttr(object, pyo3::intern!(py, "__class__").as_ptr());
        if said.is_null() {
            if ffi::PyErr_ExceptionMatches(ffi::PyExc_AttributeError) == 0 {
                return said;
            }
            ffi::PyErr_Clear();
        }
        let is_class = !said.is_null() && ffi::PyType_Check(said) != 0;
        let found = [class, if is_class { said.cast() } else { class }].into_iter().any(|class| {
            let is = |wanted: *mut ffi::PyObject| ffi::PyType_IsSubtype(class, wanted.cast()) != 0;
            is(cls) || is(numpys.as_ptr())
        });
        ffi::Py_XDECREF(said);
        answer(found)
    }
}
