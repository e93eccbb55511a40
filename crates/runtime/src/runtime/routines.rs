//! Numerical routines of libraries for devices, where the values are (`routine.rs`).

use super::reading::Before;
use super::{Runtime, State};
use crate::engine::Buffer;
use crate::heap::base::{ArrayView, BaseRef};
use crate::heap::cell::note;
use crate::heap::copies::Device;
use crate::heap::lost;
use crate::routine::{Routine, Use};
use numelt_ir::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A routine that has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solved {
    /// The name of the library.
    pub library: &'static str,
    /// Whether the values have a result.
    pub has_result: bool,
}

impl Runtime {
    /// Updates what is known of all devices; called when there are others.
    pub(super) fn note_devices(&self, state: &State) {
        let any = |is: fn(&Device) -> bool| state.devices.iter().any(|device| is(device));
        self.sharing.store(any(|device| device.engine.sharing().is_some()), Ordering::Relaxed);
        self.routines.store(any(|device| device.engine.routines().is_some()), Ordering::Relaxed);
    }

    /// Whether the process uses a device with numerical routines.
    #[inline]
    pub fn has_routines(&self) -> bool {
        self.routines.load(Ordering::Relaxed)
    }

    /// Whether a device with numerical routines has an array's values, after pending work on it has run.
    ///
    /// # Errors
    /// Those of [`Runtime::read`].
    pub fn is_on_device(&self, base: &BaseRef) -> Result<bool> {
        let mut state = self.lock_unused(base)?;
        state.make(&base.0)?;
        Ok(state.device_of_values(base).is_some())
    }

    /// Runs a routine on the device that has the values of the first array: its arrays fill their bases, in C order.
    /// Returns the library's name, and whether the values have a result. `None` if there is no such device, no library
    /// for this routine, or no memory; what the routine changes has no meaning then, nor if there is no result.
    ///
    /// # Errors
    /// Those of [`Runtime::read`], and errors of the device.
    pub fn run_routine(&self, routine: &Routine, arrays: &[&ArrayView]) -> Result<Option<Solved>> {
        let Some((first, others)) = arrays.split_first() else { return Ok(None) };
        for other in others {
            drop(self.lock_unused(&other.base)?);
        }
        let mut state = self.lock_unused(&first.base)?;
        for array in arrays {
            state.make_bound(&array.base, Before::Needed)?;
            if array.base.0.has(note::FAILED) {
                return Err(lost::error(&array.base.0));
            }
        }
        let device = state.device_of_values(&first.base).map(Arc::clone);
        let Some(device) = device else { return Ok(None) };
        match on_device(&device, routine, arrays) {
            Ok(done) => Ok(Some(done)),
            Err(Error::OutOfMemory(_) | Error::Unsupported(_) | Error::Engine(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl State {
    /// The device that is the home of a base, or that has its values; `None` if it has no routines.
    fn device_of_values(&self, base: &BaseRef) -> Option<&Arc<Device>> {
        let cell = &base.0;
        let located = || (cell.located() >> 1).trailing_zeros() as usize;
        let at = if cell.home() == 0 { Some(located()) } else { self.device_at(cell.home()) };
        let device = at.and_then(|at| self.devices.get(at)).filter(|device| !device.is_lost());
        device.filter(|device| !cell.has(note::ANCHORED) && device.engine.routines().is_some())
    }
}

/// Runs a routine on arrays whose values are computed.
fn on_device(device: &Arc<Device>, routine: &Routine, arrays: &[&ArrayView]) -> Result<Solved> {
    let unknown = || Error::Unsupported("a routine without a library".into());
    let routines = device.engine.routines().ok_or_else(unknown)?;
    let library = routines.solver(routine).ok_or_else(unknown)?;
    device.begin_step();
    let uses = routine.arrays();
    let mut places = Vec::new();
    for (array, (.., becomes)) in arrays.iter().zip(&uses) {
        let cell = &array.base.0;
        if *becomes == Use::Made && !cell.has_value() {
            let handle = device.alloc(cell.nbytes)?;
            cell.written_on(device, handle);
        }
        places.push(cell.on(device)?);
    }
    let buffers: Vec<Buffer> = places.iter().map(|&handle| Buffer { handle, offset: 0 }).collect();
    let outcome = device.check_lost(routines.run(routine, &buffers));
    let changed = arrays.iter().zip(&places).zip(&uses).filter(|(_, (.., becomes))| *becomes != Use::Read);
    for ((array, handle), _) in changed {
        array.base.0.forget_kept();
        array.base.0.written_on(device, *handle);
    }
    outcome.map(|has_result| Solved { library, has_result })
}
