//! The value of a book of European options over a range of volatilities; see `examples/black_scholes.py`.

use crate::options::Options;
use crate::{Results, Timed};
use ndarray::{Array1, ArrayD, Zip};
use numelt::{AnyArray, Array, Generator, select, stack};
use std::f64::consts::PI;
use std::time::Instant;

/// Cumulative normal distribution (Abramowitz and Stegun 26.2.17, error below 7.5e-8).
fn normal_cdf(x: &Array<f64>) -> Array<f64> {
    let k = 1.0 / (1.0 + 0.2316419 * x.abs());
    let poly = &k * (0.319381530 + &k * (-0.356563782 + &k * (1.781477937 + &k * (-1.821255978 + &k * 1.330274429))));
    let tail = (-0.5 * x * x).exp() / (2.0 * PI).sqrt() * poly;
    select(x.greater(0.0), 1.0 - &tail, &tail).typed().expect("floats")
}

/// The call price, the put price, and the call's delta.
fn black_scholes([spot, strike, years]: &[Array<f64>; 3], rate: f64, volatility: f64) -> [Array<f64>; 3] {
    let root = volatility * years.sqrt();
    let d1 = ((spot / strike).log() + (rate + 0.5 * (volatility.powi(2))) * years) / &root;
    let d2 = &d1 - &root;
    let discounted = strike * (-rate * years).exp();
    let delta = normal_cdf(&d1);
    let call = spot * &delta - &discounted * normal_cdf(&d2);
    let put = &call - spot + &discounted;
    [call, put, delta]
}

/// Spot prices, strikes and times to expiry (in years).
fn market(count: usize, seed: u128) -> [Array<f64>; 3] {
    let mut rng = Generator::new(seed);
    let spot = rng.uniform(20.0, 120.0, &[count]);
    let strike = &spot * rng.uniform(0.7, 1.3, &[count]);
    let years = rng.uniform(0.05, 2.0, &[count]);
    [spot, strike, years]
}

/// The program.
pub fn run(options: &Options) -> Timed<Results> {
    let start = Instant::now();
    let market = market(options.count("count", 1_000_000), options.count("seed", 1) as u128);
    let volatilities = Array::linspace(0.1, 0.6, options.count("scenarios", 16));
    let (mut calls, mut puts, mut hedges) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for volatility in &volatilities {
        let [call, put, delta] = black_scholes(&market, options.number("rate", 0.03), volatility);
        calls.push(call.sum());
        puts.push(put.sum());
        hedges.push((&delta * &market[0]).sum());
        last = Some((call, delta));
    }
    let joined = |sums: &[Array<f64>]| {
        let sums: Vec<&AnyArray> = sums.iter().map(Array::as_any).collect();
        stack(&sums, 0).and_then(|joined| joined.typed::<f64>()).expect("as many sums as scenarios")
    };
    let (calls, puts, hedges) = (joined(&calls), joined(&puts), joined(&hedges));
    let (book, worst) = (&calls + &puts, hedges.abs().argmax().item());
    let (lowest, highest, hedge) = (book.at(&[0]), book.at(&[-1]), hedges.at(&[worst]));
    options.say(|| format!("book value {lowest:.2} at the lowest volatility, {highest:.2} at the highest"));
    options.say(|| format!("largest hedge {hedge:.2} at volatility {:.2}", volatilities.at(&[worst])));
    let taken = start.elapsed();
    options.say(|| format!("time: {:.4} s", taken.as_secs_f64()));
    let (call, delta) = last.expect("a scenario");
    (
        vec![
            ("calls", calls.into()),
            ("puts", puts.into()),
            ("hedges", hedges.into()),
            ("last_call", call.into()),
            ("last_delta", delta.into()),
        ],
        taken,
    )
}

/// The same with `ndarray`.
pub fn with_ndarray(options: &Options) -> Timed<ArrayD<f64>> {
    let start = Instant::now();
    let normal_cdf = |x: f64| {
        let k = 1.0 / (1.0 + 0.2316419 * x.abs());
        let poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
        let tail = (-0.5 * x * x).exp() / (2.0 * PI).sqrt() * poly;
        if x > 0.0 { 1.0 - tail } else { tail }
    };
    let market = market(options.count("count", 1_000_000), options.count("seed", 1) as u128);
    let [spot, strike, years] = market.each_ref().map(|line| Array1::from(line.to_vec()));
    let rate = options.number("rate", 0.03);
    let (mut calls, mut puts, mut hedges) = (Vec::new(), Vec::new(), Vec::new());
    for volatility in Array1::linspace(0.1, 0.6, options.count("scenarios", 16)) {
        let (mut call, mut put, mut delta) =
            (Array1::zeros(spot.len()), Array1::zeros(spot.len()), Array1::zeros(spot.len()));
        Zip::from(&mut call).and(&mut put).and(&mut delta).and(&spot).and(&strike).and(&years).par_for_each(
            |call, put, delta, &spot, &strike, &years| {
                let root = volatility * years.sqrt();
                let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / root;
                let discounted = strike * (-rate * years).exp();
                *delta = normal_cdf(d1);
                *call = spot * *delta - discounted * normal_cdf(d1 - root);
                *put = *call - spot + discounted;
            },
        );
        calls.push(call.sum());
        puts.push(put.sum());
        hedges.push(Zip::from(&delta).and(&spot).par_fold(|| 0.0, |sum, d, s| sum + d * s, |a, b| a + b));
    }
    let taken = start.elapsed();
    (Array1::from(calls).into_dyn(), taken)
}
