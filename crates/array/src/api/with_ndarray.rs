//! Conversion from arrays of the crate `ndarray`, and `ndarray` views of numelt's arrays, without a copy.

use super::any_array::{AnyArray, done};
use super::array::Array;
use super::element::Element;
use super::memory::{Guarded, GuardedMut, adopted};
use super::recorder::runtime;
use crate::error::Error;
use crate::rules::shape;
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder, StrideShape};
use numelt_ir::Dims;
use numelt_runtime::ArrayView;

impl<T: Element, D: Dimension> From<ndarray::Array<T, D>> for Array<T> {
    /// Takes over the memory; the elements keep their layout.
    fn from(array: ndarray::Array<T, D>) -> Array<T> {
        let size = size_of::<T>() as i64;
        let shape: Dims = array.shape().iter().map(|&n| n as i64).collect();
        let strides: Dims = array.strides().iter().map(|&stride| stride as i64 * size).collect();
        let (elements, first) = array.into_raw_vec_and_offset();
        let view = match first {
            Some(first) => {
                ArrayView { base: adopted(elements), dtype: T::DTYPE, offset: first as i64 * size, shape, strides }
            }
            None => shape::whole(runtime().new_base(0), T::DTYPE, &shape),
        };
        Array::of(AnyArray::new(view))
    }
}

impl<T: Element> From<&Array<T>> for ArrayD<T> {
    /// A copy.
    fn from(array: &Array<T>) -> ArrayD<T> {
        done(array.nd()).view().to_owned()
    }
}

impl<T: Element> Array<T> {
    /// Read access to the elements as a view of `ndarray`, without a copy, for as long as the result lives; see
    /// [`AnyArray::read`].
    ///
    /// ```
    /// let x = numelt::Array::from([[1, 2], [3, 4]]);
    /// let turned = x.transpose();
    /// let values = turned.nd().unwrap();
    /// assert_eq!(values.view(), ndarray::array![[1, 3], [2, 4]].into_dyn());
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::read`], and if the memory does not hold aligned elements.
    pub fn nd(&self) -> Result<NdValues<'_, T>, Error> {
        let Some(range) = self.span() else { return Ok(NdValues { array: self, elements: None }) };
        let guard = runtime().read(&self.view().base)?;
        let elements = Guarded::new(guard, range).map_err(|_| unaligned::<T>())?;
        Ok(NdValues { array: self, elements: Some(elements) })
    }

    /// Write access to the elements as a view of `ndarray`, without a copy, for as long as the result lives; see
    /// [`AnyArray::write`].
    ///
    /// ```
    /// let x = numelt::Array::from([[1, 2], [3, 4]]);
    /// x.transpose().nd_mut().unwrap().view_mut()[[0, 1]] = 7;
    /// assert_eq!(x.to_vec(), [1, 2, 7, 4]);
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::write`], except that the array may have any layout; and if the array overlaps itself, or
    /// that is unknown.
    pub fn nd_mut(&self) -> Result<NdValuesMut<'_, T>, Error> {
        if !self.is_writeable() {
            return Err(Error::ReadOnlyAssignment);
        }
        if !self.view().is_injective() {
            return Err(Error::Value("two indices of the array share memory".into()));
        }
        let Some(range) = self.span() else { return Ok(NdValuesMut { array: self, elements: None }) };
        let guard = runtime().write(&self.view().base)?;
        let elements = GuardedMut::new(guard, range).ok_or_else(unaligned::<T>)?;
        Ok(NdValuesMut { array: self, elements: Some(elements) })
    }
}

fn unaligned<T: Element>() -> Error {
    Error::Value(format!("the memory holds no aligned {} elements", T::DTYPE.name()))
}

/// The shape with strides in elements, all of them positive, and the axes that must be reversed.
fn layout<T: Element>(view: &ArrayView) -> (StrideShape<IxDyn>, impl Iterator<Item = usize> + '_) {
    let size = size_of::<T>() as u64;
    let shape: Vec<usize> = view.shape.iter().map(|&n| n as usize).collect();
    // along an axis of one element there are no steps
    let stride = |(&n, &stride): (&i64, &i64)| if n > 1 { (stride.unsigned_abs() / size) as usize } else { 1 };
    let strides: Vec<usize> = view.shape.iter().zip(&view.strides).map(stride).collect();
    let backwards = (0..shape.len()).filter(|&axis| view.shape[axis] > 1 && view.strides[axis] < 0);
    (IxDyn(&shape).strides(IxDyn(&strides)), backwards)
}

/// Read access to the elements of an array with `ndarray`; see [`Array::nd`].
///
/// ```
/// let x = numelt::Array::from([1.0, 2.0]);
/// assert_eq!(x.nd().unwrap().view().sum(), 3.0);
/// ```
#[derive(Debug)]
pub struct NdValues<'a, T> {
    array: &'a AnyArray,
    elements: Option<Guarded<'a, T>>,
}

impl<T: Element> NdValues<'_, T> {
    /// The view.
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([1, 2]).nd().unwrap().view().shape(), &[2]);
    /// ```
    pub fn view(&self) -> ArrayViewD<'_, T> {
        let view = self.array.view();
        let shape: Vec<usize> = view.shape.iter().map(|&n| n as usize).collect();
        let Some(elements) = &self.elements else {
            return ArrayViewD::from_shape(shape, &[]).expect("a window without elements");
        };
        let (layout, backwards) = layout::<T>(view);
        let mut made =
            ArrayViewD::from_shape(layout, elements.elements()).expect("the elements that the window touches");
        backwards.for_each(|axis| made.invert_axis(Axis(axis)));
        made
    }
}

/// Write access to the elements of an array with `ndarray`; see [`Array::nd_mut`].
///
/// ```
/// let x = numelt::Array::from([1.0, 2.0]);
/// x.nd_mut().unwrap().view_mut().fill(3.0);
/// assert_eq!(x.to_vec(), [3.0, 3.0]);
/// ```
#[derive(Debug)]
pub struct NdValuesMut<'a, T> {
    array: &'a AnyArray,
    elements: Option<GuardedMut<'a, T>>,
}

impl<T: Element> NdValuesMut<'_, T> {
    /// The view.
    ///
    /// ```
    /// let x = numelt::Array::from([1, 2]);
    /// x.nd_mut().unwrap().view_mut()[1] = 5;
    /// assert_eq!(x.to_vec(), [1, 5]);
    /// ```
    pub fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let view = self.array.view();
        let shape: Vec<usize> = view.shape.iter().map(|&n| n as usize).collect();
        let Some(elements) = &mut self.elements else {
            return ArrayViewMutD::from_shape(shape, &mut []).expect("a window without elements");
        };
        let (layout, backwards) = layout::<T>(view);
        let mut made = ArrayViewMutD::from_shape(layout, elements.elements_mut()).expect("elements that are apart");
        backwards.for_each(|axis| made.invert_axis(Axis(axis)));
        made
    }
}
