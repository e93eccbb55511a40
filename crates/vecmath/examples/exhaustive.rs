//! Largest error of f32 functions over every f32 there is.
//!
//! Arguments: names of functions (default: all). The reference is the f64 function of the
//! system's mathematical library, which shares no code with this crate and whose error is
//! some 2^-29 of an f32 ULP; that takes minutes a function. With `--own` it is this crate's
//! f64 function, which the accuracy tests compare with MPFR: half a minute. With
//! `--every=N` only every Nth block of 4096 neighbours is looked at. Every instruction
//! set with hardware FMA must agree bit by bit.

use numelt_vecmath::{Func1, Isa, unary_f32, unary_f64};

const BLOCK: usize = 1 << 12;

/// The system's function of that name.
fn reference(f: Func1) -> unsafe extern "C" fn(f64) -> f64 {
    unsafe extern "C" {
        fn acos(x: f64) -> f64;
        fn acosh(x: f64) -> f64;
        fn asin(x: f64) -> f64;
        fn asinh(x: f64) -> f64;
        fn atan(x: f64) -> f64;
        fn atanh(x: f64) -> f64;
        fn cbrt(x: f64) -> f64;
        fn cos(x: f64) -> f64;
        fn cosh(x: f64) -> f64;
        fn erf(x: f64) -> f64;
        fn exp(x: f64) -> f64;
        fn exp2(x: f64) -> f64;
        fn expm1(x: f64) -> f64;
        fn log(x: f64) -> f64;
        fn log10(x: f64) -> f64;
        fn log1p(x: f64) -> f64;
        fn log2(x: f64) -> f64;
        fn sin(x: f64) -> f64;
        fn sinh(x: f64) -> f64;
        fn sqrt(x: f64) -> f64;
        fn tan(x: f64) -> f64;
        fn tanh(x: f64) -> f64;
    }
    match f {
        Func1::Arccos => acos,
        Func1::Arccosh => acosh,
        Func1::Arcsin => asin,
        Func1::Arcsinh => asinh,
        Func1::Arctan => atan,
        Func1::Arctanh => atanh,
        Func1::Cbrt => cbrt,
        Func1::Cos => cos,
        Func1::Cosh => cosh,
        Func1::Erf => erf,
        Func1::Exp => exp,
        Func1::Exp2 => exp2,
        Func1::Expm1 => expm1,
        Func1::Log => log,
        Func1::Log10 => log10,
        Func1::Log1p => log1p,
        Func1::Log2 => log2,
        Func1::Sin => sin,
        Func1::Sinh => sinh,
        Func1::Sqrt => sqrt,
        Func1::Tan => tan,
        Func1::Tanh => tanh,
    }
}

/// One ULP of f32 at `x`.
fn ulp(x: f64) -> f64 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    2.0f64.powi((exponent - 23).max(-149))
}

/// Error of `got` in ULP of `truth`, where that is at least a half; 0 where both are the same special value.
fn error(got: f32, truth: f64) -> f64 {
    let best = truth as f32;
    if best.to_bits() == got.to_bits() || (best.is_nan() && got.is_nan()) {
        return if best.is_finite() { 0.5 } else { 0.0 };
    }
    if best.is_nan() || got.is_nan() || truth.is_infinite() || best == 0.0 && got == 0.0 {
        return f64::INFINITY;
    }
    let shown = if got.is_infinite() { 2.0f64.powi(128).copysign(f64::from(got)) } else { f64::from(got) };
    (shown - truth).abs() / ulp(truth)
}

/// Sign of `f(-x) / f(x)` for the functions that have such a rule.
fn parity(f: Func1) -> Option<f64> {
    match f {
        Func1::Cos | Func1::Cosh => Some(1.0),
        Func1::Arcsin | Func1::Arcsinh | Func1::Arctan | Func1::Arctanh | Func1::Cbrt => Some(-1.0),
        Func1::Erf | Func1::Sin | Func1::Sinh | Func1::Tan | Func1::Tanh => Some(-1.0),
        Func1::Arccos | Func1::Arccosh | Func1::Exp | Func1::Exp2 | Func1::Expm1 => None,
        Func1::Log | Func1::Log10 | Func1::Log1p | Func1::Log2 | Func1::Sqrt => None,
    }
}

/// The largest error so far, where it is, and the number of disagreements between instruction sets.
struct Worst(f64, f32, usize);

/// Compares the results for a block of numbers with the truth times `sign`.
fn compare(f: Func1, sets: &[Isa], x: &[f32], truth: &[f64], sign: f64, worst: &mut Worst) {
    let results: Vec<Vec<f32>> = (sets.iter())
        .map(|isa| {
            let mut y = vec![0.0f32; x.len()];
            // SAFETY: both hold as many elements and the set is supported.
            unsafe { unary_f32(f, *isa)(x.as_ptr(), y.as_mut_ptr(), x.len()) };
            y
        })
        .collect();
    for (i, truth) in truth.iter().enumerate() {
        let got = results[0][i];
        // most results are the rounded truth
        if ((sign * truth) as f32).to_bits() != got.to_bits() || worst.0 < 0.5 {
            let e = error(got, sign * truth);
            if e > worst.0 {
                (worst.0, worst.1) = (e, x[i]);
            }
        }
        let differs = |other: &Vec<f32>| other[i].to_bits() != got.to_bits() && !other[i].is_nan();
        worst.2 += results[1..].iter().filter(|other| differs(other)).count();
    }
}

/// The true results: the system's, or those of this crate's f64 function.
fn truths(f: Func1, own: bool, x: &[f32]) -> Vec<f64> {
    let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
    if own {
        let mut truth = vec![0.0; x.len()];
        // SAFETY: both hold as many elements and the set was detected.
        unsafe { unary_f64(f, Isa::detect())(wide.as_ptr(), truth.as_mut_ptr(), x.len()) };
        return truth;
    }
    let truth_of = reference(f);
    // SAFETY: a function of one number.
    wide.into_iter().map(|x| unsafe { truth_of(x) }).collect()
}

/// All floats, those with a sign beside those without where one truth does for both.
fn scan(f: Func1, own: bool, every: usize, sets: &[Isa]) -> Worst {
    let mut worst = Worst(0.0, 0.0, 0);
    let parity = parity(f);
    let half = 1u64 << 31;
    let last = if parity.is_some() { half } else { 2 * half };
    for first in (0..last).step_by(BLOCK * every) {
        let mut x: Vec<f32> = (0..BLOCK as u64).map(|i| f32::from_bits((first + i) as u32)).collect();
        let truth = truths(f, own, &x);
        compare(f, sets, &x, &truth, 1.0, &mut worst);
        if let Some(sign) = parity {
            x.iter_mut().for_each(|x| *x = -*x);
            compare(f, sets, &x, &truth, sign, &mut worst);
        }
    }
    worst
}

fn main() {
    let (options, wanted): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let own = options.iter().any(|o| o == "--own");
    let every = options.iter().find_map(|o| o.strip_prefix("--every=")?.parse().ok()).unwrap_or(1);
    // the portable set agrees by the tests; here it would take hours without an FMA
    let fast: Vec<Isa> = Isa::ALL.into_iter().filter(|i| i.is_supported() && *i != Isa::Portable).collect();
    let sets = if fast.is_empty() { vec![Isa::Portable] } else { fast };
    for f in Func1::ALL.iter().copied() {
        if wanted.is_empty() || wanted.iter().any(|w| w == f.name()) {
            let Worst(error, x, differing) = scan(f, own, every, &sets);
            println!("{:>8}: max {error:.4} ULP at {x:e}, {differing} differences between {sets:?}", f.name());
        }
    }
}
