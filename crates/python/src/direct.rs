//! Slots of the array class that the interpreter calls without anything in between.
//!
//! PyO3 puts a frame around every slot (it counts in thread-local memory that the thread is attached, catches panics, tries
//! an operator's two orders), and another around the end of an object. On the operations that programs record most,
//! these frames take as long as recording. So, when the class is complete, its slot for such an operation is replaced by a
//! function that tries the quick path, and calls the slot that was there for all else.
//!
//! NumPy's scalars on the left of one of our arrays are a long way off, too: `numpy.float64` asks the array's class three times what
//! it is before it calls the ufunc, which asks once more and calls the class. Its slots for the four operators get a function
//! that looks at the class on the right first, and leaves everything else to the slot that was there.
//!
//! In: the class. Out: the class with some slots replaced. The place of a slot is not taken from any declaration: it is the
//! one word of the type object that holds the function which the interpreter names for that slot. Where there is not exactly one,
//! or the interpreter does not see the change, the class stays as it was.

use crate::index;
use crate::ndarray::NdArray;
use crate::operators::{self as o, Binary, quick, quick_in_place};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A slot's function before it was replaced.
pub struct Former(AtomicPtr<c_void>);

impl Former {
    /// Not replaced.
    pub const fn new() -> Former {
        Former(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The function; null if the slot has not been replaced.
    #[inline]
    pub fn get(&self) -> *mut c_void {
        self.0.load(Ordering::Relaxed)
    }
}

/// Replaces a slot's function; false where that cannot be done.
///
/// # Safety
/// `function` is one for that slot, of a class that is not used yet, and calls the former one for what it does not do.
pub unsafe fn replace(
    class: &Bound<'_, PyType>,
    slot: c_int,
    function: *mut c_void,
    former: &Former,
) -> PyResult<bool> {
    let size: usize = class.get_type().getattr("__basicsize__")?.extract()?;
    let object = class.as_type_ptr();
    // SAFETY: the class is complete.
    let known = unsafe { ffi::PyType_GetSlot(object, slot) };
    if known.is_null() {
        return Ok(false);
    }
    let words = object.cast::<*mut c_void>();
    // SAFETY: an object has as many bytes as its type says, and this one's are aligned as pointers are.
    let mut places = (0..size / size_of::<*mut c_void>()).filter(|&at| unsafe { words.add(at).read() } == known);
    let (Some(place), None) = (places.next(), places.next()) else { return Ok(false) };
    former.0.store(known, Ordering::Relaxed);
    // SAFETY: as above; the word is put back if it is not the slot's.
    unsafe {
        words.add(place).write(function);
        if ffi::PyType_GetSlot(object, slot) == function {
            return Ok(true);
        }
        words.add(place).write(known);
    }
    Ok(false)
}

/// Replaces a number slot of one of NumPy's scalar classes, which has its number slots apart; false where that cannot be done.
///
/// # Safety
/// `function` is one for that slot, and calls the former one for what it does not do.
unsafe fn replace_number(
    class: &Bound<'_, PyType>,
    slot: c_int,
    place: usize,
    function: *mut c_void,
    former: &Former,
) -> bool {
    /// Where words of a type object lie, since Python 3.8.
    const NUMBERS: usize = 12;
    const KNOWN: [(c_int, usize); 3] = [(ffi::Py_tp_repr, 11), (ffi::Py_tp_hash, 15), (ffi::Py_tp_str, 17)];
    let object = class.as_type_ptr();
    let words = object.cast::<*mut c_void>();
    // SAFETY: the class is complete, so the interpreter knows its slots; a type object has more words than these. They are
    // where they are looked for if the slots around the number slots are.
    unsafe {
        let slot_of = |slot| ffi::PyType_GetSlot(object, slot);
        let known = slot_of(slot);
        if known.is_null() || KNOWN.iter().any(|&(slot, at)| words.add(at).read() != slot_of(slot)) {
            return false;
        }
        let numbers = words.add(NUMBERS).read().cast::<*mut c_void>();
        if numbers.is_null() || numbers.add(place).read() != known {
            return false;
        }
        former.0.store(known, Ordering::Relaxed);
        numbers.add(place).write(function);
        if slot_of(slot) != function {
            numbers.add(place).write(known);
            return false;
        }
    }
    true
}

/// What a function for a slot gives to the interpreter.
#[inline(always)]
fn give<'py>(py: Python<'py>, run: impl FnOnce() -> Option<PyResult<Bound<'py, PyAny>>>) -> Option<*mut ffi::PyObject> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(Ok(result))) => Some(result.into_ptr()),
        Ok(Some(Err(error))) => Some(raise(py, error)),
        Ok(None) => None,
        Err(_) => Some(raise(py, PyRuntimeError::new_err("numelt: an operation panicked"))),
    }
}

#[cold]
fn raise(py: Python<'_>, error: PyErr) -> *mut ffi::PyObject {
    error.restore(py);
    std::ptr::null_mut()
}

