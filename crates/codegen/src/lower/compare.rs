//! Comparisons, bits and float classes: everything whose result is a truth value, and shifts.
//!
//! In: operand values. Out: vectors of i1 (shifts: of the loop dtype). Not here: arithmetic.

use crate::builder::{Int, Real, Val};
use crate::lower::{Lower, Value};
use numelt_ir::{DType, DTypeKind as Kind, Op, warn};

impl Lower<'_> {
    /// One of the six comparisons.
    pub(crate) fn compare(&self, op: Op, ty: DType, a: Value, b: Value) -> Val {
        match ty.kind() {
            // Bits compare as unsigned numbers of one bit.
            Kind::Bool | Kind::Unsigned => self.b.icmp(unsigned(op), a.plain(), b.plain()),
            Kind::Signed => self.b.icmp(signed(op), a.plain(), b.plain()),
            Kind::Float => self.b.fcmp_quiet(float(op), a.plain(), b.plain()),
            Kind::Complex => {
                if !matches!(op, Op::Equal | Op::NotEqual) {
                    let ((ar, ai), (br, bi)) = (a.parts(), b.parts());
                    let tie = self.b.fcmp(Real::LLVMRealOEQ, ar, br);
                    let real = self.b.fcmp(Real::LLVMRealUNO, ar, br);
                    let imaginary = self.b.and(tie, self.b.fcmp(Real::LLVMRealUNO, ai, bi));
                    self.raise_where(self.b.or(real, imaginary), warn::INVALID);
                }
                self.complex_compare(op, a, b)
            }
        }
    }

    /// Numbers of different signedness: a negative one is less than all of the other type.
    pub(crate) fn compare_mixed(&self, op: Op, ty: DType, args: &[Value]) -> Val {
        let (a, b) = (args[0].plain(), args[1].plain());
        let plain = match op {
            Op::EqualMixed => Op::Equal,
            Op::NotEqualMixed => Op::NotEqual,
            Op::LessMixed => Op::Less,
            Op::LessEqualMixed => Op::LessEqual,
            Op::GreaterMixed => Op::Greater,
            _ => Op::GreaterEqual,
        };
        let signed_first = ty == DType::I64;
        let signed = if signed_first { a } else { b };
        let negative = self.b.icmp(Int::LLVMIntSLT, signed, self.number(DType::I64, 0.0));
        // The result if the first operand is less than the second, and the result if it is greater.
        let answer = match plain {
            Op::NotEqual => true,
            Op::Equal => false,
            Op::Less | Op::LessEqual => signed_first,
            _ => !signed_first,
        };
        let answer = self.b.const_int(self.reg(DType::Bool), answer.into());
        self.b.select(negative, answer, self.b.icmp(unsigned(plain), a, b))
    }

    /// Real part decides, then the imaginary part; a NaN in either makes all but `!=` false.
    fn complex_compare(&self, op: Op, a: Value, b: Value) -> Val {
        let ((ar, ai), (br, bi)) = (a.parts(), b.parts());
        let (re, im) = (self.b.fcmp(float(op), ar, br), self.b.fcmp(float(op), ai, bi));
        match op {
            Op::Equal => self.b.and(re, im),
            Op::NotEqual => self.b.or(re, im),
            _ => {
                let strict = if matches!(op, Op::Less | Op::LessEqual) { Op::Less } else { Op::Greater };
                let beyond = self.b.fcmp(float(strict), ar, br);
                let numbers = self.b.fcmp(Real::LLVMRealORD, ai, bi);
                let tie = self.b.fcmp(Real::LLVMRealOEQ, ar, br);
                self.b.or(self.b.and(beyond, numbers), self.b.and(tie, im))
            }
        }
    }

    pub(crate) fn complex_extreme(&self, op: Op, ty: DType, a: Value, b: Value) -> Value {
        let how = if matches!(op, Op::Maximum | Op::Fmax) { Op::GreaterEqual } else { Op::LessEqual };
        let wins = self.complex_compare(how, a, b);
        let nan_decides = if matches!(op, Op::Maximum | Op::Minimum) { a } else { b };
        let first = self.b.or(wins, self.classify(Op::Isnan, ty, nan_decides));
        a.zip(b, |a, b| self.b.select(first, a, b))
    }

    /// isnan, isinf, isfinite.
    pub(crate) fn classify(&self, op: Op, ty: DType, value: Value) -> Val {
        let truth = self.reg(DType::Bool);
        match (ty.kind(), value) {
            (Kind::Bool | Kind::Unsigned | Kind::Signed, _) => {
                self.b.const_int(truth, u64::from(matches!(op, Op::Isfinite)))
            }
            (_, Value::Plain(v)) => self.classify_float(op, ty, v),
            (_, Value::Complex(re, im)) => {
                let (re, im) = (self.classify_float(op, ty.real(), re), self.classify_float(op, ty.real(), im));
                if op == Op::Isfinite { self.b.and(re, im) } else { self.b.or(re, im) }
            }
        }
    }

    fn classify_float(&self, op: Op, ty: DType, v: Val) -> Val {
        if op == Op::Isnan {
            return self.b.fcmp(Real::LLVMRealUNO, v, v);
        }
        // On the bits, so that a signalling NaN raises no flag.
        let int = self.bits_type(ty);
        let (magnitude, infinity) = match ty.size() {
            4 => (0x7FFF_FFFF, 0x7F80_0000),
            _ => (0x7FFF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000),
        };
        let bits = self.b.and(self.b.bitcast(v, self.reg(int)), self.b.const_int(self.reg(int), magnitude));
        let infinity = self.b.const_int(self.reg(int), infinity);
        let how = if op == Op::Isinf { Int::LLVMIntEQ } else { Int::LLVMIntSLT };
        self.b.icmp(how, bits, infinity)
    }

    pub(crate) fn signbit(&self, ty: DType, v: Val) -> Val {
        let int = self.bits_type(ty);
        self.b.icmp(Int::LLVMIntSLT, self.b.bitcast(v, self.reg(int)), self.number(int, 0.0))
    }

    /// The distance to the next number away from zero, with the sign of `v`, by integers; no flag is raised.
    pub(crate) fn spacing(&self, ty: DType, v: Val) -> Val {
        let (b, int) = (self.b, self.bits_type(ty));
        let number = |bits: u64| b.const_int(self.reg(int), bits);
        let float = |bits: Val| b.bitcast(bits, self.reg(ty));
        let (all, infinity) = if ty == DType::F32 {
            (u64::from(u32::MAX >> 1), f32::INFINITY.to_bits().into())
        } else {
            (u64::MAX >> 1, f64::INFINITY.to_bits())
        };
        let bits = b.bitcast(v, self.reg(int));
        let size = b.and(bits, number(all));
        let finite = b.icmp(Int::LLVMIntSLT, size, number(infinity));
        let safe = b.select(finite, size, number(0));
        let next = b.fsub(float(b.add(safe, number(1))), float(safe));
        // that of either zero is positive
        let zero = b.icmp(Int::LLVMIntEQ, size, number(0));
        let signed = self.float_intrinsic("llvm.copysign", ty, &[next, v]);
        b.select(finite, b.select(zero, next, signed), self.number(ty, f64::NAN))
    }

    fn bits_type(&self, float: DType) -> DType {
        if float.size() == 4 { DType::I32 } else { DType::I64 }
    }

    /// Shifts by the width or more (a negative count is a huge one) leave zero, or the sign.
    pub(crate) fn shift(&self, op: Op, ty: DType, a: Val, count: Val) -> Val {
        let width = 8 * ty.size() as u64;
        let inside = self.b.icmp(Int::LLVMIntULT, count, self.b.const_int(self.reg(ty), width));
        let safe = self.b.and(count, self.b.const_int(self.reg(ty), width - 1));
        if op == Op::RightShift && ty.kind() == Kind::Signed {
            // Shifting by one less than the width fills with the sign.
            let safe = self.b.select(inside, safe, self.b.const_int(self.reg(ty), width - 1));
            return self.b.ashr(a, safe);
        }
        let shifted = if op == Op::LeftShift { self.b.shl(a, safe) } else { self.b.lshr(a, safe) };
        self.b.select(inside, shifted, self.number(ty, 0.0))
    }
}

fn unsigned(op: Op) -> Int {
    match op {
        Op::Equal => Int::LLVMIntEQ,
        Op::NotEqual => Int::LLVMIntNE,
        Op::Less => Int::LLVMIntULT,
        Op::LessEqual => Int::LLVMIntULE,
        Op::Greater => Int::LLVMIntUGT,
        _ => Int::LLVMIntUGE,
    }
}

fn signed(op: Op) -> Int {
    match op {
        Op::Equal => Int::LLVMIntEQ,
        Op::NotEqual => Int::LLVMIntNE,
        Op::Less => Int::LLVMIntSLT,
        Op::LessEqual => Int::LLVMIntSLE,
        Op::Greater => Int::LLVMIntSGT,
        _ => Int::LLVMIntSGE,
    }
}

fn float(op: Op) -> Real {
    match op {
        Op::Equal => Real::LLVMRealOEQ,
        Op::NotEqual => Real::LLVMRealUNE,
        Op::Less => Real::LLVMRealOLT,
        Op::LessEqual => Real::LLVMRealOLE,
        Op::Greater => Real::LLVMRealOGT,
        _ => Real::LLVMRealOGE,
    }
}
