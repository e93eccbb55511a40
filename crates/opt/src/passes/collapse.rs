//! A full reduction of a reduction becomes one reduction.
//!
//! This is possible for extremes of integers or bools, as in `a.max(axis=1).max()`, and for sums and products of
//! integers: their result depends neither on the order nor on where partial results were rounded. Reductions of
//! floating-point numbers stay as written, because their results do depend on it. (Of two zeros, or two NaNs, minimum
//! and maximum keep the one that they meet first.)

use super::single::{Single, Versions, reads, view_at};
use numelt_ir::{Axes, Dims, Instr, Op, OpKind, Operand, Program, View};
use smallvec::smallvec;

pub(crate) fn run(program: &mut Program) -> bool {
    if program.instrs.iter().filter(|i| i.op.kind() == OpKind::Reduction).count() < 2 {
        return false;
    }
    let single = Single::of(program);
    let count = reads(program);
    let mut versions = Versions::new(program);
    let mut then: Vec<u32> = Vec::with_capacity(program.instrs.len());
    let mut changed = false;
    for at in 0..program.instrs.len() {
        if let Some((from, source)) = inner(program, at, &single, &count)
            && versions.of(source.base) == then[from]
        {
            let rank = source.rank();
            let out = &program.instrs[at].out;
            let out = View { shape: Dims::from_elem(1, rank), strides: Dims::from_elem(0, rank), ..out.clone() };
            let Instr { op, ty, watch, .. } = program.instrs[from];
            program.instrs[at] =
                Instr { op, ty, out, ins: smallvec![Operand::View(source)], axes: Axes::all(rank), watch };
            changed = true;
        }
        let instr = &program.instrs[at];
        then.push(view_at(instr, 0).map_or(0, |v| versions.of(v.base)));
        versions.written(instr.out.base);
    }
    changed
}

/// For a full reduction of the results of the same operation, which nothing else reads: the inner reduction, and its
/// input.
fn inner(program: &Program, at: usize, single: &Single, count: &[u32]) -> Option<(usize, View)> {
    let outer = &program.instrs[at];
    let exact = match outer.op {
        Op::Sum | Op::Prod | Op::Min | Op::Max => outer.ty.is_integer() || outer.ty == numelt_ir::DType::Bool,
        Op::Any | Op::All => true,
        _ => false,
    };
    if !exact || outer.out.size() != 1 {
        return None;
    }
    let view = view_at(outer, 0)?;
    let from = single.definition(view.base)?;
    let made = &program.instrs[from];
    let source = view_at(made, 0)?;
    let base = program.bases[view.base as usize];
    // every partial result exactly once: as many elements as the base has, each only once
    let whole = view.size() == made.out.size() && super::covers(view, base.nbytes as i64);
    let (kept, folded) = (view.dtype, made.op.output_dtype(made.ty));
    let same = made.op == outer.op && kept == folded && made.out.dtype == kept && kept == outer.ty;
    (whole && same && !base.output && count[view.base as usize] == 1).then(|| (from, source.clone()))
}
