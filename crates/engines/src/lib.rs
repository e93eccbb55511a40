//! The engines by name: what `NUMELT_ENGINE` and `numelt.config.engine` choose from.
//!
//! In: a name and the settings. Out: the engine of that name, and the host engine beside it, which does the work that
//! only an engine on the host can do (see [`Host`]). A new engine is one crate and one line in [`Engines::default`]. A
//! Rust program that has an engine of its own adds it to its list by [`Engines::register`]. Not here: what an engine
//! does, and when it is used.

mod cpu;
mod cuda;
#[cfg(feature = "far")]
mod far;
mod opencl;

use numelt_ir::{Error, Result};
use numelt_runtime::{Config, Engine, EngineSet, Host, NullEngine, Rule, listed};
use std::fmt;
use std::sync::Arc;

/// The name of the host engine.
const HOST: &str = "cpu";

/// The name for all engines together: each step of a plan runs on the one that takes the least time for it.
const AUTO: &str = "auto";

/// A function that makes an engine from the settings, and from the host engine.
#[derive(Clone)]
enum Maker {
    /// It makes an engine that replaces the host engine.
    Host(fn(&Config) -> Result<Arc<dyn Host>>),
    /// It makes an engine with memory of its own.
    Device(Arc<DeviceMaker>),
}

/// The last argument is the number of the device, for engines that there may be several of.
type DeviceMaker = dyn Fn(&Config, &Arc<dyn Host>, usize) -> Result<Arc<dyn Engine>> + Send + Sync;

/// A list of engines by name. It holds functions that make engines, not the engines themselves.
#[derive(Clone)]
pub struct Engines {
    all: Vec<(String, Maker)>,
}

impl Default for Engines {
    /// The engines that come with numelt.
    fn default() -> Engines {
        let built_in = [
            (HOST, Maker::Host(|config| Ok(Arc::new(cpu::engine(config))))),
            ("null", Maker::Host(|_| Ok(Arc::new(NullEngine)))),
            (cuda::NAME, Maker::Device(Arc::new(|config, _, number| Ok(Arc::new(cuda::engine(config, number)?))))),
            (opencl::NAME, Maker::Device(Arc::new(|config, _, number| Ok(Arc::new(opencl::engine(config, number)?))))),
            #[cfg(feature = "far")]
            ("far", Maker::Device(Arc::new(|config, host, number| Ok(Arc::new(far::engine(config, host, number)?))))),
        ];
        Engines { all: built_in.into_iter().map(|(name, maker)| (name.into(), maker)).collect() }
    }
}

impl Engines {
    /// All names, the host engine's first.
    pub fn names(&self) -> Vec<String> {
        let own = self.all.iter().map(|(name, _)| name.clone());
        own.chain([AUTO.into()]).collect()
    }

    /// Adds an engine with memory of its own, which `maker` makes from the settings and the host engine.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that is in use already.
    pub fn register(
        &mut self,
        name: &str,
        maker: impl Fn(&Config, &Arc<dyn Host>) -> Result<Arc<dyn Engine>> + Send + Sync + 'static,
    ) -> Result<()> {
        if self.names().iter().any(|taken| taken == name) {
            return Err(Error::Config(format!("engine: there is an engine {name:?} already")));
        }
        let only = format!("{name}: there is one such device");
        let maker = move |config: &Config, host: &Arc<dyn Host>, number| match number {
            0 => maker(config, host),
            _ => Err(Error::Engine(only.clone())),
        };
        self.all.push((name.into(), Maker::Device(Arc::new(maker))));
        Ok(())
    }

