//! Programs: bases, literals and a list of instructions over views.
//!
//! Instructions run in order. An instruction reads all of its inputs before it writes any element of its output. So an
//! input may overlap the output: the result is as if the inputs had been copied first. Every input is converted from
//! its view's dtype to the dtype that the operation's signature states, and the result is converted to the output
//! view's dtype, with C's conversion rules (NumPy's `casting='unsafe'`; the front end has checked what is allowed).

use crate::{DType, Op, Scalar, View};
use smallvec::SmallVec;

/// Index of a base in its program.
pub type BaseId = u32;
/// Index of a literal in its program.
pub type ConstId = u32;

/// A contiguous piece of memory on which there are views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Base {
    /// Size in bytes.
    pub nbytes: usize,
    /// Whether it holds values before the program runs.
    pub input: bool,
    /// Whether its values are needed after the program ran. A base that is neither input nor output is a temporary.
    pub output: bool,
}

/// An operand of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Elements of a base.
    View(View),
    /// A literal: plans are independent of its value, and only depend on its dtype.
    Const(ConstId),
}

/// A set of axes, one bit each (bit 0 is axis 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Axes(pub u64);

impl Axes {
    /// Axes `0..rank`.
    pub fn all(rank: usize) -> Axes {
        Axes(if rank >= 64 { u64::MAX } else { (1 << rank) - 1 })
    }

    /// Is `axis` in the set?
    pub fn contains(self, axis: usize) -> bool {
        axis < 64 && self.0 >> axis & 1 == 1
    }

    /// The set with `axis` added.
    pub fn with(self, axis: usize) -> Axes {
        Axes(self.0 | 1 << axis)
    }

    /// Number of axes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there are no axes.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Members, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let axis = left.trailing_zeros() as usize;
            // remove the lowest bit; an empty set stays empty
            left &= left.wrapping_sub(1);
            (axis < 64).then_some(axis)
        })
    }
}

/// One operation on views.
///
/// Shapes: all views of elementwise and generator operations have the output's shape (the recorder broadcasts). A
/// reduction's output has its input's rank, with extent one on each reduced axis. A scan has one axis and equal shapes.
/// `matmul` is `(…, m, k) x (…, k, n)`. `gather` has positions of the output's shape `s` and a source of shape `(n,
/// s…)`. `roll` has a source of the output's shape, and its last elements along each axis, at least one and at most
/// all. `scatter` has a target and an output of shape `(n, s…)`, positions of any shape `q` and values of shape `(q…,
/// s…)`. `nonzero` of rank `r` gives `(count, r)`: the first `count` positions, followed by zeros if there are fewer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instr {
    /// The operation.
    pub op: Op,
    /// The loop dtype. With the operation's signature it determines the dtypes to which inputs are converted.
    pub ty: DType,
    /// The view to which the result is written.
    pub out: View,
    /// The operands, in the operation's order.
    pub ins: SmallVec<[Operand; 3]>,
    /// Reduced axes of a reduction, the axis of a scan; empty otherwise.
    pub axes: Axes,
    /// The floating-point conditions to report (see [`crate::warn`]). No value depends on them. The binary form
    /// includes them, the text form does not.
    pub watch: u8,
}

impl Instr {
    /// The views that are read.
    pub fn reads(&self) -> impl Iterator<Item = &View> {
        self.ins.iter().filter_map(|o| match o {
            Operand::View(v) => Some(v),
            Operand::Const(_) => None,
        })
    }

    /// The bytes that it reads and writes if it runs by itself: the elements of each operand once, but of a gather's
    /// source only as many as are selected.
    pub fn bytes_touched(&self) -> u64 {
        let gathers = self.op.kind() == crate::OpKind::Gather;
        let elements = |(position, view): (usize, &View)| {
            let count = match self.op {
                // the corner is a part of the source
                Op::Roll if position == 1 => 0,
                _ if gathers && position == 0 => self.out.size(),
                _ => view.unique_size(),
            };
            count as u64 * view.dtype.size() as u64
        };
        // a gather's source is never a literal
        self.reads().chain([&self.out]).enumerate().map(elements).sum()
    }

    /// The iteration space: the input's shape for a reduction, otherwise the output's.
    pub fn domain(&self) -> &[i64] {
        if self.op.kind() == crate::OpKind::Reduction
            && let Some(Operand::View(v)) = self.ins.first()
        {
            return &v.shape;
        }
        &self.out.shape
    }
}

/// A sequence of instructions with the bases and literals that they use.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The bases that views index into.
    pub bases: Vec<Base>,
    /// The literals.
    pub consts: Vec<Scalar>,
    /// The instructions, in program order.
    pub instrs: Vec<Instr>,
}

