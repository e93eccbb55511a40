//! Indexing: views by integers and slices, single elements, and elements by arrays of positions and masks.

use super::any_array::{AnyArray, done, wrong_dtype};
use super::argument::Argument;
use super::array::Array;
use super::creation::arange;
use super::element::Element;
use super::elementwise::{shared_elements, unfit};
use super::recorder::Recorder;
use crate::answer::{Answer, NotNative};
use crate::error::Error;
use crate::front::Front;
use crate::indexing::{self, KeyItem, Lookup, Mode};
use crate::operand::Operand;
use crate::reductions::normalize_axis;
use crate::rules::slicing::{self, Part};
use numelt_ir::{DType, DTypeKind, Dims, Op, Scalar};
use numelt_runtime::ArrayView;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo};

/// A new axis of extent one, in [`s!`](crate::s).
///
/// ```
/// use numelt::{NewAxis, s};
/// assert_eq!(numelt::arange(3).slice(s![.., NewAxis]).shape(), &[3, 1]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NewAxis;

/// All axes that no other part of [`s!`](crate::s) names.
///
/// ```
/// use numelt::{Ellipsis, s};
/// assert_eq!(numelt::zeros(&[2, 3, 4]).slice(s![Ellipsis, 0]).shape(), &[2, 3]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Ellipsis;

impl From<NewAxis> for Part {
    fn from(_: NewAxis) -> Part {
        Part::NewAxis
    }
}

impl From<Ellipsis> for Part {
    fn from(_: Ellipsis) -> Part {
        Part::Ellipsis
    }
}

impl From<RangeFull> for Part {
    fn from(_: RangeFull) -> Part {
        Part::Slice(0, i64::MAX, 1)
    }
}

macro_rules! parts {
    ($($type:ty)*) => {
        $(
            impl From<$type> for Part {
                fn from(index: $type) -> Part {
                    Part::Int(index as i64)
                }
            }

            impl From<Range<$type>> for Part {
                fn from(range: Range<$type>) -> Part {
                    Part::Slice(range.start as i64, range.end as i64, 1)
                }
            }

            impl From<RangeFrom<$type>> for Part {
                fn from(range: RangeFrom<$type>) -> Part {
                    Part::Slice(range.start as i64, i64::MAX, 1)
                }
            }

            impl From<RangeTo<$type>> for Part {
                fn from(range: RangeTo<$type>) -> Part {
                    Part::Slice(0, range.end as i64, 1)
                }
            }

            impl From<RangeInclusive<$type>> for Part {
                fn from(range: RangeInclusive<$type>) -> Part {
                    // a range that ends with the last element has no end
                    let end = if *range.end() as i64 == -1 { i64::MAX } else { (*range.end() as i64).saturating_add(1) };
                    Part::Slice(*range.start() as i64, end, 1)
                }
            }
        )*
    };
}

parts! { i32 i64 isize usize }

/// Every `step`th element of a part that is a range: for [`s!`](crate::s). With a negative step, from the range's end
/// to its start, as in `ndarray`.
#[doc(hidden)]
pub fn stepped(part: impl Into<Part>, step: i64) -> Part {
    match part.into() {
        Part::Slice(start, stop, 1) if step > 0 => Part::Slice(start, stop, step),
        // from the last element of the range: `x[start:stop][::step]`
        Part::Slice(start, stop, 1) if step < 0 => Part::Slice(before(stop), before_start(start), step),
        _ => panic!("slice step cannot be zero, and an integer has none"),
    }
}

/// The position before an end; there is none before zero, which selects nothing.
fn before(stop: i64) -> i64 {
    match stop {
        i64::MAX => i64::MAX,
        0 => i64::MIN,
        stop => stop - 1,
    }
}

/// The position at which a slice with a negative step stops so that it ends with `start`.
fn before_start(start: i64) -> i64 {
    if start == 0 { i64::MIN } else { start - 1 }
}

