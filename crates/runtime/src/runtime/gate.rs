//! The lock around the runtime's state, and the way past it.
//!
//! Taking a lock and giving it back is a tenth of what recording an operation costs. A front end of which one thread
//! runs at a time (Python's lock sees to that) need not take it, as long as no other thread is
//! inside without the front end's own lock: such threads are announced and counted, and while there are any
//! everybody takes the lock.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// A value that is used by one thread at a time.
pub(crate) struct Gate<T> {
    lock: Mutex<()>,
    /// Threads that may be inside, or wait, without the front end's lock.
    away: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: whoever uses the value holds `lock`, or, by the contract of `Gate::past`, is alone with it.
unsafe impl<T: Send> Sync for Gate<T> {}

/// The right to use the value.
pub(crate) struct Inside<'a, T> {
    value: &'a mut T,
    _lock: Option<MutexGuard<'a, ()>>,
}

/// Says that this thread may be inside without the front end's lock, until it is dropped; see [`Gate::away`].
pub struct Away<'a>(&'a AtomicUsize);

impl<T> Gate<T> {
    pub fn new(value: T) -> Gate<T> {
        Gate { lock: Mutex::new(()), away: AtomicUsize::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits until nobody else is inside.
    pub fn lock(&self) -> Inside<'_, T> {
        // A panic inside leaves the value usable: see `State`.
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held as long as the reference lives.
        Inside { value: unsafe { &mut *self.value.get() }, _lock: Some(lock) }
    }

    /// The same without the lock, unless somebody is away.
    ///
    /// # Safety
    /// The caller holds a lock of its own, under which all threads call this and `lock`, and make and drop [`Away`].
    /// Only those that have made one, and not yet dropped it, may let go of that lock meanwhile.
    #[inline]
    pub unsafe fn past(&self) -> Inside<'_, T> {
        if self.away.load(Ordering::Relaxed) > 0 {
            return self.lock();
        }
        debug_assert!(!matches!(self.lock.try_lock(), Err(TryLockError::WouldBlock)), "somebody is inside");
        // SAFETY: by the caller's contract nobody else is inside, or comes in before the caller's own lock is free.
        Inside { value: unsafe { &mut *self.value.get() }, _lock: None }
    }

    /// The same without waiting: nothing where the lock would have to be taken.
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

    /// Is a thread inside without the front end's lock, or may it be?
    pub fn is_anybody_away(&self) -> bool {
        self.away.load(Ordering::Relaxed) > 0
    }

    /// In a forked child: no thread is away, since only the one that forked is left. It holds the lock.
    pub fn forget_away(&self) {
        self.away.store(0, Ordering::Relaxed);
    }

    /// Announces that this thread lets go of the front end's lock and may be inside all the same.
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
