//! Random gathers, scatters and `nonzero`s.

use super::Draft;
use numelt_ir::{Axes, DType, Instr, Op, Operand, Scalar, View};

impl Draft {
    /// Integers of a shape, usually between zero and `n`.
    fn positions(&mut self, shape: &[i64], n: i64, wide: bool) -> Option<View> {
        if self.rng.one_in(6) && !wide {
            return self.readable(shape, |d| d.is_integer() || d == DType::Bool);
        }
        let source = self.readable(shape, |d| d.is_integer())?;
        let ty = if wide || source.dtype.size() == 8 { DType::I64 } else { source.dtype };
        let bound = numelt_ir::interp::cast(Scalar::I64(n.clamp(1, 100)), ty);
        let ins = [Operand::View(source), self.constant(bound)].into_iter().collect();
        let out = self.fresh(shape, if wide { DType::I64 } else { ty });
        let made = self.push(Instr { op: Op::Remainder, ty, out: out.clone(), ins, axes: Axes::default(), watch: 0 });
        made.then_some(out)
    }

    pub(super) fn gather(&mut self) -> bool {
        let shape = self.shape();
        let n = self.rng.range(1, 6);
        let mut whole = vec![n];
        whole.extend_from_slice(&shape);
        let Some(source) = self.readable(&whole, |_| true) else { return false };
        let Some(positions) = self.positions(&shape, n, false) else { return false };
        let ty = if self.rng.one_in(4) { self.dtype() } else { source.dtype };
        let out = self.writable(&shape, ty, &[source.clone(), positions.clone()]);
        let ins = [Operand::View(source), Operand::View(positions)].into_iter().collect();
        self.push(Instr { op: Op::Gather, ty, out, ins, axes: Axes::default(), watch: 0 })
    }

    pub(super) fn scatter(&mut self) -> bool {
        let lead = self.shape();
        let rest = if self.rng.one_in(2) { vec![] } else { vec![self.rng.range(1, 3)] };
        let n = self.rng.range(1, 6);
        let joined = |head: &[i64]| head.iter().chain(&rest).copied().collect::<Vec<i64>>();
        let Some(target) = self.readable(&joined(&[n]), |_| true) else { return false };
        let ty = target.dtype;
        let Some(values) = self.readable(&joined(&lead), |d| d == ty) else { return false };
        let Some(positions) = self.positions(&lead, n, true) else { return false };
        let out = if self.rng.one_in(4) { self.fresh(&joined(&[n]), ty) } else { target.clone() };
        let ins = [target, values, positions].into_iter().map(Operand::View).collect();
        let op = *self.rng.pick(&[Op::Scatter, Op::ScatterAdd, Op::ScatterMultiply, Op::ScatterMax, Op::ScatterMin]);
        self.push(Instr { op, ty, out, ins, axes: Axes::default(), watch: 0 })
    }

    pub(super) fn nonzero(&mut self) -> bool {
        let shape = self.shape();
        let Some(input) = self.readable(&shape, |_| true) else { return false };
        let count = self.rng.range(0, shape.iter().product::<i64>() + 1);
        let out = self.fresh(&[count, shape.len() as i64], DType::I64);
        let ty = input.dtype;
        self.push(Instr {
            op: Op::Nonzero,
            ty,
            out,
            ins: [Operand::View(input)].into_iter().collect(),
            axes: Axes::default(),
            watch: 0,
        })
    }
}
