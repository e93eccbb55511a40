//! Numerical routines by libraries for the device.

use super::{Device, Driver};
use numelt_ir::{DType, Error, Result};
use numelt_runtime::{Buffer, Routine, Routines};

impl<D: Driver> Routines for Device<D> {
    fn solver(&self, routine: &Routine) -> Option<&'static str> {
        let runs = |dtype: DType| match dtype.real() {
            DType::F32 => self.capabilities.single,
            _ => self.capabilities.double,
        };
        let may = !self.exact_products && routine.arrays().iter().all(|(dtype, ..)| runs(*dtype));
        if may { self.driver().routine(routine) } else { None }
    }

    fn run(&self, routine: &Routine, arrays: &[Buffer]) -> Result<bool> {
        let state = self.state();
        let mut pieces = Vec::new();
        for &buffer in arrays {
            match state.piece(buffer)? {
                (memory, 0) => pieces.push(memory),
                _ => return Err(Error::Unsupported("an array that does not fill its memory".into())),
            }
        }
        // SAFETY: the runtime guarantees that the arrays of the routine fill these pieces of memory.
        let found = unsafe { self.driver().solve(routine, &pieces) }?;
        self.driver().flush()?;
        Ok(found)
    }
}
