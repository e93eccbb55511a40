//! The operations of the table as types, for the generic loops.
//!
//! In: values. Out: values. One row per operation; what a row means per element type is in `elem.rs`.

use crate::tier0::complex::Complex;
use crate::tier0::elem::{Any, B8, Bits, Float, Inexact, Integer, Number, Real};
use crate::tier0::loops::{Op1, Op2};

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
}
