//! Random instructions.

use super::Draft;
use crate::fill::literal;
use crate::rng::Rng;
use numelt_ir::{Axes, DType, Instr, Op, OpKind, Operand, Scalar, View};

/// The kind of the next instruction.
#[derive(Clone, Copy)]
pub(super) enum InstrKind {
    Elementwise,
    Copy,
    Reduction,
    Rows,
    Scan,
    Range,
    Stream,
    Matmul,
    Gather,
    Scatter,
    Nonzero,
    Stencil,
    Assembly,
    Torus,
    Windows,
}

impl InstrKind {
    pub(super) fn pick(rng: &mut Rng) -> InstrKind {
        match rng.below(100) {
            0..=40 => InstrKind::Elementwise,
            41..=43 => InstrKind::Stencil,
            44..=46 => InstrKind::Assembly,
            47..=48 => InstrKind::Torus,
            49..=50 => InstrKind::Windows,
            51..=58 => InstrKind::Copy,
            59..=71 => InstrKind::Reduction,
            72..=74 => InstrKind::Rows,
            75..=79 => InstrKind::Scan,
            80..=82 => InstrKind::Range,
            83..=84 => InstrKind::Stream,
            85..=93 => InstrKind::Gather,
            94..=95 => InstrKind::Scatter,
            96 => InstrKind::Nonzero,
            _ => InstrKind::Matmul,
        }
    }
}

impl Draft {
    /// Tries to append an instruction of this kind.
    pub(super) fn add(&mut self, kind: InstrKind) {
        match kind {
            InstrKind::Elementwise => self.elementwise(),
            InstrKind::Copy => self.copy(),
            InstrKind::Reduction => self.reduction(),
            InstrKind::Rows => self.rows(),
            InstrKind::Scan => self.scan(),
            InstrKind::Range => self.range(),
            InstrKind::Stream => self.stream(),
            InstrKind::Matmul => self.matmul(),
            InstrKind::Gather => self.gather(),
            InstrKind::Scatter => self.scatter(),
            InstrKind::Nonzero => self.nonzero(),
            InstrKind::Stencil => self.stencil(),
            InstrKind::Assembly => self.assembly(),
            InstrKind::Torus => self.torus(),
            InstrKind::Windows => self.windows(),
        };
    }

