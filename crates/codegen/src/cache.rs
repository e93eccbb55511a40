//! Compiled objects on disk.
//!
//! In: a kernel, and what it is compiled for. Out: everything that its object depends on, the key; and the object, if
//! it is there. Not here: files ([`numelt_runtime::store`]).

use crate::{Constants, cache_warning, store};
use numelt_func::Function;
use numelt_ir::{DType, Op, Result};
use numelt_opt::Kernel;
use numelt_runtime::store::{FNV_OFFSET, Store, fnv};
use std::hash::{Hash, Hasher};

/// Defines [`SOURCES`] from the names of files.
macro_rules! sources {
    ($($file:literal),* $(,)?) => {
        /// Changes whenever a file that decides about generated code does.
        const SOURCES: u64 = fingerprint(&[$(include_bytes!($file)),*, numelt_llvm::START, numelt_llvm::PASSES]);
        #[cfg(test)]
        const FILES: &[&str] = &[$($file),*];
    };
}

sources![
    "builder.rs",
    "builder/constants.rs",
    "functions/ahead.rs",
    "functions/covering.rs",
    "functions/emit.rs",
    "functions/library.rs",
    "functions/mod.rs",
    "functions/select.rs",
    "functions/squares.rs",
    "kernels/analyze.rs",
    "kernels/depth.rs",
    "kernels/loops.rs",
    "kernels/loops/flat.rs",
    "kernels/loops/gather.rs",
    "kernels/mod.rs",
    "kernels/tile.rs",
    "kernels/unroll.rs",
    "lower.rs",
    "lower/arith.rs",
    "lower/calls.rs",
    "lower/cast.rs",
    "lower/compare.rs",
    "lower/complex.rs",
    "lower/divmod.rs",
    "lower/exponential.rs",
    "lower/half.rs",
    "lower/math.rs",
    "lower/memory.rs",
    "lower/power.rs",
    "lower/quotient.rs",
    "target.rs",
    "../../vecmath/src/coeffs.rs",
];

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

/// Links the object that is stored under the key, or else the one that `compile` makes, and returns the result of
/// `link`.
pub(crate) fn compiled<T>(
    key: impl FnOnce() -> Vec<u8>,
    link: impl Fn(&[u8]) -> Result<T>,
    compile: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<T> {
    let kept = store().map(|store| (store, key()));
    if let Some(linked) = kept.as_ref().and_then(|(store, key)| loaded(store, key, &link)) {
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

/// What the object that is kept under the key becomes by `link`, if there is one.
pub(crate) fn kept<T>(key: impl FnOnce() -> Vec<u8>, link: impl Fn(&[u8]) -> Result<T>) -> Option<T> {
    loaded(store()?, &key(), &link)
}

fn loaded<T>(store: &Store, key: &[u8], link: &impl Fn(&[u8]) -> Result<T>) -> Option<T> {
    link(&store.load(key)?).ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The files of this crate that do not influence the generated code.
    const OTHERS: [&str; 6] = ["cache.rs", "functions/undo.rs", "host.rs", "image.rs", "lib.rs", "object.rs"];

    fn collect(folder: &Path, root: &Path, files: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, files);
            } else {
                files.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    /// Otherwise an object that an earlier version of numelt has left on disk would be taken for this version's.
    #[test]
    fn every_file_that_generates_code_is_part_of_the_keys() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        collect(&root, &root, &mut files);
        let forgotten: Vec<_> = files.iter().map(String::as_str).filter(|file| !FILES.contains(file)).collect();
        assert!(forgotten.iter().all(|file| OTHERS.contains(file)), "{forgotten:?}");
    }
}
