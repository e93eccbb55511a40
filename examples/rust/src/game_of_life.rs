//! Conway's game of life on a torus, one byte a cell; see `examples/game_of_life.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array2, ArrayD, Zip, s as nd};
use numelt::{Array, DType, Generator, s, zeros_of};
use std::time::Instant;

/// A (size+2) x (size+2) world with a random interior; the outer ring is filled by `wrap`.
fn soup(size: usize, density: f64, seed: u128) -> Array<u8> {
    let world: Array<u8> = zeros_of(DType::U8, &[size + 2, size + 2]).typed().expect("bytes");
    world.slice(s![1..-1, 1..-1]).fill(Generator::new(seed).random(&[size, size]).less(density));
    world
}

/// Copies the cells along each edge to the outer ring on the other side, corners included.
fn wrap(world: &Array<u8>) {
    world.slice(s![0, ..]).fill(world.slice(s![-2, ..]));
    world.slice(s![-1, ..]).fill(world.slice(s![1, ..]));
    world.slice(s![.., 0]).fill(world.slice(s![.., -2]));
    world.slice(s![.., -1]).fill(world.slice(s![.., 1]));
}

/// Advances the world by one generation, in place.
fn generation(world: &Array<u8>) {
    wrap(world);
    let cells = world.slice(s![1..-1, 1..-1]);
    let rows = world.slice(s![..-2, ..]) + world.slice(s![1..-1, ..]) + world.slice(s![2.., ..]);
    let neighbours = rows.slice(s![.., ..-2]) + rows.slice(s![.., 1..-1]) + rows.slice(s![.., 2..]) - &cells;
    cells.fill(neighbours.equal(3) | (cells.equal(1) & neighbours.equal(2)));
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let generations = options.count("generations", 150);
    let world = soup(options.count("size", 2500), options.number("density", 0.3), options.count("seed", 4) as u128);
    let inner = world.slice(s![1..-1, 1..-1]);
    let start = Instant::now();
    let mut population = vec![inner.sum().item() as i64];
    for i in 1..=generations {
        generation(&world);
        if i % 10 == 0 || i == generations {
            population.push(inner.sum().item() as i64);
        }
    }
    let (first, last) = (population[0], population[population.len() - 1]);
    options.say(|| format!("population {first}, {last} after {generations} generations"));
    let taken = start.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    (vec![("world", world.into()), ("population", Array::from(population).into())], taken)
}

/// The same with `ndarray`.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let n = options.count("size", 2500);
    let soup = soup(n, options.number("density", 0.3), options.count("seed", 4) as u128);
    let mut world: Array2<u8> = soup.nd().expect("values").view().to_owned().into_dimensionality().expect("a matrix");
    let start = Instant::now();
    let mut population = Vec::new();
    let generations = options.count("generations", 150);
    for i in 1..=generations {
        for (to, from) in [(0, n), (n + 1, 1)] {
            let line = world.row(from).to_owned();
            world.row_mut(to).assign(&line);
        }
        for (to, from) in [(0, n), (n + 1, 1)] {
            let line = world.column(from).to_owned();
            world.column_mut(to).assign(&line);
        }
        let rows = Zip::from(world.slice(nd![..-2, ..]))
            .and(world.slice(nd![1..=n, ..]))
            .and(world.slice(nd![2.., ..]))
            .par_map_collect(|a, b, c| a + b + c);
        Zip::from(world.slice_mut(nd![1..=n, 1..=n]))
            .and(rows.slice(nd![.., ..-2]))
            .and(rows.slice(nd![.., 1..=n]))
            .and(rows.slice(nd![.., 2..]))
            .par_for_each(|cell, a, b, c| {
                let neighbours = a + b + c - *cell;
                *cell = u8::from(neighbours == 3 || *cell == 1 && neighbours == 2);
            });
        if i % 10 == 0 || i == generations {
            let inner = world.slice(nd![1..=n, 1..=n]);
            population.push(Zip::from(inner).par_fold(|| 0u64, |sum, &cell| sum + u64::from(cell), |a, b| a + b));
        }
    }
    let taken = start.elapsed();
    (world.mapv(f64::from).into_dyn(), taken)
}
