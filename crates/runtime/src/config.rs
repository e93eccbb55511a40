//! Settings from the environment and `numelt.toml`; the environment wins.
//!
//! The file is `$NUMELT_CONFIG`, else `numelt.toml` in the working directory, else
//! `numelt/numelt.toml` in the user's configuration directory. Its keys are the lower-case names
//! without the prefix: `threads = 4` is `NUMELT_THREADS=4`.

use crate::engine::SmallCall;
use numelt_ir::{Error, Result};
use numelt_opt::{Fuse, Passes};
use std::path::{Path, PathBuf};

/// When kernels are compiled by LLVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Jit {
    /// Never: everything on the blocked interpreter.
    Off,
    /// In the background; a kernel moves when its code is ready.
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
    /// Code for each geometry, compiled before it runs: only to measure.
    Fixed,
    /// Code for one geometry where that recurs and gains.
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
    /// What every processor of the architecture has.
    Portable,
}

/// All settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Threads of host engines; 0 is all that the process may use.
    pub threads: usize,
    /// Engine name.
    pub engine: String,
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
    /// Keep finished plans for batches that come again; off only to measure what planning costs.
    pub plan_cache: bool,
    /// What a fallback does besides falling back: `silent`, `warn`, `error`.
    pub fallback: String,
    /// Where compiled kernels are kept; `None` is the user's cache directory, an empty path is nowhere.
    pub cache_dir: Option<PathBuf>,
    /// Cap on live buffer bytes.
    pub memory_limit: Option<usize>,
    /// Print what each flush does to standard error.
    pub trace: bool,
    /// Points per block of the blocked interpreter; 0 is the engine's choice.
    pub block: usize,
    /// Instructions that may be pending.
    pub max_pending: usize,
    /// Elements up to which an operation may run at once instead of being recorded; 0 is never.
    pub at_once: usize,
    /// Element-operations per instruction up to which a batch may run without a plan until it has come a few times;
    /// 0 is never, the largest number always.
    pub piecemeal: usize,
    /// Bytes from which on a value that can be had again for what a store costs is left to be computed when it is asked for; 0
    /// is never.
    pub put_off: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            threads: 0,
            engine: "cpu".into(),
            jit: Jit::On,
            variants: Variants::Selected,
            isa: InstructionSet::Best,
            fuse: Fuse::Greedy,
            passes: Passes::ALL,
            plan_cache: true,
            fallback: "silent".into(),
            cache_dir: None,
            memory_limit: None,
            trace: false,
            block: 0,
            max_pending: 1000,
            at_once: SmallCall::MOST,
            piecemeal: 1 << 14,
            put_off: 1 << 18,
        }
    }
}

/// Names of all settings, as in the file.
pub const KEYS: [&str; 17] = [
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
    "trace",
    "block",
    "max_pending",
    "at_once",
    "piecemeal",
    "put_off",
];

impl Config {
    /// Settings from the file and the environment.
    ///
    /// # Errors
    /// [`Error::Config`] names the key and what it may be.
    pub fn load() -> Result<Config> {
        let mut config = Config::default();
        if let Some(path) = config_file() {
            config.apply_file(&path)?;
        }
        for key in KEYS {
            let name = format!("NUMELT_{}", key.to_uppercase());
            if let Ok(value) = std::env::var(&name) {
                config.set(key, &value).map_err(|e| Error::Config(format!("{name}: {}", plain(&e))))?;
            }
        }
        Ok(config)
    }