impl Program {
    /// The part of the program that the elements of `views` need: the instructions whose results reach them, with their
    /// bases and literals, renumbered. Only the views' bases are outputs.
    pub fn needed_for(&self, views: &[View]) -> Program {
        self.needed(views).0
    }

    /// The same, with the number in this program of each of its instructions.
    pub fn needed(&self, views: &[View]) -> (Program, Vec<usize>) {
        let mut needed: Vec<Vec<(i64, i64)>> = vec![Vec::new(); self.bases.len()];
        let touches = |ranges: &[(i64, i64)], view: &View| {
            view.byte_range().is_some_and(|(low, high)| ranges.iter().any(|r| r.0 < high && low < r.1))
        };
        let mut keep = vec![false; self.instrs.len()];
        views.iter().for_each(|view| needed[view.base as usize].extend(view.byte_range()));
        for (instr, keep) in self.instrs.iter().zip(&mut keep).rev() {
            *keep = touches(&needed[instr.out.base as usize], &instr.out);
            if *keep {
                instr.reads().for_each(|read| add_range(&mut needed[read.base as usize], read.byte_range()));
            }
        }
        let kept: Vec<usize> = (0..keep.len()).filter(|&at| keep[at]).collect();
        let mut part = Part { whole: self, numbers: vec![None; self.bases.len()], program: Program::default() };
        kept.iter().for_each(|&at| part.add(&self.instrs[at]));
        for output in views.iter().filter_map(|view| part.numbers[view.base as usize]) {
            part.program.bases[output as usize].output = true;
        }
        (part.program, kept)
    }
}

/// Adds a byte range. Ranges that it touches are merged with it, so that views of one array do not accumulate.
fn add_range(ranges: &mut Vec<(i64, i64)>, range: Option<(i64, i64)>) {
    let Some((mut low, mut high)) = range else { return };
    ranges.retain(|&(l, h)| {
        let apart = h < low || high < l;
        if !apart {
            (low, high) = (low.min(l), high.max(h));
        }
        apart
    });
    ranges.push((low, high));
}

/// A part of a program, with its own numbering.
struct Part<'a> {
    whole: &'a Program,
    /// The new number of each base.
    numbers: Vec<Option<BaseId>>,
    program: Program,
}

impl Part<'_> {
    fn add(&mut self, instr: &Instr) {
        let mut instr = instr.clone();
        for operand in &mut instr.ins {
            match operand {
                Operand::View(view) => view.base = self.base(view.base),
                Operand::Const(id) => {
                    self.program.consts.push(self.whole.consts[*id as usize]);
                    *id = self.program.consts.len() as ConstId - 1;
                }
            }
        }
        instr.out.base = self.base(instr.out.base);
        self.program.instrs.push(instr);
    }

    fn base(&mut self, old: BaseId) -> BaseId {
        *self.numbers[old as usize].get_or_insert_with(|| {
            self.program.bases.push(Base { output: false, ..self.whole.bases[old as usize] });
            self.program.bases.len() as BaseId - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn a_part_has_what_a_view_needs() {
        let text = "\
base %0 64 in
base %1 32 out
base %2 32 out
base %3 32 out
const $0 = f64 1.5
const $1 = f64 2.5
%1[f64 (4)] = multiply.f64 %0[f64 (4)], $0
%2[f64 (4)] = add.f64 %0[f64 +32 (4)], $1
%3[f64 (4)] = add.f64 %2[f64 (4)], $1
%2[f64 (2)] = copy.f64 %1[f64 (2)]
";
        let program: Program = text.parse().unwrap();
        let of = |base, offset, n| View { offset, ..View::contiguous(base, DType::F64, &[n]) };
        let ops = |view: &View| -> Vec<&str> {
            let part = program.needed_for(std::slice::from_ref(view));
            assert!(part.bases.iter().filter(|b| b.output).count() <= 1);
            assert!(crate::verify(&part).is_ok(), "{part}");
            part.instrs.iter().map(|i| i.op.name()).collect()
        };
        assert_eq!(ops(&of(1, 0, 4)), ["multiply"]);
        assert_eq!(ops(&of(3, 0, 4)), ["add", "add"]);
        assert_eq!(ops(&of(2, 16, 2)), ["add"]);
        assert_eq!(ops(&of(2, 0, 1)), ["multiply", "add", "copy"]);
        assert_eq!(ops(&of(0, 0, 4)), [""; 0]);
        let two = program.needed_for(&[of(1, 0, 4), of(3, 0, 4)]);
        assert_eq!((two.instrs.len(), two.bases.iter().filter(|b| b.output).count()), (3, 2));
        assert_eq!(program.needed_for(&[of(3, 0, 4)]).consts.len(), 2);
    }
}
