//! The engine for OpenCL devices, from the settings.

use numelt_engine_gpu::{Devices, OpenCl, Options};
use numelt_ir::Result;
use numelt_runtime::Config;

/// Its name.
pub const NAME: &str = "opencl";

/// The engine for the best device. Where nobody asked for it by its name, that is no processor: those are the host engine's, which
/// uses them better.
///
/// # Errors
/// There is no OpenCL library or no device.
pub fn engine(config: &Config) -> Result<OpenCl> {
    let automatic = config.engine == super::AUTO && !config.devices.iter().any(|device| device == NAME);
    let devices = if automatic { Devices::Accelerators } else { Devices::All };
    OpenCl::new(&Options { devices, memory: config.device_memory })
}
