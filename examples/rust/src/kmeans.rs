//! Lloyd's k-means: the centres of clusters in a cloud of points; see `examples/kmeans.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array1, Array2, ArrayD, Axis, Zip};
use numelt::{Array, Generator, NewAxis, s};
use std::time::Instant;

/// Points (count, dimensions) around random centres.
fn cloud(count: usize, dimensions: usize, clusters: usize, seed: u128) -> Array<f64> {
    let mut rng = Generator::new(seed);
    let centres = rng.uniform(-10.0, 10.0, &[clusters, dimensions]);
    let owner = rng.integers(0, clusters as i64, &[count]).expect("clusters");
    centres.take(&owner, 0).expect("owners are clusters") + 3.0 * rng.standard_normal(&[count, dimensions])
}

/// The number of each point's nearest centre and the squared distance to it.
fn nearest(points: &Array<f64>, centres: &Array<f64>) -> (Array<i64>, Array<f64>) {
    let squares = (points.slice(s![.., NewAxis, ..]) - centres.slice(s![NewAxis, .., ..])).pow(2).sum_over(2);
    (squares.argmin_over(1), squares.min_over(1))
}

/// Every centre moved to the mean of its points; a centre without points stays.
fn update(points: &Array<f64>, labels: &Array<i64>, centres: &Array<f64>) -> Array<f64> {
    let moved = centres.copy();
    for j in 0..centres.len() {
        let mine = points.compress(&labels.equal(j)).expect("a label for each point");
        if !mine.is_empty() {
            moved.slice(s![j]).fill(mine.mean_over(0));
        }
    }
    moved
}

fn points(options: &Options) -> (Array<f64>, usize) {
    let clusters = options.count("clusters", 8);
    let seed = options.count("seed", 3) as u128;
    (cloud(options.count("count", 200_000), options.count("dimensions", 8), clusters, seed), clusters)
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let (points, clusters) = points(options);
    let start = Instant::now();
    let mut centres = points.slice(s![..clusters]).copy();
    let (mut labels, mut squares) = nearest(&points, &centres);
    let mut iterations = 0;
    while iterations < options.count("limit", 15) {
        if iterations > 0 {
            (labels, squares) = nearest(&points, &centres);
        }
        let moved = update(&points, &labels, &centres);
        let shift = (&moved - &centres).pow(2).sum().sqrt().item();
        centres = moved;
        iterations += 1;
        if shift < 1e-9 {
            break;
        }
    }
    let (sizes, inertia) = (labels.bincount().expect("labels").to_vec(), squares.sum().item());
    options.say(|| format!("{iterations} iterations, inertia {inertia:.6}, cluster sizes {sizes:?}"));
    let taken = start.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    (vec![("centres", centres.into()), ("labels", labels.into()), ("squares", squares.into())], taken)
}

/// The same with `ndarray`.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let (points, clusters) = points(options);
    let points: Array2<f64> = points.nd().expect("values").view().to_owned().into_dimensionality().expect("a matrix");
    let start = Instant::now();
    let mut centres = points.slice(ndarray::s![..clusters, ..]).to_owned();
    for _ in 0..options.count("limit", 15) {
        let mut labels = Array1::<usize>::zeros(points.nrows());
        let mut squares = Array1::<f64>::zeros(points.nrows());
        Zip::from(&mut labels).and(&mut squares).and(points.rows()).par_for_each(|label, least, point| {
            *least = f64::INFINITY;
            for (j, centre) in centres.rows().into_iter().enumerate() {
                let square = point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum();
                if square < *least {
                    (*label, *least) = (j, square);
                }
            }
        });
        let mut moved = Array2::<f64>::zeros(centres.raw_dim());
        let mut counts = vec![0usize; clusters];
        for (point, &label) in points.rows().into_iter().zip(&labels) {
            counts[label] += 1;
            let mut sum = moved.row_mut(label);
            sum += &point;
        }
        for (j, &count) in counts.iter().enumerate() {
            match count {
                0 => moved.row_mut(j).assign(&centres.row(j)),
                count => moved.row_mut(j).mapv_inplace(|sum| sum / count as f64),
            }
        }
        let shift = (&moved - &centres).mapv(|x| x * x).sum_axis(Axis(0)).sum().sqrt();
        centres = moved;
        if shift < 1e-9 {
            break;
        }
    }
    let taken = start.elapsed();
    (centres.into_dyn(), taken)
}
