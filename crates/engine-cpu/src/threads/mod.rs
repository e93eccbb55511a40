//! The thread pool: one launch at a time is shared between pinned workers and the caller.
//!
//! In: a number of units and a function on ranges of them. Out: every unit done once, and how long it took. Units are
//! assigned in advance (`job`), and the caller works, too. Floating-point flags that workers raise are raised on the
//! caller. A forked process gets new workers. Not here: what a unit is.
//!
//! Small work stays on the caller. While the machine is [crowded](crate::crowd), more work counts as small. The limit
//! depends on the workers (`pool`): waking one that sleeps takes tens of microseconds, giving work to one that polls
//! for it about one. Work that is too small only for sleeping workers, and that keeps coming, wakes them.

mod job;
mod pin;
mod pool;

use crate::crowd::Crowd;
pub use job::Work;
use pool::Pool;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Work below this many estimated nanoseconds is not shared with sleeping workers, unless told otherwise.
pub const GATE: u64 = 100_000;
/// Workers that are awake share work that is this many times smaller.
const AWAKE: u64 = 5;
/// Each additional thread needs this many nanoseconds of work to pay.
const SHARE: u64 = 40_000;
/// The number of chunks per thread into which units are divided.
const CHUNKS: usize = 8;
/// Launches that leave less than this many nanoseconds between them are a stream.
const PAUSE: u64 = 200_000;
/// A stream that has taken this many nanoseconds on the caller wakes the workers.
const ENOUGH: u64 = 400_000;

/// The number of forks. The pool of a child has no threads, whatever the parent's memory says.
static FORKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread is inside a launch. Then a nested launch stays on it.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// The threads of one engine, started when first needed.
pub struct Threads {
    wanted: usize,
    gate: u64,
    crowd: Crowd,
    stream: MissedSharing,
    /// The number of workers that are polling for work or have some.
    awake: Arc<AtomicUsize>,
    pool: Mutex<Option<(u64, Arc<Pool>)>>,
}

impl Threads {
    /// `wanted` threads, including the caller; zero for all that this process may use. Work of less than `gate`
    /// nanoseconds stays on the caller; if `gate` is zero, everything is shared.
    pub fn new(wanted: usize, gate: u64) -> Threads {
        let wanted = if wanted == 0 { available() } else { wanted }.max(1);
        let (crowd, stream, awake) = (Crowd::new(), MissedSharing::new(), Arc::default());
        Threads { wanted, gate, crowd, stream, awake, pool: Mutex::new(None) }
    }

    /// Number of threads, the caller included.
    pub fn count(&self) -> usize {
        self.wanted
    }

    /// The number of threads that would share `work` nanoseconds.
    pub fn shares(&self, work: u64) -> usize {
        if self.wanted <= 1 || work < self.gate / AWAKE || BUSY.get() {
            1
        } else if self.gate == 0 {
            self.wanted
        } else if self.crowd.keeps(work) {
            1
        } else if self.awake.load(Ordering::Relaxed) > 0 || (work < self.gate && self.stream.flows()) {
            self.wanted.min((work * AWAKE / SHARE) as usize).max(1)
        } else if work < self.gate {
            1
        } else {
            self.wanted.min((work / SHARE) as usize).max(1)
        }
    }

    /// Calls `f` on ranges that cover `0..units` once each. `work` is the estimated time in nanoseconds. Returns the
    /// measured time that one thread would have taken, or zero if nothing was measured.
    pub fn parallel(&self, units: usize, work: u64, f: Work<'_>) -> u64 {
        self.parallel_chunks(units, 1, work, f)
    }

    /// The same, on ranges of at least `least` units if that leaves one for each thread.
    pub fn parallel_chunks(&self, units: usize, least: usize, work: u64, f: Work<'_>) -> u64 {
        if units == 0 {
            return 0;
        }
        let shares = self.shares(work).min(units);
        if shares <= 1 {
            return self.alone(units, work, f);
        }
        // if another thread's launch has the pool, the caller does all of its own work
        let Some(pool) = self.pool() else { return self.alone(units, work, f) };
        let Ok(_turn) = pool.turn.try_lock() else { return self.alone(units, work, f) };
        BUSY.set(true);
        let reset = Reset;
        let part = pool.run(units, chunk(units, shares, least), shares - 1, f, &self.crowd);
        drop(reset);
        let nanoseconds = part.time.as_nanos() * units as u128 / part.units.max(1) as u128;
        if part.units == 0 { 0 } else { nanoseconds as u64 }
    }

