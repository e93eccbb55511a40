//! Products of vectors and matrices.

use super::any_array::{AnyArray, done};
use super::array::Array;
use super::element::{Element, Promote};
use super::recorder::Recorder;
use crate::answer::Answer;
use crate::elementwise::Made;
use crate::error::Error;
use crate::products;
use crate::shape_text;
use numelt_ir::Op;

fn product(op: Op, left: &AnyArray, right: &AnyArray) -> Result<AnyArray, Error> {
    match products::product(&Recorder, op, left.view(), right.view(), None)? {
        Answer::Recorded(Made::New(view)) => Ok(AnyArray::new(view)),
        Answer::Recorded(Made::Written) => unreachable!("nothing was given to write to"),
        Answer::NotNative(_) => {
            let shapes = (shape_text(left.shape()), shape_text(right.shape()));
            Err(Error::Value(format!("{}: shapes {} and {} not aligned", op.name(), shapes.0, shapes.1)))
        }
    }
}

impl AnyArray {
    /// The product of matrices, of stacks of them, and of vectors: `a @ b`.
    ///
    /// ```
    /// let x = numelt::arange(4).reshape(&[2, 2]).unwrap();
    /// assert_eq!(x.matmul(&x).to_vec::<i64>(), [2, 3, 6, 11]);
    /// ```
    ///
    /// # Panics
    /// If [`AnyArray::try_matmul`] returns an error.
    #[track_caller]
    pub fn matmul(&self, other: &AnyArray) -> AnyArray {
        done(self.try_matmul(other))
    }

    /// [`AnyArray::matmul`], which returns errors instead of panicking.
    ///
    /// ```
    /// assert!(numelt::zeros(&[2, 3]).try_matmul(&numelt::zeros(&[2, 3])).is_err());
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit each other; if there is not enough memory.
    pub fn try_matmul(&self, other: &AnyArray) -> Result<AnyArray, Error> {
        product(Op::Matmul, self, other)
    }

    /// The sum of products along the last axis of both; complex elements of the first are conjugated.
    ///
    /// ```
    /// assert_eq!(numelt::arange(3).vecdot(&numelt::arange(3)).unwrap().item::<i64>(), 5);
    /// ```
    ///
    /// # Errors
    /// If the shapes do not fit each other; if there is not enough memory.
    pub fn vecdot(&self, other: &AnyArray) -> Result<AnyArray, Error> {
        product(Op::Vecdot, self, other)
    }

    /// The sum of products over the last `axes` axes of this array and the first `axes` axes of the other.
    ///
    /// ```
    /// let x = numelt::arange(6).reshape(&[2, 3]).unwrap();
    /// assert_eq!(x.tensordot(&numelt::ones(&[3]), 1).unwrap().to_vec::<f64>(), [3.0, 12.0]);
    /// ```
    ///
    /// # Errors
    /// If the extents differ; if there are fewer axes; if there is not enough memory.
    pub fn tensordot(&self, other: &AnyArray, axes: usize) -> Result<AnyArray, Error> {
        let (rank, mismatch) = (self.ndim(), || Error::Value("shape-mismatch for sum".into()));
        let kept = rank.checked_sub(axes).ok_or_else(mismatch)?;
        if other.ndim() < axes || self.shape()[kept..] != other.shape()[..axes] {
            return Err(mismatch());
        }
        let (rows, columns) = (&self.shape()[..kept], &other.shape()[axes..]);
        let size = |shape: &[i64]| shape.iter().product::<i64>();
        let inner = size(&other.shape()[..axes]);
        let left = self.reshape(&[size(rows), inner])?;
        let right = other.reshape(&[inner, size(columns)])?;
        let shape: Vec<i64> = rows.iter().chain(columns).copied().collect();
        product(Op::Dot, &left, &right)?.reshape(&shape)
    }
}

impl<T: Element> Array<T> {
    /// [`AnyArray::matmul`], with the type of the result.
    ///
    /// ```
    /// use numelt::Array;
    /// let x = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.matmul(&Array::from([1, 1])).to_vec(), [3.0, 7.0]);
    /// ```
    ///
    /// # Panics
    /// Those of that method.
    #[track_caller]
    pub fn matmul<U: Element>(&self, other: &Array<U>) -> Array<T::Output>
    where
        T: Promote<U>,
    {
        Array::of(self.as_any().matmul(other.as_any()))
    }
}
