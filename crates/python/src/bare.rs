//! Attributes, methods and functions that the interpreter calls without anything in between, as [`direct`](crate::direct) has
//! it for operators.
//!
//! In: the class and the modules as PyO3 has made them. Out: the same, with some members replaced by ones of the same name and
//! documentation whose plain calls are answered here; all other calls go to the member that was there.

use crate::attributes::{plain_extents, plain_shape};
use crate::convert::Numpy;
use crate::convert::Weak;
use crate::direct::give;
use crate::flags::Flags;
use crate::fresh;
use crate::front::creation;
use crate::index;
use crate::methods;
use crate::ndarray::{NdArray, wrap_view};
use crate::{run, scalar, shape};
use numelt_ir::{DType, Dims};
use numelt_runtime::{ArrayView, Runtime};
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;
use std::ffi::{CString, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a member gives: `None` where the one that was there before has to be asked.
pub type Quick<'py> = Option<PyResult<Bound<'py, PyAny>>>;

/// The attribute that was there before.
struct Attribute(PyOnceLock<Py<PyAny>>);

impl Attribute {
    const fn new() -> Attribute {
        Attribute(PyOnceLock::new())
    }

    /// # Safety
    /// It has been set: an attribute that replaces it is only known afterwards.
    unsafe fn get(&self, py: Python<'_>) -> *mut ffi::PyObject {
        // SAFETY: the caller's contract.
        unsafe { self.0.get(py).unwrap_unchecked() }.as_ptr()
    }
}

/// What the method or function did that was there before.
struct Callable(OnceLock<Fast>);

impl Callable {
    const fn new() -> Callable {
        Callable(OnceLock::new())
    }

    /// Notes a function in C, bound or not; false where it takes its arguments in another way.
    fn learn(&self, function: &Bound<'_, PyAny>) -> bool {
        let object = function.as_ptr();
        // SAFETY: these ask what has been found to be a function in C. One with these flags is of that kind.
        unsafe {
            if ffi::PyCFunction_Check(object) == 0
                || ffi::PyCFunction_GetFlags(object) != ffi::METH_FASTCALL | ffi::METH_KEYWORDS
            {
                return false;
            }
            match ffi::PyCFunction_GetFunction(object) {
                Some(own) => self.0.set(std::mem::transmute::<ffi::PyCFunction, Fast>(own)).is_ok(),
                None => false,
            }
        }
    }

    /// # Safety
    /// It has been learned: what replaces it is only known afterwards. The arguments are those of a call.
    unsafe fn call(
        &self,
        object: *mut ffi::PyObject,
        (values, count, names): (*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject),
    ) -> *mut ffi::PyObject {
        // SAFETY: the caller's contract.
        unsafe { self.0.get().unwrap_unchecked()(object, values, count, names) }
    }
}

/// The arguments of a call.
pub struct Given<'a, 'py> {
    py: Python<'py>,
    values: &'a [*mut ffi::PyObject],
    names: *mut ffi::PyObject,
}

impl<'py> Given<'_, 'py> {
    /// # Safety
    /// They are what the interpreter handed over: `count` values and one for each of the names, if there are any.
    #[inline(always)]
    pub unsafe fn of(
        py: Python<'py>,
        values: *const *mut ffi::PyObject,
        count: usize,
        names: *mut ffi::PyObject,
    ) -> Self {
        // SAFETY: the caller's contract.
        unsafe {
            let named = if names.is_null() { 0 } else { ffi::PyTuple_Size(names) as usize };
            let values = if values.is_null() { &[] } else { std::slice::from_raw_parts(values, count + named) };
            Given { py, values, names }
        }
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// The arguments, if all are given by position.
    #[inline(always)]
    fn plain(&self) -> Option<&[*mut ffi::PyObject]> {
        self.names.is_null().then_some(self.values)
    }

    /// The arguments by position, if there is no other than `order="C"`, which is what `order` is where it is not given.
    #[inline(always)]
    fn in_c_order(&self) -> Option<&[*mut ffi::PyObject]> {
        if self.names.is_null() {
            return Some(self.values);
        }
        let (&order, others) = self.values.split_last()?;
        // SAFETY: a tuple of names, which has one name at least; it is lent.
        let (count, name) = unsafe { (ffi::PyTuple_Size(self.names), ffi::PyTuple_GetItem(self.names, 0)) };
        // names and letters that are written in a program are the very objects
        let plain = order == intern!(self.py, "C").as_ptr() && name == intern!(self.py, "order").as_ptr();
        (count == 1 && plain).then_some(others)
    }

    /// One of the values.
    #[inline(always)]
    fn value(&self, value: *mut ffi::PyObject) -> Borrowed<'_, 'py, PyAny> {
        // SAFETY: the interpreter keeps the arguments alive during the call.
        unsafe { Borrowed::from_ptr(self.py, value) }
    }

    /// What a function makes of the arguments, if all are given by position and there are one or two.
    #[inline(always)]
    pub fn with_values<T>(&self, run: impl FnOnce(&[Borrowed<'_, 'py, PyAny>]) -> Option<T>) -> Option<T> {
        match *self.plain()? {
            [a] => run(&[self.value(a)]),
            [a, b] => run(&[self.value(a), self.value(b)]),
            _ => None,
        }
    }

    /// The first argument, and one that may follow it or bear this name. `None` where there are others.
    #[inline(always)]
    pub fn one_and(
        &self,
        name: &Bound<'py, PyString>,
    ) -> Option<(Borrowed<'_, 'py, PyAny>, Option<Borrowed<'_, 'py, PyAny>>)> {
        match (self.names.is_null(), self.values) {
            (true, &[first]) => Some((self.value(first), None)),
            (true, &[first, second]) => Some((self.value(first), Some(self.value(second)))),
            (false, &[first, second]) => {
                // SAFETY: a tuple of names, which has one name at least; it is lent.
                let (count, own) = unsafe { (ffi::PyTuple_Size(self.names), ffi::PyTuple_GetItem(self.names, 0)) };
                // names that are written in a program are the very object
                (count == 1 && own == name.as_ptr()).then(|| (self.value(first), Some(self.value(second))))
            }
            _ => None,
        }
    }
}

/// The array, if it is one of exactly the class that is native.
///
/// # Safety
/// The object lives, and the GIL is held.
#[inline(always)]
unsafe fn native<'a, 'py>(
    py: Python<'py>,
    object: &'a *mut ffi::PyObject,
) -> Option<(Borrowed<'a, 'py, NdArray>, &'a ArrayView)> {
    // SAFETY: the caller's contract. The object, whose class has just been looked at, outlives the borrow of its address; a
    // view is only replaced, and kept as long as the array.
    unsafe {
        if ffi::Py_TYPE(*object) != CLASS.load(Ordering::Relaxed) {
            return None;
        }
        let array = Borrowed::from_ptr(py, *object).cast_unchecked::<NdArray>();
        let view = &*std::ptr::from_ref(array.get().view()?);
        Some((array, view))
    }
}

/// The array class.
static CLASS: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(std::ptr::null_mut());

type Get = for<'a, 'py> fn(&Borrowed<'a, 'py, NdArray>, &ArrayView) -> Quick<'py>;
type Method = for<'a, 'py> fn(&Borrowed<'a, 'py, NdArray>, &ArrayView, &Given<'_, 'py>) -> Quick<'py>;
type Function = for<'a, 'py> fn(&Given<'_, 'py>) -> Quick<'py>;

/// # Safety
/// As the interpreter calls it, for an object of the class.
#[inline(always)]
unsafe fn get(object: *mut ffi::PyObject, quick: Get, former: &Attribute) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract.
    unsafe {
        let py = Python::assume_attached();
        let run = || {
            let (array, view) = native(py, &object)?;
            quick(&array, view)
        };
        match give(py, run) {
            Some(made) => made,
            None => {
                let class = ffi::Py_TYPE(object).cast::<ffi::PyObject>();
                let name = intern!(py, "__get__").as_ptr();
                ffi::PyObject_CallMethodObjArgs(
                    former.get(py),
                    name,
                    object,
                    class,
                    std::ptr::null_mut::<ffi::PyObject>(),
                )
            }
        }
    }
}

