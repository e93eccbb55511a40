//! What the tests share: MPFR references, ULP errors, argument sets, slice calls.

#![allow(dead_code, reason = "each test file uses its part")]

use numelt_vecmath::{Func1, Func2, Isa, binary_f32, binary_f64, unary_f32, unary_f64};
use rug::Float;

/// Small generator of 64-bit numbers (splitmix).
pub struct Rng(pub u64);

impl Rng {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * ((self.bits() >> 11) as f64 / 9007199254740992.0)
    }

    pub fn pick<const N: usize>(&mut self, of: [f64; N]) -> f64 {
        of[(self.bits() % N as u64) as usize]
    }

    /// A random sign and a magnitude spread evenly over exponents.
    pub fn spread(&mut self, low_exp: f64, high_exp: f64) -> f64 {
        let m = self.uniform(low_exp, high_exp).exp2();
        if self.bits() & 1 == 0 { m } else { -m }
    }
}

/// The true value, to far more than `prec` of the type under test.
pub fn reference1(f: Func1, x: f64, prec: u32) -> Float {
    let x = Float::with_val(prec, x);
    match f {
        Func1::Exp => x.exp(),
        Func1::Exp2 => x.exp2(),
        Func1::Expm1 => x.exp_m1(),
        Func1::Log => x.ln(),
        Func1::Log2 => x.log2(),
        Func1::Log10 => x.log10(),
        Func1::Log1p => x.ln_1p(),
        Func1::Sin => x.sin(),
        Func1::Cos => x.cos(),
        Func1::Tan => x.tan(),
        Func1::Arcsin => x.asin(),
        Func1::Arccos => x.acos(),
        Func1::Arctan => x.atan(),
        Func1::Sinh => x.sinh(),
        Func1::Cosh => x.cosh(),
        Func1::Tanh => x.tanh(),
        Func1::Arcsinh => x.asinh(),
        Func1::Arccosh => x.acosh(),
        Func1::Arctanh => x.atanh(),
        Func1::Cbrt => x.cbrt(),
        Func1::Erf => x.erf(),
        Func1::Sqrt => x.sqrt(),
    }
}

/// As [`reference1`], for two arguments.
pub fn reference2(f: Func2, x: f64, y: f64, prec: u32) -> Float {
    let (x, y) = (Float::with_val(prec, x), Float::with_val(prec, y));
    match f {
        Func2::Pow => rug::ops::Pow::pow(x, y),
        Func2::Arctan2 => x.atan2(&y),
        Func2::Hypot => x.hypot(&y),
        Func2::Logaddexp => log_of_sum(x, y, prec, |x| x.exp(), |x| x.ln_1p()),
        Func2::Logaddexp2 => {
            let two = Float::with_val(2 * prec, 2).ln();
            log_of_sum(x, y, prec, |x| x.exp2(), |x| x.ln_1p() / two)
        }
    }
}

/// The logarithm of a sum of powers: the larger operand, and the logarithm of one and the power of the difference.
fn log_of_sum(
    x: Float,
    y: Float,
    prec: u32,
    power: impl Fn(Float) -> Float,
    log: impl FnOnce(Float) -> Float,
) -> Float {
    if x.is_nan() || y.is_nan() {
        return Float::with_val(prec, f64::NAN);
    }
    let (big, small) = if x < y { (y, x) } else { (x, y) };
    if big.is_infinite() || small.is_infinite() {
        // a sum, also of minus zero
        return big + 0.0f64;
    }
    // the operands' own digits, and as many for what their difference cancels
    let difference = Float::with_val(2200, &small - &big);
    let log = log(power(Float::with_val(2 * prec, difference)));
    Float::with_val(prec, big + log)
}

/// A type under test.
pub trait Real: Copy + PartialEq + std::fmt::Debug + 'static {
    const PREC: u32;
    /// Exponents of the largest and the smallest subnormal power of two.
    const EXP: (f64, f64);
    const ONE: Self;
    fn wide(self) -> f64;
    fn narrow(x: f64) -> Self;
    fn from_random(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn unary(f: Func1, isa: Isa, x: &[Self], y: &mut [Self]);
    fn binary(f: Func2, isa: Isa, a: &[Self], b: &[Self], y: &mut [Self]);
    /// Nearest value of the type.
    fn nearest(x: &Float) -> Self;
    /// Exponent of one ULP of values near `x`.
    fn ulp_exponent(x: &Float) -> i32;
}

