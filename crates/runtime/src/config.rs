//! Settings from the environment and `numelt.toml`; the environment wins.
//!
//! The file is `$NUMELT_CONFIG`, else `numelt.toml` in the working directory, else
//! `numelt/numelt.toml` in the user's configuration directory. Its keys are the lower-case names
//! without the prefix: `threads = 4` is `NUMELT_THREADS=4`.
//!
//! A user who unpacks an archive and works in its folder has not agreed to what the archive's `numelt.toml` says. So
//! settings that name files ([`NAMING_FILES`]) are never taken from the working directory, and elsewhere only from
//! files that only the user and root can write. Files of other users are not read at all.

mod values;

use crate::engine::SmallCall;
use crate::placement::rule::Rule;
use crate::trusted;
use numelt_ir::{Error, Result};
use numelt_opt::{Fuse, Passes};
use std::io;
use std::path::{Path, PathBuf};

/// When kernels are compiled by LLVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jit {
    /// Never: everything on the blocked interpreter.
    Off,
    /// In the background; a kernel moves to compiled code when that is ready.
    #[default]
    On,
    /// Before the first launch.
    Sync,
}

/// Which compiled code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variants {
    /// Code for all geometries.
    Dynamic,
    /// Code for each geometry, compiled before it runs. This is for measurements only.
    Fixed,
    /// Code for one geometry, if the geometry recurs and the code is faster.
    #[default]
    Selected,
}

/// The best instruction set that kernels may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InstructionSet {
    /// The best that the machine has.
    #[default]
    Best,
    /// At most AVX-512.
    Avx512,
    /// At most AVX2 with FMA.
    Avx2,
    /// The instructions that every processor of the architecture has.
    Portable,
}

/// All settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Threads of host engines; 0 is all that the process may use.
    pub threads: usize,
    /// Engine name.
    pub engine: String,
    /// The names that `engine` may have. This is not a setting, but comes from the registry of engines.
    pub engines: Vec<String>,
    /// Compilation policy.
    pub jit: Jit,
    /// Which compiled code runs.
    pub variants: Variants,
    /// The best instruction set that kernels may use.
    pub isa: InstructionSet,
    /// Partition algorithm.
    pub fuse: Fuse,
    /// Optional passes of the optimizer.
    pub passes: Passes,
    /// Whether finished plans are kept for batches that are repeated. It is off only to measure the cost of planning.
    pub plan_cache: bool,
    /// What a fallback does besides calling NumPy: `silent`, `warn`, `error`.
    pub fallback: String,
    /// Where compiled kernels are kept; `None` is the user's cache directory, and an empty path switches the cache
    /// off.
    pub cache_dir: Option<PathBuf>,
    /// Cap on live buffer bytes.
    pub memory_limit: Option<usize>,
    /// The devices that `auto` chooses from; empty for all.
    pub devices: Vec<String>,
    /// Cap on the bytes of arrays on a device.
    pub device_memory: Option<usize>,
    /// Whether matrix products, Fourier transforms and decompositions run on the host, with NumPy's bits, also if a
    /// device has a library for them.
    pub exact_products: bool,
    /// How an engine is chosen if there are several: [`Rule::Cost`] or [`Rule::Random`].
    pub placement: Rule,
    /// Whether each flush is printed to standard error.
    pub trace: bool,
    /// A flush shows its progress on a terminal or in a notebook after this many seconds; 0 is never.
    pub progress: f64,
    /// Points per block of the blocked interpreter; 0 is the engine's choice.
    pub block: usize,
    /// The most instructions that may be pending.
    pub max_pending: usize,
    /// Operations on at most this many elements may run when they are called instead of being recorded; 0 is never.
    pub at_once: usize,
    /// A batch of at most this many element-operations per instruction may run without a plan until it has been
    /// repeated several times; 0 is never, the largest number always.
    pub piecemeal: usize,
    /// A value of at least this many bytes that can be computed again for what a store costs is put off; 0
    /// is never.
    pub put_off: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            threads: 0,
            engine: "cpu".into(),
            engines: ["cpu", "null", "cuda", "opencl", "auto"].map(String::from).into(),
            jit: Jit::On,
            variants: Variants::Selected,
            isa: InstructionSet::Best,
            fuse: Fuse::Greedy,
            passes: Passes::ALL,
            plan_cache: true,
            fallback: "silent".into(),
            cache_dir: None,
            memory_limit: None,
            devices: Vec::new(),
            device_memory: None,
            exact_products: false,
            placement: Rule::Cost,
            trace: false,
            progress: 2.0,
            block: 0,
            max_pending: 1000,
            at_once: SmallCall::MOST,
            piecemeal: 1 << 14,
            put_off: 1 << 18,
        }
    }
}

