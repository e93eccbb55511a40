//! The command line: a program, and its options, with the names that the Python programs give them.

use std::collections::HashMap;

/// The contents of the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The program's name.
    pub program: String,
    /// Where results are written.
    pub save: Option<String>,
    /// How often both versions run, if they are to be compared.
    pub rounds: Option<usize>,
    /// Whether to print nothing.
    pub quiet: bool,
    numbers: HashMap<String, f64>,
}

impl Options {
    /// Reads the arguments.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options { program: arguments.next().ok_or("which program?")?, ..Options::default() };
        while let Some(name) = arguments.next() {
            let name = name.strip_prefix("--").ok_or_else(|| format!("{name:?} is no option"))?.to_owned();
            let value = arguments.next().ok_or_else(|| format!("--{name} needs a value"))?;
            let number = || value.parse::<f64>().map_err(|error| format!("--{name}: {error}"));
            match name.as_str() {
                "save" => options.save = Some(value),
                "bench" => options.rounds = Some(number()? as usize),
                _ => drop(options.numbers.insert(name.clone(), number()?)),
            }
        }
        Ok(options)
    }

    /// An option's value, or its default.
    pub fn number(&self, name: &str, default: f64) -> f64 {
        self.numbers.get(name).copied().unwrap_or(default)
    }

    /// The same for whole numbers.
    pub fn count(&self, name: &str, default: usize) -> usize {
        self.number(name, default as f64) as usize
    }

    /// Prints a line of the report.
    pub fn say(&self, line: impl FnOnce() -> String) {
        if !self.quiet {
            println!("{}", line());
        }
    }
}