/// Sets an attribute, or deletes it where the value is null, as before.
///
/// # Safety
/// As the interpreter calls it.
unsafe fn set(object: *mut ffi::PyObject, value: *mut ffi::PyObject, former: &Attribute) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let py = Python::assume_attached();
        let null = std::ptr::null_mut::<ffi::PyObject>();
        let name = if value.is_null() { intern!(py, "__delete__") } else { intern!(py, "__set__") };
        let done = ffi::PyObject_CallMethodObjArgs(former.get(py), name.as_ptr(), object, value, null);
        if done.is_null() {
            return -1;
        }
        ffi::Py_DECREF(done);
        0
    }
}

/// # Safety
/// As the interpreter calls it.
#[inline(always)]
unsafe fn call_method(
    object: *mut ffi::PyObject,
    (values, count, names): (*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject),
    quick: Method,
    former: &Callable,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract.
    unsafe {
        let py = Python::assume_attached();
        let given = Given::of(py, values, count as usize, names);
        let run = || {
            let (array, view) = native(py, &object)?;
            quick(&array, view, &given)
        };
        give(py, run).unwrap_or_else(|| former.call(object, (values, count, names)))
    }
}

/// Arguments by position and by name.
pub type Packed<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// The arguments packed.
///
/// # Safety
/// The objects live, and the GIL is held.
pub unsafe fn pack<'py>(py: Python<'py>, given: &Given<'_, '_>) -> PyResult<Packed<'py>> {
    // SAFETY: the caller's contract.
    let object = |value: *mut ffi::PyObject| unsafe { Bound::from_borrowed_ptr(py, value) };
    let names = if given.names.is_null() { None } else { Some(object(given.names).cast_into::<PyTuple>()?) };
    let named = names.as_ref().map_or(0, |names| names.len());
    let (values, others) = given.values.split_at(given.values.len() - named);
    let args: SmallVec<[_; 4]> = values.iter().map(|&value| object(value)).collect();
    let kwargs = match names {
        None => None,
        Some(names) => {
            let kwargs = PyDict::new(py);
            for (name, &value) in names.iter().zip(others) {
                kwargs.set_item(name, object(value))?;
            }
            Some(kwargs)
        }
    };
    Ok((PyTuple::new(py, args)?, kwargs))
}

