//! The CPU engine from the settings.

use numelt_engine_cpu::{CpuEngine, Isa, Options, llvm};
use numelt_runtime::{Config, InstructionSet};

/// The CPU engine for these settings. Where compiled kernels are kept is decided by the first one in the process.
pub fn engine(config: &Config) -> CpuEngine {
    llvm::set_options(llvm_options(config));
    CpuEngine::new(options(config))
}

fn options(config: &Config) -> Options {
    let Config { threads, jit, variants, block, .. } = *config;
    let isa = match config.isa {
        InstructionSet::Best => None,
        InstructionSet::Avx512 => Some(Isa::Avx512),
        InstructionSet::Avx2 => Some(Isa::Avx2),
        InstructionSet::Portable => Some(Isa::Portable),
    };
    Options { threads, jit, variants, block, isa, ..Options::default() }
}

/// Where compiled kernels are kept: the set directory, none for an empty path, else the user's cache.
fn llvm_options(config: &Config) -> llvm::Options {
    let default = llvm::Options::default();
    match &config.cache_dir {
        Some(path) if path.as_os_str().is_empty() => llvm::Options { cache_dir: None, ..default },
        Some(path) => llvm::Options { cache_dir: Some(path.clone()), ..default },
        None => default,
    }
}
