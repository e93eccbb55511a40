//! Arrays whose dtype is known at run time.

use super::array::Array;
use super::element::Element;
use super::memory::{self, Guarded, GuardedMut};
use super::recorder::{Recorder, runtime};
use crate::error::Error;
use crate::front::Front;
use crate::rules::names::numpy_name;
use crate::rules::shape::{self, Order};
use numelt_ir::{DType, Dims, Scalar};
use numelt_runtime::ArrayView;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// An n-dimensional array of elements of one dtype, which is known at run time.
///
/// Operations are recorded, and computed when values are requested. Several arrays may share memory: a
/// [`clone`](Clone::clone) is the same array under another name, as `b = a` is in Python; a slice is a view of the
/// array's memory; and [`AnyArray::copy`] makes memory of its own. Arrays can be sent to other threads and shared among
/// them.
///
/// ```
/// use numelt::{AnyArray, DType, s};
/// let x = AnyArray::from(vec![1.0, 2.0, 3.0, 4.0]);
/// let y = &x * 2 + 1;
/// assert_eq!((y.dtype(), y.shape()), (DType::F64, &[4][..]));
/// y.slice(s![1..3]).assign(0.5).unwrap();
/// assert_eq!(y.to_vec::<f64>(), [3.0, 0.5, 0.5, 9.0]);
/// ```
#[derive(Clone)]
pub struct AnyArray {
    view: ArrayView,
    writeable: bool,
}

impl AnyArray {
    pub(crate) fn new(view: ArrayView) -> AnyArray {
        AnyArray { view, writeable: true }
    }

    /// Another view of the same memory.
    pub(crate) fn window(&self, view: ArrayView) -> AnyArray {
        AnyArray { view, writeable: self.writeable }
    }

    pub(crate) fn read_only(mut self) -> AnyArray {
        self.writeable = false;
        self
    }

    pub(crate) fn view(&self) -> &ArrayView {
        &self.view
    }

    /// Whether elements may be written. Those of [`broadcast_to`](AnyArray::broadcast_to) may not.
    ///
    /// ```
    /// let x = numelt::zeros(&[3]);
    /// assert!(x.is_writeable() && !x.broadcast_to(&[2, 3]).unwrap().is_writeable());
    /// ```
    pub fn is_writeable(&self) -> bool {
        self.writeable
    }

    /// An array with these elements and a shape. The memory of a large vector is used without a copy.
    ///
    /// ```
    /// use numelt::AnyArray;
    /// let x = AnyArray::from_shape_vec(&[2, 3], vec![1, 2, 3, 4, 5, 6]).unwrap();
    /// assert_eq!(x.get(&[1, 0]).unwrap(), numelt::Scalar::I32(4));
    /// assert!(AnyArray::from_shape_vec(&[4], vec![1, 2]).is_err());
    /// ```
    ///
    /// # Errors
    /// If the number of elements is not that of the shape; if there is not enough memory.
    pub fn from_shape_vec<T: Element>(shape: &[usize], elements: Vec<T>) -> Result<AnyArray, Error> {
        let dims = dims(shape);
        if shape.iter().try_fold(1usize, |a, &n| a.checked_mul(n)) != Some(elements.len()) {
            let text =
                format!("cannot reshape array of size {} into shape {}", elements.len(), crate::shape_text(&dims));
            return Err(Error::Value(text));
        }
        if dims.len() > numelt_ir::MAX_RANK {
            return Err(Error::TooManyAxes(dims.len()));
        }
        let base = match size_of_val(&elements[..]) {
            COPIED.. => memory::adopted(elements),
            _ => runtime().filled(memory::bytes_of(&elements))?,
        };
        Ok(AnyArray::new(shape::whole(base, T::DTYPE, &dims)))
    }

    /// The dtype of the elements.
    ///
    /// ```
    /// assert_eq!(numelt::arange(3).dtype(), numelt::DType::I64);
    /// ```
    pub fn dtype(&self) -> DType {
        self.view.dtype
    }

    /// The extents, one for each axis.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3]).shape(), &[2, 3]);
    /// ```
    pub fn shape(&self) -> &[i64] {
        &self.view.shape
    }

    /// Bytes from one element to the next, for each axis.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3]).strides(), &[24, 8]);
    /// ```
    pub fn strides(&self) -> &[i64] {
        &self.view.strides
    }

    /// Number of axes.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3]).ndim(), 2);
    /// ```
    pub fn ndim(&self) -> usize {
        self.view.shape.len()
    }

    /// Number of elements.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3]).size(), 6);
    /// ```
    pub fn size(&self) -> usize {
        self.view.size() as usize
    }

