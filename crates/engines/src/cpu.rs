//! Makes the CPU engine from the settings.

use numelt_engine_cpu::{CpuEngine, Isa, Options, llvm};
use numelt_runtime::{Config, InstructionSet};

/// The CPU engine for these settings. The first engine of the process decides where compiled kernels are stored.
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

/// Where compiled kernels are stored: in the directory of the settings; nowhere if that is an empty path; by default in
/// the user's cache directory.
fn llvm_options(config: &Config) -> llvm::Options {
    let default = llvm::Options::default();
    match &config.cache_dir {
        Some(path) if path.as_os_str().is_empty() => llvm::Options { cache_dir: None, ..default },
        Some(path) => llvm::Options { cache_dir: Some(path.clone()), ..default },
        None => default,
    }
}
