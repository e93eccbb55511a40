//! Indexing with arrays and masks: reading is a recorded gather, writing a selection or a scatter.
//!
//! In: an array, a key that is not basic, perhaps a value. Out: a new array, or the array changed. `key` takes the
//! key apart, `lookup` applies it to the array's axes, `positions` checks bounds and finds where the
//! elements lie, `scatter` writes. What this module declines (`None`, `false`) is NumPy's, to do or to refuse.

mod columns;
mod few;
mod few_by_lookup;
mod functions;
mod key;
mod lookup;
mod memory;
mod positions;
mod scatter;

use crate::array::index;
use crate::record::front::Attached;
use numelt::Front;

use crate::array::ndarray::{NdArray, exact_native, wrap_new, wrap_window};
use crate::record::front;
use crate::record::run;
use key::Key;
use lookup::Lookup;
use numelt::rules::axes::permuted;
use numelt::rules::shape;
use numelt::rules::shape::Order;
use numelt_ir::{Axes, Dims, MAX_RANK, Op, c_strides};
use numelt_runtime::{ArrayView, Input};
use positions::Positions;
use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::SmallVec;

pub use functions::register;
pub use scatter::set;

/// `array[key]`, or `None` where NumPy has to look at it.
pub fn get<'py>(
    array: &Bound<'py, NdArray>,
    view: &ArrayView,
    key: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    if let Some(one) = exact_native(key).and_then(NdArray::view)
        && let Some(result) = few::quick(py, view, one)?
    {
        return wrap_new(py, result).map(Some);
    }
    if let Ok(list) = key.cast_exact::<PyList>()
        && let Some(result) = few::listed(py, view, list)?
    {
        return wrap_new(py, result).map(Some);
    }
    if let Some(result) = few::paired(py, view, key)? {
        return wrap_new(py, result).map(Some);
    }
    let Some(key) = Key::parse(key)? else { return Ok(None) };
    if key.is_basic() {
        let selection = index::select(view, &key.parts())?;
        if selection.scalar {
            return index::read_element(py, &selection.view).map(Some);
        }
        return wrap_new(py, Attached(py).copied(&selection.view, view.dtype, Order::K)?).map(Some);
    }
    let lookup = Lookup::new(view, &key)?;
    if let Some(result) = few_by_lookup::get(py, &lookup)? {
        return wrap(py, &lookup, result).map(Some);
    }
    let positions = Positions::of(py, &lookup)?;
    if lookup.rest.0.len() + positions.shape.len() >= MAX_RANK {
        return Ok(None);
    }
    let strides = result_strides(&lookup, &positions);
    wrap(py, &lookup, gather(py, &lookup, &positions, strides)?).map(Some)
}

/// A lookup's result as an object. NumPy puts the picked axes first and, where they belong elsewhere, gives a view of that.
fn wrap<'py>(py: Python<'py>, lookup: &Lookup, result: ArrayView) -> PyResult<Bound<'py, PyAny>> {
    if lookup.before == 0 {
        return wrap_new(py, result);
    }
    let picked = result.shape.len() - lookup.rest.0.len();
    let order: SmallVec<[usize; 4]> = (lookup.before..lookup.before + picked)
        .chain(0..lookup.before)
        .chain(lookup.before + picked..result.shape.len())
        .collect();
    wrap_window(py, permuted(&result, &order), result)
}

/// Strides of a new array for a lookup's result: picked axes outside in C order, the others as they lie in the
/// array; without others, or with one element along them, the memory order of
/// the indices.
fn result_strides(lookup: &Lookup, positions: &Positions) -> Dims {
    strides_of(lookup, &positions.shape, &positions.inputs)
}

/// [`result_strides`] for picks of a shape by these indices.
fn strides_of(lookup: &Lookup, picked: &[i64], indices: &[ArrayView]) -> Dims {
    let itemsize = lookup.array.dtype.size() as i64;
    let extents = lookup.arrange(picked, &lookup.rest.0);
    if shape::size(&extents) == 0 {
        return c_strides(&extents, itemsize);
    }
    if shape::size(&lookup.rest.0) == 1 {
        let inputs: SmallVec<[&ArrayView; 2]> = indices.iter().collect();
        let ones = Dims::from_elem(itemsize, lookup.rest.0.len());
        return lookup.arrange(&shape::k_order_strides(picked, itemsize, &inputs), &ones);
    }
    let rest = shape::window(&lookup.array, 0, lookup.rest.0.clone(), lookup.rest.1.clone());
    let inner = shape::k_order_strides(&rest.shape, itemsize, &[&rest]);
    let block = rest.shape.iter().map(|&n| n.max(1)).product::<i64>() * itemsize;
    lookup.arrange(&c_strides(picked, block), &inner)
}

/// The picked elements as a new array with these strides.
fn gather(py: Python<'_>, lookup: &Lookup, positions: &Positions, strides: Dims) -> PyResult<ArrayView> {
    let dtype = lookup.array.dtype;
    let extents = lookup.arrange(&positions.shape, &lookup.rest.0);
    crate::numpy::errors::check_bytes(py, &extents, dtype)?;
    let out = front::fresh(py, dtype, &extents, strides);
    if out.size() == 0 {
        return Ok(out);
    }
    let step = if positions.all { positions.axis.1 } else { 0 };
    let still = Dims::from_elem(step, positions.shape.len());
    let mut source = shape::window(&lookup.array, positions.offset, extents, lookup.arrange(&still, &lookup.rest.1));
    let Some(index) = positions.index.as_ref().filter(|_| !positions.all) else {
        run::record(py, Op::Copy, dtype, &out, &[Input::Array(&source)], Axes::default())?;
        return Ok(out);
    };
    let moves = shape::stretched_strides(index, &positions.shape);
    let fixed = Dims::from_elem(0, lookup.rest.0.len());
    let index = shape::window(index, index.offset, source.shape.clone(), lookup.arrange(&moves, &fixed));
    source.shape.insert(0, positions.axis.0);
    source.strides.insert(0, positions.axis.1);
    run::record(py, Op::Gather, dtype, &out, &[Input::Array(&source), Input::Array(&index)], Axes::default())?;
    Ok(out)
}
