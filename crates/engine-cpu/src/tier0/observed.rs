//! Conditions that can be inferred neither from results nor from the flags of numelt's own loops: those of complex
//! arithmetic and the C library's complex functions, and of comparisons inside NumPy's loops.
//!
//! In: an operation and its loop dtype, or runs of operands and results. Out: conditions. An audit computes complex
//! values once more, one by one, and reads the processor's flags, as NumPy does.

use crate::tier0::checks::{Check, PLAIN, input, two};
use crate::tier0::complex::Complex;
use crate::tier0::elem::{Any, Elem, Inexact, Number};
use crate::tier0::loops::{Op1, Op2};
use crate::tier0::ops;
use crate::tier0::with::with;
use numelt_ir::warn::{INVALID, OVER};
use numelt_ir::{DType, F16, Op};
use numelt_vecmath::flags;
use std::hint::black_box;
use std::slice::from_raw_parts;

/// Checks for the comparisons that NumPy's loop makes with operands that may be NaN, for which they are invalid.
pub(super) fn disordered(op: Op, ty: DType) -> Option<Check> {
    match op {
        Op::Divide => with!(ty, complex, T => holds_nan_at::<T, 1> as Check),
        Op::Reciprocal => with!(ty, complex, T => holds_nan_at::<T, 0> as Check),
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => match ty {
            DType::C64 => Some(unordered::<f32> as Check),
            DType::C128 => Some(unordered::<f64> as Check),
            _ => None,
        },
        _ => None,
    }
}

/// A check of complex values that computes them once more and reads the processor's flags: NumPy's arithmetic on parts
/// and the C library raise flags that cannot be inferred from results.
pub(super) fn observed(op: Op, ty: DType) -> Option<Check> {
    macro_rules! one {
        ($o:ident) => {
            with!(ty, complex, T => observed_one::<T, ops::$o> as Check)
        };
    }
    macro_rules! two {
        ($o:ident) => {
            with!(ty, complex, T => observed_two::<T, ops::$o> as Check)
        };
    }
    match op {
        Op::Add => two!(Add),
        Op::Subtract => two!(Subtract),
        Op::Multiply => two!(Multiply),
        Op::Divide => with!(ty, complex, T => quotient::<T> as Check),
        Op::Reciprocal => with!(ty, complex, T => inverse_part::<T> as Check),
        Op::Power | Op::FloatPower => two!(Power),
        Op::Square => one!(Square),
        Op::Sqrt => one!(Sqrt),
        Op::Exp => one!(CExp),
        Op::Exp2 => one!(CExp2),
        Op::Expm1 => one!(CExpm1),
        Op::Log => one!(CLog),
        Op::Log2 => one!(CLog2),
        Op::Log10 => one!(CLog10),
        Op::Log1p => one!(CLog1p),
        Op::Sin => one!(CSin),
        Op::Cos => one!(CCos),
        Op::Tan => one!(CTan),
        Op::Arcsin => one!(CArcsin),
        Op::Arccos => one!(CArccos),
        Op::Arctan => one!(CArctan),
        Op::Sinh => one!(CSinh),
        Op::Cosh => one!(CCosh),
        Op::Tanh => one!(CTanh),
        Op::Arcsinh => one!(CArcsinh),
        Op::Arccosh => one!(CArccosh),
        Op::Arctanh => one!(CArctanh),
        // the others have no conditions, or rules on values
        _ => None,
    }
}

/// The flags that a function raises.
#[inline(always)]
fn raised(run: impl FnOnce()) -> u8 {
    let before = flags::save();
    flags::clear();
    run();
    let met = flags::get();
    before.restore_with(0);
    met
}

/// The flags of a function of one operand, element by element.
///
/// # Safety
/// As for [`Check`].
unsafe fn observed_one<T: Elem, O: Op1<T>>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let a: &[T] = unsafe { input(ins, 0, n) };
    raised(|| {
        for &a in a {
            black_box(O::f(black_box(a)));
        }
    })
}

