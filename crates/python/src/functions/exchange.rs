//! `from_dlpack`, of objects whose memory is on a device. NumPy's function takes those on the host.

use super::arguments::Quick;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::object::fresh;
use crate::object::ndarray::NdArray;
use crate::record::homes;
use crate::sharing::{device_arrays, device_export, dlpack};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// `from_dlpack`
pub fn from_dlpack<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const FROM_DLPACK: Parameters<3> = Parameters::new(["x", "device", "copy"], 1).by_position(1).nameless(1);
    let Some([Arg(Some(x)), device, copy]) = given.bind(&FROM_DLPACK) else { return Ok(None) };
    let x = x.to_owned();
    let device = match device.given().filter(|device| !device.is_none()) {
        None => None,
        Some(device) => match device.cast_exact::<PyString>() {
            Ok(text) => Some(text.to_str()?.to_owned()),
            // NumPy has the words for anything else
            Err(_) => return Ok(None),
        },
    };
    let copy = copy.given().filter(|copy| !copy.is_none()).map(|copy| copy.is_truthy()).transpose()?;
    let shared = match x.cast_exact::<NdArray>() {
        Ok(array) if device_export::device_of(array.get()).is_none() => return Ok(None),
        Ok(array) => again(array)?,
        Err(_) => match device_arrays::device_of(&x)? {
            // the object makes a copy for the host, as NumPy asks it to
            Some((kind, _)) if kind == dlpack::HOST || device.as_deref() == Some(homes::CPU) => return Ok(None),
            Some(at) => match device_arrays::exchanged(&x, at)? {
                Some(shared) => shared,
                None => return Ok(None),
            },
            None => return Ok(None),
        },
    };
    let shared = shared.cast_into::<NdArray>()?;
    let Some(own) = shared.get().view().map(|view| view.base.home()) else { return Ok(None) };
    let home = match &device {
        None => own,
        Some(text) => match homes::named(text)? {
            Some(home) => home,
            None => return Ok(None),
        },
    };
    match (home == own, copy) {
        (true, Some(true)) => match shared.get().view() {
            Some(view) => homes::moved(given.py(), view, home).map(Some),
            None => Ok(None),
        },
        (true, _) => Ok(Some(shared.into_any())),
        (false, Some(false)) => {
            Err(PyValueError::new_err("Unable to avoid copy while creating an array as requested."))
        }
        (false, _) => homes::to_device(&shared, home).map(Some),
    }
}

/// Another array on the memory of one of numelt's.
fn again<'py>(array: &Bound<'py, NdArray>) -> PyResult<Bound<'py, PyAny>> {
    let (own, parent) = (array.get(), array.clone().into_any().unbind());
    let view = own.view().ok_or_else(|| PyValueError::new_err("an array that is not native"))?.clone();
    Ok(fresh::object(array.py(), || NdArray::new(view, Some(parent), own.writeable()))?.into_any())
}
