//! Tier 1: kernels compiled by LLVM.
//!
//! In: a [`Kernel`] and an instruction set. Out: a [`Body`] of machine code. Explicit vectors are
//! generated, no IR pass runs, code generation is at O1: a kernel compiles in one to three
//! milliseconds. What is not covered (`Error::Unsupported`) stays on tier 0.
//! Not here: threads, folds, when to compile.
//!
//! `analyze` decides the loops' shape (`unroll` how many vectors a turn takes), `loops` writes them, `memory` moves operands, `lower` and the
//! files beside it say what each operation is, `target` makes objects, `cache` keeps them on disk under
//! the name that `host` gives the machine, `object` and `image` link them.
//!
//! LLVM itself is loaded by the first compile that the cache on disk does not spare (crate `numelt-llvm`);
//! everything that works without it is in `cache`, `host`, `object` and `image`.

mod analyze;
mod arith;
mod builder;
mod cache;
mod calls;
mod cast;
mod compare;
mod complex;
mod divmod;
mod exponential;
mod half;
mod host;
mod image;
mod loops;
mod lower;
mod math;
mod memory;
mod object;
mod power;
mod quotient;
mod target;
mod unroll;

use crate::body::{Body, Tile};
pub use loops::Constants;

use analyze::Shape;
use numelt_ir::{Error, Result};
use numelt_opt::Kernel;
use numelt_runtime::footprint;
use numelt_runtime::store::{self, Secret, Store};
use numelt_vecmath::Isa;
use std::path::PathBuf;
use std::sync::{Arc, Once, OnceLock};

/// Bytes of a vector register.
fn register_bytes(isa: Isa) -> u32 {
    match isa {
        Isa::Avx512 => 64,
        Isa::Avx2 => 32,
        Isa::Portable => 16,
    }
}

/// What the tier is told once, before the first compile.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where compiled objects are kept between processes; `None` keeps none.
    pub cache_dir: Option<PathBuf>,
    /// The file with the secret that tells our objects from others'; without one, no objects are kept.
    pub secret_file: Option<PathBuf>,
    /// Bytes that they may take.
    pub cache_bytes: u64,
    /// Told, once each, why the cache is not used and why nothing is compiled.
    pub warn: fn(&str),
}

impl Default for Options {
    /// The directory of `NUMELT_CACHE_DIR`, `$XDG_CACHE_HOME/numelt` or `~/.cache/numelt`, 256 MiB.
    fn default() -> Options {
        Options {
            cache_dir: numelt_runtime::trusted::cache_folder(),
            secret_file: store::default_file(),
            cache_bytes: 256 << 20,
            warn: |text| eprintln!("numelt: {text}"),
        }
    }
}

static OPTIONS: OnceLock<Options> = OnceLock::new();

/// Sets the options; the first call wins, and without one there is no cache on disk.
pub fn set_options(options: Options) {
    let _ = OPTIONS.set(options);
}

/// The store on disk, opened at first use.
fn store() -> Option<&'static Store> {
    static STORE: OnceLock<Option<Store>> = OnceLock::new();
    let options = OPTIONS.get()?;
    STORE.get_or_init(|| open_store(options).inspect_err(|why| cache_warning(why)).ok().flatten()).as_ref()
}

/// The store of these options, if any; the error is in words.
fn open_store(options: &Options) -> std::result::Result<Option<Store>, String> {
    let Some(directory) = &options.cache_dir else { return Ok(None) };
    let no_home = "there is no home folder for the key that they are signed with (HOME, XDG_STATE_HOME)";
    let file = options.secret_file.as_ref().ok_or(no_home)?;
    let secret = Secret::open(file).map_err(|error| format!("cannot use {}: {error}", file.display()))?;
    let store = Store::open(directory, secret, options.cache_bytes);
    store.map(Some).map_err(|error| format!("cannot use {}: {error}", directory.display()))
}

fn cache_warning(why: &str) {
    static ONCE: Once = Once::new();
    warn(&ONCE, &format!("compiled kernels are not kept on disk: {why}"));
}

fn warn(once: &Once, text: &str) {
    if let Some(options) = OPTIONS.get() {
        once.call_once(|| (options.warn)(text));
    }
}

/// Loads LLVM; from here on its functions may be called.
fn load() -> Result<()> {
    static ONCE: Once = Once::new();
    numelt_llvm::load().map_err(|why| {
        warn(&ONCE, &format!("kernels are not compiled, programs run slower: {why}"));
        Error::Unsupported(format!("compiling without LLVM: {why}"))
    })?;
    // what only loading has read
    static LOADED: Once = Once::new();
    LOADED.call_once(release);
    Ok(())
}

/// Gives LLVM's code and constants back, as far as they are in memory.
fn release() {
    static LIBRARY: OnceLock<footprint::Pages> = OnceLock::new();
    if let Some(address) = numelt_llvm::address() {
        LIBRARY.get_or_init(|| footprint::Pages::around(address)).release();
    }
}

