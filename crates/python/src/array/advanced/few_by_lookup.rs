//! Reading a few elements of any array by any one array of integers or bools, without recording.
//!
//! In: a lookup of an array, and indices that no pending work writes. Out: a new array with memory, or `None` if
//! recording is better.

use super::few::{Distances, FEW, Picked, copied};
use crate::numpy::errors;
use crate::record::front::{self, Attached};
use numelt::Error;
use numelt::indexing::{Fancy, Lookup, Pick, Walk, each_integer, first_outside, strides_of, walk};
use numelt::rules::shape;
use numelt_ir::{DType, Dims, MAX_RANK};
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// The selected elements of a lookup with one array of integers or one mask.
pub fn get(py: Python<'_>, lookup: &Lookup) -> PyResult<Option<ArrayView>> {
    let [fancy] = &lookup.fancy[..] else { return Ok(None) };
    let rest = shape::size(&lookup.rest.0);
    let (Pick::Index(index) | Pick::Mask(index)) = &fancy.pick;
    let ready = |view: &ArrayView| view.base.is_readable();
    if !lookup.truths.is_empty()
        || rest == 0
        || index.size() == 0
        || index.size() * rest > FEW
        || lookup.rest.0.len() + index.shape.len() > MAX_RANK
        || !ready(index)
        || !ready(&lookup.array)
    {
        return Ok(None);
    }
    let Some((bytes, extents)) = displacements(py, fancy, index, Walk::of_reading(lookup))? else { return Ok(None) };
    let dtype = lookup.array.dtype;
    let itemsize = dtype.size() as i64;
    let moves = index.strides.iter().copied().take(extents.len()).collect();
    let picked = shape::window(index, 0, extents, moves);
    let strides = strides_of(lookup, &picked.shape, std::slice::from_ref(&picked));
    let out = front::fresh(py, dtype, &lookup.arrange(&picked.shape, &lookup.rest.0), strides);
    if out.size() == 0 {
        return Ok(Some(out));
    }
    let (before, after) = (lookup.before, lookup.before + picked.shape.len());
    let across = shape::window(&out, 0, picked.shape.clone(), out.strides[before..after].iter().copied().collect());
    let along = |d: &[i64]| d[..before].iter().chain(&d[after..]).copied().collect();
    let along = shape::window(&out, 0, lookup.rest.0.clone(), along(&out.strides));
    let source = shape::window(&lookup.array, 0, lookup.rest.0.clone(), lookup.rest.1.clone());
    // the byte distances of the elements that one index selects, in C order
    let steps: SmallVec<[(isize, isize); 16]> = {
        let (mut reads, mut writes) = (SmallVec::<[isize; 16]>::new(), SmallVec::<[isize; 16]>::new());
        walk(&source, 0, |at| (reads.push(at as isize), true).1);
        walk(&along, 0, |at| (writes.push(at as isize), true).1);
        reads.into_iter().zip(writes).collect()
    };
    let dense = rest == 1 && shape::is_c_contiguous(&out.shape, &out.strides, itemsize);
    copied(py, &lookup.array, &out.base, |from, to| {
        if dense {
            // SAFETY: the index has been checked against its axis, so the elements are the array's; the target is
            // new.
            unsafe { Picked::listed(&bytes).copied(from, to, itemsize) };
            return;
        }
        let mut picks = bytes.iter();
        walk(&across, 0, |target| {
            let Some(&pick) = picks.next() else { return false };
            for &(read, write) in &steps {
                let (from, to) = (from.wrapping_offset(pick + read), to.wrapping_offset(target as isize + write));
                // SAFETY: the index has been checked against its axis, so the element is one of the array's. The
                // target is an element of the new array, which has another base.
                unsafe { std::ptr::copy_nonoverlapping(from, to, itemsize as usize) };
            }
            true
        });
    })?;
    Ok(Some(out))
}

/// The byte distances from position zero to each selected element, in C order, and the extents of the selection.
fn displacements(py: Python<'_>, fancy: &Fancy, index: &ArrayView, walk: Walk) -> PyResult<Option<(Distances, Dims)>> {
    let mut bytes = Distances::new();
    let (n, stride) = fancy.axes[0];
    if let Pick::Mask(_) = fancy.pick {
        if index.dtype != DType::Bool {
            return Ok(None);
        }
        if fancy.axes.len() > 1 {
            return under_mask(py, fancy, index);
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
        let index = first_outside(&Attached(py), index, n, walk)?;
        return Err(errors::from_rules(Error::IndexOutOfBounds { index, axis: fancy.axis, extent: n }));
    }
    Ok(Some((bytes, index.shape.clone())))
}

/// [`displacements`] for a mask of several axes.
fn under_mask(py: Python<'_>, fancy: &Fancy, mask: &ArrayView) -> PyResult<Option<(Distances, Dims)>> {
    if !fancy.axes.iter().map(|axis| axis.0).eq(mask.shape.iter().copied()) {
        return Ok(None);
    }
    let mut truths = SmallVec::<[bool; 64]>::new();
    each_integer(&Attached(py), mask, |truth| {
        truths.push(truth != 0);
        true
    })?;
    let mut bytes = Distances::new();
    let places = shape::window(mask, 0, mask.shape.clone(), fancy.axes.iter().map(|axis| axis.1).collect());
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
