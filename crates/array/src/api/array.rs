//! Arrays whose dtype is part of their type.

use super::any_array::{AnyArray, Values, ValuesMut, done, wrong_dtype};
use super::element::Element;
use crate::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// An [`AnyArray`] with its dtype in its type. Operators return the type that NumPy's rules determine. Every other
/// method is one of [`AnyArray`], to which this derefs; [`AnyArray::typed`] converts back.
///
/// ```
/// use numelt::Array;
/// let x: Array<i32> = Array::from([1, 2, 3]);
/// let y: Array<f64> = &x / 2;
/// assert_eq!(y.to_vec(), [0.5, 1.0, 1.5]);
/// let z: Array<i64> = x.sum();
/// assert_eq!(z.item(), 6);
/// ```
pub struct Array<T> {
    any: AnyArray,
    _element: PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// # Panics
    /// If the array has another dtype, which would mean that the types of this crate contradict the rules.
    #[track_caller]
    pub(crate) fn of(any: AnyArray) -> Array<T> {
        assert_eq!(any.dtype(), T::DTYPE, "the dtype of a result");
        Array { any, _element: PhantomData }
    }

    /// An array with these elements and a shape.
    ///
    /// ```
    /// let x = numelt::Array::from_shape_vec(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    /// assert_eq!(x.at(&[1, 1]), 4.0);
    /// ```
    ///
    /// # Errors
    /// If the number of elements is not that of the shape; if there is not enough memory.
    pub fn from_shape_vec(shape: &[usize], elements: Vec<T>) -> Result<Array<T>, Error> {
        AnyArray::from_shape_vec(shape, elements).map(Array::of)
    }

    /// The array without its dtype in its type.
    ///
    /// ```
    /// let x = numelt::Array::from([1u8, 2]);
    /// assert_eq!(x.as_any().dtype(), numelt::DType::U8);
    /// ```
    pub fn as_any(&self) -> &AnyArray {
        &self.any
    }

    /// The elements in C order, after everything on which they depend has been computed.
    ///
    /// ```
    /// assert_eq!((numelt::Array::from([1, 2]) + 1).to_vec(), [2, 3]);
    /// ```
    ///
    /// # Panics
    /// If [`Array::read`] returns an error.
    pub fn to_vec(&self) -> Vec<T> {
        self.any.to_vec()
    }

    /// The element of an array that has exactly one.
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([1.5, 2.5]).max().item(), 2.5);
    /// ```
    ///
    /// # Panics
    /// If the number of elements is another one, or if the value cannot be computed.
    pub fn item(&self) -> T {
        self.any.item()
    }

    /// The element at an index; negative ones count from the end.
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([[1, 2], [3, 4]]).at(&[0, -1]), 2);
    /// ```
    ///
    /// # Panics
    /// If [`AnyArray::get`] returns an error.
    pub fn at(&self, index: &[i64]) -> T {
        let scalar = done(self.any.get(index));
        T::from_scalar(scalar).unwrap_or_default()
    }

    /// Read access to the elements in C order; see [`AnyArray::read`].
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([1, 2, 3]).read().unwrap().len(), 3);
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::read`].
    pub fn read(&self) -> Result<Values<'_, T>, Error> {
        self.any.read()
    }

    /// Write access to the elements of an array in C order; see [`AnyArray::write`].
    ///
    /// ```
    /// let x = numelt::Array::from([1, 2, 3]);
    /// x.write().unwrap().reverse();
    /// assert_eq!(x.to_vec(), [3, 2, 1]);
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::write`].
    pub fn write(&self) -> Result<ValuesMut<'_, T>, Error> {
        self.any.write()
    }

    /// A copy with the elements converted to another type, even if that loses information.
    ///
    /// ```
    /// let x = numelt::Array::from([1.7, 2.2]).cast::<i64>();
    /// assert_eq!(x.to_vec(), [1, 2]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn cast<U: Element>(&self) -> Array<U> {
        Array::of(self.any.astype(U::DTYPE))
    }

    /// A copy with memory of its own.
    ///
    /// ```
    /// let x = numelt::Array::from([1, 2]);
    /// assert!(!x.shares_memory(&x.copy()));
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn copy(&self) -> Array<T> {
        self.cast()
    }
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Array<T> {
        Array { any: self.any.clone(), _element: PhantomData }
    }
}

impl<T> Deref for Array<T> {
    type Target = AnyArray;

    fn deref(&self) -> &AnyArray {
        &self.any
    }
}

impl<T: Element> TryFrom<AnyArray> for Array<T> {
    type Error = Error;

    fn try_from(any: AnyArray) -> Result<Array<T>, Error> {
        if any.dtype() == T::DTYPE { Ok(Array::of(any)) } else { Err(wrong_dtype(any.dtype(), T::DTYPE)) }
    }
}

impl<T> From<Array<T>> for AnyArray {
    fn from(array: Array<T>) -> AnyArray {
        array.any
    }
}

impl<T: Element> From<Vec<T>> for Array<T> {
    fn from(elements: Vec<T>) -> Array<T> {
        Array::of(AnyArray::from(elements))
    }
}

impl<T: Element> From<&[T]> for Array<T> {
    fn from(elements: &[T]) -> Array<T> {
        Array::from(elements.to_vec())
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Array<T> {
    fn from(elements: [T; N]) -> Array<T> {
        Array::from(elements.to_vec())
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Array<T> {
    fn from(rows: [[T; M]; N]) -> Array<T> {
        done(Array::from_shape_vec(&[N, M], rows.into_iter().flatten().collect()))
    }
}

impl<T: Element, const N: usize, const M: usize, const K: usize> From<[[[T; K]; M]; N]> for Array<T> {
    fn from(blocks: [[[T; K]; M]; N]) -> Array<T> {
        done(Array::from_shape_vec(&[N, M, K], blocks.into_iter().flatten().flatten().collect()))
    }
}

impl<T: Element> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Array<T> {
        Array::from(elements.into_iter().collect::<Vec<T>>())
    }
}

impl<T: Element> IntoIterator for &Array<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.to_vec().into_iter()
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}
