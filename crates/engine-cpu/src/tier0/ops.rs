//! The operations of the table as types, for the generic loops.
//!
//! In: values. Out: values. There is one row per operation; `elem.rs` defines the meaning of a row for each element
//! type. The rows of the macros `one` and `two` have the names of the op table, by which `select` finds them.

use crate::isa::Isa;
use crate::tier0::complex::Complex;
use crate::tier0::divide::{Division, Made};
use crate::tier0::elem::{Any, B8, Bits, Elem, Float, Inexact, Integer, Number, Real, Scales};
use crate::tier0::loops::{Loop, Op1, Op2, Versions};
use crate::tier0::with::with;
use numelt_ir::parts::{FloatParts, IntParts};
use numelt_ir::{DType, Op};
use std::cmp::Ordering;

/// Operations that use the bits of floats.
pub trait Neighbours: Elem + FloatParts {}
impl<T: Elem + FloatParts> Neighbours for T {}
/// Operations that use the divisors of integers.
pub trait Divisible: Elem + IntParts {}
impl<T: Elem + IntParts> Divisible for T {}

/// Comparisons of a 64-bit integer with one of the other signedness, whose bits are passed in the same type.
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

/// The same for operations of the op table, which are found by their name there. Each row says for which types, by a
/// name of `with!`.
macro_rules! one {
    ($($name:ident: $bound:ident -> $out:ty, $set:ident, |$a:ident| $e:expr;)*) => {
        ops1! { $($name: $bound -> $out, |$a| $e;)* }

        /// The loop of an operation on one operand; `None` for operations that have no row above.
        pub fn one(op: Op, ty: DType, isa: Isa) -> Option<Loop> {
            match op {
                $(Op::$name => with!(ty, $set, T => <T as Versions>::one::<$name>(isa)),)*
                _ => None,
            }
        }
    };
}
macro_rules! two {
    ($($name:ident: $bound:ident -> $out:ty, $set:ident, |$a:ident, $b:ident| $e:expr;)*) => {
        ops2! { $($name: $bound -> $out, |$a, $b| $e;)* }

        /// The loop of an operation on two operands; `None` for operations that have no row above.
        pub fn two(op: Op, ty: DType, isa: Isa) -> Option<Loop> {
            match op {
                $(Op::$name => with!(ty, $set, T => <T as Versions>::two::<$name>(isa)),)*
                _ => None,
            }
        }
    };
}

one! {
    Negative: Number -> T, number, |a| a.neg();
    Sign: Number -> T, number, |a| a.sign();
    Square: Any -> T, number, |a| a.mul(a);
    Reciprocal: Number -> T, number, |a| a.recip();
    Sqrt: Inexact -> T, inexact, |a| a.sqrt();
    Rint: Inexact -> T, inexact, |a| a.rint();
    Floor: Float -> T, float, |a| a.floor();
    Ceil: Float -> T, float, |a| a.ceil();
    Signbit: Float -> B8, float, |a| B8::new(a.signbit());
    LogicalNot: Any -> B8, all, |a| B8::new(!a.truth());
    Invert: Bits -> T, bits, |a| a.not();
    Isnan: Any -> B8, all, |a| B8::new(a.nan());
    Isinf: Any -> B8, all, |a| B8::new(a.inf());
    Isfinite: Any -> B8, all, |a| B8::new(a.finite());
    Conjugate: Number -> T, number, |a| a.conj();
    RealPart: Complex -> T::Real, complex, |a| a.re();
    ImagPart: Complex -> T::Real, complex, |a| a.im();
    Spacing: Neighbours -> T, halves, |a| a.spacing();
    Deg2rad: Scales -> T, float, |a| a.mul(T::DEGREE);
    Rad2deg: Scales -> T, float, |a| a.mul(T::RADIAN);
    FrexpMantissa: Scales -> T, float, |a| a.split_exponent().0;
    FrexpExponent: Scales -> i32, float, |a| a.split_exponent().1;
    ModfFraction: Scales -> T, float, |a| a.fraction();
    BitwiseCount: Divisible -> u8, integer, |a| a.count_bits();
}

ops1! {
    Absolute: Any -> T::Real, |a| a.abs();
    Trunc: Float -> T, |a| a.trunc();
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
}

two! {
    Add: Any -> T, all, |a, b| a.add(b);
    Subtract: Number -> T, number, |a, b| a.sub(b);
    Multiply: Any -> T, all, |a, b| a.mul(b);
    Divide: Inexact -> T, inexact, |a, b| a.div(b);
    FloorDivide: Real -> T, float, |a, b| a.floor_div(b);
    Remainder: Real -> T, float, |a, b| a.rem(b);
    Fmod: Real -> T, float, |a, b| a.fmod(b);
    Maximum: Any -> T, all, |a, b| a.max(b);
    Minimum: Any -> T, all, |a, b| a.min(b);
    Fmax: Any -> T, all, |a, b| a.fmax(b);
    Fmin: Any -> T, all, |a, b| a.fmin(b);
    Copysign: Float -> T, float, |a, b| a.copysign(b);
    Equal: Any -> B8, all, |a, b| B8::new(a.eq(b));
    NotEqual: Any -> B8, all, |a, b| B8::new(!a.eq(b));
    Less: Any -> B8, all, |a, b| B8::new(a.lt(b));
    LessEqual: Any -> B8, all, |a, b| B8::new(a.le(b));
    Greater: Any -> B8, all, |a, b| B8::new(b.lt(a));
    GreaterEqual: Any -> B8, all, |a, b| B8::new(b.le(a));
    LogicalAnd: Any -> B8, all, |a, b| B8::new(a.truth() & b.truth());
    LogicalOr: Any -> B8, all, |a, b| B8::new(a.truth() | b.truth());
    LogicalXor: Any -> B8, all, |a, b| B8::new(a.truth() ^ b.truth());
    BitwiseAnd: Bits -> T, bits, |a, b| a.and(b);
    BitwiseOr: Bits -> T, bits, |a, b| a.or(b);
    BitwiseXor: Bits -> T, bits, |a, b| a.xor(b);
    LeftShift: Integer -> T, integer, |a, b| a.shl(b);
    RightShift: Integer -> T, integer, |a, b| a.shr(b);
    Nextafter: Neighbours -> T, halves, |a, b| a.next_after(b);
    Heaviside: Scales -> T, float, |a, b| a.heaviside(b);
    Gcd: Divisible -> T, integer, |a, b| a.gcd(b);
    Lcm: Divisible -> T, integer, |a, b| a.lcm(b);
    EqualMixed: Mixed -> B8, wide, |a, b| B8::new(a.order(b).is_eq());
    NotEqualMixed: Mixed -> B8, wide, |a, b| B8::new(a.order(b).is_ne());
    LessMixed: Mixed -> B8, wide, |a, b| B8::new(a.order(b).is_lt());
    LessEqualMixed: Mixed -> B8, wide, |a, b| B8::new(a.order(b).is_le());
    GreaterMixed: Mixed -> B8, wide, |a, b| B8::new(a.order(b).is_gt());
    GreaterEqualMixed: Mixed -> B8, wide, |a, b| B8::new(a.order(b).is_ge());
}

impl Division for FloorDivide {
    const MADE: Made = Made::Quotient;
}
impl Division for Remainder {
    const MADE: Made = Made::Remainder;
}
impl Division for Fmod {
    const MADE: Made = Made::Fmod;
}

ops2! {
    Power: Number -> T, |a, b| a.pow(b);
}
