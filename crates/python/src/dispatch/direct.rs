//! The fast path of operators, indexing and iteration: slots of numelt's classes that the interpreter calls without
//! PyO3's code around them.
//!
//! In: the classes of arrays and of their iterators as PyO3 has made them. Out: the same with some slots set, through the typed fields of its
//! type object. No type but numelt's own is written to.
//!
//! PyO3 puts code around every slot: it counts in thread-local memory that the thread is attached, catches panics,
//! and tries both orders of an operator. So, when the class is complete, its slot for such an operation is set to a
//! function that tries the fast path. If that declines, the function calls the general path of an operator, or PyO3's
//! function for other slots. On five elements this gains 5 % of `a + b` (141 ns), 12 % of `2.0 * a`, 10 to 20 % of
//! `a[1]` and `m[0]`, 7 % of `a[0] = 1.0`, and 15 % of a loop over an array (`benches/fast_paths.py`). For `a >> b`,
//! PyO3's function takes 230 instructions. Operators with one operand gain less, and keep PyO3's functions.
//!
//! The slots of operators in place are always set, because PyO3's functions for them return the array even if the
//! right operand's class has returned another object. If `NUMELT_FAST_PATHS` does not name `slots`, the other slots
//! keep PyO3's functions.

use crate::array::index;
use crate::array_class::protocols::ArrayIterator;
use crate::cpython::fast::{self, FastPath};
use crate::cpython::vectorcall::give;
use crate::object::ndarray::{NdArray, Payload};
use crate::sharing::foreign;
use crate::ufunc::operators::{self as o, Binary, after_quick, quick, quick_in_place, slow_in_place};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The functions that PyO3 has put into the slots.
struct Former {
    number: ffi::PyNumberMethods,
    mapping: ffi::PyMappingMethods,
}

// SAFETY: it holds only functions, which are the same for all threads.
unsafe impl Send for Former {}
// SAFETY: as above.
unsafe impl Sync for Former {}

static FORMER: OnceLock<Former> = OnceLock::new();

/// PyO3's function in the slot of iterators.
static FORMER_NEXT: OnceLock<ffi::iternextfunc> = OnceLock::new();

/// # Safety
/// One of the functions that [`set`] puts into slots is running.
#[inline(always)]
unsafe fn former() -> &'static Former {
    // SAFETY: `set` stores the former functions before it replaces any.
    unsafe { FORMER.get().unwrap_unchecked() }
}

/// A binary operator.
///
/// # Safety
/// The interpreter makes the call, with two objects and the GIL held.
#[inline(always)]
unsafe fn binary(a: *mut ffi::PyObject, b: *mut ffi::PyObject, op: &'static Binary) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract.
    unsafe {
        let py = Python::assume_attached();
        let (lhs, rhs) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        give(py, || quick(op.op, &lhs, &rhs)).unwrap_or_else(|| refused(a, b, op))
    }
}

/// A binary operator that the fast path has declined. It may call Python code.
///
/// # Safety
/// The conditions of [`binary`].
#[cold]
unsafe fn refused(a: *mut ffi::PyObject, b: *mut ffi::PyObject, op: &'static Binary) -> *mut ffi::PyObject {
    Python::attach(|py| {
        // SAFETY: the caller's contract.
        let (lhs, rhs) = unsafe { (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b)) };
        give(py, || Some(after_quick(&lhs, &rhs, op))).unwrap_or(std::ptr::null_mut())
    })
}

/// An operator in place. Its result may be another object than the array, which PyO3's functions for these slots
/// cannot return.
///
/// # Safety
/// The conditions of [`binary`].
#[inline(always)]
unsafe fn in_place(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
    op: &'static Binary,
    general: impl FnOnce() -> Option<ffi::binaryfunc>,
) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        let (target, other) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        match give(py, || changed(&target, &other, op)) {
            Some(result) => result,
            None => general().unwrap_unchecked()(a, b),
        }
    }
}

/// The result of an operator in place on one of our arrays; `None` for other classes.
#[inline(always)]
fn changed<'py>(
    target: &Borrowed<'_, 'py, PyAny>,
    other: &Bound<'py, PyAny>,
    op: &'static Binary,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let array = target.cast_exact::<NdArray>().ok()?;
    Some(match quick_in_place(op.op, array.get(), other) {
        Some(done) => done.map(|()| (**target).clone()),
        None => slow_in_place(&array, other, op),
    })
}

/// `a **= b`.
unsafe extern "C" fn power_by(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
    modulo: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this function as it calls the slot.
    unsafe {
        let py = Python::assume_attached();
        let (target, other) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        match give(py, || changed(&target, &other, &o::POWER)) {
            Some(result) => result,
            None => former().number.nb_inplace_power.unwrap_unchecked()(a, b, modulo),
        }
    }
}

/// `array[key]`.
///
/// # Safety
/// The conditions of [`binary`].
unsafe extern "C" fn subscript(a: *mut ffi::PyObject, key: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        let (target, key) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, key));
        let run = || {
            let array = target.cast_exact::<NdArray>().ok()?;
            match array.get().payload() {
                Payload::Native(view) => index::quick_get(&array, view, &key),
                // indexing in NumPy may run Python code
                Payload::Foreign(real) => Python::attach(|_| foreign::get(&array, real.bind(py), &key).transpose()),
            }
        };
        match give(py, run) {
            Some(result) => result,
            None => former().mapping.mp_subscript.unwrap_unchecked()(a, key.as_ptr()),
        }
    }
}

