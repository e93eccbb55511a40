//! Reading and writing a few elements of any array by arrays of integers or a mask, without recording.
//!
//! In: a lookup of an array, and indices that no pending work writes. Out: a new array with memory, or `None` if
//! recording is better; of an assignment, whether it has been done.

use super::few::{Distances, FEW, Picked, Values, copied, is_open};
use super::key::KeyItem;
use crate::numpy::errors;
use crate::record::front::{self, Attached};
use crate::record::run;
use numelt::Error;
use numelt::indexing::{AdvancedIndex, CheckOrder, Lookup, Selector, each_integer, first_outside, strides_of, walk};
use numelt::rules::shape;
use numelt_ir::{DType, Dims, MAX_RANK};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// What the indices of a lookup select: one place for each of them, in C order.
struct Selection {
    /// The byte distance of each place from position zero of the axes that the indices select from.
    bytes: Distances,
    /// The common shape of the indices.
    extents: Dims,
    /// The indices, broadcast to that shape.
    indices: SmallVec<[ArrayView; 2]>,
}

impl Selection {
    /// The selection of a lookup by one mask, or by arrays of integers, of few elements in all.
    fn of(py: Python<'_>, lookup: &Lookup) -> PyResult<Option<Selection>> {
        let rest = shape::size(&lookup.rest.0);
        if !lookup.truths.is_empty() || rest == 0 || !lookup.array.base.is_readable() {
            return Ok(None);
        }
        let mut shapes: SmallVec<[&[i64]; 4]> = SmallVec::new();
        for advanced in &lookup.advanced {
            let (Selector::Index(index) | Selector::Mask(index)) = &advanced.selector;
            if !index.base.is_readable()
                || (lookup.advanced.len() > 1 && matches!(advanced.selector, Selector::Mask(_)))
            {
                return Ok(None);
            }
            shapes.push(&index.shape);
        }
        // indices that do not go together are reported where lookups are recorded
        let Some(extents) = shape::broadcast(&shapes) else { return Ok(None) };
        let (n, rank) = (shape::size(&extents), extents.len() + lookup.rest.0.len());
        if n == 0 || n * rest > FEW || rank > MAX_RANK {
            return Ok(None);
        }
        let broadcast = |advanced: &AdvancedIndex| {
            let (Selector::Index(index) | Selector::Mask(index)) = &advanced.selector;
            shape::window(index, index.offset, extents.clone(), shape::broadcast_strides(index, &extents))
        };
        let mut indices: SmallVec<[ArrayView; 2]> = lookup.advanced.iter().map(broadcast).collect();
        if let ([advanced], [index]) = (&lookup.advanced[..], &mut indices[..]) {
            let Some((bytes, extents)) = displacements(py, advanced, index, CheckOrder::of_reading(lookup))? else {
                return Ok(None);
            };
            let moves = index.strides.iter().copied().take(extents.len()).collect();
            *index = shape::window(index, 0, extents.clone(), moves);
            return Ok(Some(Selection { bytes, extents, indices }));
        }
        let mut bytes = Distances::from_elem(0, n as usize);
        for (advanced, index) in lookup.advanced.iter().zip(&indices) {
            let (n, stride) = advanced.axes[0];
            let mut places = bytes.iter_mut();
            let mut inside = true;
            each_integer(&Attached(py), index, |at| {
                let Some(at) = numelt::rules::slicing::within(at, n) else {
                    inside = false;
                    return false;
                };
                places.next().map(|place| *place += (at * stride) as isize).is_some()
            })?;
            if !inside {
                return Ok(None);
            }
        }
        Ok(Some(Selection { bytes, extents, indices }))
    }

    /// The byte distances that belong to the axes of the selection, and those of the others, of an array with the
    /// shape of a lookup's result.
    fn parts(&self, lookup: &Lookup, strides: &[i64]) -> (ArrayView, ArrayView) {
        let (before, after) = (lookup.before, lookup.before + self.extents.len());
        let across = strides[before..after].iter().copied().collect();
        let along = strides[..before].iter().chain(&strides[after..]).copied().collect();
        let part = |extents: &Dims, strides| shape::window(&lookup.array, 0, extents.clone(), strides);
        (part(&self.extents, across), part(&lookup.rest.0, along))
    }
}

/// For each element of two views of one shape, in C order, its byte distances in both.
fn paired(one: &ArrayView, other: &ArrayView) -> SmallVec<[(isize, isize); 16]> {
    let (mut first, mut second) = (SmallVec::<[isize; 16]>::new(), SmallVec::<[isize; 16]>::new());
    walk(one, 0, |at| (first.push(at as isize), true).1);
    walk(other, 0, |at| (second.push(at as isize), true).1);
    first.into_iter().zip(second).collect()
}

/// The selected elements of a lookup with arrays of integers or one mask.
pub fn get(py: Python<'_>, lookup: &Lookup) -> PyResult<Option<ArrayView>> {
    let Some(selection) = Selection::of(py, lookup)? else { return Ok(None) };
    let dtype = lookup.array.dtype;
    let itemsize = dtype.size() as i64;
    let strides = strides_of(lookup, &selection.extents, &selection.indices);
    let out = front::fresh(py, dtype, &lookup.arrange(&selection.extents, &lookup.rest.0), strides);
    if out.size() == 0 {
        return Ok(Some(out));
    }
    let (across, along) = selection.parts(lookup, &out.strides);
    let source = shape::window(&lookup.array, 0, lookup.rest.0.clone(), lookup.rest.1.clone());
    // the byte distances of the elements that one place selects, in C order
    let steps = paired(&source, &along);
    let dense = steps.len() == 1 && shape::is_c_contiguous(&out.shape, &out.strides, itemsize);
    copied(py, &lookup.array, &out.base, |from, to| {
        if dense {
            // SAFETY: the indices have been checked against their axes, so the elements are the array's; the target is
            // new.
            unsafe { Picked::listed(&selection.bytes).copied(from, to, itemsize) };
            return;
        }
        let mut picks = selection.bytes.iter();
        walk(&across, 0, |target| {
            let Some(&pick) = picks.next() else { return false };
            for &(read, write) in &steps {
                let (from, to) = (from.wrapping_offset(pick + read), to.wrapping_offset(target as isize + write));
                // SAFETY: the indices have been checked against their axes, so the element is one of the array's. The
                // target is an element of the new array, which has another base.
                unsafe { std::ptr::copy_nonoverlapping(from, to, itemsize as usize) };
            }
            true
        });
    })?;
    Ok(Some(out))
}

