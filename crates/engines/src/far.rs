//! Makes the test device `far` from the settings.

use numelt_runtime::{Config, Engine, Host};
use numelt_testing::far::{Far, FarOptions};
use std::sync::Arc;

/// A device that computes the same as the host engine, but in memory that the host cannot read.
pub fn engine(config: &Config, host: &Arc<dyn Host>) -> Far {
    let inner: Arc<dyn Engine> = Arc::clone(host) as Arc<dyn Engine>;
    Far::new(inner, FarOptions { memory: config.device_memory, ..FarOptions::default() })
}
