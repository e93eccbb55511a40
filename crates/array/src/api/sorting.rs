//! Sorting, sets, and searching in sorted arrays. These are computed when they are called.

use super::any_array::{AnyArray, wrong_dtype};
use super::array::Array;
use super::element::{Element, with_element};
use super::memory::stable_order;
use super::recorder::Recorder;
use crate::error::Error;
use crate::front::Front;
use crate::rules::shape::Order;
use numelt_ir::interp::cast;
use numelt_ir::{DType, Scalar};

impl AnyArray {
    /// The elements sorted along an axis, in new memory; NaN comes last.
    ///
    /// ```
    /// let x = numelt::AnyArray::from(vec![3.0, f64::NAN, 1.0]);
    /// assert_eq!(x.sort(0).unwrap().to_vec::<f64>()[..2], [1.0, 3.0]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn sort(&self, axis: i64) -> Result<AnyArray, Error> {
        let axis = self.axis(axis)? as i64;
        let last = self.moveaxis(&[axis], &[-1])?;
        let sorted = AnyArray::new(Recorder.copied(last.view(), self.dtype(), Order::C)?);
        let n = last.shape().last().map_or(0, |&n| n as usize);
        if !sorted.is_empty() {
            with_element!(self.dtype(), T => sorted.write::<T>()?.chunks_mut(n).for_each(sort_row));
        }
        sorted.moveaxis(&[-1], &[axis])
    }

    /// The stable order that sorts the elements along an axis.
    ///
    /// ```
    /// assert_eq!(numelt::AnyArray::from(vec![30, 10, 20]).argsort(0).unwrap().to_vec(), [1, 2, 0]);
    /// ```
    ///
    /// # Errors
    /// If there is no such axis, or not enough memory.
    pub fn argsort(&self, axis: i64) -> Result<Array<i64>, Error> {
        let array = self.with_axis();
        let axis = array.axis(axis)? as i64;
        let last = array.moveaxis(&[axis], &[-1])?;
        let n = last.shape().last().map_or(0, |&n| n as usize);
        let shape: Vec<usize> = last.shape().iter().map(|&n| n as usize).collect();
        let mut order: Vec<i64> = Vec::with_capacity(self.size());
        if !self.is_empty() {
            with_element!(self.dtype(), T => {
                for row in last.read::<T>()?.chunks(n) {
                    order.extend(order_of_row(row));
                }
            });
        }
        Array::from_shape_vec(&shape, order)?.moveaxis(&[-1], &[axis])
    }

    /// The different elements, sorted.
    ///
    /// ```
    /// assert_eq!(numelt::AnyArray::from(vec![2, 1, 2]).unique_values().unwrap().to_vec::<i32>(), [1, 2]);
    /// ```
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn unique_values(&self) -> Result<AnyArray, Error> {
        Ok(self.unique_all()?.values)
    }

    /// The different elements, sorted, and their positions.
    ///
    /// ```
    /// let found = numelt::AnyArray::from(vec![20, 10, 20]).unique_all().unwrap();
    /// assert_eq!(found.values.to_vec::<i32>(), [10, 20]);
    /// assert_eq!(found.indices.to_vec(), [1, 0]);
    /// assert_eq!(found.inverse.to_vec(), [1, 0, 1]);
    /// assert_eq!(found.counts.to_vec(), [1, 2]);
    /// ```
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn unique_all(&self) -> Result<Unique, Error> {
        let flat = self.ravel();
        let order = flat.argsort(0)?.to_vec();
        let (mut indices, mut counts, mut inverse) = (Vec::new(), Vec::new(), vec![0i64; order.len()]);
        with_element!(self.dtype(), T => {
            let values = flat.read::<T>()?;
            for (at, &place) in order.iter().enumerate() {
                if at == 0 || !same(&values[order[at - 1] as usize], &values[place as usize]) {
                    indices.push(place);
                    counts.push(0);
                }
                counts[indices.len() - 1] += 1;
                inverse[place as usize] = indices.len() as i64 - 1;
            }
        });
        let indices = Array::from(indices);
        let values = flat.take(&indices, 0)?;
        let inverse = Array::from(inverse).reshape(self.shape())?;
        Ok(Unique { values, indices, inverse, counts: Array::from(counts) })
    }

    /// The positions at which values must be inserted in this sorted vector to keep it sorted: before equal elements,
    /// or behind them (`right`).
    ///
    /// ```
    /// let x = numelt::AnyArray::from(vec![1, 3, 3]);
    /// let values = numelt::AnyArray::from(vec![3, 4]);
    /// assert_eq!(x.searchsorted(&values, false).unwrap().to_vec(), [1, 3]);
    /// assert_eq!(x.searchsorted(&values, true).unwrap().to_vec(), [3, 3]);
    /// ```
    ///
    /// # Errors
    /// If the array is not a vector; if there is not enough memory.
    pub fn searchsorted(&self, values: &AnyArray, right: bool) -> Result<Array<i64>, Error> {
        if self.ndim() != 1 {
            return Err(Error::Value("object too deep for desired array".into()));
        }
        let common = self.dtype().promote(values.dtype());
        let (sorted, sought) = (self.try_astype(common)?, values.try_astype(common)?);
        let shape: Vec<usize> = values.shape().iter().map(|&n| n as usize).collect();
        with_element!(common, T => {
            let sorted = sorted.read::<T>()?;
            let place = |value: &T| {
                let before = |other: &T| if right { other.order(value).is_le() } else { other.order(value).is_lt() };
                sorted.partition_point(before) as i64
            };
            let places = sought.read::<T>()?.iter().map(place).collect();
            Array::from_shape_vec(&shape, places)
        })
    }

    /// How often each of the integers from zero on occurs in a vector.
    ///
    /// ```
    /// assert_eq!(numelt::AnyArray::from(vec![0i64, 2, 2]).bincount().unwrap().to_vec(), [1, 0, 2]);
    /// ```
    ///
    /// # Errors
    /// If the array is not a vector of integers, or has negative elements; if there is not enough memory.
    pub fn bincount(&self) -> Result<Array<i64>, Error> {
        if !self.dtype().is_integer() && self.dtype() != DType::Bool {
            return Err(wrong_dtype(self.dtype(), DType::I64));
        }
        if self.ndim() != 1 {
            let words = if self.ndim() == 0 { "of too small depth" } else { "too deep" };
            return Err(Error::Value(format!("object {words} for desired array")));
        }
        let wide = self.try_astype(DType::I64)?;
        let values = wide.read::<i64>()?;
        if values.iter().any(|&value| value < 0) {
            return Err(Error::Value("'list' argument must have no negative elements".into()));
        }
        let most = values.iter().max().map_or(0, |&most| most as usize + 1);
        let mut counts = Vec::new();
        counts.try_reserve_exact(most).map_err(|_| numelt_ir::Error::OutOfMemory(8 * most))?;
        counts.resize(most, 0);
        values.iter().for_each(|&value| counts[value as usize] += 1);
        Ok(Array::from(counts))
    }
}

