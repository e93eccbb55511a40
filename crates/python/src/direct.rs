//! Slots of the array class that the interpreter calls without anything in between.
//!
//! PyO3 puts a frame around every slot (it counts in thread-local memory that the thread is attached, catches panics, tries
//! an operator's two orders), and another around the end of an object. On the operations that programs record most,
//! these frames take as long as recording. So, when the class is complete, its slot for such an operation is replaced by a
//! function that tries the quick path, and calls the slot that was there for all else.
//!
//! NumPy's scalars with one of our arrays on their right hand it to a ufunc, which hands it to us: an order of magnitude longer
//! than the operation on few elements. Their slots look at that operand first, and are as before for all others.
//!
//! In: the class, NumPy's scalar types. Out: types with some slots replaced. The place of a slot is not taken from any declaration: it is the
//! one word of the type object that holds the function which the interpreter names for that slot. Where there is not exactly one,
//! or the interpreter does not see the change, the class stays as it was.

use crate::convert::Numpy;
use crate::foreign;
use crate::given::Given;
use crate::index;
use crate::ndarray::{NdArray, Payload};
use crate::operators::{self as o, Binary, from_scalar, quick, quick_in_place, slow_in_place};
use numelt_ir::{DType, Op};
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyType};
use pyo3::{PyClass, PyTypeInfo};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
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
    let (words, count) = (class.as_type_ptr().cast(), words_of_type(class)?);
    // SAFETY: the words are the type object's.
    Ok(unsafe { replace_in(words, count, class, slot, function, former) })
}

/// How many words a type object has.
fn words_of_type(class: &Bound<'_, PyType>) -> PyResult<usize> {
    let size: usize = class.get_type().getattr("__basicsize__")?.extract()?;
    Ok(size / size_of::<*mut c_void>())
}

/// [`replace`] in so many words that are a part of the type.
///
/// # Safety
/// As [`replace`]'s; the words belong to the type, and nobody else reads them now.
unsafe fn replace_in(
    words: *mut *mut c_void,
    count: usize,
    class: &Bound<'_, PyType>,
    slot: c_int,
    function: *mut c_void,
    former: &Former,
) -> bool {
    let object = class.as_type_ptr();
    // SAFETY: the class is complete.
    let known = unsafe { ffi::PyType_GetSlot(object, slot) };
    if known.is_null() {
        return false;
    }
    // SAFETY: the caller's contract.
    let mut places = (0..count).filter(|&at| unsafe { words.add(at).read() } == known);
    let (Some(place), None) = (places.next(), places.next()) else { return false };
    former.0.store(known, Ordering::Relaxed);
    // SAFETY: as above; the word is put back if it is not the slot's.
    unsafe {
        words.add(place).write(function);
        if ffi::PyType_GetSlot(object, slot) == function {
            return true;
        }
        words.add(place).write(known);
    }
    false
}

/// What a function that the interpreter calls gives to it; `None` where `run` does.
#[inline(always)]
pub fn give<'py>(
    py: Python<'py>,
    run: impl FnOnce() -> Option<PyResult<Bound<'py, PyAny>>>,
) -> Option<*mut ffi::PyObject> {
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

/// An in-place operator.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn in_place(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
    op: &'static Binary,
    former: &Former,
) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        let (target, other) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        match give(py, || changed(&target, &other, op)) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::binaryfunc>(former.get())(a, b),
        }
    }
}

/// What an operator in place makes of one of our arrays; `None` for other classes.
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
            match array.get().payload() {
                Payload::Native(view) => index::quick_get(&array, view, &key),
                // NumPy's items may run Python code
                Payload::Foreign(real) => Python::attach(|_| foreign::get(&array, real.bind(py), &key).transpose()),
            }
        };
        match give(py, run) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::binaryfunc>(former.get())(a, key.as_ptr()),
        }
    }
}

