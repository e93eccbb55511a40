//! The positions in the user's program where operations were recorded, so that warnings name the right line although
//! the values are computed later.
//!
//! In: the frames that are running when the runtime asks for a position. Out: a number for each position, and for a
//! number what a warning needs.

use crate::cpython::frames;
use numelt_runtime::{Runtime, Warning};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFrame, PyFrameMethods};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// The most positions that are remembered. A program that makes functions while it runs has ever new ones; the oldest
/// are forgotten first, since the operations that are still pending were recorded last.
const PLACES: usize = 1 << 14;

/// Numbers of positions, by the address of the code object and the offset in its bytecode. The code objects are kept
/// alive, so that no other one gets their address.
#[derive(Default)]
struct PositionNumbers {
    numbers: FxHashMap<(usize, c_int), Option<u32>>,
    places: VecDeque<SourcePosition>,
    /// How many positions have been forgotten, which is also the number of the oldest one in `places`.
    forgotten: u32,
}

impl PositionNumbers {
    /// Remembers one more position, whose number counts from the first one of the process; `None` for code of the
    /// package or of NumPy, of which only the code object is used: it must stay alive. With the number comes the
    /// position that was forgotten, to be dropped when `KNOWN` is free: the end of a code object may run Python code.
    fn add(&mut self, place: SourcePosition, ours: bool) -> (Option<u32>, Option<SourcePosition>) {
        let oldest = if self.places.len() >= PLACES { self.places.pop_front() } else { None };
        if let Some(oldest) = &oldest {
            self.numbers.remove(&oldest.key());
            self.forgotten = self.forgotten.wrapping_add(1);
        }
        let number = (!ours).then(|| self.forgotten.wrapping_add(self.places.len() as u32));
        self.numbers.insert(place.key(), number);
        self.places.push_back(place);
        (number, oldest)
    }

    /// The position of a number, unless it has been forgotten.
    fn get(&self, number: u32) -> Option<&SourcePosition> {
        self.places.get(number.wrapping_sub(self.forgotten) as usize)
    }
}

struct SourcePosition {
    code: Py<PyCode>,
    offset: c_int,
    /// The name of the module.
    module: Py<PyAny>,
}

impl SourcePosition {
    fn key(&self) -> (usize, c_int) {
        (self.code.as_ptr() as usize, self.offset)
    }
}

static KNOWN: Mutex<Option<PositionNumbers>> = Mutex::new(None);

/// Tells the runtime where the current operation was recorded, if the runtime has asked for that.
#[inline]
pub fn tell(py: Python<'_>) {
    let runtime = Runtime::global();
    let asked = runtime.requested_position().load(Ordering::Relaxed);
    if asked != 0 {
        runtime.requested_position().store(0, Ordering::Relaxed);
        let number = number(py).unwrap_or_else(|error| {
            // an unknown position does not stop the program, but the error is shown
            error.write_unraisable(py, None);
            Warning::NOWHERE
        });
        runtime.set_position(asked, number);
    }
}

/// The number of the position of the innermost frame that is neither the package's nor NumPy's.
fn number(py: Python<'_>) -> PyResult<u32> {
    let mut next = frames::running(py);
    while let Some(frame) = next {
        if let Some(number) = number_of(&frame)? {
            return Ok(number);
        }
        next = frame.outer();
    }
    Ok(Warning::NOWHERE)
}

/// The number of a frame's position; `None` if its code is the package's or NumPy's.
fn number_of(frame: &Bound<'_, PyFrame>) -> PyResult<Option<u32>> {
    let code = frame.code();
    let offset = frames::instruction(frame);
    let key = (code.as_ptr() as usize, offset);
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().numbers.get(&key)
    {
        return Ok(*known);
    }
    let module = frame.getattr("f_globals")?.call_method1("get", ("__name__", "<string>"))?;
    let name: String = module.extract().unwrap_or_default();
    let ours = matches!(name.split('.').next(), Some("numelt" | "numpy"));
    let place = SourcePosition { code: code.unbind(), offset, module: module.unbind() };
    let (number, _forgotten) =
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().add(place, ours);
    Ok(number)
}

/// What a warning needs of a position: the code object, the offset in its bytecode, and the module's name.
pub fn of(py: Python<'_>, number: u32) -> Option<(Py<PyCode>, c_int, Py<PyAny>)> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = known.as_ref()?.get(number)?;
    Some((place.code.clone_ref(py), place.offset, place.module.clone_ref(py)))
}
