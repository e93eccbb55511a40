//! New arrays: filled with one value, ranges in even steps, and grids.

use super::any_array::{AnyArray, dims, done};
use super::argument::Argument;
use super::array::Array;
use super::recorder::Recorder;
use crate::answer::Answer;
use crate::elementwise::Made;
use crate::error::Error;
use crate::front::Front;
use crate::matrices;
use crate::rules::{ranges, shape};
use numelt_ir::{Axes, DType, Op, Scalar, c_strides};
use numelt_runtime::Input;

/// A new array without values, to be filled.
pub(super) fn unset(dtype: DType, shape: &[i64]) -> Result<AnyArray, Error> {
    if shape.len() > numelt_ir::MAX_RANK {
        return Err(Error::TooManyAxes(shape.len()));
    }
    Recorder.check_size(shape, dtype)?;
    Ok(AnyArray::new(Recorder.fresh(dtype, shape, c_strides(shape, dtype.size() as i64))))
}

/// An array filled with one value. It has the value's dtype; for Rust's numbers, that of the Python number.
///
/// ```
/// use numelt::{DType, Scalar};
/// assert_eq!(numelt::full(&[2], 7).to_vec::<i64>(), [7, 7]);
/// assert_eq!(numelt::full(&[2], Scalar::F32(0.5)).dtype(), DType::F32);
/// ```
///
/// # Panics
/// If there is not enough memory for the elements.
pub fn full(shape: &[usize], value: impl Argument) -> AnyArray {
    let value = value.to_array();
    let made = done(unset(value.dtype(), &dims(shape)));
    made.fill(&value);
    made
}

/// An array of zeros of dtype [`DType::F64`]; [`zeros_of`] makes those of other dtypes.
///
/// ```
/// assert_eq!(numelt::zeros(&[2]).to_vec::<f64>(), [0.0, 0.0]);
/// ```
///
/// # Panics
/// If there is not enough memory for the elements.
pub fn zeros(shape: &[usize]) -> AnyArray {
    zeros_of(DType::F64, shape)
}

/// An array of zeros of a dtype.
///
/// ```
/// assert_eq!(numelt::zeros_of(numelt::DType::U8, &[2]).to_vec::<u8>(), [0, 0]);
/// ```
///
/// # Panics
/// If there is not enough memory for the elements.
pub fn zeros_of(dtype: DType, shape: &[usize]) -> AnyArray {
    let made = done(unset(dtype, &dims(shape)));
    made.fill(0);
    made
}

/// An array of ones of dtype [`DType::F64`].
///
/// ```
/// assert_eq!(numelt::ones(&[2]).to_vec::<f64>(), [1.0, 1.0]);
/// ```
///
/// # Panics
/// If there is not enough memory for the elements.
pub fn ones(shape: &[usize]) -> AnyArray {
    full(shape, 1.0)
}

/// Zeros of the shape and dtype of another array.
///
/// ```
/// assert_eq!(numelt::zeros_like(&numelt::arange(2)).to_vec::<i64>(), [0, 0]);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn zeros_like(other: &AnyArray) -> AnyArray {
    full_like(other, 0)
}

/// Ones of the shape and dtype of another array.
///
/// ```
/// assert_eq!(numelt::ones_like(&numelt::arange(2)).to_vec::<i64>(), [1, 1]);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn ones_like(other: &AnyArray) -> AnyArray {
    full_like(other, 1)
}

/// An array filled with one value, with the shape, dtype and memory order of another array.
///
/// ```
/// assert_eq!(numelt::full_like(&numelt::zeros(&[2]), 3).to_vec::<f64>(), [3.0, 3.0]);
/// ```
///
/// # Panics
/// If there is not enough memory, or the value does not fit.
pub fn full_like(other: &AnyArray, value: impl Argument) -> AnyArray {
    let made = AnyArray::new(done(Recorder.new_like(other.view(), other.dtype(), shape::Order::K)));
    made.fill(value);
    made
}

/// The integers from zero to `stop - 1`.
///
/// ```
/// assert_eq!(numelt::arange(3).to_vec::<i64>(), [0, 1, 2]);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn arange(stop: i64) -> AnyArray {
    done(arange_in(0, stop, 1))
}

