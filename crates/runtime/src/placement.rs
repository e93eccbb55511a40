//! Which engine runs a step.

use crate::exec::{Memory, Run};
use crate::heap::copies::Device;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where steps run.
#[derive(Debug)]
pub(crate) enum Placement {
    /// On the host.
    Host,
    /// On this device, as far as it can.
    Always(usize),
    /// Anywhere, by chance: a test of what moves between engines. Holds the state of the generator.
    Random(AtomicU64),
}

impl Placement {
    /// The device that a step is to run on; none for the host.
    pub fn device_for<'d>(
        &self,
        _run: Run<'_>,
        devices: &'d [Arc<Device>],
        _memory: &Memory<'_>,
    ) -> Option<&'d Arc<Device>> {
        let device = match self {
            Placement::Host => None,
            Placement::Always(number) => devices.get(*number),
            Placement::Random(state) => devices.get(random(state) as usize % (devices.len() + 1)),
        };
        device.filter(|device| !device.is_lost())
    }

    /// Notes where a step ran.
    pub fn note(&self, _step: usize, _device: Option<&Arc<Device>>) {}
}

/// The next number of a simple generator (splitmix64).
fn random(state: &AtomicU64) -> u64 {
    let mut z = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
