//! Strided views of a base. A view states where in the base's memory each element of an operand is.

use crate::{BaseId, DType};
use smallvec::SmallVec;

/// Extents or strides, outermost axis first. Up to four are stored inline.
pub type Dims = SmallVec<[i64; 4]>;

/// A strided view of a base. Offset and strides are in bytes, so that real parts, fields and views with another dtype
/// are views like any other. Strides may be zero or negative.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// The base, by its number in the program.
    pub base: BaseId,
    /// Element type.
    pub dtype: DType,
    /// Byte position of the element with all indices zero.
    pub offset: i64,
    /// Extents.
    pub shape: Dims,
    /// Byte distance between neighbours along each axis.
    pub strides: Dims,
}

impl Clone for View {
    /// Copies the extents with one copy of memory; the derived form would do so one by one.
    fn clone(&self) -> View {
        let (shape, strides) = (Dims::from_slice(&self.shape), Dims::from_slice(&self.strides));
        View { base: self.base, dtype: self.dtype, offset: self.offset, shape, strides }
    }
}

impl View {
    /// A C-contiguous view of a whole base.
    pub fn contiguous(base: BaseId, dtype: DType, shape: &[i64]) -> View {
        View { base, dtype, offset: 0, shape: Dims::from_slice(shape), strides: c_strides(shape, dtype.size() as i64) }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn size(&self) -> i64 {
        self.shape.iter().product()
    }

    /// The bytes of the elements, counting each index, including broadcast ones.
    pub fn nbytes(&self) -> i64 {
        self.size() * self.dtype.size() as i64
    }

    /// Number of distinct elements: axes with stride zero count once.
    pub fn unique_size(&self) -> i64 {
        self.shape.iter().zip(&self.strides).map(|(&n, &s)| if s == 0 { n.min(1) } else { n }).product()
    }

    /// The half-open byte range `[low, high)` that the view touches; `None` if it is empty.
    pub fn byte_range(&self) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.offset, self.offset);
        for (&n, &s) in self.shape.iter().zip(&self.strides) {
            if n == 0 {
                return None;
            }
            let reach = (n - 1) * s;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        Some((low, high + self.dtype.size() as i64))
    }

    /// Whether the elements are contiguous and in C order (axes of extent one do not matter).
    pub fn is_c_contiguous(&self) -> bool {
        let mut expected = self.dtype.size() as i64;
        for (&n, &s) in self.shape.iter().zip(&self.strides).rev() {
            if n == 0 {
                return true;
            }
            if n != 1 {
                if s != expected {
                    return false;
                }
                expected *= n;
            }
        }
        true
    }

    /// The same view with another shape, in which axes of extent one are repeated by NumPy's broadcasting rule; `None`
    /// if the shapes do not fit.
    pub fn broadcast_to(&self, shape: &[i64]) -> Option<View> {
        let lead = shape.len().checked_sub(self.rank())?;
        let mut strides = Dims::from_elem(0, shape.len());
        for (axis, (&n, &s)) in self.shape.iter().zip(&self.strides).enumerate() {
            if n == shape[lead + axis] {
                strides[lead + axis] = s;
            } else if n != 1 {
                return None;
            }
        }
        Some(View { base: self.base, dtype: self.dtype, offset: self.offset, shape: Dims::from_slice(shape), strides })
    }

    /// The view that the listed axes span from the element at `offset`, with the other axes fixed.
    pub fn of_axes(&self, axes: &[usize], offset: i64) -> View {
        View {
            base: self.base,
            dtype: self.dtype,
            offset,
            shape: axes.iter().map(|&axis| self.shape[axis]).collect(),
            strides: axes.iter().map(|&axis| self.strides[axis]).collect(),
        }
    }

    /// Byte offset of every element, in C order.
    pub fn offsets(&self) -> Offsets<'_> {
        Offsets { view: self, index: Dims::from_elem(0, self.rank()), at: self.offset, left: self.size() }
    }

    /// Byte offset of the element at a multi-index.
    pub fn at(&self, index: &[i64]) -> i64 {
        self.offset + index.iter().zip(&self.strides).map(|(i, s)| i * s).sum::<i64>()
    }
}

/// Iterator over the byte offsets of a view's elements; see [`View::offsets`].
#[derive(Debug, Clone)]
pub struct Offsets<'a> {
    view: &'a View,
    index: Dims,
    at: i64,
    left: i64,
}

impl Iterator for Offsets<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1).filter(|left| *left >= 0)?;
        let at = self.at;
        for axis in (0..self.view.rank()).rev() {
            self.index[axis] += 1;
            self.at += self.view.strides[axis];
            if self.index[axis] < self.view.shape[axis] {
                break;
            }
            self.at -= self.view.strides[axis] * self.view.shape[axis];
            self.index[axis] = 0;
        }
        Some(at)
    }
}

/// Strides of a dense C-ordered array.
#[inline]
pub fn c_strides(shape: &[i64], itemsize: i64) -> Dims {
    let mut strides = Dims::from_elem(0, shape.len());
    let mut step = itemsize;
    for axis in (0..shape.len()).rev() {
        strides[axis] = step;
        step *= shape[axis].max(1);
    }
    strides
}

/// C-contiguous strides, unless they do not fit an i64.
pub(crate) fn dense_strides(shape: &[i64], dtype: DType) -> Option<Dims> {
    let itemsize = dtype.size() as i64;
    shape.iter().try_fold(itemsize, |step, &n| step.checked_mul(n.max(1)))?;
    Some(c_strides(shape, itemsize))
}

/// The strides in bytes of a new array in C order; all zero if it has no elements, as in NumPy.
pub fn new_strides(shape: &[i64], itemsize: i64) -> Dims {
    c_strides(shape, if shape.contains(&0) { 0 } else { itemsize })
}