    /// The engines for a name and these settings: the host engine and, if the name is that of another engine, that one.
    /// For `auto`, these are all devices that can be made, or those that the settings name.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that no engine has, and any error of making the engine.
    pub fn make(&self, name: &str, config: &Config) -> Result<EngineSet> {
        let host: Arc<dyn Host> = Arc::new(cpu::engine(config));
        if name == AUTO {
            return self.automatic(&Config { engine: AUTO.into(), ..config.clone() }, host);
        }
        if self.numbered(name).is_some() {
            return Ok(EngineSet { devices: vec![self.device(name, config, &host)?], host, rule: Rule::Always(0) });
        }
        match self.all.iter().find(|(other, _)| other == name) {
            Some((_, Maker::Host(maker))) if name != HOST => Ok(maker(config)?.into()),
            Some(_) => Ok(host.into()),
            None => Err(Error::Config(format!("engine: {name:?} is not {}", listed(&self.names())))),
        }
    }

    /// The name of a device in the form that [`Engine::name`] has it: `opencl` for the first device of an engine, also
    /// if the text is `opencl:0`, and `opencl:1` for the second. `None` if no engine with memory of its own has the
    /// name.
    pub fn device_name(&self, text: &str) -> Option<String> {
        let (engine, number) = self.numbered(text)?;
        Some(if number == 0 { engine.into() } else { format!("{engine}:{number}") })
    }

    /// The device of a name such as `opencl` or `opencl:1`, for these settings.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that no device has, and any error of making the engine.
    pub fn device(&self, text: &str, config: &Config, host: &Arc<dyn Host>) -> Result<Arc<dyn Engine>> {
        let Some((engine, number)) = self.numbered(text) else {
            return Err(Error::Config(format!("there is no device {text:?}")));
        };
        // it has been asked for by its name
        let config = Config { engine: engine.into(), ..config.clone() };
        match self.all.iter().find(|(name, _)| name == engine) {
            Some((_, Maker::Device(maker))) => maker(&config, host, number),
            Some((_, Maker::Host(_))) | None => Err(Error::Config(format!("there is no device {text:?}"))),
        }
    }

