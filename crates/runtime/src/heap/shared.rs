//! Counted references that are fast when it is known that no other thread uses them.
//!
//! They are like the standard library's, with two differences. A reference that no other thread can be copying is
//! copied without a locked instruction, and one load tells whether a reference is the only one. Both happen once for
//! each recorded operation, of which a locked instruction takes a twentieth.

use std::ops::Deref;
use std::process;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// One strong reference in the counts, which are the low half.
const STRONG: u64 = 1;

/// One weak reference, in the high half. All strong references together count as one weak one.
const WEAK: u64 = 1 << 32;

/// The counts of a value with one reference.
const ALONE: u64 = STRONG | WEAK;

/// More references of a kind than a correct program can have.
const TOO_MANY: u64 = 1 << 31;

/// Aligned so that the fields used most often are in one cache line.
#[repr(C, align(64))]
struct Counted<T> {
    counts: AtomicU64,
    value: T,
}

/// A reference that keeps its value alive.
pub(crate) struct Shared<T>(NonNull<Counted<T>>);

/// A reference that does not keep its value alive.
pub(crate) struct Weak<T>(NonNull<Counted<T>>);

// SAFETY: all threads access the value through shared references, and the last reference drops it, on whichever
// thread.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}
// SAFETY: as above; a weak reference can become a strong one.
unsafe impl<T: Send + Sync> Send for Weak<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Weak<T> {}

fn strong(counts: u64) -> u64 {
    counts & (WEAK - 1)
}

impl<T> Shared<T> {
    #[inline(always)]
    pub fn new(value: T) -> Shared<T> {
        Shared(NonNull::from(Box::leak(Box::new(Counted { counts: AtomicU64::new(ALONE), value }))))
    }

    #[inline]
    fn counted(&self) -> &Counted<T> {
        // SAFETY: the memory lives as long as any reference.
        unsafe { self.0.as_ref() }
    }

    /// How many references of this kind there are.
    #[inline]
    pub fn count(&self) -> usize {
        strong(self.counted().counts.load(Ordering::Acquire)) as usize
    }

    /// The value, if there is no other reference of any kind.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // One load reads both counts. Nobody can make further references afterwards, because that takes a reference.
        if self.counted().counts.load(Ordering::Acquire) != ALONE {
            return None;
        }
        // SAFETY: there is no other reference, and this one is borrowed.
        Some(unsafe { &mut self.0.as_mut().value })
    }

    /// Another reference to the value, made without a locked instruction.
    ///
    /// # Safety
    /// No other thread makes or drops references to the value meanwhile.
    #[inline]
    pub unsafe fn clone_alone(&self) -> Shared<T> {
        let counts = &self.counted().counts;
        counts.store(counts.load(Ordering::Relaxed) + STRONG, Ordering::Relaxed);
        Shared(self.0)
    }

    /// Drops a reference without a locked instruction.
    ///
    /// # Safety
    /// The value has another reference, and no other thread makes or drops references to it meanwhile.
    #[inline(always)]
    pub unsafe fn drop_alone(self) {
        let counts = &self.counted().counts;
        counts.store(counts.load(Ordering::Relaxed) - STRONG, Ordering::Relaxed);
        std::mem::forget(self);
    }

    /// A reference that does not keep the value alive.
    pub fn downgrade(&self) -> Weak<T> {
        if self.counted().counts.fetch_add(WEAK, Ordering::Relaxed) / WEAK >= TOO_MANY {
            process::abort();
        }
        Weak(self.0)
    }

    /// Whether both references are to the same value.
    #[inline]
    pub fn is(&self, other: &Shared<T>) -> bool {
        self.0 == other.0
    }

    /// A number that no other living value has.
    pub fn id(&self) -> usize {
        self.0.addr().get()
    }

    /// Drops the value, after the last strong reference has been dropped.
    #[cold]
    fn end(&mut self, counts: u64) {
        fence(Ordering::Acquire);
        // SAFETY: no strong reference is left, and weak ones do not access the value.
        unsafe { std::ptr::drop_in_place(&raw mut (*self.0.as_ptr()).value) };
        drop(Weak::<T>(self.0));
        debug_assert!(counts >= ALONE);
    }
}

impl<T> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Shared<T> {
        if strong(self.counted().counts.fetch_add(STRONG, Ordering::Relaxed)) >= TOO_MANY {
            process::abort();
        }
        Shared(self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for Shared<T> {
    #[inline]
    fn drop(&mut self) {
        let before = self.counted().counts.fetch_sub(STRONG, Ordering::Release);
        if strong(before) == 1 {
            self.end(before);
        }
    }
}

impl<T> Weak<T> {
    fn counts(&self) -> &AtomicU64 {
        // SAFETY: the memory lives as long as any reference, and the counts are not dropped before.
        unsafe { &(*self.0.as_ptr()).counts }
    }

    /// Whether the value is still alive.
    pub fn is_alive(&self) -> bool {
        strong(self.counts().load(Ordering::Relaxed)) > 0
    }

    /// A reference that keeps the value alive, if it is still alive.
    pub fn upgrade(&self) -> Option<Shared<T>> {
        let more = |counts| (strong(counts) > 0).then_some(counts + STRONG);
        let before = self.counts().fetch_update(Ordering::Acquire, Ordering::Relaxed, more).ok()?;
        if strong(before) >= TOO_MANY {
            process::abort();
        }
        Some(Shared(self.0))
    }
}

impl<T> Clone for Weak<T> {
    fn clone(&self) -> Weak<T> {
        if self.counts().fetch_add(WEAK, Ordering::Relaxed) / WEAK >= TOO_MANY {
            process::abort();
        }
        Weak(self.0)
    }
}

impl<T> Drop for Weak<T> {
    fn drop(&mut self) {
        if self.counts().fetch_sub(WEAK, Ordering::Release) / WEAK == 1 {
            fence(Ordering::Acquire);
            // SAFETY: the memory came from a box, its value has been dropped, and this was the last reference.
            drop(unsafe { Box::from_raw(self.0.as_ptr().cast::<std::mem::ManuallyDrop<Counted<T>>>()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    /// Counts how often it was dropped.
    struct Noted(Arc<AtomicUsize>);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn values_go_with_their_last_reference() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut first = Shared::new(Noted(Arc::clone(&dropped)));
        assert!(first.get_mut().is_some());
        // SAFETY: no other thread knows the value.
        let second = unsafe { first.clone_alone() };
        assert!(first.get_mut().is_none() && first.count() == 2 && first.is(&second));
        // SAFETY: no other thread knows the value, and there is another reference.
        unsafe { first.drop_alone() };
        let weak = second.downgrade();
        assert!(weak.is_alive() && weak.upgrade().is_some_and(|again| again.is(&second)));
        let mut second = second;
        assert!(second.get_mut().is_none(), "a weak reference could come back");
        let other = weak.clone();
        drop(weak);
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        drop(second);
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        assert!(!other.is_alive() && other.upgrade().is_none());
    }

    #[test]
    fn threads_share_and_let_go() {
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let shared = Shared::new(Noted(Arc::clone(&dropped)));
            let weak = shared.downgrade();
            thread::scope(|scope| {
                for _ in 0..4 {
                    let (mine, weak) = (shared.clone(), weak.clone());
                    scope.spawn(move || {
                        for _ in 0..200 {
                            drop(mine.clone());
                            drop(weak.upgrade());
                            drop(mine.downgrade());
                        }
                    });
                }
                drop(shared);
            });
            assert!(weak.upgrade().is_none());
        }
        assert_eq!(dropped.load(Ordering::SeqCst), 50);
    }
}
