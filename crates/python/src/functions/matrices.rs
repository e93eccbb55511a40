//! Compiled functions on the diagonals and triangles of matrices.

use super::arguments::{Quick, any_int, any_ints, int, native};
use super::conversion;
use crate::array::{assign, basic};
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::convert;
use crate::object::fresh::{wrap_new, wrap_view};
use crate::object::ndarray::exact_native;
use crate::record::front::Attached;
use crate::record::run;
use crate::sharing::policy::{self, limits};
use crate::ufunc::elementwise;
use numelt::normalize_axis;
use numelt::rules::axes::flipped;
use numelt::rules::shape;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// `tril` of few elements.
pub fn tril<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    few_in_triangle(given, |distance, k| distance <= k)
}

/// `triu` of few elements.
pub fn triu<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    few_in_triangle(given, |distance, k| distance >= k)
}

/// `tril`
pub fn lower_triangle<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    triangle(given, true)
}

/// `triu`
pub fn upper_triangle<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    triangle(given, false)
}

/// The parameters of `tril` and `triu`.
const TRIANGLE: Parameters<2> = Parameters::new(["m", "k"], 1);

/// A matrix in which all elements are zero except those for which `keeps` is true of the distance from the diagonal
/// and the argument `k`.
fn few_in_triangle<'py>(given: &Given<'_, 'py>, keeps: impl Fn(i64, i64) -> bool) -> Quick<'py> {
    let (py, Some([Arg(Some(matrix)), k])) = (given.py(), given.bind(&TRIANGLE)) else { return Ok(None) };
    let k = k.given().map_or(Some(0), |k| int(&k));
    let (Some(k), Some(view)) = (k, native(&matrix)) else { return Ok(None) };
    let (&[rows, columns], size) = (view.shape.as_slice(), view.dtype.size()) else { return Ok(None) };
    if view.size() == 0 || !policy::is_small(view, limits::FEW) {
        return Ok(None);
    }
    let Some(mut bytes) = run::on_dense(py, view, SmallVec::<[u8; 512]>::from_slice)? else { return Ok(None) };
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| column - row));
    for (element, distance) in bytes.chunks_exact_mut(size).zip(places) {
        if !keeps(distance, k) {
            element.fill(0);
        }
    }
    let out = shape::whole(run::new_base(bytes.len()), view.dtype, &view.shape);
    out.base.settle_like(&view.base);
    run::set_bytes(py, &out.base, &bytes)?;
    wrap_new(py, out).map(Some)
}

/// A recorded triangle of each matrix in the last two axes.
fn triangle<'py>(given: &Given<'_, 'py>, lower: bool) -> Quick<'py> {
    let (py, Some([Arg(Some(matrices)), k])) = (given.py(), given.bind(&TRIANGLE)) else { return Ok(None) };
    let Some(k) = k.given().map_or(Some(0), |k| any_int(&k)) else { return Ok(None) };
    let mut slot = None;
    let Some((_, view)) = conversion::operand(&matrices, &mut slot)? else { return Ok(None) };
    elementwise::finish(py, numelt::matrices::triangle(&Attached(py), view, k, lower)?, None)
}

/// `flip`
pub fn flip<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    const FLIP: Parameters<2> = Parameters::new(["m", "axis"], 1);
    let Some([Arg(Some(m)), axis]) = given.bind(&FLIP) else { return Ok(None) };
    let mut slot = None;
    let Some((array, view)) = conversion::operand(&m, &mut slot)? else { return Ok(None) };
    let rank = view.shape.len();
    let axes: Option<SmallVec<[usize; 4]>> = match axis.given().filter(|axis| !axis.is_none()) {
        None => Some((0..rank).collect()),
        Some(axis) => any_ints(&axis).and_then(|axes| axes.iter().map(|&axis| normalize_axis(axis, rank)).collect()),
    };
    let Some(axes) = axes.filter(|axes| (1..axes.len()).all(|at| !axes[..at].contains(&axes[at]))) else {
        return Ok(None);
    };
    if rank == 0 {
        return if axes.is_empty() { basic::read_element(given.py(), view).map(Some) } else { Ok(None) };
    }
    wrap_view(array, flipped(view, axes)).map(Some)
}

/// `fill_diagonal` of a matrix with a Python number.
pub fn fill_diagonal<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let py = given.py();
    let Some([matrix, value]) = given.exactly() else { return Ok(None) };
    let Some(array) = exact_native(&matrix).filter(|array| array.writeable()) else { return Ok(None) };
    let Some(view) = array.view().filter(|v| v.shape.len() == 2 && v.size() > 0) else { return Ok(None) };
    if convert::exact_weak(&value).is_none() {
        return Ok(None);
    }
    let length = SmallVec::from_slice(&[view.shape[0].min(view.shape[1])]);
    let step = SmallVec::from_slice(&[view.strides[0] + view.strides[1]]);
    let diagonal = shape::window(view, view.offset, length, step);
    Ok(assign::assign(py, &diagonal, &value)?.then(|| py.None().into_bound(py)))
}
