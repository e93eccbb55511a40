//! The placement of steps on engines.
//!
//! An engine is chosen for each step of a plan that is about to run, by the rule in force. [`Rule::Cost`] decides for a
//! plan as a whole (`choose.rs`) and remembers what it decided (`decisions.rs`); `exec/placing.rs` tells it about the
//! plan. The rates that it needs are measured (`measure.rs`) when a plan is first worth moving, once per machine and
//! engine (`rates.rs`).

pub(crate) mod choose;
pub(crate) mod decisions;
mod measure;
mod rates;
pub(crate) mod rule;

pub(crate) use decisions::Decisions;
pub use rates::Rates;
pub use rule::Rule;

use crate::config::Config;
use crate::engine::Engine;
use crate::heap::copies::Device;
use crate::host::Host;
use decisions::Engines;
use rates::RatesStore;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the steps of a runtime's plans run.
#[derive(Debug)]
pub(crate) struct Placement {
    pub rule: Rule,
    /// How many devices the rule chooses from. Those after them are only there as the home of arrays.
    count: usize,
    /// The state of the random numbers of [`Rule::Random`].
    state: AtomicU64,
    /// How many steps ran on devices, and how many were placed there but ran on the host.
    done: AtomicU64,
    declined: AtomicU64,
    /// The rates of each engine, the host first, once they are known; `None` for an engine that could not be
    /// measured.
    rates: Mutex<Option<EngineRates>>,
    store: RatesStore,
}

/// The rates of each engine, the host first.
type EngineRates = Arc<[Option<Rates>]>;

/// Where the steps of a plan are to run.
pub(crate) enum StepEngines {
    /// Each where the rule says when its turn comes.
    ByRule,
    /// All on the host.
    Host,
    /// Each on this device, if it can do it.
    On(usize),
    /// Each on its own engine.
    Decided(Engines),
}

impl Placement {
    /// All on the host.
    pub const fn host() -> Placement {
        Placement::of(Rule::Host, 0, 0, RatesStore::NONE)
    }

    /// The rule for the first `count` devices.
    pub fn new(rule: Rule, count: usize, config: &Config) -> Placement {
        let seed = if let Rule::Random(seed) = rule { seed } else { 0 };
        Placement::of(rule, count, seed, RatesStore::new(config))
    }

    const fn of(rule: Rule, count: usize, seed: u64, store: RatesStore) -> Placement {
        let [state, done, declined] = [AtomicU64::new(seed), AtomicU64::new(0), AtomicU64::new(0)];
        Placement { rule, count, state, done, declined, rates: Mutex::new(None), store }
    }

    /// Those of a runtime's devices that the rule chooses from.
    pub fn chosen<'d>(&self, devices: &'d [Arc<Device>]) -> &'d [Arc<Device>] {
        &devices[..self.count.min(devices.len())]
    }

    /// Uses these rates, the host's first, instead of measuring.
    pub fn use_rates(&self, rates: &[Rates]) {
        let rates = rates.iter().copied().map(Some).collect();
        *self.rates.lock().unwrap_or_else(PoisonError::into_inner) = Some(rates);
    }

    /// The rates of all engines, if they are known.
    pub fn known(&self) -> Option<EngineRates> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rates of all engines.
    pub fn rates(&self, host: &dyn Host, devices: &[Arc<Device>]) -> EngineRates {
        let mut known = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let measured = || {
            let own = self.measured(host, host.threads(), false);
            // without the host's rates there is nothing to compare with
            let device = |device: &Arc<Device>| own.and_then(|_| self.measured(&*device.engine, host.threads(), true));
            std::iter::once(own).chain(devices.iter().map(device)).collect()
        };
        Arc::clone(known.get_or_insert_with(measured))
    }

    /// The rates of one engine, from the cache folder if they are there.
    fn measured(&self, engine: &dyn Engine, threads: usize, is_far: bool) -> Option<Rates> {
        let machine = self.store.machine(engine, threads);
        if let Some(rates) = self.store.load(engine.name(), &machine) {
            return Some(rates);
        }
        let rates = measure::measure(engine, is_far).ok()?;
        self.store.save(engine.name(), &machine, rates);
        Some(rates)
    }

    /// Whether the runtime may run operations on few elements without a plan, on the host. It may not if the rule
    /// places work elsewhere on purpose.
    pub fn allows_shortcuts(&self) -> bool {
        matches!(self.rule, Rule::Host | Rule::Cost)
    }

    /// The device on which a step is to run; `None` for the host.
    pub fn device_for<'d>(
        &self,
        engines: &StepEngines,
        step: usize,
        devices: &'d [Arc<Device>],
    ) -> Option<&'d Arc<Device>> {
        let device = match (engines, self.rule) {
            (StepEngines::Decided(chosen), _) => {
                usize::from(chosen[step]).checked_sub(1).and_then(|at| devices.get(at))
            }
            (StepEngines::On(number), _) => devices.get(*number),
            (StepEngines::Host, _) | (StepEngines::ByRule, Rule::Host | Rule::Cost) => None,
            (StepEngines::ByRule, Rule::Always(number)) => devices.get(number),
            (StepEngines::ByRule, Rule::Random(_)) => {
                let devices = self.chosen(devices);
                devices.get(random(&self.state) as usize % (devices.len() + 1))
            }
        };
        device.filter(|device| !device.is_lost())
    }

    /// Notes whether a step that was placed on a device ran there.
    pub fn note(&self, there: bool) {
        let count = if there { &self.done } else { &self.declined };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How many steps ran on devices, and how many were placed there but ran on the host.
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
