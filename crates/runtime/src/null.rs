//! An engine that computes nothing: for testing scheduling, fusion and memory on their own.

use crate::engine::{Engine, Executable, Launch, LibraryCall};
use numelt_ir::{DType, Op, Result};
use numelt_opt::{Delay, Kernel, Target};
use std::any::Any;
use std::sync::Arc;

/// Accepts everything, does nothing: outputs keep whatever their memory held.
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

impl Engine for NullEngine {
    fn name(&self) -> &'static str {
        "null"
    }

    fn target(&self) -> &Target {
        const CPU: &Target = &Target::cpu();
        CPU
    }

    fn supports(&self, op: Op, ty: DType) -> bool {
        op.info().dtypes.contains(ty)
    }

    fn compile(&self, _kernel: &Arc<Kernel>) -> Result<Arc<dyn Executable>> {
        Ok(Arc::new(Nothing))
    }

    fn launch(&self, _executable: &dyn Executable, _launch: &Launch<'_>) -> Result<u8> {
        Ok(0)
    }

    fn launch_delayed(&self, _executable: &dyn Executable, _launch: &Launch<'_>, _delay: &Delay) -> Result<u8> {
        Ok(0)
    }

    fn call(&self, _call: &LibraryCall<'_>) -> Result<u8> {
        Ok(0)
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}
