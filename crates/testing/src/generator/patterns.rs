//! Random groups of instructions that occur in real programs and that the passes recognize.
//!
//! Each instruction of a group is valid by itself, so that a group may end after any of them.

use super::Draft;
use super::views::{dense_permuted, reversed, window};
use numelt_ir::{Axes, DType, Instr, Op, Operand, Scalar, View};

const ARITHMETIC: [Op; 6] = [Op::Add, Op::Add, Op::Subtract, Op::Multiply, Op::Maximum, Op::Minimum];
const LOGICAL: [Op; 4] = [Op::LogicalAnd, Op::LogicalOr, Op::LogicalXor, Op::NotEqual];
const TYPES: [DType; 10] = [
    DType::F64,
    DType::F64,
    DType::F64,
    DType::F32,
    DType::I64,
    DType::I32,
    DType::U8,
    DType::Bool,
    DType::F16,
    DType::C128,
];

impl Draft {
    fn simple(&mut self, op: Op, ty: DType, out: &View, ins: Vec<Operand>) -> bool {
        self.push(Instr { op, ty, out: out.clone(), ins: ins.into(), axes: Axes::default(), watch: 0 })
    }

    fn work(&mut self, ty: DType) -> Op {
        match ty {
            DType::Bool => *self.rng.pick(&LOGICAL),
            DType::C128 => *self.rng.pick(&ARITHMETIC[..4]),
            _ => *self.rng.pick(&ARITHMETIC),
        }
    }

    fn copy_to(&mut self, out: &View, from: View) -> bool {
        self.simple(Op::Copy, out.dtype, out, vec![Operand::View(from)])
    }

    /// Steps that overwrite the middle of an array by a function of neighbouring elements: directly, through named and
    /// unnamed temporaries, through masks, or through another array and back, with the sum of the changes.
    pub(super) fn stencil(&mut self) -> bool {
        let ty = *self.rng.pick(&TYPES);
        let rank = *self.rng.pick(&[1, 1, 2, 2, 3]);
        let side = ((self.most as f64).powf(1.0 / rank as f64) as i64).max(2);
        let inner: Vec<i64> = (0..rank).map(|_| self.rng.range(1, side)).collect();
        let reach: Vec<i64> = (0..rank).map(|_| *self.rng.pick(&[0, 1, 1, 2])).collect();
        let outer: Vec<i64> = inner.iter().zip(&reach).map(|(n, r)| n + 2 * r).collect();
        let step = *self.rng.pick(&[1, 1, 1, 2]);
        let base = self.new_base(ty, (outer.iter().product::<i64>() * step) as usize, true);
        let mut grid = View::contiguous(base, ty, &outer);
        if self.rng.one_in(4) {
            grid.strides = dense_permuted(&mut self.rng, &outer, ty.size() as i64);
        }
        grid.strides.iter_mut().for_each(|s| *s *= step);
        (0..rank).filter(|_| self.rng.one_in(6)).for_each(|axis| reversed(&mut grid, axis));
        let centre = window(&grid, &reach, &inner);
        for _ in 0..1 + self.rng.below(6) {
            if !self.sweep(&grid, &centre, &reach) {
                return false;
            }
        }
        true
    }

    fn sweep(&mut self, grid: &View, centre: &View, reach: &[i64]) -> bool {
        let (ty, shape) = (centre.dtype, centre.shape.to_vec());
        let neighbour = |draft: &mut Draft| {
            let starts: Vec<i64> = reach.iter().map(|&r| draft.rng.range(0, 2 * r)).collect();
            window(grid, &starts, &shape)
        };
        let mut sum = neighbour(self);
        for _ in 0..self.rng.below(5) {
            let next = neighbour(self);
            let out = if self.rng.one_in(5) { centre.clone() } else { self.fresh(&shape, ty) };
            let op = self.work(ty);
            if !self.simple(op, ty, &out, vec![Operand::View(sum), Operand::View(next)]) {
                return false;
            }
            sum = out;
        }
        match self.rng.below(6) {
            0 => self.copy_to(centre, sum),
            1 => {
                let op = self.work(ty);
                self.simple(op, ty, centre, vec![Operand::View(sum), Operand::View(centre.clone())])
            }
            2 => self.masked(centre, sum),
            3 => self.summed(centre, sum),
            4 => {
                // all of another array, and back
                let other = self.fresh(&grid.shape, ty);
                self.copy_to(&other, grid.clone())
                    && self.copy_to(&window(&other, reach, &shape), sum)
                    && self.copy_to(grid, other)
            }
            _ => {
                let value = self.fresh(&shape, ty);
                let op = self.work(ty);
                self.simple(op, ty, &value, vec![Operand::View(sum), Operand::View(centre.clone())])
                    && self.copy_to(centre, value)
            }
        }
    }

