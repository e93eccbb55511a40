//! Exponentials whose code is in the kernel.
//!
//! In: arguments. Out: the bits that the vector math crate's function gives. A call takes a third more time than its
//! own arithmetic: nothing stays in registers, and the chains of dependent operations of neighbouring vectors cannot
//! fill each other's pauses. Arguments near the ends of the range are left to that function.

use crate::builder::{Real, Val};
use crate::lower::Lower;
use numelt_ir::{DType, Op, Result};
use numelt_vecmath::EXPONENTIAL as E;

impl Lower<'_> {
    /// The exponentials of f64 vectors, step by step of all; `None` where it is better to call the function.
    pub(crate) fn exponentials(&self, args: &[Val]) -> Result<Option<Vec<Val>>> {
        if self.lanes == 1 || !self.math.has_fma() {
            return Ok(None);
        }
        let (b, ty) = (self.b, DType::F64);
        let limit = self.number(ty, E.limit);
        let inside = args.iter().map(|&x| b.fcmp_quiet(Real::LLVMRealOLT, self.on(ty, "llvm.fabs", x), limit));
        let inside = inside.reduce(|all, one| b.and(all, one));
        let (slow, quick, done) = (b.block(c"exp"), b.block(c"exp inside"), b.block(c"exponentials"));
        b.branch(self.any(b.not(inside.expect("there is an argument"))), slow, quick);
        b.enter(slow);
        let called = args.iter().map(|&x| self.math(Op::Exp, ty, &[x])).collect::<Result<Vec<Val>>>()?;
        let slow_end = b.current();
        b.jump(done);
        b.enter(quick);
        let computed = self.exponentials_inside(args);
        b.jump(done);
        b.enter(done);
        let joined = called.into_iter().zip(computed).map(|(called, computed)| {
            let phi = b.phi(self.reg(ty));
            b.incoming(phi, called, slow_end);
            b.incoming(phi, computed, quick);
            phi
        });
        Ok(Some(joined.collect()))
    }

    /// `exp_middle` of the vector math crate.
    fn exponentials_inside(&self, args: &[Val]) -> Vec<Val> {
        let (b, ty) = (self.b, DType::F64);
        let number = |value| self.number(ty, value);
        let fma = |x, y, z| self.float_intrinsic("llvm.fma", ty, &[x, y, z]);
        let each = |values: &[Val], step: &dyn Fn(Val) -> Val| values.iter().map(|&v| step(v)).collect::<Vec<_>>();
        let pairs = |one: &[Val], other: &[Val], step: &dyn Fn(Val, Val) -> Val| {
            one.iter().zip(other).map(|(&x, &y)| step(x, y)).collect::<Vec<_>>()
        };
        let powers = each(args, &|x| self.on(ty, "llvm.rint", b.fmul(x, number(E.inverse))));
        let rest = pairs(&powers, args, &|k, x| fma(b.fneg(k), number(E.high), x));
        let rest = pairs(&powers, &rest, &|k, r| fma(b.fneg(k), number(E.low), r));
        let squares = each(&rest, &|r| b.fmul(r, r));
        // even and odd terms apart, the highest first
        let [first, series @ .., odd, even] = E.series;
        let (mut evens, mut odds) = (each(args, &|_| number(even)), each(args, &|_| number(odd)));
        for pair in series.rchunks_exact(2) {
            evens = pairs(&evens, &squares, &|sum, square| fma(sum, square, number(pair[1])));
            odds = pairs(&odds, &squares, &|sum, square| fma(sum, square, number(pair[0])));
        }
        let evens = pairs(&evens, &squares, &|sum, square| fma(sum, square, number(first)));
        let whole = each(&rest, &|r| b.fadd(number(1.0), r));
        let lost = pairs(&whole, &rest, &|one, r| b.fadd(b.fsub(number(1.0), one), r));
        let series = (0..args.len()).map(|i| fma(odds[i], rest[i], evens[i])).collect::<Vec<_>>();
        let low = (0..args.len()).map(|i| fma(squares[i], series[i], lost[i])).collect::<Vec<_>>();
        let sums = pairs(&whole, &low, &|high, low| b.fadd(high, low));
        let bits = self.reg(DType::I64);
        pairs(&sums, &powers, &|sum, k| {
            // the power is added to the exponent: its bits are the last ones of a sum whose unit is one
            let unit = b.bitcast(b.fadd(k, number(E.unit)), bits);
            let power = b.shl(unit, b.const_int(bits, 52));
            b.bitcast(b.add(b.bitcast(sum, bits), power), self.reg(ty))
        })
    }

    fn on(&self, ty: DType, name: &str, v: Val) -> Val {
        self.float_intrinsic(name, ty, &[v])
    }
}
