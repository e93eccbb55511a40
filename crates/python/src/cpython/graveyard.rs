//! Python objects that own memory which the runtime has adopted, and how they are let go of.
//!
//! In: an object. Out: [`Owner`], which buries it when it is dropped, and [`drain`], which lets go of the buried.

use pyo3::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Objects whose last use was inside the runtime; they are let go when no lock is held.
static GRAVEYARD: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());
static BURIED: AtomicUsize = AtomicUsize::new(0);

/// A Python object as the owner of memory. Dropping it runs no Python code: that may happen on
/// any thread and under the runtime's lock.
pub struct Owner(Option<Py<PyAny>>);

impl Owner {
    /// The owner that keeps an object alive.
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

/// Lets go of objects that [`Owner`]s left behind; with the GIL held and no lock of the runtime's.
pub fn drain(_py: Python<'_>) {
    if BURIED.load(Ordering::Acquire) == 0 {
        return;
    }
    let dead = std::mem::take(&mut *GRAVEYARD.lock().unwrap_or_else(|p| p.into_inner()));
    BURIED.fetch_sub(dead.len(), Ordering::AcqRel);
    drop(dead);
}

/// [`drain`] for destructors, where the interpreter may be on its way out.
pub fn drain_after_drop() {
    if BURIED.load(Ordering::Acquire) != 0 {
        Python::try_attach(drain);
    }
}
