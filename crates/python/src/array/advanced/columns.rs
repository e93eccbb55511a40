//! Positions along one axis, read from a part of a key.
//!
//! In: an int, a short list of ints, or a vector of integers that is in memory. Out: the positions, unchanged.

use crate::array::basic;
use crate::object::ndarray::{NdArray, exact_native};
use crate::record::front::Attached;
use numelt::indexing::each_integer;
use numelt_ir::DType;
use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::SmallVec;

/// The longest list or vector that is read here.
const LISTED: usize = 32;
const INDICES: i64 = 4096;

/// The most axes of a key that has positions for each axis.
pub const AXES: usize = 4;

/// Positions along one axis.
pub enum Column {
    /// The same position for all elements.
    One(i64),
    /// A position for each element.
    Each(SmallVec<[i64; 16]>),
}

impl Column {
    /// The positions that a part of a key states; `None` for other parts.
    pub fn of(py: Python<'_>, part: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
        if let Some(at) = basic::integer(part) {
            return Ok(Some(Column::One(at)));
        }
        let mut places = SmallVec::new();
        if let Ok(list) = part.cast_exact::<PyList>() {
            for item in list.iter().take(LISTED + 1) {
                let Some(at) = basic::integer(&item).filter(|_| places.len() < LISTED) else { return Ok(None) };
                places.push(at);
            }
        } else {
            let Some(view) = exact_native(part).and_then(NdArray::view) else { return Ok(None) };
            let plain = view.dtype.is_integer() && view.dtype != DType::U64 && view.shape.len() == 1;
            if !plain || view.size() > INDICES || !view.base.is_readable() {
                return Ok(None);
            }
            each_integer(&Attached(py), view, |at| (places.push(at), true).1)?;
        }
        Ok((!places.is_empty()).then_some(Column::Each(places)))
    }

    /// How many positions there are; `None` if one holds for all elements.
    pub fn len(&self) -> Option<usize> {
        match self {
            Column::One(_) => None,
            Column::Each(places) => Some(places.len()),
        }
    }
}
