//! [`BaseCell`]: the state of one base, that is, its size, where its values are, and who uses it.
//!
//! A base is made with a size or of adopted memory, and gets memory when it is needed. Front ends hold references to a
//! cell ([`BaseRef`](super::base::BaseRef)); so does the queue while work on it is pending. A base that only the queue
//! holds at a flush is dead: its value need not be stored.

use super::Heap;
use super::copies::Copies;
use super::shared::Shared;
use crate::recipes::Recipes;
use crate::sequels::Memo;
use numelt_ir::{DType, Program, Result, Scalar};
use numelt_opt::Recipe;
use smallvec::SmallVec;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SLOT_BITS: u32 = 24;
pub(crate) const MAX_SLOTS: usize = 1 << SLOT_BITS;

/// The most unused cells that a runtime keeps for new bases.
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

/// Marks of a cell. They share one word, because recording checks several of them each time.
pub(crate) mod note {
    /// A flush could not compute it (for want of memory); reading it raises an error.
    pub const FAILED: u32 = 1;
    /// The front end has told somebody the address of its host memory.
    pub const KNOWN: u32 = 1 << 1;
    /// Its memory was adopted: somebody else allocated it, and frees it.
    pub const FOREIGN: u32 = 1 << 2;
    /// Adopted memory that its other owner can still see.
    pub const SHARED: u32 = 1 << 3;
    /// Results of reductions are kept.
    pub const KEPT: u32 = 1 << 4;
    /// There are copies on devices.
    pub const COPIES: u32 = 1 << 5;
    /// All copies are on devices: there is no valid one on the host.
    pub const AWAY: u32 = 1 << 6;
    /// Its only holder is about to release it.
    pub const PASSING: u32 = 1 << 7;
    /// It has a home or is to have none, whatever work writes it (see `homes.rs`).
    pub const SETTLED: u32 = 1 << 8;
    /// Somebody outside uses its memory on a device, where its values return after each access (see `anchors.rs`).
    pub const ANCHORED: u32 = 1 << 9;
    /// Its values are not used without looking further: they are lost, or belong on a device.
    pub const REMOTE: u32 = FAILED | HOME | ANCHORED;
    /// The number of its home; zero for none (see `homes.rs`).
    pub const HOME: u32 = 0xff << 24;
    /// Something has been derived from the present values, and must be discarded by whoever writes them.
    pub const DERIVED: u32 = KEPT | COPIES;
}

/// The fields that recording uses come first, so that they are in one cache line.
#[repr(C)]
pub(crate) struct BaseCell {
    pub nbytes: usize,
    /// The address of the host's copy, if it is valid.
    host_address: AtomicPtr<u8>,
    /// The number of a batch, and the slot in it; see `slot_in`.
    ticket: AtomicU64,
    /// The number of the batch that wrote it last.
    written: AtomicU64,
    pub heap: Arc<Heap>,
    pub exports: AtomicU32,
    notes: AtomicU32,
    /// Whether its value is put off, or values that are made of it are.
    pub bonds: Bonds,
    /// Results of full reductions of the present values.
    kept: Mutex<Option<Box<Memo>>>,
    pub(super) copies: Mutex<Copies>,
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

impl BaseCell {
    #[inline]
    pub fn new(heap: Arc<Heap>, nbytes: usize) -> BaseCell {
        BaseCell::made(heap, nbytes, std::ptr::null_mut(), 0, None)
    }

    /// A cell of a base with adopted memory.
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

    /// A cell of a base whose memory on a device is somebody else's; see [`BaseCell::adopt_anchor`].
    pub fn of_owner(heap: Arc<Heap>, nbytes: usize, owner: Box<dyn Any + Send + Sync>) -> BaseCell {
        BaseCell::made(heap, nbytes, std::ptr::null_mut(), 0, Some(owner))
    }

