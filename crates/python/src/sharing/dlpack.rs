//! Tensors of DLPack in Python's capsules, in both versions of its structure.
//!
//! In: a tensor to be given away, or a capsule of another library. Out: a capsule whose tensor is released once,
//! whether somebody takes it or not; or the tensor of the capsule, which is released when its Python object ends.

use numelt::dlpack::{ManagedTensor, RawTensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// DLPack's number of the host.
pub const HOST: i32 = 1;
/// DLPack's number of CUDA devices.
pub const CUDA: i32 = 2;
/// DLPack's number of OpenCL devices. Their memory is objects, without addresses.
pub const OPENCL: i32 = 4;
/// DLPack's number of devices that only a library of their own knows; the device of the tests is one.
pub const EXTENSION: i32 = 12;

/// `DLManagedTensor`: the structure before DLPack 1.0.
#[repr(C)]
pub struct OldTensor {
    tensor: RawTensor,
    manager: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut OldTensor)>,
}

/// One of the two structures.
trait Managed: Sized + 'static {
    /// The capsule's name, and that of a capsule whose tensor has been taken.
    const NAMES: [&'static CStr; 2];
    fn tensor(&self) -> &RawTensor;
    fn manager(&self) -> *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Managed for ManagedTensor {
    const NAMES: [&'static CStr; 2] = [c"dltensor_versioned", c"used_dltensor_versioned"];

    fn tensor(&self) -> &RawTensor {
        &self.tensor
    }

    fn manager(&self) -> *mut c_void {
        self.manager
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut ManagedTensor)> {
        self.deleter
    }
}

impl Managed for OldTensor {
    const NAMES: [&'static CStr; 2] = [c"dltensor", c"used_dltensor"];

    fn tensor(&self) -> &RawTensor {
        &self.tensor
    }

    fn manager(&self) -> *mut c_void {
        self.manager
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut OldTensor)> {
        self.deleter
    }
}

/// What a tensor is made of.
pub struct Parts {
    /// The address, or the object, without the offset.
    pub data: u64,
    /// Bytes from there to the first element.
    pub byte_offset: u64,
    /// Kind and number of the device.
    pub device: (i32, i32),
    /// The element type as DLPack states it.
    pub dtype: [u8; 2],
    /// Extents.
    pub shape: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
}

/// A tensor with what it points to.
struct Owned<T, O> {
    tensor: T,
    _parts: Parts,
    _owner: O,
}

/// Ends a tensor that was made by [`capsule`].
unsafe extern "C" fn end<T: Managed, O>(tensor: *mut T) {
    // SAFETY: whoever calls this got the tensor from a capsule made here, and calls it once; its manager is the box.
    drop(unsafe { Box::from_raw((*tensor).manager().cast::<Owned<T, O>>()) });
}

/// Ends the tensor of a capsule, unless somebody has taken it.
unsafe extern "C" fn end_capsule<T: Managed>(capsule: *mut ffi::PyObject) {
    let [name, _] = T::NAMES;
    // SAFETY: the interpreter calls this once, with the capsule; a capsule of this name has such a tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, name.as_ptr()) == 1 {
            let tensor = ffi::PyCapsule_GetPointer(capsule, name.as_ptr()).cast::<T>();
            if let Some(deleter) = (*tensor).deleter() {
                deleter(tensor);
            }
        }
    }
}

impl Parts {
    fn raw(&mut self) -> RawTensor {
        RawTensor {
            data: std::ptr::with_exposed_provenance_mut(self.data as usize),
            device: [self.device.0, self.device.1],
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            lanes: 1,
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            byte_offset: self.byte_offset,
        }
    }
}

/// A capsule with a tensor. `owner` keeps its memory, and may be dropped on any thread; `flags` are those of DLPack
/// 1.0, `None` asks for the structure before it.
///
/// # Errors
/// Those of Python.
pub fn capsule<O: Send + Sync + 'static>(
    py: Python<'_>,
    parts: Parts,
    owner: O,
    flags: Option<u64>,
) -> PyResult<Bound<'_, PyAny>> {
    match flags {
        Some(flags) => {
            let make = |tensor, manager| ManagedTensor {
                version: [1, 0],
                manager,
                deleter: Some(end::<ManagedTensor, O>),
                flags,
                tensor,
            };
            made(py, parts, owner, make)
        }
        None => {
            let make = |tensor, manager| OldTensor { tensor, manager, deleter: Some(end::<OldTensor, O>) };
            made(py, parts, owner, make)
        }
    }
}

