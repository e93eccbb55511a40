//! What compiled code of a loop has gained, and what CPython has lost where it continued the loop.
//!
//! After an exit, CPython runs the rest of the loop in a form that compiled code can resume, which is slower than the
//! loop as written. If code regularly stops early and is not resumed, as for integers that grow beyond 64 bits, CPython
//! alone is faster.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How much longer an iteration takes in the form that can be resumed, in nanoseconds.
const SLOWER: u64 = 60;
/// A loss below this many nanoseconds does not count: until then, code that resumes the loop may be compiled.
const LEAST: u64 = 20_000_000;
/// The largest gain of a run, in nanoseconds: an hour.
const MOST: f64 = 3.6e12;

/// The account of one variant of a loop.
#[derive(Default)]
pub struct Account {
    /// The nanoseconds that CPython would have taken for what compiled code has done, as estimated.
    gained: AtomicU64,
    /// The iterations that CPython did after exits.
    continued: AtomicU64,
}

impl Account {
    /// Notes work of compiled code for which CPython would have taken so many nanoseconds.
    pub fn gain(&self, nanoseconds: f64) {
        self.gained.fetch_add(nanoseconds.clamp(0.0, MOST) as u64, Ordering::Relaxed);
    }

    /// Notes iterations that CPython did after an exit.
    pub fn lose(&self, iterations: u64) {
        self.continued.fetch_add(iterations, Ordering::Relaxed);
    }

    /// Notes time that was spent so that compiled code could run.
    pub fn lose_time(&self, time: Duration) {
        self.lose(time.as_nanos() as u64 / SLOWER);
    }

    /// Has anything ever been lost?
    pub fn has_lost(&self) -> bool {
        self.continued.load(Ordering::Relaxed) > 0
    }

    /// Would the loop have been faster without compiled code?
    pub fn is_negative(&self) -> bool {
        let lost = self.continued.load(Ordering::Relaxed).saturating_mul(SLOWER);
        lost > LEAST && lost > self.gained.load(Ordering::Relaxed)
    }
}

/// Increments a count. The GIL is held, so nobody else does so at the same time.
#[inline]
pub fn add_one(number: &AtomicU64) {
    number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// A count.
#[inline]
pub fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}
