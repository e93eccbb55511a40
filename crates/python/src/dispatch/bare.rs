//! The fast path of short methods: methods that the interpreter calls without PyO3's code around them, as
//! [`direct`](crate::dispatch::direct) has operators.
//!
//! In: the array class as PyO3 has made it. Out: the same class, in which some methods are replaced by methods of the
//! same name and documentation. These answer plain calls, and pass all others to the methods that they replace. On
//! five elements, such a call takes 17 to 79 % less time (`benches/fast_paths.py`). Attributes gained at most 2 ns,
//! and stay PyO3's. If `NUMELT_FAST_PATHS` does not name `members`, all calls are passed to the replaced methods.

use crate::array::attributes::numpy_method;
use crate::array::fresh;
use crate::array::index;
use crate::array::members::Quick;
use crate::array::members::{listed, permuted, reshaped, vector};
use crate::array::methods;
use crate::array::ndarray::NdArray;
use crate::array::scalar;
use crate::cpython::calls;
use crate::cpython::fast::{self, Path};
use crate::cpython::given::Given;
use crate::cpython::vectorcall::give;
use crate::dispatch::unbound;
use crate::numpy::convert::Numpy;
use crate::numpy::foreign;
use crate::record::run;
use numelt::rules::shape;
use numelt_ir::DType;
use numelt_runtime::{ArrayView, Runtime};
use pyo3::PyTypeInfo;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use std::ffi::CString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The C function of the method or function that has been replaced.
struct Callable(OnceLock<ffi::PyCFunctionFastWithKeywords>);

impl Callable {
    const fn new() -> Callable {
        Callable(OnceLock::new())
    }

    /// Stores the C function of a method or function; false if it has another calling convention.
    fn learn(&self, function: &Bound<'_, PyAny>) -> bool {
        calls::fast_function(function).is_some_and(|(own, _)| self.0.set(own).is_ok())
    }

    /// # Safety
    /// [`Callable::learn`] has returned true. The arguments are those of a call.
    unsafe fn call(
        &self,
        object: *mut ffi::PyObject,
        (values, count, names): (*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject),
    ) -> *mut ffi::PyObject {
        // SAFETY: the caller's contract.
        unsafe { self.0.get().unwrap_unchecked()(object, values, count, names) }
    }
}

/// The view of an object whose class is exactly the array class and whose dtype is native.
///
/// # Safety
/// The object lives, and the GIL is held.
#[inline(always)]
unsafe fn native<'a, 'py>(
    py: Python<'py>,
    object: &'a *mut ffi::PyObject,
) -> Option<(Borrowed<'a, 'py, NdArray>, &'a ArrayView)> {
    // SAFETY: the caller's contract. The object, whose class has just been compared, outlives the borrow of its
    // address; the array keeps its views, also after they have been replaced.
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

type Method = for<'a, 'py> fn(&Borrowed<'a, 'py, NdArray>, &ArrayView, &Given<'_, 'py>) -> Quick<'py>;

/// # Safety
/// The conditions of a call by the interpreter.
#[inline(always)]
unsafe fn call_method(
    object: *mut ffi::PyObject,
    (values, count, names): (*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject),
    (name, quick): (&'static str, Method),
    (counted, former): (Option<&Counted>, &Callable),
) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract.
    unsafe {
        let py = Python::assume_attached();
        let given = Given::of(py, values, count as usize, names);
        let run = || {
            let (array, view) = native(py, &object)?;
            quick(&array, view, &given)
        };
        let made = give(py, run).or_else(|| of_foreign(object, counted?, (values, count, names)));
        made.unwrap_or_else(|| former_method(object, (values, count, names), name, former))
    }
}

/// Calls NumPy's method for an array of exactly our class with a non-native dtype.
///
/// # Safety
/// The conditions of a call by the interpreter.
unsafe fn of_foreign(
    object: *mut ffi::PyObject,
    counted: &Counted,
    (values, count, names): (*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject),
) -> Option<*mut ffi::PyObject> {
    // SAFETY: the caller's contract; NumPy's method may call Python.
    unsafe {
        if ffi::Py_TYPE(object) != CLASS.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let array = Borrowed::from_ptr(py, object).cast_unchecked::<NdArray>();
            let given = Given::of(py, values, count as usize, names);
            let name = || PyString::intern(py, counted.label.trim_start_matches("ndarray.")).unbind();
            let name = counted.name.get_or_init(py, name).bind(py);
            let foreign = array.get().view().is_none();
            give(py, || foreign.then(|| foreign::method_of(&array, counted.label, name, &given).transpose())?)
        })
    }
}

