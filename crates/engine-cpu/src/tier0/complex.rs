//! Complex arithmetic with NumPy's formulas, and the C library's complex functions.
//!
//! In: values. Out: values. A product fuses one multiplication of each part with the addition, as NumPy's loops do;
//! inside folded runs and powers, NumPy rounds every product. NumPy itself calls the C library for `sqrt`, `exp`,
//! `log`, `sin`, `cos` and `power` of complex numbers, so calling the same functions gives the same bits.

use crate::tier0::elem::{Any, Inexact, Number};
use numelt_ir::{Complex64, Complex128};
use std::hint::black_box;

/// Functions of complex numbers only.
pub trait Complex: Inexact {
    fn re(self) -> Self::Real;
    fn im(self) -> Self::Real;
    fn cexp(self) -> Self;
    fn clog(self) -> Self;
    fn csin(self) -> Self;
    fn ccos(self) -> Self;
    fn ctan(self) -> Self;
    fn casin(self) -> Self;
    fn cacos(self) -> Self;
    fn catan(self) -> Self;
    fn csinh(self) -> Self;
    fn ccosh(self) -> Self;
    fn ctanh(self) -> Self;
    fn casinh(self) -> Self;
    fn cacosh(self) -> Self;
    fn catanh(self) -> Self;
    fn cexp2(self) -> Self;
    fn cexpm1(self) -> Self;
    fn clog2(self) -> Self;
    fn clog10(self) -> Self;
    fn clog1p(self) -> Self;
}

/// Multiplies both parts by a factor.
trait Scaled<R> {
    fn scaled(self, factor: R) -> Self;
}

mod c {
    use numelt_ir::{Complex64, Complex128};
    // the System V, AAPCS64 and Apple ABIs pass a C `double _Complex` like a struct of two doubles; the same holds for
    // float Apple ABIs; the same holds for float.
    #[link(name = "m")]
    unsafe extern "C" {
        pub safe fn csqrt(z: Complex128) -> Complex128;
        pub safe fn cexp(z: Complex128) -> Complex128;
        pub safe fn clog(z: Complex128) -> Complex128;
        pub safe fn csin(z: Complex128) -> Complex128;
        pub safe fn ccos(z: Complex128) -> Complex128;
        pub safe fn cpow(a: Complex128, b: Complex128) -> Complex128;
        pub safe fn ctan(z: Complex128) -> Complex128;
        pub safe fn casin(z: Complex128) -> Complex128;
        pub safe fn cacos(z: Complex128) -> Complex128;
        pub safe fn catan(z: Complex128) -> Complex128;
        pub safe fn csinh(z: Complex128) -> Complex128;
        pub safe fn ccosh(z: Complex128) -> Complex128;
        pub safe fn ctanh(z: Complex128) -> Complex128;
        pub safe fn casinh(z: Complex128) -> Complex128;
        pub safe fn cacosh(z: Complex128) -> Complex128;
        pub safe fn catanh(z: Complex128) -> Complex128;
        pub safe fn ctanf(z: Complex64) -> Complex64;
        pub safe fn casinf(z: Complex64) -> Complex64;
        pub safe fn cacosf(z: Complex64) -> Complex64;
        pub safe fn catanf(z: Complex64) -> Complex64;
        pub safe fn csinhf(z: Complex64) -> Complex64;
        pub safe fn ccoshf(z: Complex64) -> Complex64;
        pub safe fn ctanhf(z: Complex64) -> Complex64;
        pub safe fn casinhf(z: Complex64) -> Complex64;
        pub safe fn cacoshf(z: Complex64) -> Complex64;
        pub safe fn catanhf(z: Complex64) -> Complex64;
        pub safe fn csqrtf(z: Complex64) -> Complex64;
        pub safe fn cexpf(z: Complex64) -> Complex64;
        pub safe fn clogf(z: Complex64) -> Complex64;
        pub safe fn csinf(z: Complex64) -> Complex64;
        pub safe fn ccosf(z: Complex64) -> Complex64;
        pub safe fn cpowf(a: Complex64, b: Complex64) -> Complex64;
    }
}