/// Settings that name files.
const NAMING_FILES: [&str; 1] = ["cache_dir"];

/// The size in bytes of the longest settings file that is read.
const LONGEST: u64 = 1 << 20;

/// Names of all settings, as in the file.
pub const KEYS: [&str; 22] = [
    "threads",
    "engine",
    "jit",
    "variants",
    "isa",
    "fuse",
    "passes",
    "plan_cache",
    "fallback",
    "cache_dir",
    "memory_limit",
    "devices",
    "device_memory",
    "exact_products",
    "placement",
    "trace",
    "progress",
    "block",
    "max_pending",
    "at_once",
    "piecemeal",
    "put_off",
];

/// The location of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileLocation {
    /// `NUMELT_CONFIG` names it.
    Named,
    WorkingDirectory,
    /// The user's configuration directory.
    User,
}

/// A settings file that was read.
struct SettingsFile {
    path: PathBuf,
    text: String,
    /// Why settings that name files are not taken from it; `None` if they are.
    restricted: Option<String>,
}

impl Config {
    /// Settings from the file and the environment, and a line about each setting in a file that was refused.
    /// `engines` are the names of all engines.
    ///
    /// # Errors
    /// [`Error::Config`] names the variable, or the file and the key, its value, and the accepted values.
    pub fn load(engines: Vec<String>) -> Result<(Config, Vec<String>)> {
        let (mut config, mut refused) = (Config { engines, ..Config::default() }, Vec::new());
        for (path, place) in candidates() {
            match SettingsFile::read(&path, place, trusted::user()) {
                Ok(source) => {
                    config.apply(&source, &mut refused)?;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && place != FileLocation::Named => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(Error::Config(format!("NUMELT_CONFIG: {}: {error}", path.display())));
                }
                Err(error) => refused.push(format!("{} is ignored: {error}", path.display())),
            }
        }
        for key in KEYS {
            let name = format!("NUMELT_{}", key.to_uppercase());
            if let Some(value) = std::env::var_os(&name) {
                let value = value.to_str().ok_or_else(|| Error::Config(format!("{name}: {value:?} is not UTF-8")))?;
                config.set(key, value).map_err(|e| Error::Config(format!("{name}: {}", plain(&e))))?;
            }
        }
        Ok((config, refused))
    }

    fn apply(&mut self, source: &SettingsFile, refused: &mut Vec<String>) -> Result<()> {
        let path = source.path.display();
        let table: toml::Table = source
            .text
            .parse()
            .map_err(|e: toml::de::Error| Error::Config(format!("{path}: {}", e.to_string().trim_end())))?;
        for (key, value) in &table {
            if let Some(why) = &source.restricted
                && NAMING_FILES.contains(&key.as_str())
            {
                refused.push(format!("{path}: {key} is ignored: {why}"));
                continue;
            }
            let value = match value {
                toml::Value::String(s) => s.clone(),
                toml::Value::Integer(n) => n.to_string(),
                toml::Value::Boolean(b) => u8::from(*b).to_string(),
                toml::Value::Float(number) => number.to_string(),
                other => {
                    let kind = other.type_str();
                    return Err(Error::Config(format!("{path}: {key}: it may not be of type {kind}")));
                }
            };
            self.set(key, &value).map_err(|e| Error::Config(format!("{path}: {key}: {}", plain(&e))))?;
        }
        Ok(())
    }