/// Rows of at least this many elements are sorted by the host engine, on all cores. For shorter ones, starting its
/// threads costs more than they save.
const LONG_ROW: usize = 1 << 14;

/// The stable order of a row.
fn order_of_row<T: Element>(row: &[T]) -> Vec<i64> {
    let mut order: Vec<i64> = (0..row.len() as i64).collect();
    if row.len() < LONG_ROW || !stable_order(row, &mut order) {
        order.sort_by(|&a, &b| row[a as usize].order(&row[b as usize]));
    }
    order
}

fn sort_row<T: Element>(row: &mut [T]) {
    if row.len() < LONG_ROW {
        return row.sort_by(T::order);
    }
    let values = row.to_vec();
    let order = order_of_row(&values);
    row.iter_mut().zip(order).for_each(|(to, from)| *to = values[from as usize]);
}

/// Whether two elements are equal. Zeros of both signs are; a NaN is not equal to another one, as the Python array API
/// standard demands.
fn same<T: Element>(a: &T, b: &T) -> bool {
    let is_nan = |value: &T| {
        let parts = match cast(value.into_scalar(), DType::C128) {
            Scalar::C128(value) => [value.re, value.im],
            other => unreachable!("a cast to complex128 gave {other:?}"),
        };
        parts.iter().any(|part| part.is_nan())
    };
    a.order(b).is_eq() && !is_nan(a)
}

/// The result of [`AnyArray::unique_all`].
///
/// ```
/// assert_eq!(numelt::arange(3).unique_all().unwrap().counts.to_vec(), [1, 1, 1]);
/// ```
#[derive(Debug, Clone)]
pub struct Unique {
    /// The different elements, sorted.
    pub values: AnyArray,
    /// The position of each value's first occurrence among all elements in C order.
    pub indices: Array<i64>,
    /// For each element, the index of its value.
    pub inverse: Array<i64>,
    /// The number of occurrences of each value.
    pub counts: Array<i64>,
}

impl<T: Element> Array<T> {
    /// [`AnyArray::sort`], with the type of the elements.
    ///
    /// ```
    /// assert_eq!(numelt::Array::from([3, 1, 2]).sort(0).unwrap().to_vec(), [1, 2, 3]);
    /// ```
    ///
    /// # Errors
    /// Those of that method.
    pub fn sort(&self, axis: i64) -> Result<Array<T>, Error> {
        self.as_any().sort(axis).map(Array::of)
    }
}
