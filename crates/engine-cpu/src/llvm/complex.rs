//! Complex products and quotients on pairs of vectors.
//!
//! In: pairs (real, imaginary). Out: pairs, by NumPy's formulas in NumPy's order of operations.
//! Not here: what acts on each part alone.

use super::builder::{Real, Val};
use super::lower::{Lower, Value};
use numelt_ir::{DType, Op, Result};

impl Lower<'_> {
    /// (ar br - ai bi, ar bi + ai br), each product rounded.
    pub(super) fn complex_multiply(&self, a: Value, b: Value) -> Value {
        let l = self.b;
        let ((ar, ai), (br, bi)) = (a.parts(), b.parts());
        let re = l.fsub(l.fmul(ar, br), l.fmul(ai, bi));
        let im = l.fadd(l.fmul(ar, bi), l.fmul(ai, br));
        Value::Complex(re, im)
    }

    /// Smith's method: both parts are divided by the larger part of the divisor. The two cases are one
    /// computation on swapped operands.
    pub(super) fn complex_divide(&self, ty: DType, a: Value, b: Value) -> Value {
        let l = self.b;
        let ((ar, ai), (br, bi)) = (a.parts(), b.parts());
        let (br_abs, bi_abs) = (self.magnitude(ty, br), self.magnitude(ty, bi));
        let real_larger = l.fcmp(Real::LLVMRealOGE, br_abs, bi_abs);
        let (small, large) = (l.select(real_larger, bi, br), l.select(real_larger, br, bi));
        let (p, q) = (l.select(real_larger, ar, ai), l.select(real_larger, ai, ar));
        let ratio = l.fdiv(small, large);
        let scale = l.fdiv(self.number(ty, 1.0), l.fadd(large, l.fmul(small, ratio)));
        let re = l.fmul(l.fadd(p, l.fmul(q, ratio)), scale);
        let turned = l.fmul(p, ratio);
        let im = l.select(real_larger, l.fsub(q, turned), l.fsub(turned, q));
        let im = l.fmul(im, scale);
        // A divisor of zero divides each part by it: infinities and NaN.
        let zero = self.number(ty, 0.0);
        let none = l.and(l.fcmp(Real::LLVMRealOEQ, br, zero), l.fcmp(Real::LLVMRealOEQ, bi, zero));
        let re = l.select(none, l.fdiv(ar, br_abs), re);
        let im = l.select(none, l.fdiv(ai, br_abs), im);
        Value::Complex(re, im)
    }

    /// 1 / a by the same method.
    pub(super) fn complex_reciprocal(&self, ty: DType, a: Value) -> Value {
        let l = self.b;
        let (re, im) = a.parts();
        let one = self.number(ty, 1.0);
        let real_larger = l.fcmp(Real::LLVMRealOLE, self.magnitude(ty, im), self.magnitude(ty, re));
        let (small, large) = (l.select(real_larger, im, re), l.select(real_larger, re, im));
        let ratio = l.fdiv(small, large);
        let d = l.fadd(large, l.fmul(small, ratio));
        let (whole, part) = (l.fdiv(one, d), l.fdiv(ratio, d));
        let out_re = l.select(real_larger, whole, part);
        let out_im = l.select(real_larger, l.fneg(part), l.fneg(whole));
        Value::Complex(out_re, out_im)
    }

    /// a / |a|; zero for zero, a unit along the infinite part where one is infinite.
    pub(super) fn complex_sign(&self, ty: DType, a: Value) -> Result<Value> {
        let l = self.b;
        let (re, im) = a.parts();
        let (zero, one) = (self.number(ty, 0.0), self.number(ty, 1.0));
        let size = self.math(Op::Hypot, ty.real(), &[re, im])?;
        let [re_infinite, im_infinite] = [re, im].map(|v| self.classify(Op::Isinf, ty.real(), Value::Plain(v)));
        let none = l.fcmp(Real::LLVMRealOEQ, size, zero);
        let undefined = l.and(re_infinite, im_infinite);
        let undefined = l.or(undefined, l.fcmp(Real::LLVMRealUNO, size, size));
        let part = |v: Val, own: Val, other: Val| {
            let unit = self.float_intrinsic("llvm.copysign", ty.real(), &[one, v]);
            let value = l.select(other, zero, l.fdiv(v, size));
            let value = l.select(own, unit, value);
            let value = l.select(none, zero, value);
            l.select(undefined, self.number(ty, f64::NAN), value)
        };
        Ok(Value::Complex(part(re, re_infinite, im_infinite), part(im, im_infinite, re_infinite)))
    }

    fn magnitude(&self, ty: DType, v: Val) -> Val {
        self.float_intrinsic("llvm.fabs", ty.real(), &[v])
    }
}