    /// Sets one key from text.
    ///
    /// # Errors
    /// [`Error::Config`] for an unknown key or a value that does not fit.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let value = value.trim();
        let bad = |want: &str| Error::Config(format!("{value:?} is not {want}"));
        match key {
            "threads" => self.threads = value.parse().map_err(|_| bad("a number of threads"))?,
            "engine" => {
                // one of several devices of an engine has a number
                let (name, number) = value.split_once(':').unwrap_or((value, "0"));
                let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
                if !is_number || !self.engines.iter().any(|own| own == name) {
                    return Err(bad(&listed(&self.engines)));
                }
                self.engine = value.to_string();
            }
            "jit" => self.jit = values::jit(value).ok_or_else(|| bad("off, on or sync"))?,
            "variants" => self.variants = values::variants(value).ok_or_else(|| bad("dynamic, fixed or selected"))?,
            "isa" => self.isa = values::isa(value).ok_or_else(|| bad("best, avx512, avx2 or portable"))?,
            "fuse" => self.fuse = value.parse().map_err(|_| bad("singleton, naive, greedy, unintrusive or optimal"))?,
            "plan_cache" => self.plan_cache = values::bool(value).ok_or_else(|| bad("0 or 1"))?,
            "passes" => self.passes = value.parse().map_err(|e| Error::Config(plain(&e)))?,
            "fallback" => {
                if !["silent", "warn", "error"].contains(&value) {
                    return Err(bad("silent, warn or error"));
                }
                self.fallback = value.to_string();
            }
            "cache_dir" => self.cache_dir = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
            "memory_limit" => {
                self.memory_limit = values::bytes(value).ok_or_else(|| bad("a size such as 512M or 8G"))?
            }
            "devices" => {
                self.devices =
                    value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect();
            }
            "device_memory" => {
                self.device_memory = values::bytes(value).ok_or_else(|| bad("a size such as 512M or 8G"))?;
            }
            "exact_products" => self.exact_products = values::bool(value).ok_or_else(|| bad("0 or 1"))?,
            "placement" => {
                self.placement = values::placement(value).ok_or_else(|| bad("cost, random or random:SEED"))?;
            }
            "trace" => self.trace = values::bool(value).ok_or_else(|| bad("0 or 1"))?,
            "progress" => self.progress = values::seconds(value).ok_or_else(|| bad("a number of seconds"))?,
            "block" => self.block = value.parse().map_err(|_| bad("a number of points"))?,
            "max_pending" => {
                self.max_pending = value.parse().ok().filter(|&n| n > 0).ok_or_else(|| bad("a positive number"))?;
            }
            "piecemeal" => self.piecemeal = value.parse().map_err(|_| bad("a number of elements"))?,
            "put_off" => self.put_off = value.parse().map_err(|_| bad("a number of bytes"))?,
            "at_once" => self.at_once = value.parse().map_err(|_| bad("a number of elements"))?,
            _ => return Err(Error::Config(format!("unknown setting {key:?}; there are {}", KEYS.join(", ")))),
        }
        Ok(())
    }

    /// The value of a key as text that [`Config::set`] reads back.
    pub fn get(&self, key: &str) -> Option<String> {
        Some(match key {
            "threads" => self.threads.to_string(),
            "engine" => self.engine.clone(),
            "jit" => match self.jit {
                Jit::Off => "off",
                Jit::On => "on",
                Jit::Sync => "sync",
            }
            .to_string(),
            "variants" => match self.variants {
                Variants::Dynamic => "dynamic",
                Variants::Fixed => "fixed",
                Variants::Selected => "selected",
            }
            .to_string(),
            "isa" => match self.isa {
                InstructionSet::Best => "best",
                InstructionSet::Avx512 => "avx512",
                InstructionSet::Avx2 => "avx2",
                InstructionSet::Portable => "portable",
            }
            .to_string(),
            "fuse" => self.fuse.to_string(),
            "passes" => self.passes.to_string(),
            "plan_cache" => u8::from(self.plan_cache).to_string(),
            "fallback" => self.fallback.clone(),
            "cache_dir" => self.cache_dir.as_ref().map(|p| p.display().to_string()).unwrap_or_default(),
            "memory_limit" => self.memory_limit.unwrap_or(0).to_string(),
            "devices" => self.devices.join(","),
            "device_memory" => self.device_memory.unwrap_or(0).to_string(),
            "exact_products" => u8::from(self.exact_products).to_string(),
            "placement" => match self.placement {
                Rule::Random(seed) => format!("random:{seed}"),
                Rule::Host | Rule::Always(_) | Rule::Cost => "cost".into(),
            },
            "trace" => u8::from(self.trace).to_string(),
            "progress" => self.progress.to_string(),
            "block" => self.block.to_string(),
            "max_pending" => self.max_pending.to_string(),
            "at_once" => self.at_once.to_string(),
            "piecemeal" => self.piecemeal.to_string(),
            "put_off" => self.put_off.to_string(),
            _ => return None,
        })
    }
}

