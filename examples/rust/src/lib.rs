//! The programs of `examples/` in Rust: each is written with numelt, like the Python program of the same name, and with
//! `ndarray` and `rayon`.

mod black_scholes;
mod game_of_life;
mod heat_equation;
mod kmeans;
mod mandelbrot;
mod nbody;
pub mod options;
mod shallow_water;

use crate::options::Options;
use ndarray::ArrayD;
use numelt::AnyArray;
use std::time::Duration;

/// Named results of a program.
pub type Results = Vec<(&'static str, AnyArray)>;

/// The results of a program, and the time they took, without what the Python program does before its clock starts.
pub type Timed<T> = (T, Duration);

/// One of the programs.
pub struct Program {
    /// The name of the Python program.
    pub name: &'static str,
    /// The program, with numelt. It prints what the Python program prints.
    pub run: fn(&Options) -> Timed<Results>,
    /// The same with `ndarray`; returns the first of the results.
    pub with_ndarray: fn(&Options) -> Timed<ArrayD<f64>>,
}

/// All of them.
pub const PROGRAMS: [Program; 7] = [
    Program { name: "heat_equation", run: heat_equation::run, with_ndarray: heat_equation::with_ndarray },
    Program { name: "black_scholes", run: black_scholes::run, with_ndarray: black_scholes::with_ndarray },
    Program { name: "shallow_water", run: shallow_water::run, with_ndarray: shallow_water::with_ndarray },
    Program { name: "nbody", run: nbody::run, with_ndarray: nbody::with_ndarray },
    Program { name: "kmeans", run: kmeans::run, with_ndarray: kmeans::with_ndarray },
    Program { name: "game_of_life", run: game_of_life::run, with_ndarray: game_of_life::with_ndarray },
    Program { name: "mandelbrot", run: mandelbrot::run, with_ndarray: mandelbrot::with_ndarray },
];
