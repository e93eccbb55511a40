//! Arrays on a device for other libraries, on the same memory: DLPack and `__cuda_array_interface__`.
//!
//! In: an array whose home is a device, and what the other library asks for. Out: a capsule or a dictionary with the
//! address of the array's memory on the device. As long as the other library has it, the memory stays where it is, and
//! holds the array's values after each operation (`crates/runtime/src/heap/anchors.rs`).

use crate::cpython::Out;
use crate::numpy::convert::Numpy;
use crate::object::ndarray::NdArray;
use crate::record::{homes, run};
use crate::sharing::dlpack::{self, Parts};
use crate::sharing::export;
use numelt::dlpack::{IS_COPIED, READ_ONLY, type_of};
use numelt_runtime::{ArrayView, DeviceLoan, Runtime, SharedDevice, Stream};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The view of an array that is on a device whose memory other libraries can use, and the device.
pub fn device_of(array: &NdArray) -> Option<(&ArrayView, SharedDevice)> {
    let view = array.view()?;
    Some((view, Runtime::global().shared_device(view.base.home()?)?))
}

/// The arguments of `__dlpack__`.
struct Asked {
    /// The queue in which the other library is going to use the memory; `None` if the order is its own affair.
    stream: Option<Stream>,
    /// Whether it reads tensors of DLPack 1.0.
    versioned: bool,
    /// Whether it wants memory of the host.
    on_host: bool,
    copy: Option<bool>,
}

impl Asked {
    fn of(kwargs: Option<&Bound<'_, PyDict>>, device: SharedDevice) -> PyResult<Asked> {
        let mut asked = Asked { stream: Some(Stream::Default), versioned: false, on_host: false, copy: None };
        for (name, value) in kwargs.into_iter().flat_map(PyDictMethods::iter) {
            let name: String = name.extract()?;
            if value.is_none() && ["stream", "max_version", "dl_device", "copy"].contains(&name.as_str()) {
                continue;
            }
            match name.as_str() {
                "stream" => asked.stream = stream(value.extract()?, device)?,
                "max_version" => {
                    let version: PyResult<(i64, i64)> = value.extract();
                    let wrong = || PyTypeError::new_err("max_version must be None or a tuple with two elements.");
                    asked.versioned = version.map_err(|_| wrong())?.0 >= 1;
                }
                "dl_device" => {
                    let (kind, number): (i32, i32) = value.extract()?;
                    asked.on_host = kind == dlpack::HOST;
                    if !asked.on_host && (kind, number) != (device.kind, device.number) {
                        let own = (device.kind, device.number);
                        let text = format!("the array is on device {own:?} of DLPack, not on {:?}", (kind, number));
                        return Err(PyBufferError::new_err(text));
                    }
                }
                "copy" => asked.copy = Some(value.is_truthy()?),
                _ => {
                    let text = format!("__dlpack__() got an unexpected keyword argument '{name}'");
                    return Err(PyTypeError::new_err(text));
                }
            }
        }
        Ok(asked)
    }
}

/// The queue that a number stands for, as the standard of the Array API numbers them.
fn stream(number: i64, device: SharedDevice) -> PyResult<Option<Stream>> {
    match number {
        -1 => Ok(None),
        _ if device.kind == dlpack::OPENCL => Err(PyValueError::new_err("OpenCL devices need stream=None or -1.")),
        1 => Ok(Some(Stream::Default)),
        2 => Ok(Some(Stream::PerThread)),
        3.. => Ok(Some(Stream::Handle(number as u64))),
        _ => Err(PyValueError::new_err(format!("stream={number} is not a stream of CUDA."))),
    }
}