    /// Does all work on the caller.
    fn alone(&self, units: usize, work: u64, f: Work<'_>) -> u64 {
        if work < self.gate / (2 * AWAKE) || BUSY.get() {
            f(0..units);
            return 0;
        }
        let start = Instant::now();
        f(0..units);
        let nanoseconds = start.elapsed().as_nanos() as u64;
        self.stream.add(nanoseconds);
        nanoseconds
    }

    fn pool(&self) -> Option<Arc<Pool>> {
        // another thread may be starting the pool; then the caller's own work is enough for now
        let mut slot = self.pool.try_lock().ok()?;
        let forks = FORKS.load(Ordering::Relaxed);
        match &*slot {
            Some((at, pool)) if *at == forks => Some(pool.clone()),
            _ => {
                if let Some((_, dead)) = slot.take() {
                    // the parent's pool: its locks may be held for ever, so it must not be touched again
                    std::mem::forget(dead);
                }
                let pool = Pool::start(self.wanted - 1, self.awake.clone());
                *slot = Some((forks, pool.clone()));
                Some(pool)
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let slot = self.pool.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, pool)) = slot.take() {
            if at == FORKS.load(Ordering::Relaxed) {
                pool.stop();
            } else {
                std::mem::forget(pool);
            }
        }
    }
}

/// The units of a chunk: at least `least`, if all threads still get as many chunks.
fn chunk(units: usize, shares: usize, least: usize) -> usize {
    let chunk = (units / (shares * CHUNKS)).max(1);
    if chunk >= least {
        return chunk;
    }
    units.div_ceil((units / least / shares * shares).max(shares))
}

/// Marks the thread free again, also when a unit panics.
struct Reset;
impl Drop for Reset {
    fn drop(&mut self) {
        BUSY.set(false);
    }
}

/// Work that callers did alone although it would have been worth sharing with workers that are awake.
struct MissedSharing {
    start: Instant,
    /// Nanoseconds from `start` to the end of the last such work.
    last: AtomicU64,
    /// The nanoseconds of such work without a pause.
    total: AtomicU64,
}

impl MissedSharing {
    fn new() -> MissedSharing {
        MissedSharing { start: Instant::now(), last: AtomicU64::new(0), total: AtomicU64::new(0) }
    }

    fn add(&self, nanoseconds: u64) {
        let now = self.start.elapsed().as_nanos() as u64;
        let pause = now.saturating_sub(self.last.swap(now, Ordering::Relaxed)).saturating_sub(nanoseconds);
        let before = if pause > PAUSE { 0 } else { self.total.load(Ordering::Relaxed) };
        self.total.store(before.saturating_add(nanoseconds), Ordering::Relaxed);
    }

    /// Whether there has just been enough of it.
    fn flows(&self) -> bool {
        self.total.load(Ordering::Relaxed) >= ENOUGH
            && (self.start.elapsed().as_nanos() as u64).saturating_sub(self.last.load(Ordering::Relaxed)) < PAUSE
    }
}

/// In a forked child: the workers do not exist here, and the thread that forked is in no launch.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    BUSY.set(false);
}

/// Threads that this process may use: its affinity and its control group's quota.
pub fn available() -> usize {
    // the standard library reads the affinity mask and cgroup v1 and v2 quotas
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn every_unit_is_done_once_launch_after_launch() {
        let threads = Threads::new(3, 0);
        for units in (0..200).chain([5000]) {
            let done: Vec<AtomicUsize> = (0..units).map(|_| AtomicUsize::new(0)).collect();
            threads.parallel(units, 1, &|range: Range<usize>| {
                done[range].iter().for_each(|d| {
                    d.fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn long_chunks_are_as_many_for_each_thread() {
        assert_eq!(
            [chunk(100, 2, 1), chunk(3, 2, 1), chunk(40, 2, 8), chunk(41, 2, 9), chunk(40, 3, 30)],
            [6, 1, 10, 11, 14]
        );
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let threads = Threads::new(2, 0);
        for bad in [0, 63] {
            let work = |range: Range<usize>| assert!(!range.contains(&bad), "bad unit");
            let run = std::panic::AssertUnwindSafe(|| threads.parallel(64, 1, &work));
            assert!(std::panic::catch_unwind(run).is_err());
        }
        let sum = AtomicUsize::new(0);
        threads.parallel(64, 1, &|range| {
            sum.fetch_add(range.len(), Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 64);
    }

    #[test]
    fn small_work_is_shared_only_where_it_keeps_coming() {
        let threads = Threads::new(2, GATE);
        let work = GATE / 2;
        assert_eq!(threads.shares(work), 1);
        threads.stream.add(2 * ENOUGH);
        // the pause since then may be long on a busy machine
        assert!(threads.shares(work) == 2 || !threads.stream.flows());
        assert_eq!(threads.shares(GATE / AWAKE - 1), 1);
    }
}
