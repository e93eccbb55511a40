//! Floating-point conditions of tier 0: which flags its loops raise, and which values meet which condition.
//!
//! In: an operation and its loop dtype, or runs of operands and results. Out: flags. The rules are NumPy's, as its
//! ufuncs show them: a NaN from numbers is invalid; an infinity from finite operands is an overflow or, at a pole, a
//! division by zero; an operand that was NaN already raises nothing. The processor's flags say that a launch may have
//! met a condition; the rules on values say which operation did.

use crate::tier0::checks::{
    BY_ZERO, Check, FLOORED, OF_ZERO, PLAIN, divided, holds_nan, holds_special, inverse, inverted, narrowed, one,
    to_integer, two,
};
use crate::tier0::elem::Any;
use crate::tier0::observed::{added, disordered, observed, spaced};
use crate::tier0::with::with;
use numelt_ir::warn::{DIVIDE, INVALID, OVER, cast_raises};
use numelt_ir::{Complex64, Complex128, DType, F16, Op, Signature};
use numelt_opt::{Kernel, Node, Reduction};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// How the flags of a loop are determined.
#[derive(Clone, Copy)]
pub enum Report {
    /// The processor raises the flags of the operation.
    Hardware,
    /// The operation has no conditions, whatever flags the loop raises.
    Quiet,
    /// The processor's flags are not usable; the conditions are determined from the values.
    Checked(Check),
    /// The processor raises the flags of the arithmetic, and those of NumPy's comparisons are determined from the
    /// values.
    Added(Check),
}

/// The conditions that an audit looks for and those that it has found, for each value of a kernel's body.
pub struct Audit {
    wanted: Vec<u8>,
    found: Vec<AtomicU8>,
    /// For each reduction, the value that it folds, and its dtype's test for NaN if a NaN hides the reduction's own
    /// conditions.
    folds: Vec<(u32, Option<Check>)>,
    /// For each reduction, the conditions that the folded values had met before.
    poisoned: Vec<AtomicU8>,
    /// Whether everything has been found.
    done: AtomicBool,
}

impl Audit {
    /// An audit for the conditions that are wanted for each value of a kernel's body, and then for each reduction.
    pub fn new(kernel: &Kernel, wanted: &[u8]) -> Audit {
        let found = kernel.body.iter().map(|_| AtomicU8::new(0)).collect();
        let check = |ty| match ty {
            DType::F16 => Some(holds_special::<F16> as Check),
            _ => with!(ty, inexact, T => holds_nan::<T> as Check),
        };
        // If nothing else is computed, the flags are the sum's own, and adding a NaN raises none. Extremes of the same
        // elements compare them, which raises the flag for NaN.
        let computes = kernel.body.iter().any(|node| matches!(node, Node::Op(..) | Node::Cast(..)));
        let alone = !computes && kernel.reductions.iter().all(|r| r.op == Op::Sum);
        let told = |r: &Reduction| alone && r.op == Op::Sum && r.ty != DType::F16;
        let folds = kernel.reductions.iter().map(|r| (r.value, if told(r) { None } else { check(r.ty) }));
        Audit {
            wanted: wanted.to_vec(),
            found,
            folds: folds.collect(),
            poisoned: kernel.reductions.iter().map(|_| AtomicU8::new(0)).collect(),
            done: AtomicBool::new(false),
        }
    }

    /// Whether each condition has been found wherever it is wanted, and none is left to the reductions.
    fn is_complete(&self) -> bool {
        let (values, folds) = self.wanted.split_at(self.found.len());
        let mut all = 0;
        for (wanted, found) in values.iter().zip(&self.found) {
            let found = found.load(Ordering::Relaxed);
            if wanted & !found != 0 {
                return false;
            }
            all |= found;
        }
        folds.iter().all(|wanted| wanted & !all == 0)
    }

