//! Whether the machine is too busy for sharing small work.
//!
//! In: how long callers waited for workers. Out: whether small work should stay on the caller for now. If other
//! processes want the same processors, a worker that has taken a chunk may lose its processor for milliseconds while
//! the caller waits for it: work of a tenth of a millisecond then takes ten. After such a wait, small work is not
//! shared for a while, and for longer each time that a new attempt ends in the same way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// If the caller waits longer than this, and longer than its own share took, a worker was not running.
const PATIENCE: Duration = Duration::from_micros(400);
/// Work of at least this many nanoseconds is always shared.
const LARGE: u64 = 4_000_000;
/// The first pause, and the longest, in nanoseconds.
const FIRST: u64 = 10_000_000;
const LONGEST: u64 = 160_000_000;

/// What is known about the machine's load.
pub struct Crowd {
    start: Instant,
    /// Nanoseconds since `start` until which small work stays on the caller; zero when the machine is quiet.
    until: AtomicU64,
    pause: AtomicU64,
}

impl Crowd {
    /// A quiet machine.
    pub fn new() -> Crowd {
        Crowd { start: Instant::now(), until: AtomicU64::new(0), pause: AtomicU64::new(FIRST) }
    }

    /// Whether work of this many nanoseconds should stay on the caller.
    pub fn keeps(&self, work: u64) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until != 0 && work < LARGE && self.now() < until
    }

    /// Notes that a caller worked for `own` and then waited for the others.
    pub fn waited(&self, own: Duration, wait: Duration) {
        if wait > PATIENCE && wait > own {
            let pause = self.pause.load(Ordering::Relaxed);
            self.until.store(self.now() + pause, Ordering::Relaxed);
            self.pause.store((2 * pause).min(LONGEST), Ordering::Relaxed);
        } else if self.until.load(Ordering::Relaxed) != 0 {
            self.until.store(0, Ordering::Relaxed);
            self.pause.store(FIRST, Ordering::Relaxed);
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_stays_after_a_long_wait_and_large_work_does_not() {
        let crowd = Crowd::new();
        assert!(!crowd.keeps(100_000));
        crowd.waited(Duration::from_micros(50), Duration::from_millis(3));
        assert!(crowd.keeps(100_000));
        assert!(!crowd.keeps(LARGE));
    }

    #[test]
    fn waits_as_long_as_the_callers_share_are_in_order() {
        let crowd = Crowd::new();
        crowd.waited(Duration::from_millis(5), Duration::from_millis(3));
        crowd.waited(Duration::from_micros(5), Duration::from_micros(300));
        assert!(!crowd.keeps(100_000));
    }

    #[test]
    fn a_launch_that_went_well_ends_the_pause() {
        let crowd = Crowd::new();
        crowd.waited(Duration::ZERO, Duration::from_millis(3));
        crowd.waited(Duration::from_millis(3), Duration::ZERO);
        assert!(!crowd.keeps(100_000));
    }
}
