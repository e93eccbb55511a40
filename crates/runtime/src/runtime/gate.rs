//! The lock around the runtime's state, and a way to use the state without taking it.
//!
//! Taking and releasing a lock is a tenth of the time of recording an operation. If only one thread of a front end runs
//! at a time (as Python's lock ensures), that thread need not take the lock, provided that no other thread uses the
//! state without the front end's own lock. Such threads announce themselves and are counted, and while there are any,
//! all threads take the lock.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A value that is used by one thread at a time.
pub(crate) struct Gate<T> {
    lock: Mutex<()>,
    /// How many threads may be inside, or wait, without the front end's lock.
    away: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: a thread that uses the value holds `lock`, or, by the contract of `Gate::past`, no other thread uses it.
unsafe impl<T: Send> Sync for Gate<T> {}

/// The right to use the value, as long as this lives.
pub(crate) struct Inside<'a, T> {
    value: &'a mut T,
    _lock: Option<MutexGuard<'a, ()>>,
}

/// States that this thread may be inside without the front end's lock, until it is dropped; see
/// [`Runtime::away`](crate::Runtime::away).
pub struct Away<'a>(&'a AtomicUsize);

impl<T> Gate<T> {
    pub fn new(value: T) -> Gate<T> {
        Gate { lock: Mutex::new(()), away: AtomicUsize::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits until no other thread is inside.
    pub fn lock(&self) -> Inside<'_, T> {
        // A panic inside leaves the value usable: see `State`.
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held as long as the reference lives.
        Inside { value: unsafe { &mut *self.value.get() }, _lock: Some(lock) }
    }

    /// Like [`Gate::lock`], but without taking the lock, unless a thread is away.
    ///
    /// # Safety
    /// The caller holds a lock of its own. All threads hold that lock when they call this or `lock`, and when they
    /// make or drop [`Away`]. Only a thread that has made one and not yet dropped it may release that lock meanwhile.
    #[inline]
    pub unsafe fn past(&self) -> Inside<'_, T> {
        if self.away.load(Ordering::Relaxed) > 0 {
            return self.lock();
        }
        debug_assert!(!matches!(self.lock.try_lock(), Err(TryLockError::WouldBlock)), "somebody is inside");
        // SAFETY: by the caller's contract nobody else is inside, or enters before the caller's own lock is free.
        Inside { value: unsafe { &mut *self.value.get() }, _lock: None }
    }

    /// Like [`Gate::past`], but without waiting: `None` if the lock would have to be taken.
    ///
    /// # Safety
    /// That of [`Gate::past`].
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the contract is that of a lock")]
    pub unsafe fn past_alone(&self) -> Option<&mut T> {
        if self.away.load(Ordering::Relaxed) > 0 {
            return None;
        }
        debug_assert!(!matches!(self.lock.try_lock(), Err(TryLockError::WouldBlock)), "somebody is inside");
        // SAFETY: as in `past`.
        Some(unsafe { &mut *self.value.get() })
    }

    /// Whether a thread is inside without the front end's lock, or may be.
    pub fn is_anybody_away(&self) -> bool {
        self.away.load(Ordering::Relaxed) > 0
    }

    /// Forgets, in a forked child, the threads that are away: only the one that forked is left, and it holds the
    /// lock.
    pub fn forget_away(&self) {
        self.away.store(0, Ordering::Relaxed);
    }

    /// Announces that this thread releases the front end's lock and may be inside nevertheless.
    pub fn away(&self) -> Away<'_> {
        self.away.fetch_add(1, Ordering::Relaxed);
        Away(&self.away)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> DerefMut for Inside<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value
    }
}
