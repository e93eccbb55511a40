//! Anchors: memory of devices that somebody outside numelt uses, too.
//!
//! A program can lend the memory that an array has on a device to another library (DLPack,
//! `__cuda_array_interface__`), or make an array of a library's memory there. That memory is then the *anchor* of the
//! base. It plays the part on the device that exported and adopted memory plays on the host.
//!
//! Invariants:
//! - **An anchor stays where it is.** It is never freed, moved or evicted before its last user is done. A copy on the
//!   device of an anchor is in the anchor.
//! - **Values return to the anchor.** Unless the base is being written, its values are valid there. Whoever writes
//!   another copy calls [`BaseCell::return_to_anchor`] afterwards: a flush at its end, a write guard when it ends.
//! - **No other copy outlasts an access**, because the other user may write the anchor without notice. An access begins
//!   by [`Shared<BaseCell>::refresh`], under the runtime's lock, which discards all other copies; only the host's copy
//!   stays if a guard uses it. Fast paths do not see the values of such a base as readable.
//! - **The base is visible** ([`BaseCell::is_visible`]), so work on it runs when it is recorded.
//! - **Work is in the order of queues.** An access begins after what the other users have queued, and what they queue
//!   later comes after the access. They are waited for by the device's default queue, or, if one of them has named
//!   another queue, all together: a queue may be gone when it would have to wait.
//! - **Memory that is exported on the host, too, agrees with the anchor between accesses.** Both can be written from
//!   outside, so the base keeps a *twin*, the values of both when they agreed last. Bytes of the host's memory that
//!   differ from the twin have been written there; they are merged into the anchor before it is used, and when an
//!   export ends. After each access, the host's memory gets the values of the anchor.
//! - If values cannot return, the anchor is *broken*: every access of the base is the error that prevented it.

use super::cell::{BaseCell, note};
use super::copies::{Anchor, Copies, Device, DeviceCopy};
use super::shared::Shared;
use crate::engine::{Buffer, Sharing, Stream};
use numelt_ir::{Error, Result};
use std::sync::{Arc, PoisonError};

impl Anchor {
    /// How others use the device. Only engines that share memory have anchors.
    fn sharing(&self) -> Result<&dyn Sharing> {
        self.device.engine.sharing().ok_or_else(|| Error::Engine("memory that cannot be shared".into()))
    }

    /// The error that keeps values from returning, if there is one.
    pub fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Notes that the host's memory holds these values, and the anchor, too.
    pub fn agree(&mut self, values: &[u8]) {
        if let Some(twin) = &mut self.twin {
            twin.copy_from_slice(values);
        }
    }

    /// Makes the device's work come after what the users have queued.
    fn follow(&self) -> Result<()> {
        self.device.check_lost(self.sharing()?.follow(self.order))
    }

    /// Makes what the users queue later come after the device's work.
    fn precede(&self) -> Result<()> {
        self.device.check_lost(self.sharing()?.precede(self.order))
    }

    fn upload(&self, from: &[u8], offset: usize) -> Result<()> {
        let to = Buffer { handle: self.handle, offset: offset as i64 };
        let result = self.device.check_lost(self.device.engine.upload(from, to));
        self.device.note_moved(from.len(), 0);
        result
    }

    /// Writes the bytes that differ from the twin to the anchor, where the other bytes stay as they are.
    fn merge(&mut self, host: &[u8]) -> Result<()> {
        let Some(twin) = self.twin.as_ref().filter(|twin| ***twin != *host) else { return Ok(()) };
        let differs = |at: &usize| twin[*at] != host[*at];
        let (first, last) = ((0..host.len()).find(differs), (0..host.len()).rfind(differs));
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
        self.follow()?;
        let mut part = vec![0; last + 1 - first];
        let from = Buffer { handle: self.handle, offset: first as i64 };
        self.device.check_lost(self.device.engine.download(from, &mut part))?;
        self.device.note_moved(0, part.len());
        (first..=last).filter(differs).for_each(|at| part[at - first] = host[at]);
        self.upload(&part, first)?;
        self.agree(host);
        self.precede()
    }
}

impl Copies {
    /// Whether a copy is in the anchor.
    pub(super) fn is_anchor(&self, copy: &DeviceCopy) -> bool {
        let same = |anchor: &Anchor| anchor.handle == copy.handle && Arc::ptr_eq(&anchor.device, &copy.device);
        self.anchor.as_deref().is_some_and(same)
    }
}