/// The numbers `start`, `start + step` and so on, that are less than `stop`; floats if one of the three is a float.
///
/// The length is that of NumPy: the distance divided by the step, rounded up.
///
/// ```
/// assert_eq!(numelt::arange_in(1, 7, 2).unwrap().to_vec::<i64>(), [1, 3, 5]);
/// assert_eq!(numelt::arange_in(0.0, 1.0, 0.25).unwrap().to_vec::<f64>(), [0.0, 0.25, 0.5, 0.75]);
/// ```
///
/// # Errors
/// If the step is zero; if a number is not real; if no memory can hold so many elements.
pub fn arange_in(start: impl Argument, stop: impl Argument, step: impl Argument) -> Result<AnyArray, Error> {
    let ends = [start.to_array(), stop.to_array(), step.to_array()];
    let dtype = ends.iter().map(AnyArray::dtype).fold(DType::I64, DType::promote);
    let values = [ends[0].try_astype(dtype)?, ends[1].try_astype(dtype)?, ends[2].try_astype(dtype)?];
    let [start, stop, step] = [values[0].try_item()?, values[1].try_item()?, values[2].try_item()?];
    let (count, delta) = match (start, stop, step) {
        (Scalar::I64(start), Scalar::I64(stop), Scalar::I64(step)) => {
            (ranges::whole_count(start, stop, step)?, Scalar::I64(step))
        }
        (Scalar::F64(start), Scalar::F64(stop), Scalar::F64(step)) => {
            let (count, delta) = ranges::float_count(start, stop, step)?;
            (count, Scalar::F64(delta))
        }
        _ => return Err(Error::Type(format!("arange() of {}", dtype.name()))),
    };
    let made = unset(dtype, &[count])?;
    if count > 0 {
        let ends = [Input::Const(start), Input::Const(delta)];
        Recorder.record(Op::Range, dtype, made.view(), &ends, Axes::default())?;
    }
    Ok(made)
}

/// `count` numbers in even steps from `start` to `stop`, both included.
///
/// ```
/// assert_eq!(numelt::linspace(0.0, 1.0, 5).to_vec::<f64>(), [0.0, 0.25, 0.5, 0.75, 1.0]);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn linspace(start: f64, stop: f64, count: usize) -> AnyArray {
    let (made, _) = done(try_linspace(start, stop, count, true));
    made
}

/// [`linspace`] with or without its end, and the step; errors are returned.
///
/// ```
/// let (x, step) = numelt::try_linspace(0.0, 1.0, 4, false).unwrap();
/// assert_eq!((x.to_vec::<f64>(), step), (vec![0.0, 0.25, 0.5, 0.75], 0.25));
/// ```
///
/// # Errors
/// If no memory can hold so many elements.
pub fn try_linspace(start: f64, stop: f64, count: usize, endpoint: bool) -> Result<(AnyArray, f64), Error> {
    let sections = if endpoint { count.saturating_sub(1) } else { count };
    let delta = stop - start;
    let count = i64::try_from(count).map_err(|_| Error::TooBig)?;
    let numbers = arange_in(0.0, count as f64, 1.0)?;
    let step = if sections > 0 { delta / sections as f64 } else { f64::NAN };
    let scaled = match sections {
        0 => numbers * delta,
        // a step that underflows is applied in two parts, to keep as much precision as possible
        _ if step == 0.0 => numbers / sections * delta,
        _ => numbers * step,
    };
    let made = scaled.try_add(start)?;
    if endpoint && count > 1 {
        made.set(&[-1], stop)?;
    }
    Ok((made, step))
}

/// The unit matrix of dtype [`DType::F64`].
///
/// ```
/// assert_eq!(numelt::eye(2).to_vec::<f64>(), [1.0, 0.0, 0.0, 1.0]);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn eye(n: usize) -> AnyArray {
    eye_of(DType::F64, n, n, 0)
}

/// A matrix of a dtype with ones on one diagonal: the main one, or one above or below it by `k`.
///
/// ```
/// use numelt::DType;
/// assert_eq!(numelt::eye_of(DType::I64, 2, 3, 1).to_vec::<i64>(), [0, 1, 0, 0, 0, 1]);
/// ```
///
/// # Panics
/// If there is not enough memory.
pub fn eye_of(dtype: DType, rows: usize, columns: usize, k: i64) -> AnyArray {
    let made = zeros_of(dtype, &[rows, columns]);
    done(made.diagonal(k)).fill(1);
    made
}

