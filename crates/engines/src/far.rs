//! Makes the test device `far` from the settings.

use numelt_ir::{Error, Result};
use numelt_runtime::{Config, Engine, Host};
use numelt_testing::far::{Far, FarOptions};
use std::sync::Arc;

/// The names of the devices, of which there are as many as names.
const NAMES: [&str; 3] = ["far", "far:1", "far:2"];

/// A device that computes the same as the host engine, but in memory that the host cannot read.
///
/// # Errors
/// If there is no device with this number.
pub fn engine(config: &Config, host: &Arc<dyn Host>, number: usize) -> Result<Far> {
    let name = NAMES.get(number).ok_or_else(|| Error::Engine(format!("far: there is no device {number}")))?;
    let inner: Arc<dyn Engine> = Arc::clone(host) as Arc<dyn Engine>;
    Ok(Far::new(inner, FarOptions { name, memory: config.device_memory, ..FarOptions::default() }))
}