    /// Rules of a cellular automaton: comparisons that are combined by logic, and then used for a choice or stored.
    fn masked(&mut self, centre: &View, sum: View) -> bool {
        let (ty, shape) = (centre.dtype, centre.shape.to_vec());
        let mut mask = self.fresh(&shape, DType::Bool);
        let bound = numelt_ir::interp::cast(Scalar::I64(self.rng.range(-1, 3)), ty);
        let bound = self.constant(bound);
        let (low, high) = if ty == DType::C128 { (Op::Equal, Op::NotEqual) } else { (Op::Less, Op::GreaterEqual) };
        if !self.simple(low, ty, &mask, vec![Operand::View(sum.clone()), bound]) {
            return false;
        }
        if self.rng.one_in(2) {
            let (other, both) = (self.fresh(&shape, DType::Bool), self.fresh(&shape, DType::Bool));
            let ins = vec![Operand::View(centre.clone()), Operand::View(sum.clone())];
            let op = *self.rng.pick(&LOGICAL[..3]);
            let joined = vec![Operand::View(mask), Operand::View(other.clone())];
            if !self.simple(high, ty, &other, ins) || !self.simple(op, DType::Bool, &both, joined) {
                return false;
            }
            mask = both;
        }
        if self.rng.one_in(2) {
            return self.copy_to(centre, mask);
        }
        let ins = [mask, sum, centre.clone()].map(Operand::View).to_vec();
        self.simple(Op::Where, ty, centre, ins)
    }

    /// Gives the new value a name, computes its difference to the old one, and sums the differences.
    fn summed(&mut self, centre: &View, sum: View) -> bool {
        let (ty, shape) = (centre.dtype, centre.shape.to_vec());
        let (change, all) = (self.fresh(&shape, ty), self.fresh(&vec![1; shape.len()], ty));
        let ins = [sum.clone(), centre.clone()].map(Operand::View).to_vec();
        let op = if ty == DType::Bool { Op::LogicalXor } else { Op::Subtract };
        let (fold, axes) = (if ty == DType::Bool { Op::Any } else { Op::Sum }, Axes::all(shape.len()));
        self.simple(op, ty, &change, ins)
            && self.push(Instr {
                op: fold,
                ty,
                out: all,
                ins: [Operand::View(change)].into_iter().collect(),
                axes,
                watch: 0,
            })
            && self.copy_to(centre, sum)
    }

    /// Assembles an array from pieces, as concatenate and roll do, and copies it to a view: usually one with the layout
    /// of the array, sometimes a reversed one, on another array or on one from which the pieces were read.
    pub(super) fn assembly(&mut self) -> bool {
        let shape = self.shape();
        let ty = *self.rng.pick(&TYPES);
        if shape.is_empty() || shape.contains(&0) {
            return false;
        }
        let elements = shape.iter().product::<i64>();
        let base = self.new_base(ty, elements as usize, false);
        let mut whole = View::contiguous(base, ty, &shape);
        if self.rng.one_in(4) {
            whole.strides = dense_permuted(&mut self.rng, &shape, ty.size() as i64);
        }
        (0..shape.len()).filter(|_| self.rng.one_in(5)).for_each(|axis| reversed(&mut whole, axis));
        let place = self.like(&whole);
        let rolled = self.rng.one_in(3);
        for piece in self.pieces(&whole) {
            let source = if rolled && self.is_defined(&place) {
                window(&place, &vec![0; shape.len()], &piece.shape)
            } else {
                let Some(source) = self.readable(&piece.shape, |_| true) else { return false };
                source
            };
            let made = if self.rng.one_in(2) {
                self.copy_to(&piece, source)
            } else {
                let (op, value) = (self.work(ty), crate::fill::literal(ty, &mut self.rng));
                let value = self.constant(value);
                self.simple(op, ty, &piece, vec![Operand::View(source), value])
            };
            if !made {
                return false;
            }
        }
        if self.rng.one_in(6) {
            // an instruction between the pieces and the copy, which may use the arrays of both
            self.copy();
        }
        let through = if self.rng.one_in(4) { self.fresh(&shape, ty) } else { place.clone() };
        self.copy_to(&through, whole) && (through == place || self.copy_to(&place, through))
    }

