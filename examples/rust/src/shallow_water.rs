//! Waves in a square basin: the shallow water equations; see `examples/shallow_water.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array2, ArrayD, ArrayView2, Zip, s as nd};
use numelt::{Array, NewAxis, s};
use std::time::Instant;

const GRAVITY: f64 = 9.81;
const RATIO: f64 = 0.15;

type State = [Array<f64>; 3];

/// Fills the outer ring of cells so that waves bounce off the four walls.
fn walls(state: &State) {
    for (field, sign_x, sign_y) in [(&state[0], 1.0, 1.0), (&state[1], -1.0, 1.0), (&state[2], 1.0, -1.0)] {
        field.slice(s![0, ..]).fill(sign_x * field.slice(s![1, ..]));
        field.slice(s![-1, ..]).fill(sign_x * field.slice(s![-2, ..]));
        field.slice(s![.., 0]).fill(sign_y * field.slice(s![.., 1]));
        field.slice(s![.., -1]).fill(sign_y * field.slice(s![.., -2]));
    }
}

/// Flux of depth, of the momentum along the direction of flow, and of the momentum across it.
fn flux([h, along, across]: &State) -> State {
    let speed = along / h;
    [along.clone(), along * &speed + 0.5 * GRAVITY * h * h, across * &speed]
}

/// The state half a step later in the middle of neighbouring rows.
fn half_step(state: &State) -> State {
    let fluxes = flux(state);
    std::array::from_fn(|k| {
        let (q, f) = (&state[k], &fluxes[k]);
        let mean = 0.5 * (q.slice(s![1.., ..]) + q.slice(s![..-1, ..]));
        mean - 0.5 * RATIO * (f.slice(s![1.., ..]) - f.slice(s![..-1, ..]))
    })
}

/// Advances the state in place by one time step.
fn step(state: &State) {
    walls(state);
    // the same half step serves both directions: the second works on transposed views
    let [h, hu, hv] = state;
    let x_half = half_step(&[h, hu, hv].map(|q| q.slice(s![.., 1..-1])));
    let y_half = half_step(&[h, hv, hu].map(|q| q.slice(s![1..-1, ..]).transpose()));
    let [fx_h, fx_u, fx_v] = flux(&x_half);
    let [fy_h, fy_v, fy_u] = flux(&y_half).map(|f| f.transpose());
    for (q, fx, fy) in [(h, fx_h, fy_h), (hu, fx_u, fy_u), (hv, fx_v, fy_v)] {
        let mut inner = q.slice(s![1..-1, 1..-1]);
        inner -= RATIO * (fx.slice(s![1.., ..]) - fx.slice(s![..-1, ..]))
            + RATIO * (fy.slice(s![.., 1..]) - fy.slice(s![.., ..-1]));
    }
}

/// Depth and momenta at the start: a column of water.
fn start(n: usize) -> State {
    let position: Array<f64> = (numelt::arange(n as i64 + 2) - 0.5).typed().expect("floats");
    let position = position / n;
    let distance = (position.slice(s![.., NewAxis]) - 0.35).pow(2) + (position.slice(s![NewAxis, ..]) - 0.4).pow(2);
    let h = 1.0 + 0.5 * (-60.0 * distance).exp();
    [h, Array::zeros(&[n + 2, n + 2]), Array::zeros(&[n + 2, n + 2])]
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let begin = Instant::now();
    let state = start(options.count("size", 400));
    let inner = state[0].slice(s![1..-1, 1..-1]);
    let volume = inner.sum().item();
    for _ in 0..options.count("steps", 120) {
        step(&state);
    }
    let (low, high, after) = (inner.min(), inner.max(), inner.sum());
    let (low, high, after) = (low.item(), high.item(), after.item());
    options.say(|| format!("depth {low:.6} to {high:.6}, volume {volume:.6} before, {after:.6} after"));
    let taken = begin.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    let [h, hu, hv] = state;
    (vec![("h", h.into()), ("hu", hu.into()), ("hv", hv.into())], taken)
}

type Fields = [Array2<f64>; 3];

/// The same with `ndarray`.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let begin = Instant::now();
    let n = options.count("size", 400);
    let mut state: Fields =
        start(n).map(|field| field.nd().expect("fields").view().to_owned().into_dimensionality().expect("fields"));
    for _ in 0..options.count("steps", 120) {
        for (k, signs) in [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]].into_iter().enumerate() {
            let field = &mut state[k];
            for (to, from) in [(0, 1), (n + 1, n)] {
                let line = field.row(from).mapv(|x| signs[0] * x);
                field.row_mut(to).assign(&line);
                let line = field.column(from).mapv(|x| signs[1] * x);
                field.column_mut(to).assign(&line);
            }
        }
        let [h, hu, hv] = &state;
        let fx = half_flux([h, hu, hv].map(|q| q.slice(nd![.., 1..=n])));
        let fy = half_flux([h, hv, hu].map(|q| q.slice(nd![1..=n, ..]).reversed_axes()));
        for (q, (fx, fy)) in state.iter_mut().zip([(&fx[0], &fy[0]), (&fx[1], &fy[2]), (&fx[2], &fy[1])]) {
            let fy = fy.view().reversed_axes();
            Zip::from(q.slice_mut(nd![1..=n, 1..=n]))
                .and(fx.slice(nd![1.., ..]))
                .and(fx.slice(nd![..-1, ..]))
                .and(fy.slice(nd![.., 1..]))
                .and(fy.slice(nd![.., ..-1]))
                .par_for_each(|q, a, b, c, d| *q -= RATIO * (a - b) + RATIO * (c - d));
        }
    }
    let [h, _, _] = state;
    let taken = begin.elapsed();
    (h.into_dyn(), taken)
}

/// The flux after half a step.
fn half_flux([h, along, across]: [ArrayView2<'_, f64>; 3]) -> Fields {
    let flux = |h: &ArrayView2<'_, f64>, along: &ArrayView2<'_, f64>, across: &ArrayView2<'_, f64>| -> Fields {
        let momentum = Zip::from(h).and(along).par_map_collect(|h, a| a * (a / h) + 0.5 * GRAVITY * h * h);
        let carried = Zip::from(h).and(along).and(across).par_map_collect(|h, a, c| c * (a / h));
        [along.to_owned(), momentum, carried]
    };
    let fluxes = flux(&h, &along, &across);
    let half: Vec<Array2<f64>> = [h, along, across]
        .iter()
        .zip(&fluxes)
        .map(|(q, f)| {
            Zip::from(q.slice(nd![1.., ..]))
                .and(q.slice(nd![..-1, ..]))
                .and(f.slice(nd![1.., ..]))
                .and(f.slice(nd![..-1, ..]))
                .par_map_collect(|a, b, c, d| 0.5 * (a + b) - 0.5 * RATIO * (c - d))
        })
        .collect();
    flux(&half[0].view(), &half[1].view(), &half[2].view())
}
