//! How far the running plan has come, readable at any time without the runtime's lock.
//!
//! The executor stores the number of steps when a plan begins, and counts each step: two relaxed stores for a plan and
//! one for a step, whether anybody reads them or not. A front end that watches from another thread reads a
//! [`ProgressSnapshot`].

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the plan that runs, or ran last.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    plans: AtomicU64,
    steps: AtomicU64,
    done: AtomicU64,
}

/// The counters at one moment. The three are read one after the other, so they may belong to two plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProgressSnapshot {
    /// Plans that have begun.
    pub plans: u64,
    /// The steps of the latest plan.
    pub steps: u64,
    /// How many of these steps have been done.
    pub done: u64,
}

impl Progress {
    /// Notes that a plan of this many steps begins. Plans run one at a time.
    pub fn begin(&self, steps: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.steps.store(steps as u64, Ordering::Relaxed);
        self.plans.store(self.plans.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Notes that this many steps have been done.
    pub fn reach(&self, done: usize) {
        self.done.store(done as u64, Ordering::Relaxed);
    }

    /// The counters at this moment.
    pub fn snapshot(&self) -> ProgressSnapshot {
        ProgressSnapshot {
            plans: self.plans.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
            done: self.done.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_counts_from_nothing() {
        let progress = Progress::default();
        progress.begin(3);
        progress.reach(2);
        assert_eq!(progress.snapshot(), ProgressSnapshot { plans: 1, steps: 3, done: 2 });
        progress.begin(5);
        assert_eq!(progress.snapshot(), ProgressSnapshot { plans: 2, steps: 5, done: 0 });
    }
}