/// `array[key] = value`; deletes the element if `value` is null, which arrays refuse.
///
/// # Safety
/// The conditions of [`binary`].
unsafe extern "C" fn assign_item(a: *mut ffi::PyObject, key: *mut ffi::PyObject, value: *mut ffi::PyObject) -> c_int {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        if !value.is_null() {
            let (target, key) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, key));
            let value = Borrowed::from_ptr(py, value);
            let run = || {
                let array = target.cast_exact::<NdArray>().ok()?;
                let done = match array.get().payload() {
                    Payload::Native(_) => index::quick_set(&array, &key, &value)?,
                    // storing in NumPy may run Python code
                    Payload::Foreign(real) => {
                        let done = Python::attach(|_| foreign::set(real.bind(py), &key, &value));
                        done.map(|done| done.then_some(())).transpose()?
                    }
                };
                Some(done.map(|()| py.None().into_bound(py)))
            };
            match give(py, run) {
                Some(done) if done.is_null() => return -1,
                Some(done) => {
                    ffi::Py_DECREF(done);
                    return 0;
                }
                None => {}
            }
        }
        former().mapping.mp_ass_subscript.unwrap_unchecked()(a, key, value)
    }
}

/// `next(iterator)` of an array's iterator.
///
/// # Safety
/// The conditions of [`binary`].
unsafe extern "C" fn next_item(iterator: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`; the interpreter calls the slot with objects of its class, which has no subclasses.
    unsafe {
        let py = Python::assume_attached();
        let array_iterator = Borrowed::from_ptr(py, iterator).cast_unchecked::<ArrayIterator>();
        match give(py, || array_iterator.get().next_native(py)) {
            Some(result) => result,
            None => FORMER_NEXT.get().unwrap_unchecked()(iterator),
        }
    }
}

macro_rules! operators {
    ($set:ident $way:ident: $($name:ident $operator:ident => $slot:ident;)*) => {
        $(
            unsafe extern "C" fn $name(a: *mut ffi::PyObject, b: *mut ffi::PyObject) -> *mut ffi::PyObject {
                // SAFETY: the interpreter calls this function as it calls the slot.
                unsafe { operators!(@$way a, b, $operator, $slot) }
            }
        )*

        /// Sets those of these slots that PyO3 has set, too.
        fn $set(slots: &mut ffi::PyNumberMethods) {
            $(slots.$slot = slots.$slot.map(|_| $name as ffi::binaryfunc);)*
        }
    };
    (@binary $a:ident, $b:ident, $operator:ident, $slot:ident) => { binary($a, $b, &o::$operator) };
    (@in_place $a:ident, $b:ident, $operator:ident, $slot:ident) => {
        in_place($a, $b, &o::$operator, || former().number.$slot)
    };
}

operators! {
    set_binary binary:
    add ADD => nb_add;
    subtract SUBTRACT => nb_subtract;
    multiply MULTIPLY => nb_multiply;
    divide DIVIDE => nb_true_divide;
    floor_divide FLOOR_DIVIDE => nb_floor_divide;
    remainder REMAINDER => nb_remainder;
    bitwise_and AND => nb_and;
    bitwise_or OR => nb_or;
    bitwise_xor XOR => nb_xor;
    left_shift LEFT_SHIFT => nb_lshift;
    right_shift RIGHT_SHIFT => nb_rshift;
}

operators! {
    set_in_place in_place:
    add_to ADD => nb_inplace_add;
    subtract_from SUBTRACT => nb_inplace_subtract;
    multiply_by MULTIPLY => nb_inplace_multiply;
    divide_by DIVIDE => nb_inplace_true_divide;
    floor_divide_by FLOOR_DIVIDE => nb_inplace_floor_divide;
    remainder_by REMAINDER => nb_inplace_remainder;
    and_with AND => nb_inplace_and;
    or_with OR => nb_inplace_or;
    xor_with XOR => nb_inplace_xor;
    shift_left LEFT_SHIFT => nb_inplace_lshift;
    shift_right RIGHT_SHIFT => nb_inplace_rshift;
    matmul_by MATMUL => nb_inplace_matrix_multiply;
}

/// Sets the slots of operators in place and, if the fast path is in force, those of indexing and of binary
/// operators.
pub fn set(class: &Bound<'_, PyType>) {
    set_next(&class.py().get_type::<ArrayIterator>());
    // SAFETY: the class is complete, is a heap type of numelt whose tables belong to it alone, and has not been used
    // yet.
    unsafe {
        let object = class.as_type_ptr();
        let (number, mapping) = ((*object).tp_as_number, (*object).tp_as_mapping);
        let (Some(number), Some(mapping)) = (number.as_mut(), mapping.as_mut()) else { return };
        if FORMER.set(Former { number: *number, mapping: mapping.clone() }).is_err() {
            return;
        }
        set_in_place(number);
        number.nb_inplace_power = number.nb_inplace_power.map(|_| power_by as ffi::ternaryfunc);
        if fast::has(FastPath::Slots) {
            set_binary(number);
            mapping.mp_subscript = mapping.mp_subscript.map(|_| subscript as ffi::binaryfunc);
            mapping.mp_ass_subscript = mapping.mp_ass_subscript.map(|_| assign_item as ffi::objobjargproc);
        }
        ffi::PyType_Modified(object);
    }
}

/// Sets the slot of the next item in the class of arrays' iterators, if the fast path is in force.
fn set_next(class: &Bound<'_, PyType>) {
    // SAFETY: the conditions of `set`, which hold for this class, too.
    unsafe {
        let object = class.as_type_ptr();
        if let Some(former) = (*object).tp_iternext
            && fast::has(FastPath::Slots)
            && FORMER_NEXT.set(former).is_ok()
        {
            (*object).tp_iternext = Some(next_item);
            ffi::PyType_Modified(object);
        }
    }
}
