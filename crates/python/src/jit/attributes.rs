//! Attributes of the program's objects: which of them can be read and assigned without running code of the program.
//!
//! In: an object and a name. Out: whether CPython's own rules apply to it, and where the value is. CPython's cache of
//! lookups in classes answers in a few nanoseconds, so this is asked before each run of compiled code.

use numelt_jit::Home;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyModule, PyString};
use std::ptr::fn_addr_eq;

// in CPython's header `cpython/object.h`, for all versions
unsafe extern "C" {
    /// What a class or its bases have by this name: a borrowed reference, or null.
    fn _PyType_Lookup(class: *mut ffi::PyTypeObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// What the class of an object says of a name, if attributes of its objects are looked up by CPython's own rules.
fn in_class<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Option<Bound<'py, PyAny>>> {
    let class = object.get_type_ptr();
    // SAFETY: the object, its class and the name are alive; the result is borrowed from the class, or null.
    unsafe {
        let general: ffi::getattrofunc = ffi::PyObject_GenericGetAttr;
        if !(*class).tp_getattro.is_some_and(|own| fn_addr_eq(own, general)) {
            return None;
        }
        let found = _PyType_Lookup(class, name.as_ptr());
        Some(Bound::from_borrowed_ptr_or_opt(object.py(), found))
    }
}

/// Is it one of the slots of a class of the program?
fn is_slot(found: &Bound<'_, PyAny>) -> bool {
    let is_member = found.get_type_ptr() == &raw mut ffi::PyMemberDescr_Type;
    let owner = || found.getattr(intern!(found.py(), "__objclass__"));
    // SAFETY: the class is alive.
    let is_programs = |class: Bound<'_, PyAny>| unsafe {
        (*class.as_ptr().cast::<ffi::PyTypeObject>()).tp_flags & ffi::Py_TPFLAGS_HEAPTYPE != 0
            && class
                .getattr(intern!(class.py(), "__dict__"))
                .is_ok_and(|names| names.contains(intern!(class.py(), "__slots__")).unwrap_or(false))
    };
    is_member && owner().is_ok_and(is_programs)
}

fn is_descriptor(found: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object's class is alive.
    unsafe {
        let class = found.get_type_ptr();
        (*class).tp_descr_get.is_some() || (*class).tp_descr_set.is_some()
    }
}

/// Where the value of an attribute is; `None` if reading it may run code of the program.
pub fn home(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Home> {
    if object.is_instance_of::<PyModule>() {
        return Some(Home::Module);
    }
    match in_class(object, name)? {
        None => Some(Home::Own),
        Some(found) if is_slot(&found) => Some(Home::Own),
        Some(found) if is_descriptor(&found) => None,
        // to ask for the dictionary of an object would make one
        Some(found) if object.getattr(name).is_ok_and(|value| value.is(&found)) => Some(Home::Class),
        Some(_) => Some(Home::Own),
    }
}

/// Can an object have attributes for which its class has no slots?
fn has_dictionary(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object's class is alive.
    unsafe { (*object.get_type_ptr()).tp_dictoffset != 0 }
}

/// Where an attribute is, if it can be assigned without running code of the program.
pub fn assignable(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Home> {
    // SAFETY: the object's class is alive.
    let own = unsafe { (*object.get_type_ptr()).tp_setattro };
    let general: ffi::setattrofunc = ffi::PyObject_GenericSetAttr;
    if !own.is_some_and(|own| fn_addr_eq(own, general)) {
        return None;
    }
    match home(object, name)? {
        Home::Own if object.getattr(name).is_ok() => Some(Home::Own),
        Home::Own if in_class(object, name)?.is_some() || has_dictionary(object) => Some(Home::None),
        Home::Own => None,
        Home::Class => Some(Home::Class),
        Home::Module | Home::None => None,
    }
}

/// The function of the object's class that a call `object.name(…)` calls.
pub fn method<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    let found = in_class(object, name)??;
    if !found.is_exact_instance_of::<PyFunction>() {
        return None;
    }
    // the object may have an attribute of that name, too
    let bound = object.getattr(name).ok()?;
    let part = |name| bound.getattr(name).ok();
    let (of, called) = (part(intern!(object.py(), "__self__"))?, part(intern!(object.py(), "__func__"))?);
    (of.is(object) && called.is(&found)).then_some(found)
}
