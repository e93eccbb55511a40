//! The programs of `examples/` in Rust.
//!
//! `numelt-example-programs PROGRAM [--OPTION NUMBER]... [--save FOLDER]` runs a program like the Python program of
//! that name, with the same options, and writes its results as `.npy` files. `--bench ROUNDS` runs it and its
//! counterpart with `ndarray` and `rayon` alternately, and prints the shortest time of each; with `all` as the program,
//! it does so for all programs.

use ndarray::ArrayD;
use numelt_example_programs::options::Options;
use numelt_example_programs::{PROGRAMS, Program, Results};
use std::io::{Error, Result};
use std::path::Path;
use std::time::Duration;

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1)).map_err(Error::other)?;
    let chosen = || PROGRAMS.iter().filter(|program| options.program == "all" || options.program == program.name);
    if chosen().next().is_none() {
        return Err(Error::other(format!("there is no program {:?}", options.program)));
    }
    for program in chosen() {
        match options.rounds {
            Some(rounds) => compare(program, &options, rounds),
            None => {
                let (results, _) = (program.run)(&options);
                if let Some(folder) = &options.save {
                    save(Path::new(folder), &results)?;
                }
            }
        }
    }
    Ok(())
}

/// Runs a program both ways alternately, and prints the shortest times.
fn compare(program: &Program, options: &Options, rounds: usize) {
    let mut options = options.clone();
    options.quiet = true;
    let mut times = [Duration::MAX; 2];
    for _ in 0..rounds {
        let (mut ours, taken) = (program.run)(&options);
        times[0] = times[0].min(taken);
        let (theirs, taken) = (program.with_ndarray)(&options);
        times[1] = times[1].min(taken);
        let ours: ArrayD<f64> =
            ArrayD::from(&ours.remove(0).1.astype(numelt::DType::F64).typed().expect("it has been converted"));
        let largest = theirs.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let apart = (ours - &theirs).iter().fold(0.0f64, |most, value| most.max(value.abs()));
        assert!(apart <= 1e-8 * largest, "{}: results differ by {apart} of {largest}", program.name);
    }
    let [ours, theirs] = times.map(|time| time.as_secs_f64());
    println!(
        "{:<14} numelt {ours:.4} s  ndarray with rayon {theirs:.4} s  {:.2} times as fast",
        program.name,
        theirs / ours
    );
}

/// Writes each result as `NAME.npy`.
fn save(folder: &Path, results: &Results) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, array) in results {
        let scalars = array.to_scalars().map_err(Error::other)?;
        let kind = numelt::rules::names::numpy_name(array.dtype());
        let descr = match kind {
            "bool" => "|b1",
            "uint8" => "|u1",
            "int32" => "<i4",
            "int64" => "<i8",
            "float64" => "<f8",
            other => return Err(Error::other(format!("no program has results of {other}"))),
        };
        let extents: String = array.shape().iter().map(|n| format!("{n}, ")).collect();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
        // magic, version, length of the header, which ends with a line break at a multiple of 64 bytes
        let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((padded as u16).to_le_bytes());
        bytes.extend(format!("{header:<width$}\n", width = padded - 1).bytes());
        for scalar in scalars {
            bytes.extend(&scalar.to_bytes()[..array.dtype().size()]);
        }
        std::fs::write(folder.join(format!("{name}.npy")), bytes)?;
    }
    Ok(())
}
