//! Counts of calls that run in NumPy, for calls that need nothing but counting.
//!
//! In: the name of the function that was called. Out: a higher count for that name and the user's file and line, in
//! the package's table. The package itself handles the other calls: those under a policy that warns or raises, and
//! those from inside the package.

use crate::cpython::frames;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCode, PyDict, PyFrame, PyFrameMethods, PyList, PyString, PyTuple};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The package's table: `(name, file, line)` to `[count, reason]`.
static COUNTS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
/// Whether calls that run in NumPy are only counted: no policy warns or raises.
static SILENT: AtomicBool = AtomicBool::new(false);

/// An entry of the table, found for a position in the program.
struct FoundEntry {
    name: Box<str>,
    entry: Py<PyList>,
    /// Calls that have not been added to the entry yet; see [`settle_counts`].
    calls: i64,
    /// Keeps the code object alive, so that no other one gets its address.
    _code: Py<PyCode>,
}

/// Entries by the address of the code object and the position in its bytecode.
type FoundPlaces = FxHashMap<(usize, i32), SmallVec<[FoundEntry; 1]>>;

static PLACES: LazyLock<Mutex<FoundPlaces>> = LazyLock::new(Mutex::default);
const MOST_PLACES: usize = 4096;

fn places() -> MutexGuard<'static, FoundPlaces> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the entries that were found, because the table has been emptied.
#[pyfunction]
fn forget_counts() {
    let old = std::mem::take(&mut *places());
    drop(old);
}

/// Adds to the table the calls that were counted since the last time.
#[pyfunction]
fn settle_counts(py: Python<'_>) -> PyResult<()> {
    let settle = |known: &mut FoundEntry| (known.entry.clone_ref(py), std::mem::take(&mut known.calls));
    let news: Vec<_> = places().values_mut().flatten().map(settle).collect();
    for (entry, calls) in news.into_iter().filter(|&(_, calls)| calls > 0) {
        add(entry.bind(py), calls)?;
    }
    Ok(())
}

/// Sets the table in which calls are counted.
#[pyfunction]
fn set_counts(counts: &Bound<'_, PyDict>) {
    let _ = COUNTS.set(counts.py(), counts.clone().unbind());
}

/// States whether calls that run in NumPy are only counted.
#[pyfunction]
fn set_silent(silent: bool) {
    SILENT.store(silent, Ordering::Relaxed);
}

/// Whether calls that run in NumPy are only counted: no policy warns or raises.
pub fn is_silent() -> bool {
    SILENT.load(Ordering::Relaxed)
}

/// The globals of the innermost Python frame.
pub fn globals(py: Python<'_>) -> Option<Bound<'_, PyDict>> {
    // SAFETY: returns a borrowed reference, or null if no Python code runs.
    let globals = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetGlobals()) };
    globals.and_then(|globals| globals.cast_into::<PyDict>().ok())
}

/// Whether the innermost Python frame is neither the package's nor NumPy's.
pub fn in_users_frame(py: Python<'_>) -> bool {
    globals(py).is_some_and(|globals| are_users(&globals))
}

/// The innermost Python frame that is neither the package's nor NumPy's.
#[pyfunction]
fn users_frame(py: Python<'_>) -> Option<Bound<'_, PyFrame>> {
    let mut frame = frames::running(py);
    while let Some(inner) = frame.take_if(|frame| !are_users(&frame.globals())) {
        frame = inner.outer();
    }
    frame
}

/// Whether these are the globals of a module that is neither the package's nor NumPy's.
fn are_users(globals: &Bound<'_, PyDict>) -> bool {
    let Ok(Some(name)) = globals.get_item(pyo3::intern!(globals.py(), "__name__")) else { return true };
    if std::ptr::eq(LAST.load(Ordering::Relaxed), name.as_ptr()) {
        return true;
    }
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    if users.iter().any(|user| user.is(&name)) {
        LAST.store(name.as_ptr(), Ordering::Relaxed);
        return true;
    }
    let Ok(name) = name.cast::<PyString>() else { return true };
    let is_user = name.to_cow().is_ok_and(|name| !matches!(name.split('.').next(), Some("numelt" | "numpy")));
    if is_user && users.len() < MOST_USERS {
        users.push(name.clone().unbind().into_any());
    }
    is_user
}

/// Names of the user's modules that were found. They are compared by address, which takes less time than comparing
/// their text.
static USERS: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());
const MOST_USERS: usize = 8;
/// The one of these names that was found last.
static LAST: AtomicPtr<ffi::PyObject> = AtomicPtr::new(std::ptr::null_mut());