/// The result of `__dlpack__` of an array on a device.
///
/// # Errors
/// `BufferError` for what DLPack cannot say or the device cannot do; errors of the arguments; those of the runtime.
pub fn dlpack<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    device: SharedDevice,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Out<'py> {
    let (py, asked) = (array.py(), Asked::of(kwargs, device)?);
    if asked.on_host {
        if asked.copy == Some(false) {
            let text = "memory of the host can only hold a copy of an array that is on a device";
            return Err(PyBufferError::new_err(text));
        }
        // NumPy's array is a copy already, but only a copy that NumPy makes gets the flag that says so
        let kwargs = PyDict::new(py);
        kwargs.set_item("copy", true)?;
        if asked.versioned {
            kwargs.set_item("max_version", (1, 0))?;
        }
        return export::to_numpy(array)?.call_method("__dlpack__", (), Some(&kwargs));
    }
    if asked.copy == Some(true) {
        let copy = homes::moved(py, view, view.base.home())?.cast_into::<NdArray>()?;
        let view = copy.get().view().ok_or_else(|| PyTypeError::new_err("a copy that is not native"))?;
        return tensor(py, view, device, &asked, IS_COPIED);
    }
    let flags = if array.get().writeable() { 0 } else { READ_ONLY };
    if flags != 0 && !asked.versioned {
        let text = "Cannot export readonly array since signalling readonly is unsupported by DLPack (supported by newer \
                    DLPack version).";
        return Err(PyBufferError::new_err(text));
    }
    tensor(py, view, device, &asked, flags)
}

fn tensor<'py>(py: Python<'py>, view: &ArrayView, device: SharedDevice, asked: &Asked, flags: u64) -> Out<'py> {
    let size = view.dtype.size() as i64;
    if view.strides.iter().any(|stride| stride % size != 0) {
        let text = "DLPack only supports strides which are a multiple of itemsize.";
        return Err(PyBufferError::new_err(text));
    }
    let loan = lend(py, view, asked.stream)?;
    let (data, byte_offset) = match &loan {
        None => (0, 0),
        Some(loan) if device.kind == dlpack::OPENCL => (loan.address(), view.offset as u64),
        Some(loan) => (loan.address() + view.offset as u64, 0),
    };
    let parts = Parts {
        data,
        byte_offset,
        device: loan.as_ref().map_or((device.kind, device.number), DeviceLoan::device),
        dtype: type_of(view.dtype),
        shape: view.shape.to_vec(),
        strides: view.strides.iter().map(|stride| stride / size).collect(),
    };
    dlpack::capsule(py, parts, loan, asked.versioned.then_some(flags))
}

/// Lends the memory of a view that has elements.
fn lend(py: Python<'_>, view: &ArrayView, stream: Option<Stream>) -> PyResult<Option<DeviceLoan>> {
    if view.size() == 0 { Ok(None) } else { run::lend(py, &view.base, stream).map(Some) }
}

/// The result of `__cuda_array_interface__`, version 3. Its users keep the array alive, and may use the memory in any
/// queue that waits for the stream in the dictionary, or for the default one.
///
/// # Errors
/// Those of lending the memory.
pub fn interface<'py>(array: &Bound<'py, NdArray>, view: &ArrayView, device: SharedDevice) -> Out<'py> {
    let py = array.py();
    let dict = PyDict::new(py);
    let data = match lend(py, view, Some(Stream::Default))? {
        None => 0,
        Some(loan) => {
            let data = loan.address() + view.offset as u64;
            loan.keep();
            data
        }
    };
    let dense = numelt::rules::shape::dense_range(view).is_some();
    let strides = if dense { None } else { Some(PyTuple::new(py, view.strides.iter())?) };
    dict.set_item("shape", PyTuple::new(py, view.shape.iter())?)?;
    dict.set_item("typestr", Numpy::get(py)?.descr(py, view.dtype).getattr("str")?)?;
    dict.set_item("data", (data, !array.get().writeable()))?;
    dict.set_item("strides", strides)?;
    dict.set_item("version", 3)?;
    dict.set_item("stream", device.stream)?;
    Ok(dict.into_any())
}

/// Whether another library uses the memory that an array has on a device.
#[pyfunction]
fn is_lent(array: &Bound<'_, NdArray>) -> bool {
    array.get().view().is_some_and(|view| view.base.is_lent())
}

/// What `__cuda_array_interface__` would say of an array on any device. For tests without such a device.
///
/// # Errors
/// `ValueError` for an array on the CPU, and those of [`interface`].
#[pyfunction]
fn device_array_interface<'py>(array: &Bound<'py, NdArray>) -> Out<'py> {
    match device_of(array.get()) {
        Some((view, device)) => interface(array, view, device),
        None => Err(PyValueError::new_err("the array is on the CPU")),
    }
}

/// Adds the functions to the module.
///
/// # Errors
/// Those of Python.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_lent, module)?)?;
    module.add_function(wrap_pyfunction!(device_array_interface, module)?)
}