/// NumPy's method for calls on arrays of non-native dtypes.
struct Counted {
    label: &'static str,
    name: PyOnceLock<Py<PyString>>,
}

impl Counted {
    /// `None` if the method only reads, or is answered here for all arrays.
    #[inline(always)]
    fn counted(&self) -> Option<&Counted> {
        let counted = ["astype", "ravel", "reshape", "squeeze", "transpose", "view"];
        counted.iter().any(|name| self.label.ends_with(name)).then_some(self)
    }
}

/// Calls the replaced method; errors for wrong arguments get NumPy's wording.
///
/// # Safety
/// The conditions of a call by the interpreter.
unsafe fn former_method(
    object: *mut ffi::PyObject,
    (values, count, names): (*const *mut ffi::PyObject, ffi::Py_ssize_t, *mut ffi::PyObject),
    name: &'static str,
    former: &Callable,
) -> *mut ffi::PyObject {
    // SAFETY: the caller's contract.
    unsafe {
        let made = former.call(object, (values, count, names));
        if made.is_null() {
            let py = Python::assume_attached();
            let first = Some(Bound::from_borrowed_ptr(py, object));
            unbound::reword(py, || numpy_method(py, name), first, (values, count as usize, names));
        }
        made
    }
}

/// A C string that lives as long as the process.
fn kept(text: String) -> *const std::ffi::c_char {
    CString::new(text).map_or(std::ptr::null(), |text| text.into_raw())
}

/// The documentation of a method, with the signature that it shows.
fn documented(name: &str, former: &Bound<'_, PyAny>) -> PyResult<*const std::ffi::c_char> {
    let text =
        |what: &str| former.getattr_opt(what)?.filter(|t| !t.is_none()).map(|t| t.extract::<String>()).transpose();
    Ok(match (text("__text_signature__")?, text("__doc__")?) {
        (Some(signature), doc) => kept(format!("{name}{signature}\n--\n\n{}", doc.unwrap_or_default())),
        (None, Some(doc)) => kept(doc),
        (None, None) => std::ptr::null(),
    })
}

/// Gives the methods of the array class the documentation and signatures of NumPy's methods of the same names.
fn document(sample: &Bound<'_, NdArray>) -> PyResult<()> {
    let (py, class) = (sample.py(), sample.get_type());
    let numpys = Numpy::get(py)?.ndarray.bind(py);
    let kind = py.import("types")?.getattr("MethodDescriptorType")?;
    let own = class.getattr(intern!(py, "__dict__"))?.call_method0("copy")?.cast_into::<PyDict>()?;
    for (name, value) in own {
        let name = name.extract::<String>()?;
        let Some(theirs) = numpys.getattr_opt(&*name)?.filter(|_| value.is_exact_instance(&kind)) else { continue };
        let method = sample.getattr(&*name)?;
        // SAFETY: the object has been found to be a C function; its definition says how it is called, which does not
        // change. The definition lives as long as the process.
        unsafe {
            if ffi::PyCFunction_Check(method.as_ptr()) == 0 {
                continue;
            }
            let Some(function) = ffi::PyCFunction_GetFunction(method.as_ptr()) else { continue };
            let made = ffi::PyMethodDef {
                ml_name: kept(name.clone()),
                ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
                ml_flags: ffi::PyCFunction_GetFlags(method.as_ptr()),
                ml_doc: documented(&name, &theirs)?,
            };
            let made = ffi::PyDescr_NewMethod(class.as_type_ptr(), Box::leak(Box::new(made)));
            class.setattr(name, Bound::from_owned_ptr_or_err(py, made)?)?;
        }
    }
    Ok(())
}

/// The definition of a method or function of this name, which lives as long as the process.
fn definition(
    name: &str,
    former: &Bound<'_, PyAny>,
    function: ffi::PyCFunctionFastWithKeywords,
) -> PyResult<*mut ffi::PyMethodDef> {
    let made = ffi::PyMethodDef {
        ml_name: kept(name.to_owned()),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: function },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: documented(name, former)?,
    };
    Ok(Box::leak(Box::new(made)))
}