    /// The number of elements along the first axis; one for an array without axes.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3]).len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.view.shape.first().map_or(1, |&n| n as usize)
    }

    /// Whether the array has no elements.
    ///
    /// ```
    /// assert!(numelt::zeros(&[0, 3]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.view.size() == 0
    }

    /// Whether both arrays may have elements in the same memory. Arrays on the same base count.
    ///
    /// ```
    /// let x = numelt::zeros(&[4]);
    /// assert!(x.shares_memory(&x.flip(0).unwrap()) && !x.shares_memory(&x.copy()));
    /// ```
    pub fn shares_memory(&self, other: &AnyArray) -> bool {
        self.view.base.ptr_eq(&other.view.base)
    }

    /// Whether the elements are contiguous and in C order.
    ///
    /// ```
    /// let x = numelt::zeros(&[2, 3]);
    /// assert!(x.is_c_contiguous() && !x.transpose().is_c_contiguous());
    /// ```
    pub fn is_c_contiguous(&self) -> bool {
        shape::is_c_contiguous(&self.view.shape, &self.view.strides, self.itemsize())
    }

    pub(crate) fn itemsize(&self) -> i64 {
        self.view.dtype.size() as i64
    }

    /// A copy with memory of its own.
    ///
    /// ```
    /// let x = numelt::zeros(&[2]);
    /// let y = x.copy();
    /// y.fill(1.0);
    /// assert_eq!(x.to_vec::<f64>(), [0.0, 0.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn copy(&self) -> AnyArray {
        done(self.try_astype(self.dtype()))
    }

    /// A copy with the elements converted to a dtype, even if that loses information.
    ///
    /// ```
    /// use numelt::{AnyArray, DType};
    /// assert_eq!(AnyArray::from(vec![1.7, -1.7]).astype(DType::I32).to_vec::<i32>(), [1, -1]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn astype(&self, dtype: DType) -> AnyArray {
        done(self.try_astype(dtype))
    }

    /// [`AnyArray::astype`], which returns errors instead of panicking.
    ///
    /// ```
    /// assert!(numelt::zeros(&[2]).try_astype(numelt::DType::C64).is_ok());
    /// ```
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn try_astype(&self, dtype: DType) -> Result<AnyArray, Error> {
        Recorder.copied(&self.view, dtype, Order::K).map(AnyArray::new)
    }

    /// The array with its dtype in its type, sharing memory.
    ///
    /// ```
    /// let x = numelt::arange(3).typed::<i64>().unwrap();
    /// assert_eq!(x.to_vec(), [0, 1, 2]);
    /// assert!(numelt::arange(3).typed::<f64>().is_err());
    /// ```
    ///
    /// # Errors
    /// If the dtype is another one.
    pub fn typed<T: Element>(&self) -> Result<Array<T>, Error> {
        Array::try_from(self.clone())
    }

    /// The elements in C order, after everything on which they depend has been computed.
    ///
    /// ```
    /// assert_eq!((numelt::arange(3) * 2).to_vec::<i64>(), [0, 2, 4]);
    /// ```
    ///
    /// # Panics
    /// If the elements have another dtype, and if [`AnyArray::read`] returns an error.
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        done(self.read::<T>()).to_vec()
    }

    /// The elements as scalars, in C order.
    ///
    /// ```
    /// use numelt::Scalar;
    /// assert_eq!(numelt::arange(2).to_scalars().unwrap(), [Scalar::I64(0), Scalar::I64(1)]);
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::read`].
    pub fn to_scalars(&self) -> Result<Vec<Scalar>, Error> {
        let dense = self.dense()?;
        let (dtype, range) = (self.dtype(), shape::dense_range(&dense.view).unwrap_or_default());
        Recorder.look(&dense.view.base, |bytes| {
            bytes[range].chunks_exact(dtype.size()).map(|element| Scalar::from_bytes(dtype, element)).collect()
        })
    }

    /// The element of an array that has exactly one.
    ///
    /// ```
    /// assert_eq!(numelt::arange(5).sum().item::<i64>(), 10);
    /// ```
    ///
    /// # Panics
    /// If the number of elements or the dtype is another one, or if the value cannot be computed.
    pub fn item<T: Element>(&self) -> T {
        let scalar = done(self.try_item());
        T::from_scalar(scalar).unwrap_or_else(|| panic!("{}", wrong_dtype(self.dtype(), T::DTYPE)))
    }

    /// The element of an array that has exactly one, as a scalar.
    ///
    /// ```
    /// assert_eq!(numelt::arange(5).max().try_item().unwrap(), numelt::Scalar::I64(4));
    /// ```
    ///
    /// # Errors
    /// If the number of elements is another one, or if the value cannot be computed.
    pub fn try_item(&self) -> Result<Scalar, Error> {
        if self.size() != 1 {
            return Err(Error::Value("can only convert an array of size 1 to a Python scalar".into()));
        }
        Recorder.read_scalar(&self.view.base, self.dtype(), self.view.offset)
    }

    /// Read access to the elements in C order, as a slice, for as long as the result lives; without a copy if the array
    /// is in C order. The elements do not change meanwhile: operations that would write them wait.
    ///
    /// ```
    /// let x = numelt::arange(4);
    /// let values = x.read::<i64>().unwrap();
    /// assert_eq!(values.iter().sum::<i64>(), 6);
    /// ```
    ///
    /// # Errors
    /// If the dtype is another one; if there is not enough memory; if this thread has write access by
    /// [`AnyArray::write`].
    pub fn read<T: Element>(&self) -> Result<Values<'_, T>, Error> {
        if T::DTYPE != self.dtype() {
            return Err(wrong_dtype(self.dtype(), T::DTYPE));
        }
        let Some(range) = shape::dense_range(&self.view) else {
            return self.dense()?.read().map(|values| Values { held: Held::Copied(values.to_vec()) });
        };
        if range.is_empty() {
            return Ok(Values { held: Held::Copied(Vec::new()) });
        }
        let guard = runtime().read(&self.view.base)?;
        let held = Guarded::new(guard, range.clone()).map(Held::Guarded).unwrap_or_else(|guard| {
            // elements in memory of another library may be unaligned, and have any bits
            let elements = guard.bytes()[range].chunks_exact(T::DTYPE.size());
            let read = |element| T::from_scalar(Scalar::from_bytes(T::DTYPE, element)).unwrap_or_default();
            Held::Copied(elements.map(read).collect())
        });
        Ok(Values { held })
    }

    /// Write access to the elements of an array in C order, as a slice, for as long as the result lives. Nobody else
    /// reads or writes them meanwhile; other threads wait.
    ///
    /// ```
    /// let x = numelt::arange(3);
    /// x.write::<i64>().unwrap()[1] = 10;
    /// assert_eq!(x.to_vec::<i64>(), [0, 10, 2]);
    /// ```
    ///
    /// # Errors
    /// If the dtype is another one; if the array is read-only or not in C order; if there is not enough memory; if this
    /// thread already has access to the values.
    pub fn write<T: Element>(&self) -> Result<ValuesMut<'_, T>, Error> {
        if T::DTYPE != self.dtype() {
            return Err(wrong_dtype(self.dtype(), T::DTYPE));
        }
        if !self.writeable {
            return Err(Error::ReadOnlyAssignment);
        }
        let Some(range) = shape::dense_range(&self.view) else {
            return Err(Error::Value("ndarray is not C-contiguous".into()));
        };
        let held = GuardedMut::new(runtime().write(&self.view.base)?, range);
        let no_elements = || Error::Value(format!("the memory holds no aligned {} elements", numpy_name(T::DTYPE)));
        held.map(|held| ValuesMut { held }).ok_or_else(no_elements)
    }

    /// The range of bytes that a view with elements touches.
    #[cfg(feature = "ndarray")]
    pub(crate) fn span(&self) -> Option<std::ops::Range<usize>> {
        let (low, high) = shape::byte_range(&self.view.shape, &self.view.strides, self.itemsize())?;
        Some((self.view.offset + low) as usize..(self.view.offset + high) as usize)
    }

    /// The array itself if it is in C order, otherwise a copy that is.
    pub(crate) fn dense(&self) -> Result<AnyArray, Error> {
        if self.is_c_contiguous() {
            return Ok(self.clone());
        }
        Recorder.copied(&self.view, self.dtype(), Order::C).map(AnyArray::new)
    }
}

