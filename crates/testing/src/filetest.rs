//! Tests in plain text files: each file contains programs, and the expected output next to each.
//!
//! ```text
//! ; test: run seed=1
//! base %0 16 in
//! %0[f64 (2)] = add.f64 %0[f64 (2)], %0[f64 (2)]
//! ----
//! %0 f64: 2.0 4.0
//! ```
//!
//! A file contains any number of cases, each from a `; test:` line to the next. The text after `----` is the expected
//! output, which `NUMELT_BLESS=1` replaces by the actual one. There are these kinds of tests:
//! - `verify`: prints the program again, or the error of the parser or verifier;
//! - `run [seed=N]`: prints the outputs, and compares them with those of the plans of all partitions. Lines such as `;
//!   data %0 f64 1.0 2.0` give a base's values instead of the seed;
//! - `opt [passes=P]`: prints the program after each pass that changes it;
//! - `cost [unit=N] [passes=P]`: prints what each partition costs, in units of N bytes;
//! - `plan [fuse=F]`: prints the plan: its steps, what was contracted, the bytes moved;
//! - `kernel [fuse=F]`: prints the kernels.

use crate::fill;
use crate::kernel_interp::{PointOrder, run_plan};
use numelt_ir::{Complex64, Complex128, Error, F16, Program, Result, Scalar, interpret, verify};
use numelt_opt::{Fuse, Options, Step};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs every `.txt` file under a folder. With `bless`, the expected output is replaced by the actual one.
///
/// # Errors
/// A message with every case whose output differs from the expected one.
pub fn run_folder(folder: &Path, bless: bool) -> std::result::Result<usize, String> {
    let mut files = Vec::new();
    collect(folder, &mut files).map_err(|e| format!("{}: {e}", folder.display()))?;
    files.sort();
    let mut failures = String::new();
    let mut count = 0;
    for file in &files {
        match run_file(file, bless) {
            Ok(cases) => count += cases,
            Err(message) => writeln!(failures, "{}\n{message}", file.display()).expect("strings take any text"),
        }
    }
    if failures.is_empty() { Ok(count) } else { Err(failures) }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "txt") {
            files.push(path);
        }
    }
    Ok(())
}

fn run_file(file: &Path, bless: bool) -> std::result::Result<usize, String> {
    let text = fs::read_to_string(file).map_err(|e| e.to_string())?;
    let (head, cases) = split(&text);
    if cases.is_empty() {
        return Err("no line starts with `; test:`".to_string());
    }
    let mut failures = String::new();
    let mut blessed = head;
    for case in &cases {
        let found = case.run();
        if found != case.expected {
            write!(failures, "{}---- expected\n{}---- found\n{found}\n", case.source, case.expected)
                .expect("strings take any text");
        }
        blessed += &format!("{}----\n{found}\n", case.source);
    }
    let blessed = format!("{}\n", blessed.trim_end());
    if bless && blessed != text {
        fs::write(file, blessed).map_err(|e| e.to_string())?;
    }
    if failures.is_empty() || bless { Ok(cases.len()) } else { Err(failures) }
}

/// One case of a file.
struct Case {
    /// The text before the separator.
    source: String,
    expected: String,
}

/// The text before the first case, and the cases.
fn split(text: &str) -> (String, Vec<Case>) {
    let (mut head, mut cases, mut in_source) = (String::new(), Vec::<Case>::new(), false);
    for line in text.lines() {
        if line.starts_with("; test:") {
            cases.push(Case { source: String::new(), expected: String::new() });
            in_source = true;
        }
        let Some(case) = cases.last_mut() else {
            head += &format!("{line}\n");
            continue;
        };
        if in_source && line.trim_end() == "----" {
            in_source = false;
        } else if in_source {
            case.source += &format!("{line}\n");
        } else {
            case.expected += &format!("{line}\n");
        }
    }
    for case in &mut cases {
        case.expected = normal(&case.expected);
        if in_source {
            case.source = format!("{}\n", case.source.trim_end());
        }
    }
    (head, cases)
}

