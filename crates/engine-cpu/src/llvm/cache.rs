//! Keys of compiled objects on disk.
//!
//! In: a kernel, and what it is compiled for. Out: everything that its object depends on. Not here: files
//! ([`numelt_runtime::store`]).

use super::Constants;
use numelt_ir::{DType, Op};
use numelt_opt::Kernel;
use numelt_runtime::store::{FNV_OFFSET, fnv};
use std::hash::{Hash, Hasher};

/// Changes whenever a file that decides about generated code does.
const SOURCES: u64 = fingerprint(&[
    include_bytes!("analyze.rs"),
    include_bytes!("arith.rs"),
    include_bytes!("builder.rs"),
    include_bytes!("calls.rs"),
    include_bytes!("cast.rs"),
    include_bytes!("compare.rs"),
    include_bytes!("complex.rs"),
    include_bytes!("divmod.rs"),
    include_bytes!("exponential.rs"),
    include_bytes!("half.rs"),
    include_bytes!("loops.rs"),
    include_bytes!("loops/flat.rs"),
    include_bytes!("loops/gather.rs"),
    include_bytes!("lower.rs"),
    include_bytes!("math.rs"),
    include_bytes!("memory.rs"),
    include_bytes!("mod.rs"),
    include_bytes!("power.rs"),
    include_bytes!("quotient.rs"),
    include_bytes!("target.rs"),
    include_bytes!("unroll.rs"),
    include_bytes!("../body.rs"),
    include_bytes!("../../../vecmath/src/coeffs.rs"),
    numelt_llvm::START,
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

/// Everything that a kernel's object depends on. `host` is [`super::host::name`].
pub(super) fn key(kernel: &Kernel, constants: Option<&Constants>, host: &str) -> Vec<u8> {
    let mut key = Recorder::default();
    (env!("CARGO_PKG_VERSION"), SOURCES, tables(), cfg!(debug_assertions), host).hash(&mut key);
    kernel.hash(&mut key);
    constants.hash(&mut key);
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