/// The parts of a basic index: integers, ranges (with a step behind a semicolon), [`NewAxis`] and [`Ellipsis`].
/// Negative numbers count from the end.
///
/// ```
/// use numelt::s;
/// let x = numelt::arange(10);
/// assert_eq!(x.slice(s![2..-2]).to_vec::<i64>(), [2, 3, 4, 5, 6, 7]);
/// assert_eq!(x.slice(s![..;3]).to_vec::<i64>(), [0, 3, 6, 9]);
/// assert_eq!(x.slice(s![2..5;-1]).to_vec::<i64>(), [4, 3, 2]);
/// ```
#[macro_export]
macro_rules! s {
    ($($part:expr $(; $step:expr)?),* $(,)?) => {{
        // a negative end counts from the end of the axis
        #[allow(clippy::reversed_empty_ranges)]
        let parts = [$($crate::s!(@part $part $(, $step)?)),*];
        parts
    }};
    (@part $part:expr) => { $crate::Part::from($part) };
    (@part $part:expr, $step:expr) => { $crate::__stepped($part, $step) };
}

impl AnyArray {
    /// A view of the array's memory; see [`s!`](crate::s).
    ///
    /// ```
    /// use numelt::s;
    /// let x = numelt::zeros(&[3, 4]);
    /// let inner = x.slice(s![1..-1, 1..-1]);
    /// assert_eq!(inner.shape(), &[1, 2]);
    /// assert!(inner.shares_memory(&x));
    /// ```
    ///
    /// # Panics
    /// If [`AnyArray::try_slice`] returns an error.
    #[track_caller]
    pub fn slice(&self, parts: impl AsRef<[Part]>) -> AnyArray {
        done(self.try_slice(parts))
    }

    /// [`AnyArray::slice`], which returns errors instead of panicking.
    ///
    /// ```
    /// use numelt::s;
    /// let error = numelt::zeros(&[3]).try_slice(s![5]).unwrap_err();
    /// assert_eq!(error.to_string(), "index 5 is out of bounds for axis 0 with size 3");
    /// ```
    ///
    /// # Errors
    /// If there are more parts than axes; if an integer is outside its axis; if there are two ellipses; if the result
    /// has more axes than an array may have.
    pub fn try_slice(&self, parts: impl AsRef<[Part]>) -> Result<AnyArray, Error> {
        slicing::select(self.view(), parts.as_ref()).map(|selection| self.window(selection.view))
    }

    /// The element at an index; negative ones count from the end.
    ///
    /// ```
    /// assert_eq!(numelt::arange(3).get(&[-1]).unwrap(), numelt::Scalar::I64(2));
    /// ```
    ///
    /// # Errors
    /// If the index does not have an integer within bounds for each axis; if the value cannot be computed.
    pub fn get(&self, index: &[i64]) -> Result<Scalar, Error> {
        let view = self.element(index)?;
        Recorder.read_scalar(&view.base, view.dtype, view.offset)
    }

