//! Compiled objects on disk.
//!
//! In: a kernel, and what it is compiled for. Out: everything that its object depends on, the key; and the object, if it is
//! there. Not here: files ([`numelt_runtime::store`]).

use crate::{Constants, cache_warning, store};
use numelt_func::Function;
use numelt_ir::{DType, Op, Result};
use numelt_opt::Kernel;
use numelt_runtime::store::{FNV_OFFSET, fnv};
use std::hash::{Hash, Hasher};

/// Changes whenever a file that decides about generated code does.
const SOURCES: u64 = fingerprint(&[
    include_bytes!("kernels/analyze.rs"),
    include_bytes!("lower/arith.rs"),
    include_bytes!("builder.rs"),
    include_bytes!("lower/calls.rs"),
    include_bytes!("lower/cast.rs"),
    include_bytes!("lower/compare.rs"),
    include_bytes!("lower/complex.rs"),
    include_bytes!("lower/divmod.rs"),
    include_bytes!("lower/exponential.rs"),
    include_bytes!("lower/half.rs"),
    include_bytes!("kernels/loops.rs"),
    include_bytes!("kernels/loops/flat.rs"),
    include_bytes!("kernels/loops/gather.rs"),
    include_bytes!("lower.rs"),
    include_bytes!("lower/math.rs"),
    include_bytes!("lower/memory.rs"),
    include_bytes!("kernels/mod.rs"),
    include_bytes!("lower/power.rs"),
    include_bytes!("lower/quotient.rs"),
    include_bytes!("target.rs"),
    include_bytes!("functions/mod.rs"),
    include_bytes!("functions/emit.rs"),
    include_bytes!("functions/library.rs"),
    include_bytes!("kernels/unroll.rs"),
    include_bytes!("kernels/tile.rs"),
    include_bytes!("../../vecmath/src/coeffs.rs"),
    numelt_llvm::START,
    numelt_llvm::PASSES,
]);

const fn fingerprint(files: &[&[u8]]) -> u64 {
    let (mut state, mut i) = (FNV_OFFSET, 0);
    while i < files.len() {
        state = fnv(files[i], state);
        i += 1;
    }
    state
}

/// Collects what a value feeds into its hash: an encoding of its structure.
#[derive(Default)]
struct Recorder(Vec<u8>);

impl Hasher for Recorder {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        fnv(&self.0, FNV_OFFSET)
    }
}

/// What an object becomes by `link`: the one kept under the key, or else the one that `compile` makes.
pub(crate) fn compiled<T>(
    key: impl FnOnce() -> Vec<u8>,
    link: impl Fn(&[u8]) -> Result<T>,
    compile: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<T> {
    let kept = store().map(|store| (store, key()));
    if let Some((store, key)) = &kept
        && let Some(object) = store.load(key)
        && let Ok(linked) = link(&object)
    {
        return Ok(linked);
    }
    let object = compile()?;
    if let Some((store, key)) = &kept
        && let Err(error) = store.save(key, &object)
    {
        cache_warning(&error.to_string());
    }
    link(&object)
}

/// Everything that a kernel's object depends on. `host` is [`crate::host::name`].
pub(crate) fn key(kernel: &Kernel, constants: Option<&Constants>, host: &str) -> Vec<u8> {
    let mut key = Recorder::default();
    (env!("CARGO_PKG_VERSION"), SOURCES, tables(), cfg!(debug_assertions), host).hash(&mut key);
    kernel.hash(&mut key);
    constants.hash(&mut key);
    key.0
}

/// Everything that a function's object depends on, likewise.
pub(crate) fn function_key(function: &Function, what: impl Hash, host: &str) -> Vec<u8> {
    let mut key = Recorder::default();
    ("function", env!("CARGO_PKG_VERSION"), SOURCES, tables(), cfg!(debug_assertions), host).hash(&mut key);
    function.hash(&mut key);
    what.hash(&mut key);
    key.0
}

/// The numbers of operations and dtypes: kernels are hashed by them, and they move when a row is added.
fn tables() -> u64 {
    static TABLES: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *TABLES.get_or_init(|| {
        let names = Op::ALL.iter().map(|op| op.name()).chain(DType::ALL.iter().map(|dtype| dtype.name()));
        names.fold(FNV_OFFSET, |state, name| fnv(&[name.as_bytes(), b"\0"].concat(), state))
    })
}
