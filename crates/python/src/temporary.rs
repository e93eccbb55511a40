//! Arrays of NumPy's that only the call at hand holds: `np.array(library.compute())`.
//!
//! In: the argument of `array`. Out: our array of its memory instead of a copy, where nobody can ever look at the argument
//! again. What the bytecode of the place says decides (`_temporary.py`); code in C that calls `array` from inside another
//! call of it, with an array of its own, is none of the place's business.

use crate::{export, frames, hooks};
use numelt_ir::DType;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;

/// Smaller arrays are copied: that costs less than asking.
const LEAST: i64 = 1 << 20;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Says that a call of `array` goes on, until it is dropped.
pub struct Inside(bool);

impl Inside {
    /// Notes that this thread is in a call of `array`.
    pub fn note() -> Inside {
        Inside(INSIDE.replace(true))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// Our array of the memory of a NumPy array that nobody else holds; `wanted` says which dtype it is to have.
pub fn taken_over<'py>(
    object: &Bound<'py, PyAny>,
    wanted: impl Fn(DType) -> Option<DType>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    // SAFETY: a living object.
    if unsafe { ffi::Py_REFCNT(object.as_ptr()) } != 1 || INSIDE.get() {
        return Ok(None);
    }
    let Some(dtype) = export::owned(object, LEAST)? else { return Ok(None) };
    if wanted(dtype) != Some(dtype) {
        return Ok(None);
    }
    let Some(frame) = frames::running(py) else { return Ok(None) };
    let Some(hook) = hooks::hook(py, "hands_over")? else { return Ok(None) };
    if !hook.call1((&frame, frames::instruction(&frame)))?.extract::<bool>()? {
        return Ok(None);
    }
    export::from_numpy(object, true).map(Some)
}
