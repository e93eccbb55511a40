//! The engines by name: what `NUMELT_ENGINE` and `numelt.config.engine` choose from.
//!
//! In: a name and the settings. Out: the engine of that name, and the host engine beside it, which does what only
//! an engine on the host can (see [`Host`]). A new engine is one crate and one line in [`Engines::default`]; a Rust program
//! with an engine of its own adds it to its list by [`Engines::register`]. Not here: what an engine does, and when it is used.

mod cpu;

use numelt_ir::{Error, Result};
use numelt_runtime::{Config, Engine, Host, NullEngine, listed};
use std::fmt;
use std::sync::Arc;

/// The name of the host engine.
const HOST: &str = "cpu";

/// Makes an engine from the settings.
type Maker = Arc<dyn Fn(&Config) -> Result<Arc<dyn Engine>> + Send + Sync>;

/// A list of engines by name. It holds the ways to make them, and none of them itself.
#[derive(Clone)]
pub struct Engines {
    /// All but the host engine, which is always there.
    others: Vec<(String, Maker)>,
}

/// What [`Engines::make`] gives.
#[derive(Clone)]
pub struct Made {
    /// The engine of the name that was asked for.
    pub engine: Arc<dyn Engine>,
    /// The host engine; the same as `engine` where the host engine was asked for.
    pub host: Arc<dyn Host>,
}

impl Default for Engines {
    /// The engines that come with numelt.
    fn default() -> Engines {
        let built_in: [(&str, Maker); 1] = [("null", Arc::new(|_| Ok(Arc::new(NullEngine))))];
        Engines { others: built_in.map(|(name, maker)| (name.into(), maker)).into() }
    }
}

impl Engines {
    /// All names, the host engine's first.
    pub fn names(&self) -> Vec<String> {
        let others = self.others.iter().map(|(name, _)| name.clone());
        std::iter::once(HOST.into()).chain(others).collect()
    }

    /// Adds an engine, which `maker` makes from the settings.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that is taken.
    pub fn register(
        &mut self,
        name: &str,
        maker: impl Fn(&Config) -> Result<Arc<dyn Engine>> + Send + Sync + 'static,
    ) -> Result<()> {
        if self.names().iter().any(|taken| taken == name) {
            return Err(Error::Config(format!("engine: there is an engine {name:?} already")));
        }
        self.others.push((name.into(), Arc::new(maker)));
        Ok(())
    }

    /// The host engine for these settings.
    pub fn host(&self, config: &Config) -> Arc<dyn Host> {
        Arc::new(cpu::engine(config))
    }

    /// The engine of this name and the host engine, for these settings.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that no engine has, and whatever making the engine gives.
    pub fn make(&self, name: &str, config: &Config) -> Result<Made> {
        let host = self.host(config);
        if name == HOST {
            return Ok(Made { engine: host.clone(), host });
        }
        match self.others.iter().find(|(other, _)| other == name) {
            Some((_, maker)) => Ok(Made { engine: maker(config)?, host }),
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
    fn every_engine_has_the_host_engine_beside_it() {
        let engines = Engines::default();
        for name in engines.names() {
            let Made { engine, host } = engines.make(&name, &config()).unwrap();
            assert_eq!((engine.name(), host.name(), host.threads()), (name.as_str(), "cpu", 3));
            assert!(host.sorts(DType::F64) && host.truths(Op::Any, &[0, 1]).is_some());
        }
    }

    #[test]
    fn the_host_engine_is_made_once() {
        let Made { engine, host } = Engines::default().make("cpu", &config()).unwrap();
        let host: Arc<dyn Engine> = host;
        assert!(Arc::ptr_eq(&engine, &host));
    }

    #[test]
    fn programs_add_engines_of_their_own() {
        let mut engines = Engines::default();
        engines.register("own", |config| Err(Error::Engine(format!("{} threads", config.threads)))).unwrap();
        assert_eq!(engines.names(), ["cpu", "null", "own"]);
        let error = engines.make("own", &config()).err().unwrap().to_string();
        assert!(error.contains("3 threads"), "{error}");
        for taken in ["cpu", "null", "own"] {
            let error = engines.register(taken, |_| Ok(Arc::new(NullEngine))).unwrap_err().to_string();
            assert!(error.contains(&format!("{taken:?} already")), "{error}");
        }
        let error = engines.make("gpu", &config()).err().unwrap().to_string();
        assert!(error.ends_with("engine: \"gpu\" is not cpu, null or own"), "{error}");
    }
}
