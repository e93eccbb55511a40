//! Arrays of classes that are derived from NumPy's array class: calls with them run in NumPy.
//!
//! In: a call with such an array among its arguments. Out: what NumPy's function returns. Our arrays are lent to it,
//! and the call is counted as a fallback, without a detour through the package; `None` if only the package can
//! decide. The module also makes views of our arrays as such classes, and of such arrays as ours. Classes with an
//! `__array_function__` of their own are left to the package.

use crate::cpython::Quick;
use crate::cpython::calls;
use crate::cpython::given::Given;
use crate::numpy::convert::Numpy;
use crate::object::ndarray::NdArray;
use crate::sharing::derived::{is_class, is_derived, numpys_method};
use crate::sharing::export;
use crate::sharing::lend::{self, Terms};
use numelt_runtime::footprint;
use numpy::npyffi::PY_ARRAY_API;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// From so many bytes on, the allocator may get the memory of an array from the system.
const LARGE: usize = 128 << 10;

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