/// `array[items] = value` for a number or an array of the same dtype, in memory; false if that is not possible here.
pub fn set(py: Python<'_>, array: &ArrayView, items: &[KeyItem], value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !is_open(array) {
        return Ok(false);
    }
    let Some(values) = Values::of(py, array, value)? else { return Ok(false) };
    // what is wrong with positions or values is reported where assignments are recorded, in NumPy's order
    let Ok(lookup) = Lookup::new(array, items) else { return Ok(false) };
    let Ok(Some(selection)) = Selection::of(py, &lookup) else { return Ok(false) };
    // of equal places, the last one in C order counts, as where assignments are recorded
    let dims = lookup.arrange(&selection.extents, &lookup.rest.0);
    let strides = match &values {
        Values::One(_) => Dims::from_elem(0, dims.len()),
        Values::Each(values) => {
            let fits = |(&n, &extent): (&i64, &i64)| n == extent || n == 1;
            let short = values.shape.len() <= dims.len();
            if !short || !values.shape.iter().rev().zip(dims.iter().rev()).all(fits) {
                return Ok(false);
            }
            shape::broadcast_strides(values, &dims)
        }
    };
    let (across, along) = selection.parts(&lookup, &strides);
    let target = shape::window(&lookup.array, 0, lookup.rest.0.clone(), lookup.rest.1.clone());
    let (steps, size) = (paired(&target, &along), array.dtype.size());
    let store = |from: *const u8, to: *mut u8| {
        let mut picks = selection.bytes.iter();
        walk(&across, 0, |source| {
            let Some(&pick) = picks.next() else { return false };
            for &(write, read) in &steps {
                let (from, to) = (from.wrapping_offset(source as isize + read), to.wrapping_offset(pick + write));
                // SAFETY: the indices have been checked against their axes, so the element is one of the array's. The
                // source is the number, or an element of the values, which have another base.
                unsafe { std::ptr::copy_nonoverlapping(from, to, size) };
            }
            true
        });
    };
    let start = lookup.array.offset as isize;
    let stored = |from: *const u8| {
        run::poke(py, &array.base, |to| store(from, to.as_mut_ptr().wrapping_offset(start))).is_some()
    };
    Ok(match values {
        Values::One(bytes) => stored(bytes.as_ptr()),
        Values::Each(values) => {
            let start = values.offset as isize;
            run::peek(py, &values.base, |from| stored(from.as_ptr().wrapping_offset(start))) == Some(true)
        }
    })
}

/// The byte distances from position zero to each selected element, in C order, and the extents of the selection.
fn displacements(
    py: Python<'_>,
    advanced: &AdvancedIndex,
    index: &ArrayView,
    order: CheckOrder,
) -> PyResult<Option<(Distances, Dims)>> {
    let mut bytes = Distances::new();
    let (n, stride) = advanced.axes[0];
    if let Selector::Mask(_) = advanced.selector {
        if index.dtype != DType::Bool {
            return Ok(None);
        }
        if advanced.axes.len() > 1 {
            return under_mask(py, advanced, index);
        }
        let mut at = 0;
        each_integer(&Attached(py), index, |truth| {
            if truth != 0 {
                bytes.push(at);
            }
            at += stride as isize;
            true
        })?;
        let count = bytes.len() as i64;
        return Ok(Some((bytes, Dims::from_slice(&[count]))));
    }
    let mut inside = true;
    each_integer(&Attached(py), index, |i| {
        let at = if i < 0 { i.wrapping_add(n) } else { i };
        if !(0..n).contains(&at) {
            inside = false;
            return false;
        }
        bytes.push((at * stride) as isize);
        true
    })?;
    if !inside {
        let index = first_outside(&Attached(py), index, n, order)?;
        return Err(errors::from_rules(Error::IndexOutOfBounds { index, axis: advanced.axis, extent: n }));
    }
    Ok(Some((bytes, index.shape.clone())))
}

/// [`displacements`] for a mask of several axes.
fn under_mask(py: Python<'_>, advanced: &AdvancedIndex, mask: &ArrayView) -> PyResult<Option<(Distances, Dims)>> {
    if !advanced.axes.iter().map(|axis| axis.0).eq(mask.shape.iter().copied()) {
        return Ok(None);
    }
    let mut truths = SmallVec::<[bool; 64]>::new();
    each_integer(&Attached(py), mask, |truth| {
        truths.push(truth != 0);
        true
    })?;
    let mut bytes = Distances::new();
    let places = shape::window(mask, 0, mask.shape.clone(), advanced.axes.iter().map(|axis| axis.1).collect());
    let mut truths = truths.into_iter();
    walk(&places, 0, |at| {
        if truths.next() == Some(true) {
            bytes.push(at as isize);
        }
        true
    });
    let count = bytes.len() as i64;
    Ok(Some((bytes, Dims::from_slice(&[count]))))
}
