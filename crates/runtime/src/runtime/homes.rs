//! Arrays with a home: the devices that a program names, and work that follows the data there.
//!
//! A batch has one home or none, so all of its steps run there, and its plan is made for that device. If the next
//! operation has another home, the batch runs before. The home of an operation is that of the array that it writes; a
//! new array gets that of the first operand that has one.

use super::{Runtime, State};
use crate::batch::Retry;
use crate::config::Config;
use crate::engine::Engine;
use crate::exec::Candidates;
use crate::heap::base::{ArrayView, Input};
use crate::heap::cell::note;
use crate::heap::copies::Device;
use crate::heap::homes::{Home, number};
use crate::host::Host;
use crate::stats::Reason;
use numelt_ir::Result;
use std::sync::Arc;

impl Runtime {
    /// The device of a name as a home for arrays. If the runtime has no device of that name, `make` makes it, from the
    /// settings and the host engine; it only runs work on arrays whose home it is.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn home(
        &self,
        name: &'static str,
        make: impl FnOnce(&Config, &Arc<dyn Host>) -> Result<Arc<dyn Engine>>,
    ) -> Result<Home> {
        let mut state = self.lock();
        if state.device_of(name).is_none() {
            let engine = make(&state.config, &state.engine)?;
            state.add_device(engine);
            self.note_devices(&state);
        }
        let home = self.heap.homes.named(name)?;
        // batches that follow a plan do not look at the homes of their arrays
        state.batch.stop_following();
        if state.batch.is_empty() {
            state.batch.expect(Candidates::new());
        }
        Ok(home)
    }

    /// The name of a home.
    pub fn home_name(&self, home: Home) -> &'static str {
        self.heap.homes.name(number(Some(home))).unwrap_or_default()
    }

    /// The names of the devices that this process uses: those that are the home of arrays, and those of the engines.
    pub fn device_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.lock().devices.iter().map(|device| device.engine.name()).collect();
        names.extend(self.heap.homes.all());
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a program has ever named a home.
    #[inline]
    pub fn has_homes(&self) -> bool {
        self.heap.homes.any()
    }

    /// Sets the home of new arrays that this thread makes of no array, and returns the one before.
    pub fn set_default_home(&self, home: Option<Home>) -> Option<Home> {
        Home::of(self.heap.homes.set_of_new(number(home)))
    }

    /// Before an operation is recorded: gives its result a home, and runs the batch if that has another one.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_home(&self, state: &mut State, out: &ArrayView, ins: &[Input<'_>]) {
        let home = state.home_of(out, ins);
        if home == state.batch.home {
            return;
        }
        // a batch that cannot run now goes on, with work of another home
        if !state.batch.is_empty() && !state.filters.any() && state.blocking_guard().is_none() {
            // operations without memory stay pending, which is not an error of this one
            let _ = state.flush(Reason::Explicit, Retry::No);
            self.note_flush(state);
        }
        if state.batch.is_empty() {
            state.batch.home = home;
        }
    }
}

impl State {
    /// The number of the home of an operation; zero for none.
    fn home_of(&self, out: &ArrayView, ins: &[Input<'_>]) -> u8 {
        let cell = &out.base.0;
        let own = cell.home();
        if own != 0 || cell.has(note::SETTLED) || cell.has_value() || out.base.is_pending() {
            return own;
        }
        let home = |input: &Input<'_>| match input {
            Input::Array(array) => array.base.0.home(),
            Input::Const(_) => 0,
        };
        let home = ins.iter().map(home).find(|&home| home != 0).unwrap_or_else(|| self.heap.homes.of_new());
        if home != 0 {
            cell.set_home(home);
        }
        home
    }

    /// The device of a name, if there is one that responds.
    fn device_of(&self, name: &str) -> Option<usize> {
        self.devices.iter().position(|device| device.engine.name() == name && !device.is_lost())
    }

    /// The device that is the home with this number.
    pub(super) fn device_at(&self, home: u8) -> Option<usize> {
        self.device_of(self.heap.homes.name(home)?)
    }

    /// Adds a device that the placement does not choose.
    fn add_device(&mut self, engine: Arc<dyn Engine>) {
        let device = Device::new(engine, self.devices.len());
        self.devices.push(device);
        // in a forked child, plans may know kernels of a device of the parent's by the same number
        self.caches.clear();
        self.last = None;
    }

    /// The devices that are the home of arrays and not among these engines.
    pub(super) fn kept_devices(&self, engines: &[Arc<dyn Engine>]) -> Vec<Arc<dyn Engine>> {
        let homes = self.heap.homes.all();
        let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
        let kept = self.devices.iter().filter(|device| !device.is_lost()).map(|device| &device.engine);
        kept.filter(|own| homes.contains(&own.name()) && !names.contains(&own.name())).map(Arc::clone).collect()
    }
}