    fn op_of(&mut self, kind: OpKind) -> Op {
        let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.kind() == kind).collect();
        if kind == OpKind::Elementwise && self.rng.one_in(2) {
            return *self.rng.pick(&[
                Op::Add,
                Op::Subtract,
                Op::Multiply,
                Op::Divide,
                Op::Maximum,
                Op::Less,
                Op::Where,
            ]);
        }
        *self.rng.pick(&ops)
    }

    /// A loop dtype of the operation, preferably that of an existing view.
    fn loop_dtype(&mut self, op: Op, near: DType) -> DType {
        let all: Vec<DType> = op.info().dtypes.iter().collect();
        if all.contains(&near) && !self.rng.one_in(5) { near } else { *self.rng.pick(&all) }
    }

    fn elementwise(&mut self) -> bool {
        let shape = self.shape();
        let op = self.op_of(OpKind::Elementwise);
        if op == Op::Copy {
            return self.copy();
        }
        let near = self.dtype();
        let ty = self.loop_dtype(op, near);
        let mut ins: Vec<Operand> = Vec::new();
        for place in 0..op.arity() {
            let Some(operand) = self.input(op, ty, place, &shape) else { return false };
            ins.push(operand);
        }
        let views: Vec<View> = ins.iter().filter_map(as_view).collect();
        let out = self.writable(&shape, op.output_dtype(ty), &views);
        self.push(Instr { op, ty, out, ins: ins.into(), axes: Axes::default(), watch: 0 })
    }

    /// An operand: usually a view of the required dtype, sometimes one of another dtype, sometimes a literal.
    fn input(&mut self, op: Op, ty: DType, place: usize, shape: &[i64]) -> Option<Operand> {
        let dtype = op.input_dtype(ty, place);
        if op == Op::Power && ty.is_integer() && place == 1 {
            // front ends reject negative exponents
            let exponent = Scalar::I64(self.rng.range(0, 5));
            return Some(self.constant(numelt_ir::interp::cast(exponent, dtype)));
        }
        let strict = needs_sign_of_nan(op, place);
        if !strict && self.rng.one_in(5) {
            let value = literal(dtype, &mut self.rng);
            return Some(self.constant(value));
        }
        let convert = self.rng.one_in(4);
        let view = self.readable(shape, |found| found == dtype || convert);
        let view = view.filter(|v| !strict || self.known[v.base as usize].pristine && v.dtype == dtype);
        match view {
            Some(view) => Some(Operand::View(view)),
            None if strict => None,
            None => {
                let value = literal(dtype, &mut self.rng);
                Some(self.constant(value))
            }
        }
    }

    /// Copies and casts, some of which overlap themselves.
    pub(super) fn copy(&mut self) -> bool {
        let shape = self.shape();
        let Some(view) = self.readable(&shape, |_| true) else { return false };
        let ty = if self.rng.one_in(2) { view.dtype } else { self.dtype() };
        let out = self.writable(&shape, ty, std::slice::from_ref(&view));
        let ty = if self.rng.one_in(8) { self.dtype() } else { out.dtype };
        self.push(Instr {
            op: Op::Copy,
            ty,
            out,
            ins: [Operand::View(view)].into_iter().collect(),
            axes: Axes::default(),
            watch: 0,
        })
    }

    fn reduction(&mut self) -> bool {
        let shape = self.shape();
        // copies whose result depends on the order of the loops occur more often
        let op = if self.rng.one_in(2) {
            *self.rng.pick(&[Op::Sum, Op::Prod, Op::Argmin, Op::Argmax])
        } else {
            self.op_of(OpKind::Reduction)
        };
        let Some(view) = self.readable(&shape, |_| true) else { return false };
        let ty = self.loop_dtype(op, view.dtype);
        let mut axes = Axes::default();
        for axis in 0..shape.len() {
            if self.rng.below(5) < 3 {
                axes = axes.with(axis);
            }
        }
        let mut result = shape.clone();
        axes.iter().for_each(|axis| result[axis] = 1);
        let out = self.writable(&result, op.output_dtype(ty), std::slice::from_ref(&view));
        self.push(Instr { op, ty, out, ins: [Operand::View(view)].into_iter().collect(), axes, watch: 0 })
    }

    /// The instructions of a softmax or a layer norm: alternately, an array is reduced over some of its axes, and the
    /// result is combined with the array.
    fn rows(&mut self) -> bool {
        let shape = self.shape();
        let ty = *self.rng.pick(&[DType::F64, DType::F64, DType::F32, DType::I32]);
        let Some(mut x) = self.readable(&shape, |d| d == ty) else { return false };
        let mut axes = Axes::default();
        (0..shape.len()).filter(|_| self.rng.one_in(2)).for_each(|axis| axes = axes.with(axis));
        let mut result = shape.clone();
        axes.iter().for_each(|axis| result[axis] = 1);
        for _ in 0..1 + self.rng.below(3) {
            let op = *self.rng.pick(&[Op::Max, Op::Min, Op::Sum, Op::Sum]);
            let folded = self.fresh(&result, ty);
            let ins = [Operand::View(x.clone())].into_iter().collect();
            if !self.push(Instr { op, ty, out: folded.clone(), ins, axes, watch: 0 }) {
                return false;
            }
            let op = *self.rng.pick(&[Op::Subtract, Op::Multiply, Op::Maximum, Op::Add]);
            let Some(spread) = folded.broadcast_to(&shape) else { return false };
            let out = if self.rng.one_in(4) {
                self.writable(&shape, ty, std::slice::from_ref(&x))
            } else {
                self.fresh(&shape, ty)
            };
            let ins = [Operand::View(x.clone()), Operand::View(spread)].into_iter().collect();
            if !self.push(Instr { op, ty, out: out.clone(), ins, axes: Axes::default(), watch: 0 }) {
                return false;
            }
            x = out;
        }
        true
    }

    fn scan(&mut self) -> bool {
        let shape = self.shape();
        if shape.is_empty() {
            return false;
        }
        let op = self.op_of(OpKind::Scan);
        let Some(view) = self.readable(&shape, |_| true) else { return false };
        let ty = self.loop_dtype(op, view.dtype);
        let axes = Axes::default().with(self.rng.below(shape.len()));
        let out = self.writable(&shape, ty, std::slice::from_ref(&view));
        self.push(Instr { op, ty, out, ins: [Operand::View(view)].into_iter().collect(), axes, watch: 0 })
    }

    fn range(&mut self) -> bool {
        let shape = self.shape();
        let near = self.dtype();
        let ty = self.loop_dtype(Op::Range, near);
        let values = [literal(ty, &mut self.rng), literal(ty, &mut self.rng)];
        let ins = values.into_iter().map(|value| self.constant(value)).collect();
        let out = self.writable(&shape, ty, &[]);
        self.push(Instr { op: Op::Range, ty, out, ins, axes: Axes::default(), watch: 0 })
    }

    fn stream(&mut self) -> bool {
        let shape = self.shape();
        let op = *self.rng.pick(&[Op::Pcg64, Op::Pcg64Dxsm, Op::Philox]);
        let near = self.dtype();
        let ty = self.loop_dtype(op, near);
        let position = if self.rng.one_in(2) { self.rng.below(9) as u64 } else { self.rng.bits() >> 1 };
        let mut ins = vec![self.constant(Scalar::U64(position))];
        for _ in 1..op.arity() {
            let word = if self.rng.one_in(4) { u64::MAX } else { self.rng.bits() };
            ins.push(self.constant(Scalar::U64(word)));
        }
        let out = self.writable(&shape, ty, &[]);
        self.push(Instr { op, ty, out, ins: ins.into_iter().collect(), axes: Axes::default(), watch: 0 })
    }

    /// Products of floats are made of small integers, so that every order of additions gives the same bits.
    fn matmul(&mut self) -> bool {
        let extent = |rng: &mut Rng| if rng.one_in(20) { 0 } else { rng.range(1, 6) };
        let (m, k, n) = (extent(&mut self.rng), extent(&mut self.rng), extent(&mut self.rng));
        let lead: Vec<i64> = if self.rng.one_in(4) { vec![self.rng.range(1, 3)] } else { vec![] };
        let near = self.dtype();
        let ty = self.loop_dtype(Op::Matmul, near);
        let shape = |a, b| lead.iter().copied().chain([a, b]).collect::<Vec<i64>>();
        let Some(left) = self.factor(&shape(m, k), ty) else { return false };
        let Some(right) = self.factor(&shape(k, n), ty) else { return false };
        let ins = [left, right];
        let narrow = [(Op::Matvec, n == 1), (Op::Vecmat, m == 1), (Op::Vdot, m * n == 1), (Op::Vecdot, m * n == 1)];
        let mut ops = vec![Op::Matmul, Op::Dot];
        ops.extend(narrow.into_iter().filter_map(|(op, fits)| fits.then_some(op)));
        let op = ops[self.rng.below(ops.len())];
        let out = if self.rng.one_in(3) { self.writable(&shape(m, n), ty, &ins) } else { self.fresh(&shape(m, n), ty) };
        let ins = ins.into_iter().map(Operand::View).collect();
        self.push(Instr { op, ty, out, ins, axes: Axes::default(), watch: 0 })
    }

    fn factor(&mut self, shape: &[i64], ty: DType) -> Option<View> {
        let inexact = ty.is_float() || ty.is_complex();
        let small = |d: DType| matches!(d, DType::Bool | DType::I8 | DType::U8);
        let source = self.readable(shape, |d| if inexact { small(d) } else { d == ty })?;
        if !inexact || self.rng.one_in(2) {
            return Some(source);
        }
        let out = self.fresh(shape, ty);
        let ins = [Operand::View(source)].into_iter().collect();
        let copied = self.push(Instr { op: Op::Copy, ty, out: out.clone(), ins, axes: Axes::default(), watch: 0 });
        copied.then_some(out)
    }
}

fn as_view(operand: &Operand) -> Option<View> {
    match operand {
        Operand::View(view) => Some(view.clone()),
        Operand::Const(_) => None,
    }
}

/// Whether the result depends on the sign of a NaN in this operand, which arithmetic does not determine.
fn needs_sign_of_nan(op: Op, place: usize) -> bool {
    match op {
        Op::Signbit => true,
        Op::Copysign => place == 1,
        _ => false,
    }
}