macro_rules! real {
    ($t:ident, $bits:ident, $prec:literal, $min_exp:literal, $max_exp:literal, $to:ident, $mantissa:literal,
     $unary:ident, $binary:ident) => {
        impl Real for $t {
            const PREC: u32 = $prec;
            const EXP: (f64, f64) = ($max_exp, $min_exp);
            const ONE: Self = 1.0;
            fn wide(self) -> f64 {
                self as f64
            }
            fn narrow(x: f64) -> Self {
                x as $t
            }
            fn from_random(bits: u64) -> Self {
                $t::from_bits(bits as $bits)
            }
            fn bits(self) -> u64 {
                self.to_bits() as u64
            }
            fn unary(f: Func1, isa: Isa, x: &[Self], y: &mut [Self]) {
                assert_eq!(x.len(), y.len());
                assert!(isa.is_supported());
                // SAFETY: equal lengths, and the processor has the instruction set.
                unsafe { $unary(f, isa)(x.as_ptr(), y.as_mut_ptr(), x.len()) }
            }
            fn binary(f: Func2, isa: Isa, a: &[Self], b: &[Self], y: &mut [Self]) {
                assert!(a.len() == b.len() && a.len() == y.len());
                assert!(isa.is_supported());
                // SAFETY: equal lengths, and the processor has the instruction set.
                unsafe { $binary(f, isa)(a.as_ptr(), b.as_ptr(), y.as_mut_ptr(), a.len()) }
            }
            fn nearest(x: &Float) -> Self {
                x.$to()
            }
            fn ulp_exponent(x: &Float) -> i32 {
                // get_exp: x = m 2^e with m in [1/2, 1)
                let e = x.get_exp().unwrap_or($min_exp as i32);
                (e - $mantissa).max($min_exp as i32)
            }
        }
    };
}

real!(f64, u64, 128, -1074.0, 1023.0, to_f64, 53, unary_f64, binary_f64);
real!(f32, u32, 96, -149.0, 127.0, to_f32, 24, unary_f32, binary_f32);

/// Error of `got` in ULP of the true value; infinite for a wrong kind of result.
pub fn ulp_error<T: Real>(got: T, truth: &Float) -> f64 {
    error_in_units(got, truth, T::ulp_exponent(truth))
}

/// The same of a function of two numbers. Logarithms of sums are sums of the larger number and a logarithm, which may
/// cancel: their unit is at least that of half this number.
pub fn ulp_error2<T: Real>(f: Func2, x: T, y: T, got: T, truth: &Float) -> f64 {
    let mut unit = T::ulp_exponent(truth);
    if got.wide() == 0.0 && T::nearest(truth).wide() == 0.0 && !truth.is_zero() {
        return 0.0;
    }
    if matches!(f, Func2::Logaddexp | Func2::Logaddexp2) && truth.is_finite() {
        unit = unit.max(T::ulp_exponent(&Float::with_val(64, x.wide().max(y.wide()) / 2.0)));
    }
    error_in_units(got, truth, unit)
}