    /// Steps on a torus: an array is combined with rolled copies of itself, and the result is copied over the array,
    /// combined with it in place, summed or stored.
    pub(super) fn torus(&mut self) -> bool {
        let shape = self.shape();
        let ty = *self.rng.pick(&TYPES);
        if shape.is_empty() || shape.contains(&0) {
            return false;
        }
        let base = self.new_base(ty, shape.iter().product::<i64>() as usize, true);
        let mut grid = View::contiguous(base, ty, &shape);
        if self.rng.one_in(4) {
            grid.strides = dense_permuted(&mut self.rng, &shape, ty.size() as i64);
        }
        (0..shape.len()).filter(|_| self.rng.one_in(5)).for_each(|axis| reversed(&mut grid, axis));
        for _ in 0..1 + self.rng.below(3) {
            let mut sum = grid.clone();
            for _ in 0..1 + self.rng.below(3) {
                let rolled = self.fresh(&shape, ty);
                let out = self.fresh(&shape, ty);
                let op = self.work(ty);
                let ins = [sum, rolled.clone()].map(Operand::View).to_vec();
                if !self.roll(&grid, &rolled) || !self.simple(op, ty, &out, ins) {
                    return false;
                }
                sum = out;
            }
            let op = self.work(ty);
            let done = match self.rng.below(4) {
                0 => self.copy_to(&grid, sum),
                1 => self.simple(op, ty, &grid, [grid.clone(), sum].map(Operand::View).to_vec()),
                2 => self.summed(&grid, sum),
                _ => {
                    let out = self.fresh(&shape, ty);
                    self.simple(op, ty, &out, [sum, grid.clone()].map(Operand::View).to_vec())
                }
            };
            if !done {
                return false;
            }
        }
        true
    }

    /// Windows of a vector that share its elements are reduced and used in operations, between writes to parts of the
    /// vector.
    pub(super) fn windows(&mut self) -> bool {
        let ty = *self.rng.pick(&TYPES);
        let size = ty.size() as i64;
        let width = self.rng.range(2, 3);
        let (down, across): (i64, i64) = (*self.rng.pick(&[0, 1, 1, 1, 2, -1]), *self.rng.pick(&[0, 1, 1, 1, -1]));
        let rows = self.rng.range(2, (self.most / width).max(3));
        let elements = down.abs() * (rows - 1) + across.abs() * (width - 1) + 1;
        let base = self.new_base(ty, elements as usize, true);
        let vector = View::contiguous(base, ty, &[elements]);
        let mut seen = View::contiguous(base, ty, &[rows, width]);
        seen.strides = [down * size, across * size].into_iter().collect();
        seen.offset = (0.min(down * (rows - 1)) + 0.min(across * (width - 1))).abs() * size;
        for _ in 0..2 + self.rng.below(4) {
            let done = match self.rng.below(4) {
                0 => {
                    let out = self.fresh(&[rows, width], ty);
                    let op = self.work(ty);
                    self.simple(op, ty, &out, vec![Operand::View(seen.clone()), Operand::View(seen.clone())])
                }
                1 | 2 => {
                    let (op, axis) = (*self.rng.pick(&[Op::Sum, Op::Max, Op::Any]), self.rng.below(2));
                    let ty = if op == Op::Max && ty == DType::C128 { DType::F64 } else { ty };
                    let out = self.fresh(&if axis == 0 { [1, width] } else { [rows, 1] }, op.output_dtype(ty));
                    let ins = [Operand::View(seen.clone())].into_iter().collect();
                    self.push(Instr { op, ty, out, ins, axes: Axes::default().with(axis), watch: 0 })
                }
                _ => {
                    let first = self.rng.range(0, elements - 1);
                    let part = window(&vector, &[first], &[self.rng.range(1, elements - first)]);
                    let op = self.work(ty);
                    let value = crate::fill::literal(ty, &mut self.rng);
                    let value = self.constant(value);
                    self.simple(op, ty, &part, vec![Operand::View(part.clone()), value])
                }
            };
            if !done {
                return false;
            }
        }
        true
    }

