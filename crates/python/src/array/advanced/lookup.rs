//! What a key selects: axes that index arrays pick from, axes that stay, and where the picked ones go.

use super::key::{Item, Key};
use crate::numpy::errors;
use numelt::Error;
use numelt::rules::shape;
use numelt::rules::slicing::{self, Part};
use numelt_ir::{Dims, MAX_RANK};
use numelt_runtime::ArrayView;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// An axis (or several, under a mask) that an index picks from.
pub struct Fancy {
    /// First axis of the array, for messages.
    pub axis: usize,
    /// Extents and strides of the axes.
    pub axes: SmallVec<[(i64, i64); 2]>,
    /// What picks.
    pub pick: Pick,
}

/// How elements of an axis are picked.
pub enum Pick {
    /// By an array of integers.
    Index(ArrayView),
    /// By a mask of the axes' shape: the positions of its true elements.
    Mask(ArrayView),
}

/// A key applied to an array.
pub struct Lookup {
    /// The array, its offset moved by slices and integers; shape and strides as they were.
    pub array: ArrayView,
    /// The picked axes, in order.
    pub fancy: SmallVec<[Fancy; 2]>,
    /// Single truth values: how many picks come before each, and its extent.
    pub truths: SmallVec<[(usize, i64); 1]>,
    /// Extents and strides of the other axes of the result.
    pub rest: (Dims, Dims),
    /// Number of other axes that come before the picked ones.
    pub before: usize,
    /// The key is one mask over all axes.
    pub whole_mask: bool,
}

/// Whether the picked axes stand together.
#[derive(PartialEq)]
enum Together {
    NoneYet,
    Now,
    Ended,
    Apart,
}

fn mask_mismatch(axis: usize, n: i64, m: i64) -> PyErr {
    PyIndexError::new_err(format!(
        "boolean index did not match indexed array along axis {axis}; size of axis is {n} but size of corresponding boolean axis is {m}"
    ))
}

impl Lookup {
    /// Applies a key that holds at least one array, mask or truth value.
    pub fn new(array: &ArrayView, key: &Key) -> PyResult<Lookup> {
        let rank = array.shape.len();
        let consumed: usize = key.items.iter().map(consumes).sum();
        let ellipses = key.items.iter().filter(|i| matches!(i, Item::Basic(Part::Ellipsis))).count();
        if ellipses > 1 {
            return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
        }
        if consumed > rank {
            return Err(errors::from_rules(Error::TooManyIndices { rank, indices: consumed }));
        }
        let mut this = Lookup {
            array: array.clone(),
            fancy: SmallVec::new(),
            truths: SmallVec::new(),
            rest: (Dims::new(), Dims::new()),
            before: 0,
            whole_mask: match &key.items[..] {
                [Item::Mask(mask)] => mask.shape == array.shape,
                [Item::Truth(_)] => rank == 0,
                _ => false,
            },
        };
        check_masks(array, key, rank - consumed)?;
        let (mut axis, mut together) = (0, Together::NoneYet);
        for item in &key.items {
            let picks = !matches!(item, Item::Basic(Part::Slice(..) | Part::NewAxis | Part::Ellipsis));
            together = match (together, picks) {
                (Together::NoneYet, true) => {
                    this.before = this.rest.0.len();
                    Together::Now
                }
                (Together::Now, false) => Together::Ended,
                (Together::Ended, true) => Together::Apart,
                (same, _) => same,
            };
            axis += this.item(item, axis, rank - consumed)?;
        }
        this.keep(axis..rank);
        if together == Together::Apart {
            this.before = 0;
        }
        Ok(this)
    }

    /// Picks from one axis by an index; the others stay.
    pub fn along(array: &ArrayView, axis: usize, index: ArrayView) -> Lookup {
        let mut this = Lookup {
            array: array.clone(),
            fancy: SmallVec::new(),
            truths: SmallVec::new(),
            rest: (Dims::new(), Dims::new()),
            before: axis,
            whole_mask: false,
        };
        this.keep(0..axis);
        this.keep(axis + 1..array.shape.len());
        let axes = SmallVec::from_slice(&[(array.shape[axis], array.strides[axis])]);
        this.fancy.push(Fancy { axis, axes, pick: Pick::Index(index) });
        this
    }