/// The memory of vectors of at least this many bytes is used without a copy. For smaller ones, a copy costs less.
const COPIED: usize = 1 << 16;

/// The extents of a shape.
pub(crate) fn dims(shape: &[usize]) -> Dims {
    shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect()
}

/// The result of an operation.
///
/// # Panics
/// With the message of the error, if there is one.
#[track_caller]
pub(crate) fn done<T>(result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn wrong_dtype(own: DType, asked: DType) -> Error {
    Error::Type(format!("an array of {} has no elements of {}", numpy_name(own), numpy_name(asked)))
}

/// Read access to the elements of an array; see [`AnyArray::read`].
///
/// ```
/// let x = numelt::linspace(0.0, 1.0, 5);
/// let values = x.read::<f64>().unwrap();
/// assert_eq!(values[4], 1.0);
/// ```
#[derive(Debug)]
pub struct Values<'a, T> {
    held: Held<'a, T>,
}

#[derive(Debug)]
enum Held<'a, T> {
    Guarded(Guarded<'a, T>),
    Copied(Vec<T>),
}

impl<T: Element> Deref for Values<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.held {
            Held::Guarded(guarded) => guarded.elements(),
            Held::Copied(elements) => elements,
        }
    }
}

/// Write access to the elements of an array; see [`AnyArray::write`].
///
/// ```
/// let x = numelt::zeros(&[3]);
/// x.write::<f64>().unwrap().fill(2.0);
/// assert_eq!(x.sum().item::<f64>(), 6.0);
/// ```
#[derive(Debug)]
pub struct ValuesMut<'a, T> {
    held: GuardedMut<'a, T>,
}

impl<T: Element> Deref for ValuesMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.held.elements()
    }
}

impl<T: Element> DerefMut for ValuesMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.held.elements_mut()
    }
}

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 64;
        write!(f, "array of {} {}", numpy_name(self.dtype()), crate::shape_text(self.shape()))?;
        if self.size() > SHOWN {
            return Ok(());
        }
        match self.to_scalars() {
            Ok(values) => write!(f, " {values:?}"),
            Err(error) => write!(f, " ({error})"),
        }
    }
}

impl<T: Element> From<Vec<T>> for AnyArray {
    fn from(elements: Vec<T>) -> AnyArray {
        let length = elements.len();
        done(AnyArray::from_shape_vec(&[length], elements))
    }
}
