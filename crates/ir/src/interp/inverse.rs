//! Complex tangents, hyperbolic functions and inverse functions in f64, by Kahan's formulas ("Branch cuts for complex
//! elementary functions", 1987). Their branch cuts are those of C99.

use super::complex_value::{Complex, complex};
use super::functions::{cos, sin, sqrt};

type C = Complex<f64>;

/// `f(i z) / i`, which is the circular function for a hyperbolic `f`, and the other way round.
fn rotated(f: fn(C) -> C, z: C) -> C {
    let w = f(complex(-z.im, z.re));
    complex(w.im, -w.re)
}

pub(super) fn sinh(z: C) -> C {
    rotated(sin, z)
}

pub(super) fn cosh(z: C) -> C {
    cos(complex(-z.im, z.re))
}

pub(super) fn tan(z: C) -> C {
    rotated(tanh, z)
}

pub(super) fn tanh(z: C) -> C {
    let C { re: x, im: y } = z;
    // the special values of the C standard, as the C library has them
    if x.is_infinite() {
        let turns = if y.is_finite() && y.abs() > 1.0 { y.sin() * y.cos() } else { y };
        return complex(1f64.copysign(x), 0f64.copysign(turns));
    }
    if x.is_nan() || !y.is_finite() {
        return if y == 0.0 { z } else { complex(if x == 0.0 { x } else { f64::NAN }, f64::NAN) };
    }
    if x.abs() > 22.0 {
        return complex(1f64.copysign(x), 4.0 * y.sin() * y.cos() * (-2.0 * x.abs()).exp());
    }
    let (t, s) = (y.tan(), x.sinh());
    let beta = 1.0 + t * t;
    let rho = (1.0 + s * s).sqrt();
    let d = 1.0 + beta * s * s;
    complex(beta * rho * s / d, t / d)
}

/// Square roots of `1 - z` and `1 + z`.
fn roots(z: C) -> (C, C) {
    (sqrt(complex(1.0 - z.re, -z.im)), sqrt(complex(1.0 + z.re, z.im)))
}

pub(super) fn arcsin(z: C) -> C {
    let (a, b) = roots(z);
    complex(z.re.atan2(a.re * b.re - a.im * b.im), libm::asinh(a.re * b.im - a.im * b.re))
}

pub(super) fn arccos(z: C) -> C {
    let (a, b) = roots(z);
    complex(2.0 * a.re.atan2(b.re), libm::asinh(b.re * a.im - b.im * a.re))
}

pub(super) fn arcsinh(z: C) -> C {
    rotated(arcsin, z)
}

pub(super) fn arccosh(z: C) -> C {
    let (a, b) = (sqrt(complex(z.re - 1.0, z.im)), sqrt(complex(z.re + 1.0, z.im)));
    complex(libm::asinh(a.re * b.re + a.im * b.im), 2.0 * a.im.atan2(b.re))
}

pub(super) fn arctan(z: C) -> C {
    rotated(arctanh, z)
}

pub(super) fn arctanh(z: C) -> C {
    let C { re: x, im: y } = z;
    let re = 0.25 * (4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)).ln_1p();
    complex(re, 0.5 * (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y))
}
