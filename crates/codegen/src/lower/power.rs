//! Powers whose code is in the kernel: of integers, and of floats with one short exponent.
//!
//! In: base and exponent. Out: of integers the wrapped power, zero for negative exponents, which front ends refuse; of
//! floats the bits that the vector math crate's function gives: products, after a root for halves, inverted for
//! negative ones. Calls of that function would wait for each other's roots and divisions, a register at a time.

use crate::builder::{Int, Real, Val};
use crate::lower::Lower;
use numelt_ir::{DType, DTypeKind as Kind, Op, Result};

/// Twice the exponents that take the short way: the largest, and the least whole one.
const LONGEST: u64 = 16;
const SHORTEST: u64 = 4;
/// Added to a number, it leaves twice the nearest half in the low bits; a conversion would raise flags.
const TWICE: f64 = 3_377_699_720_527_872.0;

/// What the power by one float is made of; each is one value for all lanes.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    /// Is it a root, and products?
    half: Val,
    /// Is it products alone?
    whole: Val,
    /// The number of products after the root or the base; negative for the root alone.
    left: Val,
    /// Is it inverted?
    negative: Val,
}

impl Lower<'_> {
    /// How the power by a float exponent (of type `ty`, alike in all lanes) is made.
    pub(crate) fn short(&self, ty: DType, exponent: Val) -> Short {
        let b = self.b;
        let (double, int) = (b.float(64), b.int(32));
        let number = |value| b.const_int(int, value);
        let first = if self.lanes == 1 { exponent } else { b.extract(exponent, 0) };
        let exponent = if ty == DType::F64 { first } else { b.fpext(first, double) };
        let sum = b.fadd(exponent, b.const_float(double, TWICE));
        let twice = b.trunc(b.bitcast(sum, b.int(64)), int);
        let again = b.fmul(b.sitofp(twice, double), b.const_float(double, 0.5));
        let same = b.fcmp(Real::LLVMRealOEQ, again, exponent);
        let negative = b.icmp(Int::LLVMIntSLT, twice, number(0));
        let size = b.select(negative, b.neg(twice), twice);
        let odd = b.icmp(Int::LLVMIntNE, b.and(size, number(1)), number(0));
        let fits = b.and(same, b.icmp(Int::LLVMIntULE, size, number(LONGEST)));
        let products = b.icmp(Int::LLVMIntUGE, size, number(SHORTEST));
        Short {
            half: b.and(fits, odd),
            whole: b.and(fits, b.and(b.not(odd), products)),
            left: b.sub(b.lshr(size, number(1)), number(1)),
            negative,
        }
    }

    /// `base ** exponent`, made as `short` says if no lane of the base is huge or tiny, as in `pow_common` of the
    /// vector math crate: with the error of each step where the base is f64. There it is a call with all of its tests.
    pub(crate) fn short_power(&self, op: Op, ty: DType, base: Val, exponent: Val, short: Short) -> Result<Val> {
        let (b, wide, pair) = (self.b, DType::F64, ty == DType::F64);
        let zero = b.const_int(b.int(32), 0);
        let [no_root, rooted, root, root_by_base, plain, turn, ready, inverted, upright, quick, long, done] = [
            c"no root",
            c"rooted",
            c"root",
            c"root by base",
            c"whole",
            c"product",
            c"ready",
            c"inverted",
            c"upright",
            c"quick",
            c"long",
            c"power",
        ]
        .map(|name| b.block(name));
        let x = if pair { base } else { b.fpext(base, self.reg(wide)) };
        b.branch(short.half, rooted, no_root);

        b.enter(no_root);
        b.branch(short.whole, plain, long);
        b.enter(plain);
        let size = self.float_intrinsic("llvm.fabs", wide, &[x]);
        b.branch(self.beyond(size), long, turn);

        b.enter(rooted);
        let is_root = b.icmp(Int::LLVMIntSLT, short.left, zero);
        let next = b.block(c"which root");
        b.branch(self.beyond(x), long, next);
        b.enter(next);
        b.branch(is_root, root, root_by_base);
        b.enter(root);
        let alone = self.root(x, pair);
        b.jump(ready);
        b.enter(root_by_base);
        let times = self.root_by_base(x, pair);
        b.branch(b.icmp(Int::LLVMIntSGT, short.left, zero), turn, ready);

        b.enter(turn);
        let nothing = self.number(wide, 0.0);
        let [high, low, left] = [(x, times.0), (nothing, times.1), (short.left, short.left)].map(|(whole, half)| {
            let phi = b.phi(b.type_of(whole));
            b.incoming(phi, whole, plain);
            b.incoming(phi, half, root_by_base);
            phi
        });
        let product = self.product((high, low), x, pair);
        let after = b.sub(left, b.const_int(b.int(32), 1));
        for (phi, value) in [(high, product.0), (low, product.1), (left, after)] {
            b.incoming(phi, value, turn);
        }
        b.branch(b.icmp(Int::LLVMIntNE, after, zero), turn, ready);

        b.enter(ready);
        let [high, low] = [[alone.0, times.0, product.0], [alone.1, times.1, product.1]].map(|values| {
            let phi = b.phi(b.type_of(x));
            for (value, from) in values.into_iter().zip([root, root_by_base, turn]) {
                b.incoming(phi, value, from);
            }
            phi
        });
        b.branch(short.negative, inverted, upright);
        b.enter(inverted);
        let below = self.inverse(high, low);
        b.jump(quick);
        b.enter(upright);
        let above = b.fadd(high, low);
        b.jump(quick);
        b.enter(quick);
        let found = b.phi(b.type_of(x));
        b.incoming(found, below, inverted);
        b.incoming(found, above, upright);
        let result = if pair { found } else { b.fptrunc(found, self.reg(ty)) };
        b.jump(done);

        b.enter(long);
        let called = self.math(op, ty, &[base, exponent])?;
        let long = b.current();
        b.jump(done);
        b.enter(done);
        let power = b.phi(self.reg(ty));
        b.incoming(power, result, quick);
        b.incoming(power, called, long);
        Ok(power)
    }

    /// Is some lane too small, too large or no number?
    fn beyond(&self, size: Val) -> Val {
        let outside = |how, power: i32| self.b.fcmp(how, size, self.number(DType::F64, 2.0f64.powi(power)));
        let small = outside(Real::LLVMRealULE, -100);
        self.any(self.b.or(small, outside(Real::LLVMRealUGE, 100)))
    }

    fn fma(&self, a: Val, x: Val, c: Val) -> Val {
        self.float_intrinsic("llvm.fma", DType::F64, &[a, x, c])
    }

    /// The root and, with `pair`, its error: `root` of the vector math crate.
    fn root(&self, x: Val, pair: bool) -> (Val, Val) {
        let b = self.b;
        let root = self.float_intrinsic("llvm.sqrt", DType::F64, &[x]);
        if !pair {
            return (root, self.number(DType::F64, 0.0));
        }
        let half = b.fmul(self.number(DType::F64, 0.5), b.fdiv(self.number(DType::F64, 1.0), root));
        (root, b.fmul(self.fma(b.fneg(root), root, x), half))
    }

    /// The power by one and a half: `root_by_base` of the vector math crate.
    fn root_by_base(&self, x: Val, pair: bool) -> (Val, Val) {
        let b = self.b;
        let root = self.float_intrinsic("llvm.sqrt", DType::F64, &[x]);
        let high = b.fmul(root, x);
        if !pair {
            return (high, self.number(DType::F64, 0.0));
        }
        let error = self.fma(root, x, b.fneg(high));
        let rest = self.fma(b.fneg(root), root, x);
        (high, self.fma(rest, b.fmul(self.number(DType::F64, 0.5), root), error))
    }

    /// One product more.
    fn product(&self, (high, low): (Val, Val), x: Val, pair: bool) -> (Val, Val) {
        let product = self.b.fmul(high, x);
        if !pair {
            return (product, low);
        }
        let error = self.fma(high, x, self.b.fneg(product));
        (product, self.fma(low, x, error))
    }

    /// `inverse` of the vector math crate.
    fn inverse(&self, high: Val, low: Val) -> Val {
        let (b, one) = (self.b, self.number(DType::F64, 1.0));
        let quotient = b.fdiv(one, high);
        let rest = b.fsub(self.fma(b.fneg(quotient), high, one), b.fmul(quotient, low));
        self.fma(rest, quotient, quotient)
    }

    /// Repeated squaring of all lanes until the last exponent is used up.
    pub(crate) fn integer_power(&self, ty: DType, base: Val, exponent: Val) -> Val {
        let b = self.b;
        let (zero, one) = (self.number(ty, 0.0), self.number(ty, 1.0));
        let negative = match ty.kind() {
            Kind::Signed => b.icmp(Int::LLVMIntSLT, exponent, zero),
            Kind::Bool | Kind::Unsigned | Kind::Float | Kind::Complex => self.number(DType::Bool, 0.0),
        };
        let start = b.select(negative, zero, exponent);
        let (from, turn, done) = (b.current(), b.block(c"power"), b.block(c"powered"));
        b.jump(turn);
        b.enter(turn);
        let [result, square, left] = [one, base, start].map(|initial| {
            let phi = b.phi(b.type_of(initial));
            b.incoming(phi, initial, from);
            phi
        });
        let odd = b.icmp(Int::LLVMIntNE, b.and(left, one), zero);
        let next_result = b.select(odd, b.mul(result, square), result);
        let next_left = b.lshr(left, one);
        b.incoming(result, next_result, turn);
        b.incoming(square, b.mul(square, square), turn);
        b.incoming(left, next_left, turn);
        b.branch(self.any(b.icmp(Int::LLVMIntNE, next_left, zero)), turn, done);
        b.enter(done);
        b.select(negative, zero, next_result)
    }

    /// Is the condition true in some lane?
    pub(crate) fn any(&self, condition: Val) -> Val {
        if self.lanes == 1 {
            return condition;
        }
        let ty = self.reg(DType::Bool);
        self.b.intrinsic("llvm.vector.reduce.or", &[ty], &[condition])
    }
}
