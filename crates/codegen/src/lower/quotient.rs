//! Quotients and remainders of integers.
//!
//! In: dividend and divisor. Out: the quotient rounded down and the remainder, with NumPy's results and flags for
//! divisors of zero. Processors divide no vectors of integers. A divisor that is one number along a row becomes a
//! factor and a shift. Others are divided through a float type in which quotients are exact; those of 64 bits through
//! f64 where all operands of a vector are small enough, and else one by one.

use crate::builder::{Int, Val};
use crate::lower::Lower;
use numelt_ir::{DType, DTypeKind as Kind, warn};

/// 64-bit operands below two to this in size are divided in f64. The quotient of two such that is no integer lies
/// further from one than f64 rounds.
const SMALL_BITS: u32 = 50;
/// `1.5 * 2^52`: a number whose last bits are those of an integer that is added to it.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Functions of a 64-bit divisor that give its factor, for dividends of 63 bits and of 64.
pub(crate) const FACTOR: &str = "numelt_factor";
pub(crate) const LONG_FACTOR: &str = "numelt_long_factor";

/// The least `l` with `divisor <= 2^l`.
#[inline]
pub fn log2_up(divisor: u64) -> u32 {
    u64::BITS - (divisor - 1).leading_zeros()
}

/// The factor that divides dividends below two to the `bits - 1` by `divisor`: of twice the dividend times it, the bits
/// from `bits + l` on, where `l` is the least with `divisor <= 2^l`.
#[inline]
pub fn factor(divisor: u64, bits: u32) -> u64 {
    let power = 1u128 << (bits - 1 + log2_up(divisor));
    power.div_ceil(u128::from(divisor)) as u64
}

/// The factor without its highest bit, two to the `bits`, that divides all dividends of so many bits by a `divisor` of
/// at least two: the bits from `bits + l` on of the dividend times it.
#[inline]
pub fn long_factor(divisor: u64, bits: u32) -> u64 {
    let by = u128::from(divisor);
    ((((1 << log2_up(divisor)) - by) << bits) / by) as u64 + 1
}

/// The function behind [`FACTOR`].
pub(crate) extern "C" fn divisor_factor(divisor: u64) -> u64 {
    factor(divisor, u64::BITS)
}

/// The function behind [`LONG_FACTOR`].
pub(crate) extern "C" fn long_divisor_factor(divisor: u64) -> u64 {
    long_factor(divisor, u64::BITS)
}

/// How one number divides, as in the engine's `tier0/divide.rs`; the same in all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Divisor {
    factor: Val,
    /// By how much the product's higher half is shifted.
    shift: Val,
    /// Is the number one that may be used so (one value for all lanes)? No negative one, and no zero.
    fits: Val,
}

/// The integers that products with a factor are made of.
fn word(ty: DType) -> DType {
    if ty.size() == 1 { DType::U16 } else { ty }
}

/// Has a word room for one bit more than a dividend, its sign aside?
fn is_short(ty: DType) -> bool {
    ty == DType::U8 || ty.kind() == Kind::Signed
}

