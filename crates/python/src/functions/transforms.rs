//! Fourier transforms along the last axis by NumPy's compiled functions, without the Python code around them.
//!
//! In: the arguments of a call without keywords: an array and perhaps a length. Out: a new array that the compiled
//! function has written; `None` for all other calls, and if this NumPy has no such function. The Python code around
//! the function takes ten times as long as a transform of few elements. The results are NumPy's, because it is the
//! same function.

use super::arguments::{Quick, int};
use crate::cpython::calls;
use crate::cpython::given::{Arg, Given, Parameters};
use crate::numpy::convert;
use crate::numpy::errors;
use crate::object::fresh::wrap_new;
use crate::object::ndarray::NdArray;
use crate::record::{library_reports, routines, run};
use crate::sharing::loan;
use crate::sharing::policy::{self, limits};
use numelt::rules::shape;
use numelt_ir::{DType, Dims, Error, Scalar};
use numelt_runtime::{ArrayView, Runtime};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyInt;

/// The kind of a transform: whether it is from or to real numbers, and its direction.
#[derive(Clone, Copy)]
struct Transform {
    real: bool,
    forward: bool,
}

/// `fft`
pub fn fft<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    Transform { real: false, forward: true }.run(given)
}

/// `ifft`
pub fn ifft<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    Transform { real: false, forward: false }.run(given)
}

/// `rfft`
pub fn rfft<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    Transform { real: true, forward: true }.run(given)
}

/// `irfft`
pub fn irfft<'py>(given: &Given<'_, 'py>) -> Quick<'py> {
    Transform { real: true, forward: false }.run(given)
}

impl Transform {
    fn run<'py>(self, given: &Given<'_, 'py>) -> Quick<'py> {
        let py = given.py();
        const TRANSFORM: Parameters<2> = Parameters::new(["a", "n"], 1);
        let Some([Arg(Some(array)), points]) = given.bind(&TRANSFORM) else { return Ok(None) };
        let Ok(array) = array.cast_exact::<NdArray>() else { return Ok(None) };
        let Some(view) = array.get().view() else { return Ok(None) };
        let (Some(dtype), Some(n)) = (self.result(view.dtype), self.length(view, points)) else { return Ok(None) };
        // the result has the operand's memory order
        let plain =
            view.shape.len() == 1 || shape::is_c_contiguous(&view.shape, &view.strides, view.dtype.size() as i64);
        // many rows are shared among threads
        let many = view.shape.len() > 1 && view.size() > limits::ROWS;
        if !plain || many || view.size() == 0 || library_reports::is_watched() || !policy::at_once() {
            return Ok(None);
        }
        if routines::may_run(py, view)? {
            return Ok(None);
        }
        let Some(function) = self.function(py, n)? else { return Ok(None) };
        let mut dims = Dims::from_slice(&view.shape);
        if let Some(last) = dims.last_mut() {
            *last = if self.real && self.forward { n / 2 + 1 } else { n };
        }
        errors::check_bytes(py, &dims, dtype)?;
        let out = shape::whole(run::new_base(shape::size(&dims) as usize * dtype.size()), dtype, &dims);
        out.base.settle_like(&view.base);
        provide(py, &out)?;
        let made = wrap_new(py, out)?;
        // a Python int does not widen single precision
        let factor = match self.forward {
            true => PyInt::new(py, 1).into_any(),
            false => convert::to_numpy_scalar(py, reciprocal(n, dtype))?,
        };
        let (operand, result) = (loan::lend(&array)?, loan::lend(made.cast::<NdArray>()?)?);
        let done = calls::apply(function, (operand.view(), factor, result.view()), None).map(drop);
        operand.end()?;
        result.end()?;
        done.map(|()| Some(made))
    }

    /// The dtype of the result; `None` if NumPy has to decide.
    fn result(self, dtype: DType) -> Option<DType> {
        let (real, complex) = match dtype {
            DType::F64 | DType::C128 => (DType::F64, DType::C128),
            DType::F32 | DType::C64 => (DType::F32, DType::C64),
            _ => return None,
        };
        match self {
            Transform { real: true, forward: true } => (dtype == real).then_some(complex),
            Transform { real: true, forward: false } => Some(real),
            Transform { real: false, .. } => Some(complex),
        }
    }

    /// The number of points of the transform; `None` if it is invalid.
    fn length(self, view: &ArrayView, points: Arg<'_, '_>) -> Option<i64> {
        let &last = view.shape.last()?;
        let n = match points.given().filter(|points| !points.is_none()) {
            Some(points) => Some(int(&points)?),
            None => None,
        };
        n.or(Some(if self.real && !self.forward { 2 * (last - 1) } else { last })).filter(|&n| n > 0)
    }

    /// NumPy's compiled function.
    fn function<'py>(self, py: Python<'py>, n: i64) -> PyResult<Option<&'py Bound<'py, PyAny>>> {
        static FUNCTIONS: PyOnceLock<Option<[Py<PyAny>; 5]>> = PyOnceLock::new();
        let found = FUNCTIONS.get_or_try_init(py, || {
            let find = || {
                let module = py.import("numpy.fft._pocketfft_umath")?;
                let get = |name: &str| module.getattr(name).map(Bound::unbind);
                Ok([get("fft")?, get("ifft")?, get("rfft_n_even")?, get("rfft_n_odd")?, get("irfft")?])
            };
            // another release of NumPy may not have these functions
            errors::unless(py, find(), &[errors::IMPORT, errors::ATTRIBUTE])
        })?;
        let at = match self {
            Transform { real: false, forward: true } => 0,
            Transform { real: false, forward: false } => 1,
            Transform { real: true, forward: true } => 2 + usize::from(n % 2 == 1),
            Transform { real: true, forward: false } => 4,
        };
        Ok(found.as_ref().map(|functions| functions[at].bind(py)))
    }
}

/// Allocates memory for a new array.
fn provide(py: Python<'_>, out: &ArrayView) -> PyResult<()> {
    Runtime::global().overwrite(&out.base).map(drop).map_err(|error| match error {
        Error::OutOfMemory(_) => errors::memory(py, &out.shape, out.dtype),
        other => errors::to_py(other),
    })
}

/// The reciprocal of the number of points, in the precision of the transform.
fn reciprocal(n: i64, dtype: DType) -> Scalar {
    match dtype {
        DType::F32 | DType::C64 => Scalar::F32(1.0 / n as f32),
        _ => Scalar::F64(1.0 / n as f64),
    }
}
