//! Inverses of small matrices and solutions of small systems by the LAPACK that NumPy has loaded.
//!
//! In: the arguments of a call without keywords. Out: a new array; `None` for all other calls, and for singular
//! matrices, for which NumPy's function raises the error. The routine is the one that NumPy calls, on the same
//! operands in the same order, so the results are NumPy's. The Python code around the call in NumPy takes five times
//! as long as a system of two equations.

use super::arguments::Quick;
use crate::cpython::given::Given;
use crate::numpy::blas;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::exact_native;
use crate::record::{library_reports, run};
use crate::sharing::policy::{self, limits};
use numelt::rules::shape;
use numelt_ir::DType;
use numelt_runtime::ArrayView;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// `linalg.inv`
pub fn inv<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some(matrix) = given.one() else { return Ok(None) };
    let Some((matrix, n)) = exact_native(&matrix).and_then(|array| square(array.view()?)) else { return Ok(None) };
    let one = |row: usize, column: usize| f64::from(u8::from(row == column));
    solved(given.py(), matrix, n, n, one, &[n as i64, n as i64])
}

/// `linalg.solve`
pub fn solve<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    let Some([matrix, right]) = given.exactly() else { return Ok(None) };
    let Some((matrix, n)) = exact_native(&matrix).and_then(|array| square(array.view()?)) else { return Ok(None) };
    let Some(right) = exact_native(&right).and_then(|array| array.view()) else { return Ok(None) };
    let (columns, steps) = match (right.shape.as_slice(), right.strides.as_slice()) {
        (&[rows], &[step]) if rows == n as i64 => (1, [step, 0]),
        (&[rows, columns], &[down, across]) if rows == n as i64 => (columns, [down, across]),
        _ => return Ok(None),
    };
    if !(1..=limits::FEW).contains(&right.size()) || right.dtype != DType::F64 {
        return Ok(None);
    }
    let solve = |bytes: &[u8]| {
        let element =
            |row: usize, column: usize| number(bytes, right.offset + row as i64 * steps[0] + column as i64 * steps[1]);
        solved(given.py(), matrix, n, columns as usize, element, &right.shape)
    };
    run::peek(given.py(), &right.base, solve).unwrap_or(Ok(None))
}

/// The view of a square matrix of few doubles that are in memory, and the number of its rows.
fn square(view: &ArrayView) -> Option<(&ArrayView, usize)> {
    let &[rows, columns] = view.shape.as_slice() else { return None };
    let few = rows == columns && (1..=limits::FEW).contains(&view.size()) && view.dtype == DType::F64;
    (few && view.base.is_readable()).then_some((view, rows as usize))
}

/// The double at a byte offset.
fn number(bytes: &[u8], offset: i64) -> f64 {
    bytes[offset as usize..].first_chunk().map_or(f64::NAN, |&element| f64::from_ne_bytes(element))
}

/// The solutions for the right sides that `right` returns, as a new array of this shape.
fn solved<'py>(
    py: Python<'py>,
    matrix: &ArrayView,
    n: usize,
    sides: usize,
    right: impl Fn(usize, usize) -> f64,
    dims: &[i64],
) -> Quick<'py> {
    let Some(gesv) = blas::gesv() else { return Ok(None) };
    if library_reports::is_watched() || !policy::at_once() {
        return Ok(None);
    }
    let by_columns = run::peek(py, &matrix.base, |bytes| {
        let places = (0..n as i64).flat_map(|column| (0..n as i64).map(move |row| [row, column]));
        let offset = |[row, column]: [i64; 2]| matrix.offset + row * matrix.strides[0] + column * matrix.strides[1];
        places.map(|place| number(bytes, offset(place))).collect::<SmallVec<[f64; 64]>>()
    });
    let Some(mut by_columns) = by_columns else { return Ok(None) };
    let mut solution: SmallVec<[f64; 64]> = SmallVec::with_capacity(n * sides);
    for column in 0..sides {
        solution.extend((0..n).map(|row| right(row, column)));
    }
    let mut pivots: SmallVec<[i64; 32]> = SmallVec::from_elem(0, n);
    let (order, count, mut failed) = (n as i64, sides as i64, 0);
    // SAFETY: the routine gets the arguments that it requires: matrices of `n` rows by columns, and `n` pivots.
    unsafe {
        gesv(
            &order,
            &count,
            by_columns.as_mut_ptr(),
            &order,
            pivots.as_mut_ptr(),
            solution.as_mut_ptr(),
            &order,
            &mut failed,
        );
    }
    if failed != 0 {
        return Ok(None);
    }
    let by_rows: SmallVec<[f64; 64]> = (0..n * sides).map(|at| solution[at % sides * n + at / sides]).collect();
    // SAFETY: floats have no padding.
    let bytes = unsafe { std::slice::from_raw_parts(by_rows.as_ptr().cast::<u8>(), size_of_val(&by_rows[..])) };
    let out = shape::whole(run::new_base(bytes.len()), DType::F64, dims);
    run::set_bytes(py, &out.base, bytes)?;
    wrap_new(py, out).map(Some)
}
