//! DLPack: sharing arrays with other libraries in both directions, without a copy.
//!
//! The layout of the structures is that of DLPack 1.0 (`dlpack.h`). All unsafe code about it is here.

use super::any_array::AnyArray;
use super::recorder::runtime;
use crate::error::Error;
use crate::rules::shape;
use numelt_ir::{DType, DTypeKind, Dims, MAX_RANK, c_strides};
use numelt_runtime::{ArrayView, Export};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::slice;

/// `DLManagedTensorVersioned`: a tensor, and the function by which its owner releases it.
///
/// ```
/// use numelt::dlpack::ManagedTensor;
/// assert_eq!(size_of::<ManagedTensor>(), 80);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct ManagedTensor {
    /// Major and minor version of the structure.
    pub version: [u32; 2],
    /// For the owner's use.
    pub manager: *mut c_void,
    /// Releases the tensor; it is called once.
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
    /// Bit 0: the tensor is read-only; bit 1: it is a copy.
    pub flags: u64,
    /// The tensor.
    pub tensor: RawTensor,
}

/// `DLTensor`: the location and layout of elements.
///
/// ```
/// use numelt::dlpack::RawTensor;
/// assert_eq!(size_of::<RawTensor>(), 48);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct RawTensor {
    /// The address of the elements, without the offset.
    pub data: *mut c_void,
    /// Kind of device (1 is the host) and its number.
    pub device: [i32; 2],
    /// Number of axes.
    pub ndim: i32,
    /// Kind of elements (0 signed, 1 unsigned, 2 float, 5 complex, 6 truth value) and bits of one.
    pub dtype: [u8; 2],
    /// The number of numbers in an element.
    pub lanes: u16,
    /// Extents.
    pub shape: *mut i64,
    /// The distance of neighbours along each axis, in elements; null for C order.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// The flag of a tensor that must not be written.
pub const READ_ONLY: u64 = 1;
/// The flag of a tensor that was copied for its user.
pub const IS_COPIED: u64 = 2;

/// The element type, extents and strides of a tensor.
///
/// ```
/// use numelt::dlpack::Tensor;
/// let tensor = numelt::arange(6).reshape(&[2, 3]).unwrap().to_dlpack().unwrap();
/// let raw = tensor.into_raw();
/// // SAFETY: the tensor is valid until it is released, which is done here.
/// let layout = unsafe {
///     let layout = raw.as_ref().tensor.layout().unwrap();
///     drop(Tensor::from_raw(raw));
///     layout
/// };
/// assert_eq!((layout.shape.as_slice(), layout.strides.as_slice()), (&[2, 3][..], &[24, 8][..]));
/// ```
#[derive(Debug, Clone)]
pub struct Layout {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Dims,
    /// Byte strides.
    pub strides: Dims,
}

impl RawTensor {
    /// The element type, extents and strides; see [`Layout`].
    ///
    /// # Errors
    /// If numelt has no such elements, or there are too many axes or elements.
    ///
    /// # Safety
    /// The tensor is valid as DLPack says.
    pub unsafe fn layout(&self) -> Result<Layout, Error> {
        let unsupported = || refused("with an element type that is not supported");
        let dtype = dtype_of(self).ok_or_else(unsupported)?;
        let rank = usize::try_from(self.ndim).ok().filter(|&rank| rank <= MAX_RANK);
        let rank = rank.ok_or(Error::TooManyAxes(self.ndim.unsigned_abs() as usize))?;
        let size = dtype.size() as i64;
        let words = |words: *mut i64| -> &[i64] {
            // SAFETY: a valid tensor has as many extents and strides as axes, where it has any.
            if rank == 0 { &[] } else { unsafe { slice::from_raw_parts(words, rank) } }
        };
        let shape = Dims::from_slice(words(self.shape));
        if shape.iter().any(|&n| n < 0) || shape.iter().try_fold(size, |a, &n| a.checked_mul(n)).is_none() {
            return Err(Error::TooBig);
        }
        let strides = match self.strides.is_null() {
            true => c_strides(&shape, size),
            false => words(self.strides).iter().map(|stride| stride.saturating_mul(size)).collect(),
        };
        Ok(Layout { dtype, shape, strides })
    }
}

