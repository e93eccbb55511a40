//! An engine that computes nothing: for testing scheduling, fusion and memory on their own.

use crate::engine::{Engine, Executable, Task, Ticket, Work};
use crate::heap::memory::HostMemory;
use crate::host::Host;
use numelt_ir::Result;
use numelt_opt::{Kernel, Target};
use std::any::Any;
use std::sync::Arc;

/// Accepts everything and does nothing: outputs keep what their memory held.
#[derive(Debug, Default)]
pub struct NullEngine;

struct Nothing;

impl Executable for Nothing {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn tier(&self) -> &'static str {
        "null"
    }
}

impl HostMemory for NullEngine {}

impl Engine for NullEngine {
    fn name(&self) -> &'static str {
        "null"
    }

    fn target(&self) -> &Target {
        const CPU: &Target = &Target::cpu();
        CPU
    }

    fn supports(&self, task: &Task<'_>) -> bool {
        task.all(|op, ty| op.info().dtypes.contains(ty))
    }

    fn compile(&self, _kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(Nothing))
    }

    fn submit(&self, _work: &Work<'_>) -> Result<Ticket> {
        Ok(Ticket(0))
    }

    fn wait(&self, _ticket: Ticket) -> Result<u8> {
        Ok(0)
    }
}

/// The host engine of a runtime that was given none. It declines every call.
impl Host for NullEngine {}