    /// Applies one item at an axis; the number of axes that it takes.
    fn item(&mut self, item: &Item, axis: usize, missing: usize) -> PyResult<usize> {
        match item {
            Item::Basic(Part::Int(index)) => {
                let n = self.array.shape[axis];
                let at = if *index < 0 { index + n } else { *index };
                if !(0..n).contains(&at) {
                    return Err(errors::from_rules(Error::IndexOutOfBounds { index: *index, axis, extent: n }));
                }
                self.array.offset += at * self.array.strides[axis];
                Ok(1)
            }
            Item::Basic(Part::Slice(start, stop, step)) => {
                let (first, n, step) = slicing::slice(self.array.shape[axis], *start, *stop, *step);
                self.array.offset += first * self.array.strides[axis];
                self.rest.0.push(n);
                self.rest.1.push(self.array.strides[axis] * step);
                Ok(1)
            }
            Item::Basic(Part::NewAxis) => {
                self.rest.0.push(1);
                self.rest.1.push(0);
                Ok(0)
            }
            Item::Basic(Part::Ellipsis) => {
                self.keep(axis..axis + missing);
                Ok(missing)
            }
            Item::Truth(truth) => {
                self.truths.push((self.fancy.len(), i64::from(*truth)));
                Ok(0)
            }
            Item::Array(index) => self.pick(axis, 1, Pick::Index(index.clone())),
            Item::Mask(mask) => self.pick(axis, mask.shape.len(), Pick::Mask(mask.clone())),
        }
    }

    fn pick(&mut self, axis: usize, count: usize, pick: Pick) -> PyResult<usize> {
        let axes = (axis..axis + count).map(|a| (self.array.shape[a], self.array.strides[a])).collect();
        self.fancy.push(Fancy { axis, axes, pick });
        Ok(count)
    }

    fn keep(&mut self, axes: std::ops::Range<usize>) {
        self.rest.0.extend_from_slice(&self.array.shape[axes.clone()]);
        self.rest.1.extend_from_slice(&self.array.strides[axes]);
    }

    /// Common shape of what the picks broadcast to; `shapes` are those of their indices, in order.
    pub fn picked_shape(&self, shapes: &[&[i64]]) -> PyResult<Dims> {
        let mut all: SmallVec<[&[i64]; 4]> = SmallVec::new();
        let mut truths = self.truths.iter().peekable();
        for (at, fancy) in self.fancy.iter().enumerate() {
            while let Some((_, n)) = truths.next_if(|t| t.0 <= at) {
                all.push(std::slice::from_ref(n));
            }
            // A mask counts as one index per axis.
            all.extend(std::iter::repeat_n(shapes[at], fancy.axes.len()));
        }
        all.extend(truths.map(|(_, n)| std::slice::from_ref(n)));
        let picked = shape::broadcast(&all).ok_or_else(|| {
            let list: String = all.iter().map(|s| numelt::shape_text(s) + " ").collect();
            PyIndexError::new_err(format!(
                "shape mismatch: indexing arrays could not be broadcast together with shapes {list}"
            ))
        })?;
        let rank = picked.len() + self.rest.0.len();
        if rank > MAX_RANK {
            let text =
                format!("number of dimensions must be within [0, {MAX_RANK}], indexing result would have {rank}");
            return Err(PyIndexError::new_err(text));
        }
        Ok(picked)
    }

    /// `picked` among the other axes: what is given per picked and per other axis, in the result's order.
    pub fn arrange(&self, picked: &[i64], rest: &[i64]) -> Dims {
        rest[..self.before].iter().chain(picked).chain(&rest[self.before..]).copied().collect()
    }
}

/// Masks must have the extents of their axes; NumPy looks at that before it looks at any integer.
fn check_masks(array: &ArrayView, key: &Key, missing: usize) -> PyResult<()> {
    let mut axis = 0;
    for item in &key.items {
        if let Item::Mask(mask) = item {
            for (k, &m) in mask.shape.iter().enumerate() {
                let n = array.shape[axis + k];
                // a mask without elements passes: it picks nothing
                if m != n && m != 0 {
                    return Err(mask_mismatch(axis + k, n, m));
                }
            }
        }
        axis += if matches!(item, Item::Basic(Part::Ellipsis)) { missing } else { consumes(item) };
    }
    Ok(())
}

fn consumes(item: &Item) -> usize {
    match item {
        Item::Basic(Part::Int(_) | Part::Slice(..)) | Item::Array(_) => 1,
        Item::Basic(Part::NewAxis | Part::Ellipsis) | Item::Truth(_) => 0,
        Item::Mask(mask) => mask.shape.len(),
    }
}
