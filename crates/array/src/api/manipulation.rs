//! Changing the shape and order of arrays, joining and splitting them.

use super::any_array::{AnyArray, dims, done};
use super::array::Array;
use super::element::Element;
use super::recorder::Recorder;
use crate::error::Error;
use crate::front::Front;
use crate::joining;
use crate::reductions::flatten;
use crate::rules::axes;
use crate::rules::shape::{self, Order};
use crate::rules::slicing::Part;
use numelt_ir::DType;
use numelt_runtime::ArrayView;

impl AnyArray {
    /// The same elements, in C order, with another shape. One extent may be -1, and is then computed from the others.
    /// The result is a view if the layout of the elements allows it, otherwise a copy.
    ///
    /// ```
    /// let x = numelt::arange(6).reshape(&[2, -1]).unwrap();
    /// assert_eq!(x.shape(), &[2, 3]);
    /// assert!(x.reshape(&[4]).is_err());
    /// ```
    ///
    /// # Errors
    /// If the number of elements is another one.
    pub fn reshape(&self, shape: &[i64]) -> Result<AnyArray, Error> {
        let extents = axes::extents(shape, self.view().size())?;
        if let Some(view) = shape::reshaped(self.view(), &extents, false) {
            return Ok(self.window(view));
        }
        let dense = Recorder.copied(self.view(), self.dtype(), Order::C)?;
        Ok(AnyArray::new(shape::whole(dense.base, dense.dtype, &extents)))
    }

