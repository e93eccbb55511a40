//! Copies of bases in the memory of devices.
//!
//! A base has valid copies of its values on the host, on devices, or on both; copies that are no longer valid are
//! freed. So a base whose values have been written by a device has no host memory any more. Memory that is adopted or
//! exported cannot be freed: it is remembered, and gets the values again when they are copied to the host. Likewise the
//! *anchor*, memory of a device that somebody outside uses (`anchors.rs`): it is never freed or moved, and gets the
//! values again after each access. If a device has no memory left, the bases used longest ago are moved to the host,
//! except those with an anchor.

use super::cell::{BaseCell, Whereabouts, note};
use super::shared::{Shared, Weak};
use crate::engine::{Buffer, Engine, Executable, Stream, Ticket, Work};
use numelt_ir::{Error, Result};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The byte that fills stale host copies, if an engine requests that for tests.
const GARBAGE: u8 = 0xA7;

/// The bytes that a device copies in the time that a single element takes to be read or written there: some 15
/// microseconds at 16 GB/s.
const PART_BYTES: usize = 256 << 10;

/// An engine with memory of its own, and the bases that have copies there.
pub(crate) struct Device {
    pub engine: Arc<dyn Engine>,
    /// Its index in the runtime's list of devices.
    number: AtomicUsize,
    /// Whether stale host copies are filled with garbage, so that a test fails if code reads one.
    spoils: bool,
    /// The ticket of the last work.
    last: AtomicU64,
    /// The number of steps begun. The bases of the current step stay on the device.
    step: AtomicU64,
    residents: Mutex<FxHashMap<usize, Resident>>,
    /// Whether it has stopped responding.
    lost: AtomicBool,
    /// The bytes moved there and back, and the number of bases that were evicted.
    pub moved: Moved,
}

/// Totals of what was moved to and from a device.
#[derive(Default)]
pub(crate) struct Moved {
    pub there: AtomicU64,
    pub back: AtomicU64,
    pub evicted: AtomicU64,
}

impl Moved {
    pub fn reset(&self) {
        for total in [&self.there, &self.back, &self.evicted] {
            total.store(0, Ordering::Relaxed);
        }
    }
}

struct Resident {
    cell: Weak<BaseCell>,
    /// The step that used it last.
    used: u64,
    /// Whether others use its memory, so that it cannot move.
    stays: bool,
}

/// The copies of one base on devices.
#[derive(Default)]
pub(crate) struct Copies {
    pub(super) valid: SmallVec<[DeviceCopy; 1]>,
    /// Memory on the host to which the values have to return, because it is adopted or exported. Its contents are
    /// not valid.
    pub(super) stale_host: Option<Buffer>,
    /// The memory on a device to which the values have to return; it may be valid or not.
    pub(super) anchor: Option<Box<Anchor>>,
    /// How many parts the host has read since the values moved away.
    parts: usize,
}

/// The memory on a device that others use; see `anchors.rs`.
pub(crate) struct Anchor {
    pub device: Arc<Device>,
    pub handle: u64,
    /// Where it begins, for others.
    pub address: u64,
    /// How many loans there are, and one more if the memory belongs to another library.
    pub users: usize,
    /// Whether one of these loans lasts as long as the base.
    pub kept: bool,
    /// The queues of the users.
    pub order: Stream,
    /// What the host's exported memory and the anchor held when they agreed.
    pub twin: Option<Vec<u8>>,
    /// Why values could not return.
    pub broken: Option<Error>,
}

pub(super) struct DeviceCopy {
    pub device: Arc<Device>,
    pub handle: u64,
}

impl Device {
    pub fn new(engine: Arc<dyn Engine>, number: usize) -> Arc<Device> {
        let spoils = engine.target().spoils;
        Arc::new(Device {
            engine,
            number: AtomicUsize::new(number),
            spoils,
            last: AtomicU64::new(0),
            step: AtomicU64::new(0),
            residents: Mutex::default(),
            lost: AtomicBool::new(false),
            moved: Moved::default(),
        })
    }

    /// Its index in the runtime's list of devices.
    pub fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    /// Changes its index in the runtime's list of devices.
    pub fn renumber(&self, number: usize) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// Forgets everything. Called in a forked child, where the device belongs to the parent. Bases whose memory there
    /// is used by others have been copied to the host.
    pub fn forget(&self) {
        self.lost.store(true, Ordering::Relaxed);
        // a thread that does not exist here may hold the lock; then values that others could see are lost
        if let Ok(residents) = self.residents.try_lock() {
            residents.values().filter_map(|one| one.cell.upgrade()).for_each(|cell| cell.forget_anchor());
        }
    }

    /// Whether others use memory of the device.
    pub fn has_anchors(&self) -> bool {
        self.residents().values().any(|resident| resident.stays)
    }

