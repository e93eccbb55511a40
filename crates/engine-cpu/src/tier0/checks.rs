//! Rules on values: which conditions a run of operands and results meets.
//!
//! In: runs of operands and results. Out: conditions. Not here: which rule belongs to an operation (`report.rs`).

use crate::isa::{self, versions};
use crate::tier0::elem::Any;
use numelt_ir::warn::{DIVIDE, INVALID, OVER};
use numelt_ir::{Complex64, Complex128, DType, F16};
use std::slice::from_raw_parts;

/// Returns the conditions that a run of values meets. Arguments: operands, results, count.
///
/// # Safety
/// As for a loop, with the results computed.
pub type Check = unsafe fn(ins: *const *const u8, out: *const u8, n: usize) -> u8;

/// An infinity from two finite operands is an overflow.
pub(super) const PLAIN: u8 = 0;
/// Except if the second operand is zero.
pub(super) const BY_ZERO: u8 = 1;
/// Except if the first operand is zero.
pub(super) const OF_ZERO: u8 = 2;
/// Except if the second operand is zero; and NumPy's floor division meets NaN on the way to an overflow.
pub(super) const FLOORED: u8 = 3;

/// The `i`-th operand as a slice.
///
/// # Safety
/// `ins[i]` points at `n` aligned elements of type `T`.
#[inline(always)]
pub(super) unsafe fn input<'a, T>(ins: *const *const u8, i: usize, n: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { from_raw_parts((*ins.add(i)).cast(), n) }
}

/// Conditions of a function of one operand.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn one<T: Any, O: Any, const ENDLESS: u8>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, o): (&[T], &[O]) = unsafe { (input(ins, 0, n), from_raw_parts(out.cast(), n)) };
    let mut met = 0;
    for (&a, &o) in a.iter().zip(o) {
        if !o.finite() {
            met |= if o.nan() && !a.nan() { INVALID } else { 0 };
            met |= if o.inf() && a.finite() { ENDLESS } else { 0 };
        }
    }
    met
}

/// Conditions of `1 / x`.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn inverse<T: Any>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, o): (&[T], &[T]) = unsafe { (input(ins, 0, n), from_raw_parts(out.cast(), n)) };
    let mut met = 0;
    for (&a, &o) in a.iter().zip(o) {
        if !o.finite() && a.finite() {
            met |= if a.truth() { OVER } else { DIVIDE };
            met |= if o.nan() { INVALID } else { 0 };
        }
    }
    met
}

/// Conditions of a function of two operands.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn two<T: Any, const RULE: u8>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, b, o): (&[T], &[T], &[T]) = unsafe { (input(ins, 0, n), input(ins, 1, n), from_raw_parts(out.cast(), n)) };
    let mut met = 0;
    for ((&a, &b), &o) in a.iter().zip(b).zip(o) {
        if o.finite() {
            continue;
        }
        met |= if o.nan() && !a.nan() && !b.nan() { INVALID } else { 0 };
        if o.inf() && a.finite() && b.finite() {
            met |= match RULE {
                BY_ZERO if !b.truth() => DIVIDE,
                FLOORED if !b.truth() => DIVIDE,
                FLOORED => OVER | INVALID,
                OF_ZERO if !a.truth() => DIVIDE,
                _ => OVER,
            };
        }
    }
    met
}

/// Whether a result is NaN.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn holds_nan<T: Any>(_: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let values: &[T] = unsafe { from_raw_parts(out.cast(), n) };
    if values.iter().any(|v| v.nan()) { INVALID } else { 0 }
}

/// Whether a result is NaN or infinite.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn holds_special<T: Any>(_: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let values: &[T] = unsafe { from_raw_parts(out.cast(), n) };
    values.iter().fold(0, |met, v| met | if v.nan() { OVER | INVALID } else { 0 } | if v.inf() { OVER } else { 0 })
}

/// The conditions of a conversion to a shorter float.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn narrowed<T: Any, O: Any>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, o): (&[T], &[O]) = unsafe { (input(ins, 0, n), from_raw_parts(out.cast(), n)) };
    // a complex number that is converted to its real part is finite only if both parts are
    let met = a.iter().zip(o).any(|(a, o)| o.inf() && a.finite());
    if met { OVER } else { 0 }
}