/// A text that lives as long as the process.
fn kept(text: String) -> *const std::ffi::c_char {
    CString::new(text).map_or(std::ptr::null(), |text| text.into_raw())
}

/// The documentation of a member, with the signature that it shows.
fn documented(name: &str, former: &Bound<'_, PyAny>) -> PyResult<*const std::ffi::c_char> {
    let text =
        |what: &str| former.getattr_opt(what)?.filter(|t| !t.is_none()).map(|t| t.extract::<String>()).transpose();
    Ok(match (text("__text_signature__")?, text("__doc__")?) {
        (Some(signature), doc) => kept(format!("{name}{signature}\n--\n\n{}", doc.unwrap_or_default())),
        (None, Some(doc)) => kept(doc),
        (None, None) => std::ptr::null(),
    })
}

type Fast = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    ffi::Py_ssize_t,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// What a method or function of this name is, for as long as the process lives.
fn definition(name: &str, former: &Bound<'_, PyAny>, function: Fast) -> PyResult<*mut ffi::PyMethodDef> {
    // SAFETY: what the interpreter calls for these flags is a function of that kind.
    let function = unsafe { std::mem::transmute::<Fast, ffi::PyCFunction>(function) };
    let made = ffi::PyMethodDef {
        ml_name: kept(name.to_owned()),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: documented(name, former)?,
    };
    Ok(Box::leak(Box::new(made)))
}

