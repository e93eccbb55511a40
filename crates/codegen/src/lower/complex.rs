//! Complex products and quotients on pairs of vectors.
//!
//! In: pairs (real, imaginary). Out: pairs, by NumPy's formulas in NumPy's order of operations.
//! Not here: operations on the real and the imaginary part alone.

use crate::builder::{Real, Val};
use crate::lower::{Lower, Value};
use numelt_ir::{DType, warn};

/// The divisor of lanes whose quotient is not used. It is not one: for AVX-512, LLVM turns `a / select(c, 1, b)` into
/// `select(c, a, a / b)`, because a division by one changes nothing. That division has the operands that the selection
/// was there to exclude, and raises their flags.
const IDLE_DIVISOR: f64 = 2.0;

impl Lower<'_> {
    /// (ar br - ai bi, ar bi + ai br), the products with ar not rounded before they are added.
    pub(crate) fn complex_multiply(&self, a: Value, b: Value) -> Value {
        let l = self.b;
        let ((ar, ai), (br, bi)) = (a.parts(), b.parts());
        let fused = |b: Val, term: Val| l.intrinsic("llvm.fma", &[l.type_of(ar)], &[ar, b, term]);
        Value::Complex(fused(br, l.fneg(l.fmul(ai, bi))), fused(bi, l.fmul(ai, br)))
    }

    /// The larger part times `sqrt(1 + ratio * ratio)`; infinite if a part is, else NaN if a part is.
    pub(crate) fn complex_absolute(&self, ty: DType, a: Value) -> Val {
        let l = self.b;
        let real = ty.real();
        let (re, im) = a.parts();
        let (re, im) = (self.magnitude(ty, re), self.magnitude(ty, im));
        let less = l.fcmp(Real::LLVMRealOLT, re, im);
        let (large, small) = (l.select(less, im, re), l.select(less, re, im));
        let (zero, one, infinity) = (self.number(real, 0.0), self.number(real, 1.0), self.number(real, f64::INFINITY));
        let equals = |v: Val, other: Val| l.fcmp(Real::LLVMRealOEQ, v, other);
        // no quotient of zeros or of infinities: it would raise a flag that nobody called for
        let odd = l.or(equals(large, zero), equals(large, infinity));
        let ratio = self.quotient_unless(real, odd, small, large);
        let square = self.float_intrinsic("llvm.fma", real, &[ratio, ratio, one]);
        let size = l.fmul(large, self.float_intrinsic("llvm.sqrt", real, &[square]));
        let not_a_number = l.fcmp(Real::LLVMRealUNO, re, im);
        let size = l.select(not_a_number, self.number(real, f64::NAN), size);
        l.select(l.or(equals(re, infinity), equals(im, infinity)), infinity, size)
    }

    /// Smith's method: both parts are divided by the larger part of the divisor. The two cases are one
    /// computation on swapped operands.
    pub(crate) fn complex_divide(&self, ty: DType, a: Value, b: Value) -> Value {
        let l = self.b;
        let ((ar, ai), (br, bi)) = (a.parts(), b.parts());
        let (br_abs, bi_abs) = (self.magnitude(ty, br), self.magnitude(ty, bi));
        self.raise_where(l.fcmp(Real::LLVMRealUNO, br, bi), warn::INVALID);
        let real_larger = l.fcmp(Real::LLVMRealOGE, br_abs, bi_abs);
        let (small, large) = (l.select(real_larger, bi, br), l.select(real_larger, br, bi));
        let (p, q) = (l.select(real_larger, ar, ai), l.select(real_larger, ai, ar));
        let (zero, one) = (self.number(ty, 0.0), self.number(ty, 1.0));
        let none = l.and(l.fcmp(Real::LLVMRealOEQ, br, zero), l.fcmp(Real::LLVMRealOEQ, bi, zero));
        // where one of the two ways is not taken, its quotients raise nothing
        let large = l.select(none, self.number(ty, IDLE_DIVISOR), large);
        let ratio = l.fdiv(small, large);
        let scale = l.fdiv(one, l.fadd(large, l.fmul(small, ratio)));
        let re = l.fmul(l.fadd(p, l.fmul(q, ratio)), scale);
        let turned = l.fmul(p, ratio);
        let im = l.select(real_larger, l.fsub(q, turned), l.fsub(turned, q));
        let im = l.fmul(im, scale);
        // A divisor of zero divides each part by it: infinities and NaN.
        let some = l.xor(none, l.const_int(l.type_of(none), 1));
        let re = l.select(none, self.quotient_unless(ty, some, ar, br_abs), re);
        let im = l.select(none, self.quotient_unless(ty, some, ai, br_abs), im);
        Value::Complex(re, im)
    }

    /// The quotient, and zero in lanes where `excluded` holds, in which nothing is raised whatever the operands are.
    fn quotient_unless(&self, ty: DType, excluded: Val, a: Val, b: Val) -> Val {
        let l = self.b;
        let dividend = l.select(excluded, self.number(ty, 0.0), a);
        l.fdiv(dividend, l.select(excluded, self.number(ty, IDLE_DIVISOR), b))
    }

    /// 1 / a by the same method.
    pub(crate) fn complex_reciprocal(&self, ty: DType, a: Value) -> Value {
        let l = self.b;
        let (re, im) = a.parts();
        let one = self.number(ty, 1.0);
        self.raise_where(l.fcmp(Real::LLVMRealUNO, re, im), warn::INVALID);
        let real_larger = l.fcmp(Real::LLVMRealOLE, self.magnitude(ty, im), self.magnitude(ty, re));
        let (small, large) = (l.select(real_larger, im, re), l.select(real_larger, re, im));
        let ratio = l.fdiv(small, large);
        let d = l.fadd(large, l.fmul(small, ratio));
        let (whole, part) = (l.fdiv(one, d), l.fdiv(ratio, d));
        let out_re = l.select(real_larger, whole, part);
        let out_im = l.select(real_larger, l.fneg(part), l.fneg(whole));
        Value::Complex(out_re, out_im)
    }

    fn magnitude(&self, ty: DType, v: Val) -> Val {
        self.float_intrinsic("llvm.fabs", ty.real(), &[v])
    }
}