/// `array[key] = value`, and its deletion, where `value` is null.
///
/// # Safety
/// As [`binary`].
unsafe extern "C" fn assign_item(a: *mut ffi::PyObject, key: *mut ffi::PyObject, value: *mut ffi::PyObject) -> c_int {
    // SAFETY: as in `binary`; the former function is one of this kind.
    unsafe {
        let py = Python::assume_attached();
        if !value.is_null() {
            let (target, key) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, key));
            let value = Borrowed::from_ptr(py, value);
            let run = || {
                let array = target.cast_exact::<NdArray>().ok()?;
                let done = index::quick_set(&array, &key, &value)?;
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
        std::mem::transmute::<*mut c_void, ffi::objobjargproc>(FORMER_ASSIGN_ITEM.get())(a, key, value)
    }
}

static FORMER_ASSIGN_ITEM: Former = Former::new();

/// An operator on one array.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn unary(a: *mut ffi::PyObject, op: Op, former: &Former) -> *mut ffi::PyObject {
    // SAFETY: as in `binary`.
    unsafe {
        let py = Python::assume_attached();
        let operand = Borrowed::from_ptr(py, a);
        match give(py, || o::quick_unary(op, &operand)) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::unaryfunc>(former.get())(a),
        }
    }
}

unsafe extern "C" fn negative(a: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls it as it calls the slot.
    unsafe { unary(a, Op::Negative, &FORMER_NEGATIVE) }
}

unsafe extern "C" fn absolute(a: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: as above.
    unsafe { unary(a, Op::Absolute, &FORMER_ABSOLUTE) }
}

/// `a **= b`.
unsafe extern "C" fn power_by(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
    modulo: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls it as it calls the slot; the former function is one of this kind.
    unsafe {
        let py = Python::assume_attached();
        let (target, other) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        match give(py, || changed(&target, &other, &o::POWER)) {
            Some(result) => result,
            None => std::mem::transmute::<*mut c_void, ffi::ternaryfunc>(FORMER_POWER_BY.get())(a, b, modulo),
        }
    }
}

static FORMER_POWER_BY: Former = Former::new();
static FORMER_NEGATIVE: Former = Former::new();
static FORMER_ABSOLUTE: Former = Former::new();

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
            let others = [
                (ffi::Py_mp_ass_subscript, assign_item as ffi::objobjargproc as *mut c_void, &FORMER_ASSIGN_ITEM),
                (ffi::Py_nb_inplace_power, power_by as ffi::ternaryfunc as *mut c_void, &FORMER_POWER_BY),
                (ffi::Py_nb_negative, negative as ffi::unaryfunc as *mut c_void, &FORMER_NEGATIVE),
                (ffi::Py_nb_absolute, absolute as ffi::unaryfunc as *mut c_void, &FORMER_ABSOLUTE),
            ];
            for (slot, function, former) in others {
                // SAFETY: as above.
                unsafe { replace(class, slot, function, former)? };
            }
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
    in_place floor_divide_by FLOOR_DIVIDE => Py_nb_inplace_floor_divide;
    in_place remainder_by REMAINDER => Py_nb_inplace_remainder;
    in_place and_with AND => Py_nb_inplace_and;
    in_place or_with OR => Py_nb_inplace_or;
    in_place xor_with XOR => Py_nb_inplace_xor;
    in_place shift_left LEFT_SHIFT => Py_nb_inplace_lshift;
    in_place shift_right RIGHT_SHIFT => Py_nb_inplace_rshift;
    in_place matmul_by MATMUL => Py_nb_inplace_matrix_multiply;
    subscript get => Py_mp_subscript;
}

/// The operators of NumPy's scalars that are looked at, with their slots and places among a type's numerical functions.
const OPERATORS: [(&Binary, c_int); 9] = [
    (&o::ADD, ffi::Py_nb_add),
    (&o::SUBTRACT, ffi::Py_nb_subtract),
    (&o::MULTIPLY, ffi::Py_nb_multiply),
    (&o::DIVIDE, ffi::Py_nb_true_divide),
    (&o::FLOOR_DIVIDE, ffi::Py_nb_floor_divide),
    (&o::REMAINDER, ffi::Py_nb_remainder),
    (&o::AND, ffi::Py_nb_and),
    (&o::OR, ffi::Py_nb_or),
    (&o::XOR, ffi::Py_nb_xor),
];
/// Comparisons as the interpreter numbers them.
const COMPARISONS: [&Binary; 6] = [&o::LESS, &o::LESS_EQUAL, &o::EQUAL, &o::NOT_EQUAL, &o::GREATER, &o::GREATER_EQUAL];
const TYPES: usize = DType::ALL.len();
/// How many functions a type has for numbers.
const NUMERICAL: usize = 36;

