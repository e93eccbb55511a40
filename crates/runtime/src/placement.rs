//! Which engine runs a step.

use crate::exec::{Memory, Run};
use crate::heap::copies::Device;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How work is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// On the host.
    Host,
    /// On this device, as far as it can do it.
    Always(usize),
    /// Where it takes least time, what has to move included.
    Cost,
    /// Anywhere, by chance: a test of what moves between engines.
    Random(u64),
}

/// Where the steps of a runtime's plans run.
#[derive(Debug)]
pub(crate) struct Placement {
    pub rule: Rule,
    /// Of the random numbers of [`Rule::Random`].
    state: AtomicU64,
    /// Steps that ran on devices, and those that were placed there and ran on the host.
    done: AtomicU64,
    declined: AtomicU64,
}

impl Placement {
    pub fn new(rule: Rule) -> Placement {
        let seed = if let Rule::Random(seed) = rule { seed } else { 0 };
        let [state, done, declined] = [AtomicU64::new(seed), AtomicU64::new(0), AtomicU64::new(0)];
        Placement { rule, state, done, declined }
    }

    /// May the runtime run operations on few elements without a plan, on the host? Not where somebody wants to see them
    /// elsewhere.
    pub fn allows_shortcuts(&self) -> bool {
        matches!(self.rule, Rule::Host | Rule::Cost)
    }

    /// The device that a step is to run on; none for the host.
    pub fn device_for<'d>(
        &self,
        _run: Run<'_>,
        devices: &'d [Arc<Device>],
        _memory: &Memory<'_>,
    ) -> Option<&'d Arc<Device>> {
        let device = match self.rule {
            Rule::Host | Rule::Cost => None,
            Rule::Always(number) => devices.get(number),
            Rule::Random(_) => devices.get(random(&self.state) as usize % (devices.len() + 1)),
        };
        device.filter(|device| !device.is_lost())
    }

    /// Notes whether a step that was placed on a device ran there.
    pub fn note(&self, there: bool) {
        let count = if there { &self.done } else { &self.declined };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Steps that ran on devices, and those that were placed there and ran on the host.
    pub fn counts(&self) -> [u64; 2] {
        [&self.done, &self.declined].map(|count| count.load(Ordering::Relaxed))
    }
}

/// The next number of a simple generator (splitmix64).
fn random(state: &AtomicU64) -> u64 {
    let mut z = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