    fn all_residents(&self) -> Vec<Shared<BaseCell>> {
        self.residents().values().filter_map(|resident| resident.cell.upgrade()).collect()
    }

    /// Whether it has stopped responding.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the result. If it is an error that says that the device is lost, marks the device as lost.
    pub fn check_lost<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(Error::Lost(_)) = &result {
            self.lost.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Counts bytes that were copied to the device, and back.
    pub(super) fn note_moved(&self, there: usize, back: usize) {
        self.moved.there.fetch_add(there as u64, Ordering::Relaxed);
        self.moved.back.fetch_add(back as u64, Ordering::Relaxed);
    }

    /// Begins a step: the bases that are used from now on stay on the device until the next step.
    pub fn begin_step(&self) {
        self.step.fetch_add(1, Ordering::Relaxed);
    }

    /// Submits work.
    ///
    /// # Errors
    /// Those of [`Engine::submit`].
    pub fn submit(&self, work: &Work<'_>) -> Result<Ticket> {
        let ticket = self.check_lost(self.engine.submit(work))?;
        self.last.store(ticket.0, Ordering::Relaxed);
        Ok(ticket)
    }

    /// Waits for work, and returns the conditions that it met.
    ///
    /// # Errors
    /// Those of [`Engine::wait`].
    pub fn wait(&self, ticket: Ticket) -> Result<u8> {
        self.check_lost(self.engine.wait(ticket))
    }

    /// Prepares a kernel.
    ///
    /// # Errors
    /// Those of [`Engine::compile`].
    pub fn compile(&self, kernel: &Arc<numelt_opt::Kernel>) -> Result<Arc<dyn Executable>> {
        self.check_lost(self.engine.compile(kernel))
    }

    fn residents(&self) -> MutexGuard<'_, FxHashMap<usize, Resident>> {
        self.residents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates memory for a base, and evicts others if there is not enough.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if nothing more can be evicted.
    pub fn alloc(&self, nbytes: usize) -> Result<u64> {
        loop {
            match self.check_lost(self.engine.alloc(nbytes)) {
                Err(Error::OutOfMemory(_)) if self.evict()? => {}
                result => return result,
            }
        }
    }

    /// Frees memory that no base uses any more.
    pub fn free(&self, handle: u64, nbytes: usize) {
        if !self.is_lost() {
            self.engine.free(handle, nbytes, Ticket(self.last.load(Ordering::Relaxed)));
        }
    }

    /// Moves the base that was used longest ago to the host; false if there is none that may be moved.
    fn evict(&self) -> Result<bool> {
        let step = self.step.load(Ordering::Relaxed);
        let (cell, id) = {
            let residents = self.residents();
            let movable = residents.iter().filter(|(_, resident)| resident.used < step && !resident.stays);
            match movable.min_by_key(|(_, resident)| resident.used) {
                Some((&id, resident)) => (resident.cell.upgrade(), id),
                None => return Ok(false),
            }
        };
        match cell {
            Some(cell) => {
                cell.copy_to_host()?;
                cell.drop_copy(self);
                self.moved.evicted.fetch_add(1, Ordering::Relaxed);
            }
            // nobody holds it any more, and its destructor frees its memory
            None => _ = self.residents().remove(&id),
        }
        Ok(true)
    }

    /// Marks a base as used by the current step.
    pub(super) fn enter(&self, cell: &Shared<BaseCell>) {
        let used = self.step.load(Ordering::Relaxed);
        let mut residents = self.residents();
        let new = || Resident { cell: cell.downgrade(), used, stays: false };
        let resident = residents.entry(key(cell)).or_insert_with(new);
        (resident.used, resident.stays) = (used, cell.has(note::ANCHORED));
    }

    /// Copies to the host everything that only this device has, and discards the copies here, except those that others
    /// use.
    ///
    /// # Errors
    /// The first failure; all other bases are on the host.
    pub fn empty(&self) -> Result<()> {
        let mut result = Ok(());
        for cell in self.all_residents() {
            cell.refresh();
            match cell.copy_to_host() {
                Ok(()) => cell.drop_copy(self),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }
}

/// The key of a base in a device's tables.
fn key(cell: &BaseCell) -> usize {
    std::ptr::from_ref(cell).addr()
}

impl BaseCell {
    pub(super) fn copies(&self) -> MutexGuard<'_, Copies> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engines with valid copies, as a set of bits: the lowest is the host's, and device `n` has bit `n + 1`.
    pub fn located(&self) -> u32 {
        let here = u32::from(!self.host_address().is_null());
        if !self.has(note::COPIES) {
            return here;
        }
        let bit = |copy: &DeviceCopy| 2u32.checked_shl(copy.device.number() as u32).unwrap_or(0);
        self.copies().valid.iter().fold(here, |all, copy| all | bit(copy))
    }

    /// The host memory to which values that are on a device have to return, if there is such memory.
    pub fn stale_host(&self) -> Option<Buffer> {
        self.copies().stale_host
    }

    /// Copies the values to the host, if they are elsewhere. Copies on devices stay valid.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or [`Error::Lost`] if the device does not respond.
    pub fn copy_to_host(&self) -> Result<()> {
        if !self.has(note::AWAY) {
            return self.check_anchor();
        }
        let mut copies = self.copies();
        if self.whereabouts() != Whereabouts::Away {
            return Ok(()); // another thread was faster
        }
        self.fetch(&mut copies)
    }

    /// Copies values to the host that are elsewhere.
    pub(super) fn fetch(&self, copies: &mut Copies) -> Result<()> {
        let DeviceCopy { device, handle } = copies.readable()?;
        let (address, own) = match copies.stale_host {
            Some(memory) => (memory.address(), false),
            None => (self.heap.pool.alloc(self.nbytes)?, true),
        };
        // SAFETY: the memory is the base's own, or adopted; nobody may rely on what it holds without a valid copy.
        let to = unsafe { std::slice::from_raw_parts_mut(address, self.nbytes) };
        let fetched = device.check_lost(device.engine.download(Buffer { handle: *handle, offset: 0 }, to));
        if let Err(error) = fetched {
            if own {
                self.free_host(address);
            }
            return Err(error);
        }
        device.moved.back.fetch_add(self.nbytes as u64, Ordering::Relaxed);
        copies.stale_host = None;
        if let Some(anchor) = &mut copies.anchor {
            anchor.agree(to);
        }
        self.set_host_address(address);
        self.unset(note::AWAY);
        Ok(())
    }

    /// Copies some of the values to `part`, if only a device has them. False if the host has them, or if moving all of
    /// them costs less than the parts that were read and written so far; the caller should do that then.
    ///
    /// # Errors
    /// [`Error::Lost`] if the device does not respond.
    pub fn download_part(&self, at: usize, part: &mut [u8]) -> Result<bool> {
        let Some(copies) = self.one_more_part() else { return Ok(false) };
        let DeviceCopy { device, handle } = copies.readable()?;
        device.check_lost(device.engine.download(Buffer { handle: *handle, offset: at as i64 }, part))?;
        device.moved.back.fetch_add(part.len() as u64, Ordering::Relaxed);
        Ok(true)
    }

    /// Replaces some of the values on a device by `part`, if only a device has them. False if the host has them, or if
    /// moving all of them costs less; the caller should do that then. Nothing pending uses the base, and nobody has a
    /// guard of it.
    ///
    /// # Errors
    /// [`Error::Lost`] if the device does not respond.
    pub fn upload_part(&self, at: usize, part: &[u8]) -> Result<bool> {
        let Some(mut copies) = self.one_more_part() else { return Ok(false) };
        let DeviceCopy { device, handle } = copies.readable()?;
        match device.check_lost(device.engine.upload(part, Buffer { handle: *handle, offset: at as i64 })) {
            Err(Error::Lost(why)) => return Err(Error::Lost(why)),
            Err(_) => return Ok(false),
            Ok(()) => {}
        }
        device.moved.there.fetch_add(part.len() as u64, Ordering::Relaxed);
        let changed = Arc::clone(device);
        let all: SmallVec<[DeviceCopy; 1]> = std::mem::take(&mut copies.valid);
        let (valid, stale): (SmallVec<_>, SmallVec<[DeviceCopy; 1]>) =
            all.into_iter().partition(|copy| Arc::ptr_eq(&copy.device, &changed));
        copies.valid = valid;
        stale.iter().for_each(|copy| self.free_copy(&copies, copy));
        drop(copies);
        self.forget_kept();
        Ok(true)
    }

    /// Counts an access to a part of values that only a device has; `None` if they are not there, or had better be
    /// moved as a whole.
    fn one_more_part(&self) -> Option<MutexGuard<'_, Copies>> {
        if !self.has(note::AWAY) {
            return None;
        }
        let mut copies = self.copies();
        copies.parts += 1;
        let away = self.whereabouts() == Whereabouts::Away && copies.parts * PART_BYTES < self.nbytes;
        away.then_some(copies)
    }

    /// Discards the copies on devices. If there are no others, the base has no value any more.
    pub fn drop_copies(&self) {
        let mut copies = self.copies();
        for copy in std::mem::take(&mut copies.valid) {
            self.free_copy(&copies, &copy);
        }
        if let Some(memory) = copies.stale_host.take() {
            self.set_host_address(memory.address());
        }
        self.unset(note::COPIES | note::AWAY);
    }

    /// Discards the copy on one device, if the values are elsewhere, too.
    fn drop_copy(&self, device: &Device) {
        let mut copies = self.copies();
        if let Some(at) = copies.find(device)
            && !copies.is_anchor(&copies.valid[at])
            && (copies.valid.len() > 1 || !self.has(note::AWAY))
        {
            let copy = copies.valid.remove(at);
            self.free_copy(&copies, &copy);
            if copies.valid.is_empty() {
                self.unset(note::COPIES);
            }
        }
    }

    /// Frees a copy that has been removed from the list; an anchor stays.
    pub(super) fn free_copy(&self, copies: &Copies, copy: &DeviceCopy) {
        if !copies.is_anchor(copy) {
            self.free_memory(&copy.device, copy.handle);
        }
    }

    /// Frees memory on a device that no copy and no anchor is in.
    pub(super) fn free_memory(&self, device: &Device, handle: u64) {
        device.residents().remove(&key(self));
        device.free(handle, self.nbytes);
    }
}

impl Copies {
    /// A copy from which the values can be read.
    fn readable(&self) -> Result<&DeviceCopy> {
        if let Some(anchor) = &self.anchor {
            anchor.check()?;
        }
        let copy = self.valid.iter().find(|copy| !copy.device.is_lost()).or(self.valid.first());
        copy.ok_or_else(|| Error::Lost("no copy of an array's values is left".into()))
    }

    pub(super) fn find(&self, device: &Device) -> Option<usize> {
        self.valid.iter().position(|copy| std::ptr::eq(&raw const *copy.device, device))
    }
}

impl Shared<BaseCell> {
    /// The position of a valid copy on a device; a copy is made if there is none.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] of the device or the host, [`Error::Lost`].
    pub fn on(&self, device: &Arc<Device>) -> Result<u64> {
        self.check_anchor()?;
        if self.has(note::COPIES) {
            let copies = self.copies();
            if let Some(at) = copies.find(device) {
                device.enter(self);
                return Ok(copies.valid[at].handle);
            }
        }
        // from one device to another, values go through the host
        self.copy_to_host()?;
        let anchor = self.anchor_on(device);
        let handle = anchor.map_or_else(|| device.alloc(self.nbytes), Ok)?;
        // SAFETY: the values are on the host, and nobody changes them while the runtime's lock is held.
        let from = unsafe { std::slice::from_raw_parts(self.host_address(), self.nbytes) };
        if let Err(error) = device.check_lost(device.engine.upload(from, Buffer { handle, offset: 0 })) {
            if anchor.is_none() {
                device.free(handle, self.nbytes);
            }
            return Err(error);
        }
        device.moved.there.fetch_add(self.nbytes as u64, Ordering::Relaxed);
        self.enter_copy(device, handle);
        Ok(handle)
    }

    pub(super) fn enter_copy(&self, device: &Arc<Device>, handle: u64) {
        self.copies().valid.push(DeviceCopy { device: Arc::clone(device), handle });
        self.set(note::COPIES);
        device.enter(self);
    }

    /// Frees all copies but that on a device, where work has written the base.
    pub fn written_on(&self, device: &Arc<Device>, handle: u64) {
        let mut copies = self.copies();
        copies.parts = 0;
        self.keep_only(&mut copies, |_, copy| Arc::ptr_eq(&copy.device, device), device.spoils);
        let is_known = !copies.valid.is_empty();
        drop(copies);
        if !is_known {
            self.enter_copy(device, handle);
        }
    }

    /// Frees the copies on devices that are not to be kept, and the host's, whose values are not valid any more. Memory
    /// of the host that somebody else owns or sees stays, with the old values, or with garbage if `spoils` is set.
    pub(super) fn keep_only(&self, copies: &mut Copies, is_kept: impl Fn(&Copies, &DeviceCopy) -> bool, spoils: bool) {
        for copy in std::mem::take(&mut copies.valid) {
            if is_kept(copies, &copy) {
                copies.valid.push(copy);
            } else {
                self.free_copy(copies, &copy);
            }
        }
        // set before the host's copy is discarded, so that the base never seems to have no value
        self.set(note::AWAY | note::COPIES);
        let here = self.take_host_address();
        if here.is_null() {
            return;
        }
        if spoils {
            // SAFETY: the memory is the base's, and from now on nobody needs what is in it.
            unsafe { std::ptr::write_bytes(here, GARBAGE, self.nbytes) };
        }
        if self.has(note::FOREIGN) || self.is_exported() {
            copies.stale_host = Some(Buffer::at(here));
        } else {
            self.unset(note::KNOWN);
            self.free_host(here);
        }
    }
}
