//! Host memory as the memory of an engine that computes in it.

use crate::engine::{Buffer, Storage, Ticket};
use numelt_ir::{Error, Result};
use std::alloc::Layout;

const ALIGN: usize = 64;

/// An engine whose memory is the host's gets [`Storage`] by implementing this trait. Handles are addresses, and
/// everything is done at once.
///
/// A runtime takes the host memory of arrays from its own pool; this serves users of such an engine without a
/// runtime.
pub trait HostMemory: Send + Sync {}

fn layout(nbytes: usize) -> Result<Layout> {
    Layout::from_size_align(nbytes.max(1), ALIGN).map_err(|_| Error::OutOfMemory(nbytes))
}

impl<T: HostMemory> Storage for T {
    fn alloc(&self, nbytes: usize) -> Result<u64> {
        // SAFETY: the layout has a non-zero size.
        let address = unsafe { std::alloc::alloc(layout(nbytes)?) };
        if address.is_null() { Err(Error::OutOfMemory(nbytes)) } else { Ok(Buffer::at(address).handle) }
    }

    fn free(&self, handle: u64, nbytes: usize, _after: Ticket) {
        if let Ok(layout) = layout(nbytes) {
            // SAFETY: by the trait's contract, `alloc(nbytes)` returned the handle, and nobody uses it any more.
            unsafe { std::alloc::dealloc(Buffer { handle, offset: 0 }.address(), layout) }
        }
    }

    fn upload(&self, from: &[u8], to: Buffer) -> Result<()> {
        // SAFETY: by the trait's contract, the bytes lie inside one piece of memory of this storage.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.address(), from.len()) }
        Ok(())
    }

    fn download(&self, from: Buffer, to: &mut [u8]) -> Result<()> {
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy_nonoverlapping(from.address(), to.as_mut_ptr(), to.len()) }
        Ok(())
    }
}