/// The names as text: `a, b or c`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".into(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn plain(error: &Error) -> String {
    match error {
        Error::Config(text) => text.clone(),
        other => other.to_string(),
    }
}

impl SettingsFile {
    /// Reads a settings file for the user of this number.
    fn read(path: &Path, place: FileLocation, user: u32) -> io::Result<SettingsFile> {
        let real = path.canonicalize()?;
        let (mut file, data) = trusted::open(&real)?;
        let ownership = trusted::ownership(&data);
        ownership.check_owner(user)?;
        let bytes = trusted::read(&mut file, &data, LONGEST)?;
        let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))?;
        let exclusive = || {
            ownership.check_file(user)?;
            real.parent().map_or(Ok(()), |folder| trusted::check_folders(folder, user))
        };
        let restricted = match place {
            FileLocation::WorkingDirectory => {
                Some("settings that name files are not taken from the working directory".into())
            }
            FileLocation::Named | FileLocation::User => exclusive().err().map(|error| error.to_string()),
        };
        Ok(SettingsFile { path: path.to_path_buf(), text, restricted })
    }
}

/// The files that may hold settings; the first that exists does.
fn candidates() -> Vec<(PathBuf, FileLocation)> {
    if let Some(path) = std::env::var_os("NUMELT_CONFIG") {
        return vec![(path.into(), FileLocation::Named)];
    }
    // a relative path would be one in the working directory
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    let own = own.map(|folder| (folder.join("numelt/numelt.toml"), FileLocation::User));
    [(PathBuf::from("numelt.toml"), FileLocation::WorkingDirectory)].into_iter().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_reads_back() {
        let mut config = Config::default();
        for (key, value) in [
            ("threads", "3"),
            ("engine", "null"),
            ("jit", "sync"),
            ("isa", "avx2"),
            ("fuse", "naive"),
            ("fallback", "error"),
            ("cache_dir", "somewhere"),
            ("memory_limit", "1073741824"),
            ("trace", "1"),
            ("progress", "0.5"),
            ("block", "7"),
            ("max_pending", "5"),
            ("at_once", "16"),
            ("piecemeal", "100"),
            ("put_off", "8"),
            ("devices", "one,other"),
            ("device_memory", "67108864"),
            ("exact_products", "1"),
            ("placement", "random:7"),
        ] {
            config.set(key, value).unwrap();
            assert_eq!(config.get(key).unwrap(), value);
        }
        assert!(KEYS.iter().all(|k| config.get(k).is_some()));
    }

    #[test]
    fn the_defaults_read_back() {
        let (default, mut config) = (Config::default(), Config::default());
        for key in KEYS {
            config.set(key, &default.get(key).unwrap()).unwrap();
            assert_eq!(config, default, "{key}");
        }
    }

    #[test]
    fn bad_values_say_what_is_allowed() {
        let mut config = Config::default();
        let text = config.set("jit", "maybe").unwrap_err().to_string();
        assert!(text.contains("off, on or sync"), "{text}");
        let text = config.set("engine", "gpu").unwrap_err().to_string();
        assert!(text.contains("\"gpu\" is not cpu, null, cuda, opencl or auto"), "{text}");
        assert!(config.set("thread", "1").is_err());
        assert!(config.set("memory_limit", "5X").is_err());
        assert_eq!(config, Config::default());
    }

    #[test]
    fn engines_are_those_of_the_registry() {
        let mut config = Config { engines: ["cpu", "far", "null"].map(String::from).into(), ..Config::default() };
        config.set("engine", "far").unwrap();
        assert_eq!(config.engine, "far");
        let text = config.set("engine", "gpu").unwrap_err().to_string();
        assert!(text.contains("\"gpu\" is not cpu, far or null"), "{text}");
        assert_eq!([listed(&[]), listed(&["cpu".into()])], ["nothing", "cpu"]);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(values::bytes("8G"), Some(Some(8 << 30)));
        assert_eq!(values::bytes("512m"), Some(Some(512 << 20)));
        assert_eq!(values::bytes("0"), Some(None));
        assert_eq!(values::bytes("99999999999999T"), None);
    }

    /// A settings file in a folder of its own.
    struct Sample(PathBuf);

    impl Sample {
        fn new(name: &str, text: &str) -> Sample {
            let folder = std::env::temp_dir().join(format!("numelt-config-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            let folder = trusted::private_folder(&folder, trusted::user()).unwrap();
            std::fs::write(folder.join("numelt.toml"), text).unwrap();
            Sample(folder.join("numelt.toml"))
        }

        fn read(&self, place: FileLocation) -> io::Result<SettingsFile> {
            SettingsFile::read(&self.0, place, trusted::user())
        }

        /// The settings, and the lines about refused ones.
        fn applied(&self, place: FileLocation) -> (Config, Vec<String>) {
            let (mut config, mut refused) = (Config::default(), Vec::new());
            config.apply(&self.read(place).unwrap(), &mut refused).unwrap();
            (config, refused)
        }
    }

    impl Drop for Sample {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
        }
    }

    #[test]
    fn the_working_directory_names_no_files() {
        let sample = Sample::new("working", "threads = 3\ncache_dir = '/tmp/forged'\n");
        let (config, refused) = sample.applied(FileLocation::WorkingDirectory);
        assert_eq!((config.threads, config.cache_dir), (3, None));
        assert!(refused.len() == 1 && refused[0].contains("numelt.toml: cache_dir is ignored"), "{refused:?}");
        for place in [FileLocation::User, FileLocation::Named] {
            let (config, refused) = sample.applied(place);
            assert_eq!((config.cache_dir, refused), (Some("/tmp/forged".into()), vec![]));
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_that_others_can_write_name_no_files() {
        use std::os::unix::fs::PermissionsExt;
        let sample = Sample::new("group", "jit = 'off'\ncache_dir = 'x'\n");
        let set_mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        set_mode(&sample.0, 0o664);
        let (config, refused) = sample.applied(FileLocation::User);
        assert_eq!((config.jit, config.cache_dir, refused.len()), (Jit::Off, None, 1));
        set_mode(&sample.0, 0o644);
        set_mode(sample.0.parent().unwrap(), 0o770);
        let (config, refused) = sample.applied(FileLocation::Named);
        assert_eq!((config.jit, config.cache_dir), (Jit::Off, None));
        assert!(refused[0].contains("its group may write"), "{refused:?}");
        set_mode(&sample.0, 0o646);
        assert!(sample.read(FileLocation::WorkingDirectory).is_err(), "everybody may write it");
    }

    #[cfg(unix)]
    #[test]
    fn files_of_other_users_are_not_obeyed() {
        let sample = Sample::new("others", "threads = 3\n");
        // Only root may give a file away; for everybody else, it is another user who asks.
        let mut asking = trusted::user();
        if asking == 0 {
            std::os::unix::fs::chown(&sample.0, Some(12345), None).unwrap();
        } else {
            asking += 1;
        }
        for place in [FileLocation::WorkingDirectory, FileLocation::User, FileLocation::Named] {
            let error = SettingsFile::read(&sample.0, place, asking).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some("it belongs to another user"));
        }
    }

    #[test]
    fn mistakes_in_files_name_file_and_key() {
        for (text, want) in [
            ("engine = 'gpu'", "numelt.toml: engine: \"gpu\" is not cpu, null, cuda, opencl or auto"),
            ("passes = 'all-of-them'", "numelt.toml: passes: "),
            ("threads = 1.5", "numelt.toml: threads: \"1.5\" is not a number"),
            ("threads = [1]", "numelt.toml: threads: it may not be of type array"),
            ("thread = 1", "numelt.toml: thread: unknown setting"),
            ("threads = ", "numelt.toml: "),
        ] {
            let sample = Sample::new("mistakes", text);
            let source = sample.read(FileLocation::User).unwrap();
            let error = Config::default().apply(&source, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
