//! Guards: the right to read or to write the values of a base on the host, for as long as the guard lives.
//!
//! A base may have any number of [`ReadGuard`]s, or one [`WriteGuard`]. Its values are on the host meanwhile.
//!
//! Invariants:
//! - **A guard begins under the runtime's lock, and may end anywhere.** A thread that holds that lock and finds no
//!   guard in its way may therefore go on: no guard begins before the lock is released.
//! - **Nothing that the runtime runs uses what a guard protects from it.** A flush reads no base that has a writer, and
//!   writes none that has a guard. It is blocked then, and waits *without* the lock until the guard has ended
//!   ([`Guards::wait`]). Operations that would run at once are recorded instead, so that recording never waits.
//! - **A guarded address stays valid.** Host memory is freed or moved by work that writes its base, and with the last
//!   reference to the base, which a guard borrows. A device that needs memory discards its own copy, never the
//!   host's.
//! - **Waiting ends.** A thread that would wait for itself, or close a circle of threads that wait for each other's
//!   guards, gets [`Error::Busy`] instead.

use super::base::BaseRef;
use super::cell::{BaseCell, note};
use super::shared::Shared;
use numelt_ir::{Error, Result};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The right to read the values of a base on the host. Nothing writes them while it lives.
///
/// It belongs to the thread that made it: a thread that waited for a guard of its own would wait for ever, so it gets
/// an error instead.
#[derive(Debug)]
pub struct ReadGuard<'a> {
    entry: GuardEntry<'a>,
}

/// The right to write the values of a base on the host by other means than recorded work. Nothing else reads or writes
/// them while it lives. Everything derived from the former values has been forgotten.
///
/// Like a [`ReadGuard`] it belongs to the thread that made it.
#[derive(Debug)]
pub struct WriteGuard<'a> {
    entry: GuardEntry<'a>,
}

/// An entry in the heap's list of guards, which is removed when this is dropped.
#[derive(Debug)]
struct GuardEntry<'a> {
    base: &'a BaseRef,
    start: NonNull<u8>,
    number: u64,
    /// Prevents both kinds from being sent to another thread.
    _not_send: PhantomData<*const ()>,
}

impl<'a> GuardEntry<'a> {
    /// Enters a guard. The caller holds the runtime's lock (or the front end's in its place), and the values of the
    /// base are on the host.
    fn begin(base: &'a BaseRef, writes: bool) -> GuardEntry<'a> {
        let number = base.0.heap.guards.enter(&base.0, writes);
        let start = NonNull::new(base.0.host_address()).unwrap_or(NonNull::dangling());
        GuardEntry { base, start, number, _not_send: PhantomData }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the base has this many bytes at this address. They stay there, and nobody writes them, as long as the
        // entry exists.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.base.nbytes()) }
    }
}

impl Drop for GuardEntry<'_> {
    fn drop(&mut self) {
        self.base.0.heap.guards.leave(self.number);
    }
}

impl<'a> ReadGuard<'a> {
    /// A new guard. The conditions of [`GuardEntry::begin`] hold.
    pub(crate) fn begin(base: &'a BaseRef) -> ReadGuard<'a> {
        ReadGuard { entry: GuardEntry::begin(base, false) }
    }

    /// All bytes of the base.
    pub fn bytes(&self) -> &[u8] {
        self.entry.bytes()
    }

    /// The address of the first byte, valid as long as the guard.
    pub fn as_ptr(&self) -> *const u8 {
        self.entry.start.as_ptr()
    }
}

impl<'a> WriteGuard<'a> {
    /// A new guard; forgets everything derived from the values. The conditions of [`GuardEntry::begin`] hold.
    pub(crate) fn begin(base: &'a BaseRef) -> WriteGuard<'a> {
        base.0.touch();
        WriteGuard { entry: GuardEntry::begin(base, true) }
    }

    /// All bytes of the base.
    pub fn bytes(&self) -> &[u8] {
        self.entry.bytes()
    }

    /// All bytes of the base, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the base has this many bytes at this address. They stay there, and nobody else reads or writes them,
        // as long as the guard exists.
        unsafe { std::slice::from_raw_parts_mut(self.entry.start.as_ptr(), self.entry.base.nbytes()) }
    }