fn made<T: Managed, O>(
    py: Python<'_>,
    mut parts: Parts,
    owner: O,
    make: impl FnOnce(RawTensor, *mut c_void) -> T,
) -> PyResult<Bound<'_, PyAny>> {
    // the vectors keep their memory when they are moved into the box
    let raw = parts.raw();
    let mut owned = Box::<Owned<T, O>>::new_uninit();
    let manager = owned.as_mut_ptr().cast::<c_void>();
    owned.write(Owned { tensor: make(raw, manager), _parts: parts, _owner: owner });
    let manager = manager.cast::<Owned<T, O>>();
    std::mem::forget(owned);
    let [name, _] = T::NAMES;
    // SAFETY: the box has been written, and is this tensor's from now on; the capsule takes it, or it is dropped here.
    unsafe {
        let tensor = &raw mut (*manager).tensor;
        let made = ffi::PyCapsule_New(tensor.cast(), name.as_ptr(), Some(end_capsule::<T>));
        if made.is_null() {
            drop(Box::from_raw(manager));
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}

enum Taken {
    New(NonNull<ManagedTensor>),
    Old(NonNull<OldTensor>),
}

/// A tensor of another library, which is released when this object ends.
#[pyclass(module = "numelt._core", frozen)]
pub struct TakenTensor {
    tensor: Taken,
    /// The process that has taken it: a forked child has no part in it.
    process: u32,
}

// SAFETY: by the rules of DLPack, a tensor may be used and released on any thread.
unsafe impl Send for TakenTensor {}
// SAFETY: as above.
unsafe impl Sync for TakenTensor {}

impl TakenTensor {
    /// Takes the tensor of a capsule.
    ///
    /// # Errors
    /// `BufferError` if it is no capsule with a tensor, or one of another major version than 1.
    pub fn of<'py>(capsule: &Bound<'py, PyAny>) -> PyResult<Bound<'py, TakenTensor>> {
        let tensor = if let Some(tensor) = take::<ManagedTensor>(capsule, |tensor| tensor.version[0] == 1) {
            Taken::New(tensor)
        } else if let Some(tensor) = take::<OldTensor>(capsule, |_| true) {
            Taken::Old(tensor)
        } else {
            return Err(PyBufferError::new_err("__dlpack__ has not returned a tensor that numelt can read"));
        };
        Bound::new(capsule.py(), TakenTensor { tensor, process: std::process::id() })
    }

    /// The tensor.
    pub fn raw(&self) -> &RawTensor {
        // SAFETY: the tensor is valid until it is released, which is done when this is dropped.
        unsafe {
            match &self.tensor {
                Taken::New(tensor) => tensor.as_ref().tensor(),
                Taken::Old(tensor) => tensor.as_ref().tensor(),
            }
        }
    }

    /// The element type, extents and strides.
    ///
    /// # Errors
    /// If numelt has no such elements.
    pub fn layout(&self) -> Result<numelt::dlpack::Layout, numelt::Error> {
        // SAFETY: the tensor is valid, as other libraries promise.
        unsafe { self.raw().layout() }
    }

    /// The flags; none before DLPack 1.0.
    pub fn flags(&self) -> u64 {
        match &self.tensor {
            // SAFETY: as in `raw`.
            Taken::New(tensor) => unsafe { tensor.as_ref().flags },
            Taken::Old(_) => 0,
        }
    }
}

impl Drop for TakenTensor {
    fn drop(&mut self) {
        fn release<T: Managed>(tensor: NonNull<T>) {
            // SAFETY: the tensor was taken from its capsule, and is released once.
            unsafe {
                if let Some(deleter) = tensor.as_ref().deleter() {
                    deleter(tensor.as_ptr());
                }
            }
        }
        if self.process != std::process::id() {
            return;
        }
        match self.tensor {
            Taken::New(tensor) => release(tensor),
            Taken::Old(tensor) => release(tensor),
        }
    }
}

/// The tensor of a capsule of its kind, which is marked as taken then; `None` for any other object, and for a tensor
/// that is refused.
fn take<T: Managed>(capsule: &Bound<'_, PyAny>, accepts: impl FnOnce(&T) -> bool) -> Option<NonNull<T>> {
    let [name, used] = T::NAMES;
    // SAFETY: a living object; a capsule of this name has such a tensor. Names of capsules are constants.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 1 {
            return None;
        }
        let tensor = NonNull::new(ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()).cast::<T>())?;
        let taken = accepts(tensor.as_ref()) && ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) == 0;
        taken.then_some(tensor)
    }
}
