//! Numerical routines of libraries for devices (`numelt_runtime::Routine`), which the package calls.
//!
//! In: a routine's name and its numbers, and its arrays. Out: whether the arrays now hold the result.

use crate::numpy::errors;
use crate::object::ndarray::NdArray;
use crate::record::gil::past_gil;
use crate::record::{library_reports, run};
use numelt::rules::shape;
use numelt_ir::DType;
use numelt_runtime::{ArrayView, Domain, Routine, Runtime, Solved, Transform, Vectors};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Instant;

/// On fewer elements, the host is done before a device has begun.
pub const FEWEST: i64 = 1 << 14;

/// Whether a library for a device may do work on an array: a device has its values, and they are many.
///
/// # Errors
/// Those of pending work.
pub fn may_run(py: Python<'_>, view: &ArrayView) -> PyResult<bool> {
    if !Runtime::global().has_routines() || view.size() < FEWEST {
        return Ok(false);
    }
    run::run_users(py, &view.base)?;
    past_gil(py, |runtime| runtime.is_on_device(&view.base)).map_err(errors::to_py)
}

/// Runs a routine on the device that has the values of the first array, and reports the library's name. The arrays are contiguous and fill their
/// memory. False if that is not possible, or if the values have no result; what the routine changes has no meaning
/// then. `numbers` are those that the shapes of the arrays do not say, in the order of the routine's fields.
///
/// # Errors
/// `ValueError` for arrays that the routine does not have, and errors of pending work and of the device.
#[pyfunction]
pub fn run_routine(py: Python<'_>, name: &str, numbers: Vec<usize>, arrays: Vec<Bound<'_, NdArray>>) -> PyResult<bool> {
    let views: Option<Vec<ArrayView>> = arrays.iter().map(|array| array.get().view().cloned()).collect();
    let unfit = || PyValueError::new_err(format!("arrays that the routine {name} does not have"));
    let views = views.ok_or_else(unfit)?;
    let routine = routine(name, &numbers, &views).ok_or_else(unfit)?;
    let is_whole = |view: &ArrayView| {
        view.offset == 0 && shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64)
    };
    let fits = routine.arrays().iter().zip(&views).all(|((dtype, elements, _), view)| {
        let size = view.size() as usize;
        (*dtype, *elements) == (view.dtype, size) && is_whole(view) && view.base.nbytes() >= size * dtype.size()
    });
    if !fits || routine.arrays().len() != views.len() {
        return Err(unfit());
    }
    for view in &views {
        run::run_users(py, &view.base)?;
    }
    let start = Instant::now();
    let solved = past_gil(py, |runtime| runtime.run_routine(&routine, &views.iter().collect::<Vec<_>>()));
    let Some(Solved { library, has_result }) = solved.map_err(errors::to_py)? else { return Ok(false) };
    if library_reports::is_watched() {
        library_reports::report(py, library, start.elapsed().as_secs_f64())?;
    }
    Ok(has_result)
}

fn routine(name: &str, numbers: &[usize], views: &[ArrayView]) -> Option<Routine> {
    let first = views.first()?;
    let dtype = first.dtype;
    let extent = |view: &ArrayView, axis: usize| view.shape.get(axis).map(|&extent| extent as usize);
    Some(match (name, numbers) {
        ("transform", &[domain, forward, points]) => {
            let domain = *[Domain::Complex, Domain::FromReal, Domain::ToReal].get(domain)?;
            let lines = first.shape.split_last()?.1.iter().product::<i64>() as usize;
            let real = if dtype.real() == DType::F32 { DType::F32 } else { DType::F64 };
            Routine::Transform(Transform { domain, forward: forward != 0, real, points, lines })
        }
        ("solve", []) => {
            let n = extent(first, 0)?;
            Routine::Solve { dtype, n, columns: views.get(1)?.size() as usize / n.max(1) }
        }
        ("cholesky", []) => Routine::Cholesky { dtype, n: extent(first, 0)? },
        ("eigen", &[lower, vectors]) => {
            Routine::Eigen { dtype, n: extent(first, 0)?, lower: lower != 0, vectors: vectors != 0 }
        }
        ("singular", &[vectors]) => {
            let vectors = *[Vectors::None, Vectors::Thin, Vectors::Full].get(vectors)?;
            Routine::Singular { dtype, rows: extent(first, 1)?, columns: extent(first, 0)?, vectors }
        }
        _ => return None,
    })
}

/// Adds the function to the module.
///
/// # Errors
/// Those of Python.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_routine, module)?)
}
