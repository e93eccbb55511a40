//! The meaning of a key: the axes from which index arrays select, the axes that stay, and the axes of the result.

use super::KeyItem;
use crate::error::{Error, shape_text};
use crate::rules::axes;
use crate::rules::shape;
use crate::rules::slicing::{self, Part};
use numelt_ir::{Dims, MAX_RANK};
use numelt_runtime::ArrayView;
use smallvec::SmallVec;

/// An axis (or several, for a mask) from which an index selects.
#[derive(Debug, Clone)]
pub struct AdvancedIndex {
    /// The first axis of the array, for messages.
    pub axis: usize,
    /// Extents and strides of the axes.
    pub axes: SmallVec<[(i64, i64); 2]>,
    /// The index.
    pub selector: Selector,
}

/// How elements of an axis are selected.
#[derive(Debug, Clone)]
pub enum Selector {
    /// By an array of integers.
    Index(ArrayView),
    /// By a mask of the axes' shape: the positions of its true elements.
    Mask(ArrayView),
}

/// A key applied to an array.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// The array with its offset moved by slices and integers; shape and strides are the original ones.
    pub array: ArrayView,
    /// The axes with indices, in order.
    pub advanced: SmallVec<[AdvancedIndex; 2]>,
    /// Single truth values: the number of indices before each one, and its extent (one for true, zero for false).
    pub truths: SmallVec<[(usize, i64); 1]>,
    /// Extents and strides of the other axes of the result.
    pub rest: (Dims, Dims),
    /// The number of other axes before the selected ones.
    pub before: usize,
    /// Whether the key is one mask over all axes.
    pub whole_mask: bool,
}

/// Whether the items that select (everything but slices, new axes and ellipses) are adjacent, as far as the key has
/// been read.
#[derive(PartialEq)]
enum Adjacency {
    /// There was no such item.
    None,
    /// The last item was one.
    Open,
    /// A group of them has ended.
    Closed,
    /// There are several groups.
    Apart,
}

fn mask_mismatch(axis: usize, n: i64, m: i64) -> Error {
    Error::Index(format!(
        "boolean index did not match indexed array along axis {axis}; size of axis is {n} but size of corresponding boolean axis is {m}"
    ))
}

impl Lookup {
    /// Applies the items of a key, at least one of which is an array, a mask or a truth value.
    ///
    /// # Errors
    /// NumPy's IndexError for a key that does not fit the array's axes.
    pub fn new(array: &ArrayView, items: &[KeyItem]) -> Result<Lookup, Error> {
        let rank = array.shape.len();
        let consumed: usize = items.iter().map(consumes).sum();
        let ellipses = items.iter().filter(|i| matches!(i, KeyItem::Basic(Part::Ellipsis))).count();
        if ellipses > 1 {
            return Err(Error::Index("an index can only have a single ellipsis ('...')".into()));
        }
        if consumed > rank {
            return Err(Error::TooManyIndices { rank, indices: consumed });
        }
        let mut this = Lookup {
            array: array.clone(),
            advanced: SmallVec::new(),
            truths: SmallVec::new(),
            rest: (Dims::new(), Dims::new()),
            before: 0,
            whole_mask: match items {
                [KeyItem::Mask(mask)] => mask.shape == array.shape,
                [KeyItem::Truth(_)] => rank == 0,
                _ => false,
            },
        };
        check_masks(array, items, rank - consumed)?;
        let (mut axis, mut adjacency) = (0, Adjacency::None);
        for item in items {
            let selects = !matches!(item, KeyItem::Basic(Part::Slice(..) | Part::NewAxis | Part::Ellipsis));
            adjacency = match (adjacency, selects) {
                (Adjacency::None, true) => {
                    this.before = this.rest.0.len();
                    Adjacency::Open
                }
                (Adjacency::Open, false) => Adjacency::Closed,
                (Adjacency::Closed, true) => Adjacency::Apart,
                (same, _) => same,
            };
            axis += this.item(item, axis, rank - consumed)?;
        }
        this.keep(axis..rank);
        if adjacency == Adjacency::Apart {
            this.before = 0;
        }
        Ok(this)
    }

    /// Selects from one axis by an index; the others stay.
    pub fn along(array: &ArrayView, axis: usize, index: ArrayView) -> Lookup {
        let mut this = Lookup {
            array: array.clone(),
            advanced: SmallVec::new(),
            truths: SmallVec::new(),
            rest: (Dims::new(), Dims::new()),
            before: axis,
            whole_mask: false,
        };
        this.keep(0..axis);
        this.keep(axis + 1..array.shape.len());
        let axes = SmallVec::from_slice(&[(array.shape[axis], array.strides[axis])]);
        this.advanced.push(AdvancedIndex { axis, axes, selector: Selector::Index(index) });
        this
    }

