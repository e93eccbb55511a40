//! Python objects that own memory which the runtime has adopted, and the release of these objects.
//!
//! In: an object. Out: [`Owner`], which puts the object into a list when it is dropped, and [`drain`], which releases
//! the objects in that list.

use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Objects whose owners have been dropped. They are released later, when no lock is held.
static GRAVEYARD: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());
static BURIED: AtomicUsize = AtomicUsize::new(0);

/// A Python object as the owner of memory. Dropping it runs no Python code, because it may be dropped on
/// any thread and under the runtime's lock.
pub struct Owner(Option<Py<PyAny>>);

impl Owner {
    /// An owner that keeps the object alive.
    pub fn of(object: Py<PyAny>) -> Owner {
        Owner(Some(object))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            GRAVEYARD.lock().unwrap_or_else(|p| p.into_inner()).push(object);
            BURIED.fetch_add(1, Ordering::Release);
        }
    }
}

/// Releases the objects of dropped [`Owner`]s. The caller holds the GIL and no lock of the runtime.
pub fn drain(_py: Python<'_>) {
    if BURIED.load(Ordering::Acquire) == 0 {
        return;
    }
    let dead = std::mem::take(&mut *GRAVEYARD.lock().unwrap_or_else(|p| p.into_inner()));
    BURIED.fetch_sub(dead.len(), Ordering::AcqRel);
    drop(dead);
}

/// [`drain`] for destructors, which may run while the interpreter is shutting down.
pub fn drain_after_drop() {
    if BURIED.load(Ordering::Acquire) != 0 {
        Python::try_attach(drain);
    }
}