    /// The elements in C order along one axis: a view if they are contiguous, otherwise a copy.
    ///
    /// ```
    /// assert_eq!(numelt::eye(2).ravel().to_vec::<f64>(), [1.0, 0.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn ravel(&self) -> AnyArray {
        self.window(done(flatten(&Recorder, self.view())))
    }

    /// A view with the axes in the opposite order.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3, 4]).transpose().shape(), &[4, 3, 2]);
    /// ```
    pub fn transpose(&self) -> AnyArray {
        let order: axes::AxisList = (0..self.ndim()).rev().collect();
        self.window(axes::permuted(self.view(), &order))
    }

    /// A view with the axes in another order.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3, 4]).permute_dims(&[1, 2, 0]).unwrap().shape(), &[3, 4, 2]);
    /// ```
    ///
    /// # Errors
    /// If `order` does not have each axis once.
    pub fn permute_dims(&self, order: &[i64]) -> Result<AnyArray, Error> {
        let order = axes::permutation(order, self.ndim())?;
        Ok(self.window(axes::permuted(self.view(), &order)))
    }

    /// A view with the last two axes exchanged.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3, 4]).matrix_transpose().unwrap().shape(), &[2, 4, 3]);
    /// ```
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn matrix_transpose(&self) -> Result<AnyArray, Error> {
        if self.ndim() < 2 {
            let text = format!("Input array must be at least 2-dimensional, but it is {}", self.ndim());
            return Err(Error::Value(text));
        }
        self.moveaxis(&[-1], &[-2])
    }

    /// A view with axes moved to other positions; the others keep their order.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[2, 3, 4]).moveaxis(&[0], &[-1]).unwrap().shape(), &[3, 4, 2]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis; if one is named twice; if the number of positions is not that of axes.
    pub fn moveaxis(&self, from: &[i64], to: &[i64]) -> Result<AnyArray, Error> {
        let order = axes::moved(from, to, self.ndim())?;
        Ok(self.window(axes::permuted(self.view(), &order)))
    }

    /// A view with one additional axis of extent one.
    ///
    /// ```
    /// assert_eq!(numelt::zeros(&[3]).expand_dims(-1).unwrap().shape(), &[3, 1]);
    /// ```
    ///
    /// # Errors
    /// If there is no such position.
    pub fn expand_dims(&self, axis: i64) -> Result<AnyArray, Error> {
        axes::expanded(self.view(), axis).map(|view| self.window(view))
    }

    /// A view without axes of extent one: those that are named, or all.
    ///
    /// ```
    /// let x = numelt::zeros(&[1, 3, 1]);
    /// assert_eq!(x.squeeze(None).unwrap().shape(), &[3]);
    /// assert_eq!(x.squeeze(Some(&[0])).unwrap().shape(), &[3, 1]);
    /// assert!(x.squeeze(Some(&[1])).is_err());
    /// ```
    ///
    /// # Errors
    /// If there is no such axis; if one has another extent; if one is named twice.
    pub fn squeeze(&self, axes: Option<&[i64]>) -> Result<AnyArray, Error> {
        axes::squeezed(self.view(), axes).map(|view| self.window(view))
    }

    /// A view with an axis reversed.
    ///
    /// ```
    /// assert_eq!(numelt::arange(3).flip(0).unwrap().to_vec::<i64>(), [2, 1, 0]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn flip(&self, axis: i64) -> Result<AnyArray, Error> {
        let axis = self.axis(axis)?;
        Ok(self.window(axes::flipped(self.view(), [axis])))
    }

    /// A read-only view that is broadcast to a shape: axes of extent one repeat their element.
    ///
    /// ```
    /// assert_eq!(numelt::arange(2).broadcast_to(&[2, 2]).unwrap().to_vec::<i64>(), [0, 1, 0, 1]);
    /// ```
    ///
    /// # Errors
    /// If the array does not broadcast to the shape.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<AnyArray, Error> {
        axes::broadcast_to(self.view(), &dims(shape)).map(|view| self.window(view).read_only())
    }

    /// The elements moved along an axis; those that leave one end enter at the other. Without an axis, all elements in
    /// C order.
    ///
    /// ```
    /// assert_eq!(numelt::arange(4).roll(1, None).unwrap().to_vec::<i64>(), [3, 0, 1, 2]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn roll(&self, shift: i64, axis: Option<i64>) -> Result<AnyArray, Error> {
        let Some(axis) = axis else {
            let flat = joining::rolled(&Recorder, &flatten(&Recorder, self.view())?, &[shift])?;
            return Ok(AnyArray::new(shape::whole(flat.base, flat.dtype, self.shape())));
        };
        let mut shifts = vec![0; self.ndim()];
        shifts[self.axis(axis)?] = shift;
        joining::rolled(&Recorder, self.view(), &shifts).map(AnyArray::new)
    }

    /// Each element repeated `times` times, along an axis.
    ///
    /// ```
    /// assert_eq!(numelt::arange(2).repeat(2, 0).unwrap().to_vec::<i64>(), [0, 0, 1, 1]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn repeat(&self, times: usize, axis: i64) -> Result<AnyArray, Error> {
        let array = self.with_axis();
        let axis = array.axis(axis)?;
        let mut extents: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
        extents.insert(axis + 1, times);
        let copies = array.expand_dims(axis as i64 + 1)?.broadcast_to(&extents)?.copy();
        let mut joined: Vec<i64> = array.shape().to_vec();
        joined[axis] *= times as i64;
        copies.reshape(&joined)
    }

    /// The array repeated along each of its last axes; axes that it lacks are added.
    ///
    /// ```
    /// assert_eq!(numelt::arange(2).tile(&[2, 2]).unwrap().to_vec::<i64>(), [0, 1, 0, 1, 0, 1, 0, 1]);
    /// ```
    ///
    /// # Errors
    /// If there are more axes than an array may have; if there is not enough memory.
    pub fn tile(&self, times: &[usize]) -> Result<AnyArray, Error> {
        let rank = times.len().max(self.ndim());
        let mut own = vec![1; rank - self.ndim()];
        own.extend_from_slice(self.shape());
        let all = |axis: usize| (axis + times.len()).checked_sub(rank).map_or(1, |at| times[at]);
        let mut split = Vec::new();
        let mut stretched = Vec::new();
        let mut joined = Vec::new();
        for (axis, &n) in own.iter().enumerate() {
            split.extend([1, n]);
            stretched.extend([all(axis), n as usize]);
            joined.push(all(axis) as i64 * n);
        }
        self.reshape(&split)?.broadcast_to(&stretched)?.copy().reshape(&joined)
    }

    /// The views at each position of an axis.
    ///
    /// ```
    /// let rows = numelt::eye(2).unstack(0).unwrap();
    /// assert_eq!(rows[1].to_vec::<f64>(), [0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis.
    pub fn unstack(&self, axis: i64) -> Result<Vec<AnyArray>, Error> {
        let first = self.moveaxis(&[axis], &[0])?;
        (0..first.shape()[0]).map(|at| first.try_slice([Part::Int(at)])).collect()
    }

    /// Differences of neighbours along an axis.
    ///
    /// ```
    /// assert_eq!(numelt::arange(4).square().diff(0).unwrap().to_vec::<i64>(), [1, 3, 5]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn diff(&self, axis: i64) -> Result<AnyArray, Error> {
        let axis = self.axis(axis)?;
        let mut parts = vec![Part::Slice(0, i64::MAX, 1); self.ndim()];
        let mut part = |start, stop| {
            parts[axis] = Part::Slice(start, stop, 1);
            self.slice(&parts)
        };
        let (before, behind) = (part(0, -1), part(1, i64::MAX));
        match self.dtype() {
            DType::Bool => behind.try_not_equal(before),
            _ => behind.try_subtract(before),
        }
    }
}

