//! The cost of a point of a kernel: an estimate that is corrected by launches.
//!
//! In: points, and the time that they took on one thread. Out: picoseconds per point, from which the number of threads
//! for a launch is chosen. Results never depend on it.

use numelt_ir::{DType, Op, transcendental};
use numelt_opt::{ArgKind, Kernel, Node, StrideClass};
use std::sync::atomic::{AtomicU64, Ordering};

/// Picoseconds per point.
pub struct Price(AtomicU64);

impl Price {
    /// A price without measurements.
    pub fn new(estimate: u64) -> Price {
        Price(AtomicU64::new(estimate))
    }

    /// The nanoseconds that this many points take on one thread.
    pub fn of(&self, points: u64) -> u64 {
        points.saturating_mul(self.0.load(Ordering::Relaxed)) / 1000
    }

    /// Takes a measurement into account. A thread that loses its processor for a while looks slow, so the price falls
    /// quickly and rises slowly.
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

/// A rough price per point, from memory traffic and arithmetic, in picoseconds.
pub(super) fn cost(kernel: &Kernel) -> u64 {
    let memory: u64 = kernel
        .args
        .iter()
        .filter(|a| matches!(a.kind, ArgKind::Load | ArgKind::Store))
        .filter(|a| a.strides.last() != Some(&StrideClass::Zero))
        .map(|a| 25 * a.dtype.size() as u64)
        .sum();
    let work: u64 = kernel.body.iter().map(node_cost).sum();
    memory + work + 100 * kernel.reductions.len() as u64 + 20
}

fn node_cost(node: &Node) -> u64 {
    match node {
        Node::Load(_) | Node::Param(_) => 0,
        Node::Index(_) | Node::Cast(..) => 150,
        // cache misses are likely
        Node::Gather { .. } => 1000,
        Node::Op(op, ty, _) => cost_of(*op, *ty),
    }
}

/// A rough price of one element of an operation, in picoseconds.
pub(crate) fn cost_of(op: Op, ty: DType) -> u64 {
    use numelt_ir::Op::*;
    match op {
        FloorDivide | Remainder | Fmod if ty.is_integer() => 80 * (ty.size() * ty.size()) as u64,
        FloorDivide | Remainder | Fmod => 5000,
        Power | FloatPower | Arctan2 | Hypot | Cbrt | Logaddexp | Logaddexp2 => 4000,
        transcendental!() => 1500,
        Divide | Reciprocal | Sqrt => 700,
        Pcg64 | Pcg64Dxsm => 600,
        Philox => 1500,
        _ => 20 * ty.size() as u64,
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