/// The flags of a function of two operands, element by element.
///
/// # Safety
/// As for [`Check`].
unsafe fn observed_two<T: Elem, O: Op2<T>>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, b): (&[T], &[T]) = unsafe { (input(ins, 0, n), input(ins, 1, n)) };
    raised(|| {
        for (&a, &b) in a.iter().zip(b) {
            black_box(O::f(black_box(a), black_box(b)));
        }
    })
}

/// A complex quotient whose parts are divided one after the other if the divisor is zero. A vector of both parts would
/// have unused lanes that divide zero by zero.
struct Quotient;

impl<T: Complex<Real: Inexact>> Op2<T> for Quotient {
    type Out = T;
    #[inline(always)]
    fn f(a: T, b: T) -> T {
        if b.truth() {
            return ops::Divide::f(a, b);
        }
        black_box(a.re().div(black_box(b.re())));
        black_box(a.im().div(black_box(b.re())));
        a
    }
}

/// The conditions of a complex quotient: those of its arithmetic, and those of comparing the divisor's parts.
///
/// # Safety
/// As for [`Check`].
unsafe fn quotient<T: Complex<Real: Inexact>>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    unsafe { observed_two::<T, Quotient>(ins, out, n) | holds_nan_at::<T, 1>(ins, out, n) }
}

/// Conditions of a complex reciprocal.
///
/// # Safety
/// As for [`Check`].
unsafe fn inverse_part<T: Number>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    unsafe { observed_one::<T, ops::Reciprocal>(ins, out, n) | holds_nan_at::<T, 0>(ins, out, n) }
}

/// Whether an operand is NaN.
///
/// # Safety
/// As for [`Check`].
unsafe fn holds_nan_at<T: Any, const AT: usize>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let a: &[T] = unsafe { input(ins, AT, n) };
    if a.iter().any(|a| a.nan()) { INVALID } else { 0 }
}

/// Complex numbers compare by their real parts, and if those are equal, by their imaginary parts.
///
/// # Safety
/// As for [`Check`].
unsafe fn unordered<R: Any>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`; a complex number is its two parts.
    let (a, b): (&[[R; 2]], &[[R; 2]]) = unsafe { (input(ins, 0, n), input(ins, 1, n)) };
    let mut met = false;
    for (a, b) in a.iter().zip(b) {
        let (real, imaginary) = (a[0].nan() | b[0].nan(), a[1].nan() | b[1].nan());
        met |= real | (imaginary & a[0].eq(b[0]));
    }
    if met { INVALID } else { 0 }
}

/// Whether there are different operands whose difference is NaN.
///
/// # Safety
/// As for [`Check`].
unsafe fn incomparable<T: Any>(ins: *const *const u8, _: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, b): (&[T], &[T]) = unsafe { (input(ins, 0, n), input(ins, 1, n)) };
    if a.iter().zip(b).any(|(a, b)| a.nan() | b.nan()) { INVALID } else { 0 }
}

/// The conditions of the logarithm of a sum of powers.
///
/// # Safety
/// As for [`Check`].
pub(super) unsafe fn added<T: Any>(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    unsafe { two::<T, PLAIN>(ins, out, n) | incomparable::<T>(ins, out, n) }
}

/// The conditions of distances of halves to their neighbours; that of an infinity or NaN is invalid.
///
/// # Safety
/// As for [`Check`], of halves.
pub(super) unsafe fn spaced(ins: *const *const u8, out: *const u8, n: usize) -> u8 {
    // SAFETY: the contract of `Check`.
    let (a, o): (&[F16], &[F16]) = unsafe { (input(ins, 0, n), from_raw_parts(out.cast(), n)) };
    let mut met = 0;
    for (a, o) in a.iter().zip(o) {
        met |= if !a.finite() { INVALID } else { 0 };
        met |= if a.finite() && o.inf() { OVER } else { 0 };
    }
    met
}