impl BaseCell {
    /// The anchor's handle, if it is on this device.
    pub(super) fn anchor_on(&self, device: &Arc<Device>) -> Option<u64> {
        if !self.has(note::ANCHORED) {
            return None;
        }
        let copies = self.copies();
        copies.anchor.as_ref().filter(|anchor| Arc::ptr_eq(&anchor.device, device)).map(|anchor| anchor.handle)
    }

    /// The error that has kept values from returning to the anchor, if there is one.
    #[inline]
    pub(super) fn check_anchor(&self) -> Result<()> {
        if self.has(note::ANCHORED) {
            self.copies().anchor.as_ref().map_or(Ok(()), |anchor| anchor.check())
        } else {
            Ok(())
        }
    }

    /// Where the anchor begins, for others.
    pub fn anchor_address(&self) -> Option<u64> {
        if self.has(note::ANCHORED) { self.copies().anchor.as_ref().map(|anchor| anchor.address) } else { None }
    }

    /// The bytes of the host's memory, valid or stale.
    fn host_bytes(&self, copies: &Copies) -> Option<&[u8]> {
        let here = self.host_address();
        let address = if here.is_null() { copies.stale_host?.address() } else { here };
        // SAFETY: the host's memory of a base has this many bytes, and is freed only by those who hold the lock of its
        // copies. Others who write it at the same time have to be kept from that by the program.
        Some(unsafe { std::slice::from_raw_parts(address, self.nbytes) })
    }

    /// Begins to compare the host's memory with the anchor. Both hold the values of the base.
    pub(super) fn keep_twin(&self) {
        self.forget_kept();
        let mut copies = self.copies();
        let twin = self.host_bytes(&copies).map(<[u8]>::to_vec);
        if let Some(anchor) = &mut copies.anchor {
            anchor.twin = twin;
        }
    }

    /// Copies what others have written to the host's exported memory to the anchor.
    pub(super) fn merge_into_anchor(&self) {
        let mut copies = self.copies();
        self.merge(&mut copies);
    }

    fn merge(&self, copies: &mut Copies) {
        let Some(mut anchor) = copies.anchor.take() else { return };
        if anchor.broken.is_none()
            && let Some(host) = self.host_bytes(copies)
        {
            anchor.broken = anchor.merge(host).err();
        }
        copies.anchor = Some(anchor);
    }

    /// After an access that may have written the base: copies its values to the anchor, if they are elsewhere.
    ///
    /// # Errors
    /// Those of the devices; the anchor is broken then.
    pub fn return_to_anchor(&self) -> Result<()> {
        if !self.has(note::ANCHORED) {
            return Ok(());
        }
        let mut copies = self.copies();
        let Some(mut anchor) = copies.anchor.take() else { return Ok(()) };
        let result = anchor.check().and_then(|()| {
            let at = copies.find(&anchor.device).filter(|&at| copies.valid[at].handle == anchor.handle);
            if at.is_none() {
                if self.host_address().is_null() {
                    self.fetch(&mut copies)?;
                }
                // SAFETY: the host's copy is valid, and the caller is the only one who writes it.
                let values = unsafe { std::slice::from_raw_parts(self.host_address(), self.nbytes) };
                anchor.upload(values, 0)?;
                anchor.agree(values);
                copies.valid.push(DeviceCopy { device: Arc::clone(&anchor.device), handle: anchor.handle });
                self.set(note::COPIES);
            }
            anchor.precede()
        });
        if let Err(error) = &result {
            anchor.broken = Some(error.clone());
        }
        copies.anchor = Some(anchor);
        result
    }

    /// Whether anybody uses the anchor.
    pub fn has_users(&self) -> bool {
        self.has(note::ANCHORED) && self.copies().anchor.as_ref().is_some_and(|anchor| anchor.users > 0)
    }

    /// Takes a user away from the anchor.
    pub fn leave(&self) {
        if let Some(anchor) = &mut self.copies().anchor {
            anchor.users -= 1;
        }
    }

    /// Lets a user stay as long as the base; false if there is one such user already.
    pub fn stay(&self) -> bool {
        let mut copies = self.copies();
        let anchor = copies.anchor.as_mut();
        anchor.is_some_and(|anchor| !std::mem::replace(&mut anchor.kept, true))
    }

    /// Frees the anchor of a base that nobody uses any more. What others have queued comes before.
    pub(super) fn leave_anchor(&self) {
        let mut copies = self.copies();
        if let Some(anchor) = copies.anchor.take() {
            // whoever waits in vain for a device that is lost has nothing to lose
            let _ = anchor.follow();
            copies.valid.retain(|copy| copy.handle != anchor.handle || !Arc::ptr_eq(&copy.device, &anchor.device));
            self.free_memory(&anchor.device, anchor.handle);
        }
        self.unset(note::ANCHORED);
    }