/// The text without blank lines at the end.
fn normal(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

impl Case {
    /// The output of the case.
    fn run(&self) -> String {
        normal(&self.print().unwrap_or_else(|error| format!("error: {error}")))
    }

    fn print(&self) -> Result<String> {
        let program: Program = self.source.parse()?;
        verify(&program)?;
        let header = self.source.lines().next().unwrap_or_default();
        let mut words = header.trim_start_matches("; test:").split_whitespace();
        let kind = words.next().unwrap_or_default();
        let (mut seed, mut unit, mut options) = (0, 1, Options::default());
        for word in words {
            match word.split_once('=') {
                Some(("seed", value)) => {
                    seed = value.parse().map_err(|_| Error::Config(format!("a seed is a number: {value:?}")))?;
                }
                Some(("unit", value)) => {
                    unit = value.parse().map_err(|_| Error::Config(format!("a unit is a number: {value:?}")))?;
                }
                Some(("passes", value)) => options.passes = value.parse()?,
                Some(("fuse", value)) => options.fuse = value.parse()?,
                _ => return Err(Error::Config(format!("unknown option {word:?}"))),
            }
        }
        match kind {
            "verify" => Ok(program.to_string()),
            "run" => self.print_run(&program, seed),
            "opt" => print_passes(&program, &options),
            "cost" => print_costs(&program, &options, unit),
            "plan" => Ok(numelt_opt::plan(&program, &options)?.to_string()),
            "kernel" => print_kernels(&program, &options),
            other => Err(Error::Config(format!("unknown kind of test {other:?}"))),
        }
    }

    fn print_run(&self, program: &Program, seed: u64) -> Result<String> {
        let mut start = fill::fill(program, seed);
        for line in self.source.lines() {
            if let Some(data) = line.strip_prefix("; data ") {
                put_data(data, &mut start)?;
            }
        }
        let mut memory = start.clone();
        interpret(program, &mut memory)?;
        let shown = show_outputs(program, &memory);
        for fuse in Fuse::ALL {
            let mut memory = start.clone();
            run_plan(
                &numelt_opt::plan(program, &Options { fuse, ..Options::default() })?,
                &mut memory,
                PointOrder::Forward,
            )?;
            let planned = show_outputs(program, &memory);
            if planned != shown {
                return Err(Error::Invalid(format!("the plan ({fuse}) gives\n{planned}instead of\n{shown}")));
            }
        }
        Ok(shown)
    }
}

/// Converts `%0 f64 1.0 2.0 …` to the bytes of a base.
fn put_data(text: &str, memory: &mut [Vec<u8>]) -> Result<()> {
    let bad = |what: &str| Error::Config(format!("{what} in `; data {text}`"));
    let (base, rest) = text.trim().split_once(' ').ok_or_else(|| bad("no values"))?;
    let (dtype, values) = rest.trim().split_once(' ').ok_or_else(|| bad("no values"))?;
    let id: usize = base.strip_prefix('%').and_then(|id| id.parse().ok()).ok_or_else(|| bad("no base"))?;
    // the program parser knows the syntax of literals
    let spaced = values.replace(", ", ",");
    let literals: String =
        spaced.split_whitespace().enumerate().map(|(i, v)| format!("const ${i} = {dtype} {v}\n")).collect();
    let literals: Program = literals.parse()?;
    let bytes: Vec<u8> =
        literals.consts.iter().flat_map(|v: &Scalar| v.to_bytes()[..v.dtype().size()].to_vec()).collect();
    let slot = memory.get_mut(id).and_then(|m| m.get_mut(..bytes.len())).ok_or_else(|| bad("too many values"))?;
    slot.copy_from_slice(&bytes);
    Ok(())
}

/// Prints each output on a line: base, type, elements in memory order. NaNs are printed without sign and payload,
/// because arithmetic does not determine them.
pub fn show_outputs(program: &Program, memory: &[Vec<u8>]) -> String {
    let mut out = String::new();
    for (id, bytes) in memory.iter().enumerate().filter(|(id, _)| program.bases[*id].output) {
        let dtype = fill::element_type(program, id as u32);
        write!(out, "%{id} {dtype}:").expect("strings take any text");
        for element in bytes.chunks_exact(dtype.size()) {
            let value = plain_nan(Scalar::from_bytes(dtype, element));
            write!(out, " {value}").expect("strings take any text");
        }
        out.push('\n');
    }
    out
}

fn plain_nan(value: Scalar) -> Scalar {
    let f32 = |v: f32| if v.is_nan() { f32::NAN } else { v };
    let f64 = |v: f64| if v.is_nan() { f64::NAN } else { v };
    match value {
        Scalar::F16(v) if v.to_f32().is_nan() => Scalar::F16(F16(0x7E00)),
        Scalar::F32(v) => Scalar::F32(f32(v)),
        Scalar::F64(v) => Scalar::F64(f64(v)),
        Scalar::C64(v) => Scalar::C64(Complex64 { re: f32(v.re), im: f32(v.im) }),
        Scalar::C128(v) => Scalar::C128(Complex128 { re: f64(v.re), im: f64(v.im) }),
        other => other,
    }
}

fn print_passes(program: &Program, options: &Options) -> Result<String> {
    let explanation = numelt_opt::explain(program, options)?;
    let mut out = String::new();
    for (name, after) in &explanation.passes {
        write!(out, "after {name}:\n{after}").expect("strings take any text");
    }
    Ok(if out.is_empty() { "unchanged\n".to_string() } else { out })
}

fn print_costs(program: &Program, options: &Options, unit: u64) -> Result<String> {
    let mut out = String::new();
    for fuse in Fuse::ALL {
        let found = numelt_opt::explain(program, &Options { fuse, ..*options })?;
        let blocks: Vec<String> = found.blocks.iter().map(|b| format!("{:?}", b.instrs)).collect();
        writeln!(out, "{fuse} {}: {}", found.partition_bytes / unit, blocks.join(" ")).expect("strings take any text");
    }
    Ok(out)
}

fn print_kernels(program: &Program, options: &Options) -> Result<String> {
    let plan = numelt_opt::plan(program, options)?;
    let mut out = String::new();
    for step in &plan.steps {
        match step {
            Step::Kernel(step) => write!(out, "{}", step.kernel),
            Step::Nest(nest) => write!(out, "{nest}"),
            Step::Call(index) => writeln!(out, "call {}", plan.program.instrs[*index]),
        }
        .expect("strings take any text");
    }
    Ok(out)
}