/// Arrays joined along an axis.
///
/// ```
/// let x = numelt::concat(&[&numelt::arange(2), &numelt::ones(&[1])], 0).unwrap();
/// assert_eq!(x.to_vec::<f64>(), [0.0, 1.0, 1.0]);
/// ```
///
/// # Errors
/// If there are no arrays, or some do not fit; if there is no such axis; if there is not enough memory.
pub fn concat(arrays: &[&AnyArray], axis: i64) -> Result<AnyArray, Error> {
    let pieces: Vec<ArrayView> = arrays.iter().map(|array| array.view().clone()).collect();
    let Some(dtype) = common_dtype(arrays) else {
        return Err(Error::Value("need at least one array to concatenate".into()));
    };
    if pieces[0].shape.is_empty() {
        return Err(Error::Value("zero-dimensional arrays cannot be concatenated".into()));
    }
    let axis = arrays[0].axis(axis)?;
    joining::join(&Recorder, &pieces, axis, dtype).map(AnyArray::new)
}

/// Arrays of one shape joined along a new axis.
///
/// ```
/// let x = numelt::stack(&[&numelt::arange(2), &numelt::arange(2)], 1).unwrap();
/// assert_eq!(x.to_vec::<i64>(), [0, 0, 1, 1]);
/// ```
///
/// # Errors
/// If there are no arrays, or their shapes differ; if there is no such position; if there is not enough memory.
pub fn stack(arrays: &[&AnyArray], axis: i64) -> Result<AnyArray, Error> {
    let Some(dtype) = common_dtype(arrays) else {
        return Err(Error::Value("need at least one array to stack".into()));
    };
    if arrays.iter().any(|array| array.shape() != arrays[0].shape()) {
        return Err(Error::Value("all input arrays must have the same shape".into()));
    }
    let pieces: Result<Vec<ArrayView>, Error> = arrays.iter().map(|array| axes::expanded(array.view(), axis)).collect();
    let at = axes::normalize(axis, arrays[0].ndim() + 1)?;
    joining::join(&Recorder, &pieces?, at, dtype).map(AnyArray::new)
}

fn common_dtype(arrays: &[&AnyArray]) -> Option<DType> {
    arrays.iter().map(|array| array.dtype()).reduce(DType::promote)
}

/// Read-only views of arrays, broadcast to their common shape.
///
/// ```
/// let (x, y) = (numelt::arange(2), numelt::zeros(&[2, 1]));
/// assert!(numelt::broadcast_arrays(&[&x, &y]).unwrap().iter().all(|array| array.shape() == &[2, 2]));
/// ```
///
/// # Errors
/// If the shapes do not fit.
pub fn broadcast_arrays(arrays: &[&AnyArray]) -> Result<Vec<AnyArray>, Error> {
    let shapes: Vec<&[i64]> = arrays.iter().map(|array| array.shape()).collect();
    let Some(common) = shape::broadcast(&shapes) else {
        return Err(Error::Value("shape mismatch: objects cannot be broadcast to a single shape".into()));
    };
    let stretch =
        |array: &&AnyArray| axes::broadcast_to(array.view(), &common).map(|view| array.window(view).read_only());
    arrays.iter().map(stretch).collect()
}

macro_rules! typed {
    ($($name:ident($($argument:ident: $type:ty),*) $example:literal;)*) => {
        impl<T: Element> Array<T> {
            $(
                #[doc = concat!("[`AnyArray::", stringify!($name), "`], with the type of the elements.")]
                ///
                /// ```
                #[doc = concat!("let x = numelt::Array::from([[1, 2], [3, 4]]).", $example, ";")]
                #[doc = "assert_eq!(x.unwrap().dtype(), numelt::DType::I32);"]
                /// ```
                ///
                /// # Errors
                /// Those of that method.
                pub fn $name(&self, $($argument: $type),*) -> Result<Array<T>, Error> {
                    self.as_any().$name($($argument),*).map(Array::of)
                }
            )*
        }
    };
}

typed! {
    reshape(shape: &[i64]) "reshape(&[4])";
    permute_dims(order: &[i64]) "permute_dims(&[1, 0])";
    matrix_transpose() "matrix_transpose()";
    moveaxis(from: &[i64], to: &[i64]) "moveaxis(&[0], &[1])";
    expand_dims(axis: i64) "expand_dims(0)";
    squeeze(axes: Option<&[i64]>) "squeeze(None)";
    flip(axis: i64) "flip(0)";
    broadcast_to(shape: &[usize]) "broadcast_to(&[3, 2, 2])";
    roll(shift: i64, axis: Option<i64>) "roll(1, Some(0))";
    repeat(times: usize, axis: i64) "repeat(2, 0)";
}

impl<T: Element> Array<T> {
    /// [`AnyArray::transpose`], with the type of the elements.
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([[1, 2], [3, 4]]).transpose().to_vec(), [1, 3, 2, 4]);
    /// ```
    pub fn transpose(&self) -> Array<T> {
        Array::of(self.as_any().transpose())
    }

    /// [`AnyArray::ravel`], with the type of the elements.
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([[1, 2], [3, 4]]).ravel().shape(), &[4]);
    /// ```
    ///
    /// # Panics
    /// Those of that method.
    pub fn ravel(&self) -> Array<T> {
        Array::of(self.as_any().ravel())
    }
}
