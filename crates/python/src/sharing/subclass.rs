//! Arrays of classes that are derived from NumPy's array class: calls with them run in NumPy.
//!
//! In: a call with such an array among its arguments. Out: what NumPy's function returns. Our arrays are lent to it,
//! and the call is counted as a fallback, without a detour through the package; `None` if only the package can
//! decide. The module also makes views of our arrays as such classes, and of such arrays as ours. Classes with an
//! `__array_function__` of their own are left to the package.

use crate::cpython::Quick;
use crate::cpython::calls;
use crate::cpython::given::{self, Given};
use crate::numpy::convert::Numpy;
use crate::object::ndarray::NdArray;
use crate::sharing::export;
use crate::sharing::lend::{self, Terms};
use numelt_runtime::footprint;
use numpy::npyffi::PY_ARRAY_API;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

/// From so many bytes on, the allocator may get the memory of an array from the system.
const LARGE: usize = 128 << 10;
/// Longest list or tuple that is searched for arrays of derived classes.
const ITEMS: usize = 16;

/// Whether this class is derived from NumPy's array class.
pub fn is_class(class: &Bound<'_, PyType>) -> bool {
    is_derived_class(class.py(), class.as_type_ptr())
}

/// Whether this is an array of a class that is derived from NumPy's array class.
#[inline]
pub fn is_derived(value: &Bound<'_, PyAny>) -> bool {
    is_derived_class(value.py(), value.get_type_ptr())
}

#[inline]
fn is_derived_class(py: Python<'_>, class: *mut ffi::PyTypeObject) -> bool {
    let Ok(numpy) = Numpy::get(py) else { return false };
    let array: *mut ffi::PyTypeObject = numpy.ndarray.as_ptr().cast();
    let mut class = class;
    // The base named by this field determines the layout of a class's objects, so that of NumPy's array is always found
    // on this way. `PyType_IsSubtype` searches all bases.
    // SAFETY: the class and its bases are living types.
    while let Some(base) = unsafe { (*class).tp_base.as_mut() } {
        class = base;
        if class == array {
            return true;
        }
    }
    false
}

/// Whether this is an array of a derived class; if a class may claim the call (`claimable`), one that leaves
/// functions to NumPy.
#[inline]
pub fn passes(value: &Bound<'_, PyAny>, claimable: bool) -> PyResult<bool> {
    Ok(is_derived(value) && (!claimable || leaves_functions_to_numpy(value)?))
}

/// Whether this is an array of a derived class that leaves functions to NumPy.
#[inline]
pub fn is_instance(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    passes(value, true)
}

/// Whether the class of an array has an `__array_function__` that does what NumPy's does.
fn leaves_functions_to_numpy(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let method = value.get_type().getattr_opt(intern!(value.py(), "__array_function__"))?;
    let numpys = numpys_method(value.py())?;
    Ok(method.is_some_and(|method| method.is(numpys)))
}

/// Whether this is an array as in [`is_instance`], or a short list or tuple with one in it.
fn holds(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(list) = value.cast_exact::<PyList>() {
        return Ok(list.len() <= ITEMS && any(list.iter(), |item| is_instance(&item))?);
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Ok(tuple.len() <= ITEMS && any(tuple.iter(), |item| is_instance(&item))?);
    }
    is_instance(value)
}