/// The position in the user's program of a call that is only counted.
pub struct Place<'py> {
    counts: &'py Bound<'py, PyDict>,
    frame: Bound<'py, PyFrame>,
    code: Bound<'py, PyCode>,
    /// The offset of the instruction in bytes.
    at: i32,
}

/// The position to count a call under, if calls are only counted and the innermost Python frame is the user's; else
/// `None`.
pub fn simple(py: Python<'_>) -> PyResult<Option<Place<'_>>> {
    let Some(counts) = COUNTS.get(py).filter(|_| is_silent()) else { return Ok(None) };
    let Some(frame) = frames::running(py) else { return Ok(None) };
    let (code, at) = (frame.code(), frames::instruction(&frame));
    Ok(in_users_frame(py).then(|| Place { counts: counts.bind(py), frame, code, at }))
}

/// The position in the user's program to count a call under that the package's Python code makes, if calls are only
/// counted; else `None`.
pub fn around(py: Python<'_>) -> Option<Place<'_>> {
    let counts = COUNTS.get(py).filter(|_| is_silent())?;
    let frame = users_frame(py)?;
    let (code, at) = (frame.code(), frames::instruction(&frame));
    Some(Place { counts: counts.bind(py), frame, code, at })
}

/// Counts a call if calls are only counted and the innermost Python frame is the user's; else returns false.
pub fn noted(py: Python<'_>, name: &str, reason: &str) -> PyResult<bool> {
    if !is_silent() {
        return Ok(false);
    }
    let Some(frame) = frames::running(py) else { return Ok(false) };
    let (code, at) = (frame.code(), frames::instruction(&frame));
    if counted((code.as_ptr() as usize, at), name) {
        return Ok(true);
    }
    match COUNTS.get(py).filter(|_| in_users_frame(py)) {
        Some(counts) => note(Place { counts: counts.bind(py), frame, code, at }, name, reason).map(|()| true),
        None => Ok(false),
    }
}

/// Counts a call under an entry that was found before; false if there is none.
fn counted(place: (usize, i32), name: &str) -> bool {
    match places().get_mut(&place).and_then(|known| known.iter_mut().find(|k| &*k.name == name)) {
        Some(known) => {
            known.calls += 1;
            true
        }
        None => false,
    }
}

/// Counts a call at a position in the program.
pub fn note(place: Place<'_>, name: &str, reason: &str) -> PyResult<()> {
    let Place { counts, frame, code, at } = place;
    let py = counts.py();
    let place = (code.as_ptr() as usize, at);
    if counted(place, name) {
        return Ok(());
    }
    // SAFETY: the frame is alive.
    let line = unsafe { ffi::PyFrame_GetLineNumber(frame.as_ptr().cast()) };
    let file = code.getattr(pyo3::intern!(py, "co_filename"))?;
    let key = PyTuple::new(py, [PyString::new(py, name).into_any(), file, line.into_pyobject(py)?.into_any()])?;
    let entry = match counts.get_item(&key)? {
        Some(entry) => {
            let entry = entry.cast_into::<PyList>()?;
            add(&entry, 1)?;
            entry
        }
        None => {
            let one = 1i64.into_pyobject(py)?.into_any();
            let entry = PyList::new(py, [one, PyString::new(py, reason).into_any()])?;
            counts.set_item(key, &entry)?;
            entry
        }
    };
    if places().len() >= MOST_PLACES {
        settle_counts(py)?;
        forget_counts();
    }
    let known = FoundEntry { name: name.into(), entry: entry.unbind(), calls: 0, _code: code.unbind() };
    places().entry(place).or_default().push(known);
    Ok(())
}

fn add(entry: &Bound<'_, PyList>, calls: i64) -> PyResult<()> {
    entry.set_item(0, entry.get_item(0)?.extract::<i64>()? + calls)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_counts, module)?)?;
    module.add_function(wrap_pyfunction!(forget_counts, module)?)?;
    module.add_function(wrap_pyfunction!(settle_counts, module)?)?;
    module.add_function(wrap_pyfunction!(users_frame, module)?)?;
    module.add_function(wrap_pyfunction!(set_silent, module)?)
}
