//! Kernels as the driver compiled them.

use super::api::{Context, DeviceId, KernelObject, Program};
use super::capabilities::Capabilities;
use crate::render::{self, Kind, Param, Variant};
use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_runtime::Executable;
use numelt_runtime::store::{Secret, Store, default_file};
use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What turns text into programs.
pub struct Compiler {
    device: DeviceId,
    /// Name of the device and version of its driver: programs are kept for it.
    name: String,
    options: CString,
    store: Option<Store>,
}

/// Bytes that programs on disk may take, with those of other engines.
const CACHE_BYTES: u64 = 256 << 20;

impl Compiler {
    /// The compiler of a device's driver, and programs that it made before.
    pub fn new(device: DeviceId, capabilities: &Capabilities, cache: Option<&Path>) -> Compiler {
        let rounded = if capabilities.divides { " -cl-fp32-correctly-rounded-divide-sqrt" } else { "" };
        let options = CString::new(format!("-cl-std=CL1.2{rounded}")).unwrap_or_default();
        // a cache that cannot be used costs time only; the host engine says why
        let secret = || Secret::open(&default_file()?).ok();
        let store = cache.and_then(|folder| Store::open(folder, secret()?, CACHE_BYTES).ok());
        Compiler { device, name: capabilities.name.clone(), options, store }
    }

    /// A program of this text, from the cache if it is there.
    fn program(&self, context: &Context, text: &str) -> Result<Program> {
        let key = [text.as_bytes(), self.name.as_bytes(), self.options.as_bytes()].join(&b"\0"[..]);
        if let Some(binary) = self.store.as_ref().and_then(|store| store.load(&key)) {
            let kept = context.program_of_binary(self.device, &binary);
            let built = kept.and_then(|mut program| program.build(self.device, &self.options).map(|()| program));
            // what the driver does not take any more is compiled anew
            if let Ok(program) = built {
                return Ok(program);
            }
        }
        let mut program = context.program(text)?;
        program.build(self.device, &self.options)?;
        if let (Some(store), Some(binary)) = (&self.store, program.binary()) {
            let _ = store.save(&key, &binary);
        }
        Ok(program)
    }

    /// The functions of these names in a text.
    fn compile(&self, context: &Context, text: &str, names: &[&str]) -> Result<Vec<KernelObject>> {
        let program = self.program(context, text)?;
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
        match variants.entry(variant) {
            Entry::Occupied(mut known) => action(known.get_mut()),
            Entry::Vacant(place) => action(place.insert(self.ready(variant, compiler, context)?)),
        }
    }

    fn ready(&self, variant: Variant, compiler: &Compiler, context: &Context) -> Result<Ready> {
        let source = render::render(&self.kernel, Capabilities::DIALECT, variant);
        let source = source.ok_or_else(|| Error::Unsupported("a kernel without a text in C".into()))?;
        let render::Source { text, params, watches, kind } = source;
        let functions = compiler.compile(context, &text, kind.functions())?;
        Ok(Ready { functions, kind, params, watches })
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
