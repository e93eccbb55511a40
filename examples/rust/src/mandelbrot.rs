//! The Mandelbrot set: how many iterations each point of the plane needs to escape; see `examples/mandelbrot.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array1, Array2, ArrayD, Zip};
use numelt::{Array, DType, NewAxis, s, select, zeros_of};
use std::time::Instant;

const CENTER: [f64; 2] = [-0.6, 0.0];
const SPAN: f64 = 3.2;

/// An array (height, width) of iterations before |z| exceeds 2, at most `limit`.
fn escape_times(width: usize, height: usize, limit: usize) -> Array<i32> {
    let step = SPAN / width as f64;
    let along = |center: f64, n: usize| -> Array<f64> {
        let places = numelt::arange(n as i64) - 0.5 * (n as f64 - 1.0);
        (center + step * places).typed().expect("floats")
    };
    let cx = along(CENTER[0], width).slice(s![NewAxis, ..]);
    let cy = along(CENTER[1], height).slice(s![.., NewAxis]);
    let mut x = Array::zeros(&[height, width]);
    let mut y = Array::zeros(&[height, width]);
    let mut count: Array<i32> = zeros_of(DType::I32, &[height, width]).typed().expect("integers");
    let choose = |inside: &Array<bool>, new: Array<f64>, old: &Array<f64>| -> Array<f64> {
        select(inside, new, old).typed().expect("floats")
    };
    for _ in 0..limit {
        let (xx, yy) = (&x * &x, &y * &y);
        let inside = (&xx + &yy).less_equal(4.0);
        count += &inside;
        // escaped points stay where they are, so that nothing overflows
        y = choose(&inside, 2.0 * &x * &y + &cy, &y);
        x = choose(&inside, xx - yy + &cx, &x);
    }
    count
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let start = Instant::now();
    let (width, height, limit) =
        (options.count("width", 1200), options.count("height", 900), options.count("limit", 120));
    let count = escape_times(width, height, limit);
    let (members, mean) = (count.equal(limit).count_nonzero(), count.mean());
    let (members, mean) = (members.item(), mean.item());
    let area = members as f64 * (SPAN / width as f64).powi(2);
    options.say(|| format!("{members} of {} points stay: area {area:.5}, mean escape time {mean:.4}", count.size()));
    let taken = start.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    (vec![("count", count.into())], taken)
}

/// The same with `ndarray`.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let start = Instant::now();
    let (width, height, limit) =
        (options.count("width", 1200), options.count("height", 900), options.count("limit", 120));
    let step = SPAN / width as f64;
    let along =
        |center: f64, n: usize| Array1::from_iter((0..n).map(|i| center + step * (i as f64 - 0.5 * (n as f64 - 1.0))));
    let cx = along(CENTER[0], width).insert_axis(ndarray::Axis(0));
    let cy = along(CENTER[1], height).insert_axis(ndarray::Axis(1));
    let mut x = Array2::<f64>::zeros((height, width));
    let mut y = Array2::<f64>::zeros((height, width));
    let mut count = Array2::<i32>::zeros((height, width));
    for _ in 0..limit {
        Zip::from(&mut x).and(&mut y).and(&mut count).and_broadcast(&cx).and_broadcast(&cy).par_for_each(
            |x, y, count, cx, cy| {
                let (xx, yy) = (*x * *x, *y * *y);
                if xx + yy <= 4.0 {
                    *count += 1;
                    *y = 2.0 * *x * *y + cy;
                    *x = xx - yy + cx;
                }
            },
        );
    }
    let taken = start.elapsed();
    (count.mapv(f64::from).into_dyn(), taken)
}
