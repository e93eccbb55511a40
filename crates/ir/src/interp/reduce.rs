//! Reductions.
//!
//! Sums of floats and complex values follow NumPy. The loops are in the input's memory order ([`memory_order`]). The
//! innermost loops that are reduced form a run, which is flattened, cut into [`Pieces`] and summed pairwise. The sums
//! that belong to one output element are added to zero one after the other. Products start from one and go through the
//! loops in the same order. Sums and products of f16 are computed in f32 within a piece, and rounded after it.
//! Arg-reductions count positions in C order over the reduced axes.

use super::{Pieces, apply, cast, memory_order, pairwise_sum, scalar};
use crate::{Axes, DType, Error, Instr, Op, Operand, Result, Scalar, View};

/// A fold for one output element, to which elements are passed one after the other; for sums of floats, one
/// pairwise-summed run after the other.
#[derive(Debug, Clone)]
pub struct Fold {
    op: Op,
    ty: DType,
    acc: Option<Scalar>,
    position: i64,
    seen: i64,
}

impl Fold {
    /// An empty fold of a reduction in its loop dtype.
    pub fn new(op: Op, ty: DType) -> Fold {
        let acc = match op {
            Op::Sum => Some(cast(Scalar::I8(0), ty)),
            Op::Prod => Some(cast(Scalar::I8(1), ty)),
            Op::Any => Some(Scalar::Bool(false)),
            Op::All => Some(Scalar::Bool(true)),
            _ => None,
        };
        Fold { op, ty, acc, position: 0, seen: 0 }
    }

    /// Takes the next element, of the loop dtype.
    pub fn push(&mut self, x: Scalar) -> Result<()> {
        let Some(acc) = self.acc else {
            self.acc = Some(x);
            self.seen += 1;
            return Ok(());
        };
        self.acc = Some(match self.op {
            Op::Sum => apply(Op::Add, self.ty, &[acc, x])?,
            Op::Prod => apply(Op::Multiply, self.ty, &[acc, x])?,
            Op::Min => apply(Op::Minimum, self.ty, &[acc, x])?,
            Op::Max => apply(Op::Maximum, self.ty, &[acc, x])?,
            Op::ReduceFmax => apply(Op::Fmax, self.ty, &[acc, x])?,
            Op::ReduceFmin => apply(Op::Fmin, self.ty, &[acc, x])?,
            Op::ReduceAnd => apply(Op::BitwiseAnd, self.ty, &[acc, x])?,
            Op::ReduceOr => apply(Op::BitwiseOr, self.ty, &[acc, x])?,
            Op::ReduceXor => apply(Op::BitwiseXor, self.ty, &[acc, x])?,
            Op::Any => Scalar::Bool(scalar::truth(acc) || scalar::truth(x)),
            Op::All => Scalar::Bool(scalar::truth(acc) && scalar::truth(x)),
            Op::Argmin => self.choose_best(acc, x, Op::Less)?,
            Op::Argmax => self.choose_best(acc, x, Op::Greater)?,
            _ => return Err(Error::Invalid(format!("{} is not a reduction", self.op.name()))),
        });
        self.seen += 1;
        Ok(())
    }

    /// Adds a run of elements: the innermost reduced loops of one output element, flattened. A sum of floats adds the
    /// run's pairwise sum, every other fold its elements one by one.
    pub fn push_run(&mut self, run: &[Scalar]) -> Result<()> {
        let pairwise = self.op == Op::Sum && (self.ty.is_float() || self.ty.is_complex());
        match run {
            [] => Ok(()),
            [_, _, ..] if self.ty.is_complex() && self.op == Op::Prod => self.push_product(run),
            _ if self.ty == DType::F16 && matches!(self.op, Op::Sum | Op::Prod) => self.push_halves(run),
            _ if pairwise => self.push(run_sum(run)),
            _ => run.iter().try_for_each(|x| self.push(*x)),
        }
    }

    /// Multiplies by a run of at least two complex values, with all products of parts rounded. NumPy's loops do so for
    /// runs only: a single value is multiplied by the operation itself.
    fn push_product(&mut self, run: &[Scalar]) -> Result<()> {
        for x in run {
            let acc = self.acc.unwrap_or(*x);
            self.acc = Some(scalar::multiply_rounded(acc, *x));
        }
        self.seen += run.len() as i64;
        Ok(())
    }