/// Whether the condition holds for any of the items; those after the first such item are not tested.
fn any<T>(items: impl IntoIterator<Item = T>, holds: impl Fn(T) -> PyResult<bool>) -> PyResult<bool> {
    for item in items {
        if holds(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether there is an array of a derived class among the operands of a ufunc.
pub fn among_operands(given: &Given<'_, '_>) -> bool {
    given.positional().chain(given.named()).any(|value| match value.cast_exact::<PyTuple>() {
        Ok(outs) => outs.iter_borrowed().any(|out| is_derived(&out)),
        Err(_) => is_derived(&value),
    })
}

/// Whether there is an array of a derived class that leaves functions to NumPy among the arguments.
pub fn among(given: &Given<'_, '_>) -> PyResult<bool> {
    any(given.positional().chain(given.named()), |value| holds(&value))
}

/// [`among_operands`] of packed arguments.
pub fn among_packed_operands(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    given::unpacked(args, kwargs, |given| Ok(among_operands(given)))
}

/// Calls a method of NumPy's array class, whose first argument is an array of a derived class. The call is not
/// counted.
pub fn method<'py>(method: &Bound<'py, PyAny>, given: &Given<'_, 'py>) -> Quick<'py> {
    lend::call(method, given, false, Terms::UNCLAIMED, || Ok(()))
}

/// A view of a numelt array as an array of a derived class.
pub fn view_as<'py>(array: &Bound<'py, NdArray>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    if array.get().view().is_some_and(|view| view.base.nbytes() > LARGE) {
        footprint::keep_large_blocks();
    }
    view(&export::to_numpy(array)?, class)
}

/// A view of an array of a derived class as a numelt array.
pub fn plain<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if let Some(made) = export::derived_to_ours(array)? {
        return Ok(made);
    }
    export::from_numpy(&view(array, Numpy::get(py)?.ndarray.bind(py).cast()?)?, false)
}

/// A view of a NumPy array as another class.
fn view<'py>(array: &Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // SAFETY: an array and a class of arrays; a null dtype means the array's own. The result is a new reference, or
    // null with an exception.
    unsafe {
        let made = PY_ARRAY_API.PyArray_View(py, array.as_ptr().cast(), std::ptr::null_mut(), class.as_ptr().cast());
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// `subclass.view(ndarray)` returns our array, `subclass.view(Class)` NumPy's; `None` for other calls, which the
/// package answers.
pub fn viewed<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([array, class]) = given.exactly() else { return Ok(None) };
    let Ok(class) = class.cast::<PyType>() else { return Ok(None) };
    if !is_derived(&array) {
        return Ok(None);
    }
    if class.is(given.py().get_type::<NdArray>()) {
        return plain(&array).map(Some);
    }
    if is_class(&class) { view(&array, &class).map(Some) } else { Ok(None) }
}

/// `subclass.__array_function__(function, types, args, kwargs)`: the answer of NumPy's array class, if the function
/// is NumPy's and no numelt array is among the arguments. `None` for other calls, which the package answers.
pub fn asked<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([_, function, types, _, _]) = given.exactly() else { return Ok(None) };
    let py = given.py();
    let Ok(types) = types.cast_exact::<PyTuple>() else { return Ok(None) };
    let ours = py.get_type::<NdArray>();
    // a class of the program that passes on its own arguments has our function here
    let own = lend::numpys_function(&function).is_some();
    if own || types.iter_borrowed().any(|class| class.is(&ours)) {
        return Ok(None);
    }
    given.pass_to(numpys_method(py)?).map(Some)
}

/// `numpy.ndarray.__array_function__`.
fn numpys_method(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static METHOD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let find = || Numpy::get(py)?.ndarray.bind(py).getattr("__array_function__").map(Bound::unbind);
    Ok(METHOD.get_or_try_init(py, find)?.bind(py))
}

/// A method of the base class of derived classes. NumPy looks its protocols' methods up on the class of each array,
/// and there it finds its own method, which it does not call. A method of a program that calls `super()` looks it up
/// for an object, and gets ours.
#[pyclass(name = "inherited", module = "numelt._core", frozen)]
struct InheritedMethod {
    numpys: Py<PyAny>,
    ours: Py<PyAny>,
}

#[pymethods]
impl InheritedMethod {
    #[new]
    fn new(numpys: Py<PyAny>, ours: Py<PyAny>) -> InheritedMethod {
        InheritedMethod { numpys, ours }
    }

    fn __get__<'py>(&self, instance: &Bound<'py, PyAny>, _owner: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = instance.py();
        if instance.is_none() {
            return Ok(self.numpys.bind(py).clone());
        }
        calls::bound_method(self.ours.bind(py), instance)
    }
}

/// Adds the class to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<InheritedMethod>()
}