macro_rules! members {
    (
        attributes { $($attribute:ident $name:literal $quick:expr $(, $settable:ident)?;)* }
        methods { $($method:ident $method_quick:expr;)* }
        functions { $($function:ident $function_quick:expr;)* }
    ) => {
        $(
            mod $attribute {
                use super::*;

                static FORMER: Attribute = Attribute::new();

                unsafe extern "C" fn read(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
                    // SAFETY: the interpreter calls it.
                    unsafe { get(object, $quick, &FORMER) }
                }

                $(
                    unsafe extern "C" fn $settable(
                        object: *mut ffi::PyObject,
                        value: *mut ffi::PyObject,
                        _: *mut c_void,
                    ) -> c_int {
                        // SAFETY: the interpreter calls it.
                        unsafe { set(object, value, &FORMER) }
                    }
                )?

                pub fn replace(py: Python<'_>) -> PyResult<()> {
                    let setter: Option<ffi::setter> = None $(.or(Some($settable as ffi::setter)))?;
                    replace_attribute(py, $name, read, setter, &FORMER)
                }
            }
        )*
        $(
            mod $method {
                use super::*;

                static FORMER: Callable = Callable::new();

                unsafe extern "C" fn run(
                    object: *mut ffi::PyObject,
                    values: *const *mut ffi::PyObject,
                    count: ffi::Py_ssize_t,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    // SAFETY: the interpreter calls it.
                    unsafe { call_method(object, (values, count, names), $method_quick, &FORMER) }
                }

                pub fn replace(sample: &Bound<'_, NdArray>) -> PyResult<()> {
                    let (py, class, name) = (sample.py(), sample.get_type(), stringify!($method));
                    if !FORMER.learn(&sample.getattr(name)?) {
                        return Ok(());
                    }
                    let definition = definition(name, &class.getattr(name)?, run)?;
                    // SAFETY: the class is complete; the definition lives as long as the process.
                    let made = unsafe {
                        Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), definition))?
                    };
                    class.setattr(name, made)
                }
            }
        )*
        $(
            mod $function {
                use super::*;

                static FORMER: Callable = Callable::new();

                unsafe extern "C" fn run(
                    module: *mut ffi::PyObject,
                    values: *const *mut ffi::PyObject,
                    count: ffi::Py_ssize_t,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    // SAFETY: the interpreter calls it.
                    unsafe {
                        let py = Python::assume_attached();
                        let given = Given::of(py, values, count as usize, names);
                        let quick: Function = $function_quick;
                        give(py, || quick(&given)).unwrap_or_else(|| FORMER.call(module, (values, count, names)))
                    }
                }

                pub fn replace(module: &Bound<'_, PyModule>) -> PyResult<()> {
                    let (py, name) = (module.py(), stringify!($function));
                    let former = module.getattr(name)?;
                    if !FORMER.learn(&former) {
                        return Ok(());
                    }
                    let definition = definition(name, &former, run)?;
                    // SAFETY: the definition lives as long as the process.
                    let made = unsafe {
                        let made = ffi::PyCFunction_NewEx(definition, module.as_ptr(), module.name()?.as_ptr());
                        Bound::from_owned_ptr_or_err(py, made)?
                    };
                    module.setattr(name, made)
                }
            }
        )*

        /// Replaces attributes and methods of the array class, which is complete.
        pub fn replace_members(py: Python<'_>) -> PyResult<()> {
            CLASS.store(NdArray::type_object_raw(py), Ordering::Relaxed);
            let sample = ArrayView::fresh(Runtime::global(), DType::Bool, &[1]);
            let sample = fresh::object(py, || NdArray::new(sample, None, true))?;
            $($attribute::replace(py)?;)*
            $($method::replace(&sample)?;)*
            Ok(())
        }

        /// Replaces functions of the module that has them.
        pub fn replace_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $($function::replace(module)?;)*
            Ok(())
        }
    };
}

