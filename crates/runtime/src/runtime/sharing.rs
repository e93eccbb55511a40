//! Memory on devices that other libraries of the process use, too (`heap/anchors.rs`): lending that of arrays, and
//! making arrays of a library's memory.

use super::reading::Before;
use super::{Runtime, State};
use crate::engine::Stream;
use crate::heap::base::BaseRef;
use crate::heap::cell::{BaseCell, note};
use crate::heap::copies::Device;
use crate::heap::device_loan::DeviceLoan;
use crate::heap::homes::{Home, number};
use crate::heap::lost;
use crate::heap::shared::Shared;
use numelt_ir::{Error, Result};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A device whose memory other libraries can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedDevice {
    /// The kind of device, as DLPack numbers them (2 for CUDA, 4 for OpenCL).
    pub kind: i32,
    /// Its number among those of its kind.
    pub number: i32,
    /// The handle of the queue of numelt's work there, if others can wait for it or make it wait.
    pub stream: Option<u64>,
}

impl Runtime {
    /// The device that is a home, if this process uses it and other libraries can use its memory.
    pub fn shared_device(&self, home: Home) -> Option<SharedDevice> {
        let state = self.lock();
        let device = state.home_device(home).ok()?;
        let sharing = device.engine.sharing()?;
        let (kind, number) = sharing.device();
        Some(SharedDevice { kind, number, stream: sharing.stream() })
    }

    /// The kinds of devices that the process uses and whose memory other libraries can use; see [`SharedDevice`].
    pub fn shared_kinds(&self) -> Vec<i32> {
        let state = self.lock();
        let sharing = state.devices.iter().filter(|device| !device.is_lost()).filter_map(|d| d.engine.sharing());
        sharing.map(|sharing| sharing.device().0).collect()
    }

    /// Whether the process uses a device whose memory other libraries can use.
    #[inline]
    pub fn shares_devices(&self) -> bool {
        self.sharing.load(Ordering::Relaxed)
    }

    /// Makes work on a device that is a home come after what others have queued in `stream`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn follow(&self, home: Home, stream: Stream) -> Result<()> {
        let state = self.lock();
        let device = state.home_device(home)?;
        device.engine.sharing().map_or(Ok(()), |sharing| device.check_lost(sharing.follow(stream)))
    }

    /// Lends the memory that a base with a home has there, until the result is dropped. Pending work that uses the
    /// base runs before. What its user queues in `stream` from now on comes after that work; with `None`, the user
    /// cares for the order. Until the result is dropped, that memory holds the values of the base after each operation.
    ///
    /// # Errors
    /// Those of [`Runtime::read`], and those of the device: it shares no memory, has no room, or is lost.
    pub fn lend(&self, base: &BaseRef, stream: Option<Stream>) -> Result<DeviceLoan> {
        let mut state = self.lock_unused(base)?;
        state.make_bound(base, Before::Needed)?;
        let cell = &base.0;
        if cell.has(note::FAILED) {
            return Err(lost::error(cell));
        }
        let home = base.home().ok_or_else(|| Error::Engine("an array on the host".into()))?;
        let device = state.home_device(home)?;
        self.heap.anchored.store(true, Ordering::Relaxed);
        cell.anchor(device, stream).map(|place| DeviceLoan::new(base.clone(), place))
    }

    /// A base on memory of another library on a device that is a home, which it has. Work on it comes after what others
    /// have queued in `stream`.
    ///
    /// # Errors
    /// Those of the device: it shares no memory, cannot use this memory, or is lost.
    ///
    /// # Safety
    /// `nbytes` bytes from `address` on are memory of that device (if it has no addresses, `address` is an object), and
    /// stay valid for reads (and for writes, if anything is recorded that writes) until `owner` is dropped, which may
    /// happen on any thread.
    pub unsafe fn adopt_on(
        &self,
        home: Home,
        (address, nbytes): (u64, usize),
        stream: Option<Stream>,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Result<BaseRef> {
        let state = self.lock();
        let device = state.home_device(home)?;
        let refused = || Error::Engine(format!("{}: its memory cannot be shared", device.engine.name()));
        let sharing = device.engine.sharing().ok_or_else(refused)?;
        if let Some(stream) = stream {
            device.check_lost(sharing.follow(stream))?;
        }
        // SAFETY: the caller's contract; the piece is freed before the owner is dropped.
        let handle = device.check_lost(unsafe { sharing.adopt(address, nbytes) })?;
        let order = if matches!(stream, None | Some(Stream::Default)) { Stream::Default } else { Stream::All };
        self.heap.anchored.store(true, Ordering::Relaxed);
        let cell = Shared::new(BaseCell::of_owner(Arc::clone(&self.heap), nbytes, owner));
        cell.adopt_anchor(device, handle, address, order);
        cell.set_home(number(Some(home)));
        Ok(BaseRef(cell))
    }
}

impl State {
    /// The device that is a home.
    fn home_device(&self, home: Home) -> Result<&Arc<Device>> {
        let found = self.device_at(number(Some(home))).and_then(|at| self.devices.get(at));
        found.ok_or_else(|| {
            let name = self.heap.homes.name(number(Some(home))).unwrap_or_default();
            Error::Engine(format!("{name}: this process does not use the device"))
        })
    }
}
