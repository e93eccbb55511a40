//! Attributes of the program's objects: which of them can be read and assigned without running code of the program.
//!
//! In: an object and a name. Out: whether CPython's own rules apply to it, and where the value is. This is asked before
//! each run of compiled code.

use numelt_jit::{Home, Via};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyModule, PyString, PyTuple, PyType};
use std::ptr::fn_addr_eq;

// in CPython's headers, for all versions
unsafe extern "C" {
    /// The class `staticmethod`, in `funcobject.h`.
    static mut PyStaticMethod_Type: ffi::PyTypeObject;
}

/// What a class or its bases have by a name, in the order in which CPython asks them.
fn looked_up<'py>(class: &Bound<'py, PyType>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: a class that is alive; its bases are a tuple of classes, and stay as long as it is not assigned others,
    // which takes the GIL.
    let bases = unsafe { Borrowed::from_ptr_or_opt(class.py(), (*class.as_type_ptr()).tp_mro) }?;
    let bases = bases.cast::<PyTuple>().ok()?;
    bases.iter_borrowed().find_map(|base| own(base.cast::<PyType>().ok()?, name))
}

/// What a class itself has by a name.
fn own<'py>(class: Borrowed<'_, 'py, PyType>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: a class that is alive. From CPython 3.12 on, classes that are part of it have no dictionary here.
    let dict = unsafe { Borrowed::from_ptr_or_opt(class.py(), (*class.as_type_ptr()).tp_dict) };
    match dict {
        Some(dict) => dict.cast::<PyDict>().ok()?.get_item(name).ok()?,
        None => {
            let names = class.getattr(intern!(class.py(), "__dict__")).ok()?;
            if names.contains(name).ok()? { names.get_item(name).ok() } else { None }
        }
    }
}

/// What the class of an object says of a name, if attributes of its objects are looked up by CPython's own rules.
pub fn in_class<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Option<Bound<'py, PyAny>>> {
    let class = object.get_type();
    let general: ffi::getattrofunc = ffi::PyObject_GenericGetAttr;
    // SAFETY: the object's class is alive.
    let getattr = unsafe { (*class.as_type_ptr()).tp_getattro };
    getattr.is_some_and(|own| fn_addr_eq(own, general)).then(|| looked_up(&class, name))
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
fn home(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Home> {
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

/// Where an attribute is, and what the class has by its name.
pub struct Place {
    home: Home,
    in_class: Option<Py<PyAny>>,
}

impl Place {
    /// The place of an attribute; `None` if reading it may run code of the program.
    pub fn of(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Place> {
        let home = home(object, name)?;
        let in_class = if home == Home::Module { None } else { in_class(object, name)?.map(Bound::unbind) };
        Some(Place { home, in_class })
    }

    /// Does the attribute of another object of the same class have this place?
    pub fn is_that_of(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> bool {
        if self.home == Home::Module {
            return true;
        }
        match (in_class(object, name), &self.in_class) {
            (Some(None), None) => true,
            (Some(Some(found)), Some(known)) if found.is(known) => {
                // values of the class may be replaced by values of the object
                found.get_type_ptr() == &raw mut ffi::PyMemberDescr_Type || home(object, name) == Some(self.home)
            }
            _ => false,
        }
    }
}

/// Are attributes of an object assigned by CPython's own rules?
pub fn has_plain_assignment(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object's class is alive.
    let own = unsafe { (*object.get_type_ptr()).tp_setattro };
    let general: ffi::setattrofunc = ffi::PyObject_GenericSetAttr;
    own.is_some_and(|own| fn_addr_eq(own, general))
}

/// Can an object have attributes for which its class has no slots?
fn has_dictionary(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object's class is alive.
    unsafe { (*object.get_type_ptr()).tp_dictoffset != 0 }
}

/// Where an attribute is, if it can be assigned without running code of the program.
pub fn assignable(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Home> {
    if !has_plain_assignment(object) {
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

/// The Python function that an attribute of the object's class stands for.
pub fn function<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<(Bound<'py, PyAny>, Via)> {
    let py = object.py();
    let found = in_class(object, name)??;
    let part = |of: &Bound<'py, PyAny>, name: &Bound<'py, PyString>| of.getattr(name).ok();
    let class = found.get_type_ptr();
    let (function, via) = if found.is_exact_instance_of::<PyFunction>() {
        // the object may have an attribute of that name, too
        let bound = part(object, name)?;
        let of = part(&bound, intern!(py, "__self__"))?;
        let called = part(&bound, intern!(py, "__func__"))?;
        (Some(called).filter(|called| of.is(object) && called.is(&found))?, Via::Method)
    } else if class == &raw mut PyStaticMethod_Type {
        let inner = part(&found, intern!(py, "__func__"))?;
        (part(object, name).filter(|own| own.is(&inner))?, Via::Static)
    } else if class == &raw mut ffi::PyProperty_Type {
        (part(&found, intern!(py, "fget"))?, Via::Property)
    } else {
        return None;
    };
    function.is_exact_instance_of::<PyFunction>().then_some((function, via))
}
