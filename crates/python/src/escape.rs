//! Whether a scalar that is being made may stay deferred: asked by the place in the program that makes it.
//!
//! The package's `_escape` follows the bytecode of a place once; the answer is remembered here.

use crate::{frames, hooks};
use pyo3::prelude::*;
use pyo3::types::{PyFrame, PyFrameMethods};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// Places remembered.
const PLACES: usize = 1 << 12;

/// In an answer of the package's: the place is its own, or NumPy's.
const OURS: u8 = 4;

/// Frames followed.
const FRAMES: usize = 12;

/// What becomes of what a place makes; in code of the package's own or of NumPy's?
#[derive(Clone, Copy)]
struct Place {
    verdict: Verdict,
    ours: bool,
}

#[derive(Clone, Copy)]
enum Verdict {
    /// It may stay deferred.
    Defer,
    /// What the calling function does with it decides.
    Caller,
    /// It has to be NumPy's scalar.
    Real,
}

/// Answers by code object and offset; the code objects are kept, so that no other one gets their address.
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

type Known = FxHashMap<(usize, i32), (Py<PyAny>, Place)>;

/// Does the scalar that is being made go to code that needs NumPy's own? One that is computed is NumPy's for every
/// program.
pub fn wants_real(py: Python<'_>, computed: bool) -> PyResult<bool> {
    let mut next = frames::running(py);
    for _ in 0..FRAMES {
        let Some(frame) = next.take() else { return Ok(false) };
        let place = place(&frame)?;
        if computed && !place.ours {
            return Ok(true);
        }
        match place.verdict {
            Verdict::Defer => return Ok(false),
            Verdict::Real => return Ok(true),
            Verdict::Caller => next = frame.outer(),
        }
    }
    Ok(false)
}

fn place(frame: &Bound<'_, PyFrame>) -> PyResult<Place> {
    let py = frame.py();
    let code = frame.code();
    let at = frames::instruction(frame);
    let key = (code.as_ptr() as usize, at);
    if let Some((_, place)) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().get(&key) {
        return Ok(*place);
    }
    let Some(hook) = hooks::hook(py, "escape")? else { return Ok(Place { verdict: Verdict::Defer, ours: true }) };
    let answer: u8 = hook.call1((frame, at))?.extract()?;
    let verdict = match answer & 3 {
        0 => Verdict::Defer,
        1 => Verdict::Caller,
        _ => Verdict::Real,
    };
    let place = Place { verdict, ours: answer & OURS != 0 };
    let forgotten = {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        let full = if known.len() >= PLACES { std::mem::take(known) } else { Known::default() };
        known.insert(key, (code.into_any().unbind(), place));
        full
    };
    drop(forgotten);
    Ok(place)
}