/// A binary operator.
///
/// # Safety
/// As the interpreter calls it: with two objects and the GIL held.
#[inline(always)]
unsafe fn binary(a: *mut ffi::PyObject, b: *mut ffi::PyObject, op: &Binary, former: &Former) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract. The former function is one of this kind.
    unsafe {
        let py = Python::assume_attached();
        let (lhs, rhs) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        match give(py, || quick(op.op, &lhs, &rhs)) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::binaryfunc>(former.get())(a, b),
        }
    }
}

/// A binary operator of one of NumPy's scalars.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn scalar_binary(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
    op: &Binary,
    former: &Former,
) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        if Borrowed::from_ptr(py, b).is_exact_instance_of::<NdArray>() {
            return binary(a, b, op, former);
        }
        std::mem::transmute::<*mut c_void, ffi::binaryfunc>(former.get())(a, b)
    }
}

/// An in-place operator.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn in_place(a: *mut ffi::PyObject, b: *mut ffi::PyObject, op: &Binary, former: &Former) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        let (target, other) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        let run = || {
            let array = target.cast_exact::<NdArray>().ok()?;
            Some(quick_in_place(op.op, array.get(), &other)?.map(|()| (*target).clone()))
        };
        match give(py, run) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::binaryfunc>(former.get())(a, b),
        }
    }
}

/// `array[key]`.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn subscript(a: *mut ffi::PyObject, key: *mut ffi::PyObject, former: &Former) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        let (target, key) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, key));
        let run = || {
            let array = target.cast_exact::<NdArray>().ok()?;
            index::quick_get(&array, &key)
        };
        match give(py, run) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::binaryfunc>(former.get())(a, key.as_ptr()),
        }
    }
}

macro_rules! slots {
    ($($way:ident $name:ident $($operator:ident)? => $slot:ident;)*) => {
        $(
            mod $name {
                use super::*;

                static FORMER: Former = Former::new();

                unsafe extern "C" fn run(a: *mut ffi::PyObject, b: *mut ffi::PyObject) -> *mut ffi::PyObject {
                    // SAFETY: the interpreter calls it as it calls the slot.
                    unsafe { $way(a, b, $(&o::$operator,)? &FORMER) }
                }

                pub fn set(class: &Bound<'_, PyType>) -> PyResult<bool> {
                    // SAFETY: the function is one for that slot, and leaves to the former one what it does not do.
                    unsafe { replace(class, ffi::$slot, run as ffi::binaryfunc as *mut c_void, &FORMER) }
                }
            }
        )*

        /// Replaces the slots of the operators that are met most, and of indexing.
        pub fn slots(class: &Bound<'_, PyType>) -> PyResult<()> {
            $($name::set(class)?;)*
            Ok(())
        }
    };
}

slots! {
    binary add ADD => Py_nb_add;
    binary subtract SUBTRACT => Py_nb_subtract;
    binary multiply MULTIPLY => Py_nb_multiply;
    binary divide DIVIDE => Py_nb_true_divide;
    in_place add_to ADD => Py_nb_inplace_add;
    in_place subtract_from SUBTRACT => Py_nb_inplace_subtract;
    in_place multiply_by MULTIPLY => Py_nb_inplace_multiply;
    in_place divide_by DIVIDE => Py_nb_inplace_true_divide;
    subscript get => Py_mp_subscript;
}

macro_rules! scalar_slots {
    ($($name:ident $class:literal $operator:ident => $slot:ident $place:literal;)*) => {
        $(
            mod $name {
                use super::*;

                static FORMER: Former = Former::new();

                unsafe extern "C" fn run(a: *mut ffi::PyObject, b: *mut ffi::PyObject) -> *mut ffi::PyObject {
                    // SAFETY: the interpreter calls it as it calls the slot.
                    unsafe { scalar_binary(a, b, &o::$operator, &FORMER) }
                }

                pub fn set(class: &Bound<'_, PyType>) -> bool {
                    // SAFETY: the function is one for that slot, and leaves to the former one what it does not do.
                    unsafe { replace_number(class, ffi::$slot, $place, run as ffi::binaryfunc as *mut c_void, &FORMER) }
                }
            }
        )*

        /// Replaces the slots of the operators of NumPy's scalars that are met most.
        pub fn scalar_slots(numpy: &Bound<'_, PyAny>) -> PyResult<()> {
            $($name::set(numpy.getattr($class)?.cast::<PyType>()?);)*
            Ok(())
        }
    };
}

scalar_slots! {
    float_add "float64" ADD => Py_nb_add 0;
    float_subtract "float64" SUBTRACT => Py_nb_subtract 1;
    float_multiply "float64" MULTIPLY => Py_nb_multiply 2;
    float_divide "float64" DIVIDE => Py_nb_true_divide 30;
    int_add "int64" ADD => Py_nb_add 0;
    int_subtract "int64" SUBTRACT => Py_nb_subtract 1;
    int_multiply "int64" MULTIPLY => Py_nb_multiply 2;
    int_divide "int64" DIVIDE => Py_nb_true_divide 30;
}
