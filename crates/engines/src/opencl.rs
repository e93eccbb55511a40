//! Makes the engine for OpenCL devices from the settings.

use numelt_engine_gpu::{Devices, OpenCl, Options};
use numelt_ir::Result;
use numelt_runtime::{Config, trusted};
use std::path::PathBuf;

/// Its name.
pub const NAME: &str = "opencl";

/// The engine for the best device, or for another one by its number, the best ones first. Unless the settings name
/// OpenCL, that is never a processor, which the host engine uses better.
///
/// # Errors
/// If there is no OpenCL library or no such device.
pub fn engine(config: &Config, number: usize) -> Result<OpenCl> {
    let devices = if config.engine == super::AUTO { Devices::Accelerators } else { Devices::All };
    let (memory, exact_products) = (config.device_memory, config.exact_products);
    OpenCl::new(&Options { devices, number, memory, cache_dir: cache_folder(config), exact_products })
}

/// Where programs are stored: in the directory of the settings; nowhere if that is an empty path; by default in the
/// user's cache directory.
pub fn cache_folder(config: &Config) -> Option<PathBuf> {
    match &config.cache_dir {
        Some(path) if path.as_os_str().is_empty() => None,
        Some(path) => Some(path.clone()),
        None => trusted::cache_folder(),
    }
}