    /// The address of the first byte, valid as long as the guard.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.entry.start.as_ptr()
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let cell = &self.entry.base.0;
        if cell.has(note::ANCHORED) {
            // a failure is the error of the next access
            let _ = cell.return_to_anchor();
        }
    }
}

/// The rights to use the values of several bases, which begin and end together: that takes less time than a guard of
/// each.
///
/// Like a [`ReadGuard`] it belongs to the thread that made it.
pub struct GuardSet<'a> {
    guards: Option<(&'a Guards, u64)>,
    _not_send: PhantomData<*const ()>,
}

impl<'a> GuardSet<'a> {
    /// New guards; with each base comes whether it is written. `None` if there is another guard in the way. The
    /// conditions of [`GuardEntry::begin`] hold, and no base occurs twice.
    pub(crate) fn begin(uses: &[(&'a BaseRef, bool)]) -> Option<GuardSet<'a>> {
        let Some((first, _)) = uses.first() else { return Some(GuardSet { guards: None, _not_send: PhantomData }) };
        let guards: &Guards = &first.0.heap.guards;
        let number = guards.enter_all(uses)?;
        uses.iter().filter(|(_, writes)| *writes).for_each(|(base, _)| base.0.touch());
        Some(GuardSet { guards: Some((guards, number)), _not_send: PhantomData })
    }

    /// The address of the first byte of one of the bases, valid as long as the guards.
    pub fn start_of(&self, base: &BaseRef) -> *mut u8 {
        NonNull::new(base.0.host_address()).unwrap_or(NonNull::dangling()).as_ptr()
    }
}

impl Drop for GuardSet<'_> {
    fn drop(&mut self) {
        if let Some((guards, number)) = self.guards {
            guards.leave(number);
        }
    }
}

/// The guards of a heap.
#[derive(Default)]
pub(crate) struct Guards {
    /// How many guards are alive; read without locking the list.
    alive: AtomicUsize,
    list: Mutex<GuardList>,
    ended: Condvar,
}

#[derive(Default)]
struct GuardList {
    /// The number of the next guard.
    next: u64,
    alive: SmallVec<[Alive; 8]>,
    /// The threads that wait, each with the guard that it waits for.
    waits: SmallVec<[(Thread, BlockingGuard); 4]>,
}

struct Alive {
    /// Guards that begin and end together have the same number.
    number: u64,
    /// The base, by [`Shared::id`].
    base: usize,
    writes: bool,
    thread: Thread,
}

/// A thread, by an address that no other living thread has.
type Thread = usize;

/// The thread that calls this.
fn this_thread() -> Thread {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// The number of a guard that blocks somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockingGuard(u64);

impl Guards {
    /// Whether any guard is alive.
    #[inline]
    pub fn any(&self) -> bool {
        // acquires what the owners of ended guards have written
        self.alive.load(Ordering::Acquire) > 0
    }

    /// The guard that forbids reading a base, or writing it.
    #[inline]
    pub fn blocking(&self, base: &Shared<BaseCell>, writes: bool) -> Option<BlockingGuard> {
        if self.any() { self.find(base.id(), writes) } else { None }
    }

    /// The guard that forbids running work on these bases. With each base comes whether it is written.
    #[cold]
    pub fn blocking_any<'a>(&self, uses: impl Iterator<Item = (&'a Shared<BaseCell>, bool)>) -> Option<BlockingGuard> {
        let mut uses = uses;
        let list = self.list();
        uses.find_map(|(base, writes)| list.find(|alive| alive.base == base.id() && (writes || alive.writes)))
    }

    #[cold]
    fn find(&self, base: usize, writes: bool) -> Option<BlockingGuard> {
        self.list().find(|alive| alive.base == base && (writes || alive.writes))
    }

    fn list(&self) -> MutexGuard<'_, GuardList> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, base: &Shared<BaseCell>, writes: bool) -> u64 {
        let mut list = self.list();
        let number = list.next;
        list.next += 1;
        list.alive.push(Alive { number, base: base.id(), writes, thread: this_thread() });
        self.alive.store(list.alive.len(), Ordering::Release);
        number
    }

