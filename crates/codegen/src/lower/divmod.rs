//! Float remainders: C's fmod, and NumPy's divmod on top of it.
//!
//! In: dividend and divisor. Out: exact remainders. Not here: integers.

use crate::builder::{Int, Real, Val};
use crate::lower::Lower;
use numelt_ir::DType;

impl Lower<'_> {
    /// C's fmod. Where every quotient is below 2^53 (2^24) in size, the remainder is one fused
    /// multiply-add away and exact: rounding can only have raised the truncated quotient by one,
    /// and both possible remainders are representable. Anything else goes to the library, lane by lane.
    pub(crate) fn float_fmod(&self, ty: DType, a: Val, b: Val) -> Val {
        if !self.math.has_fma() {
            return self.library_fmod(ty, a, b);
        }
        let l = self.b;
        let unary = |name: &str, v: Val| self.float_intrinsic(name, ty, &[v]);
        let quotient = l.fdiv(a, b);
        let limit = self.number(ty, if ty == DType::F32 { 16777216.0 } else { 9007199254740992.0 });
        let small = l.fcmp(Real::LLVMRealOLT, unary("llvm.fabs", quotient), limit);
        let finite = l.fcmp(Real::LLVMRealOLT, unary("llvm.fabs", b), self.number(ty, f64::INFINITY));
        let library = self.any(l.not(l.and(small, finite)));
        let (slow, fast, done) = (l.block(c"fmod"), l.block(c"fma"), l.block(c"remainder"));
        l.branch(library, slow, fast);
        l.enter(slow);
        let exact = self.library_fmod(ty, a, b);
        let slow_end = l.current();
        l.jump(done);
        l.enter(fast);
        let whole = l.fneg(unary("llvm.trunc", quotient));
        let rest = self.float_intrinsic("llvm.fma", ty, &[whole, b, a]);
        let size = unary("llvm.fabs", b);
        let raised = l.fadd(rest, self.float_intrinsic("llvm.copysign", ty, &[size, a]));
        let zero = self.number(ty, 0.0);
        let above = l.and(l.fcmp(Real::LLVMRealOGT, rest, zero), l.fcmp(Real::LLVMRealOLT, a, zero));
        let below = l.and(l.fcmp(Real::LLVMRealOLT, rest, zero), l.fcmp(Real::LLVMRealOGT, a, zero));
        let rest = l.select(l.or(above, below), raised, rest);
        let rest = self.float_intrinsic("llvm.copysign", ty, &[rest, a]);
        l.jump(done);
        l.enter(done);
        let phi = l.phi(self.reg(ty));
        l.incoming(phi, exact, slow_end);
        l.incoming(phi, rest, fast);
        phi
    }

    /// The C library's function, lane after lane through the stack: one call in the code.
    fn library_fmod(&self, ty: DType, a: Val, b: Val) -> Val {
        if self.lanes == 1 {
            return self.b.frem(a, b);
        }
        let l = self.b;
        let (i64t, cell, align) = (l.int(64), self.scalar(ty), ty.size() as u32);
        let [top, bottom] = [a, b].map(|v| {
            let buffer = l.scratch(self.reg(ty));
            l.store(v, buffer, align);
            buffer
        });
        let (from, turn, done) = (l.current(), l.block(c"lane"), l.block(c"lanes"));
        l.jump(turn);
        l.enter(turn);
        let lane = l.phi(i64t);
        let at = |buffer| l.element(cell, buffer, lane);
        let rest = l.frem(l.load(cell, at(top), align), l.load(cell, at(bottom), align));
        l.store(rest, at(top), align);
        let next = l.add(lane, l.const_int(i64t, 1));
        l.incoming(lane, l.null(i64t), from);
        l.incoming(lane, next, turn);
        l.branch(l.icmp(Int::LLVMIntULT, next, l.const_int(i64t, self.lanes.into())), turn, done);
        l.enter(done);
        l.load(self.reg(ty), top, align)
    }

    /// NumPy's divmod on floats: floor quotient and remainder with the divisor's sign.
    pub(crate) fn float_divmod(&self, ty: DType, a: Val, b: Val) -> (Val, Val) {
        let l = self.b;
        let (zero, one) = (self.number(ty, 0.0), self.number(ty, 1.0));
        let rest = self.float_fmod(ty, a, b);
        let ratio = l.fdiv(a, b);
        let quotient = l.fdiv(l.fsub(a, rest), b);
        let some = l.fcmp(Real::LLVMRealUNE, rest, zero);
        let b_negative = l.fcmp(Real::LLVMRealOLT, b, zero);
        let rest_negative = l.fcmp(Real::LLVMRealOLT, rest, zero);
        let adjust = l.and(some, l.xor(b_negative, rest_negative));
        let remainder = l.select(adjust, l.fadd(rest, b), rest);
        let remainder = l.select(some, remainder, self.float_intrinsic("llvm.copysign", ty, &[zero, b]));
        let quotient = l.select(adjust, l.fsub(quotient, one), quotient);
        let floor = self.float_intrinsic("llvm.floor", ty, &[quotient]);
        let half = l.fcmp(Real::LLVMRealOGT, l.fsub(quotient, floor), self.number(ty, 0.5));
        let floor = l.select(half, l.fadd(floor, one), floor);
        let is_zero = l.fcmp(Real::LLVMRealOEQ, quotient, zero);
        let floor = l.select(is_zero, self.float_intrinsic("llvm.copysign", ty, &[zero, ratio]), floor);
        let by_zero = l.fcmp(Real::LLVMRealOEQ, b, zero);
        (l.select(by_zero, ratio, floor), l.select(by_zero, rest, remainder))
    }
}
