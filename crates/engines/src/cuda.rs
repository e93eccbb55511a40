//! Makes the engine for NVIDIA's devices from the settings.

use numelt_engine_gpu::{Cuda, Devices, Options};
use numelt_ir::Result;
use numelt_runtime::Config;

/// Its name.
pub const NAME: &str = "cuda";

/// The engine for the CUDA device with this number.
///
/// # Errors
/// If there is no driver, no such device or no compiler.
pub fn engine(config: &Config, number: usize) -> Result<Cuda> {
    let cache_dir = super::opencl::cache_folder(config);
    let (memory, exact_products) = (config.device_memory, config.exact_products);
    Cuda::new(&Options { devices: Devices::Accelerators, number, memory, cache_dir, exact_products })
}
