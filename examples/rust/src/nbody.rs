//! A cluster of stars under its own gravity; see `examples/nbody.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array1, Array2, ArrayD, Axis};
use numelt::{AnyArray, Array, Generator, NewAxis, s, stack};
use std::time::Instant;

const SOFTENING: f64 = 0.05;

fn joined(parts: &[Array<f64>]) -> Array<f64> {
    let parts: Vec<&AnyArray> = parts.iter().map(Array::as_any).collect();
    stack(&parts, 0).and_then(|joined| joined.typed()).expect("parts of one shape")
}

/// Masses (count,), positions (3, count) and velocities (3, count) of a slowly turning ball.
fn cluster(count: usize, seed: u128) -> [Array<f64>; 3] {
    let mut rng = Generator::new(seed);
    let mass = rng.uniform(0.5, 1.5, &[count]) / count;
    let radius = rng.random(&[count]).pow(1.0 / 3.0);
    let direction = rng.standard_normal(&[3, count]);
    let position = radius * &direction / direction.pow(2).sum_over(0).sqrt();
    let [x, y] = [0, 1].map(|axis| position.slice(s![axis, ..]));
    let velocity = joined(&[-0.5 * y, 0.5 * x, Array::zeros(&[count])]);
    [mass, position, velocity]
}

/// Distances along each axis and the softened squared distance between all pairs, each (count, count).
fn differences(position: &Array<f64>) -> ([Array<f64>; 3], Array<f64>) {
    let apart = [0, 1, 2].map(|axis| position.slice(s![axis, NewAxis, ..]) - position.slice(s![axis, .., NewAxis]));
    let [dx, dy, dz] = &apart;
    let square = dx.pow(2) + dy.pow(2) + dz.pow(2) + SOFTENING.powi(2);
    (apart, square)
}

/// The acceleration (3, count) that every star feels from all others.
fn acceleration(mass: &Array<f64>, position: &Array<f64>) -> Array<f64> {
    let (apart, square) = differences(position);
    let pull = mass.slice(s![NewAxis, ..]) * square.pow(-1.5);
    joined(&apart.map(|d| (&pull * d).sum_over(1)))
}

/// The total energy: kinetic plus potential.
fn energy(mass: &Array<f64>, position: &Array<f64>, velocity: &Array<f64>) -> f64 {
    let (_, square) = differences(position);
    let pairs = mass.slice(s![NewAxis, ..]) * mass.slice(s![.., NewAxis]) / square.sqrt();
    let potential = -0.5 * (pairs.sum() - mass.pow(2).sum() / SOFTENING);
    let kinetic = 0.5 * (mass * velocity.pow(2).sum_over(0)).sum();
    (kinetic + potential).item()
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let start = Instant::now();
    let [mass, mut position, mut velocity] = cluster(options.count("count", 1500), options.count("seed", 2) as u128);
    let dt = options.number("dt", 0.01);
    let before = energy(&mass, &position, &velocity);
    let mut force = acceleration(&mass, &position);
    for _ in 0..options.count("steps", 20) {
        velocity += 0.5 * dt * &force;
        position += dt * &velocity;
        force = acceleration(&mass, &position);
        velocity += 0.5 * dt * &force;
    }
    let after = energy(&mass, &position, &velocity);
    let drift = (after / before - 1.0).abs();
    options.say(|| format!("energy {before:.9} before, {after:.9} after: drift {drift:.2e}"));
    let taken = start.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    let energies = Array::from([before, after]);
    (vec![("position", position.into()), ("velocity", velocity.into()), ("energy", energies.into())], taken)
}

/// The same with `ndarray`: row by row, each on one of the threads.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let start = Instant::now();
    use ndarray::parallel::prelude::*;
    let [mass, position, velocity] = cluster(options.count("count", 1500), options.count("seed", 2) as u128);
    let mass = Array1::from(mass.to_vec());
    let matrix = |array: &Array<f64>| -> Array2<f64> {
        array.nd().expect("values").view().to_owned().into_dimensionality().expect("a matrix")
    };
    let (mut position, mut velocity) = (matrix(&position), matrix(&velocity));
    let dt = options.number("dt", 0.01);
    let square = |position: &Array2<f64>, i: usize, j: usize| {
        let d = [0, 1, 2].map(|axis| position[[axis, j]] - position[[axis, i]]);
        (d, d[0].powi(2) + d[1].powi(2) + d[2].powi(2) + SOFTENING.powi(2))
    };
    let acceleration = |position: &Array2<f64>| {
        let mut force = Array2::zeros(position.raw_dim());
        force.axis_iter_mut(Axis(1)).into_par_iter().enumerate().for_each(|(i, mut force)| {
            for (j, mass) in mass.iter().enumerate() {
                let (d, square) = square(position, i, j);
                let pull = mass * square.powf(-1.5);
                force[0] += pull * d[0];
                force[1] += pull * d[1];
                force[2] += pull * d[2];
            }
        });
        force
    };
    let energy = |position: &Array2<f64>, velocity: &Array2<f64>| -> f64 {
        let pairs =
            |i: usize| -> f64 { (0..mass.len()).map(|j| mass[i] * mass[j] / square(position, i, j).1.sqrt()).sum() };
        let pairs: f64 = (0..mass.len()).into_par_iter().map(pairs).sum();
        let own: f64 = mass.iter().map(|m| m * m).sum();
        let speeds = velocity.mapv(|v| v * v).sum_axis(Axis(0));
        0.5 * (&mass * &speeds).sum() - 0.5 * (pairs - own / SOFTENING)
    };
    let before = energy(&position, &velocity);
    let mut force = acceleration(&position);
    for _ in 0..options.count("steps", 20) {
        velocity.scaled_add(0.5 * dt, &force);
        position.scaled_add(dt, &velocity);
        force = acceleration(&position);
        velocity.scaled_add(0.5 * dt, &force);
    }
    assert!((energy(&position, &velocity) / before - 1.0).abs() < 1.0);
    let taken = start.elapsed();
    (position.into_dyn(), taken)
}