fn refused(text: &str) -> Error {
    Error::Value(format!("a tensor of DLPack {text}"))
}

/// The element type as a tensor states it: a kind, and the bits of one element.
///
/// ```
/// use numelt::{DType, dlpack::type_of};
/// assert_eq!(type_of(DType::F32), [2, 32]);
/// ```
pub fn type_of(dtype: DType) -> [u8; 2] {
    let kind = match dtype.kind() {
        DTypeKind::Signed => 0,
        DTypeKind::Unsigned => 1,
        DTypeKind::Float => 2,
        DTypeKind::Complex => 5,
        DTypeKind::Bool => 6,
    };
    [kind, 8 * dtype.size() as u8]
}

/// A tensor that is released when this is dropped.
///
/// ```
/// use numelt::{AnyArray, Array};
/// let x = Array::from([1.0, 2.0]);
/// let tensor = x.to_dlpack().unwrap();
/// let y = AnyArray::from_dlpack(tensor).unwrap();
/// y.fill(3.0);
/// assert_eq!(x.to_vec(), [3.0, 3.0]);
/// ```
#[derive(Debug)]
pub struct Tensor(NonNull<ManagedTensor>);

// SAFETY: by the contract of `from_raw`, the tensor may be used and released on any thread; the tensors that are made
// here may be, too.
unsafe impl Send for Tensor {}
// SAFETY: as above; a shared reference only allows reading.
unsafe impl Sync for Tensor {}

impl Tensor {
    /// Takes ownership of a tensor.
    ///
    /// ```
    /// use numelt::dlpack::Tensor;
    /// let raw = numelt::arange(3).to_dlpack().unwrap().into_raw();
    /// // SAFETY: this is the tensor that `into_raw` has just returned.
    /// let tensor = unsafe { Tensor::from_raw(raw) };
    /// # drop(tensor);
    /// ```
    ///
    /// # Safety
    /// The tensor is valid as DLPack says. Nobody else releases it. Its elements stay valid until it is released, which
    /// may happen on any thread. While an array uses the elements, nobody else writes them, or reads what the array
    /// writes, at the same time.
    pub unsafe fn from_raw(tensor: NonNull<ManagedTensor>) -> Tensor {
        Tensor(tensor)
    }

    /// Gives up ownership of the tensor, to somebody who releases it.
    ///
    /// ```
    /// use numelt::dlpack::Tensor;
    /// let raw = numelt::arange(3).to_dlpack().unwrap().into_raw();
    /// // SAFETY: the tensor is valid until it is released, which is done here.
    /// unsafe {
    ///     assert_eq!(raw.as_ref().tensor.ndim, 1);
    ///     drop(Tensor::from_raw(raw));
    /// }
    /// ```
    pub fn into_raw(self) -> NonNull<ManagedTensor> {
        std::mem::ManuallyDrop::new(self).0
    }

    fn get(&self) -> &ManagedTensor {
        // SAFETY: the tensor is valid until it is given back, which dropping this does.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        if let Some(deleter) = self.get().deleter {
            // SAFETY: the tensor is this one's to give back, once.
            unsafe { deleter(self.0.as_ptr()) };
        }
    }
}

/// The owner of a tensor of numelt.
struct Owner {
    tensor: ManagedTensor,
    array: AnyArray,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _export: Option<Export>,
}

/// Releases a tensor of numelt.
unsafe extern "C" fn take_back(tensor: *mut ManagedTensor) {
    // SAFETY: whoever calls this got the tensor from `to_dlpack`, and calls it once; the owner is where it says.
    drop(unsafe { Box::from_raw((*tensor).manager.cast::<Owner>()) });
}

