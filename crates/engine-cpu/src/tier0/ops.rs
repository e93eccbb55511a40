//! The operations of the table as types, for the generic loops.
//!
//! In: values. Out: values. One row per operation; what a row means per element type is in `elem.rs`.

use crate::tier0::complex::Complex;
use crate::tier0::elem::{Any, B8, Bits, Elem, Float, Inexact, Integer, Number, Real};
use crate::tier0::loops::{Op1, Op2};
use numelt_ir::parts::{Exponents, FloatParts, IntParts};
use std::cmp::Ordering;

/// Floats by their bits.
pub trait Neighbours: Elem + FloatParts {}
impl<T: Elem + FloatParts> Neighbours for T {}
/// Floats by their exponents.
pub trait Scales: Any + Exponents {}
impl<T: Any + Exponents> Scales for T {}
/// Integers by their divisors.
pub trait Divisible: Elem + IntParts {}
impl<T: Elem + IntParts> Divisible for T {}

/// A 64-bit integer against one of the other signedness, whose bits come as the same type.
pub trait Mixed: Elem {
    fn order(self, o: Self) -> Ordering;
}
impl Mixed for i64 {
    #[inline(always)]
    fn order(self, o: i64) -> Ordering {
        if self < 0 { Ordering::Less } else { (self as u64).cmp(&(o as u64)) }
    }
}
impl Mixed for u64 {
    #[inline(always)]
    fn order(self, o: u64) -> Ordering {
        if (o as i64) < 0 { Ordering::Greater } else { self.cmp(&o) }
    }
}

macro_rules! ops1 {
    ($($name:ident: $bound:ident -> $out:ty, |$a:ident| $e:expr;)*) => {$(
        pub struct $name;
        impl<T: $bound> Op1<T> for $name {
            type Out = $out;
            #[inline(always)]
            fn f($a: T) -> $out {
                $e
            }
        }
    )*};
}
macro_rules! ops2 {
    ($($name:ident: $bound:ident -> $out:ty, |$a:ident, $b:ident| $e:expr;)*) => {$(
        pub struct $name;
        impl<T: $bound> Op2<T> for $name {
            type Out = $out;
            #[inline(always)]
            fn f($a: T, $b: T) -> $out {
                $e
            }
        }
    )*};
}

ops1! {
    Negative: Number -> T, |a| a.neg();
    Absolute: Any -> T::Real, |a| a.abs();
    Sign: Number -> T, |a| a.sign();
    Square: Any -> T, |a| a.mul(a);
    Reciprocal: Number -> T, |a| a.recip();
    Sqrt: Inexact -> T, |a| a.sqrt();
    Rint: Inexact -> T, |a| a.rint();
    Floor: Float -> T, |a| a.floor();
    Ceil: Float -> T, |a| a.ceil();
    Trunc: Float -> T, |a| a.trunc();
    Signbit: Float -> B8, |a| B8::new(a.signbit());
    LogicalNot: Any -> B8, |a| B8::new(!a.truth());
    Invert: Bits -> T, |a| a.not();
    Isnan: Any -> B8, |a| B8::new(a.nan());
    Isinf: Any -> B8, |a| B8::new(a.inf());
    Isfinite: Any -> B8, |a| B8::new(a.finite());
    Conjugate: Number -> T, |a| a.conj();
    RealPart: Complex -> T::Real, |a| a.re();
    ImagPart: Complex -> T::Real, |a| a.im();
    CExp: Complex -> T, |a| a.cexp();
    CLog: Complex -> T, |a| a.clog();
    CSin: Complex -> T, |a| a.csin();
    CCos: Complex -> T, |a| a.ccos();
    CTan: Complex -> T, |a| a.ctan();
    CArcsin: Complex -> T, |a| a.casin();
    CArccos: Complex -> T, |a| a.cacos();
    CArctan: Complex -> T, |a| a.catan();
    CSinh: Complex -> T, |a| a.csinh();
    CCosh: Complex -> T, |a| a.ccosh();
    CTanh: Complex -> T, |a| a.ctanh();
    CArcsinh: Complex -> T, |a| a.casinh();
    CArccosh: Complex -> T, |a| a.cacosh();
    CArctanh: Complex -> T, |a| a.catanh();
    CExp2: Complex -> T, |a| a.cexp2();
    CExpm1: Complex -> T, |a| a.cexpm1();
    CLog2: Complex -> T, |a| a.clog2();
    CLog10: Complex -> T, |a| a.clog10();
    CLog1p: Complex -> T, |a| a.clog1p();
    Spacing: Neighbours -> T, |a| a.spacing();
    Deg2rad: Scales -> T, |a| a.mul(T::DEGREE);
    Rad2deg: Scales -> T, |a| a.mul(T::RADIAN);
    FrexpMantissa: Scales -> T, |a| a.split_exponent().0;
    FrexpExponent: Scales -> i32, |a| a.split_exponent().1;
    ModfFraction: Scales -> T, |a| a.fraction();
    BitwiseCount: Divisible -> u8, |a| a.count_bits();
}