    /// Makes the host's copy the only one, in a forked child, where the device does not exist.
    pub(super) fn forget_anchor(&self) {
        if !self.has(note::ANCHORED) {
            return;
        }
        // a thread that does not exist here may hold the lock: then the values are lost
        let mut copies = match self.copies.try_lock() {
            Ok(copies) => copies,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(std::sync::TryLockError::WouldBlock) => return,
        };
        // the destructors of devices must not run here
        std::mem::forget(copies.anchor.take());
        std::mem::forget(std::mem::take(&mut copies.valid));
        self.unset(note::ANCHORED | note::COPIES);
        if !self.host_address().is_null() {
            self.unset(note::AWAY);
        }
    }
}

impl Shared<BaseCell> {
    /// Begins an access, under the runtime's lock: discards all copies but the anchor, in which others may have
    /// written, and lets the device's work follow theirs. Ends the anchor if it has no user any more.
    pub fn refresh(&self) {
        if !self.has(note::ANCHORED) {
            return;
        }
        let is_guarded = self.heap.guards.blocking(self, true).is_some();
        let mut copies = self.copies();
        if self.is_exported() && !is_guarded {
            self.merge(&mut copies);
        }
        let Some(anchor) = &mut copies.anchor else { return };
        if anchor.broken.is_none() {
            anchor.broken = anchor.follow().err();
        }
        if anchor.broken.is_some() {
            return;
        }
        if is_guarded {
            return;
        }
        self.keep_only(&mut copies, Copies::is_anchor, false);
        if !self.is_exported()
            && let Some(anchor) = &mut copies.anchor
        {
            anchor.twin = None;
            if anchor.users == 0 {
                let device = Arc::clone(&anchor.device);
                copies.anchor = None;
                self.unset(note::ANCHORED);
                device.enter(self);
            }
        }
    }

    /// Ends an access, under the runtime's lock: the values return to the anchor, and to memory of the host that others
    /// see.
    ///
    /// # Errors
    /// Those of the devices.
    pub fn settle(&self) -> Result<()> {
        self.return_to_anchor()?;
        if self.has(note::ANCHORED) && self.is_exported() { self.copy_to_host() } else { Ok(()) }
    }

    /// Adds a user to the memory that the base has on a device; makes it if the base has no value. Returns where the
    /// memory begins, and the device for others.
    ///
    /// # Errors
    /// Those of the device.
    pub fn anchor(&self, device: &Arc<Device>, stream: Option<Stream>) -> Result<(u64, (i32, i32))> {
        self.refresh();
        if !self.has(note::ANCHORED) {
            let sharing = device.engine.sharing();
            let sharing = sharing.ok_or_else(|| Error::Engine("the device's memory cannot be shared".into()))?;
            device.begin_step();
            let handle = if self.has_value() {
                self.on(device)?
            } else {
                let handle = device.alloc(self.nbytes)?;
                self.enter_copy(device, handle);
                self.set(note::AWAY);
                handle
            };
            let address = device.check_lost(sharing.address(handle))?;
            self.set(note::ANCHORED);
            let (device, order) = (Arc::clone(device), Stream::Default);
            let anchor = Anchor { device, handle, address, users: 0, kept: false, order, twin: None, broken: None };
            anchor.device.enter(self);
            self.copies().anchor = Some(Box::new(anchor));
            if self.is_exported() {
                self.copy_to_host()?;
                self.keep_twin();
            }
        }
        let mut copies = self.copies();
        let anchor = copies.anchor.as_mut().ok_or_else(|| Error::Engine("memory that is not lent".into()))?;
        anchor.check()?;
        if let Some(stream) = stream {
            anchor.device.check_lost(anchor.sharing()?.precede(stream))?;
        }
        if !matches!(stream, None | Some(Stream::Default)) {
            anchor.order = Stream::All;
        }
        anchor.users += 1;
        Ok((anchor.address, anchor.sharing()?.device()))
    }

    /// Makes memory of another library on a device the anchor of a new base.
    pub fn adopt_anchor(&self, device: &Arc<Device>, handle: u64, address: u64, order: Stream) {
        let device_of = Arc::clone(device);
        let anchor =
            Anchor { device: device_of, handle, address, users: 1, kept: true, order, twin: None, broken: None };
        self.copies().anchor = Some(Box::new(anchor));
        self.set(note::AWAY | note::ANCHORED);
        self.enter_copy(device, handle);
    }
}