    /// Stores a number in the element at an index.
    ///
    /// ```
    /// let x = numelt::zeros(&[2]);
    /// x.set(&[0], 5).unwrap();
    /// assert_eq!(x.to_vec::<f64>(), [5.0, 0.0]);
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::get`] and [`AnyArray::assign`].
    pub fn set(&self, index: &[i64], value: impl Argument) -> Result<(), Error> {
        self.window(self.element(index)?).assign(value)
    }

    /// The element at an index as an array without axes.
    fn element(&self, index: &[i64]) -> Result<ArrayView, Error> {
        if index.len() < self.ndim() {
            let text =
                format!("an element of an array of {} axes has as many indices, not {}", self.ndim(), index.len());
            return Err(Error::Index(text));
        }
        let parts: Vec<Part> = index.iter().map(|&at| Part::Int(at)).collect();
        slicing::select(self.view(), &parts).map(|selection| selection.view)
    }

    /// The elements at positions along an axis, in new memory: `x[indices]` for the first axis. Positions are integers
    /// in an array of any shape; negative ones count from the end.
    ///
    /// ```
    /// use numelt::AnyArray;
    /// let x = AnyArray::from(vec![10.0, 20.0, 30.0]);
    /// assert_eq!(x.take(AnyArray::from(vec![2, 0, -1]), 0).unwrap().to_vec::<f64>(), [30.0, 10.0, 30.0]);
    /// ```
    ///
    /// # Errors
    /// If a position is outside the axis or not an integer; if there is no such axis; if there is not enough memory.
    pub fn take(&self, indices: impl Argument, axis: i64) -> Result<AnyArray, Error> {
        let array = self.with_axis();
        let axis = array.axis(axis)?;
        let index = indices.to_array();
        match indexing::take(&Recorder, array.view(), axis, index.view(), Mode::Raise)? {
            Answer::Recorded(taken) => Ok(AnyArray::new(taken)),
            Answer::NotNative(NotNative::Shape) => {
                Err(Error::Index("cannot do a non-empty take from an empty axes.".into()))
            }
            Answer::NotNative(_) => Err(no_index()),
        }
    }

    /// One element for each position along an axis, in new memory, as [`AnyArray::argsort`] gives positions: `indices`
    /// has as many axes as this array, and the other axes of the two broadcast.
    ///
    /// ```
    /// use numelt::Array;
    /// let (x, last) = (Array::from([[9, 4], [1, 7]]), Array::from([[1], [0]]));
    /// assert_eq!(x.take_along_axis(&last, 1).unwrap().to_vec::<i32>(), [4, 1]);
    /// ```
    ///
    /// # Errors
    /// If a position is outside the axis or not an integer; if there is no such axis; if the numbers of axes differ or
    /// the others do not broadcast; if there is not enough memory.
    pub fn take_along_axis(&self, indices: &AnyArray, axis: i64) -> Result<AnyArray, Error> {
        if !matches!(indices.dtype().kind(), DTypeKind::Signed | DTypeKind::Unsigned) {
            return Err(Error::Index("`indices` must be an integer array".into()));
        }
        if indices.ndim() != self.ndim() {
            return Err(Error::Value("`indices` and `arr` must have the same number of dimensions".into()));
        }
        let axis = self.axis(axis)?;
        let key: Vec<KeyItem> = (0..self.ndim())
            .map(|other| match other == axis {
                true => KeyItem::Array(indices.view().clone()),
                false => KeyItem::Array(along(self.shape()[other], other, self.ndim())),
            })
            .collect();
        let lookup = Lookup::new(self.view(), &key)?;
        match indexing::gather(&Recorder, &lookup)? {
            Answer::Recorded(taken) => Ok(AnyArray::new(taken)),
            Answer::NotNative(_) => Err(no_index()),
        }
    }

    /// The positions of the elements that are not zero: for each axis, an array of them, in C order.
    ///
    /// ```
    /// let x = numelt::eye(2);
    /// let [rows, columns] = &x.nonzero().unwrap()[..] else { unreachable!() };
    /// assert_eq!((rows.to_vec(), columns.to_vec()), (vec![0, 1], vec![0, 1]));
    /// ```
    ///
    /// # Errors
    /// If there is not enough memory; if the array has no axes.
    pub fn nonzero(&self) -> Result<Vec<Array<i64>>, Error> {
        if self.ndim() == 0 {
            return Err(Error::Value("Calling nonzero on 0d arrays is not allowed.".into()));
        }
        let positions = indexing::true_positions(&Recorder, self.view())?;
        let column = |axis| Array::of(AnyArray::new(indexing::column(&positions, axis)));
        Ok((0..self.ndim()).map(column).collect())
    }

