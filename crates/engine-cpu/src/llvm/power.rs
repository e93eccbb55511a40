//! Integer power: the one operation whose code is a loop.
//!
//! In: base and exponent. Out: the wrapped power; zero for negative exponents, which front ends refuse.

use super::builder::{Int, Val};
use super::lower::Lower;
use numelt_ir::{DType, DTypeKind as Kind};

impl Lower<'_> {
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