    /// Applies one item at an axis; returns the number of axes that it uses.
    fn item(&mut self, item: &KeyItem, axis: usize, missing: usize) -> Result<usize, Error> {
        match item {
            KeyItem::Basic(Part::Int(index)) => {
                let n = self.array.shape[axis];
                let at = if *index < 0 { index + n } else { *index };
                if !(0..n).contains(&at) {
                    return Err(Error::IndexOutOfBounds { index: *index, axis, extent: n });
                }
                self.array.offset += at * self.array.strides[axis];
                Ok(1)
            }
            KeyItem::Basic(Part::Slice(start, stop, step)) => {
                let (first, n, step) = slicing::slice(self.array.shape[axis], *start, *stop, *step);
                self.array.offset += first * self.array.strides[axis];
                self.rest.0.push(n);
                self.rest.1.push(self.array.strides[axis] * step);
                Ok(1)
            }
            KeyItem::Basic(Part::NewAxis) => {
                self.rest.0.push(1);
                self.rest.1.push(0);
                Ok(0)
            }
            KeyItem::Basic(Part::Ellipsis) => {
                self.keep(axis..axis + missing);
                Ok(missing)
            }
            KeyItem::Truth(truth) => {
                self.truths.push((self.advanced.len(), i64::from(*truth)));
                Ok(0)
            }
            KeyItem::Array(index) => self.add_advanced(axis, 1, Selector::Index(index.clone())),
            KeyItem::Mask(mask) => self.add_advanced(axis, mask.shape.len(), Selector::Mask(mask.clone())),
        }
    }

    fn add_advanced(&mut self, axis: usize, count: usize, selector: Selector) -> Result<usize, Error> {
        let axes = (axis..axis + count).map(|a| (self.array.shape[a], self.array.strides[a])).collect();
        self.advanced.push(AdvancedIndex { axis, axes, selector });
        Ok(count)
    }

    fn keep(&mut self, axes: std::ops::Range<usize>) {
        self.rest.0.extend_from_slice(&self.array.shape[axes.clone()]);
        self.rest.1.extend_from_slice(&self.array.strides[axes]);
    }

    /// The common shape of the indices; `shapes` are their shapes, in order.
    ///
    /// # Errors
    /// If the shapes do not broadcast; if there are more axes than an array may have.
    pub fn picked_shape(&self, shapes: &[&[i64]]) -> Result<Dims, Error> {
        let mut all: SmallVec<[&[i64]; 4]> = SmallVec::new();
        let mut truths = self.truths.iter().peekable();
        for (at, advanced) in self.advanced.iter().enumerate() {
            while let Some((_, n)) = truths.next_if(|t| t.0 <= at) {
                all.push(std::slice::from_ref(n));
            }
            // a mask counts as one index per axis
            all.extend(std::iter::repeat_n(shapes[at], advanced.axes.len()));
        }
        all.extend(truths.map(|(_, n)| std::slice::from_ref(n)));
        let picked = shape::broadcast(&all).ok_or_else(|| {
            let list: String = all.iter().map(|s| shape_text(s) + " ").collect();
            Error::Index(format!("shape mismatch: indexing arrays could not be broadcast together with shapes {list}"))
        })?;
        let rank = picked.len() + self.rest.0.len();
        if rank > MAX_RANK {
            let text =
                format!("number of dimensions must be within [0, {MAX_RANK}], indexing result would have {rank}");
            return Err(Error::Index(text));
        }
        Ok(picked)
    }

    /// A lookup's result with the selected axes first. NumPy makes the result in this order, and returns a view of it.
    pub fn picked_first(&self, result: &ArrayView) -> ArrayView {
        let (rank, others) = (result.shape.len(), self.rest.0.len());
        let after = self.before + rank - others;
        let order: axes::AxisList = (self.before..after).chain(0..self.before).chain(after..rank).collect();
        axes::permuted(result, &order)
    }

    /// Merges values for the selected axes and for the other axes into the result's order.
    pub fn arrange(&self, picked: &[i64], rest: &[i64]) -> Dims {
        rest[..self.before].iter().chain(picked).chain(&rest[self.before..]).copied().collect()
    }
}

/// Checks that masks have the extents of their axes. NumPy checks this before any integer.
fn check_masks(array: &ArrayView, items: &[KeyItem], missing: usize) -> Result<(), Error> {
    let mut axis = 0;
    for item in items {
        if let KeyItem::Mask(mask) = item {
            for (k, &m) in mask.shape.iter().enumerate() {
                let n = array.shape[axis + k];
                // a mask without elements passes, because it selects nothing
                if m != n && m != 0 {
                    return Err(mask_mismatch(axis + k, n, m));
                }
            }
        }
        axis += if matches!(item, KeyItem::Basic(Part::Ellipsis)) { missing } else { consumes(item) };
    }
    Ok(())
}

fn consumes(item: &KeyItem) -> usize {
    match item {
        KeyItem::Basic(Part::Int(_) | Part::Slice(..)) | KeyItem::Array(_) => 1,
        KeyItem::Basic(Part::NewAxis | Part::Ellipsis) | KeyItem::Truth(_) => 0,
        KeyItem::Mask(mask) => mask.shape.len(),
    }
}
