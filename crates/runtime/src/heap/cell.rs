//! What is known of one base: its size, where its values are, who uses it.
//!
//! Front ends hold shares of a cell ([`BaseRef`](super::base::BaseRef)); so does the queue while work on it is pending. What
//! only the queue holds at a flush is dead: it need not be stored.

use super::Heap;
use super::copies::Copies;
use super::shared::Shared;
use crate::put_off::Bonds;
use crate::siblings::Memo;
use numelt_ir::{DType, Result, Scalar};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SLOT_BITS: u32 = 24;
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// Cells kept by a runtime for new bases.
pub(crate) const CELLS: usize = 512;

/// Where a base's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// Nowhere: nothing has been written, and there is no memory.
    Nowhere,
    /// On the host, at this address; there may be copies on devices.
    Here(NonNull<u8>),
    /// On a device, or several.
    Away,
}

/// Marks of a cell: one word, since what is recorded looks at several of them each time.
pub(crate) mod note {
    /// A flush could not compute it (out of memory); reading it says so.
    pub const FAILED: u32 = 1;
    /// The front end has told somebody the address.
    pub const KNOWN: u32 = 1 << 1;
    /// The memory was adopted: somebody else gave it, and takes it back.
    pub const FOREIGN: u32 = 1 << 2;
    /// Adopted memory that its other owner can still see.
    pub const SHARED: u32 = 1 << 3;
    /// Results of reductions are kept.
    pub const KEPT: u32 = 1 << 4;
    /// There are copies on devices.
    pub const COPIES: u32 = 1 << 5;
    /// All copies are on devices: there is no valid one on the host.
    pub const AWAY: u32 = 1 << 6;
    /// Its only holder is about to let go of it.
    pub const PASSING: u32 = 1 << 7;
    /// What is made from the values as they are, so that who writes them has to see to it.
    pub const DERIVED: u32 = KEPT | COPIES;
}

/// What recording looks at comes first, so that it lies in one line of the cache.
#[repr(C)]
pub(crate) struct BaseCell {
    pub nbytes: usize,
    /// Where the host's copy is, if it is valid.
    here: AtomicPtr<u8>,
    /// Batch number and slot in it; see `slot_in`.
    ticket: AtomicU64,
    /// The batch that wrote it last.
    written: AtomicU64,
    pub heap: Arc<Heap>,
    pub exports: AtomicU32,
    notes: AtomicU32,
    /// Is the value put off, or others that are made of it?
    pub bonds: Bonds,
    /// Results of full reductions of the values as they are.
    kept: Mutex<Option<Box<Memo>>>,
    pub(super) copies: Mutex<Copies>,
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

impl BaseCell {
    #[inline]
    pub fn new(heap: Arc<Heap>, nbytes: usize) -> BaseCell {
        BaseCell::made(heap, nbytes, std::ptr::null_mut(), 0, None)
    }

    /// One whose memory is somebody else's.
    pub fn foreign(
        heap: Arc<Heap>,
        nbytes: usize,
        address: *mut u8,
        owner: Box<dyn Any + Send + Sync>,
        shared: bool,
    ) -> BaseCell {
        let notes = note::FOREIGN | if shared { note::SHARED } else { 0 };
        BaseCell::made(heap, nbytes, address, notes, Some(owner))
    }

    #[inline]
    fn made(
        heap: Arc<Heap>,
        nbytes: usize,
        here: *mut u8,
        notes: u32,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> BaseCell {
        BaseCell {
            nbytes,
            here: AtomicPtr::new(here),
            ticket: AtomicU64::new(0),
            written: AtomicU64::new(0),
            heap,
            exports: AtomicU32::new(0),
            notes: AtomicU32::new(notes),
            bonds: Bonds::default(),
            kept: Mutex::default(),
            copies: Mutex::default(),
            _owner: owner,
        }
    }

    /// Makes it as good as new, without memory; false where the memory is somebody else's.
    #[inline]
    pub fn renew(&mut self) -> bool {
        let notes = *self.notes.get_mut();
        if notes & note::FOREIGN != 0 {
            return false;
        }
        if notes & note::DERIVED != 0 {
            self.forget_kept();
            self.release();
        }
        let address = std::mem::replace(self.here.get_mut(), std::ptr::null_mut());
        self.free_host(address);
        *self.ticket.get_mut() = 0;
        *self.written.get_mut() = 0;
        *self.notes.get_mut() = 0;
        if self.bonds.any() {
            self.bonds = Bonds::default();
        }
        true
    }

    /// Where the values are.
    #[inline]
    pub fn whereabouts(&self) -> Whereabouts {
        match NonNull::new(self.here()) {
            Some(address) => Whereabouts::Here(address),
            None if self.has(note::AWAY) => Whereabouts::Away,
            None => Whereabouts::Nowhere,
        }
    }

    /// Has anything been written, here or elsewhere?
    #[inline]
    pub fn has_value(&self) -> bool {
        !self.here().is_null() || self.has(note::AWAY)
    }

    /// Address of the host's copy; null where there is none that is valid.
    #[inline]
    pub fn here(&self) -> *mut u8 {
        self.here.load(Ordering::Acquire)
    }

    /// Says where the host's copy is.
    #[inline]
    pub fn set_here(&self, address: *mut u8) {
        self.here.store(address, Ordering::Release);
    }

    /// Takes the host's copy out; null where there is none.
    pub(super) fn take_here(&self) -> *mut u8 {
        self.here.swap(std::ptr::null_mut(), Ordering::AcqRel)
    }

    /// Is one of these [`note`]s set?
    #[inline]
    pub fn has(&self, notes: u32) -> bool {
        self.notes.load(Ordering::Acquire) & notes != 0
    }

    /// Sets a [`note`]; was it set before?
    #[inline]
    pub fn set(&self, notes: u32) -> bool {
        self.notes.fetch_or(notes, Ordering::AcqRel) & notes != 0
    }

    /// Takes a [`note`] away.
    #[inline]
    pub fn unset(&self, notes: u32) {
        self.notes.fetch_and(!notes, Ordering::AcqRel);
    }

    /// Slot in batch `epoch`, if the base is used in it.
    #[inline]
    pub fn slot_in(&self, epoch: u64) -> Option<u32> {
        let ticket = self.ticket.load(Ordering::Relaxed);
        (ticket >> SLOT_BITS == epoch).then_some((ticket & (MAX_SLOTS as u64 - 1)) as u32)
    }

    #[inline]
    pub fn set_slot(&self, epoch: u64, slot: u32) {
        self.ticket.store(epoch << SLOT_BITS | u64::from(slot), Ordering::Relaxed);
    }

    /// Does batch `epoch` write it?
    #[inline]
    pub fn is_written_in(&self, epoch: u64) -> bool {
        self.written.load(Ordering::Relaxed) == epoch
    }

    /// Notes that batch `epoch` writes it.
    #[inline]
    pub fn set_written(&self, epoch: u64) {
        self.written.store(epoch, Ordering::Relaxed);
    }

    /// Does the batch that is being recorded write it, or the one that is running?
    #[inline]
    pub fn is_being_written(&self) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        written == self.heap.epoch.load(Ordering::Acquire) || written == self.heap.running.load(Ordering::Acquire)
    }

