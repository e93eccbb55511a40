//! The device's memory as other libraries of the process use it.

use super::{Device, Driver};
use numelt_ir::Result;
use numelt_runtime::{Buffer, Sharing, Stream};

impl<D: Driver> Sharing for Device<D> {
    fn device(&self) -> (i32, i32) {
        (D::KIND, self.number as i32)
    }

    fn stream(&self) -> Option<u64> {
        self.driver().stream()
    }

    fn address(&self, handle: u64) -> Result<u64> {
        let state = self.state();
        let (memory, _) = state.piece(Buffer { handle, offset: 0 })?;
        Ok(self.driver().address(memory))
    }

    // SAFETY: the contract is the trait's; `free` waits for the work that uses the memory.
    unsafe fn adopt(&self, address: u64, nbytes: usize) -> Result<u64> {
        // SAFETY: the caller's promise.
        let memory = unsafe { self.driver().adopt(address, nbytes) }?;
        let mut state = self.state();
        state.last += 1;
        let handle = state.last;
        state.pieces.insert(handle, memory);
        state.adopted.insert(handle);
        Ok(handle)
    }

    fn precede(&self, stream: Stream) -> Result<()> {
        // work that another thread is submitting is submitted as a whole
        let _state = self.state();
        self.driver().precede(stream)
    }

    fn follow(&self, stream: Stream) -> Result<()> {
        let _state = self.state();
        self.driver().follow(stream)
    }
}