impl AnyArray {
    /// The array as a tensor of DLPack, without a copy. As long as the tensor lives, operations that touch the array's
    /// memory run at once, so that its users see what the operations write.
    ///
    /// ```
    /// let x = numelt::arange(6).reshape(&[2, 3]).unwrap();
    /// let tensor = x.to_dlpack().unwrap();
    /// assert!(numelt::AnyArray::from_dlpack(tensor).unwrap().shares_memory(&x));
    /// ```
    ///
    /// # Errors
    /// If there is not enough memory; if strides are not multiples of the element size; if this thread is writing to
    /// the values.
    pub fn to_dlpack(&self) -> Result<Tensor, Error> {
        let (view, size) = (self.view(), self.itemsize());
        if view.strides.iter().any(|stride| stride % size != 0) {
            return Err(Error::Value("the strides are not multiples of the element size".into()));
        }
        let export = if self.is_empty() { None } else { Some(runtime().export(&view.base)?) };
        // the export's address is that of the base, inside which the view lies
        let data = export.as_ref().map_or(null_mut(), |export| export.ptr().wrapping_offset(view.offset as isize));
        let tensor = ManagedTensor {
            version: [1, 0],
            manager: null_mut(),
            deleter: Some(take_back),
            flags: if self.is_writeable() { 0 } else { READ_ONLY },
            tensor: RawTensor {
                data: data.cast(),
                device: [1, 0],
                ndim: self.ndim() as i32,
                dtype: type_of(view.dtype),
                lanes: 1,
                shape: null_mut(),
                strides: null_mut(),
                byte_offset: 0,
            },
        };
        let (shape, strides) = (view.shape.to_vec(), view.strides.iter().map(|stride| stride / size).collect());
        let owner = Box::into_raw(Box::new(Owner { tensor, array: self.clone(), shape, strides, _export: export }));
        // SAFETY: the owner has just been allocated, and nobody else knows it. Its vectors stay where they are.
        unsafe {
            (*owner).tensor.manager = owner.cast();
            (*owner).tensor.tensor.shape = (*owner).shape.as_mut_ptr();
            (*owner).tensor.tensor.strides = (*owner).strides.as_mut_ptr();
            Ok(Tensor(NonNull::new_unchecked(&raw mut (*owner).tensor)))
        }
    }

    /// The elements of a tensor as an array, without a copy. If the tensor was made of a numelt array, the result is
    /// that array.
    ///
    /// ```
    /// let tensor = numelt::arange(3).to_dlpack().unwrap();
    /// assert_eq!(numelt::AnyArray::from_dlpack(tensor).unwrap().to_vec::<i64>(), [0, 1, 2]);
    /// ```
    ///
    /// # Errors
    /// If the version of DLPack is newer; if the elements are on a device, of an unsupported type, or not aligned.
    pub fn from_dlpack(tensor: Tensor) -> Result<AnyArray, Error> {
        let managed = tensor.get();
        if managed.deleter.is_some_and(|deleter| std::ptr::fn_addr_eq(deleter, take_back as unsafe extern "C" fn(_))) {
            // SAFETY: a tensor with this deleter was made by `to_dlpack`, and has its owner until it is given back.
            return Ok(unsafe { &*managed.manager.cast::<Owner>() }.array.clone());
        }
        if managed.version[0] != 1 {
            return Err(refused("of another major version than 1"));
        }
        let raw = &managed.tensor;
        if raw.device[0] != 1 {
            return Err(refused("that is not on the host"));
        }
        // SAFETY: the tensor is valid.
        let Layout { dtype, shape, strides } = unsafe { raw.layout() }?;
        let size = dtype.size() as i64;
        let writeable = managed.flags & READ_ONLY == 0;
        let first = raw.data.cast::<u8>().wrapping_add(raw.byte_offset as usize);
        let Some((low, high)) = shape::byte_range(&shape, &strides, size) else {
            return Ok(AnyArray::new(shape::whole(runtime().new_base(0), dtype, &shape)));
        };
        if !first.addr().is_multiple_of(dtype.align()) {
            return Err(refused("whose elements are not aligned"));
        }
        let start = first.wrapping_offset(low as isize);
        // SAFETY: these are the bytes of the tensor's elements, which stay until it is given back, when the base is
        // dropped; its contract lets arrays write them unless it is read-only, which the array is then, too.
        let base = unsafe { runtime().adopt(start, (high - low) as usize, Box::new(tensor), true) };
        let array = AnyArray::new(ArrayView { base, dtype, offset: -low, shape, strides });
        Ok(if writeable { array } else { array.read_only() })
    }
}

fn dtype_of(raw: &RawTensor) -> Option<DType> {
    let same = |dtype: &DType| raw.lanes == 1 && raw.dtype == type_of(*dtype);
    DType::ALL.into_iter().find(same)
}