ops2! {
    Add: Any -> T, |a, b| a.add(b);
    Subtract: Number -> T, |a, b| a.sub(b);
    Multiply: Any -> T, |a, b| a.mul(b);
    Divide: Inexact -> T, |a, b| a.div(b);
    FloorDivide: Real -> T, |a, b| a.floor_div(b);
    Remainder: Real -> T, |a, b| a.rem(b);
    Fmod: Real -> T, |a, b| a.fmod(b);
    Power: Number -> T, |a, b| a.pow(b);
    Maximum: Any -> T, |a, b| a.max(b);
    Minimum: Any -> T, |a, b| a.min(b);
    Fmax: Any -> T, |a, b| a.fmax(b);
    Fmin: Any -> T, |a, b| a.fmin(b);
    Copysign: Float -> T, |a, b| a.copysign(b);
    Equal: Any -> B8, |a, b| B8::new(a.eq(b));
    NotEqual: Any -> B8, |a, b| B8::new(!a.eq(b));
    Less: Any -> B8, |a, b| B8::new(a.lt(b));
    LessEqual: Any -> B8, |a, b| B8::new(a.le(b));
    Greater: Any -> B8, |a, b| B8::new(b.lt(a));
    GreaterEqual: Any -> B8, |a, b| B8::new(b.le(a));
    LogicalAnd: Any -> B8, |a, b| B8::new(a.truth() & b.truth());
    LogicalOr: Any -> B8, |a, b| B8::new(a.truth() | b.truth());
    LogicalXor: Any -> B8, |a, b| B8::new(a.truth() ^ b.truth());
    BitwiseAnd: Bits -> T, |a, b| a.and(b);
    BitwiseOr: Bits -> T, |a, b| a.or(b);
    BitwiseXor: Bits -> T, |a, b| a.xor(b);
    LeftShift: Integer -> T, |a, b| a.shl(b);
    RightShift: Integer -> T, |a, b| a.shr(b);
    Nextafter: Neighbours -> T, |a, b| a.next_after(b);
    Heaviside: Scales -> T, |a, b| a.step(b);
    Logaddexp: Scales -> T, |a, b| a.log_add_exp(b);
    Logaddexp2: Scales -> T, |a, b| a.log_add_exp2(b);
    Gcd: Divisible -> T, |a, b| a.gcd(b);
    Lcm: Divisible -> T, |a, b| a.lcm(b);
    EqualMixed: Mixed -> B8, |a, b| B8::new(a.order(b).is_eq());
    NotEqualMixed: Mixed -> B8, |a, b| B8::new(a.order(b).is_ne());
    LessMixed: Mixed -> B8, |a, b| B8::new(a.order(b).is_lt());
    LessEqualMixed: Mixed -> B8, |a, b| B8::new(a.order(b).is_le());
    GreaterMixed: Mixed -> B8, |a, b| B8::new(a.order(b).is_gt());
    GreaterEqualMixed: Mixed -> B8, |a, b| B8::new(a.order(b).is_ge());
}
