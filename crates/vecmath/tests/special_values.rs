//! Special values: infinities, NaN, signed zeros, subnormals, domain errors, exact cases,
//! and every argument of the special set against MPFR.

mod common;

use common::{Real, reference1, reference2, specials, ulp_error, ulp_error2};
use numelt_vecmath::{Func1, Func2, Isa};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn one<T: Real>(f: Func1, isa: Isa, x: f64) -> f64 {
    let mut y = [T::ONE];
    T::unary(f, isa, &[T::narrow(x)], &mut y);
    y[0].wide()
}

fn two<T: Real>(f: Func2, isa: Isa, a: f64, b: f64) -> f64 {
    let mut y = [T::ONE];
    T::binary(f, isa, &[T::narrow(a)], &[T::narrow(b)], &mut y);
    y[0].wide()
}

/// Same value, same sign of zero, or both NaN.
fn identical(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits()
}

/// A function with arguments and result.
type Rows1 = (Func1, &'static [(f64, f64)]);
type Rows2 = (Func2, &'static [(f64, f64, f64)]);

/// Argument and exact result of one-argument functions, as NumPy gives them.
#[rustfmt::skip]
const TABLE1: &[Rows1] = &[
    (Func1::Exp, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (1e10, INF), (-1e10, 0.0)]),
    (Func1::Exp2, &[(0.0, 1.0), (3.0, 8.0), (-2.0, 0.25), (INF, INF), (-INF, 0.0), (NAN, NAN), (-140.0, 7.174648137343064e-43), (2000.0, INF), (-2000.0, 0.0)]),
    (Func1::Expm1, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (NAN, NAN), (1e5, INF), (-1e5, -1.0)]),
    (Func1::Log, &[(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Log2, &[(1.0, 0.0), (8.0, 3.0), (0.125, -3.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Log10, &[(1.0, 0.0), (10.0, 1.0), (1000.0, 3.0), (1e10, 10.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (NAN, NAN)]),
    (Func1::Log1p, &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-2.0, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Sin, &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Cos, &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Tan, &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Arcsin, &[(0.0, 0.0), (-0.0, -0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Arccos, &[(1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Arctan, &[(0.0, 0.0), (-0.0, -0.0), (NAN, NAN)]),
    (Func1::Sinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (1e5, INF), (-1e5, -INF)]),
    (Func1::Cosh, &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (-1e5, INF)]),
    (Func1::Tanh, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (50.0, 1.0), (-50.0, -1.0)]),
    (Func1::Arcsinh, &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (Func1::Arccosh, &[(1.0, 0.0), (INF, INF), (0.5, NAN), (0.0, NAN), (-1.0, NAN), (-INF, NAN), (NAN, NAN)]),
    (Func1::Arctanh, &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-1.5, NAN), (INF, NAN), (NAN, NAN)]),
    (Func1::Cbrt, &[(0.0, 0.0), (-0.0, -0.0), (8.0, 2.0), (-27.0, -3.0), (1000.0, 10.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
    (Func1::Erf, &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN), (10.0, 1.0), (-10.0, -1.0)]),
    (Func1::Sqrt, &[(0.0, 0.0), (-0.0, -0.0), (4.0, 2.0), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)]),
];

/// The table of IEEE 754 and C99 for pow, arctan2, hypot and logarithms of sums (arguments in NumPy's order).
#[rustfmt::skip]
const TABLE2: &[Rows2] = &[
    (Func2::Pow, &[
        (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (1.0, NAN, 1.0), (1.0, INF, 1.0), (1.0, -INF, 1.0), (0.0, 0.0, 1.0), (INF, 0.0, 1.0), (-INF, -0.0, 1.0),
        (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0), (0.0, INF, 0.0), (-0.0, INF, 0.0),
        (0.0, -3.0, INF), (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-0.0, -0.5, INF), (0.0, -INF, INF), (-0.0, -INF, INF),
        (-1.0, INF, 1.0), (-1.0, -INF, 1.0), (0.5, INF, 0.0), (-0.5, INF, 0.0), (0.5, -INF, INF), (-0.5, -INF, INF),
        (2.0, INF, INF), (-2.0, INF, INF), (2.0, -INF, 0.0), (-2.0, -INF, 0.0), (INF, INF, INF), (INF, -INF, 0.0), (-INF, INF, INF), (-INF, -INF, 0.0),
        (INF, 2.0, INF), (INF, -2.0, 0.0), (INF, 0.5, INF), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, 0.5, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (-INF, -0.5, 0.0),
        (-2.0, 0.5, NAN), (-2.0, -1.5, NAN), (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, -1.0, -0.5), (2.0, 10.0, 1024.0), (3.0, 4.0, 81.0), (9.0, 0.5, 3.0),
        (NAN, 1.0, NAN), (2.0, NAN, NAN), (-1.0, NAN, NAN), (NAN, NAN, NAN), (0.0, NAN, NAN), (NAN, INF, NAN), (INF, NAN, NAN),
        (-1.0, 9007199254740992.0, 1.0), (-1.0, 1e30, 1.0), (-2.0, 1e30, INF), (-0.5, 1e30, 0.0), (2.0, 1e30, INF), (2.0, -1e30, 0.0), (1.0, 1e30, 1.0),
    ]),
    (Func2::Arctan2, &[
        (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (1.0, INF, 0.0), (-1.0, INF, -0.0),
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (INF, NAN, NAN), (NAN, NAN, NAN),
    ]),
    (Func2::Hypot, &[
        (3.0, 4.0, 5.0), (-3.0, 4.0, 5.0), (0.0, 0.0, 0.0), (-0.0, -0.0, 0.0), (0.0, -7.0, 7.0), (INF, 1.0, INF), (1.0, -INF, INF),
        (INF, NAN, INF), (NAN, -INF, INF), (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN), (INF, INF, INF),
    ]),
    (Func2::Logaddexp, &[
        (INF, INF, INF), (-INF, -INF, -INF), (INF, -INF, INF), (-INF, INF, INF), (-INF, 3.0, 3.0), (3.0, -INF, 3.0), (INF, 3.0, INF), (-INF, -0.0, 0.0),
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (-INF, NAN, NAN), (NAN, NAN, NAN), (1267650600228229401496703205376.0, 1e30, 1267650600228229401496703205376.0), (1000.0, 0.0, 1000.0),
    ]),
    (Func2::Logaddexp2, &[
        (0.0, 0.0, 1.0), (-1.0, -1.0, 0.0), (3.0, 3.0, 4.0), (-INF, -INF, -INF), (INF, INF, INF), (INF, -INF, INF), (-INF, 3.0, 3.0), (0.5, -INF, 0.5),
        (NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (NAN, NAN, NAN), (-2000.0, 2.0, 2.0),
    ]),
];

fn tables<T: Real>() {
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
        for (f, rows) in TABLE1 {
            for (x, want) in *rows {
                let got = one::<T>(*f, isa, *x);
                let want = T::narrow(*want).wide();
                assert!(identical(got, want), "{} {isa:?}({x:e}) is {got:e}, not {want:e}", f.name());
            }
        }
        for (f, rows) in TABLE2 {
            for (a, b, want) in *rows {
                let got = two::<T>(*f, isa, *a, *b);
                assert!(identical(got, *want), "{} {isa:?}({a:e}, {b:e}) is {got:e}, not {want:e}", f.name());
            }
        }
        angles::<T>(isa);
    }
}

/// Results that are multiples of pi/4, which round differently in each type.
fn angles<T: Real>(isa: Isa) {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let close = |got: f64, want: f64| got == T::narrow(want).wide();
    assert!(close(one::<T>(Func1::Arctan, isa, INF), FRAC_PI_2));
    assert!(close(one::<T>(Func1::Arctan, isa, -INF), -FRAC_PI_2));
    assert!(close(one::<T>(Func1::Arcsin, isa, 1.0), FRAC_PI_2));
    assert!(close(one::<T>(Func1::Arccos, isa, -1.0), PI));
    let quadrants = [
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (1.0, 0.0, FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (INF, 1.0, FRAC_PI_2),
        (-INF, 1.0, -FRAC_PI_2),
        (1.0, -INF, PI),
        (-1.0, -INF, -PI),
        (INF, INF, FRAC_PI_4),
        (-INF, INF, -FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (-INF, -INF, -3.0 * FRAC_PI_4),
        (2.0, 2.0, FRAC_PI_4),
        (-3.0, -3.0, -3.0 * FRAC_PI_4),
    ];
    for (y, x, want) in quadrants {
        let got = two::<T>(Func2::Arctan2, isa, y, x);
        assert!(close(got, want), "arctan2({y:e}, {x:e}) is {got:e}, not {want:e}");
    }
}

#[test]
fn tables_f64() {
    tables::<f64>();
}

#[test]
fn tables_f32() {
    tables::<f32>();
}

/// MPFR follows the same rules as NumPy except where noted, so it checks the whole grid.
fn grid<T: Real>() {
    let values = specials::<T>();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
        for &f in Func1::ALL {
            for x in &values {
                let got = one::<T>(f, isa, x.wide());
                let error = ulp_error(T::narrow(got), &reference1(f, x.wide(), T::PREC));
                assert!(error <= 1.0, "{} {isa:?}({x:?}) is {got:e}: {error} ULP", f.name());
            }
        }
        for &f in Func2::ALL {
            for a in &values {
                for b in &values {
                    let got = two::<T>(f, isa, a.wide(), b.wide());
                    let truth = reference2(f, a.wide(), b.wide(), T::PREC);
                    let error = ulp_error2(f, *a, *b, T::narrow(got), &truth);
                    assert!(error <= 1.0, "{} {isa:?}({a:?}, {b:?}) is {got:e}: {error} ULP", f.name());
                }
            }
        }
    }
}

#[test]
fn grid_f64() {
    grid::<f64>();
}

#[test]
fn grid_f32() {
    grid::<f32>();
}

/// Every power of two, and arguments next to multiples of pi/2 over the whole range.
#[test]
fn trigonometry_of_huge_arguments() {
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_supported()) {
        for e in 0..=1023 {
            for m in [1.0, 1.3, std::f64::consts::FRAC_PI_2, 1.999] {
                let x = m * f64::from(e).exp2();
                for f in [Func1::Sin, Func1::Cos, Func1::Tan] {
                    let got = one::<f64>(f, isa, x);
                    let error = ulp_error(got, &reference1(f, x, 160));
                    assert!(error <= 1.0, "{} {isa:?}({x:e}) is {got:e}: {error} ULP", f.name());
                }
            }
        }
        // the double closest to a multiple of pi/2 of all
        let x = 6381956970095103.0 * 2.0f64.powi(797);
        for f in [Func1::Sin, Func1::Cos, Func1::Tan] {
            let error = ulp_error(one::<f64>(f, isa, -x), &reference1(f, -x, 256));
            assert!(error <= 1.0, "{} {isa:?}(worst case): {error} ULP", f.name());
        }
    }
}
