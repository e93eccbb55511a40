//! Temperature of a square plate whose four edges are held at fixed temperatures; see `examples/heat_equation.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array1, Array2, ArrayD, Zip, s as nd};
use numelt::{Array, NewAxis, s};
use std::f64::consts::PI;
use std::time::Instant;

/// An (n+2) x (n+2) plate in degrees Celsius, its edges set and its interior guessed.
fn plate(n: usize) -> Array<f64> {
    let along = Array::linspace(0.0, PI, n + 2);
    let (north, south) = (100.0 * along.sin(), 60.0 * (2.0 * &along).sin());
    let (west, east) = (-30.0 * (2.0 * &along).sin(), 75.0 * (3.0 * &along).sin());
    let near = (-&along).exp();
    let far = near.slice(s![..;-1]);
    let column = |line: &Array<f64>| line.slice(s![.., NewAxis]);
    let mut grid = column(&near) * &north + column(&far).pow(2) * &south;
    grid += column(&west) * near.pow(2) + column(&east) * far.pow(3);
    grid.slice(s![0, ..]).fill(&north);
    grid.slice(s![-1, ..]).fill(&south);
    grid.slice(s![.., 0]).fill(&west);
    grid.slice(s![.., -1]).fill(&east);
    grid
}

/// Iterates in place; gives the iterations done and the last mean change of a cell.
fn settle(grid: &Array<f64>, tolerance: f64, limit: usize) -> (usize, f64) {
    let center = grid.slice(s![1..-1, 1..-1]);
    let (north, south) = (grid.slice(s![..-2, 1..-1]), grid.slice(s![2.., 1..-1]));
    let (west, east) = (grid.slice(s![1..-1, ..-2]), grid.slice(s![1..-1, 2..]));
    let (mut change, mut iteration) = (tolerance + 1.0, 0);
    while change > tolerance && iteration < limit {
        let next = 0.2 * (&center + &north + &south + &east + &west);
        let moved = (&next - &center).abs().sum();
        center.fill(&next);
        change = moved.item() / center.size() as f64;
        iteration += 1;
    }
    (iteration, change)
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let start = Instant::now();
    let grid = plate(options.count("size", 1000));
    let (iterations, change) = settle(&grid, options.number("tolerance", 1e-5), options.count("limit", 150));
    let mean = grid.mean().item();
    options.say(|| format!("{iterations} iterations, mean temperature {mean:.6}, last mean change {change:.3e}"));
    let taken = start.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    let results = vec![
        ("temperature", grid.into()),
        ("iterations", Array::from(vec![iterations as i64]).reshape(&[]).expect("one number").into()),
        ("change", Array::from(vec![change]).reshape(&[]).expect("one number").into()),
    ];
    (results, taken)
}

/// The same with `ndarray`.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let start = Instant::now();
    let n = options.count("size", 1000) + 2;
    let (tolerance, limit) = (options.number("tolerance", 1e-5), options.count("limit", 150));
    let along = Array1::linspace(0.0, PI, n);
    let (north, south) = (along.mapv(|x| 100.0 * x.sin()), along.mapv(|x| 60.0 * (2.0 * x).sin()));
    let (west, east) = (along.mapv(|x| -30.0 * (2.0 * x).sin()), along.mapv(|x| 75.0 * (3.0 * x).sin()));
    let near = along.mapv(|x| (-x).exp());
    let mut grid = Array2::from_shape_fn((n, n), |(i, j)| {
        let far = |k: usize| near[n - 1 - k];
        near[i] * north[j] + far(i).powi(2) * south[j] + (west[i] * near[j].powi(2) + east[i] * far(j).powi(3))
    });
    grid.row_mut(0).assign(&north);
    grid.row_mut(n - 1).assign(&south);
    grid.column_mut(0).assign(&west);
    grid.column_mut(n - 1).assign(&east);
    let mut next = Array2::zeros((n - 2, n - 2));
    let (mut change, mut iteration) = (tolerance + 1.0, 0);
    while change > tolerance && iteration < limit {
        Zip::from(&mut next).and(grid.windows((3, 3))).par_for_each(|next, cells| {
            *next = 0.2 * (cells[[1, 1]] + cells[[0, 1]] + cells[[2, 1]] + cells[[1, 2]] + cells[[1, 0]]);
        });
        let mut center = grid.slice_mut(nd![1..n - 1, 1..n - 1]);
        let moved =
            Zip::from(&next).and(&center).par_fold(|| 0.0, |sum, next, cell| sum + (next - cell).abs(), |a, b| a + b);
        Zip::from(&mut center).and(&next).par_for_each(|cell, next| *cell = *next);
        change = moved / next.len() as f64;
        iteration += 1;
    }
    let taken = start.elapsed();
    (grid.into_dyn(), taken)
}
