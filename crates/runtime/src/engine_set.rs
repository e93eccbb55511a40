//! The engines of a runtime.

use crate::engine::Engine;
use crate::host::Host;
use crate::placement::rule::Rule;
use std::sync::Arc;

/// The engines of a runtime, and the rule that chooses one for each step.
#[derive(Clone)]
pub struct EngineSet {
    /// The engine that computes in host memory. It does what the others cannot do.
    pub host: Arc<dyn Host>,
    /// Engines with memory of their own.
    pub devices: Vec<Arc<dyn Engine>>,
    /// The rule that chooses an engine for each step.
    pub rule: Rule,
}

impl From<Arc<dyn Host>> for EngineSet {
    fn from(host: Arc<dyn Host>) -> EngineSet {
        EngineSet { host, devices: Vec::new(), rule: Rule::Host }
    }
}

impl<H: Host + 'static> From<Arc<H>> for EngineSet {
    fn from(host: Arc<H>) -> EngineSet {
        let host: Arc<dyn Host> = host;
        host.into()
    }
}
