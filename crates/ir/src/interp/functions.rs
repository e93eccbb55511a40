//! Complex square root, exponential, logarithm, sine, cosine and power in f64, with the special
//! values of C99's Annex G.

use super::complex_value::{Complex, complex};

type C = Complex<f64>;

/// Principal square root, cut along the negative real axis.
pub(super) fn sqrt(z: C) -> C {
    let C { re: a, im: b } = z;
    if a == 0.0 && b == 0.0 {
        return complex(0.0, b);
    }
    if b.is_infinite() {
        return complex(f64::INFINITY, b);
    }
    if a.is_nan() {
        return complex(f64::NAN, f64::NAN);
    }
    if a.is_infinite() {
        // b is finite or NaN
        let vanishing = b * 0.0;
        return if a > 0.0 { complex(a, vanishing.copysign(b)) } else { complex(vanishing.abs(), a.copysign(b)) };
    }
    // keep the modulus away from overflow, and from subnormals, which would lose bits
    let largest = a.abs().max(b.abs());
    if largest >= f64::MAX / 4.0 {
        return sqrt_scaled(a * 0.0625, b * 0.0625, 4.0);
    }
    if largest < f64::MIN_POSITIVE * 4.0 {
        let up = 2f64.powi(54);
        return sqrt_scaled(a * up, b * up, 2f64.powi(-27));
    }
    sqrt_scaled(a, b, 1.0)
}

fn sqrt_scaled(a: f64, b: f64, scale: f64) -> C {
    let root = ((a.abs() + a.hypot(b)) * 0.5).sqrt();
    if a >= 0.0 {
        complex(root * scale, b / (2.0 * root) * scale)
    } else {
        complex(b.abs() / (2.0 * root) * scale, (root * scale).copysign(b))
    }
}

/// `exp(x) (cos y + i sin y)`
pub(super) fn exp(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 {
        return complex(x.exp(), y);
    }
    if !y.is_finite() {
        return match x {
            f64::INFINITY => complex(x, f64::NAN),
            f64::NEG_INFINITY => complex(0.0, 0.0),
            _ => complex(f64::NAN, f64::NAN),
        };
    }
    scaled_exp(x, y.cos(), y.sin())
}

/// `exp(x) * (c, s)` without intermediate overflow.
fn scaled_exp(x: f64, c: f64, s: f64) -> C {
    // above this, exp(x) overflows although its product with a small sine may not
    if x > 709.0 && x < 1500.0 {
        let half = (x * 0.5).exp();
        return complex(half * c * half, half * s * half);
    }
    let e = x.exp();
    complex(e * c, e * s)
}

/// `log |z| + i arg z`
pub(super) fn log(z: C) -> C {
    complex(log_modulus(z.re, z.im), z.im.atan2(z.re))
}

/// `2^z`
pub(super) fn exp2(z: C) -> C {
    exp(complex(z.re * std::f64::consts::LN_2, z.im * std::f64::consts::LN_2))
}

/// `exp(z) - 1` without cancellation in the real part.
pub(super) fn expm1(z: C) -> C {
    let half = (z.im / 2.0).sin();
    complex(z.re.exp_m1() * z.im.cos() - 2.0 * half * half, z.re.exp() * z.im.sin())
}

pub(super) fn log2(z: C) -> C {
    let w = log(z);
    complex(w.re * std::f64::consts::LOG2_E, w.im * std::f64::consts::LOG2_E)
}

pub(super) fn log10(z: C) -> C {
    let w = log(z);
    complex(w.re * std::f64::consts::LOG10_E, w.im * std::f64::consts::LOG10_E)
}

/// `log(1 + z)`; the sum is rounded before the logarithm, as in NumPy.
pub(super) fn log1p(z: C) -> C {
    let x = z.re + 1.0;
    complex(x.hypot(z.im).ln(), z.im.atan2(x))
}

fn log_modulus(re: f64, im: f64) -> f64 {
    let size = re.hypot(im);
    if size.is_finite() && (0.5..=2.0).contains(&size) {
        return 0.5 * squares_minus_one(re, im).ln_1p();
    }
    if size.is_infinite() && re.is_finite() && im.is_finite() {
        return (re * 0.5).hypot(im * 0.5).ln() + std::f64::consts::LN_2;
    }
    if size < f64::MIN_POSITIVE && size > 0.0 {
        let up = 2f64.powi(54);
        return (re * up).hypot(im * up).ln() - 54.0 * std::f64::consts::LN_2;
    }
    size.ln()
}

/// `x*x + y*y - 1` without cancellation: the products are computed with their rounding errors and summed with enough
/// precision.
fn squares_minus_one(x: f64, y: f64) -> f64 {
    let (large, small) = if x.abs() >= y.abs() { (x, y) } else { (y, x) };
    let (p, q) = (large * large, small * small);
    let (p_rest, q_rest) = (large.mul_add(large, -p), small.mul_add(small, -q));
    let (a, a_rest) = two_sum(p, -1.0);
    let (b, b_rest) = two_sum(a, q);
    b + (b_rest + (a_rest + (p_rest + q_rest)))
}

/// A sum and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// `sin x cosh y + i cos x sinh y`
pub(super) fn sin(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 {
        return complex(x.sin(), if x.is_finite() { x.cos() * y } else { y });
    }
    if x == 0.0 {
        return complex(x, y.sinh());
    }
    if !x.is_finite() {
        // cosh is even and infinite, sinh infinite, or both NaN
        return if y.is_infinite() { complex(f64::NAN, y) } else { complex(f64::NAN, f64::NAN) };
    }
    let (grow, signed) = hyperbolic(y, x.sin(), x.cos());
    complex(grow, signed)
}

/// `cos x cosh y - i sin x sinh y`
pub(super) fn cos(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 {
        return complex(x.cos(), if x.is_finite() { -x.sin() * y } else { 0.0 });
    }
    if x == 0.0 {
        return complex(y.cosh(), if y.is_nan() { 0.0 } else { -x * y.signum() });
    }
    if !x.is_finite() {
        return if y.is_infinite() { complex(f64::INFINITY, f64::NAN) } else { complex(f64::NAN, f64::NAN) };
    }
    let (grow, signed) = hyperbolic(y, x.cos(), -x.sin());
    complex(grow, signed)
}

/// `(c cosh y, s sinh y)` without intermediate overflow.
fn hyperbolic(y: f64, c: f64, s: f64) -> (f64, f64) {
    let size = y.abs();
    if size > 700.0 && size < 1500.0 {
        let half = (size * 0.5).exp();
        return (0.5 * half * c * half, (0.5 * half * s * half) * y.signum());
    }
    (c * y.cosh(), s * y.sinh())
}

/// `exp(b log a)` for `a` and `b` that are not zero.
pub(super) fn power(a: C, b: C) -> C {
    exp(b.mul(log(a)))
}
