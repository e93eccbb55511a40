//! Powers whose code is a loop: of integers, and of floats with one short whole exponent.
//!
//! In: base and exponent. Out: of integers the wrapped power, zero for negative exponents, which front ends refuse; of
//! floats the bits that the vector math crate's function gives.

use super::builder::{Int, Real, Val};
use super::lower::Lower;
use numelt_ir::{DType, DTypeKind as Kind, Op, Result};

/// Whole exponents that take the short way.
const SHORTEST: u64 = 2;
const LONGEST: u64 = 8;

impl Lower<'_> {
    /// Products that the power by a float exponent (of type `ty`, alike in all lanes) takes, if it takes the short way; zero
    /// otherwise.
    pub(super) fn short_steps(&self, ty: DType, exponent: Val) -> Val {
        let b = self.b;
        let (double, whole) = (b.float(64), b.int(32));
        let first = if self.lanes == 1 { exponent } else { b.extract(exponent, 0) };
        let exponent = if ty == DType::F64 { first } else { b.fpext(first, double) };
        // the low bits of a sum with 1.5 * 2^52 are the nearest integer; a conversion would raise flags
        let sum = b.fadd(exponent, b.const_float(double, 6_755_399_441_055_744.0));
        let nearest = b.trunc(b.bitcast(sum, b.int(64)), whole);
        let same = b.fcmp(Real::LLVMRealOEQ, b.sitofp(nearest, double), exponent);
        let over = b.sub(nearest, b.const_int(whole, SHORTEST));
        let short = b.icmp(Int::LLVMIntULE, over, b.const_int(whole, LONGEST - SHORTEST));
        let steps = b.sub(nearest, b.const_int(whole, 1));
        b.select(b.and(same, short), steps, b.const_int(whole, 0))
    }

    /// `base ** exponent`, which takes `steps` products if no lane of the base is huge or tiny: those of `pow_common` in the
    /// vector math crate, each with its error where the base is f64. There it is a call with all of its tests.
    pub(super) fn short_power(&self, op: Op, ty: DType, base: Val, exponent: Val, steps: Val) -> Result<Val> {
        let (b, wide) = (self.b, DType::F64);
        let zero = b.const_int(b.int(32), 0);
        let [asked, turn, short, long, done] = [c"asked", c"product", c"short", c"long", c"power"].map(|n| b.block(n));
        b.branch(b.icmp(Int::LLVMIntNE, steps, zero), asked, long);

        b.enter(asked);
        let x = if ty == DType::F64 { base } else { b.fpext(base, self.reg(wide)) };
        let size = self.float_intrinsic("llvm.fabs", wide, &[x]);
        let beyond = |how, power: i32| b.fcmp(how, size, self.number(wide, 2.0f64.powi(power)));
        let outside = b.or(beyond(Real::LLVMRealULE, -100), beyond(Real::LLVMRealUGE, 100));
        let from = b.current();
        b.branch(self.any(outside), long, turn);

        b.enter(turn);
        let [high, low, left] = [x, self.number(wide, 0.0), steps].map(|start| {
            let phi = b.phi(b.type_of(start));
            b.incoming(phi, start, from);
            phi
        });
        let product = b.fmul(high, x);
        let error = if ty == DType::F64 {
            let rest = self.float_intrinsic("llvm.fma", wide, &[high, x, b.fneg(product)]);
            self.float_intrinsic("llvm.fma", wide, &[low, x, rest])
        } else {
            low
        };
        let next = b.sub(left, b.const_int(b.int(32), 1));
        for (phi, value) in [(high, product), (low, error), (left, next)] {
            b.incoming(phi, value, turn);
        }
        b.branch(b.icmp(Int::LLVMIntNE, next, zero), turn, short);

        b.enter(short);
        let quick = if ty == DType::F64 { b.fadd(product, error) } else { b.fptrunc(product, self.reg(ty)) };
        b.jump(done);
        b.enter(long);
        let called = self.math(op, ty, &[base, exponent])?;
        let long = b.current();
        b.jump(done);
        b.enter(done);
        let power = b.phi(self.reg(ty));
        b.incoming(power, quick, short);
        b.incoming(power, called, long);
        Ok(power)
    }

    /// Repeated squaring of all lanes until the last exponent is used up.
    pub(super) fn integer_power(&self, ty: DType, base: Val, exponent: Val) -> Val {
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
    pub(super) fn any(&self, condition: Val) -> Val {
        if self.lanes == 1 {
            return condition;
        }
        let ty = self.reg(DType::Bool);
        self.b.intrinsic("llvm.vector.reduce.or", &[ty], &[condition])
    }
}
