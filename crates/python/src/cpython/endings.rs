//! Threads that are still running when the interpreter ends.
//!
//! Before 3.14, CPython ends a daemon thread that asks for the GIL too late by `pthread_exit`, which unwinds the
//! thread's stack. Rust can't let that pass where it catches panics: the process is aborted. So a thread that is
//! unwound in that way stops here for good, which is what CPython does itself from 3.14 on, and PyO3 where it waits for
//! the GIL.

use std::mem;
use std::thread;

/// Runs code of Python or NumPy, or code that may call such code.
#[inline(always)]
pub fn outlive<R>(run: impl FnOnce() -> R) -> R {
    let stop = StopThread;
    let result = run();
    mem::forget(stop);
    result
}

/// Stops the thread when it is dropped, except by a panic. It is only dropped when the stack is unwound.
struct StopThread;

impl Drop for StopThread {
    #[cold]
    fn drop(&mut self) {
        while !thread::panicking() {
            thread::park();
        }
    }
}
