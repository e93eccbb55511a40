//! Nanoseconds per element of every function, on every instruction set of this machine.
//!
//! 2048 elements in L1, best of many runs. Arguments: optional names to measure.

use numelt_vecmath::{Func1, Func2, Isa, binary_f32, binary_f64, unary_f32, unary_f64};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 2048;

/// Best time per element of `run`, in nanoseconds.
fn best(mut run: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        let mut calls = 0;
        while calls < 3 || start.elapsed().as_micros() < 500 {
            run();
            calls += 1;
        }
        least = least.min(start.elapsed().as_nanos() as f64 / (calls * N) as f64);
    }
    least
}

/// The range of arguments measured.
fn range(f: Func1) -> (f64, f64) {
    match f {
        Func1::Arcsin | Func1::Arccos | Func1::Arctanh => (-1.0, 1.0),
        Func1::Log | Func1::Log2 | Func1::Log10 | Func1::Sqrt | Func1::Log1p => (0.01, 100.0),
        Func1::Arccosh => (1.0, 100.0),
        Func1::Erf | Func1::Tanh => (-4.0, 4.0),
        _ => (-10.0, 10.0),
    }
}

fn values(lo: f64, hi: f64) -> Vec<f64> {
    // a multiplicative sequence: spread, but without order for a branch predictor
    (0..N).map(|i| lo + (hi - lo) * ((i * 1021 + 7) % N) as f64 / N as f64).collect()
}

macro_rules! row {
    ($kernel:expr, $t:ty, $($x:expr),*) => {{
        let mut y = vec![0.0 as $t; N];
        let kernel = $kernel;
        // SAFETY: all slices hold N elements and the instruction set is supported.
        best(|| unsafe { kernel($(black_box($x.as_ptr()),)* y.as_mut_ptr(), N) })
    }};
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let skip = |name: &str| !wanted.is_empty() && !wanted.iter().any(|w| w == name);
    let sets: Vec<Isa> = Isa::ALL.into_iter().filter(|isa| isa.is_supported()).collect();
    println!("ns per element: f64 then f32 for each of {sets:?}");
    for f in Func1::ALL.iter().copied().filter(|f| !skip(f.name())) {
        let (lo, hi) = range(f);
        let x = values(lo, hi);
        let x32: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        print!("{:>8}", f.name());
        for isa in &sets {
            print!("  {:7.3} {:7.3}", row!(unary_f64(f, *isa), f64, x), row!(unary_f32(f, *isa), f32, x32));
        }
        println!();
    }
    for f in Func2::ALL.iter().copied().filter(|f| !skip(f.name())) {
        let (x, y) = (values(0.1, 10.0), values(-5.0, 5.0));
        let (x32, y32): (Vec<f32>, Vec<f32>) = x.iter().zip(&y).map(|(x, y)| (*x as f32, *y as f32)).unzip();
        print!("{:>8}", f.name());
        for isa in &sets {
            print!("  {:7.3} {:7.3}", row!(binary_f64(f, *isa), f64, x, y), row!(binary_f32(f, *isa), f32, x32, y32));
        }
        println!();
    }
}