static FORMER_OPERATORS: [[Former; OPERATORS.len()]; TYPES] =
    [const { [const { Former::new() }; OPERATORS.len()] }; TYPES];
static FORMER_COMPARISONS: [Former; TYPES] = [const { Former::new() }; TYPES];

/// A number of NumPy's on the left of one of our arrays; `None` for all else.
///
/// # Safety
/// As the interpreter calls an operator: with two objects and the GIL held.
#[inline(always)]
unsafe fn number_and_array(a: *mut ffi::PyObject, b: *mut ffi::PyObject, op: &Binary) -> Option<*mut ffi::PyObject> {
    // SAFETY: the caller's contract.
    unsafe {
        let py = Python::assume_attached();
        let (lhs, rhs) = (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b));
        if rhs.is_exact_instance_of::<NdArray>() {
            return give(py, || from_scalar(op.op, &lhs, &rhs));
        }
        None
    }
}

unsafe extern "C" fn operator<const TYPE: usize, const AT: usize>(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls it as it calls the slot; the former function is one of this kind.
    unsafe {
        number_and_array(a, b, OPERATORS[AT].0).unwrap_or_else(|| {
            std::mem::transmute::<*mut c_void, ffi::binaryfunc>(FORMER_OPERATORS[TYPE][AT].get())(a, b)
        })
    }
}

unsafe extern "C" fn comparison<const TYPE: usize>(
    a: *mut ffi::PyObject,
    b: *mut ffi::PyObject,
    which: c_int,
) -> *mut ffi::PyObject {
    let op = usize::try_from(which).ok().and_then(|which| COMPARISONS.get(which));
    // SAFETY: as in `operator`.
    unsafe {
        op.and_then(|op| number_and_array(a, b, op)).unwrap_or_else(|| {
            std::mem::transmute::<*mut c_void, ffi::richcmpfunc>(FORMER_COMPARISONS[TYPE].get())(a, b, which)
        })
    }
}

macro_rules! functions {
    ($($at:literal)*; $($ty:literal)*) => { functions!(@ [$($at)*]; $($ty)*) };
    (@ $ats:tt; $($ty:literal)*) => { [$((functions!(@@ $ty $ats), comparison::<$ty> as ffi::richcmpfunc)),*] };
    (@@ $ty:literal [$($at:literal)*]) => { [$(operator::<$ty, $at> as ffi::binaryfunc),*] };
}

/// For each dtype, the functions that its scalar type gets.
static FUNCTIONS: [([ffi::binaryfunc; OPERATORS.len()], ffi::richcmpfunc); TYPES] =
    functions!(0 1 2 3 4 5 6 7 8; 0 1 2 3 4 5 6 7 8 9 10 11 12 13);

/// Makes NumPy's scalars look whether one of our arrays is on their right.
pub fn scalars(py: Python<'_>) -> PyResult<()> {
    let numpy = Numpy::get(py)?;
    for (dtype, (operators, compare)) in DType::ALL.into_iter().zip(&FUNCTIONS) {
        let (class, at) = (numpy.scalar_type(py, dtype), dtype as usize);
        let words = numerical(class)?;
        for ((&(_, slot), &function), former) in OPERATORS.iter().zip(operators).zip(&FORMER_OPERATORS[at]) {
            if let Some(words) = words {
                // SAFETY: the words are the type's functions for numbers; the function is one for that slot, and leaves to
                // the former one what it does not do.
                unsafe { replace_in(words, NUMERICAL, class, slot, function as *mut c_void, former) };
            }
        }
        // SAFETY: as above.
        unsafe { replace(class, ffi::Py_tp_richcompare, *compare as *mut c_void, &FORMER_COMPARISONS[at])? };
    }
    Ok(())
}

