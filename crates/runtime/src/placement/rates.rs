//! The rates of engines (how fast they are), and the files that keep them from one process to the next.
//!
//! A file belongs to an engine's name and a description of the machine. If it is missing, damaged, from another
//! machine, or writable by others, the engine is measured again. If it cannot be written, the rates are kept in the
//! process. Neither is ever an error.

use crate::config::Config;
use crate::engine::Engine;
use crate::trusted;
use numelt_opt::Cost;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::PathBuf;

/// How fast an engine is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Nanoseconds to submit a piece of work and to wait for it, however small it is.
    pub launch: f64,
    /// Nanoseconds for each byte that a step reads or writes in the engine's memory.
    pub byte: f64,
    /// Nanoseconds for each unit of [`Cost::work`].
    pub work: f64,
    /// Nanoseconds for each unit of [`Cost::serial`].
    pub serial: f64,
    /// Nanoseconds for each byte that is copied from the host to the engine; zero for the host itself, as the next two.
    pub upload: f64,
    /// Nanoseconds for each byte that is copied from the engine to the host.
    pub download: f64,
    /// Nanoseconds for each copy to or from the engine, however small it is.
    pub latency: f64,
}

/// The longest time that a rate may state: an hour. A longer one was not measured by numelt.
const LONGEST: f64 = 3.6e12;

/// The size in bytes of the longest file that is read; numelt's own have a few hundred.
const LONGEST_FILE: u64 = 1 << 16;

impl Rates {
    /// The nanoseconds that a step takes when everything is in the engine's memory. An engine computes while it reads
    /// and writes, so the slowest of the three counts.
    pub fn step(&self, cost: &Cost) -> f64 {
        let [bytes, work, serial] = [cost.bytes(), cost.work, cost.serial].map(|count| count as f64);
        self.launch + (bytes * self.byte).max(work * self.work).max(serial * self.serial)
    }

    /// The nanoseconds to copy this many bytes from the host to the engine.
    pub fn there(&self, nbytes: u64) -> f64 {
        self.latency + nbytes as f64 * self.upload
    }

    /// The nanoseconds to copy this many bytes from the engine to the host.
    pub fn back(&self, nbytes: u64) -> f64 {
        self.latency + nbytes as f64 * self.download
    }

    /// The rates by name, as in files.
    fn named(&mut self) -> [(&'static str, &mut f64); 7] {
        let Rates { launch, byte, work, serial, upload, download, latency } = self;
        [
            ("launch", launch),
            ("byte", byte),
            ("work", work),
            ("serial", serial),
            ("upload", upload),
            ("download", download),
            ("latency", latency),
        ]
    }

    const ZERO: Rates =
        Rates { launch: 0.0, byte: 0.0, work: 0.0, serial: 0.0, upload: 0.0, download: 0.0, latency: 0.0 };
}

/// The store of rates.
#[derive(Debug)]
pub(super) struct RatesStore {
    /// The cache folder; `None` if nothing is to be kept.
    folder: Option<PathBuf>,
    /// The settings that influence how fast the host engine is.
    settings: String,
}

impl RatesStore {
    /// A store that keeps nothing.
    pub const NONE: RatesStore = RatesStore { folder: None, settings: String::new() };

    pub fn new(config: &Config) -> RatesStore {
        let folder = match &config.cache_dir {
            Some(path) => (!path.as_os_str().is_empty()).then(|| path.clone()),
            None => trusted::cache_folder(),
        };
        let setting = |key| config.get(key).unwrap_or_default();
        let settings = format!("jit {}, isa {}, block {}", setting("jit"), setting("isa"), setting("block"));
        RatesStore { folder, settings }
    }

    /// A description of what rates depend on: this version, the machine, the settings, and what the engine says about
    /// itself.
    pub fn machine(&self, engine: &dyn Engine, threads: usize) -> String {
        format!(
            "numelt {}, {}, {threads} threads, {}, target {:?}",
            env!("CARGO_PKG_VERSION"),
            processor(),
            self.settings,
            engine.target(),
        )
    }

