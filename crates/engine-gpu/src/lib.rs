//! Engines for graphics cards and other accelerators.
//!
//! In: kernels and work, as every engine gets them. Out: values in a device's memory. [`render`] turns a kernel into C,
//! with the same text for CUDA and OpenCL. [`Device`] compiles it with the device's driver, and runs it. A driver's
//! library is loaded when a device is first asked for. Not here: when work runs on a device, and what happens if it
//! cannot, which the runtime decides.
//!
//! Unsafe code: the libraries' functions (`library.rs`, `cuda/api.rs`, `cuda/cublas.rs`, `cuda/nvrtc.rs`,
//! `cuda/toolkit.rs`, `opencl/api.rs`, `opencl/clblast.rs`), signal handlers (`opencl/signals.rs`), and launches, which
//! `device/launch.rs`, `device/calls.rs` and `device/products.rs` hand to a driver (`device/driver.rs`, `cuda/mod.rs`,
//! `opencl/mod.rs`).

mod cuda;
mod device;
mod library;
mod opencl;
pub mod render;

pub use device::{Device, Devices, Driver, Options};

/// The engine for OpenCL devices.
pub type OpenCl = Device<opencl::OpenClDriver>;

/// The engine for NVIDIA's devices.
pub type Cuda = Device<cuda::CudaDriver>;
