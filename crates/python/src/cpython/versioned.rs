//! [`Versioned`]: a value that is read without a lock and seldom replaced.
//!
//! Setting an array's shape replaces its view while other code may hold a reference to the old one. The cell
//! therefore keeps all old versions until it is dropped.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock};

/// A value and all its former versions; see the module's documentation.
pub struct Versioned<T> {
    first: T,
    latest: AtomicPtr<T>,
    /// Owners of every later version; boxed, so that their addresses stay when the vector grows.
    #[allow(clippy::vec_box)]
    later: OnceLock<Box<Mutex<Vec<Box<T>>>>>,
}

impl<T> Versioned<T> {
    /// A cell with its first version.
    pub const fn new(value: T) -> Versioned<T> {
        Versioned { first: value, latest: AtomicPtr::new(ptr::null_mut()), later: OnceLock::new() }
    }

    /// The current version.
    pub fn get(&self) -> &T {
        let latest = self.latest.load(Ordering::Acquire);
        // SAFETY: `latest` points into a box that `later` owns until the cell is dropped, and
        // nothing hands out a mutable reference to it.
        unsafe { latest.as_ref() }.unwrap_or(&self.first)
    }

    /// The first version, if it has never been replaced.
    pub fn only(&self) -> Option<&T> {
        self.later.get().is_none().then_some(&self.first)
    }

    /// Replaces the current version.
    pub fn set(&self, value: T) {
        let mut value = Box::new(value);
        let address: *mut T = &mut *value;
        let mut later = self.later.get_or_init(Box::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        later.push(value);
        self.latest.store(address, Ordering::Release);
    }
}
