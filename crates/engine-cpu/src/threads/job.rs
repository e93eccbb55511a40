//! One launch as its threads see it: chunks of units, assigned in advance, and reassigned if a thread is late.
//!
//! In: a function on ranges of units. Out: every unit done once. Thread `i` of `n` starts with the `i`-th share of the
//! chunks, which is the same share in every launch of as many units. So if a program sweeps over an array repeatedly,
//! each part is in the cache of the thread that had it before. A thread that has finished its share takes chunks from
//! the end of the share that has most left. Not here: threads.

use numelt_vecmath::flags;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// A function on a range of units.
pub type Work<'a> = &'a (dyn Fn(Range<usize>) + Sync);

/// The remaining chunks of a share: the first, and the one after the last, 32 bits each. It has a cache line of its
/// own.
#[repr(align(128))]
struct Share(AtomicU64);

impl Share {
    fn new(chunks: Range<usize>) -> Share {
        Share(AtomicU64::new((chunks.start as u64) << 32 | chunks.end as u64))
    }

    fn left(&self) -> Range<u64> {
        let both = self.0.load(Ordering::Relaxed);
        both >> 32..both & u64::from(u32::MAX)
    }

    /// Takes the first or the last chunk.
    fn take(&self, last: bool) -> Option<usize> {
        let (mut taken, step) = (None, if last { u64::MAX } else { 1 << 32 });
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |both| {
            let (first, end) = (both >> 32, both & u64::from(u32::MAX));
            taken = (first < end).then_some(if last { end.wrapping_sub(1) } else { first } as usize);
            taken.map(|_| both.wrapping_add(step))
        });
        taken
    }
}

/// One launch, on the caller's stack.
pub struct Job {
    /// The function, with its lifetime erased: the caller waits until all workers have left.
    work: *const (dyn Fn(Range<usize>) + Sync),
    units: usize,
    chunk: usize,
    shares: SmallVec<[Share; 4]>,
    /// Did a worker panic?
    pub failed: AtomicBool,
    /// Floating-point flags that workers have raised.
    pub raised: AtomicU8,
    /// The number of workers that came and have left.
    pub left: AtomicUsize,
}

impl Job {
    /// A job of `units` in chunks of at least `chunk`, assigned to `threads`.
    ///
    /// # Safety
    /// `f` outlives every call of [`Job::help`].
    pub unsafe fn new(units: usize, chunk: usize, threads: usize, f: Work<'_>) -> Job {
        // SAFETY: only the lifetime changes; the caller's contract.
        let work = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(f) };
        let chunk = chunk.max(units.div_ceil(1 << 24)).max(1);
        let chunks = units.div_ceil(chunk);
        let shares = (0..threads).map(|i| Share::new(chunks * i / threads..chunks * (i + 1) / threads)).collect();
        let (failed, raised, left) = (AtomicBool::new(false), AtomicU8::new(0), AtomicUsize::new(0));
        Job { work, units, chunk, shares, failed, raised, left }
    }

    /// Works on share `mine`, then on the rest of the others; returns the number of units done.
    pub fn help(&self, mine: usize) -> usize {
        let mut done = 0;
        while let Some(chunk) = self.shares[mine].take(false).or_else(|| self.steal()) {
            if self.failed.load(Ordering::Relaxed) {
                break;
            }
            let range = chunk * self.chunk..self.units.min((chunk + 1) * self.chunk);
            done += range.len();
            // SAFETY: the caller keeps the function alive until every worker has left the job.
            unsafe { (*self.work)(range) };
        }
        done
    }

    /// [`Job::help`] for a worker: a panic is noted, and so are floating-point flags.
    pub fn help_out(&self, mine: usize) {
        flags::clear();
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.help(mine))).is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.raised.fetch_or(flags::get(), Ordering::Relaxed);
    }

    /// The last chunk of the largest remaining share.
    fn steal(&self) -> Option<usize> {
        loop {
            let left = |share: &&Share| {
                let range = share.left();
                range.end.saturating_sub(range.start)
            };
            let victim = self.shares.iter().max_by_key(left).filter(|share| left(share) > 0)?;
            // another thread may have taken it
            if let Some(chunk) = victim.take(true) {
                return Some(chunk);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn taken(units: usize, chunk: usize, threads: usize, helpers: &[usize]) -> Vec<Range<usize>> {
        let seen = Mutex::new(Vec::new());
        let f = |range: Range<usize>| seen.lock().unwrap().push(range);
        // SAFETY: the job is used while `f` lives.
        let job = unsafe { Job::new(units, chunk, threads, &f) };
        let done: usize = helpers.iter().map(|&i| job.help(i)).sum();
        assert_eq!(done, units);
        seen.into_inner().unwrap()
    }

    #[test]
    fn own_share_in_order_then_the_others_from_behind() {
        assert_eq!(taken(8, 2, 2, &[1]), [4..6, 6..8, 2..4, 0..2]);
        assert_eq!(taken(5, 2, 2, &[0, 1]), [0..2, 4..5, 2..4]);
    }

    #[test]
    fn every_unit_once() {
        for (units, chunk, threads) in [(1, 1, 3), (7, 1, 3), (100, 7, 4), (3, 10, 2), (0, 1, 2)] {
            let mut all: Vec<usize> = taken(units, chunk, threads, &[threads - 1]).into_iter().flatten().collect();
            all.sort_unstable();
            assert_eq!(all, (0..units).collect::<Vec<_>>());
        }
    }
}
