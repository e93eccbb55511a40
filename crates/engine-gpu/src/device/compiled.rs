//! Kernels that the driver has compiled.

use super::{Code, Driver};
use crate::render::{self, Kind, Param, Variant};
use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_runtime::Executable;
use numelt_runtime::store::{Secret, Store, default_file};
use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::{Arc, Mutex, Once, PoisonError};

/// Compiles texts to programs.
pub struct Compiler<D> {
    /// The device's driver.
    pub driver: D,
    store: Option<Store>,
}

/// The bytes of programs on disk, including those of other engines.
const CACHE_BYTES: u64 = 256 << 20;

impl<D: Driver> Compiler<D> {
    /// A driver's compiler, and the programs that it has compiled before.
    pub fn new(driver: D, cache: Option<&Path>) -> Compiler<D> {
        // a cache that cannot be used costs only time; the host engine reports why
        let secret = || Secret::open(&default_file()?).ok();
        let store = cache.and_then(|folder| Store::open(folder, secret()?, CACHE_BYTES).ok());
        Compiler { driver, store }
    }

    /// A program of this text, from the cache if it is there.
    fn program(&self, text: &str) -> Result<D::Program> {
        let key = [text, self.driver.identity()].join("\0").into_bytes();
        if let Some(binary) = self.store.as_ref().and_then(|store| store.load(&key)) {
            // a program that the driver does not accept any more is compiled again
            if let Ok(program) = self.driver.program(Code::Binary(&binary)) {
                return Ok(program);
            }
        }
        let program = self.driver.program(Code::Text(text)).inspect_err(|why| refused::<D>(why))?;
        if let (Some(store), Some(binary)) = (&self.store, self.driver.binary(&program)) {
            let _ = store.save(&key, &binary);
        }
        Ok(program)
    }

    /// The functions of these names in a text.
    pub fn compile(&self, text: &str, names: &[&str]) -> Result<Vec<D::Function>> {
        let program = self.program(text)?;
        names.iter().map(|name| self.driver.function(&program, name)).collect()
    }
}

/// Reports why a compiler refused a text, the first time that one does. The host then does the work.
fn refused<D: Driver>(why: &Error) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| eprintln!("numelt: kernels that {} does not compile run on the host: {why}", D::NAME));
}

/// A text that was compiled.
pub struct Ready<F> {
    /// Its functions.
    pub functions: Vec<F>,
    /// How it is launched.
    pub kind: Kind,
    /// What its parameters stand for.
    pub params: Vec<Param>,
    /// Whether it collects conditions.
    pub watches: bool,
}

/// A kernel, compiled for the variants that have been launched.
pub struct Compiled<D: Driver> {
    /// Its structure.
    pub kernel: Arc<Kernel>,
    /// `None` for a variant that the compiler has refused.
    variants: Mutex<HashMap<Variant, Option<Ready<D::Function>>>>,
}

impl<D: Driver> Compiled<D> {
    /// A kernel of which no variant has been launched yet.
    pub fn new(kernel: Arc<Kernel>) -> Compiled<D> {
        Compiled { kernel, variants: Mutex::default() }
    }

    /// Passes a variant to `action`, and compiles it first if it is new.
    pub fn with<T>(
        &self,
        variant: Variant,
        compiler: &Compiler<D>,
        action: impl FnOnce(&mut Ready<D::Function>) -> Result<T>,
    ) -> Result<T> {
        let mut variants = self.variants.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = match variants.entry(variant) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => match self.ready(variant, compiler) {
                Ok(ready) => place.insert(Some(ready)),
                Err(why) => {
                    place.insert(None);
                    return Err(why);
                }
            },
        };
        match ready {
            Some(ready) => action(ready),
            None => Err(Error::Unsupported("a kernel that the compiler has refused".into())),
        }
    }

    fn ready(&self, variant: Variant, compiler: &Compiler<D>) -> Result<Ready<D::Function>> {
        let source = render::render(&self.kernel, D::DIALECT, variant);
        let source = source.ok_or_else(|| Error::Unsupported("a kernel without a text in C".into()))?;
        let render::Source { text, params, watches, kind } = source;
        let functions = compiler.compile(&text, kind.functions())?;
        Ok(Ready { functions, kind, params, watches })
    }
}

impl<D: Driver> Executable for Compiled<D> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn tier(&self) -> &'static str {
        D::NAME
    }
}