    fn apply_file(&mut self, path: &Path) -> Result<()> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::Config(format!("{}: {e}", path.display())))?;
        let table: toml::Table =
            text.parse().map_err(|e: toml::de::Error| Error::Config(format!("{}: {e}", path.display())))?;
        for (key, value) in &table {
            let value = match value {
                toml::Value::String(s) => s.clone(),
                toml::Value::Integer(n) => n.to_string(),
                toml::Value::Boolean(b) => u8::from(*b).to_string(),
                other => {
                    return Err(Error::Config(format!("{}: {key}: unexpected {}", path.display(), other.type_str())));
                }
            };
            self.set(key, &value).map_err(|e| Error::Config(format!("{}: {key}: {}", path.display(), plain(&e))))?;
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
            "engine" => self.engine = value.to_string(),
            "jit" => self.jit = parse_jit(value).ok_or_else(|| bad("off, on or sync"))?,
            "variants" => self.variants = parse_variants(value).ok_or_else(|| bad("dynamic, fixed or selected"))?,
            "isa" => self.isa = parse_isa(value).ok_or_else(|| bad("best, avx512, avx2 or portable"))?,
            "fuse" => self.fuse = value.parse().map_err(|_| bad("singleton, naive, greedy, unintrusive or optimal"))?,
            "plan_cache" => self.plan_cache = parse_bool(value).ok_or_else(|| bad("0 or 1"))?,
            "passes" => self.passes = value.parse().map_err(|e| Error::Config(plain(&e)))?,
            "fallback" => {
                if !["silent", "warn", "error"].contains(&value) {
                    return Err(bad("silent, warn or error"));
                }
                self.fallback = value.to_string();
            }
            "cache_dir" => self.cache_dir = Some(PathBuf::from(value)),
            "memory_limit" => self.memory_limit = parse_bytes(value).ok_or_else(|| bad("a size such as 512M or 8G"))?,
            "trace" => self.trace = parse_bool(value).ok_or_else(|| bad("0 or 1"))?,
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
            "trace" => u8::from(self.trace).to_string(),
            "block" => self.block.to_string(),
            "max_pending" => self.max_pending.to_string(),
            "at_once" => self.at_once.to_string(),
            "piecemeal" => self.piecemeal.to_string(),
            "put_off" => self.put_off.to_string(),
            _ => return None,
        })
    }
}

fn plain(error: &Error) -> String {
    match error {
        Error::Config(text) => text.clone(),
        other => other.to_string(),
    }
}

fn config_file() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("NUMELT_CONFIG") {
        return Some(path.into());
    }
    let home = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".config")));
    let candidates = [Some(PathBuf::from("numelt.toml")), home.map(|h| h.join("numelt/numelt.toml"))];
    candidates.into_iter().flatten().find(|p| p.is_file())
}

fn parse_jit(value: &str) -> Option<Jit> {
    match value {
        "off" | "0" | "false" => Some(Jit::Off),
        "on" | "1" | "true" => Some(Jit::On),
        "sync" => Some(Jit::Sync),
        _ => None,
    }
}

fn parse_variants(value: &str) -> Option<Variants> {
    match value {
        "dynamic" => Some(Variants::Dynamic),
        "fixed" => Some(Variants::Fixed),
        "selected" => Some(Variants::Selected),
        _ => None,
    }
}

fn parse_isa(value: &str) -> Option<InstructionSet> {
    match value {
        "best" => Some(InstructionSet::Best),
        "avx512" => Some(InstructionSet::Avx512),
        "avx2" => Some(InstructionSet::Avx2),
        "portable" => Some(InstructionSet::Portable),
        _ => None,
    }
}

fn parse_bool(value: &str) -> Option<bool> {
    match value {
        "" | "0" | "off" | "false" => Some(false),
        "1" | "on" | "true" => Some(true),
        _ => None,
    }
}

/// `512M`, `8G`, `1000000`; zero is no limit.
fn parse_bytes(value: &str) -> Option<Option<usize>> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: usize = match value[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return None,
    };
    let bytes = digits.parse::<usize>().ok()?.checked_mul(unit)?;
    Some((bytes > 0).then_some(bytes))
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
            ("block", "7"),
            ("max_pending", "5"),
            ("at_once", "16"),
            ("piecemeal", "100"),
            ("put_off", "8"),
        ] {
            config.set(key, value).unwrap();
            assert_eq!(config.get(key).unwrap(), value);
        }
        assert!(KEYS.iter().all(|k| config.get(k).is_some()));
    }

    #[test]
    fn bad_values_say_what_is_allowed() {
        let mut config = Config::default();
        let text = config.set("jit", "maybe").unwrap_err().to_string();
        assert!(text.contains("off, on or sync"), "{text}");
        assert!(config.set("thread", "1").is_err());
        assert!(config.set("memory_limit", "5X").is_err());
        assert_eq!(config, Config::default());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_bytes("8G"), Some(Some(8 << 30)));
        assert_eq!(parse_bytes("512m"), Some(Some(512 << 20)));
        assert_eq!(parse_bytes("0"), Some(None));
        assert_eq!(parse_bytes("99999999999999T"), None);
    }
}