impl Lower<'_> {
    /// What division of integers by `b`, whose lanes are alike, takes.
    pub(crate) fn divisor(&self, ty: DType, b: Val) -> Option<Divisor> {
        if self.lanes == 1 {
            return None;
        }
        let (l, int, bits) = (self.b, self.b.int(64), 8 * word(ty).size() as u64);
        let number = |value| l.const_int(int, value);
        let (short, one) = (is_short(ty), number(1));
        let (first, least) = (l.extract(b, 0), if short { 1 } else { 2 });
        let how = if ty.kind() == Kind::Signed { Int::LLVMIntSGE } else { Int::LLVMIntUGE };
        let fits = l.icmp(how, first, l.const_int(self.scalar(ty), least));
        let by = l.select(fits, l.zext(first, int), number(least));
        let zeros = l.intrinsic("llvm.ctlz", &[int], &[l.sub(by, one), l.const_int(l.int(1), 0)]);
        let up = l.sub(number(64), zeros);
        let factor = match (bits, short) {
            (64, true) => l.call_pure(FACTOR, int, &[by]),
            (64, false) => l.call_pure(LONG_FACTOR, int, &[by]),
            (_, true) => l.add(l.udiv(l.sub(l.shl(one, l.add(up, number(bits - 1))), one), by), one),
            (_, false) => l.add(l.udiv(l.shl(l.sub(l.shl(one, up), by), number(bits)), by), one),
        };
        let shift = if short { up } else { l.sub(up, one) };
        let all = |v| l.splat(l.trunc(v, self.scalar(word(ty))), self.lanes);
        Some(Divisor { factor: all(factor), shift: all(shift), fits })
    }

    /// The quotient rounded down and the remainder with the divisor's sign; a divisor of zero gives zeros, MIN / -1
    /// gives MIN and 0.
    pub(crate) fn integer_division(&self, ty: DType, a: Val, b: Val) -> (Val, Val) {
        let l = self.b;
        let wide = ty.size() == 8 && self.lanes > 1 && self.math.has_fma();
        let odd = match self.divisor {
            Some(divisor) => l.not(divisor.fits),
            None if wide => self.any(self.is_large(ty, a, b)),
            None => return self.careful_division(ty, a, b),
        };
        let (slow, quick, done) = (l.block(c"careful"), l.block(c"quick"), l.block(c"divided"));
        l.branch(odd, slow, quick);
        l.enter(slow);
        let careful = self.careful_division(ty, a, b);
        let slow_end = l.current();
        l.jump(done);
        l.enter(quick);
        let quickly = match self.divisor {
            Some(divisor) => self.division_by(divisor, ty, a, b),
            None => self.small_division(a, b),
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

    /// C's remainder of signed integers: that of the quotient cut off, with the dividend's sign.
    pub(crate) fn cut_remainder(&self, ty: DType, a: Val, b: Val) -> Val {
        let (l, zero) = (self.b, self.number(ty, 0.0));
        let (_, remainder) = self.integer_division(ty, a, b);
        let some = l.icmp(Int::LLVMIntNE, remainder, zero);
        let signs = l.icmp(Int::LLVMIntSLT, l.xor(a, b), zero);
        l.select(l.and(some, signs), l.sub(remainder, b), remainder)
    }

    /// Divides numbers from 0 upwards as they are, and negative ones by way of their complement.
    fn division_by(&self, divisor: Divisor, ty: DType, a: Val, b: Val) -> (Val, Val) {
        let (l, word) = (self.b, word(ty));
        let wide = self.reg(word);
        let [a, b] = [a, b].map(|v| if ty.kind() == Kind::Signed { l.sext(v, wide) } else { l.zext(v, wide) });
        let one = l.const_int(wide, 1);
        let quotient = match ty.kind() {
            Kind::Signed => {
                let sign = l.ashr(a, l.const_int(wide, 8 * word.size() as u64 - 1));
                let part = self.high(word, l.shl(l.xor(a, sign), one), divisor.factor);
                l.xor(l.lshr(part, divisor.shift), sign)
            }
            _ if is_short(ty) => l.lshr(self.high(word, l.shl(a, one), divisor.factor), divisor.shift),
            _ => {
                let part = self.high(word, a, divisor.factor);
                l.lshr(l.add(l.lshr(l.sub(a, part), one), part), divisor.shift)
            }
        };
        let remainder = l.sub(a, l.mul(quotient, b));
        (l.trunc(quotient, self.reg(ty)), l.trunc(remainder, self.reg(ty)))
    }

    /// The higher half of a product of words. That of 64 bits is put together of products that vectors have.
    fn high(&self, word: DType, a: Val, b: Val) -> Val {
        let l = self.b;
        let bits = 8 * word.size() as u32;
        if bits < 64 {
            let double = l.vector(l.int(2 * bits), self.lanes);
            let product = l.mul(l.zext(a, double), l.zext(b, double));
            return l.trunc(l.lshr(product, l.const_int(double, bits.into())), self.reg(word));
        }
        let half = l.const_int(self.reg(word), 32);
        let low = |v| l.and(v, l.const_int(self.reg(word), u32::MAX.into()));
        let high = |v| l.lshr(v, half);
        let middle = l.add(l.mul(high(a), low(b)), high(l.mul(low(a), low(b))));
        let other = l.add(l.mul(low(a), high(b)), low(middle));
        l.add(l.mul(high(a), high(b)), l.add(high(middle), high(other)))
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

    /// 64-bit integers that are small enough for f64.
    fn small_division(&self, a: Val, b: Val) -> (Val, Val) {
        let l = self.b;
        let (a, b) = (self.small_to_float(a), self.small_to_float(b));
        let quotient = self.float_intrinsic("llvm.floor", DType::F64, &[l.fdiv(a, b)]);
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

    /// Any operands, with their flags.
    fn careful_division(&self, ty: DType, a: Val, b: Val) -> (Val, Val) {
        let l = self.b;
        let (zero, one) = (self.number(ty, 0.0), self.number(ty, 1.0));
        let none = l.icmp(Int::LLVMIntEQ, b, zero);
        let mut special = none;
        self.raise_where(none, warn::DIVIDE);
        if ty.kind() == Kind::Signed {
            let least = l.const_int(self.reg(ty), 1 << (8 * ty.size() - 1));
            let overflow = l.and(l.icmp(Int::LLVMIntEQ, a, least), l.icmp(Int::LLVMIntEQ, b, self.number(ty, -1.0)));
            special = l.or(special, overflow);
            self.raise_where(overflow, warn::OVER);
        }
        let divisor = l.select(special, one, b);
        let quotient = self.cut_quotient(ty, a, divisor);
        let remainder = l.sub(a, l.mul(quotient, divisor));
        let (quotient, remainder) = (l.select(none, zero, quotient), l.select(none, zero, remainder));
        if ty.kind() != Kind::Signed {
            return (quotient, remainder);
        }
        let some = l.icmp(Int::LLVMIntNE, remainder, zero);
        let signs = l.icmp(Int::LLVMIntSLT, l.xor(remainder, b), zero);
        let inexact = l.and(some, signs);
        (l.select(inexact, l.sub(quotient, one), quotient), l.select(inexact, l.add(remainder, b), remainder))
    }

    /// C's quotient, where the divisor is not zero, and the quotient of the type. The error of a float quotient is
    /// below half the distance to the next integer; LLVM splits 64-bit divisions into scalars.
    fn cut_quotient(&self, ty: DType, a: Val, b: Val) -> Val {
        let l = self.b;
        let signed = ty.kind() == Kind::Signed;
        if ty.size() == 8 || self.lanes == 1 {
            return if signed { l.sdiv(a, b) } else { l.udiv(a, b) };
        }
        let via = self.reg(if ty.size() < 4 { DType::F32 } else { DType::F64 });
        let float = |v| if signed { l.sitofp(v, via) } else { l.uitofp(v, via) };
        let quotient = l.fdiv(float(a), float(b));
        if signed { l.fptosi(quotient, self.reg(ty)) } else { l.fptoui(quotient, self.reg(ty)) }
    }
}