members! {
    attributes {
        extents "shape" |array, view| Some(integers(array.py(), &view.shape)), write;
        steps "strides" |array, view| Some(integers(array.py(), &view.strides)), write;
        dtype "dtype" |array, view| Some(Ok(Numpy::get(array.py()).ok()?.descr(array.py(), view.dtype).clone())), write;
        ndim "ndim" |array, view| Some(integer(array.py(), view.shape.len() as i64));
        size "size" |array, view| Some(integer(array.py(), view.size()));
        itemsize "itemsize" |array, view| Some(integer(array.py(), view.dtype.size() as i64));
        nbytes "nbytes" |array, view| Some(integer(array.py(), view.size() * view.dtype.size() as i64));
        real "real" |array, view| (!view.dtype.is_complex()).then(|| Ok((**array).clone().into_any())), write;
        flags_of "flags" |array, _| Some(Flags::of(array).object(array.py()));
        transposed "T" |array, view| Some(turned(array, view));
    }
    methods {
        reshape |array, view, given| reshaped(array, view, given);
        ravel |array, view, given| {
            given.in_c_order()?.is_empty().then_some(())?;
            let (size, dense) = (view.size(), view.dtype.size() as i64);
            shape::is_c_contiguous(&view.shape, &view.strides, dense).then(|| vector(array, view, size))
        };
        transpose |array, view, given| permuted(array, view, given);
        squeeze |array, view, given| {
            let whole = given.plain()?.is_empty() && !view.shape.contains(&1);
            whole.then(|| Ok((**array).clone().into_any()))
        };
        view |array, view, given| given.plain()?.is_empty().then(|| wrap_view(array, view.clone()));
        item |array, view, given| {
            let py = array.py();
            let &[at] = given.plain()? else { return None };
            let offset = index::element(view, &given.value(at))?;
            view.base.settled()?;
            Some(run::read_scalar(py, &view.base, view.dtype, offset).and_then(|value| scalar::python_number(py, value)))
        };
        tolist |array, view, given| {
            given.plain()?.is_empty().then_some(())?;
            listed(array.py(), view)
        };
        fill |array, view, given| {
            let &[value] = given.plain()? else { return None };
            let value = Weak::exact(&given.value(value))?;
            let stored = value.to_scalar(view.dtype).filter(|&stored| !value.overflowed(stored))?;
            let done = array.get().writeable() && run::overwrite(view, stored);
            done.then(|| Ok(array.py().None().into_bound(array.py())))
        };
        astype |array, view, given| {
            let &[dtype] = given.plain()? else { return None };
            methods::quick_astype(array.py(), view, &given.value(dtype))
        };
    }
    functions {
        zeros |given| creation::quick_filled(given, Some(0));
        ones |given| creation::quick_filled(given, Some(1));
        empty |given| creation::quick_filled(given, None);
        array |given| creation::quick_array(given);
        asarray |given| creation::quick_asarray(given);
    }
}

fn replace_attribute(
    py: Python<'_>,
    name: &str,
    read: ffi::getter,
    write: Option<ffi::setter>,
    former: &Attribute,
) -> PyResult<()> {
    let class = NdArray::type_object(py);
    // the descriptor itself, which no lookup on the class gives
    let own = class.getattr(intern!(py, "__dict__"))?.get_item(name)?;
    let doc = documented(name, &own)?;
    let definition = ffi::PyGetSetDef {
        name: kept(name.to_owned()),
        get: Some(read),
        set: write,
        doc,
        closure: std::ptr::null_mut(),
    };
    let _ = former.0.set(py, own.unbind());
    // SAFETY: the class is complete; the definition lives as long as the process.
    let made = unsafe {
        let made = ffi::PyDescr_NewGetSet(class.as_type_ptr(), Box::leak(Box::new(definition)));
        Bound::from_owned_ptr_or_err(py, made)?
    };
    class.setattr(name, made)
}

fn integer(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(value)) }
}

