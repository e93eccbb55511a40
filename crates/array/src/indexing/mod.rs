//! Indexing with arrays and masks (NumPy's advanced indexing). Reading is a recorded gather; writing is a recorded
//! `where` or a scatter.
//!
//! `lookup` applies the key to the array's axes, `positions` checks bounds and computes where the elements are,
//! `gather` reads, and `scatter` writes.

mod elements;
mod gather;
mod lookup;
mod positions;
mod scatter;

pub use elements::{each_integer, walk};
pub use gather::{Mode, gather, strides_of, take};
pub use lookup::{AdvancedIndex, Lookup, Selector};
pub use positions::{
    CheckOrder, Indices, Positions, bounds, checked_positions, column, compute, first_outside, true_positions,
    unraveled,
};
pub use scatter::{Assigned, combine_at, scatter_of, set, stored};

use crate::rules::slicing::Part;
use numelt_runtime::ArrayView;

/// One item of a key: of what is between the brackets of `array[...]`.
#[derive(Debug, Clone)]
pub enum KeyItem {
    /// An integer, a slice, a new axis or an ellipsis.
    Basic(Part),
    /// An array of integers, at least one-dimensional.
    Array(ArrayView),
    /// An array of truth values, at least one-dimensional.
    Mask(ArrayView),
    /// A single truth value.
    Truth(bool),
}

impl KeyItem {
    /// The basic item, if this is one; `None` for arrays, masks and truth values.
    pub fn part(&self) -> Option<Part> {
        match self {
            KeyItem::Basic(part) => Some(*part),
            KeyItem::Array(_) | KeyItem::Mask(_) | KeyItem::Truth(_) => None,
        }
    }
}