macro_rules! complex {
    ($($t:ident, $r:ident, $csqrt:ident, $cexp:ident, $clog:ident, $csin:ident, $ccos:ident, $cpow:ident,
        [$($method:ident $function:ident)*];)*) => {$(
        impl Any for $t {
            type Real = $r;
            const ZERO: $t = $t { re: 0.0, im: 0.0 };
            const ONE: $t = $t { re: 1.0, im: 0.0 };
            #[inline(always)]
            fn add(self, o: $t) -> $t {
                $t { re: self.re + o.re, im: self.im + o.im }
            }
            #[inline(always)]
            fn mul(self, o: $t) -> $t {
                $t { re: self.re.mul_add(o.re, -(self.im * o.im)), im: self.re.mul_add(o.im, self.im * o.re) }
            }
            #[inline(always)]
            fn mul_in_run(self, o: $t) -> $t {
                $t { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re }
            }
            #[inline(always)]
            fn abs(self) -> $r {
                let (re, im) = (self.re.abs(), self.im.abs());
                let (large, small) = if re < im { (im, re) } else { (re, im) };
                let ratio = if large == 0.0 { large } else { small / large };
                let size = large * ratio.mul_add(ratio, 1.0).sqrt();
                if self.inf() {
                    $r::INFINITY
                } else if self.nan() {
                    $r::NAN
                } else {
                    size
                }
            }
            #[inline(always)]
            fn eq(self, o: $t) -> bool {
                (self.re == o.re) & (self.im == o.im)
            }
            #[inline(always)]
            fn lt(self, o: $t) -> bool {
                // lexicographic; false if an imaginary part that does not decide is NaN
                ((self.re < o.re) & !self.im.is_nan() & !o.im.is_nan()) | ((self.re == o.re) & (self.im < o.im))
            }
            #[inline(always)]
            fn le(self, o: $t) -> bool {
                ((self.re < o.re) & !self.im.is_nan() & !o.im.is_nan()) | ((self.re == o.re) & (self.im <= o.im))
            }
            #[inline(always)]
            fn truth(self) -> bool {
                (self.re != 0.0) | (self.im != 0.0)
            }
            #[inline(always)]
            fn nan(self) -> bool {
                self.re.is_nan() | self.im.is_nan()
            }
            #[inline(always)]
            fn inf(self) -> bool {
                self.re.is_infinite() | self.im.is_infinite()
            }
            #[inline(always)]
            fn finite(self) -> bool {
                self.re.is_finite() & self.im.is_finite()
            }
            // the first of equal values: `<=` instead of the `<` of floats, as in NumPy
            #[inline(always)]
            fn max(self, o: $t) -> $t {
                if o.le(self) | self.nan() { self } else { o }
            }
            #[inline(always)]
            fn min(self, o: $t) -> $t {
                if self.le(o) | self.nan() { self } else { o }
            }
            #[inline(always)]
            fn fmax(self, o: $t) -> $t {
                if o.le(self) | o.nan() { self } else { o }
            }
            #[inline(always)]
            fn fmin(self, o: $t) -> $t {
                if self.le(o) | o.nan() { self } else { o }
            }
        }
        impl Number for $t {
            #[inline(always)]
            fn sub(self, o: $t) -> $t {
                $t { re: self.re - o.re, im: self.im - o.im }
            }
            #[inline(always)]
            fn neg(self) -> $t {
                $t { re: -self.re, im: -self.im }
            }
            #[inline(always)]
            fn sign(self) -> $t {
                let abs = self.re.hypot(self.im);
                if abs.is_nan() {
                    $t { re: $r::NAN, im: $r::NAN }
                } else if abs.is_infinite() {
                    match (self.re.is_infinite(), self.im.is_infinite()) {
                        (true, true) => $t { re: $r::NAN, im: $r::NAN },
                        (true, false) => $t { re: (1.0 as $r).copysign(self.re), im: 0.0 },
                        (false, _) => $t { re: 0.0, im: (1.0 as $r).copysign(self.im) },
                    }
                } else if abs == 0.0 {
                    Self::ZERO
                } else {
                    $t { re: self.re / abs, im: self.im / abs }
                }
            }
            #[inline(always)]
            fn recip(self) -> $t {
                if self.im.abs() <= self.re.abs() {
                    let ratio = self.im / self.re;
                    let d = self.re + self.im * ratio;
                    $t { re: 1.0 / d, im: -ratio / d }
                } else {
                    let ratio = self.re / self.im;
                    let d = self.re * ratio + self.im;
                    $t { re: ratio / d, im: -1.0 / d }
                }
            }
            #[inline(always)]
            fn conj(self) -> $t {
                $t { re: self.re, im: -self.im }
            }
            /// Integer exponents below 100 by repeated multiplication, as in NumPy, others by `cpow`.
            #[inline(always)]
            fn pow(self, o: $t) -> $t {
                if o.re == 0.0 && o.im == 0.0 {
                    return Self::ONE;
                }
                if self.re == 0.0 && self.im == 0.0 {
                    if o.re > 0.0 {
                        return Self::ZERO;
                    }
                    raise_invalid();
                    return $t { re: $r::NAN, im: $r::NAN };
                }
                if o.im == 0.0 && o.re.trunc() == o.re && o.re.abs() < 100.0 {
                    return whole_power(self, o.re as i32);
                }
                // NumPy converts real exponents to integers to find out whether they are integers
                if o.im == 0.0 && o.re.is_nan() {
                    raise_invalid();
                }
                c::$cpow(self, o)
            }
        }
        impl Inexact for $t {
            #[inline(always)]
            fn div(self, o: $t) -> $t {
                let (a, b) = (o.re.abs(), o.im.abs());
                if a >= b {
                    if a == 0.0 && b == 0.0 {
                        return $t { re: self.re / a, im: self.im / a };
                    }
                    let ratio = o.im / o.re;
                    let scale = 1.0 / (o.re + o.im * ratio);
                    $t { re: (self.re + self.im * ratio) * scale, im: (self.im - self.re * ratio) * scale }
                } else {
                    let ratio = o.re / o.im;
                    let scale = 1.0 / (o.im + o.re * ratio);
                    $t { re: (self.re * ratio + self.im) * scale, im: (self.im * ratio - self.re) * scale }
                }
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                c::$csqrt(self)
            }
            #[inline(always)]
            fn rint(self) -> $t {
                $t { re: self.re.round_ties_even(), im: self.im.round_ties_even() }
            }
        }
        impl Scaled<$r> for $t {
            #[inline(always)]
            fn scaled(self, factor: $r) -> $t {
                $t { re: self.re * factor, im: self.im * factor }
            }
        }
        impl Complex for $t {
            #[inline(always)]
            fn re(self) -> $r {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $r {
                self.im
            }
            #[inline(always)]
            fn cexp(self) -> $t {
                c::$cexp(self)
            }
            #[inline(always)]
            fn clog(self) -> $t {
                c::$clog(self)
            }
            #[inline(always)]
            fn csin(self) -> $t {
                c::$csin(self)
            }
            #[inline(always)]
            fn ccos(self) -> $t {
                c::$ccos(self)
            }
            $(#[inline(always)]
            fn $method(self) -> $t {
                c::$function(self)
            })*
            #[inline(always)]
            fn cexp2(self) -> $t {
                self.scaled(std::$r::consts::LN_2).cexp()
            }
            #[inline(always)]
            fn cexpm1(self) -> $t {
                let half = (self.im / 2.0).sin();
                let re = self.re.exp_m1() * self.im.cos() - 2.0 * half * half;
                $t { re, im: self.re.exp() * self.im.sin() }
            }
            #[inline(always)]
            fn clog2(self) -> $t {
                self.clog().scaled(std::$r::consts::LOG2_E)
            }
            #[inline(always)]
            fn clog10(self) -> $t {
                self.clog().scaled(std::$r::consts::LOG10_E)
            }
            #[inline(always)]
            fn clog1p(self) -> $t {
                let x = self.re + 1.0;
                $t { re: x.hypot(self.im).ln(), im: self.im.atan2(x) }
            }
        }
    )*};
}
complex! {
    Complex64, f32, csqrtf, cexpf, clogf, csinf, ccosf, cpowf, [
        ctan ctanf casin casinf cacos cacosf catan catanf csinh csinhf ccosh ccoshf ctanh ctanhf
        casinh casinhf cacosh cacoshf catanh catanhf
    ];
    Complex128, f64, csqrt, cexp, clog, csin, ccos, cpow, [
        ctan ctan casin casin cacos cacos catan catan csinh csinh ccosh ccosh ctanh ctanh
        casinh casinh cacosh cacosh catanh catanh
    ];
}

/// Raises the processor's flag for an invalid operation.
#[cold]
fn raise_invalid() {
    black_box(black_box(f64::INFINITY) * black_box(0.0));
}

/// `base` to an integer power that is not zero.
#[inline]
fn whole_power<T: Inexact>(base: T, exponent: i32) -> T {
    match exponent {
        1 => return base,
        2 => return base.mul_in_run(base),
        3 => return base.mul_in_run(base.mul_in_run(base)),
        _ => {}
    }
    let (mut rest, mut power, mut out) = (exponent.unsigned_abs(), base, T::ONE);
    loop {
        if rest & 1 == 1 {
            out = out.mul_in_run(power);
        }
        rest >>= 1;
        if rest == 0 {
            break;
        }
        power = power.mul_in_run(power);
    }
    if exponent >= 0 {
        return out;
    }
    if out.nan() {
        raise_invalid(); // the quotient compares the divisor's parts
    }
    T::ONE.div(out)
}
