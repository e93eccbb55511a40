//! Largest error of f32 functions over every f32 there is.
//!
//! Arguments: names of functions (default: the native f32 ones). The reference is this
//! crate's f64 function, whose error is some 2^-29 of an f32 ULP. Every instruction set
//! with hardware FMA must agree bit by bit.

use numelt_vecmath::{Func1, Isa, unary_f32, unary_f64};

const BLOCK: usize = 1 << 16;

/// One ULP of f32 at `x`.
fn ulp(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2.0f64.powi((exponent - 23).max(-149))
}

/// Error of `got` in ULP of `truth`; 0 where both are the same special value.
fn error(got: f32, truth: f64) -> f64 {
    let best = truth as f32;
    if best.to_bits() == got.to_bits() || (best.is_nan() && got.is_nan()) {
        let exact = best.is_nan() || best.is_infinite();
        return if exact { 0.0 } else { (f64::from(got) - truth).abs() / ulp(truth) };
    }
    if best.is_nan() || got.is_nan() || truth.is_infinite() || best == 0.0 && got == 0.0 {
        return f64::INFINITY;
    }
    let shown = if got.is_infinite() { 2.0f64.powi(128).copysign(f64::from(got)) } else { f64::from(got) };
    (shown - truth).abs() / ulp(truth)
}

/// Largest error, where it is, and the number of disagreements between instruction sets.
fn scan(f: Func1, sets: &[Isa]) -> (f64, f32, usize) {
    let mut worst = (0.0, 0.0f32, 0);
    let mut y = vec![vec![0.0f32; BLOCK]; sets.len()];
    let mut truth = vec![0.0f64; BLOCK];
    for block in 0..(1u64 << 32) / BLOCK as u64 {
        let x: Vec<f32> = (0..BLOCK as u64).map(|i| f32::from_bits((block * BLOCK as u64 + i) as u32)).collect();
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        for (isa, y) in sets.iter().zip(&mut y) {
            // SAFETY: both hold BLOCK elements and the set is supported.
            unsafe { unary_f32(f, *isa)(x.as_ptr(), y.as_mut_ptr(), BLOCK) };
        }
        // SAFETY: as above.
        unsafe { unary_f64(f, sets[0])(wide.as_ptr(), truth.as_mut_ptr(), BLOCK) };
        for i in 0..BLOCK {
            let e = error(y[0][i], truth[i]);
            if e > worst.0 {
                worst.0 = e;
                worst.1 = x[i];
            }
            let differs = |other: &Vec<f32>| other[i].to_bits() != y[0][i].to_bits() && !other[i].is_nan();
            worst.2 += y[1..].iter().filter(|other| differs(other)).count();
        }
    }
    worst
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let native = ["exp", "exp2", "log", "sin", "cos", "tanh", "erf"];
    // the portable set agrees by the tests; here it would take hours without an FMA
    let fast: Vec<Isa> = Isa::ALL.into_iter().filter(|i| i.is_supported() && *i != Isa::Portable).collect();
    let sets = if fast.is_empty() { vec![Isa::Portable] } else { fast };
    for f in Func1::ALL.iter().copied() {
        let listed = if wanted.is_empty() { native.contains(&f.name()) } else { wanted.iter().any(|w| w == f.name()) };
        if listed {
            let (error, x, differing) = scan(f, &sets);
            println!("{:>8}: max {error:.4} ULP at {x:e}, {differing} differences between {sets:?}", f.name());
        }
    }
}