    /// Adds, or multiplies by, a run of f16, which is computed in f32 and rounded at the end.
    fn push_halves(&mut self, run: &[Scalar]) -> Result<()> {
        let single = |value: &Scalar| cast(*value, DType::F32);
        let mut wide = Fold { op: self.op, ty: DType::F32, acc: self.acc.as_ref().map(single), position: 0, seen: 0 };
        wide.push_run(&run.iter().map(single).collect::<Vec<_>>())?;
        self.acc = Some(cast(wide.finish()?, DType::F16));
        Ok(())
    }

    /// The better of the best element so far and `x`, whose position is kept if it is chosen. Of equal elements the
    /// first stays, and the first NaN is better than everything else.
    fn choose_best(&mut self, best: Scalar, x: Scalar, better: Op) -> Result<Scalar> {
        let takes_over = !best.is_nan() && (x.is_nan() || apply(better, self.ty, &[x, best])? == Scalar::Bool(true));
        if takes_over {
            self.position = self.seen;
        }
        Ok(if takes_over { x } else { best })
    }

    /// The result, of [`Op::output_dtype`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for the minimum, maximum or their positions of nothing.
    pub fn finish(self) -> Result<Scalar> {
        match (self.op, self.acc) {
            (Op::Argmin | Op::Argmax, Some(_)) => Ok(Scalar::I64(self.position)),
            (_, Some(acc)) => Ok(acc),
            (_, None) => Err(Error::Invalid(format!("{} of no elements is undefined", self.op.name()))),
        }
    }
}

/// Results in C order over the output's shape; `input` holds the input view's elements in C order.
pub(super) fn reduction(instr: &Instr, input: &[Scalar]) -> Result<Vec<Scalar>> {
    let Operand::View(view) = &instr.ins[0] else {
        return Err(Error::Invalid("a reduction reads a view".to_string()));
    };
    let dense = View::contiguous(0, DType::Bool, &view.shape);
    let loops = ReducedLoops::new(instr, view);
    let kept = kept_axes(&dense, instr.axes);
    let results = kept.offsets().map(|first| {
        let mut fold = Fold::new(instr.op, instr.ty);
        for outer in dense.of_axes(&loops.outer, first).offsets() {
            let run: Vec<Scalar> = dense.of_axes(&loops.run, outer).offsets().map(|at| input[at as usize]).collect();
            for (start, n) in loops.pieces.cut(run.len()) {
                fold.push_run(&run[start..start + n])?;
            }
        }
        fold.finish()
    });
    results.collect()
}

/// The pairwise sum of floats or complex values of one type.
fn run_sum(values: &[Scalar]) -> Scalar {
    macro_rules! sum {
        ($variant:ident) => {
            Scalar::$variant(pairwise_sum(values.len(), &mut |i| match values[i] {
                Scalar::$variant(v) => v,
                _ => unreachable!("elements of a run have one type"),
            }))
        };
    }
    match values[0].dtype() {
        DType::F32 => sum!(F32),
        DType::F64 => sum!(F64),
        DType::C64 => sum!(C64),
        DType::C128 => sum!(C128),
        other => unreachable!("{other} is not summed pairwise"),
    }
}

/// The reduced axes in loop order, outermost first, split where the innermost run begins.
struct ReducedLoops {
    outer: Vec<usize>,
    run: Vec<usize>,
    pieces: Pieces,
}

impl ReducedLoops {
    fn new(instr: &Instr, view: &View) -> ReducedLoops {
        let axes = instr.axes;
        let order: Vec<usize> = match instr.op {
            Op::Argmin | Op::Argmax => (0..view.rank()).collect(),
            _ => memory_order(view).to_vec(),
        };
        let start = order.iter().rposition(|&axis| !axes.contains(axis)).map_or(0, |last_kept| last_kept + 1);
        let outer = order[..start].iter().copied().filter(|&axis| axes.contains(axis)).collect();
        let rounds = match instr.op {
            Op::Sum => instr.ty.is_float() || instr.ty.is_complex(),
            Op::Prod => instr.ty == DType::F16,
            _ => false,
        };
        let pieces = if rounds { Pieces::of(view, axes, view.dtype != instr.ty) } else { Pieces::WHOLE };
        ReducedLoops { outer, run: order[start..].to_vec(), pieces }
    }
}

/// The view of the elements with index zero on every reduced axis.
fn kept_axes(view: &View, axes: Axes) -> View {
    let kept: Vec<usize> = (0..view.rank()).filter(|&axis| !axes.contains(axis)).collect();
    view.of_axes(&kept, view.offset)
}