    /// The rates that were kept for an engine on this machine.
    pub fn load(&self, engine: &str, machine: &str) -> Option<Rates> {
        let path = self.folder.as_ref()?.join("rates").join(file_name(engine, machine));
        let folder = path.parent()?.canonicalize().ok()?;
        trusted::check_folders(&folder, trusted::user()).ok()?;
        let (mut file, data) = trusted::open(&path).ok()?;
        trusted::ownership(&data).check_file(trusted::user()).ok()?;
        let text = String::from_utf8(trusted::read(&mut file, &data, LONGEST_FILE).ok()?).ok()?;
        decode(&text, engine, machine)
    }

    /// Keeps rates, if possible.
    pub fn save(&self, engine: &str, machine: &str, rates: Rates) {
        // rates that cannot be kept are measured again
        let _ = self.try_save(engine, machine, rates);
    }

    fn try_save(&self, engine: &str, machine: &str, rates: Rates) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let folder = trusted::private_folder(&folder.join("rates"), trusted::user())?;
        let name = file_name(engine, machine);
        // readers never see half of a file, and two processes that write at the same time do not disturb each other
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        let temporary = folder.join(format!(".{name}-{}-{now}", std::process::id()));
        let written = trusted::write_new(&temporary, encode(engine, machine, rates).as_bytes())
            .and_then(|()| fs::rename(&temporary, folder.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// The name of the file for an engine and a machine. Several machines may share a home folder.
fn file_name(engine: &str, machine: &str) -> String {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(engine.as_bytes());
    hasher.write_u8(0);
    hasher.write(machine.as_bytes());
    format!("{:016x}.toml", hasher.finish())
}

fn encode(engine: &str, machine: &str, mut rates: Rates) -> String {
    let mut text = format!(
        "# How fast an engine is, in nanoseconds. Measured by numelt; it may be removed.\nengine = {}\nmachine = {}\n",
        quoted(engine),
        quoted(machine)
    );
    for (name, value) in rates.named() {
        // writing to a string cannot fail
        let _ = writeln!(text, "{name} = {value:?}");
    }
    text
}

/// A text as a string of TOML.
fn quoted(text: &str) -> String {
    let escaped = text.chars().fold(String::new(), |mut all, c| {
        match c {
            '"' | '\\' => all.extend(['\\', c]),
            _ if c.is_control() => all += &format!("\\U{:08X}", u32::from(c)),
            _ => all.push(c),
        }
        all
    });
    format!("\"{escaped}\"")
}

/// The rates in a file, if it is this engine's and this machine's, and all of them make sense.
fn decode(text: &str, engine: &str, machine: &str) -> Option<Rates> {
    let table: toml::Table = text.parse().ok()?;
    let says = |key: &str, want: &str| table.get(key).and_then(toml::Value::as_str) == Some(want);
    if !says("engine", engine) || !says("machine", machine) {
        return None;
    }
    let mut rates = Rates::ZERO;
    for (name, value) in rates.named() {
        *value = table.get(name)?.as_float().filter(|nanos| (0.0..=LONGEST).contains(nanos))?;
    }
    Some(rates)
}

/// The processor as the system describes it.
fn processor() -> String {
    let wanted = ["model name", "cpu family", "model", "stepping", "CPU implementer", "CPU part", "CPU revision"];
    let mut start = Vec::new();
    // a description of the first core; the file has one for each
    let _ = File::open("/proc/cpuinfo").and_then(|file| file.take(4096).read_to_end(&mut start));
    let text = String::from_utf8_lossy(&start);
    let fields = text.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_once(':'));
    let fields = fields.filter(|(name, _)| wanted.contains(&name.trim())).map(|(_, value)| value.trim());
    fields.fold(std::env::consts::ARCH.to_string(), |all, value| format!("{all} {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: Rates =
        Rates { launch: 1234.5, byte: 0.07, work: 1e-9, serial: 3.0, upload: 0.25, download: 0.5, latency: 9e5 };

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("numelt-rates-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Scratch(trusted::private_folder(&path, trusted::user()).unwrap())
        }

        fn store(&self) -> RatesStore {
            RatesStore { folder: Some(self.0.clone()), settings: String::new() }
        }

        fn file(&self) -> PathBuf {
            self.0.join("rates").join(file_name("far", "here"))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn rates_come_back_for_the_same_engine_and_machine() {
        let scratch = Scratch::new("same");
        let store = scratch.store();
        assert_eq!(store.load("far", "here"), None);
        store.save("far", "here", SAMPLE);
        assert_eq!(store.load("far", "here"), Some(SAMPLE));
        assert_eq!([store.load("far", "there"), store.load("near", "here")], [None; 2]);
        // another machine's file under this one's name
        fs::write(scratch.file(), encode("far", "there", SAMPLE)).unwrap();
        assert_eq!(store.load("far", "here"), None);
        store.save("far", "here", SAMPLE);
        assert_eq!(store.load("far", "here"), Some(SAMPLE));
        assert_eq!(fs::read_dir(scratch.0.join("rates")).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn damaged_files_are_as_good_as_none() {
        let scratch = Scratch::new("damage");
        let store = scratch.store();
        store.save("far", "here", SAMPLE);
        let good = fs::read_to_string(scratch.file()).unwrap();
        for (part, instead) in [
            ("launch = 1234.5", ""),
            ("launch = 1234.5", "launch = nan"),
            ("launch = 1234.5", "launch = -1.0"),
            ("launch = 1234.5", "launch = inf"),
            ("launch = 1234.5", "launch = 1e300"),
            ("launch = 1234.5", "launch = 'fast'"),
            ("engine", "= ="),
        ] {
            let bad = good.replace(part, instead);
            assert_ne!(bad, good);
            fs::write(scratch.file(), bad).unwrap();
            assert_eq!(store.load("far", "here"), None, "{instead}");
        }
        fs::write(scratch.file(), [0xFF; 40]).unwrap();
        assert_eq!(store.load("far", "here"), None);
        fs::write(scratch.file(), good + &" ".repeat(LONGEST_FILE as usize)).unwrap();
        assert_eq!(store.load("far", "here"), None, "too long");
    }

    #[cfg(unix)]
    #[test]
    fn files_that_others_can_write_are_not_read_and_folders_that_cannot_be_written_are_no_error() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("modes");
        let store = scratch.store();
        store.save("far", "here", SAMPLE);
        let set_mode =
            |path: &std::path::Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        set_mode(&scratch.file(), 0o666);
        assert_eq!(store.load("far", "here"), None);
        set_mode(&scratch.file(), 0o600);
        set_mode(&scratch.0.join("rates"), 0o777);
        assert_eq!(store.load("far", "here"), None);
        // a file where the folder would be
        fs::write(scratch.0.join("taken"), b"").unwrap();
        for folder in [Some(scratch.0.join("taken")), Some("/proc/none".into()), None] {
            let store = RatesStore { folder, settings: String::new() };
            store.save("far", "here", SAMPLE);
            assert_eq!(store.load("far", "here"), None);
        }
    }

    #[test]
    fn an_empty_setting_keeps_nothing() {
        let store = RatesStore::new(&Config { cache_dir: Some("".into()), ..Config::default() });
        assert_eq!(store.folder, None);
        let store = RatesStore::new(&Config { cache_dir: Some("/x".into()), ..Config::default() });
        assert_eq!(store.folder, Some("/x".into()));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(values: [u32; 7], engine in "\\PC*", machine in "\\PC*") {
            let mut rates = Rates::ZERO;
            rates.named().into_iter().zip(values).for_each(|((_, rate), value)| *rate = f64::from(value) / 1000.0);
            prop_assert_eq!(decode(&encode(&engine, &machine, rates), &engine, &machine), Some(rates));
        }

        #[test]
        fn anything_may_be_in_a_file(text in "\\PC*") {
            prop_assert_eq!(decode(&text, "far", "here"), None);
        }
    }
}