/// The functions for numbers of a type that was not made by a class statement: its word after the function for `repr` leads
/// there, and addition, subtraction and multiplication are the first of them. `None` where that is not so.
fn numerical(class: &Bound<'_, PyType>) -> PyResult<Option<*mut *mut c_void>> {
    let object = class.as_type_ptr();
    let count = words_of_type(class)?;
    // SAFETY: the class is complete, and has that many words. What the word after `repr` leads to are functions or null: it is
    // the type's table of functions for numbers in all versions of the interpreter.
    unsafe {
        let words = object.cast::<*mut c_void>();
        let repr = ffi::PyType_GetSlot(object, ffi::Py_tp_repr);
        let Some(place) = (0..count - 1).find(|&at| words.add(at).read() == repr) else { return Ok(None) };
        let table = words.add(place + 1).read().cast::<*mut c_void>();
        let first = [ffi::Py_nb_add, ffi::Py_nb_subtract, ffi::Py_nb_multiply];
        let named = first.iter().enumerate().all(|(at, &slot)| {
            !table.is_null() && table.is_aligned() && table.add(at).read() == ffi::PyType_GetSlot(object, slot)
        });
        Ok((named && !repr.is_null()).then_some(table))
    }
}

static FORMER_ATTRIBUTE: Former = Former::new();

/// The package's module, and the function that looks up the names which are not in its namespace.
static PACKAGE: PyOnceLock<(Py<PyModule>, Py<PyAny>)> = PyOnceLock::new();

/// An attribute of a module.
unsafe extern "C" fn attribute(module: *mut ffi::PyObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls it as it calls the slot, for a module; the former function is one of this kind.
    unsafe {
        let found = std::mem::transmute::<*mut c_void, ffi::getattrofunc>(FORMER_ATTRIBUTE.get())(module, name);
        if found.is_null() { missing(module, name) } else { found }
    }
}

/// An attribute that is not in a module's namespace; an `AttributeError` or another exception is set.
///
/// # Safety
/// As [`attribute`].
#[cold]
unsafe fn missing(module: *mut ffi::PyObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the GIL is held.
    unsafe {
        let py = Python::assume_attached();
        match PACKAGE.get(py) {
            Some((package, find))
                if package.as_ptr() == module && ffi::PyErr_ExceptionMatches(ffi::PyExc_AttributeError) != 0 =>
            {
                ffi::PyErr_Clear();
                ffi::PyObject_CallFunctionObjArgs(find.as_ptr(), name, std::ptr::null_mut::<ffi::PyObject>())
            }
            _ => std::ptr::null_mut(),
        }
    }
}

/// Has the interpreter look up the attributes that are not in the package's own namespace by calling `find(name)`.
///
/// This is what a function `__getattr__` in the module does, but CPython caches no lookup in a module that has one: each
/// `np.name` would take 52 instead of 7 ns. Where the slot cannot be replaced, `__getattr__` is set.
#[pyfunction]
pub fn find_missing(py: Python<'_>, package: Bound<'_, PyModule>, find: Bound<'_, PyAny>) -> PyResult<()> {
    let class = PyModule::type_object(py);
    // SAFETY: the function is one for that slot, and does what the former one does for all other modules.
    let replaced = unsafe {
        replace(&class, ffi::Py_tp_getattro, attribute as ffi::getattrofunc as *mut c_void, &FORMER_ATTRIBUTE)?
    };
    if !replaced {
        return package.setattr("__getattr__", find);
    }
    let set = PACKAGE.set(py, (package.unbind(), find.unbind()));
    set.map_err(|_| PyRuntimeError::new_err("the package looks up its names already"))
}

/// What calls an object: itself, its arguments, how many of them are by position, the names of the others.
pub type Vectorcall = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// In the number of arguments: the place before them is the called function's to use.
pub const SCRATCH: usize = 1 << (usize::BITS - 1);

