//! Largest error of every function against MPFR: at most 1 ULP.
//!
//! Each test prints the measured maximum and where it is (`--no-capture` shows it).

mod common;

use common::{Real, Rng, arguments1, arguments2, reference1, reference2, ulp_error, ulp_error2};
use numelt_vecmath::{Func1, Func2, Isa};

/// How many points: `NUMELT_ACCURACY_POINTS` (fewer under an emulator), or a number that runs in seconds.
fn points() -> usize {
    std::env::var("NUMELT_ACCURACY_POINTS").ok().and_then(|v| v.parse().ok()).unwrap_or(100_000)
}

fn report<T: Real>(name: &str, worst: (f64, f64, f64, T)) {
    let (error, x, y, got) = worst;
    let kind = std::any::type_name::<T>();
    println!("{name} {kind}: max {error:.3} ULP at ({x:e}, {y:e}) -> {got:?}");
    assert!(error <= 1.0, "{name} {kind}: {error} ULP at ({x:e}, {y:e}) -> {got:?}");
}

fn check1<T: Real>(f: Func1) {
    let mut rng = Rng(f as u64 + 1);
    let x = arguments1::<T>(f, points(), &mut rng);
    let mut y = vec![T::ONE; x.len()];
    T::unary(f, Isa::detect(), &x, &mut y);
    let mut worst = (-1.0, 0.0, 0.0, T::ONE);
    for (&x, &got) in x.iter().zip(&y) {
        let error = ulp_error(got, &reference1(f, x.wide(), T::PREC));
        if error > worst.0 {
            worst = (error, x.wide(), 0.0, got);
        }
    }
    report(f.name(), worst);
}

fn check2<T: Real>(f: Func2) {
    let mut rng = Rng(f as u64 + 100);
    let (a, b) = arguments2::<T>(f, points(), &mut rng);
    let mut y = vec![T::ONE; a.len()];
    T::binary(f, Isa::detect(), &a, &b, &mut y);
    let mut worst = (-1.0, 0.0, 0.0, T::ONE);
    for ((&a, &b), &got) in a.iter().zip(&b).zip(&y) {
        let error = ulp_error2(f, a, b, got, &reference2(f, a.wide(), b.wide(), T::PREC));
        if error > worst.0 {
            worst = (error, a.wide(), b.wide(), got);
        }
    }
    report(f.name(), worst);
}

macro_rules! tests {
    ($check:ident, $enum:ident: $($name:ident $variant:ident,)*) => {
        $(
            mod $name {
                #[test]
                fn f64() {
                    super::$check::<f64>(super::$enum::$variant);
                }
                #[test]
                fn f32() {
                    super::$check::<f32>(super::$enum::$variant);
                }
            }
        )*
    };
}

tests! { check1, Func1:
    exp Exp, exp2 Exp2, expm1 Expm1, log Log, log2 Log2, log10 Log10, log1p Log1p, sin Sin,
    cos Cos, tan Tan, arcsin Arcsin, arccos Arccos, arctan Arctan, sinh Sinh, cosh Cosh,
    tanh Tanh, arcsinh Arcsinh, arccosh Arccosh, arctanh Arctanh, cbrt Cbrt, erf Erf, sqrt Sqrt,
}

tests! { check2, Func2:
    pow Pow, arctan2 Arctan2, hypot Hypot, logaddexp Logaddexp, logaddexp2 Logaddexp2,
}
