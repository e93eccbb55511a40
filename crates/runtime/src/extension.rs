//! Extension methods: functions of the user's own whose calls are recorded like operations.
//!
//! Such a function fills an array from others ([`Extension`]). When a recorded call of it
//! ([`crate::Runtime::call_extension`]) runs, everything recorded before the call has run, and nothing recorded after
//! it.

use crate::heap::base::{ArrayView, Export};
use numelt_ir::Result;

/// A function of the user's own, for which the runtime records calls.
pub trait Extension: Send + Sync {
    /// The name that errors and reports give.
    fn name(&self) -> &str;

    /// Fills `out`, all of it, from `inputs`.
    ///
    /// It runs on the thread that made the queue run, and without the runtime's lock: it may record operations on
    /// other arrays and read their results. It must not wait for another thread that uses the runtime, since that
    /// thread may be waiting for the end of this call.
    ///
    /// # Errors
    /// Any error; the flush returns it. `out` has no values then: reading it gives
    /// [`Error::Extension`](numelt_ir::Error::Extension).
    fn run(&self, out: &mut ExtensionOutput<'_>, inputs: &[ExtensionInput<'_>]) -> Result<()>;
}

/// An array whose values the function reads.
pub struct ExtensionInput<'a> {
    pub(crate) view: &'a ArrayView,
    pub(crate) bytes: &'a [u8],
}

/// The array that the function fills.
pub struct ExtensionOutput<'a> {
    pub(crate) view: &'a ArrayView,
    pub(crate) bytes: &'a mut [u8],
}

impl ExtensionInput<'_> {
    /// The dtype, shape and strides, and where the array begins in its base.
    pub fn view(&self) -> &ArrayView {
        self.view
    }

    /// All bytes of the array's base.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Keeps the base's memory visible outside after the call, until the export is dropped.
    pub fn export(&self) -> Export {
        Export::new(self.view.base.clone())
    }
}

impl ExtensionOutput<'_> {
    /// The dtype, shape and strides, and where the array begins in its base.
    pub fn view(&self) -> &ArrayView {
        self.view
    }

    /// All bytes of the array's base.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// As [`ExtensionInput::export`].
    pub fn export(&self) -> Export {
        Export::new(self.view.base.clone())
    }
}
