//! The frames of the running Python program, where PyO3's `PyFrame` has no method for what is needed.
//!
//! In: the interpreter, or a frame. Out: the innermost frame, and the position of the instruction that it executes.
//! Not here: what is read from a frame (`origin`, `coverage`).

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyFrame;
use std::ffi::c_int;

/// The innermost frame; `None` if no Python code is running.
pub fn running(py: Python<'_>) -> Option<Bound<'_, PyFrame>> {
    // SAFETY: the thread is attached; the interpreter returns a borrowed frame or null.
    unsafe {
        let frame = Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast())?;
        Some(frame.cast_into_unchecked())
    }
}

/// The offset in bytes of the instruction that a frame is executing, from the beginning of its bytecode.
pub fn instruction(frame: &Bound<'_, PyFrame>) -> c_int {
    // SAFETY: the object is a frame.
    unsafe { ffi::PyFrame_GetLasti(frame.as_ptr().cast()) }
}