    #[inline]
    fn made(
        heap: Arc<Heap>,
        nbytes: usize,
        host_address: *mut u8,
        notes: u32,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> BaseCell {
        BaseCell {
            nbytes,
            host_address: AtomicPtr::new(host_address),
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

    /// Makes it as good as new, without memory; false if its memory is adopted or was lent.
    #[inline]
    pub fn renew(&mut self) -> bool {
        let notes = *self.notes.get_mut();
        if notes & (note::FOREIGN | note::ANCHORED) != 0 {
            return false;
        }
        if notes & note::DERIVED != 0 {
            self.forget_kept();
            self.release();
        }
        let address = std::mem::replace(self.host_address.get_mut(), std::ptr::null_mut());
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
        match NonNull::new(self.host_address()) {
            Some(address) => Whereabouts::Here(address),
            None if self.has(note::AWAY) => Whereabouts::Away,
            None => Whereabouts::Nowhere,
        }
    }

    /// Whether anything has been written, on the host or elsewhere.
    #[inline]
    pub fn has_value(&self) -> bool {
        !self.host_address().is_null() || self.has(note::AWAY)
    }

    /// The address of the host's copy; null if there is no valid one.
    #[inline]
    pub fn host_address(&self) -> *mut u8 {
        self.host_address.load(Ordering::Acquire)
    }

    /// Sets the address of the host's copy.
    #[inline]
    pub fn set_host_address(&self, address: *mut u8) {
        self.host_address.store(address, Ordering::Release);
    }

    /// Takes the address of the host's copy out; null if there is none.
    pub(super) fn take_host_address(&self) -> *mut u8 {
        self.host_address.swap(std::ptr::null_mut(), Ordering::AcqRel)
    }

    /// Whether one of these [`note`]s is set.
    #[inline]
    pub fn has(&self, notes: u32) -> bool {
        self.notes.load(Ordering::Acquire) & notes != 0
    }

    /// All notes.
    #[inline]
    pub(super) fn notes(&self) -> u32 {
        self.notes.load(Ordering::Acquire)
    }

    /// Sets the notes of a cell that has just been made; nobody else has a reference to it.
    #[inline]
    pub(super) fn start_with(&self, notes: u32) {
        self.notes.store(notes, Ordering::Release);
    }

    /// Sets a [`note`], and returns whether it was set before.
    #[inline]
    pub fn set(&self, notes: u32) -> bool {
        self.notes.fetch_or(notes, Ordering::AcqRel) & notes != 0
    }

    /// Clears a [`note`].
    #[inline]
    pub fn unset(&self, notes: u32) {
        self.notes.fetch_and(!notes, Ordering::AcqRel);
    }

    /// The slot in batch `epoch`, if the base is used in it.
    #[inline]
    pub fn slot_in(&self, epoch: u64) -> Option<u32> {
        let ticket = self.ticket.load(Ordering::Relaxed);
        (ticket >> SLOT_BITS == epoch).then_some((ticket & (MAX_SLOTS as u64 - 1)) as u32)
    }

    #[inline]
    pub fn set_slot(&self, epoch: u64, slot: u32) {
        self.ticket.store(epoch << SLOT_BITS | u64::from(slot), Ordering::Relaxed);
    }

    /// Whether batch `epoch` writes it.
    #[inline]
    pub fn is_written_in(&self, epoch: u64) -> bool {
        self.written.load(Ordering::Relaxed) == epoch
    }

    /// Notes that batch `epoch` writes it.
    #[inline]
    pub fn set_written(&self, epoch: u64) {
        self.written.store(epoch, Ordering::Relaxed);
    }

    /// Whether the batch that is being recorded, or the one that is running, writes it.
    #[inline]
    pub fn is_being_written(&self) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        written == self.heap.epoch.load(Ordering::Acquire) || written == self.heap.running.load(Ordering::Acquire)
    }

    /// Whether the batch that is being recorded, or the one that is running, uses it.
    #[inline]
    pub fn is_queued(&self) -> bool {
        // a flush makes its batch the running one before it begins the next
        self.slot_in(self.heap.epoch.load(Ordering::Acquire)).is_some()
            || self.slot_in(self.heap.running.load(Ordering::Acquire)).is_some()
    }

    /// Whether its memory can be seen from outside, so that work on it must run at once.
    #[inline]
    pub fn is_visible(&self) -> bool {
        self.is_exported() || self.has(note::SHARED | note::ANCHORED)
    }

    /// Whether an export keeps its host memory at its address.
    #[inline]
    pub fn is_exported(&self) -> bool {
        self.exports.load(Ordering::Acquire) > 0
    }

    /// Notes that the host's copy changes: what was derived from the values is forgotten, and copies on devices are
    /// discarded.
    #[inline]
    pub fn touch(&self) {
        if self.has(note::DERIVED) {
            self.forget_kept();
            if !self.has(note::AWAY) {
                self.drop_copies();
            }
        }
    }

    /// Forgets the kept reductions, because recorded work is going to change the values.
    #[inline]
    pub fn forget_kept(&self) {
        if self.has(note::KEPT) {
            self.unset(note::KEPT);
            *self.kept() = None;
        }
    }

    /// The kept reductions. Whoever stores some sets [`note::KEPT`].
    pub fn kept(&self) -> MutexGuard<'_, Option<Box<Memo>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The element at a byte offset, if the host has a copy.
    ///
    /// The caller holds the runtime's lock, and the batch that has just run wrote the element.
    pub fn element_at(&self, dtype: DType, offset: i64) -> Option<Scalar> {
        self.copy_to_host().ok()?;
        let address = self.host_address();
        if address.is_null() {
            return None;
        }
        // SAFETY: the batch wrote the element, so it lies inside the base; nobody writes to it before the lock
        // is released.
        let bytes = unsafe { std::slice::from_raw_parts(address.offset(offset as isize), dtype.size()) };
        Some(Scalar::from_bytes(dtype, bytes))
    }

    /// Allocates host memory for a base that has no value.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    #[inline]
    pub fn provide(&self) -> Result<()> {
        debug_assert!(!self.has_value());
        self.set_host_address(self.heap.pool.alloc(self.nbytes)?);
        Ok(())
    }

    /// Like [`BaseCell::provide`]; returns whether all of the memory is zero already.
    ///
    /// # Errors
    /// [`numelt_ir::Error::OutOfMemory`].
    pub fn provide_zeroed(&self) -> Result<bool> {
        debug_assert!(!self.has_value());
        let (address, is_zero) = self.heap.pool.alloc_zeroed(self.nbytes)?;
        self.set_host_address(address);
        Ok(is_zero)
    }

    /// Discards the value, and frees all memory of our own. Only for cells that nobody else can read any more.
    #[inline]
    pub fn release(&self) {
        if self.has(note::ANCHORED) {
            self.leave_anchor();
        }
        if self.has(note::COPIES) {
            self.drop_copies();
        }
        if !self.has(note::FOREIGN) {
            self.unset(note::KNOWN);
            self.free_host(self.take_host_address());
        }
    }

    /// Returns host memory of this base to the pool.
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

/// Drops a batch's references to bases, and keeps the cells that nobody else holds for new bases.
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

/// The bit which says that a base's value is put off.
const PUT_OFF: u32 = 1 << 31;

/// How a base is connected with values that are put off (`put_off.rs`).
#[derive(Default)]
#[repr(C)]
pub(crate) struct Bonds {
    /// [`PUT_OFF`], and the number of values that are put off and made of this base.
    pub state: AtomicU32,
    put: Mutex<Option<Box<Postponed>>>,
}

impl Bonds {
    /// Whether its value is put off, or such values are made of it.
    #[inline]
    pub fn any(&self) -> bool {
        self.state.load(Ordering::Acquire) != 0
    }

    /// Whether the base's own value is put off.
    #[inline]
    pub fn is_put_off(&self) -> bool {
        self.state.load(Ordering::Acquire) & PUT_OFF != 0
    }

    /// How many values that are put off are made of the base.
    pub fn readers(&self) -> usize {
        (self.state.load(Ordering::Acquire) & !PUT_OFF) as usize
    }

    pub fn lock(&self) -> MutexGuard<'_, Option<Box<Postponed>>> {
        self.put.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the base's value off, for the first time or again.
    pub fn put_back(&self, put: Box<Postponed>) {
        *self.lock() = Some(put);
        self.state.fetch_or(PUT_OFF, Ordering::AcqRel);
    }

    /// Takes out how to make the value, for a caller that makes it now. The value stays awaited until
    /// [`Bonds::made`].
    pub fn take(&self) -> Option<Box<Postponed>> {
        if self.is_put_off() { self.lock().take() } else { None }
    }

    /// States that the value has been made.
    pub fn made(&self) {
        self.state.fetch_and(!PUT_OFF, Ordering::AcqRel);
    }
}

/// How one value is made that is put off.
pub(crate) struct Postponed {
    pub recipes: Arc<Recipes>,
    /// The number of its recipe.
    pub recipe: usize,
    pub consts: Vec<Scalar>,
    pub inputs: SmallVec<[Shared<BaseCell>; 1]>,
}

impl Postponed {
    fn recipe(&self) -> &Recipe {
        &self.recipes.list[self.recipe]
    }

    /// Notes that the value should have been stored, so that the plan that put it off is not used again.
    pub fn regret(&self) {
        self.recipes.regretted.store(true, Ordering::Relaxed);
    }

    /// The program that makes the value of `cell`, and the first of its bases.
    pub fn program(&self, cell: &Shared<BaseCell>) -> (Program, Vec<Shared<BaseCell>>) {
        let slots = std::iter::once(cell).chain(&self.inputs).cloned().collect();
        (Program { consts: self.consts.clone(), ..self.recipe().program.clone() }, slots)
    }
}

impl Drop for Postponed {
    fn drop(&mut self) {
        for input in &self.inputs {
            input.bonds.state.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