    /// Whether everything has been found that was looked for.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// The conditions that were found. Reductions are given those conditions that are wanted for them and that no value
    /// explains, unless a NaN was folded in a kernel that computes other values, too: then the flags do not tell
    /// whether the fold or one of these values met the condition.
    pub fn found(self) -> Vec<u8> {
        let mut found: Vec<u8> = self.found.into_iter().map(AtomicU8::into_inner).collect();
        let explained = found.iter().fold(0, |all, f| all | f);
        let folds = self.wanted[found.len()..].iter().zip(self.poisoned);
        let of = |(wanted, poisoned): (&u8, AtomicU8)| wanted & !explained & !poisoned.into_inner();
        found.extend(folds.map(of).collect::<Vec<u8>>());
        found
    }

    /// Examines the values that reductions fold; `run` returns the block of a value.
    pub fn visit_folds(&self, n: usize, run: impl Fn(u32) -> *const u8) {
        for (((value, check), poisoned), wanted) in
            self.folds.iter().zip(&self.poisoned).zip(&self.wanted[self.found.len()..])
        {
            if let Some(check) = check
                && wanted & (OVER | INVALID) & !poisoned.load(Ordering::Relaxed) != 0
            {
                // SAFETY: the block holds `n` values of the reduction's dtype.
                let hit = unsafe { check(std::ptr::null(), run(*value), n) };
                poisoned.fetch_or(hit, Ordering::Relaxed);
            }
        }
    }

    /// Examines a block of values, unless nothing more is wanted for them.
    #[inline]
    pub fn visit(&self, node: u32, check: impl FnOnce() -> u8) {
        let (wanted, found) = (self.wanted[node as usize], &self.found[node as usize]);
        let missing = wanted & !found.load(Ordering::Relaxed);
        if missing == 0 {
            return;
        }
        let hit = check() & missing;
        if hit != 0 {
            found.fetch_or(hit, Ordering::Relaxed);
            self.done.store(self.is_complete(), Ordering::Relaxed);
        }
    }
}

/// Conditions that a reduction with these results may have met.
///
/// # Safety
/// `pointer` is the element with all indices zero of a readable view of `dtype`.
pub unsafe fn met_by_results(dtype: DType, pointer: *const u8, extents: &[i64], strides: &[i64]) -> u8 {
    let (Some((&extent, extents)), Some((&stride, strides))) = (extents.split_first(), strides.split_first()) else {
        // SAFETY: an element of the view.
        let (nan, inf) = with!(dtype, number, T => unsafe { let v = pointer.cast::<T>().read(); (v.nan(), v.inf()) })
            .unwrap_or((true, true));
        return (if nan { OVER | INVALID } else { 0 }) | (if inf { OVER } else { 0 }) | DIVIDE;
    };
    // along a reduced loop, there is only one element
    let extent = if stride == 0 && extent > 1 { 1 } else { extent };
    let mut met = 0;
    for i in 0..extent {
        // SAFETY: inside the view.
        met |= unsafe { met_by_results(dtype, pointer.offset((i * stride) as isize), extents, strides) };
        if met == DIVIDE | OVER | INVALID {
            break;
        }
    }
    met
}

/// The conditions of folds in a dtype that raises no flags of its own: whether a result is infinite.
///
/// # Safety
/// As for [`met_by_results`].
pub unsafe fn met_by_half_folds(pointer: *const u8, extents: &[i64], strides: &[i64]) -> u8 {
    // SAFETY: the caller's contract.
    let met = unsafe { met_by_results(DType::F16, pointer, extents, strides) };
    // NaN alone is no evidence, because the processor does not tell whether it was there before
    met & OVER
}

/// How the flags of an operation's loop are determined.
pub fn of(op: Op, ty: DType) -> Report {
    let inexact = ty.is_float() || ty.is_complex();
    match op {
        _ if !inexact => check(op, ty).map_or(Report::Hardware, Report::Checked),
        // for the remainder of a quotient that overflows, or of an infinity, the library's flags count
        Op::FloorDivide | Op::Remainder | Op::Fmod => check(op, ty).map_or(Report::Hardware, Report::Checked),
        _ if op.raises(ty) == 0 => Report::Quiet,
        // computed in f32 and narrowed by integer arithmetic
        _ if ty == DType::F16 => check(op, ty).map_or(Report::Quiet, Report::Checked),
        Op::Absolute => check(op, ty).map_or(Report::Hardware, Report::Checked),
        _ => match disordered(op, ty) {
            Some(check) if op.info().signature == Signature::Predicate => Report::Checked(check),
            Some(check) => Report::Added(check),
            None => Report::Hardware,
        },
    }
}

