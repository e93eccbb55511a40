//! What a point of a kernel costs: an estimate that launches correct.
//!
//! In: points and the time they took on one thread. Out: picoseconds per point, for deciding how many threads share
//! a launch. Results never depend on it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Picoseconds per point.
pub struct Price(AtomicU64);

impl Price {
    /// A price that nothing has been measured of.
    pub fn new(estimate: u64) -> Price {
        Price(AtomicU64::new(estimate))
    }

    /// Nanoseconds that so many points take one thread.
    pub fn of(&self, points: u64) -> u64 {
        points.saturating_mul(self.0.load(Ordering::Relaxed)) / 1000
    }

    /// Takes a measurement into account. A thread that lost its processor for a while looks slow, so the price
    /// falls quickly and rises slowly.
    pub fn learn(&self, points: u64, nanoseconds: u64) {
        if points == 0 || nanoseconds == 0 {
            return;
        }
        let seen = (u128::from(nanoseconds) * 1000 / u128::from(points)).max(1) as u64;
        let old = self.0.load(Ordering::Relaxed);
        let new = if seen < old { old - (old - seen) / 2 } else { old + (seen.min(2 * old) - old) / 8 };
        self.0.store(new.max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_win_and_interruptions_do_not() {
        let price = Price::new(4000);
        for _ in 0..20 {
            price.learn(1000, 1000);
        }
        assert!((1000..1100).contains(&price.of(1000)));
        price.learn(1000, 50_000_000);
        assert!(price.of(1000) < 1300);
        for _ in 0..50 {
            price.learn(1000, 3000);
        }
        assert!(price.of(1000) > 2500);
    }
}
