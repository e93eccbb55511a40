//! Arrays of other libraries on a device, as numelt's arrays on the same memory.
//!
//! In: an object with `__dlpack__` or `__cuda_array_interface__` whose memory is on a device. Out: an array whose home
//! is that device. The object's memory is kept as long as arrays are on it.

use crate::cpython::Out;
use crate::cpython::graveyard::Owner;
use crate::numpy::convert::{self, Numpy};
use crate::numpy::errors;
use crate::object::fresh;
use crate::object::ndarray::NdArray;
use crate::record::gil::past_gil;
use crate::record::{homes, registry, run};
use crate::sharing::dlpack::{self, TakenTensor};
use numelt::dlpack::{Layout, READ_ONLY};
use numelt::rules::shape;
use numelt_ir::Dims;
use numelt_runtime::{ArrayView, BaseRef, Home, Runtime, Stream};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The name of a device of DLPack's; `None` for kinds that no engine has.
fn name_of((kind, number): registry::Device) -> Option<String> {
    let name = match kind {
        dlpack::CUDA => "cuda",
        dlpack::OPENCL => "opencl",
        dlpack::EXTENSION => "far",
        _ => return None,
    };
    Some(format!("{name}:{number}"))
}

/// The device on which an object's memory is, if it has `__dlpack_device__`.
///
/// # Errors
/// Those of the object.
pub fn device_of(object: &Bound<'_, PyAny>) -> PyResult<Option<registry::Device>> {
    let method = object.get_type().getattr_opt(intern!(object.py(), "__dlpack_device__"))?;
    match method {
        Some(method) => method.call1((object,))?.extract().map(Some),
        None => Ok(None),
    }
}

/// The array on the memory of an object on a device that this process uses; `None` for all other objects. Nothing is
/// looked at as long as no such device is used, so that NumPy answers calls with such objects then.
///
/// # Errors
/// Those of [`exchanged`].
pub fn taken<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !Runtime::global().shares_devices() || object.is_instance_of::<PyType>() {
        return Ok(None);
    }
    if object.is_instance_of::<NdArray>() || object.is_instance(Numpy::get(object.py())?.ndarray.bind(object.py()))? {
        return Ok(None);
    }
    taken_from(object)
}

#[cold]
fn taken_from<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    /// What objects raise whose memory is on no device: an array of pyarrow with missing values, a tracer of JAX.
    const REFUSALS: [errors::Kind; 4] = [errors::BUFFER, errors::RUNTIME, errors::TYPE, errors::VALUE];
    let (py, kinds) = (object.py(), Runtime::global().shared_kinds());
    let Some(device) = errors::unless(py, device_of(object), &REFUSALS)? else { return Ok(None) };
    let name = intern!(py, "__cuda_array_interface__");
    match device {
        Some(device) if kinds.contains(&device.0) => exchanged(object, device),
        Some(_) => Ok(None),
        None if !kinds.contains(&dlpack::CUDA) => Ok(None),
        None if !object.get_type().hasattr(name)? => Ok(None),
        None => match object.getattr_opt(name)? {
            Some(interface) => described(object, &interface).map(Some),
            None => Ok(None),
        },
    }
}

/// The array on the memory of an object with `__dlpack__`, on this device; `None` if no engine has such devices.
///
/// # Errors
/// `BufferError` if the memory cannot be used, with the reason: the device cannot be started, for example; errors of
/// the object.
pub fn exchanged<'py>(object: &Bound<'py, PyAny>, device: registry::Device) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let Some(home) = home_of(py, device)? else { return Ok(None) };
    let shared = Runtime::global().shared_device(home);
    let kwargs = PyDict::new(py);
    if let Some(stream) = shared.and_then(|shared| shared.stream) {
        kwargs.set_item(intern!(py, "stream"), stream)?;
    }
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let newer = kwargs.copy()?;
    newer.set_item(intern!(py, "max_version"), (1, 0))?;
    let capsule = match errors::unless(py, method.call((), Some(&newer)), &[errors::TYPE])? {
        Some(capsule) => capsule,
        // it was written before DLPack 1.0
        None => method.call((), Some(&kwargs))?,
    };
    let tensor = TakenTensor::of(&capsule)?;
    let own = tensor.get();
    let (raw, flags) = (own.raw(), own.flags());
    if (raw.device[0], raw.device[1]) != device {
        let text = format!("__dlpack__ gives memory of device {:?}, not of {device:?}", raw.device);
        return Err(PyBufferError::new_err(text));
    }
    let layout = own.layout().map_err(|error| PyBufferError::new_err(error.to_string()))?;
    let place = Place { home, device, data: raw.data.expose_provenance() as u64, byte_offset: raw.byte_offset };
    // the object has made numelt's queue wait for what it has done; what others do later is in the default queue
    let order =
        Adoption { owner: tensor.clone().into_any(), stream: Stream::Default, writeable: flags & READ_ONLY == 0 };
    array_at(object, &place, layout, order).map(Some)
}

/// The home that a device of DLPack's is; `None` if no engine has such devices.
fn home_of(py: Python<'_>, device: registry::Device) -> PyResult<Option<Home>> {
    let Some(name) = name_of(device) else { return Ok(None) };
    match homes::named(&name) {
        Ok(home) => Ok(home.flatten()),
        Err(error) if error.is_instance_of::<PyValueError>(py) => {
            let why = error.value(py).str()?.to_string();
            Err(PyBufferError::new_err(format!("numelt cannot use memory of the device {name} here. {why}")))
        }
        Err(error) => Err(error),
    }
}

