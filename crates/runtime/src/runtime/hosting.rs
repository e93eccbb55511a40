//! The runtime's host engine, and how front ends reach it.
//!
//! A front end lets the engine count a hundred truth values or make ten random numbers, which takes about as long as a
//! lock and a reference count together. So front ends of which one thread runs at a time reach it without either.

use super::gate::Inside;
use super::{Runtime, State};
use crate::host::Host;
use std::cell::UnsafeCell;
use std::sync::Arc;

/// The host engine. It is replaced with the runtime's lock held, and read with that lock or by the contract of
/// [`Runtime::with_host`].
pub(super) struct Hosting(UnsafeCell<Arc<dyn Host>>);

// SAFETY: a thread that uses the value holds the runtime's lock, or nobody replaces the value meanwhile, by the
// contract of `Runtime::with_host`.
unsafe impl Sync for Hosting {}

impl Hosting {
    pub fn new(host: Arc<dyn Host>) -> Hosting {
        Hosting(UnsafeCell::new(host))
    }

    /// Replaces the host engine.
    pub fn replace(&self, _inside: &mut Inside<'_, State>, host: Arc<dyn Host>) {
        // SAFETY: the lock is held, and by the contract of `Runtime::with_host` nobody reads without it meanwhile.
        drop(unsafe { std::mem::replace(&mut *self.0.get(), host) });
    }
}

impl Runtime {
    /// The host engine. Waits for a flush in another thread.
    pub fn host(&self) -> Arc<dyn Host> {
        let _inside = self.lock();
        // SAFETY: the lock is held.
        unsafe { (*self.host.0.get()).clone() }
    }

    /// Calls `f` with the host engine, without a lock.
    ///
    /// # Safety
    /// Nobody calls [`Runtime::reconfigure`] before `f` returns. A front end with a lock of its own holds it for both
    /// calls, and `f` does not release it.
    #[inline]
    pub unsafe fn with_host<R>(&self, f: impl FnOnce(&Arc<dyn Host>) -> R) -> R {
        // SAFETY: by the caller's contract the value is not replaced meanwhile.
        f(unsafe { &*self.host.0.get() })
    }
}