    /// The elements, or those along the first axes, where a mask is true: `x[mask]`.
    ///
    /// ```
    /// let x = numelt::arange(5);
    /// assert_eq!(x.compress(&x.greater(2)).unwrap().to_vec::<i64>(), [3, 4]);
    /// ```
    ///
    /// # Errors
    /// If the mask's extents are not the array's, or its elements are not truth values; if there is not enough memory.
    pub fn compress(&self, mask: &AnyArray) -> Result<AnyArray, Error> {
        let lookup = Lookup::new(self.view(), &[item_of_mask(mask)?])?;
        match indexing::gather(&Recorder, &lookup)? {
            Answer::Recorded(picked) => Ok(AnyArray::new(picked)),
            Answer::NotNative(_) => Err(Error::TooManyAxes(numelt_ir::MAX_RANK)),
        }
    }

    /// Stores a value where a mask is true: `x[mask] = value`. The value is a number, or an array that broadcasts to
    /// the shape of the result of [`AnyArray::compress`].
    ///
    /// ```
    /// let x = numelt::arange(4);
    /// x.put_mask(&x.less(2), -1).unwrap();
    /// assert_eq!(x.to_vec::<i64>(), [-1, -1, 2, 3]);
    /// ```
    ///
    /// # Errors
    /// If the mask's extents are not the array's, or its elements are not truth values; if the value does not fit; if
    /// the array is read-only.
    pub fn put_mask(&self, mask: &AnyArray, value: impl Argument) -> Result<(), Error> {
        self.set_items(&[item_of_mask(mask)?], &value.operand())
    }

    /// Stores values at positions along the first axis: `x[indices] = values`. Of equal positions the last one wins.
    ///
    /// ```
    /// use numelt::AnyArray;
    /// let x = numelt::zeros(&[4]);
    /// x.put(AnyArray::from(vec![3, 0]), AnyArray::from(vec![1.0, 2.0])).unwrap();
    /// assert_eq!(x.to_vec::<f64>(), [2.0, 0.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    /// If a position is outside the axis or not an integer; if the values do not broadcast to the selected elements; if
    /// the array is read-only.
    pub fn put(&self, indices: impl Argument, values: impl Argument) -> Result<(), Error> {
        let index = indices.to_array();
        let item = match index.dtype() {
            dtype if !dtype.is_integer() => return Err(no_index()),
            _ if index.ndim() == 0 => {
                let at = index.try_astype(DType::I64)?.item();
                return self.try_slice([Part::Int(at)])?.assign(values);
            }
            _ => KeyItem::Array(index.view().clone()),
        };
        self.set_items(&[item], &values.operand())
    }

    /// Adds values to the elements at positions along the first axis; for equal positions, one after the other.
    ///
    /// ```
    /// use numelt::AnyArray;
    /// let x = numelt::zeros(&[2]);
    /// x.add_at(AnyArray::from(vec![1, 1, 0]), 1.0).unwrap();
    /// assert_eq!(x.to_vec::<f64>(), [1.0, 2.0]);
    /// ```
    ///
    /// # Errors
    /// Those of [`AnyArray::put`].
    pub fn add_at(&self, indices: impl Argument, values: impl Argument) -> Result<(), Error> {
        if !self.is_writeable() {
            return Err(Error::ReadOnlyAssignment);
        }
        let axis = self.axis(0)?;
        let index = indices.to_array();
        if !index.dtype().is_integer() {
            return Err(no_index());
        }
        let lookup = Lookup::along(self.view(), axis, index.view().clone());
        let index = indexing::checked_positions(&Recorder, &lookup, self.view())?;
        // the values in the form that the scatter takes: of the array's dtype, in memory that it does not write
        let chosen: Dims = index.shape.iter().chain(&self.shape()[1..]).copied().collect();
        Recorder.check_size(&chosen, self.dtype())?;
        let strides = numelt_ir::c_strides(&chosen, self.itemsize());
        let chosen = AnyArray::new(Recorder.fresh(self.dtype(), &chosen, strides));
        chosen.assign(values)?;
        let done = indexing::combine_at(&Recorder, Op::Add, self.view(), &index, chosen.view())?;
        done.recorded().ok_or_else(shared_elements)
    }

