//! The engines and settings of a runtime: at its start, when they are replaced, and around a fork. Before devices are
//! replaced, all values are copied to the host.

use super::gate::Inside;
use super::{Inner, Runtime, State};
use crate::at_once::Chains;
use crate::batch::Retry;
use crate::config::Config;
use crate::engine::Engine;
use crate::engine_set::EngineSet;
use crate::exec::Candidates;
use crate::footprint;
use crate::heap::Heap;
use crate::heap::copies::Device;
use crate::piecemeal::Sightings;
use crate::placement::{Placement, Rule};
use crate::stats::Reason;
use numelt_opt::Target;
use std::sync::Arc;

impl Runtime {
    /// Replaces the settings, and the engines if there are new ones. Pending work runs before, under the old ones,
    /// and values on devices are copied to the host.
    pub fn reconfigure(&self, engines: Option<EngineSet>, config: Config) {
        let mut state = self.lock();
        // operations without memory may get some under the new settings; operations that a guard blocks wait for the
        // new settings, too
        if state.blocking_guard().is_none() {
            // operations that fail stay pending, or reading their results raises the error
            let _ = state.flush(Reason::Explicit, Retry::All);
            self.note_flush(&state);
        }
        state.batch.stop_following();
        configure_pool(&self.heap, &config);
        state.config = config;
        state.explained = 0;
        if let Some(EngineSet { host, devices, rule }) = engines {
            self.host.replace(&mut state, Arc::clone(&host));
            state.use_devices(devices, rule);
            let engine = host;
            state.variants = engine.variants();
            state.engine = engine;
        }
        state.caches.clear();
        let Target { at_once, planning, .. } = *state.engine.target();
        (state.chains, state.sightings) = (Chains::new(at_once), Sightings::new(planning));
        state.last = None;
        if state.batch.is_empty() {
            state.batch.expect(Candidates::new());
        }
        self.note_at_once(&state);
        self.note_devices(&state);
    }
}

/// Excludes all other threads from a runtime.
pub(super) struct Held<'a> {
    gate: &'a Inner,
    inside: Inside<'a, State>,
}

impl Held<'_> {
    /// Waits for a flush in another thread, and excludes all other threads until the result is dropped (around a
    /// fork).
    pub fn new(gate: &Inner) -> Held<'_> {
        Held { gate, inside: gate.lock() }
    }

    /// Copies all values to the host. Values for which this fails stay with the parent.
    pub fn move_to_host(&mut self) {
        // reading a value that could not be copied raises an error
        self.inside.devices.iter().for_each(|device| _ = device.empty());
    }

    /// Forgets, in a forked child, the threads that have announced themselves, and the devices, none of which exists
    /// there.
    pub fn forget_threads(&mut self) {
        self.gate.forget_away();
        self.inside.stats = self.inside.with_devices();
        let devices = std::mem::take(&mut self.inside.devices);
        devices.iter().for_each(|device| device.forget());
        // the threads of devices do not exist here, so their destructors must not run
        std::mem::forget(devices);
        (self.inside.placement, self.inside.placed) = (Placement::host(), [0; 2]);
        self.inside.forget_caller();
    }
}

impl State {
    /// Replaces the devices, except those that are the home of arrays and have no successor of their name, and copies
    /// the values on the old ones to the host. Reading a value for which this fails raises an error.
    fn use_devices(&mut self, devices: Vec<Arc<dyn Engine>>, rule: Rule) {
        self.devices.iter().for_each(|device| _ = device.empty());
        // totals include those of devices that have been replaced
        self.stats = self.with_devices();
        self.devices.iter().for_each(|device| device.moved.reset());
        let (count, kept) = (devices.len(), self.kept_devices(&devices));
        // a device stays if others use its memory
        let anchored = |engine: &Arc<dyn Engine>| {
            let same = |device: &&Arc<Device>| device.engine.name() == engine.name() && !device.is_lost();
            self.devices.iter().find(same).filter(|device| device.has_anchors()).map(Arc::clone)
        };
        let device = |(number, engine): (usize, Arc<dyn Engine>)| match anchored(&engine) {
            Some(device) => {
                device.renumber(number);
                device
            }
            None => Device::new(engine, number),
        };
        self.devices = devices.into_iter().chain(kept).enumerate().map(device).collect();
        (self.placement, self.placed) = (Placement::new(rule, count, &self.config), [0; 2]);
    }
}

/// The engines with memory of their own, numbered in the runtime's order.
pub(super) fn numbered(engines: Vec<Arc<dyn Engine>>) -> Vec<Arc<Device>> {
    engines.into_iter().enumerate().map(|(number, engine)| Device::new(engine, number)).collect()
}

/// Sets how much memory the heap's pool may use.
pub(super) fn configure_pool(heap: &Heap, config: &Config) {
    let cache_cap = config.memory_limit.unwrap_or_else(physical_memory) / 4;
    heap.pool.configure(config.memory_limit, cache_cap);
}

/// The bytes of memory that the machine has.
pub(super) fn physical_memory() -> usize {
    // SAFETY: sysconf reads a system constant.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    if pages > 0 { pages as usize * footprint::page() } else { 8 << 30 }
}