/// The conditions of integer division: divisors of zero, and the one quotient that does not fit.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn divided<T: Edge, const QUOTIENT: bool>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`; this machine has the instruction set.
    let (zero, minus) = unsafe {
        let b = input(ins, 1, n);
        let mut found = (false, false);
        pick_edges::<T>(isa::detect())(b, &mut found);
        found
    };
    let mut over = false;
    if QUOTIENT && T::SIGNED && minus {
        // SAFETY: the contract of `Check`.
        let (a, b): (&[T], &[T]) = unsafe { (input(ins, 0, n), input(ins, 1, n)) };
        a.iter().zip(b).for_each(|(a, b)| over |= a.is_lowest() & b.is_minus_one());
    }
    (if zero { DIVIDE } else { 0 }) | (if over { OVER } else { 0 })
}

/// Whether zero is among the divisors, and whether -1 is.
///
/// # Safety
/// None is asked for.
#[inline(always)]
unsafe fn edges<T: Edge>(b: &[T], found: &mut (bool, bool)) {
    let (mut zero, mut minus) = (false, false);
    b.iter().for_each(|b| {
        zero |= !b.truth();
        minus |= b.is_minus_one();
    });
    *found = (zero, minus);
}
versions!(two pick_edges, edges, [T: Edge], (b: &[T], found: &mut (bool, bool)));

/// Integer reciprocals convert the infinity of 1/0.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn inverted<T: Any>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let a: &[T] = unsafe { input(ins, 0, n) };
    if a.iter().any(|a| !a.truth()) { DIVIDE | INVALID } else { 0 }
}

/// The two operands whose quotient does not fit.
pub(crate) trait Edge: Any {
    const SIGNED: bool;
    fn is_lowest(self) -> bool;
    fn is_minus_one(self) -> bool;
}
macro_rules! edges {
    ($signed:literal: $($t:ty)*) => {$(
        impl Edge for $t {
            const SIGNED: bool = $signed;
            #[inline(always)]
            fn is_lowest(self) -> bool {
                self == <$t>::MIN
            }
            #[inline(always)]
            fn is_minus_one(self) -> bool {
                self == <$t>::MAX.wrapping_add(<$t>::MAX).wrapping_add(1)
            }
        }
    )*};
}
edges!(true: i8 i16 i32 i64);
edges!(false: u8 u16 u32 u64);

/// A conversion to an integer is invalid if the processor's conversion is: through 32 bits for the short types, through
/// 64 bits for the long ones.
pub(super) fn to_integer(from: DType, to: DType) -> Option<Check> {
    macro_rules! range {
        ($low:expr, $high:expr) => {
            match from {
                DType::F16 => Some(outside::<F16, $low, $high> as Check),
                DType::F32 => Some(outside::<f32, $low, $high> as Check),
                DType::F64 => Some(outside::<f64, $low, $high> as Check),
                DType::C64 => Some(outside::<Complex64, $low, $high> as Check),
                DType::C128 => Some(outside::<Complex128, $low, $high> as Check),
                _ => None,
            }
        };
    }
    match to {
        DType::U64 => range!(63, 64),
        DType::I64 | DType::U32 => range!(63, 63),
        _ => range!(31, 31),
    }
}

/// The real part of a number, whose range is checked.
trait RealValue: Copy {
    fn real(self) -> f64;
}
impl RealValue for F16 {
    fn real(self) -> f64 {
        self.to_f64()
    }
}
impl RealValue for f32 {
    fn real(self) -> f64 {
        f64::from(self)
    }
}
impl RealValue for f64 {
    fn real(self) -> f64 {
        self
    }
}
impl RealValue for Complex64 {
    fn real(self) -> f64 {
        f64::from(self.re)
    }
}
impl RealValue for Complex128 {
    fn real(self) -> f64 {
        self.re
    }
}

/// Whether there are values whose integer part is not in `[-2^LOW, 2^HIGH)`.
///
/// # Safety
/// As for [`Check`].
unsafe fn outside<T: RealValue, const LOW: i32, const HIGH: i32>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let a: &[T] = unsafe { input(ins, 0, n) };
    let (low, high) = (-f64::exp2(f64::from(LOW)), f64::exp2(f64::from(HIGH)));
    // values between the bound and the next integer below it are truncated to the bound
    let low = if LOW < 53 { low - 1.0 } else { low.next_down() };
    let mut good = true;
    for &a in a {
        let x = a.real();
        good &= (x > low) & (x < high);
    }
    if good { 0 } else { INVALID }
}
