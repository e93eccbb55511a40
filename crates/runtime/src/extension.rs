//! Extension methods: functions of the user's own whose calls are recorded like operations.
//!
//! In: a function that fills an array from others ([`Extension`]), and calls of it
//! ([`crate::Runtime::call_extension`]). Out: the call takes its turn among the recorded operations: everything
//! recorded before it has run when the function runs, and nothing recorded after it has. Recording a call computes
//! nothing.

use crate::heap::base::{ArrayView, Export};
use numelt_ir::Result;

/// A function that the runtime calls when a recorded call of it has its turn.
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
    /// Whatever it wants the flush to return. `out` has no values then: reading it gives
    /// [`Error::Extension`](numelt_ir::Error::Extension).
    fn run(&self, out: &mut Output<'_>, inputs: &[Input<'_>]) -> Result<()>;
}

/// An array whose values the function reads.
pub struct Input<'a> {
    pub(crate) view: &'a ArrayView,
    pub(crate) bytes: &'a [u8],
}

/// The array that the function fills.
pub struct Output<'a> {
    pub(crate) view: &'a ArrayView,
    pub(crate) bytes: &'a mut [u8],
}

impl Input<'_> {
    /// dtype, shape, strides, and where the array begins in its base.
    pub fn view(&self) -> &ArrayView {
        self.view
    }

    /// All bytes of the array's base.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Keeps the base's memory in place after the call, for somebody outside who goes on looking at it.
    pub fn export(&self) -> Export {
        Export::new(self.view.base.clone())
    }
}

impl Output<'_> {
    /// dtype, shape, strides, and where the array begins in its base.
    pub fn view(&self) -> &ArrayView {
        self.view
    }

    /// All bytes of the array's base.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// As [`Input::export`].
    pub fn export(&self) -> Export {
        Export::new(self.view.base.clone())
    }
}
