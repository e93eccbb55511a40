//! Quotients and remainders of integers.
//!
//! In: dividend and divisor. Out: C's quotient and remainder, with NumPy's results and flags for divisors of zero. Processors
//! divide no vectors of integers. Narrow types go through a float type in which quotients are exact, those of 64 bits through
//! f64 where all operands of a vector are small enough, and else one by one. A divisor that is the same along a row is
//! inverted once. Not here: rounding down.

use super::builder::{Int, Val};
use super::lower::Lower;
use numelt_ir::{DType, DTypeKind as Kind, warn};

/// 64-bit operands below two to this in size are divided in f64. The quotient of two such that is no integer lies further
/// from one than f64 rounds, also where it is a product with the inverse.
const SMALL_BITS: u32 = 50;
/// `1.5 * 2^52`: a number whose last bits are those of an integer that is added to it.
const SHIFT: f64 = 6_755_399_441_055_744.0;

impl Lower<'_> {
    /// C's quotient and remainder; a divisor of zero gives zeros, MIN / -1 gives MIN and 0.
    pub(super) fn integer_division(&self, ty: DType, a: Val, b: Val) -> (Val, Val) {
        let wide = ty.size() == 8;
        if self.lanes == 1 || !self.math.has_fma() || !(wide || self.same) {
            return self.careful_division(ty, a, b);
        }
        let l = self.b;
        let inverse = self.same.then(|| self.divisor_inverse(ty, b));
        let odd = if wide { self.is_large(ty, a, b) } else { self.is_special(ty, b) };
        let (slow, quick, done) = (l.block(c"careful"), l.block(c"quick"), l.block(c"divided"));
        l.branch(self.any(odd), slow, quick);
        l.enter(slow);
        let careful = self.careful_division(ty, a, b);
        let slow_end = l.current();
        l.jump(done);
        l.enter(quick);
        let quickly = match inverse {
            _ if wide => self.small_division(a, b, inverse),
            Some(inverse) => self.division_by_inverse(ty, a, b, inverse),
            None => unreachable!("the divisor of narrow integers is inverted"),
        };
        let quick_end = l.current();
        l.jump(done);
        l.enter(done);
        let join = |one: Val, other: Val| {
            let phi = l.phi(self.reg(ty));
            l.incoming(phi, one, slow_end);
            l.incoming(phi, other, quick_end);
            phi
        };
        (join(careful.0, quickly.0), join(careful.1, quickly.1))
    }

    /// Divisors that give flags or special results, whatever they divide.
    fn is_special(&self, ty: DType, b: Val) -> Val {
        let none = self.b.icmp(Int::LLVMIntEQ, b, self.number(ty, 0.0));
        if ty.kind() == Kind::Unsigned {
            return none;
        }
        self.b.or(none, self.b.icmp(Int::LLVMIntEQ, b, self.number(ty, -1.0)))
    }

    /// Divisors of zero, and 64-bit operands that are too large for f64.
    fn is_large(&self, ty: DType, a: Val, b: Val) -> Val {
        let l = self.b;
        let whole = |value: u64| l.const_int(self.reg(ty), value);
        let (a, b_moved, bits) = match ty.kind() {
            Kind::Signed => {
                let middle = whole(1 << SMALL_BITS);
                (l.add(a, middle), l.add(b, middle), SMALL_BITS + 1)
            }
            _ => (a, b, SMALL_BITS),
        };
        let beyond = l.and(l.or(a, b_moved), whole(!((1u64 << bits) - 1)));
        let zero = whole(0);
        l.or(l.icmp(Int::LLVMIntNE, beyond, zero), l.icmp(Int::LLVMIntEQ, b, zero))
    }

    /// Float type in which the quotients of a type are exact.
    fn via(ty: DType) -> DType {
        if ty.size() < 4 { DType::F32 } else { DType::F64 }
    }

    /// The inverse of a divisor, rounded away from zero. A product with it is no smaller than the quotient, and less than one
    /// part in the type's range larger: cut off, it is exact.
    fn divisor_inverse(&self, ty: DType, b: Val) -> Val {
        let l = self.b;
        let via = Self::via(ty);
        let divisor = if ty.size() == 8 { self.small_to_float(b) } else { self.as_float(ty, b) };
        let inverse = l.fdiv(self.number(via, 1.0), divisor);
        let bits = self.reg(if via == DType::F64 { DType::I64 } else { DType::I32 });
        let next = l.add(l.bitcast(inverse, bits), l.const_int(bits, 1));
        l.bitcast(next, self.reg(via))
    }

    /// Narrow integers by the inverse of their divisor.
    fn division_by_inverse(&self, ty: DType, a: Val, b: Val, inverse: Val) -> (Val, Val) {
        let l = self.b;
        let quotient = self.cut_off(ty, l.fmul(self.as_float(ty, a), inverse));
        (quotient, l.sub(a, l.mul(quotient, b)))
    }

    /// 64-bit integers that are small enough for f64.
    fn small_division(&self, a: Val, b: Val, inverse: Option<Val>) -> (Val, Val) {
        let l = self.b;
        let (a, b) = (self.small_to_float(a), self.small_to_float(b));
        let quotient = inverse.map_or_else(|| l.fdiv(a, b), |inverse| l.fmul(a, inverse));
        let quotient = self.float_intrinsic("llvm.trunc", DType::F64, &[quotient]);
        // the product is a whole number below 2^53
        let remainder = l.fsub(a, l.fmul(quotient, b));
        (self.float_to_small(quotient), self.float_to_small(remainder))
    }

    fn small_to_float(&self, v: Val) -> Val {
        let l = self.b;
        let moved = l.add(v, l.const_int(self.reg(DType::I64), SHIFT.to_bits()));
        l.fsub(l.bitcast(moved, self.reg(DType::F64)), self.number(DType::F64, SHIFT))
    }

    fn float_to_small(&self, v: Val) -> Val {
        let l = self.b;
        let bits = self.reg(DType::I64);
        let moved = l.fadd(v, self.number(DType::F64, SHIFT));
        l.sub(l.bitcast(moved, bits), l.const_int(bits, SHIFT.to_bits()))
    }

    fn as_float(&self, ty: DType, v: Val) -> Val {
        let via = self.reg(Self::via(ty));
        if ty.kind() == Kind::Signed { self.b.sitofp(v, via) } else { self.b.uitofp(v, via) }
    }

    fn cut_off(&self, ty: DType, v: Val) -> Val {
        let to = self.reg(ty);
        if ty.kind() == Kind::Signed { self.b.fptosi(v, to) } else { self.b.fptoui(v, to) }
    }

    /// Any operands, with their flags.
    fn careful_division(&self, ty: DType, a: Val, b: Val) -> (Val, Val) {
        let (zero, one) = (self.number(ty, 0.0), self.number(ty, 1.0));
        let none = self.b.icmp(Int::LLVMIntEQ, b, zero);
        let mut special = none;
        self.raise_where(none, warn::DIVIDE);
        if ty.kind() == Kind::Signed {
            let least = self.b.const_int(self.reg(ty), 1 << (8 * ty.size() - 1));
            let overflow = self
                .b
                .and(self.b.icmp(Int::LLVMIntEQ, a, least), self.b.icmp(Int::LLVMIntEQ, b, self.number(ty, -1.0)));
            special = self.b.or(special, overflow);
            self.raise_where(overflow, warn::OVER);
        }
        let divisor = self.b.select(special, one, b);
        let quotient = self.truncated_quotient(ty, a, divisor);
        let remainder = self.b.sub(a, self.b.mul(quotient, divisor));
        (self.b.select(none, zero, quotient), self.b.select(none, zero, remainder))
    }

    /// Where the divisor is not zero, and the quotient of the type. The error of a float quotient is below half the distance to
    /// the next integer; LLVM splits 64-bit divisions into scalars.
    fn truncated_quotient(&self, ty: DType, a: Val, b: Val) -> Val {
        if ty.size() == 8 || self.lanes == 1 {
            return if ty.kind() == Kind::Signed { self.b.sdiv(a, b) } else { self.b.udiv(a, b) };
        }
        let quotient = self.b.fdiv(self.as_float(ty, a), self.as_float(ty, b));
        self.cut_off(ty, quotient)
    }
}
