//! Kernels as the driver compiled them.

use super::api::{Context, DeviceId, KernelObject};
use super::capabilities::Capabilities;
use crate::render::{self, Kind, Param, Variant};
use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_runtime::Executable;
use std::any::Any;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// What turns text into programs.
pub struct Compiler {
    device: DeviceId,
    options: CString,
}

impl Compiler {
    /// The compiler of a device's driver.
    pub fn new(device: DeviceId, capabilities: &Capabilities) -> Compiler {
        let rounded = if capabilities.divides { " -cl-fp32-correctly-rounded-divide-sqrt" } else { "" };
        let options = CString::new(format!("-cl-std=CL1.2{rounded}")).unwrap_or_default();
        Compiler { device, options }
    }

    /// The functions of these names in a text.
    fn compile(&self, context: &Context, text: &str, names: &[&str]) -> Result<Vec<KernelObject>> {
        let mut program = context.program(text)?;
        program.build(self.device, &self.options)?;
        let function = |name: &&str| {
            let name = CString::new(*name).map_err(|error| Error::Engine(error.to_string()))?;
            program.kernel(&name)
        };
        names.iter().map(function).collect()
    }
}

/// A text that was compiled.
pub struct Ready {
    /// Its functions, with the arguments of their next launch.
    pub functions: Vec<KernelObject>,
    /// How it is launched.
    pub kind: Kind,
    /// What its parameters stand for.
    pub params: Vec<Param>,
    /// Does it collect conditions?
    pub watches: bool,
}

/// A kernel, compiled for the variants that were launched.
pub struct Compiled {
    /// Its structure.
    pub kernel: Arc<Kernel>,
    variants: Mutex<HashMap<Variant, Ready>>,
}

impl Compiled {
    /// Compiles a kernel for the variant that most launches use.
    pub fn new(kernel: Arc<Kernel>, compiler: &Compiler, context: &Context) -> Result<Compiled> {
        let compiled = Compiled { kernel, variants: Mutex::default() };
        compiled.with(Variant { narrow: true, rolled: false }, compiler, context, |_| Ok(()))?;
        Ok(compiled)
    }

    /// Does something with a variant, which is compiled first where it is new.
    pub fn with<T>(
        &self,
        variant: Variant,
        compiler: &Compiler,
        context: &Context,
        action: impl FnOnce(&mut Ready) -> Result<T>,
    ) -> Result<T> {
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        if !variants.contains_key(&variant) {
            let source = render::render(&self.kernel, Capabilities::DIALECT, variant);
            let source = source.ok_or_else(|| Error::Unsupported("a kernel without a text in C".into()))?;
            let render::Source { text, params, watches, kind } = source;
            let functions = compiler.compile(context, &text, kind.functions())?;
            variants.insert(variant, Ready { functions, kind, params, watches });
        }
        match variants.get_mut(&variant) {
            Some(ready) => action(ready),
            None => Err(Error::Engine("opencl: a variant is missing".into())),
        }
    }
}

impl Executable for Compiled {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn tier(&self) -> &'static str {
        "opencl"
    }
}
