//! Parsing of keys with index arrays and masks.
//!
//! In: any key that is not basic. Out: its items, or `None` if NumPy has to examine it (usually to raise an error).

use crate::array::basic;
use crate::array::operand::Operand;
use crate::numpy::convert;
use crate::record::front;
use crate::record::run;
pub use numelt::indexing::KeyItem;
use numelt::rules::slicing::Part;
use numelt_ir::{DType, Scalar};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use smallvec::SmallVec;

/// From this number of arrays on, a key has too many for NumPy's iterator.
const MOST: usize = 64;

/// A parsed key.
pub struct Key {
    /// Its items in order.
    pub items: SmallVec<[KeyItem; 4]>,
    /// Whether an integer was given as an array without axes. The result is then a copy, never a view.
    pub copies: bool,
}

impl Key {
    /// Parses a key.
    pub fn parse(key: &Bound<'_, PyAny>) -> PyResult<Option<Key>> {
        let mut parsed = Key { items: SmallVec::new(), copies: false };
        if let Ok(tuple) = key.cast_exact::<PyTuple>() {
            for item in tuple {
                if !parsed.push(&item)? {
                    return Ok(None);
                }
            }
            let picks = parsed.items.iter().filter(|item| !matches!(item, KeyItem::Basic(_))).count();
            return Ok((picks < MOST).then_some(parsed));
        }
        Ok(parsed.push(key)?.then_some(parsed))
    }

    /// Whether all items are basic.
    pub fn is_basic(&self) -> bool {
        self.items.iter().all(|item| matches!(item, KeyItem::Basic(_)))
    }

    /// The items of a basic key.
    pub fn parts(&self) -> SmallVec<[Part; 4]> {
        self.items.iter().filter_map(KeyItem::part).collect()
    }

    fn push(&mut self, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Some(part) = basic::part(item)? {
            self.items.push(KeyItem::Basic(part));
            return Ok(true);
        }
        let py = item.py();
        // a float or a string is not an index, although an array can be made of it
        let Some(operand) = Operand::extract(item)? else { return Ok(false) };
        let view = match &operand {
            Operand::Array(array) => array.get().view(),
            Operand::Value(_) | Operand::Weak(..) => None,
        };
        let Some(view) = view else {
            let truth = match &operand {
                Operand::Value(Scalar::Bool(truth)) => Some(*truth),
                Operand::Weak(..) => item.extract::<bool>().ok(),
                Operand::Value(_) | Operand::Array(_) => None,
            };
            self.items.extend(truth.map(KeyItem::Truth));
            return Ok(truth.is_some());
        };
        let is_sequence = item.is_exact_instance_of::<PyList>() || item.is_exact_instance_of::<PyTuple>();
        if view.dtype != DType::Bool && !view.dtype.is_integer() {
            // an empty list counts as a list of integers
            let empty = is_sequence && view.size() == 0;
            if empty {
                self.items.push(KeyItem::Array(front::like_inputs(py, DType::I64, &view.shape, &[])));
            }
            return Ok(empty);
        }
        if view.shape.is_empty() {
            let value = run::read_scalar(py, &view.base, view.dtype, view.offset)?;
            self.items.push(match (value, convert::cast(value, DType::I64)) {
                (Scalar::Bool(truth), _) => KeyItem::Truth(truth),
                (_, Scalar::I64(index)) => KeyItem::Basic(Part::Int(index)),
                (_, _) => return Ok(false),
            });
            self.copies |= view.dtype != DType::Bool;
            return Ok(true);
        }
        let mask = view.dtype == DType::Bool;
        self.items.push(if mask { KeyItem::Mask(view.clone()) } else { KeyItem::Array(view.clone()) });
        Ok(true)
    }
}