macro_rules! members {
    (
        methods { $($method:ident $method_quick:expr;)* }
        worded { $($worded:ident)* }
    ) => {
        $(
            mod $method {
                use super::*;

                static FORMER: Callable = Callable::new();
                static METHOD: Counted =
                    Counted { label: concat!("ndarray.", stringify!($method)), name: PyOnceLock::new() };

                unsafe extern "C" fn run(
                    object: *mut ffi::PyObject,
                    values: *const *mut ffi::PyObject,
                    count: ffi::Py_ssize_t,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let quick = (stringify!($method), $method_quick as Method);
                    // SAFETY: the interpreter calls it.
                    unsafe { call_method(object, (values, count, names), quick, (METHOD.counted(), &FORMER)) }
                }

                unsafe extern "C" fn general(
                    object: *mut ffi::PyObject,
                    values: *const *mut ffi::PyObject,
                    count: ffi::Py_ssize_t,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    let none = (stringify!($method), (|_, _, _| None) as Method);
                    // SAFETY: the interpreter calls it.
                    unsafe { call_method(object, (values, count, names), none, (METHOD.counted(), &FORMER)) }
                }

                pub fn replace(sample: &Bound<'_, NdArray>) -> PyResult<()> {
                    let run = if fast::has(Path::Members) { run } else { general };
                    replace_method(sample, stringify!($method), run, &FORMER)
                }
            }
        )*
        $(
            mod $worded {
                use super::*;

                static FORMER: Callable = Callable::new();

                unsafe extern "C" fn run(
                    object: *mut ffi::PyObject,
                    values: *const *mut ffi::PyObject,
                    count: ffi::Py_ssize_t,
                    names: *mut ffi::PyObject,
                ) -> *mut ffi::PyObject {
                    // SAFETY: the interpreter calls it.
                    unsafe { former_method(object, (values, count, names), stringify!($worded), &FORMER) }
                }

                pub fn replace(sample: &Bound<'_, NdArray>) -> PyResult<()> {
                    replace_method(sample, stringify!($worded), run, &FORMER)
                }
            }
        )*
        /// Replaces methods of the array class, which is complete.
        pub fn replace_members(py: Python<'_>) -> PyResult<()> {
            CLASS.store(NdArray::type_object_raw(py), Ordering::Relaxed);
            let sample = ArrayView::fresh(Runtime::global(), DType::Bool, &[1]);
            let sample = fresh::object(py, || NdArray::new(sample, None, true))?;
            document(&sample)?;
            $($method::replace(&sample)?;)*
            $($worded::replace(&sample)?;)*
            Ok(())
        }
    };
}

members! {
    methods {
        reshape reshaped;
        ravel |array, view, given| {
            given.in_c_order()?.is_empty().then_some(())?;
            let (size, dense) = (view.size(), view.dtype.size() as i64);
            shape::is_c_contiguous(&view.shape, &view.strides, dense).then(|| vector(array, view, size))
        };
        transpose permuted;
        squeeze |array, view, given| {
            let whole = given.plain()?.is_empty() && !view.shape.contains(&1);
            whole.then(|| Ok((**array).clone().into_any()))
        };
        item |array, view, given| {
            let py = array.py();
            let offset = index::element_by(view, given.plain()?.iter().map(|&at| given.value(at)))?;
            view.base.is_readable().then_some(())?;
            Some(run::read_scalar(py, &view.base, view.dtype, offset).and_then(|value| scalar::python_number(py, value)))
        };
        tolist |array, view, given| {
            given.plain()?.is_empty().then_some(())?;
            listed(array.py(), view)
        };
        fill |array, view, given| {
            let &[value] = given.plain()? else { return None };
            let value = crate::numpy::convert::exact_weak(&given.value(value))?;
            let stored = value.to_scalar(view.dtype).filter(|&stored| !value.overflowed(stored))?;
            let done = array.get().writeable() && run::overwrite_few(array.py(), view, stored);
            done.then(|| Ok(array.py().None().into_bound(array.py())))
        };
        astype |array, view, given| {
            let &[dtype] = given.plain()? else { return None };
            methods::quick_astype(array.py(), view, &given.value(dtype))
        };
    }
    worded { view swapaxes flatten copy conjugate conj to_device }
}

fn replace_method(
    sample: &Bound<'_, NdArray>,
    name: &'static str,
    run: ffi::PyCFunctionFastWithKeywords,
    former: &Callable,
) -> PyResult<()> {
    let (py, class) = (sample.py(), sample.get_type());
    if !former.learn(&sample.getattr(name)?) {
        return Ok(());
    }
    let definition = definition(name, &class.getattr(name)?, run)?;
    // SAFETY: the class is complete; the definition lives as long as the process.
    let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyDescr_NewMethod(class.as_type_ptr(), definition))? };
    class.setattr(name, made)
}