/// Has the interpreter call a class's objects by the [`Vectorcall`] that lies at this byte offset of them, without packing
/// the arguments first; false where that cannot be done.
///
/// # Safety
/// So it lies in every object. The class is not used yet, and complete.
pub unsafe fn call_by(class: &Bound<'_, PyType>, offset: usize) -> PyResult<bool> {
    const HAVE_VECTORCALL: std::ffi::c_ulong = 1 << 11;
    let (words, count) = (class.as_type_ptr().cast::<usize>(), words_of_type(class)?);
    // SAFETY: the words are the type object's; the one after the function that ends objects is that offset, zero where there
    // is none, in all versions of the interpreter.
    unsafe {
        let only = |wanted: usize| {
            let mut places = (0..count).filter(|&at| words.add(at).read() == wanted);
            places.next().filter(|_| places.next().is_none())
        };
        let flags = ffi::PyType_GetFlags(class.as_type_ptr());
        let end = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_dealloc) as usize;
        let (Some(end), Some(place)) = (only(end), only(flags as usize)) else { return Ok(false) };
        if words.add(end + 1).read() != 0 || flags & HAVE_VECTORCALL != 0 {
            return Ok(false);
        }
        words.add(end + 1).write(offset);
        words.add(place).write((flags | HAVE_VECTORCALL) as usize);
        if ffi::PyType_GetFlags(class.as_type_ptr()) & HAVE_VECTORCALL != 0 {
            return Ok(true);
        }
        words.add(place).write(flags as usize);
        words.add(end + 1).write(0);
        Ok(false)
    }
}

/// What the interpreter calls of the objects of a class; a field of each of them.
pub struct Entry<T>(Vectorcall, PhantomData<fn(T)>);

/// A class whose objects are called without packing the arguments.
pub trait Callee: PyClass<Frozen = pyo3::pyclass::boolean_struct::True> + Sync {
    /// The field.
    fn entry(&self) -> &Entry<Self>;

    /// A call.
    fn called<'py>(&self, given: &Given<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Callee> Entry<T> {
    /// That of the class.
    pub const fn new() -> Entry<T> {
        Entry(called::<T>, PhantomData)
    }
}

/// A call as the interpreter makes it.
///
/// # Safety
/// The object is one of the class or of one that is derived from it; the values and names are those of a call.
unsafe extern "C" fn called<T: Callee>(
    object: *mut ffi::PyObject,
    values: *const *mut ffi::PyObject,
    count: usize,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // what runs now may call Python
    Python::attach(|py| {
        // SAFETY: the caller's contract.
        let (own, given) = unsafe {
            (Borrowed::from_ptr(py, object).cast_unchecked::<T>(), Given::of(py, values, count & !SCRATCH, names))
        };
        give(py, || Some(own.get().called(&given))).unwrap_or(std::ptr::null_mut())
    })
}

/// Has the interpreter call the objects of a class, that of `sample` or one derived from it, by their [`Entry`].
pub fn call_by_entry<T: Callee>(class: &Bound<'_, PyType>, sample: &Bound<'_, T>) -> PyResult<()> {
    let place = std::ptr::from_ref(&sample.get().entry().0);
    let offset = place.addr().wrapping_sub(sample.as_ptr().addr());
    let size: usize = sample.as_any().get_type().getattr("__basicsize__")?.extract()?;
    if offset < size && class.is_subclass_of::<T>()? {
        // SAFETY: it lies there in each of the class's objects, which begin as those of the class that they are derived from do.
        unsafe { call_by(class, offset)? };
    }
    Ok(())
}

/// Has the interpreter call objects of a class that another class holds with the instance as the first argument, without
/// making bound methods: what their `__get__` makes are those.
pub fn call_as_methods(class: &Bound<'_, PyType>) -> PyResult<()> {
    const METHOD_DESCRIPTOR: std::ffi::c_ulong = 1 << 17;
    let (words, count) = (class.as_type_ptr().cast::<usize>(), words_of_type(class)?);
    // SAFETY: the words are the type object's, which is complete; one that is not the flags is put back.
    unsafe {
        let flags = ffi::PyType_GetFlags(class.as_type_ptr());
        let mut places = (0..count).filter(|&at| words.add(at).read() == flags as usize);
        if let (Some(place), None) = (places.next(), places.next()) {
            words.add(place).write((flags | METHOD_DESCRIPTOR) as usize);
            if ffi::PyType_GetFlags(class.as_type_ptr()) & METHOD_DESCRIPTOR == 0 {
                words.add(place).write(flags as usize);
            }
        }
    }
    Ok(())
}
