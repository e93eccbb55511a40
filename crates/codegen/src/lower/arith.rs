//! Arithmetic: sums, products, quotients, extremes, signs.
//!
//! In: operand values of one loop dtype. Out: NumPy's result, bit for bit where IEEE fixes it.
//! Not here: comparisons, conversions, library functions.

use crate::builder::{Int, Real, Val};
use crate::lower::{Lower, Value, unsupported};
use numelt_ir::{DType, DTypeKind as Kind, Op, Result, warn};

impl Lower<'_> {
    pub(crate) fn add(&self, ty: DType, a: Value, b: Value) -> Value {
        match ty.kind() {
            Kind::Bool => a.zip(b, |a, b| self.b.or(a, b)),
            Kind::Unsigned | Kind::Signed => a.zip(b, |a, b| self.b.add(a, b)),
            Kind::Float | Kind::Complex => a.zip(b, |a, b| self.b.fadd(a, b)),
        }
    }

    pub(crate) fn subtract(&self, ty: DType, a: Value, b: Value) -> Value {
        match ty.kind() {
            Kind::Bool => a.zip(b, |a, b| self.b.xor(a, b)),
            Kind::Unsigned | Kind::Signed => a.zip(b, |a, b| self.b.sub(a, b)),
            Kind::Float | Kind::Complex => a.zip(b, |a, b| self.b.fsub(a, b)),
        }
    }

    pub(crate) fn multiply(&self, ty: DType, a: Value, b: Value) -> Value {
        match ty.kind() {
            Kind::Bool => a.zip(b, |a, b| self.b.and(a, b)),
            Kind::Unsigned | Kind::Signed => a.zip(b, |a, b| self.b.mul(a, b)),
            Kind::Float => a.zip(b, |a, b| self.b.fmul(a, b)),
            Kind::Complex => self.complex_multiply(a, b),
        }
    }

    pub(crate) fn divide(&self, ty: DType, a: Value, b: Value) -> Value {
        if ty.is_complex() {
            return self.complex_divide(ty, a, b);
        }
        a.zip(b, |a, b| self.b.fdiv(a, b))
    }

    pub(crate) fn square(&self, ty: DType, a: Value) -> Value {
        self.multiply(ty, a, a)
    }

    pub(crate) fn absolute(&self, ty: DType, a: Value) -> Result<Value> {
        Ok(match ty.kind() {
            Kind::Bool | Kind::Unsigned => a,
            Kind::Signed => {
                let wraps = self.b.null(self.b.int(1));
                Value::Plain(self.b.intrinsic("llvm.abs", &[self.reg(ty)], &[a.plain(), wraps]))
            }
            Kind::Float => Value::Plain(self.float_intrinsic("llvm.fabs", ty, &[a.plain()])),
            Kind::Complex => Value::Plain(self.complex_absolute(ty, a)),
        })
    }

    pub(crate) fn sign(&self, ty: DType, a: Value) -> Result<Value> {
        let (zero, one, minus) = (self.number(ty, 0.0), self.number(ty, 1.0), self.number(ty, -1.0));
        Ok(Value::Plain(match ty.kind() {
            Kind::Bool => return unsupported(Op::Sign, ty),
            // by the modulus of the C library, as NumPy does
            Kind::Complex => return self.by_loop(Op::Sign, ty, &[a]),
            Kind::Unsigned => self.b.select(self.b.icmp(Int::LLVMIntEQ, a.plain(), zero), zero, one),
            Kind::Signed => {
                let low = self.b.select(self.b.icmp(Int::LLVMIntSLT, a.plain(), zero), minus, zero);
                self.b.select(self.b.icmp(Int::LLVMIntSGT, a.plain(), zero), one, low)
            }
            Kind::Float => {
                // Zero of either sign gives +0, NaN stays as it is.
                let a = a.plain();
                let rest = self.b.select(self.b.fcmp(Real::LLVMRealOEQ, a, zero), zero, a);
                let low = self.b.select(self.b.fcmp(Real::LLVMRealOLT, a, zero), minus, rest);
                self.b.select(self.b.fcmp(Real::LLVMRealOGT, a, zero), one, low)
            }
        }))
    }

    pub(crate) fn reciprocal(&self, ty: DType, a: Value) -> Result<Value> {
        Ok(match ty.kind() {
            Kind::Bool => return unsupported(Op::Reciprocal, ty),
            // The C expression `1.0 / x` converted back; only a zero gives something but -1, 0, 1.
            Kind::Unsigned | Kind::Signed => {
                let a = a.plain();
                let zero = self.b.icmp(Int::LLVMIntEQ, a, self.number(ty, 0.0));
                self.raise_where(zero, warn::DIVIDE);
                self.raise_where(zero, warn::INVALID);
                let at_zero = self.b.const_int(self.reg(ty), infinity_as_integer(ty));
                let one = self.b.icmp(Int::LLVMIntEQ, a, self.number(ty, 1.0));
                let minus = self.b.icmp(Int::LLVMIntEQ, a, self.number(ty, -1.0));
                let unit = if ty.kind() == Kind::Signed { self.b.or(one, minus) } else { one };
                let rest = self.b.select(unit, a, self.number(ty, 0.0));
                Value::Plain(self.b.select(zero, at_zero, rest))
            }
            Kind::Float => Value::Plain(self.b.fdiv(self.number(ty, 1.0), a.plain())),
            Kind::Complex => self.complex_reciprocal(ty, a),
        })
    }

    /// maximum and minimum propagate NaN; fmax and fmin avoid it.
    pub(crate) fn extreme(&self, op: Op, ty: DType, a: Value, b: Value) -> Value {
        let larger = matches!(op, Op::Maximum | Op::Fmax);
        match ty.kind() {
            Kind::Bool => a.zip(b, |a, b| if larger { self.b.or(a, b) } else { self.b.and(a, b) }),
            Kind::Unsigned | Kind::Signed => {
                let how = if larger { Op::GreaterEqual } else { Op::LessEqual };
                let first = self.compare(how, ty, a, b);
                a.zip(b, |a, b| self.b.select(first, a, b))
            }
            Kind::Float => a.zip(b, |a, b| self.float_extreme(op, a, b)),
            Kind::Complex => self.complex_extreme(op, ty, a, b),
        }
    }

    /// One min or max instruction (the second of equals, the second beside a NaN), then the NaN rule.
    fn float_extreme(&self, op: Op, a: Val, b: Val) -> Val {
        let larger = matches!(op, Op::Maximum | Op::Fmax);
        let how = if larger { Real::LLVMRealOGT } else { Real::LLVMRealOLT };
        let best = self.b.select(self.b.fcmp(how, a, b), a, b);
        let decides = if matches!(op, Op::Maximum | Op::Minimum) { a } else { b };
        self.b.select(self.b.fcmp(Real::LLVMRealUNO, decides, decides), a, best)
    }

    pub(crate) fn floor_divide(&self, ty: DType, a: Val, b: Val) -> Result<Value> {
        Ok(Value::Plain(match ty.kind() {
            Kind::Bool | Kind::Complex => return unsupported(Op::FloorDivide, ty),
            Kind::Unsigned | Kind::Signed => self.integer_division(ty, a, b).0,
            Kind::Float => self.float_divmod(ty, a, b).0,
        }))
    }

    pub(crate) fn remainder(&self, ty: DType, a: Val, b: Val) -> Result<Value> {
        Ok(Value::Plain(match ty.kind() {
            Kind::Bool | Kind::Complex => return unsupported(Op::Remainder, ty),
            Kind::Unsigned | Kind::Signed => self.integer_division(ty, a, b).1,
            Kind::Float => self.float_divmod(ty, a, b).1,
        }))
    }

    pub(crate) fn fmod(&self, ty: DType, a: Val, b: Val) -> Result<Value> {
        Ok(Value::Plain(match ty.kind() {
            Kind::Bool | Kind::Complex => return unsupported(Op::Fmod, ty),
            Kind::Unsigned => self.integer_division(ty, a, b).1,
            Kind::Signed => self.cut_remainder(ty, a, b),
            Kind::Float => self.float_fmod(ty, a, b),
        }))
    }

    /// Mantissa and exponent as `frexp` has them, by `numelt_ir`'s steps.
    pub(crate) fn split_exponent(&self, ty: DType, x: Val) -> (Val, Val) {
        let b = self.b;
        let (bits, digits, least) = match ty {
            DType::F32 => (DType::I32, f32::MANTISSA_DIGITS, f64::from(f32::MIN_POSITIVE)),
            _ => (DType::I64, f64::MANTISSA_DIGITS, f64::MIN_POSITIVE),
        };
        let (width, digits) = (8 * ty.size() as u32, u64::from(digits));
        let int = |value: u64| b.const_int(self.reg(bits), value);
        let (ones, sign) = (u64::MAX >> (64 - width), 1u64 << (width - 1));
        let (bias, fraction) = ((1u64 << (u64::from(width) - digits - 1)) - 1, (1u64 << (digits - 1)) - 1);
        let size = |v: Val| b.and(b.bitcast(v, self.reg(bits)), int(ones ^ sign));
        let least = size(self.number(ty, least));
        let subnormal = b.icmp(Int::LLVMIntULT, size(x), least);
        let small = b.select(subnormal, x, self.number(ty, 0.0));
        let scaled = b.select(subnormal, b.fmul(small, self.number(ty, 2f64.powi(digits as i32))), x);
        let kept = b.and(b.bitcast(scaled, self.reg(bits)), int(sign | fraction));
        let mantissa = b.bitcast(b.or(kept, int((bias - 1) << (digits - 1))), self.reg(ty));
        let exponent = b.sub(b.lshr(size(scaled), int(digits - 1)), int(bias - 1));
        let exponent = b.sub(exponent, b.select(subnormal, int(digits), int(0)));
        let zero = b.icmp(Int::LLVMIntEQ, size(x), int(0));
        let wild = b.icmp(Int::LLVMIntUGE, size(x), size(self.number(ty, f64::INFINITY)));
        let itself = b.or(zero, wild);
        let exponent = b.select(itself, int(0), exponent);
        let exponent = if bits == DType::I32 { exponent } else { b.trunc(exponent, self.reg(DType::I32)) };
        (b.select(itself, x, mantissa), exponent)
    }
}

/// What the C conversion of an infinity gives on x86, truncated to the type.
fn infinity_as_integer(ty: DType) -> u64 {
    match ty {
        DType::I32 => 1 << 31,
        DType::I64 => 1 << 63,
        _ => 0,
    }
}