impl AnyArray {
    /// A diagonal of matrices, as a view: the main one, or one above or below it by `k`. The matrices lie along the
    /// first two axes, and the diagonal along the last one of the result, as in `numpy.diagonal`.
    ///
    /// ```
    /// let x = numelt::arange(4).reshape(&[2, 2]).unwrap();
    /// assert_eq!(x.diagonal(0).unwrap().to_vec::<i64>(), [0, 3]);
    /// ```
    ///
    /// # Errors
    /// If the array has fewer than two axes.
    pub fn diagonal(&self, k: i64) -> Result<AnyArray, Error> {
        let diagonal = matrices::diagonal(self.view(), k, 0, 1);
        let diagonal =
            diagonal.ok_or_else(|| Error::Value("diag requires an array of at least two dimensions".into()))?;
        Ok(self.window(diagonal))
    }

    /// The lower triangle of matrices: elements above the diagonal that is `k` above the main one become zero.
    ///
    /// ```
    /// let x = numelt::ones(&[2, 2]).tril(0).unwrap();
    /// assert_eq!(x.to_vec::<f64>(), [1.0, 0.0, 1.0, 1.0]);
    /// ```
    ///
    /// # Errors
    /// If the array has fewer than two axes; if there is not enough memory.
    pub fn tril(&self, k: i64) -> Result<AnyArray, Error> {
        self.triangle(k, true)
    }

    /// The upper triangle of matrices: elements below the diagonal that is `k` above the main one become zero.
    ///
    /// ```
    /// let x = numelt::ones(&[2, 2]).triu(0).unwrap();
    /// assert_eq!(x.to_vec::<f64>(), [1.0, 1.0, 0.0, 1.0]);
    /// ```
    ///
    /// # Errors
    /// If the array has fewer than two axes; if there is not enough memory.
    pub fn triu(&self, k: i64) -> Result<AnyArray, Error> {
        self.triangle(k, false)
    }

    fn triangle(&self, k: i64, lower: bool) -> Result<AnyArray, Error> {
        match matrices::triangle(&Recorder, self.view(), k, lower)? {
            Answer::Recorded(Made::New(view)) => Ok(AnyArray::new(view)),
            Answer::Recorded(Made::Written) | Answer::NotNative(_) => {
                Err(Error::Value(format!("a matrix has two axes, not {}", self.ndim())))
            }
        }
    }
}

/// Grids of coordinates: for each vector, an array that varies with it along its own axis, in the order of
/// `indexing="ij"`.
///
/// ```
/// let [x, y] = &numelt::meshgrid(&[&numelt::arange(2), &numelt::arange(3)]).unwrap()[..] else { unreachable!() };
/// assert_eq!(x.to_vec::<i64>(), [0, 0, 0, 1, 1, 1]);
/// assert_eq!(y.to_vec::<i64>(), [0, 1, 2, 0, 1, 2]);
/// ```
///
/// # Errors
/// If an array has more than one axis; if there are more arrays than an array may have axes; if there is not enough
/// memory.
pub fn meshgrid(vectors: &[&AnyArray]) -> Result<Vec<AnyArray>, Error> {
    let rank = vectors.len();
    let shape: Vec<usize> = vectors.iter().map(|vector| vector.size()).collect();
    let grid = |(axis, vector): (usize, &&AnyArray)| {
        let mut own = vec![1; rank];
        own[axis] = -1;
        vector.reshape(&own)?.broadcast_to(&shape).map(|grid| grid.copy())
    };
    vectors.iter().enumerate().map(grid).collect()
}

impl Array<f64> {
    /// Zeros.
    ///
    /// ```
    /// assert_eq!(numelt::Array::zeros(&[2]).to_vec(), [0.0, 0.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn zeros(shape: &[usize]) -> Array<f64> {
        Array::of(zeros(shape))
    }

    /// Ones.
    ///
    /// ```
    /// assert_eq!(numelt::Array::ones(&[2]).to_vec(), [1.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn ones(shape: &[usize]) -> Array<f64> {
        Array::of(ones(shape))
    }

    /// [`linspace`](crate::linspace), with the type of the result.
    ///
    /// ```
    /// assert_eq!(numelt::Array::linspace(0.0, 1.0, 3).to_vec(), [0.0, 0.5, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is not enough memory.
    pub fn linspace(start: f64, stop: f64, count: usize) -> Array<f64> {
        Array::of(linspace(start, stop, count))
    }
}
