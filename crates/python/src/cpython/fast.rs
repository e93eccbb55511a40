//! Which of the fast paths into numelt's own types are in force.
//!
//! In: the environment variable `NUMELT_FAST_PATHS`. It is read once, at import, because the paths change the classes
//! before these are used. Out: whether a path is in force. Without a path, the general way (PyO3's, or the package's
//! function of the same name) gives the same results more slowly; `benches/fast_paths.py` measures how much more
//! slowly.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::OnceLock;

/// A fast path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FastPath {
    /// Operators and indexing of arrays (`direct`).
    Slots,
    /// Calls of ufuncs, functions and methods (`vectorcall`).
    Calls,
    /// The memory of array objects (`fresh`).
    Objects,
    /// Second implementations of functions, for few elements (`functions/short`).
    Functions,
}

const PATHS: [(FastPath, &str); 4] = [
    (FastPath::Slots, "slots"),
    (FastPath::Calls, "calls"),
    (FastPath::Objects, "objects"),
    (FastPath::Functions, "functions"),
];

const VARIABLE: &str = "NUMELT_FAST_PATHS";

static IN_FORCE: OnceLock<Vec<FastPath>> = OnceLock::new();

/// Reads the setting. It is called once, when the module is imported.
///
/// # Errors
/// A `ValueError` that names the accepted values.
pub fn prepare() -> PyResult<()> {
    let text = std::env::var_os(VARIABLE).map(|text| text.to_string_lossy().into_owned());
    let paths = parse(text.as_deref().unwrap_or("1").trim());
    let paths = paths.map_err(|what| {
        let names = PATHS.map(|(_, name)| name).join(", ");
        PyValueError::new_err(format!("{VARIABLE}: {what:?} is not 0, 1 or names out of {names}"))
    })?;
    IN_FORCE.set(paths).map_err(|_| PyValueError::new_err("the module has been imported before"))
}

fn parse(text: &str) -> Result<Vec<FastPath>, &str> {
    match text {
        "0" => Ok(Vec::new()),
        "1" => Ok(PATHS.map(|(path, _)| path).into()),
        names => {
            let path = |name| PATHS.iter().find(|(_, known)| *known == name).map(|(path, _)| *path).ok_or(name);
            names.split(',').map(|name| path(name.trim())).collect()
        }
    }
}

/// Whether a path is in force.
pub fn has(path: FastPath) -> bool {
    IN_FORCE.get().is_some_and(|paths| paths.contains(&path))
}

/// The names of the paths that are in force, for `show_config`.
#[pyfunction]
pub fn fast_paths() -> Vec<&'static str> {
    PATHS.iter().filter(|(path, _)| has(*path)).map(|(_, name)| *name).collect()
}
