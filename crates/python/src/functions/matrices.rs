//! Compiled functions on the diagonals and triangles of matrices.

use super::arguments::{Quick, int, native, one_array};
use crate::array::assign;
use crate::array::ndarray::{exact_native, wrap_new, wrap_view};
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::convert;
use crate::record::policy::{self, limits};
use crate::record::run;
use numelt::rules::shape;
use smallvec::SmallVec;

/// `tril`
pub fn tril<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    triangle(given, |distance, k| distance <= k)
}

/// `triu`
pub fn triu<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    triangle(given, |distance, k| distance >= k)
}

/// A matrix in which all elements are zero except those for which `keeps` is true of the distance from the diagonal
/// and the argument `k`.
fn triangle<'py>(given: &Given<'_, 'py>, keeps: impl Fn(i64, i64) -> bool) -> Quick<'py> {
    const TRIANGLE: Parameters<2> = Parameters::new(["m", "k"], 1);
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
    run::set_bytes(py, &out.base, &bytes)?;
    wrap_new(py, out).map(Some)
}

/// `flip` of a native array along all its axes.
pub fn flip<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(array) = one_array(given) else { return Ok(None) };
    let Some(view) = array.get().view() else { return Ok(None) };
    let lasts = view.shape.iter().zip(&view.strides).map(|(&n, &stride)| (n - 1).max(0) * stride);
    let strides = view.strides.iter().map(|stride| -stride).collect();
    let flipped = shape::window(view, view.offset + lasts.sum::<i64>(), view.shape.clone(), strides);
    wrap_view(&array, flipped).map(Some)
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
