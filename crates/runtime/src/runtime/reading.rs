//! Reading memory: what is pending runs first, as far as the reader needs it.
//!
//! In: a base. Out: its address. What got no memory stays pending, and is an error only to those who read it.

use super::Runtime;
use crate::batch::Again;
use crate::heap::base::{BaseRef, Export};
use crate::heap::cell::note;
use crate::heap::lost;
use crate::stats::Reason;
use numelt_ir::Result;

impl Runtime {
    /// Address of a base's memory on the host, to be written: everything pending on it is done, its values are there, and what was
    /// made from them is forgotten.
    ///
    /// # Errors
    /// Those of [`Runtime::flush`]; [`numelt_ir::Error::OutOfMemory`] for a base that could not be computed.
    pub fn write(&self, base: &BaseRef) -> Result<*mut u8> {
        if base.is_queued() {
            self.run_for(base)?;
            if base.is_queued() {
                self.lock().batch.give_up(&base.0);
            }
        }
        if base.0.bonds.any() {
            let mut state = self.lock();
            state.make(&base.0)?;
            // values that are made of these are made before they change
            for cell in state.put_off.made_of(&base.0) {
                state.make(&cell)?;
            }
        }
        let address = self.memory(base)?;
        base.0.touch();
        Ok(address)
    }

    /// Address of a base's memory on the host, to look at its values: work that only reads it may stay pending.
    ///
    /// # Errors
    /// Those of [`Runtime::write`].
    pub fn read(&self, base: &BaseRef) -> Result<*const u8> {
        if base.is_awaited() && !base.0.bonds.is_put_off() {
            self.run_for(base)?;
        }
        if base.0.bonds.is_put_off() {
            self.lock().make(&base.0)?;
        }
        self.memory(base).map(<*mut u8>::cast_const)
    }

    /// Runs everything pending for somebody who needs a base. What got no memory elsewhere stays pending, and is an error only to
    /// those who need it.
    fn run_for(&self, base: &BaseRef) -> Result<()> {
        let waits = || base.is_awaited() && !base.0.bonds.is_put_off();
        // what has not been tried before is not to be kept from memory by what has
        let first = self.flush(Reason::Read);
        if !waits() {
            return Ok(());
        }
        match self.flush_again(Reason::Read, Again::For(&base.0)).and(first) {
            Err(error) if waits() => Err(error),
            Ok(()) if waits() => Err(lost::error(&base.0)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn memory(&self, base: &BaseRef) -> Result<*mut u8> {
        if base.0.has(note::FAILED) {
            return Err(lost::error(&base.0));
        }
        let address = base.0.here();
        if !address.is_null() {
            return Ok(address);
        }
        let _one_at_a_time = self.lock();
        if base.0.has_value() {
            base.0.come_home()?
        } else {
            base.0.provide()?
        }
        Ok(base.0.here())
    }

    /// Like [`Runtime::write`], and keeps the base visible until the export is dropped.
    ///
    /// # Errors
    /// Those of [`Runtime::write`].
    pub fn export(&self, base: &BaseRef) -> Result<Export> {
        Ok(Export::new(base.clone(), self.write(base)?))
    }
}
