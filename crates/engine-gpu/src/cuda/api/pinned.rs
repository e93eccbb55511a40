//! Pinned memory of the host, which the device reads and writes by itself while the host goes on.

use super::{Context, EVENT_DISABLE_TIMING, Handle, Memory, check};
use numelt_ir::Result;
use std::ptr::null_mut;
use std::sync::Arc;

/// Pinned memory of the host, with an event that is recorded after the last copy from or to it.
pub struct Pinned {
    context: Arc<Context>,
    address: Handle,
    bytes: usize,
    event: Handle,
}

// SAFETY: memory and an event that are this value's own; copies take it by `&mut`.
unsafe impl Send for Pinned {}

impl Pinned {
    pub(super) fn new(context: &Arc<Context>, bytes: usize) -> Result<Pinned> {
        let _entered = context.enter()?;
        let api = context.api;
        let (mut address, mut event) = (null_mut(), null_mut());
        // SAFETY: a place for the event.
        check("cuEventCreate", unsafe { (api.event)(&raw mut event, EVENT_DISABLE_TIMING) })?;
        // SAFETY: a place for the address.
        let outcome = check("cuMemAllocHost", unsafe { (api.alloc_host)(&raw mut address, bytes) });
        let pinned = Pinned { context: Arc::clone(context), address, bytes, event };
        outcome.map(|()| pinned)
    }

    /// Waits for the last copy.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&mut self) -> Result<()> {
        let _entered = self.context.enter()?;
        // SAFETY: an event; one that was never recorded is done.
        check("cuEventSynchronize", unsafe { (self.context.api.await_event)(self.event) })
    }

    /// Waits for the last copy, and begins one of these bytes into memory of the device.
    ///
    /// # Errors
    /// The driver's; the bytes do not fit.
    pub fn upload(&mut self, from: &[u8], to: &Memory, offset: usize) -> Result<()> {
        let address = to.place(offset, from.len())?;
        self.wait()?;
        let count = from.len().min(self.bytes);
        let _entered = self.context.enter()?;
        let Context { api, stream, .. } = *self.context;
        // SAFETY: no more bytes than there is room for, which no copy uses; the event follows the copy.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.address.cast(), count);
            check("cuMemcpyHtoDAsync", (api.upload)(address, self.address, count, stream))?;
            check("cuEventRecord", (api.record)(self.event, stream))
        }
    }

    /// Waits for the last copy, and begins one of `bytes` bytes out of memory of the device.
    ///
    /// # Errors
    /// Those of the driver, and if the bytes are not inside the memory.
    pub fn begin_download(&mut self, from: &Memory, offset: usize, bytes: usize) -> Result<()> {
        let bytes = bytes.min(self.bytes);
        let address = from.place(offset, bytes)?;
        self.wait()?;
        let _entered = self.context.enter()?;
        let Context { api, stream, .. } = *self.context;
        // SAFETY: no more bytes than there is room for, which no copy uses; the event follows the copy.
        unsafe {
            check("cuMemcpyDtoHAsync", (api.download)(self.address, address, bytes, stream))?;
            check("cuEventRecord", (api.record)(self.event, stream))
        }
    }

    /// Waits for a copy that was begun, and returns its bytes.
    ///
    /// # Errors
    /// Those of the driver.
    pub fn end_download(&mut self, to: &mut [u8]) -> Result<()> {
        self.wait()?;
        let count = to.len().min(self.bytes);
        // SAFETY: no more bytes than there are, which no copy uses.
        unsafe { std::ptr::copy_nonoverlapping(self.address.cast(), to.as_mut_ptr(), count) };
        Ok(())
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.wait();
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: what the driver gave, or null, which it refuses; no copy uses it any more.
            unsafe {
                (self.context.api.free_host)(self.address);
                (self.context.api.destroy_event)(self.event);
            }
        }
    }
}
