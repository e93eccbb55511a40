//! `numpy.ndarray(shape, ...)` for our class, and the class that arrays claim to have.

use crate::numpy::convert;
use crate::object::ndarray::{NdArray, Payload};
use crate::sharing::{calling, export};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

#[pymethods]
impl NdArray {
    /// `ndarray(shape, dtype=float, buffer=None, offset=0, strides=None, order=None)`
    #[new]
    #[pyo3(signature = (*args, **kwargs))]
    fn py_new(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<NdArray> {
        let py = args.py();
        let items = args.iter().map(|a| calling::plain(&a)).collect::<PyResult<Vec<_>>>()?;
        // NumPy parses the arguments and raises its own errors; only the layout of the result is used here.
        let made = convert::Numpy::get(py)?.ndarray.bind(py).call(PyTuple::new(py, items)?, kwargs)?;
        let wrapped = export::from_numpy(&made, export::references(&made) <= 1)?;
        let array = wrapped.cast::<NdArray>()?.get();
        Ok(match array.payload() {
            Payload::Native(view) => {
                NdArray::new(view.clone(), array.parent().map(|p| p.clone_ref(py)), array.writeable())
            }
            Payload::Foreign(real) => NdArray::foreign(real.clone_ref(py), array.parent().map(|p| p.clone_ref(py))),
        })
    }

    /// Always NumPy's class. `isinstance(x, numpy.ndarray)` uses this attribute, and is therefore true for our arrays
    /// everywhere. `type(x)` is our class.
    #[getter(__class__)]
    fn class<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyType>> {
        Ok(convert::Numpy::get(slf.py())?.ndarray.bind(slf.py()).clone())
    }
}