    /// Rolls an array along some axes, part by part.
    fn roll(&mut self, from: &View, to: &View) -> bool {
        let moved = |n: &i64| if self.rng.one_in(2) { self.rng.range(0, n - 1) } else { 0 };
        let shifts: Vec<i64> = from.shape.iter().map(moved).collect();
        let axes: Vec<usize> = (0..shifts.len()).filter(|&axis| shifts[axis] > 0).collect();
        (0..1usize << axes.len()).all(|corner| {
            let (mut starts, mut sources, mut shape) =
                (vec![0; shifts.len()], vec![0; shifts.len()], to.shape.to_vec());
            for (bit, &axis) in axes.iter().enumerate() {
                let (shift, rest) = (shifts[axis], to.shape[axis] - shifts[axis]);
                let first = corner >> bit & 1 == 0;
                (starts[axis], sources[axis], shape[axis]) = if first { (shift, 0, rest) } else { (0, rest, shift) };
            }
            self.copy_to(&window(to, &starts, &shape), window(from, &sources, &shape))
        })
    }

    /// A view with the same layout as another one, of an existing array or of a new one.
    fn like(&mut self, whole: &View) -> View {
        let Some((low, high)) = whole.byte_range() else { return whole.clone() };
        let size = whole.dtype.size() as i64;
        let mut place = whole.clone();
        place.base = self.recent_base();
        let fits = |draft: &Draft, id: u32| {
            id != whole.base
                && draft.known[id as usize].dtype == whole.dtype
                && draft.program.bases[id as usize].nbytes as i64 >= high - low
        };
        if !fits(self, place.base) || self.rng.one_in(3) {
            let room = self.rng.below(5);
            let input = self.rng.one_in(2);
            place.base = self.new_base(whole.dtype, ((high - low) / size) as usize + room, input);
        }
        let slack = self.program.bases[place.base as usize].nbytes as i64 - (high - low);
        place.offset += self.rng.range(0, slack / size) * size;
        if self.rng.one_in(5) {
            let axis = self.rng.below(place.rank());
            reversed(&mut place, axis);
        }
        place
    }

    /// Cuts a view along one or two axes; sometimes the pieces are in reverse order, and sometimes a piece is written
    /// twice.
    fn pieces(&mut self, whole: &View) -> Vec<View> {
        let mut pieces = vec![whole.clone()];
        for _ in 0..1 + self.rng.below(2) {
            let axis = self.rng.below(whole.rank());
            let cut = self.rng.range(0, whole.shape[axis]);
            let parts = pieces.iter().flat_map(|piece| {
                let (mut starts, mut shape) = (vec![0; piece.rank()], piece.shape.to_vec());
                let cut = cut.min(shape[axis]);
                let n = shape[axis];
                shape[axis] = cut;
                let first = window(piece, &starts, &shape);
                (starts[axis], shape[axis]) = (cut, n - cut);
                [first, window(piece, &starts, &shape)]
            });
            pieces = parts.filter(|piece| piece.size() > 0).collect();
        }
        if self.rng.one_in(4) {
            let again = self.rng.pick(&pieces).clone();
            pieces.push(again);
        }
        for piece in &mut pieces {
            if self.rng.one_in(4) {
                let axis = self.rng.below(whole.rank());
                reversed(piece, axis);
            }
        }
        pieces
    }
}
