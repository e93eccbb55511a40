//! The engines by name: what `NUMELT_ENGINE` and `numelt.config.engine` choose from.
//!
//! In: a name and the settings. Out: the host engine, and the device engine of that name if it is one. A new engine
//! is one crate and one line in [`Engines::default`]; a Rust program with an engine of its own adds it to its list by
//! [`Engines::register`]. Not here: what an engine does, and when it is used.

mod cpu;

use numelt_ir::{Error, Result};
use numelt_runtime::{Config, Engine, Host, NullEngine, listed};
use std::fmt;
use std::sync::Arc;

/// Makes an engine from the settings.
#[derive(Clone)]
enum Maker {
    /// One that computes in the host's memory.
    Host(Arc<dyn Fn(&Config) -> Result<Arc<dyn Host>> + Send + Sync>),
    /// One with memory of its own.
    Device(Arc<dyn Fn(&Config) -> Result<Arc<dyn Engine>> + Send + Sync>),
}

/// A list of engines by name. It holds the ways to make them, and none of them itself.
#[derive(Clone)]
pub struct Engines(Vec<(String, Maker)>);

/// What [`Engines::make`] gives.
#[derive(Clone)]
pub struct Made {
    /// The engine that computes in the host's memory: the one that was asked for, or the CPU engine beside a device.
    pub host: Arc<dyn Host>,
    /// The engine that was asked for, if it has memory of its own.
    pub device: Option<Arc<dyn Engine>>,
}

impl Default for Engines {
    /// The engines that come with numelt.
    fn default() -> Engines {
        let mut engines = Engines(Vec::new());
        engines.add("cpu", Maker::Host(Arc::new(|config| Ok(cpu_engine(config)))));
        engines.add("null", Maker::Host(Arc::new(|_| Ok(Arc::new(NullEngine)))));
        engines
    }
}

/// The CPU engine for these settings.
pub fn cpu_engine(config: &Config) -> Arc<dyn Host> {
    Arc::new(cpu::engine(config))
}

impl Engines {
    /// All names.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Adds an engine with memory of its own, which `maker` makes from the settings.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that is taken.
    pub fn register(
        &mut self,
        name: &str,
        maker: impl Fn(&Config) -> Result<Arc<dyn Engine>> + Send + Sync + 'static,
    ) -> Result<()> {
        self.register_maker(name, Maker::Device(Arc::new(maker)))
    }

    /// Adds an engine that computes in the host's memory, which `maker` makes from the settings.
    ///
    /// # Errors
    /// Those of [`Engines::register`].
    pub fn register_host(
        &mut self,
        name: &str,
        maker: impl Fn(&Config) -> Result<Arc<dyn Host>> + Send + Sync + 'static,
    ) -> Result<()> {
        self.register_maker(name, Maker::Host(Arc::new(maker)))
    }

    fn register_maker(&mut self, name: &str, maker: Maker) -> Result<()> {
        if self.0.iter().any(|(taken, _)| taken == name) {
            return Err(Error::Config(format!("engine: there is an engine {name:?} already")));
        }
        self.add(name, maker);
        Ok(())
    }

    fn add(&mut self, name: &str, maker: Maker) {
        self.0.push((name.into(), maker));
    }

    /// The engine of this name for these settings, with the CPU engine as host where it is a device.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that no engine has, and whatever making the engine gives.
    pub fn make(&self, name: &str, config: &Config) -> Result<Made> {
        match self.0.iter().find(|(other, _)| other == name) {
            Some((_, Maker::Host(maker))) => Ok(Made { host: maker(config)?, device: None }),
            Some((_, Maker::Device(maker))) => Ok(Made { host: cpu_engine(config), device: Some(maker(config)?) }),
            None => Err(Error::Config(format!("engine: {name:?} is not {}", listed(&self.names())))),
        }
    }
}

impl fmt::Debug for Engines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Engines").field(&self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numelt_ir::{DType, Op};

    fn config() -> Config {
        Config { threads: 3, cache_dir: Some("".into()), ..Config::default() }
    }

    #[test]
    fn the_engines_that_come_with_numelt_are_those_that_settings_allow() {
        assert_eq!(Engines::default().names(), Config::default().engines);
    }

    #[test]
    fn host_engines_have_no_device_beside_them() {
        for (name, threads, sorts) in [("cpu", 3, true), ("null", 1, false)] {
            let Made { host, device } = Engines::default().make(name, &config()).unwrap();
            assert_eq!((host.name(), host.threads(), host.sorts(DType::F64)), (name, threads, sorts));
            assert!(device.is_none() && host.truths(Op::Any, &[0, 1]).is_some() == sorts);
        }
    }

    #[test]
    fn programs_add_engines_of_their_own() {
        let mut engines = Engines::default();
        engines.register("far", |_| Ok(Arc::new(NullEngine))).unwrap();
        engines.register_host("near", |config| Err(Error::Engine(format!("{} threads", config.threads)))).unwrap();
        assert_eq!(engines.names(), ["cpu", "null", "far", "near"]);
        let Made { host, device } = engines.make("far", &config()).unwrap();
        assert_eq!((host.name(), device.unwrap().name()), ("cpu", "null"));
        let error = engines.make("near", &config()).err().unwrap().to_string();
        assert!(error.contains("3 threads"), "{error}");
        for taken in ["cpu", "null", "far", "near"] {
            let error = engines.register(taken, |_| Ok(Arc::new(NullEngine))).unwrap_err().to_string();
            assert!(error.contains(&format!("{taken:?} already")), "{error}");
        }
        let error = engines.make("gpu", &config()).err().unwrap().to_string();
        assert!(error.ends_with("engine: \"gpu\" is not cpu, null, far or near"), "{error}");
    }
}