fn error_in_units<T: Real>(got: T, truth: &Float, unit: i32) -> f64 {
    let g = got.wide();
    let best = T::nearest(truth).wide();
    if best.is_nan() || g.is_nan() {
        return if best.is_nan() && g.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if best.is_infinite() || g.is_infinite() {
        if best == g {
            return 0.0;
        }
        // the last finite value against a truth that rounds up, or the reverse
        if truth.is_infinite() || (best.is_infinite() && g.is_infinite()) {
            return f64::INFINITY;
        }
    }
    if best == 0.0 && g == 0.0 {
        return if best.is_sign_negative() == g.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    let shown = if g.is_infinite() {
        // one past the largest finite value
        let limit = Float::with_val(8, Float::i_exp(1, T::EXP.0 as i32 + 1));
        if g < 0.0 { -limit } else { limit }
    } else {
        Float::with_val(64, g)
    };
    let diff = Float::with_val(64, shown - truth);
    let scaled = diff * Float::with_val(8, Float::i_exp(1, -unit));
    scaled.to_f64().abs()
}

/// Arguments of a function of one argument: typical range, wide range, near hard points.
pub fn arguments1<T: Real>(f: Func1, n: usize, rng: &mut Rng) -> Vec<T> {
    let mut out = Vec::with_capacity(n);
    while out.len() < n {
        let x = match out.len() % 4 {
            0 => typical(f, rng),
            1 => rng.spread(T::EXP.1, T::EXP.0 + 0.999),
            2 => hard::<T>(f, rng),
            _ => any_in_domain::<T>(f, rng),
        };
        out.push(T::narrow(into_domain(f, x)));
    }
    out
}

/// The range that programs mostly use.
fn typical(f: Func1, rng: &mut Rng) -> f64 {
    match f {
        Func1::Exp | Func1::Sinh | Func1::Cosh | Func1::Expm1 | Func1::Exp2 => rng.uniform(-20.0, 20.0),
        Func1::Log | Func1::Log2 | Func1::Log10 | Func1::Sqrt | Func1::Cbrt => rng.uniform(0.0, 100.0),
        Func1::Log1p => rng.uniform(-1.0, 10.0),
        Func1::Sin | Func1::Cos | Func1::Tan => rng.uniform(-30.0, 30.0),
        Func1::Arcsin | Func1::Arccos | Func1::Arctanh => rng.uniform(-1.0, 1.0),
        Func1::Arctan | Func1::Arcsinh => rng.uniform(-5.0, 5.0),
        Func1::Arccosh => rng.uniform(1.0, 20.0),
        Func1::Tanh | Func1::Erf => rng.uniform(-6.0, 6.0),
    }
}

/// Next to points where cancellation, switching or rounding is hardest.
fn hard<T: Real>(f: Func1, rng: &mut Rng) -> f64 {
    let near = |rng: &mut Rng, c: f64| {
        let x = T::narrow(c).wide();
        x + x * rng.spread(-(f64::from(if T::EXP.0 < 200.0 { 24 } else { 53 })), -2.0)
    };
    match f {
        Func1::Sin | Func1::Cos | Func1::Tan => {
            let k = rng.spread(0.0, 26.0).round();
            let steps = (rng.bits() % 9) as f64 - 4.0;
            let x = T::narrow(k * std::f64::consts::FRAC_PI_4).wide();
            let ulp = if T::EXP.0 < 200.0 { 2.0f64.powi(-24) } else { 2.0f64.powi(-53) };
            x + x * ulp * steps
        }
        Func1::Log | Func1::Log2 | Func1::Log10 => {
            let c = rng.pick([1.0, std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2]);
            near(rng, c)
        }
        Func1::Arccosh | Func1::Arctanh => near(rng, 1.0),
        Func1::Arcsin | Func1::Arccos => {
            let c = rng.pick([1.0, 0.5, -0.5, -1.0]);
            near(rng, c)
        }
        Func1::Arctan => {
            let c = rng.pick([0.4142135623730951, 2.414213562373095]);
            near(rng, c)
        }
        Func1::Exp | Func1::Expm1 | Func1::Tanh | Func1::Sinh | Func1::Cosh => {
            let k = (rng.bits() % 64) as f64 - 32.0;
            near(rng, (k + 0.5) * std::f64::consts::LN_2)
        }
        Func1::Exp2 => {
            let c = (rng.bits() % 256) as f64 - 127.5;
            near(rng, c)
        }
        Func1::Log1p => {
            let c = rng.pick([-0.2928932188134524, 0.4142135623730951, -1.0]);
            near(rng, c)
        }
        Func1::Erf => near(rng, 0.84375),
        Func1::Cbrt | Func1::Sqrt => {
            let c = ((rng.bits() % 100) as f64).powi(3);
            near(rng, c)
        }
        Func1::Arcsinh => {
            let c = rng.pick([1.0, 0.41, 1152921504606846976.0]);
            near(rng, c)
        }
    }
}

/// Over the part of the domain where the result is neither trivial nor out of range.
fn any_in_domain<T: Real>(f: Func1, rng: &mut Rng) -> f64 {
    let single = T::EXP.0 < 200.0;
    let e = if single { 104.0 } else { 746.0 };
    match f {
        Func1::Exp | Func1::Expm1 => rng.uniform(-e, e * 0.953),
        Func1::Exp2 => rng.uniform(-e * 1.45, e * 1.38),
        Func1::Sinh | Func1::Cosh => rng.uniform(-e * 0.953, e * 0.953),
        Func1::Sin | Func1::Cos | Func1::Tan => rng.spread(-3.0, 24.0),
        Func1::Tanh | Func1::Erf => rng.spread(-10.0, 4.0),
        Func1::Arcsin | Func1::Arccos | Func1::Arctanh => rng.spread(-10.0, 0.0),
        Func1::Arctan | Func1::Arcsinh | Func1::Log1p => rng.spread(-10.0, 10.0),
        Func1::Log | Func1::Log2 | Func1::Log10 | Func1::Arccosh => rng.spread(-4.0, 4.0),
        Func1::Sqrt | Func1::Cbrt => rng.spread(-40.0, 40.0),
    }
}

/// Moves an argument into the domain, where a function has one.
fn into_domain(f: Func1, x: f64) -> f64 {
    match f {
        Func1::Log | Func1::Log2 | Func1::Log10 | Func1::Sqrt => x.abs(),
        Func1::Log1p if x < -1.0 => -x,
        Func1::Arccosh if x.abs() < 1.0 => 1.0 / x.abs().max(1e-30),
        Func1::Arccosh => x.abs(),
        Func1::Arcsin | Func1::Arccos | Func1::Arctanh if x.abs() > 1.0 => 1.0 / x,
        _ => x,
    }
}

/// Argument pairs: typical, wide, near hard points.
pub fn arguments2<T: Real>(f: Func2, n: usize, rng: &mut Rng) -> (Vec<T>, Vec<T>) {
    let wide = |rng: &mut Rng| rng.spread(T::EXP.1, T::EXP.0 + 0.999);
    let pair = |i: usize, rng: &mut Rng| match (f, i % 4) {
        (Func2::Pow, _) if i / 8 % 2 == 1 => {
            // powers that go by multiplication, and their neighbours that do not; runs of one and mixed
            let y = if (i / 64).is_multiple_of(2) { (i / 128 % 35) as f64 } else { rng.uniform(0.0, 35.0).floor() };
            let x = rng.spread(-101.0, 101.0);
            (if rng.bits().is_multiple_of(8) { x } else { x.abs() }, y / 2.0 - 8.5)
        }
        (Func2::Pow, 0) => (rng.uniform(0.0, 10.0), rng.uniform(-10.0, 10.0)),
        (Func2::Pow, 1) => (wide(rng).abs(), rng.spread(-20.0, 5.0)),
        (Func2::Pow, 2) => {
            // results over the whole range of exponents
            let x = rng.spread(-3.0, 3.0).abs();
            (x, rng.uniform(T::EXP.1, T::EXP.0) / x.log2())
        }
        (Func2::Pow, _) => {
            let x = 1.0 + rng.spread(-if T::EXP.0 < 200.0 { 22.0 } else { 50.0 }, -1.0);
            (x, rng.uniform(T::EXP.1, T::EXP.0) / x.log2())
        }
        (Func2::Logaddexp | Func2::Logaddexp2, 0) => (rng.uniform(-800.0, 800.0), rng.uniform(-800.0, 800.0)),
        (Func2::Logaddexp | Func2::Logaddexp2, 1) => {
            let x = rng.spread(-20.0, 10.0);
            (x, x - rng.spread(-12.0, 6.0))
        }
        (Func2::Logaddexp | Func2::Logaddexp2, 2) => {
            // the logarithm alone
            (T::narrow(0.0).wide(), rng.uniform(T::EXP.1, 40.0))
        }
        (Func2::Logaddexp | Func2::Logaddexp2, _) if i / 4 % 2 == 1 => {
            // tiny numbers that cancel most of a tiny power
            let x = -rng.spread(T::EXP.1, -80.0).abs();
            let log = if f == Func2::Logaddexp { x.abs().ln() } else { x.abs().log2() };
            (x, log + rng.uniform(-1.0, 1.0))
        }
        (Func2::Logaddexp | Func2::Logaddexp2, _) => (wide(rng), wide(rng)),
        (_, 0) => (rng.uniform(-5.0, 5.0), rng.uniform(-5.0, 5.0)),
        (_, 1) => (wide(rng), wide(rng)),
        (_, 2) => {
            let x = wide(rng);
            (x * rng.spread(-3.0, 3.0), x)
        }
        (_, _) => {
            let x = rng.uniform(-2.0, 2.0);
            let c = rng.pick([1.0, 0.41421356237309503, 2.414213562373095]);
            (x * c * (1.0 + rng.spread(-52.0, -5.0)), x)
        }
    };
    (0..n)
        .map(|i| {
            let (a, b) = pair(i, rng);
            (T::narrow(a), T::narrow(b))
        })
        .unzip()
}

/// Values with a meaning of their own.
pub fn specials<T: Real>() -> Vec<T> {
    let (max_exp, min_exp) = T::EXP;
    let tiny = min_exp.exp2();
    let normal = (1.0 - max_exp).exp2();
    let max = max_exp.exp2() * 1.999999;
    let mut out = vec![0.0, tiny, 3.0 * tiny, normal, normal * 0.5, max, f64::INFINITY, f64::NAN];
    out.extend([0.1, 0.5, 0.9, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 10.0, 100.0, 1000.0, 1e6, 1e10]);
    out.extend([1e16, 1e22, 1e30, max_exp.exp2(), 16777215.0, 16777217.0, 9007199254740991.0]);
    out.extend([709.0, 710.0, 745.0, 746.0, 88.7, 88.8, 103.9, 104.0, 127.5, 149.0, 150.0, 1023.5]);
    let negative: Vec<f64> = out.iter().map(|x| -x).collect();
    out.extend(negative);
    out.into_iter().map(T::narrow).collect()
}