/// The same for a conversion, and the check of its conditions.
pub fn of_cast(from: DType, to: DType) -> (Report, Option<Check>) {
    if cast_raises(from, to) == 0 {
        let inexact = from.is_float() || from.is_complex();
        return (if inexact { Report::Quiet } else { Report::Hardware }, None);
    }
    if to.is_integer() {
        let check = to_integer(from, to);
        return (check.map_or(Report::Hardware, Report::Checked), check);
    }
    let check: Option<Check> = match (from, to) {
        (DType::F64, DType::F32) => Some(narrowed::<f64, f32>),
        (DType::F64, DType::C64) => Some(narrowed::<f64, Complex64>),
        (DType::C128, DType::F32) => Some(narrowed::<Complex128, f32>),
        (DType::C128, DType::C64) => Some(narrowed::<Complex128, Complex64>),
        (DType::F32, DType::F16) => Some(narrowed::<f32, F16>),
        (DType::F64, DType::F16) => Some(narrowed::<f64, F16>),
        (DType::C64, DType::F16) => Some(narrowed::<Complex64, F16>),
        (DType::C128, DType::F16) => Some(narrowed::<Complex128, F16>),
        (_, DType::F16) => with!(from, integer, T => narrowed::<T, F16> as Check),
        _ => None,
    };
    if let (DType::F16, Some(check)) = (to, check) {
        return (Report::Checked(check), Some(check));
    }
    (Report::Hardware, check)
}

/// The check of an operation's conditions; `None` if it has none.
pub fn check(op: Op, ty: DType) -> Option<Check> {
    if op.raises(ty) == 0 {
        return None;
    }
    if !ty.is_float() && !ty.is_complex() {
        return match op {
            Op::FloorDivide => with!(ty, integer, T => divided::<T, true> as Check),
            Op::Remainder | Op::Fmod => with!(ty, integer, T => divided::<T, false> as Check),
            Op::Reciprocal => with!(ty, integer, T => inverted::<T> as Check),
            _ => None,
        };
    }
    if ty.is_complex()
        && let Some(check) = observed(op, ty)
    {
        return Some(check);
    }
    let pole = matches!(op, Op::Log | Op::Log2 | Op::Log10 | Op::Log1p | Op::Arctanh);
    match op {
        Op::Absolute => match ty {
            DType::C64 => Some(one::<Complex64, f32, OVER>),
            DType::C128 => Some(one::<Complex128, f64, OVER>),
            _ => None,
        },
        Op::Reciprocal => with!(ty, inexact, T => inverse::<T> as Check),
        Op::Divide | Op::Remainder | Op::Fmod => with!(ty, inexact, T => two::<T, BY_ZERO> as Check),
        Op::FloorDivide => with!(ty, inexact, T => two::<T, FLOORED> as Check),
        Op::Power | Op::FloatPower => with!(ty, inexact, T => two::<T, OF_ZERO> as Check),
        Op::Ldexp => with!(ty, inexact, T => one::<T, T, OVER> as Check),
        Op::Logaddexp | Op::Logaddexp2 => with!(ty, float, T => added::<T> as Check),
        Op::Spacing => Some(spaced),
        Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual => disordered(op, ty),
        _ if op.arity() == 1 && pole => with!(ty, inexact, T => one::<T, T, DIVIDE> as Check),
        _ if op.arity() == 1 => with!(ty, inexact, T => one::<T, T, OVER> as Check),
        _ => with!(ty, inexact, T => two::<T, PLAIN> as Check),
    }
}