    /// Does the batch that is being recorded use it, or the one that is running?
    #[inline]
    pub fn is_queued(&self) -> bool {
        // a flush makes its batch the running one before it opens the next
        self.slot_in(self.heap.epoch.load(Ordering::Acquire)).is_some()
            || self.slot_in(self.heap.running.load(Ordering::Acquire)).is_some()
    }

    /// Can somebody outside see its memory, so that work on it must run at once?
    #[inline]
    pub fn is_visible(&self) -> bool {
        self.exports.load(Ordering::Acquire) > 0 || self.has(note::SHARED)
    }

    /// Can others than the runtime write or free its memory?
    pub fn is_seen_outside(&self) -> bool {
        self.has(note::FOREIGN) || self.is_visible()
    }

    /// May its values move to other memory? Nobody has been told where they are, and the memory is our own.
    pub fn may_move(&self) -> bool {
        !self.has(note::FOREIGN | note::KNOWN | note::COPIES) && self.exports.load(Ordering::Acquire) == 0
    }

    /// Says that the host's copy changes: what was made from the values is forgotten, and copies on devices are given up.
    #[inline]
    pub fn touch(&self) {
        if self.has(note::DERIVED) {
            self.forget_kept();
            if !self.has(note::AWAY) {
                self.drop_copies();
            }
        }
    }

    /// Forgets the kept reductions: recorded work is going to change the values.
    #[inline]
    pub fn forget_kept(&self) {
        if self.has(note::KEPT) {
            self.unset(note::KEPT);
            *self.kept() = None;
        }
    }

    /// The kept reductions; whoever puts some there sets [`note::KEPT`].
    pub fn kept(&self) -> MutexGuard<'_, Option<Box<Memo>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The element at a byte offset, where the host has a copy.
    ///
    /// Only for an element that the batch which has just run wrote, with the runtime's lock held.
    pub fn number(&self, dtype: DType, offset: i64) -> Option<Scalar> {
        self.come_home().ok()?;
        let address = self.here();
        if address.is_null() {
            return None;
        }
        // SAFETY: the batch wrote the element, so that it lies inside the base; nobody writes to it before the lock
        // is given back.
        let bytes = unsafe { std::slice::from_raw_parts(address.offset(offset as isize), dtype.size()) };
        Some(Scalar::from_bytes(dtype, bytes))
    }

    /// Gives a base that has no value memory on the host.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    #[inline]
    pub fn provide(&self) -> Result<()> {
        debug_assert!(!self.has_value());
        self.set_here(self.heap.pool.alloc(self.nbytes)?);
        Ok(())
    }

    /// The same; is all of it zero already?
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    pub fn provide_zeroed(&self) -> Result<bool> {
        debug_assert!(!self.has_value());
        let (address, is_zero) = self.heap.pool.alloc_zeroed(self.nbytes)?;
        self.set_here(address);
        Ok(is_zero)
    }

    /// Gives up the value: all memory of our own goes back now. Only for cells that nobody else can read any more.
    #[inline]
    pub fn release(&self) {
        if self.has(note::COPIES) {
            self.drop_copies();
        }
        if !self.has(note::FOREIGN) {
            self.free_host(self.take_here());
        }
    }

    /// Gives host memory that was this base's back to the pool.
    #[inline]
    pub(super) fn free_host(&self, address: *mut u8) {
        if !address.is_null() {
            // SAFETY: `address` came from `pool.alloc(self.nbytes)` and has just been taken out of the cell.
            unsafe { self.heap.pool.free(address, self.nbytes) };
        }
    }
}

impl Drop for BaseCell {
    fn drop(&mut self) {
        self.release();
    }
}

/// Lets go of a batch's shares of bases; those that nobody else holds are used again.
pub(crate) fn recycle(slots: &mut Vec<Shared<BaseCell>>, cells: &mut Vec<Shared<BaseCell>>) {
    for mut cell in slots.drain(..) {
        if cells.len() < CELLS
            && let Some(own) = cell.get_mut()
            && own.renew()
        {
            cells.push(cell);
        }
    }
}
