//! Keeps the process's signal handlers when a driver replaces them.
//!
//! Drivers that contain LLVM, such as PoCL, install handlers of their own for SIGINT, SIGTERM and others when they
//! first compile something, and leave them there. A program that handles Ctrl-C would lose its handler. In: the current
//! handlers. Out: the same handlers, restored when the value is dropped.

use std::mem::MaybeUninit;

/// Signals 1 to 31, the ones that are not for real-time use.
const LAST: i32 = 31;

/// Restores the handlers that were in force when this was made.
pub struct Handlers(Vec<(i32, libc::sigaction)>);

impl Handlers {
    /// Saves the current handlers.
    pub fn keep() -> Handlers {
        let mut kept = Vec::with_capacity(LAST as usize);
        for signal in 1..=LAST {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: no new handler, and room for the present one, which is all zeros where the call fails.
            if unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) } == 0 {
                // SAFETY: the call has filled it.
                kept.push((signal, unsafe { action.assume_init() }));
            }
        }
        Handlers(kept)
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for (signal, before) in &self.0 {
            let mut now = MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: as in `keep`; a handler that was in force before is as valid now.
            unsafe {
                if libc::sigaction(*signal, std::ptr::null(), now.as_mut_ptr()) == 0
                    && now.assume_init().sa_sigaction != before.sa_sigaction
                {
                    libc::sigaction(*signal, before, std::ptr::null_mut());
                }
            }
        }
    }
}
