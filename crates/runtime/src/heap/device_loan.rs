//! Loans of the memory that bases have on devices (`anchors.rs`).

use super::base::BaseRef;

/// The memory of a base on a device, lent to somebody outside until this is dropped, which may happen on any thread.
/// See [`Runtime::lend`](crate::Runtime::lend).
#[derive(Debug)]
pub struct DeviceLoan {
    base: BaseRef,
    address: u64,
    device: (i32, i32),
    /// Whether the loan ends when this is dropped.
    ends: bool,
}

impl DeviceLoan {
    /// A loan of an anchor that has got a user for it.
    pub(crate) fn new(base: BaseRef, (address, device): (u64, (i32, i32))) -> DeviceLoan {
        DeviceLoan { base, address, device, ends: true }
    }

    /// Lets the loan last as long as the base, for users who keep an array alive, not this.
    pub fn keep(mut self) {
        self.ends = !self.base.0.stay();
    }

    /// Where the base begins: an address, or an object if memory has no addresses on this kind of device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The kind of device and its number; see [`Sharing::device`].
    pub fn device(&self) -> (i32, i32) {
        self.device
    }

    /// The base.
    pub fn base(&self) -> &BaseRef {
        &self.base
    }
}

impl Drop for DeviceLoan {
    fn drop(&mut self) {
        if self.ends {
            self.base.0.leave();
        }
    }
}