/// Where elements are.
struct Place {
    home: Home,
    device: registry::Device,
    /// The address, or the object, without the offset.
    data: u64,
    byte_offset: u64,
}

/// How memory is adopted.
struct Adoption<'py> {
    owner: Bound<'py, PyAny>,
    /// The queue in which its owner works.
    stream: Stream,
    writeable: bool,
}

/// The array of an object with `__cuda_array_interface__`, which is the argument `interface`.
fn described<'py>(object: &Bound<'py, PyAny>, interface: &Bound<'py, PyAny>) -> Out<'py> {
    let py = object.py();
    // the dictionary does not say which device it is; the driver checks that it is this one
    let device = (dlpack::CUDA, 0);
    let home = home_of(py, device)?.ok_or_else(|| PyBufferError::new_err("there is no CUDA device here"))?;
    let get = |name: &str| interface.call_method1("get", (name,));
    if !get("mask")?.is_none() {
        return Err(PyBufferError::new_err("__cuda_array_interface__ with a mask"));
    }
    let dtype = convert::parse_dtype(&get("typestr")?.as_borrowed())?;
    let dtype =
        dtype.ok_or_else(|| PyBufferError::new_err("__cuda_array_interface__ with elements that only NumPy has"))?;
    let shape: Dims = get("shape")?.extract::<Vec<i64>>()?.into_iter().collect();
    let strides = get("strides")?;
    let strides: Dims = match strides.is_none() {
        true => numelt_ir::c_strides(&shape, dtype.size() as i64),
        false => strides.extract::<Vec<i64>>()?.into_iter().collect(),
    };
    if strides.len() != shape.len() || shape.iter().any(|&n| n < 0) {
        return Err(PyBufferError::new_err("__cuda_array_interface__ with wrong extents or strides"));
    }
    let (data, read_only): (u64, bool) = get("data")?.extract()?;
    let stream = match get("stream")?.extract::<Option<u64>>()? {
        None | Some(1) => Stream::Default,
        Some(2) => Stream::PerThread,
        Some(0) => return Err(PyValueError::new_err("__cuda_array_interface__ with stream 0")),
        Some(handle) => Stream::Handle(handle),
    };
    let place = Place { home, device, data, byte_offset: 0 };
    let order = Adoption { owner: object.clone(), stream, writeable: !read_only };
    array_at(object, &place, Layout { dtype, shape, strides }, order)
}

/// An array of elements in memory of a device.
fn array_at<'py>(object: &Bound<'py, PyAny>, place: &Place, layout: Layout, order: Adoption<'py>) -> Out<'py> {
    let py = object.py();
    let Layout { dtype, shape, strides } = layout;
    let (base, offset) = match shape::byte_range(&shape, &strides, dtype.size() as i64) {
        Some(range) => base_at(py, place, range, dtype.align(), &order)?,
        None => {
            let base = run::new_base(0);
            base.set_home(Some(place.home));
            (base, 0)
        }
    };
    let view = ArrayView { base, dtype, offset, shape, strides };
    let array = fresh::object(py, || NdArray::new(view, Some(object.clone().unbind()), order.writeable))?;
    Ok(array.into_any())
}

/// A base that has the bytes from `low` to `high` of the first element, and the offset of the first element there.
fn base_at(
    py: Python<'_>,
    place: &Place,
    (low, high): (i64, i64),
    align: usize,
    order: &Adoption<'_>,
) -> PyResult<(BaseRef, i64)> {
    let is_object = place.device.0 == dlpack::OPENCL;
    let (start, nbytes, offset) = if is_object {
        (place.data, place.byte_offset as i64 + high, place.byte_offset as i64)
    } else {
        (place.data.wrapping_add(place.byte_offset).wrapping_add_signed(low), high - low, -low)
    };
    let first = if is_object { place.byte_offset } else { start.wrapping_add_signed(-low) };
    if !first.is_multiple_of(align as u64) || offset + low < 0 {
        return Err(PyBufferError::new_err("elements on a device that are not aligned"));
    }
    let range = start..start.wrapping_add(nbytes as u64);
    if let Some((base, begins)) = registry::find_on_device(&range, place.device, is_object) {
        let (home, stream) = (place.home, order.stream);
        past_gil(py, |runtime| runtime.follow(home, stream)).map_err(errors::to_buffer_error)?;
        return Ok((base, if is_object { offset } else { first.wrapping_sub(begins) as i64 }));
    }
    let owner = Box::new(Owner::of(order.owner.clone().unbind()));
    let (home, stream) = (place.home, Some(order.stream));
    // SAFETY: DLPack and `__cuda_array_interface__` promise this memory, until the owner releases it; what numelt
    // writes is what the program asks for.
    let adopt = |runtime: &Runtime| unsafe { runtime.adopt_on(home, (start, nbytes as usize), stream, owner) };
    let base = past_gil(py, adopt).map_err(errors::to_buffer_error)?;
    registry::enter_on_device(&base, place.device);
    Ok((base, offset))
}
