//! Engines for graphics cards and other accelerators.
//!
//! In: kernels and work, as every engine gets them. Out: values in a device's memory. [`render`] turns a kernel into C, in one
//! text for CUDA and for OpenCL; [`OpenCl`] compiles it with the device's driver, and runs it. The OpenCL library is loaded when a
//! device is first asked for. Not here: when work runs on a device, and what happens where it cannot: that is the runtime's.
//!
//! Unsafe code: the library's functions (`opencl/api.rs`), and one launch (`opencl/launch.rs`).

mod opencl;
pub mod render;

pub use opencl::{Devices, OpenCl, Options};
