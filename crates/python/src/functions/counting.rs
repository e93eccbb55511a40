//! Counts and sums by label.
//!
//! In: integers, and perhaps a weight for each of them. Out: `bincount` of some ten thousand elements at most, computed
//! when it is called. NumPy's function does everything else, and raises all errors.

use super::arguments::{Quick, any_int, native};
use crate::cpython::given::{Arg, Given, Parameters};
use crate::object::fresh;
use crate::record::{registry, run};
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;

/// The most labels that are counted while the interpreter's lock is held.
const MOST_LABELS: i64 = 1 << 14;
/// The most bins of the result.
const MOST_BINS: i64 = 1 << 16;

/// `bincount` of a native vector of integers, without weights or with float64 ones.
pub fn bincount<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const COUNTED: Parameters<3> = Parameters::new(["x", "weights", "minlength"], 1).nameless(1);
    let py = given.py();
    let Some([Arg(Some(labels)), weights, least]) = given.bind(&COUNTED) else { return Ok(None) };
    let weights = weights.given().filter(|weights| !weights.is_none());
    let least = least.given().map_or(Some(0), |least| any_int(&least)).filter(|least| (0..=MOST_BINS).contains(least));
    let (Some(labels), Some(least)) = (native(&labels).filter(|view| is_vector(view)), least) else { return Ok(None) };
    match weights {
        None => on_labels(py, labels, None, least),
        Some(weights) => match native(&weights) {
            Some(view) if view.dtype == DType::F64 && view.shape == labels.shape && is_vector(view) => {
                on_labels(py, labels, Some(view), least)
            }
            Some(_) | None => Ok(None),
        },
    }
}

/// Whether it is a contiguous vector of few elements, and no pending work writes its memory by another base.
fn is_vector(view: &ArrayView) -> bool {
    view.shape.len() == 1
        && (1..=MOST_LABELS).contains(&view.shape[0])
        && view.strides[0] == view.dtype.size() as i64
        && !(view.base.is_foreign() && registry::is_tangled())
}

/// `bincount` of labels of any integer dtype that NumPy converts to int64.
fn on_labels<'py>(py: Python<'py>, labels: &ArrayView, weights: Option<&ArrayView>, least: i64) -> Quick<'py> {
    match labels.dtype {
        DType::I8 => tally(py, labels, weights, least, i8::from_ne_bytes),
        DType::I16 => tally(py, labels, weights, least, i16::from_ne_bytes),
        DType::I32 => tally(py, labels, weights, least, i32::from_ne_bytes),
        DType::I64 => tally(py, labels, weights, least, i64::from_ne_bytes),
        DType::U8 => tally(py, labels, weights, least, u8::from_ne_bytes),
        DType::U16 => tally(py, labels, weights, least, u16::from_ne_bytes),
        DType::U32 => tally(py, labels, weights, least, u32::from_ne_bytes),
        _ => Ok(None),
    }
}

/// `bincount` of labels of one type, which `label` reads.
fn tally<'py, const SIZE: usize, T: Into<i64> + Ord + Copy>(
    py: Python<'py>,
    labels: &ArrayView,
    weights: Option<&ArrayView>,
    least: i64,
    label: impl Fn([u8; SIZE]) -> T + Copy,
) -> Quick<'py> {
    // pending work that writes the operands runs first
    for operand in [Some(labels), weights].into_iter().flatten() {
        run::look(py, &operand.base, |_| ())?;
    }
    let counted = run::peek(py, &labels.base, |bytes| {
        let labels = elements::<SIZE>(labels, bytes).iter().map(|&bytes| label(bytes));
        let bins = bins(labels.clone(), least)?;
        let places = labels.map(|label| label.into() as usize);
        let base = match weights {
            None => run::new_summed(bins, |counts| {
                places.for_each(|at| counts[at] = (i64::from_ne_bytes(counts[at]) + 1).to_ne_bytes());
            }),
            Some(weights) => run::peek(py, &weights.base, |bytes| {
                let weights = elements::<8>(weights, bytes).iter().map(|&bytes| f64::from_ne_bytes(bytes));
                run::new_summed(bins, |sums| {
                    places.zip(weights).for_each(|(at, weight)| {
                        sums[at] = (f64::from_ne_bytes(sums[at]) + weight).to_ne_bytes();
                    });
                })
            })?,
        };
        base.map(|base| (base, bins))
    });
    let Some((base, bins)) = counted.flatten() else { return Ok(None) };
    let dtype = if weights.is_some() { DType::F64 } else { DType::I64 };
    fresh::c_ordered(py, base, dtype, &[bins as i64]).map(|made| Some(made.into_any()))
}

/// The bytes of each element of a contiguous vector, among the bytes of its base.
fn elements<'a, const SIZE: usize>(vector: &ArrayView, bytes: &'a [u8]) -> &'a [[u8; SIZE]] {
    &bytes[vector.offset as usize..].as_chunks().0[..vector.shape[0] as usize]
}

/// The number of bins for labels; `None` if a label is negative, or so large that NumPy should make the array.
fn bins<T: Into<i64> + Ord + Copy>(labels: impl Iterator<Item = T>, least: i64) -> Option<usize> {
    let ends = labels.fold(None, |ends: Option<(T, T)>, label| {
        Some(ends.map_or((label, label), |(low, high)| (low.min(label), high.max(label))))
    });
    let (low, high): (i64, i64) = ends.map(|(low, high)| (low.into(), high.into()))?;
    (low >= 0 && high < MOST_BINS).then(|| least.max(high + 1) as usize)
}
