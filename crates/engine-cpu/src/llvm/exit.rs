//! The end of the process: nobody may be inside LLVM when its static objects are destroyed.
//!
//! In: [`enter`] around every use of LLVM. Out: [`shutdown`], after which no new use begins and none is
//! under way. A front end calls it before the process ends. A handler registered with the C library is
//! the second line of defence; it runs in time except during the first compile, in which LLVM
//! makes static objects that are destroyed before it runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct State {
    inside: usize,
    closed: bool,
}

static STATE: Mutex<State> = Mutex::new(State { inside: 0, closed: false });
static LEFT: Condvar = Condvar::new();
/// The process that used LLVM first; zero before.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static REGISTERED: AtomicU32 = AtomicU32::new(0);

/// How often the handler is registered.
const REGISTRATIONS: u32 = 4;

/// No compile takes this long; a process that ends does not wait longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Held while LLVM is used.
pub(super) struct Inside(());

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Permission to use LLVM; none when the process is ending.
pub(super) fn enter() -> Option<Inside> {
    {
        let mut state = state();
        if state.closed {
            return None;
        }
        state.inside += 1;
    }
    let inside = Inside(());
    let _ = PROCESS.compare_exchange(0, std::process::id(), Ordering::Relaxed, Ordering::Relaxed);
    super::target::initialize();
    register();
    Some(inside)
}

impl Drop for Inside {
    fn drop(&mut self) {
        register();
        state().inside -= 1;
        LEFT.notify_all();
    }
}

fn register() {
    if REGISTERED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < REGISTRATIONS).then_some(n + 1)).is_ok() {
        // SAFETY: the handler is a plain function without unwinding. Where it cannot be registered, the
        // process merely ends as it would without.
        unsafe { libc::atexit(at_exit) };
    }
}

extern "C" fn at_exit() {
    shutdown();
}

/// Refuses further compiles and waits for those under way (three seconds at most). To be called before the
/// process ends, while its static objects are intact: in Python by `atexit`.
pub fn shutdown() {
    // The child of a fork has none of the threads that it would wait for.
    let first = PROCESS.load(Ordering::Relaxed);
    if first != 0 && first != std::process::id() {
        return;
    }
    let mut state = state();
    state.closed = true;
    let waited = LEFT.wait_timeout_while(state, PATIENCE, |state| state.inside > 0);
    drop(waited);
}