    /// The engine with memory of its own that a text names, and the number of its device.
    fn numbered<'t>(&self, text: &'t str) -> Option<(&'t str, usize)> {
        let (name, number) = text.split_once(':').unwrap_or((text, "0"));
        let number = number.bytes().all(|digit| digit.is_ascii_digit()).then(|| number.parse().ok())??;
        let is_device = |(own, maker): &(String, Maker)| own == name && matches!(maker, Maker::Device(_));
        self.all.iter().any(is_device).then_some((name, number))
    }

    /// Like [`Engines::make`] for the engine that the settings name. If that device cannot be used, a message is
    /// printed to standard error, once, and the settings are changed to the host engine.
    ///
    /// # Errors
    /// [`Error::Config`] for a name that no engine has.
    pub fn start(&self, config: &mut Config) -> Result<EngineSet> {
        match self.make(&config.engine, config) {
            Err(Error::Engine(why)) => {
                eprintln!("numelt: {why}; programs run on the CPU");
                config.engine = HOST.into();
                self.make(HOST, config)
            }
            outcome => outcome,
        }
    }

    fn automatic(&self, config: &Config, host: Arc<dyn Host>) -> Result<EngineSet> {
        let mut devices: Vec<Arc<dyn Engine>> = Vec::new();
        for name in &config.devices {
            if self.numbered(name).is_some() {
                devices.push(self.device(name, config, &host)?);
            } else if !self.names().contains(name) {
                return Err(Error::Config(format!("devices: {name:?} is not {}", listed(&self.names()))));
            }
        }
        // starting a device loads its driver, which takes time and memory
        let others = self.all.iter().filter(|_| config.devices.is_empty());
        for (name, maker) in others {
            let Maker::Device(maker) = maker else { continue };
            // an NVIDIA card is also an OpenCL device
            if name == opencl::NAME && devices.iter().any(|device| device.name() == cuda::NAME) {
                continue;
            }
            // a device that the settings do not name may be missing
            devices.extend(maker(config, &host, 0).ok());
        }
        Ok(EngineSet { host, devices, rule: config.placement })
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
    fn the_host_engine_is_made_from_the_settings() {
        let EngineSet { host, devices, rule } = Engines::default().make("cpu", &config()).unwrap();
        assert_eq!((host.name(), host.threads(), devices.len(), rule), ("cpu", 3, 0, Rule::Host));
        assert!(host.sorts(DType::F64) && host.truths(Op::Any, &[0, 1]).is_some());
        assert_eq!(Engines::default().make("null", &config()).unwrap().host.name(), "null");
    }

    #[test]
    fn programs_add_engines_of_their_own() {
        let mut engines = Engines::default();
        engines.register("own", |_, _| Ok(Arc::new(NullEngine))).unwrap();
        engines.register("missing", |config, _| Err(Error::Engine(format!("{} threads", config.threads)))).unwrap();
        // placement is the rule of `auto`: a device that is chosen by its name gets all work
        let by_chance = Config { placement: Rule::Random(1), ..config() };
        for settings in [config(), by_chance] {
            let EngineSet { host, devices, rule } = engines.make("own", &settings).unwrap();
            assert_eq!((host.name(), devices[0].name(), rule), ("cpu", "null", Rule::Always(0)));
        }
        let error = engines.make("missing", &config()).err().unwrap().to_string();
        assert!(error.contains("3 threads"), "{error}");
        for taken in ["cpu", "null", "own", "auto"] {
            let error = engines.register(taken, |_, _| Ok(Arc::new(NullEngine))).unwrap_err().to_string();
            assert!(error.contains(&format!("{taken:?} already")), "{error}");
        }
        let error = engines.make("gpu", &config()).err().unwrap().to_string();
        assert!(error.contains("engine: \"gpu\" is not cpu") && error.ends_with("or auto"), "{error}");
        // at the start a message is printed, and the host engine is used instead
        let mut settings = Config { engine: "missing".into(), ..config() };
        let started = engines.start(&mut settings).unwrap();
        assert_eq!((started.devices.len(), started.rule, settings.engine.as_str()), (0, Rule::Host, "cpu"));
        assert!(engines.start(&mut Config { engine: "gpu".into(), ..config() }).is_err());
        // a device that cannot be made is left out, unless the settings name it
        let own = |devices: &[&str]| Config { devices: devices.iter().map(|d| d.to_string()).collect(), ..config() };
        let only = engines.make("auto", &own(&["own"])).unwrap();
        assert_eq!((only.devices.len(), only.rule), (1, Rule::Cost));
        assert!(engines.make("auto", &own(&["missing"])).is_err() && engines.make("auto", &own(&["gpu"])).is_err());
    }

    #[test]
    fn one_of_several_devices_has_a_number() {
        let engines = Engines::default();
        let name = |text: &str| engines.device_name(text);
        assert_eq!((name("opencl"), name("opencl:0")), (Some("opencl".into()), Some("opencl".into())));
        assert_eq!(name("cuda:12"), Some("cuda:12".into()));
        for text in ["cpu", "cpu:0", "null", "auto", "gpu", "", ":", "opencl:", "opencl:x", "opencl:+1", "opencl:1:1"] {
            assert_eq!(name(text), None, "{text}");
            assert!(
                text == "cpu" || text == "null" || text == "auto" || engines.make(text, &config()).is_err(),
                "{text}"
            );
        }
        let mut engines = engines;
        engines.register("own", |_, _| Ok(Arc::new(NullEngine))).unwrap();
        assert_eq!(engines.make("own:0", &config()).unwrap().devices.len(), 1);
        let error = engines.make("own:1", &config()).err().unwrap().to_string();
        assert!(error.contains("own: there is one such device"), "{error}");
    }

    #[test]
    fn auto_starts_only_the_devices_that_the_settings_name() {
        let mut engines = Engines::default();
        engines.register("own", |_, _| Ok(Arc::new(NullEngine))).unwrap();
        engines.register("other", |_, _| panic!("nobody has asked for this device")).unwrap();
        let only = Config { devices: vec!["own".into()], ..config() };
        assert_eq!(engines.make("auto", &only).unwrap().devices.len(), 1);
    }
}
