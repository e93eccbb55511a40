//! Code generation: machine code by LLVM, linked into the process and kept on disk.
//!
//! In: a kernel and an instruction set. Out: a callable body. Explicit vectors are generated, no IR pass runs, code
//! generation is at O1: a kernel compiles in one to three milliseconds. What is not covered is `Error::Unsupported`.
//! Not here: threads, folds, when to compile, what else can evaluate a kernel.
//!
//! - `kernels` writes the loops of kernels over the points of a [`Tile`].
//! - `functions` compiles the code of Python loops, which is in the function IR.
//! - `lower` says what each operation is, on vectors or single numbers.
//! - `builder` is the face of LLVM's instructions, `target` makes objects.
//! - `cache` keeps objects on disk under the name that `host` gives the machine, `object` and `image` link them.
//!
//! LLVM itself is loaded by the first compile that the cache on disk does not spare (crate `numelt-llvm`);
//! everything that works without it is in `cache`, `host`, `object` and `image`.
//!
//! Unsafe code: LLVM's C interface (`builder`, `target`), memory that is made executable (`image`), calls into it and
//! out of it (`kernels`, `functions`, `lower/math`), what the processor says about itself (`host`).

mod builder;
mod cache;
pub mod functions;
mod host;
mod image;
pub mod kernels;
mod lower;
mod object;
mod target;

pub use kernels::{Body, Constants, Tile};
pub use lower::calls::{ApplyLoop, ElementLoops};
pub use lower::quotient::{factor, log2_up, long_factor};

use numelt_ir::{Error, Result};
use numelt_runtime::footprint;
use numelt_runtime::store::{self, Secret, Store};
use numelt_vecmath::Isa;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

/// Bytes of a vector register.
fn register_bytes(isa: Isa) -> u32 {
    match isa {
        Isa::Avx512 => 64,
        Isa::Avx2 => 32,
        Isa::Portable => 16,
    }
}

/// What code generation is told once, before the first compile.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder in which compiled objects are kept for other processes; `None` if they are not kept.
    pub cache_dir: Option<PathBuf>,
    /// The file with the secret that tells our objects from others'; without one, no objects are kept.
    pub secret_file: Option<PathBuf>,
    /// Bytes that they may take.
    pub cache_bytes: u64,
    /// Gets the reason why the cache is not used, and the reason why nothing is compiled, each at most once.
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

/// The data that this user's numelt has stored under a key, if it is intact. A key begins with the name of its purpose.
pub fn kept(key: &[u8]) -> Option<Vec<u8>> {
    store()?.load(key)
}

/// Keeps something that costs time to make on disk, beside the objects.
pub fn keep(key: &[u8], bytes: &[u8]) {
    if let Some(store) = store()
        && let Err(error) = store.save(key, bytes)
    {
        cache_warning(&error.to_string());
    }
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

/// To be called when there is nothing to compile for a while: gives LLVM's memory back until the next compile, some 13
/// MB of them its code and constants.
pub fn rest() {
    release();
    footprint::trim();
}