    /// `self[items] = value`
    fn set_items(&self, items: &[KeyItem], value: &Operand<'_>) -> Result<(), Error> {
        if !self.is_writeable() {
            return Err(Error::ReadOnlyAssignment);
        }
        let Answer::Recorded(stored) = indexing::stored(&Recorder, value, self.view())? else {
            return Err(match value {
                Operand::Array(view) => wrong_dtype(view.dtype, self.dtype()),
                number => unfit(number, self.dtype()),
            });
        };
        indexing::set(&Recorder, self.view(), items, stored)?.recorded().ok_or_else(shared_elements)
    }

    /// The array itself; one without axes becomes a vector of one element, for operations along an axis.
    pub(crate) fn with_axis(&self) -> AnyArray {
        if self.ndim() > 0 {
            return self.clone();
        }
        let view = self.view();
        let (one, step) = (Dims::from_slice(&[1]), Dims::from_slice(&[self.itemsize()]));
        self.window(crate::rules::shape::window(view, view.offset, one, step))
    }

    /// An axis counted from the front.
    pub(crate) fn axis(&self, axis: i64) -> Result<usize, Error> {
        normalize_axis(axis, self.ndim()).ok_or(Error::Axis { axis, rank: self.ndim() })
    }
}

/// A mask as an item of a key.
fn item_of_mask(mask: &AnyArray) -> Result<KeyItem, Error> {
    if mask.dtype() != DType::Bool {
        return Err(wrong_dtype(mask.dtype(), DType::Bool));
    }
    Ok(if mask.ndim() == 0 { KeyItem::Truth(mask.item()) } else { KeyItem::Mask(mask.view().clone()) })
}

/// The positions along an axis of `extent`, in an array of `rank` axes whose others have the extent one.
fn along(extent: i64, axis: usize, rank: usize) -> ArrayView {
    let mut shape = vec![1; rank];
    shape[axis] = extent;
    done(arange(extent).reshape(&shape)).view().clone()
}

fn no_index() -> Error {
    Error::Index("arrays used as indices must be of integer (or boolean) type".into())
}

impl<T: Element> Array<T> {
    /// [`AnyArray::slice`], with the type of the elements.
    ///
    /// ```
    /// use numelt::{Array, s};
    /// assert_eq!(Array::from([[1, 2], [3, 4]]).slice(s![.., 0]).to_vec(), [1, 3]);
    /// ```
    ///
    /// # Panics
    /// Those of that method.
    #[track_caller]
    pub fn slice(&self, parts: impl AsRef<[Part]>) -> Array<T> {
        Array::of(self.as_any().slice(parts))
    }

    /// [`AnyArray::take`] along an axis, with the type of the elements.
    ///
    /// ```
    /// use numelt::Array;
    /// assert_eq!(Array::from([1, 2, 3]).take(Array::from([2, 2]), 0).unwrap().to_vec(), [3, 3]);
    /// ```
    ///
    /// # Errors
    /// Those of that method.
    pub fn take(&self, indices: impl Argument, axis: i64) -> Result<Array<T>, Error> {
        self.as_any().take(indices, axis).map(Array::of)
    }

    /// [`AnyArray::compress`], with the type of the elements.
    ///
    /// ```
    /// use numelt::Array;
    /// let x = Array::from([1.0, -2.0, 3.0]);
    /// assert_eq!(x.compress(&x.greater(0)).unwrap().to_vec(), [1.0, 3.0]);
    /// ```
    ///
    /// # Errors
    /// Those of that method.
    pub fn compress(&self, mask: &AnyArray) -> Result<Array<T>, Error> {
        self.as_any().compress(mask).map(Array::of)
    }
}