    /// Enters guards that begin together. With each base comes whether it is written. `None` if another guard is in the
    /// way.
    fn enter_all(&self, uses: &[(&BaseRef, bool)]) -> Option<u64> {
        let mut list = self.list();
        let is_in_way =
            |alive: &Alive| uses.iter().any(|(base, writes)| alive.base == base.0.id() && (*writes || alive.writes));
        if list.find(is_in_way).is_some() {
            return None;
        }
        let (number, thread) = (list.next, this_thread());
        list.next += 1;
        let entries = uses.iter().map(|&(base, writes)| Alive { number, base: base.0.id(), writes, thread });
        list.alive.extend(entries);
        self.alive.store(list.alive.len(), Ordering::Release);
        Some(number)
    }

    fn leave(&self, number: u64) {
        let mut list = self.list();
        // a forked child has forgotten the guards of threads that it does not have
        list.alive.retain(|alive| alive.number != number);
        self.alive.store(list.alive.len(), Ordering::Release);
        let is_awaited = !list.waits.is_empty();
        drop(list);
        if is_awaited {
            self.ended.notify_all();
        }
    }

    /// Waits until a guard has ended. The caller holds neither the runtime's lock nor the front end's, because the
    /// guard's owner may need them.
    ///
    /// # Errors
    /// [`Error::Busy`] if the guard belongs to the caller, or its owner waits for the caller.
    pub fn wait(&self, guard: BlockingGuard) -> Result<()> {
        let own = this_thread();
        let mut list = self.list();
        let Some(owner) = list.owner(guard) else { return Ok(()) };
        if list.waits_for(owner, own) {
            return Err(Error::Busy);
        }
        list.waits.push((own, guard));
        while list.owner(guard).is_some() {
            list = self.ended.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
        list.waits.retain(|(waiting, _)| *waiting != own);
        Ok(())
    }

    /// Excludes all other threads until the result is dropped (around a fork).
    pub fn hold(&self) -> GuardsHeld<'_> {
        GuardsHeld { list: self.list(), alive: &self.alive }
    }
}

impl GuardList {
    fn find(&self, blocks: impl Fn(&Alive) -> bool) -> Option<BlockingGuard> {
        self.alive.iter().find(|alive| blocks(alive)).map(|alive| BlockingGuard(alive.number))
    }

    fn owner(&self, guard: BlockingGuard) -> Option<Thread> {
        self.alive.iter().find(|alive| alive.number == guard.0).map(|alive| alive.thread)
    }

    /// Whether a thread is the other one or waits for it, directly or through other threads. No threads wait in a
    /// circle.
    fn waits_for(&self, thread: Thread, other: Thread) -> bool {
        let mut at = Some(thread);
        while let Some(thread) = at {
            if thread == other {
                return true;
            }
            let guard = self.waits.iter().find(|(waiting, _)| *waiting == thread).map(|(_, guard)| *guard);
            at = guard.and_then(|guard| self.owner(guard));
        }
        false
    }
}

/// Excludes all other threads from a heap's guards.
pub(crate) struct GuardsHeld<'a> {
    list: MutexGuard<'a, GuardList>,
    alive: &'a AtomicUsize,
}

impl GuardsHeld<'_> {
    /// Forgets the guards of other threads. Called in a forked child, where these threads do not exist and would
    /// never end their guards.
    pub fn forget_threads(&mut self) {
        let own = this_thread();
        self.list.alive.retain(|alive| alive.thread == own);
        self.list.waits.clear();
        self.alive.store(self.list.alive.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