/// The name of the function in every module and object.
const SYMBOL: &str = "kernel";

/// To be called when there is nothing to compile for a while: gives LLVM's memory back until the next compile, some 13 MB of
/// them its code and constants.
pub fn rest() {
    release();
    footprint::trim();
}

/// A compiled kernel.
struct Compiled {
    /// # Safety
    /// The tile's pointers and extents are those that the kernel was compiled for.
    function: unsafe extern "C" fn(*const Tile),
    _code: image::Code,
}

impl Body for Compiled {
    // SAFETY: the contract is the trait's.
    unsafe fn run(&self, tile: &Tile) {
        // SAFETY: the function was generated for this kernel's tiles; the caller vouches for the memory.
        unsafe { (self.function)(tile) }
    }
}

/// Compiles a kernel for an instruction set that this host has, or fetches its code from the cache on disk.
///
/// # Errors
/// `Error::Unsupported` for what is not covered; the kernel then stays on tier 0.
pub fn compile(kernel: &Kernel, isa: Isa) -> Result<Arc<dyn Body>> {
    compile_kept(kernel, None, isa)
}

/// The same for tiles of one geometry, and for no others.
///
/// # Errors
/// As [`compile`].
pub fn compile_fixed(kernel: &Kernel, constants: &Constants, isa: Isa) -> Result<Arc<dyn Body>> {
    compile_kept(kernel, Some(constants), isa)
}

fn compile_kept(kernel: &Kernel, constants: Option<&Constants>, isa: Isa) -> Result<Arc<dyn Body>> {
    if !target::runs_here(isa) {
        return Err(Error::Unsupported(format!("{isa:?} code on this processor")));
    }
    let kept = store().map(|store| (store, cache::key(kernel, constants, &host::name(isa))));
    if let Some((store, key)) = &kept
        && let Some(object) = store.load(key)
        && let Ok(body) = link(isa, &object)
    {
        return Ok(body);
    }
    let object = object(kernel, constants, isa, isa)?;
    if let Some((store, key)) = &kept
        && let Err(error) = store.save(key, &object)
    {
        cache_warning(&error.to_string());
    }
    link(isa, &object)
}

/// Compiles for `isa` with the lanes and tails that `shape` would have: how tests run the masked
/// code of wider instruction sets on machines that lack them.
#[doc(hidden)]
pub fn compile_in_shape_of(kernel: &Kernel, shape: Isa, isa: Isa) -> Result<Arc<dyn Body>> {
    link(isa, &object(kernel, None, shape, isa)?)
}

/// [`compile_fixed`] with the lanes that `shape` would have, as [`compile_in_shape_of`].
#[doc(hidden)]
pub fn compile_fixed_in_shape_of(
    kernel: &Kernel,
    constants: &Constants,
    shape: Isa,
    isa: Isa,
) -> Result<Arc<dyn Body>> {
    link(isa, &object(kernel, Some(constants), shape, isa)?)
}

fn object(kernel: &Kernel, constants: Option<&Constants>, shape: Isa, isa: Isa) -> Result<Vec<u8>> {
    load()?;
    target::with_target(isa, |target| target.object(module(kernel, constants, shape, isa, target)?))
}

fn link(isa: Isa, object: &[u8]) -> Result<Arc<dyn Body>> {
    let code = image::link(object, SYMBOL, |name| math::MathTable::of(isa).address(name))?;
    // SAFETY: `loops::generate` made the symbol a C function of one pointer without result.
    let function = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*const Tile)>(code.address()) };
    Ok(Arc::new(Compiled { function, _code: code }))
}

/// The kernel's IR, for reading.
pub fn ir_text(kernel: &Kernel, isa: Isa) -> Result<String> {
    load()?;
    target::with_target(isa, |target| Ok(module(kernel, None, isa, isa, target)?.text()))
}

/// The kernel's machine code as assembly text, for reading; also for instruction sets the host lacks.
pub fn assembly_text(kernel: &Kernel, isa: Isa) -> Result<String> {
    load()?;
    target::with_target(isa, |target| target.assembly(module(kernel, None, isa, isa, target)?))
}

fn module(
    kernel: &Kernel,
    constants: Option<&Constants>,
    shape: Isa,
    isa: Isa,
    target: &target::CodeGenerator,
) -> Result<builder::Builder> {
    let shape = Shape::of(kernel, shape)?;
    let b = target.builder();
    let bits = 8 * register_bytes(isa);
    loops::generate(kernel, constants, &shape, &b, math::MathTable::of(isa), SYMBOL, bits)?;
    if cfg!(debug_assertions) {
        b.verify().map_err(|text| Error::Engine(format!("generated code is malformed: {text}")))?;
    }
    Ok(b)
}