/// A tuple of ints.
fn integers<'py>(py: Python<'py>, values: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the tuple is new and has as many places; it takes over what is put there.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(values.len() as ffi::Py_ssize_t))?;
        for (at, &value) in values.iter().enumerate() {
            ffi::PyTuple_SetItem(tuple.as_ptr(), at as ffi::Py_ssize_t, integer(py, value)?.into_ptr());
        }
        Ok(tuple)
    }
}

/// Elements up to which lists are made here.
const LISTED: i64 = 1024;

/// A short dense vector of floats or ints that are computed as a list of Python's numbers.
fn listed<'py>(py: Python<'py>, view: &ArrayView) -> Quick<'py> {
    let (&[n], &[step]) = (view.shape.as_slice(), view.strides.as_slice()) else { return None };
    let number: unsafe fn(*const u8) -> *mut ffi::PyObject = match view.dtype {
        // SAFETY: the address is that of a float.
        DType::F64 => |at| unsafe { ffi::PyFloat_FromDouble(at.cast::<f64>().read()) },
        // SAFETY: the address is that of an integer.
        DType::I64 => |at| unsafe { ffi::PyLong_FromLongLong(at.cast::<i64>().read()) },
        _ => return None,
    };
    let start = view.base.settled().filter(|_| n <= LISTED)?;
    // SAFETY: views lie inside their base, and elements are aligned. The list is new, has as many places, and takes over what
    // is put there.
    let list = unsafe {
        let list = match Bound::from_owned_ptr_or_err(py, ffi::PyList_New(n as ffi::Py_ssize_t)) {
            Ok(list) => list,
            Err(error) => return Some(Err(error)),
        };
        for at in 0..n {
            let made = number(start.offset((view.offset + at * step) as isize));
            if made.is_null() {
                return Some(Err(PyErr::fetch(py)));
            }
            ffi::PyList_SetItem(list.as_ptr(), at as ffi::Py_ssize_t, made);
        }
        list
    };
    Some(Ok(list))
}

/// The array with its axes reversed.
fn turned<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView) -> PyResult<Bound<'py, PyAny>> {
    let (mut extents, mut strides) = (Dims::from_slice(&view.shape), Dims::from_slice(&view.strides));
    extents.reverse();
    strides.reverse();
    wrap_view(array, shape::window(view, view.offset, extents, strides))
}

/// The elements of a dense array along one axis.
fn vector<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView, size: i64) -> PyResult<Bound<'py, PyAny>> {
    let one = |n: i64| Dims::from_slice(&[n]);
    wrap_view(array, shape::window(view, view.offset, one(size), one(view.dtype.size() as i64)))
}

/// `reshape` to extents that fit, without a copy.
fn reshaped<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView, given: &Given<'_, 'py>) -> Quick<'py> {
    let dims = match given.in_c_order()? {
        [] => return None,
        &[whole] => plain_shape(&given.value(whole), view.size())?,
        extents => plain_extents(extents.iter().map(|&extent| given.value(extent)), view.size())?,
    };
    shape::reshaped(view, &dims, false).map(|new| wrap_view(array, new))
}

/// Axes of a quick `transpose`.
const AXES: usize = 4;

/// `transpose` by ints, or without arguments.
fn permuted<'py>(array: &Borrowed<'_, 'py, NdArray>, view: &ArrayView, given: &Given<'_, 'py>) -> Quick<'py> {
    let (axes, rank) = (given.plain()?, view.shape.len());
    if axes.is_empty() {
        return Some(turned(array, view));
    }
    if axes.len() != rank || !(2..=AXES).contains(&rank) {
        return None;
    }
    let (mut extents, mut strides, mut seen) = (Dims::new(), Dims::new(), 0u8);
    for &axis in axes {
        let axis = index::within(index::integer(&given.value(axis))?, rank as i64)? as usize;
        seen |= 1 << axis;
        extents.push(view.shape[axis]);
        strides.push(view.strides[axis]);
    }
    // every axis once; what is wrong is the general way's to say
    (seen.count_ones() as usize == rank).then(|| wrap_view(array, shape::window(view, view.offset, extents, strides)))
}
