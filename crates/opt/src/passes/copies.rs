//! Copies that are not needed.
//!
//! - A copy that is read only while its source does not change is not made: its readers read the source. In the same
//!   way, elementwise readers of a fill use the literal.
//! - A reduction or call whose result is only copied to another view writes there directly, if nothing touches that
//!   view in between: `c[:] = a @ b` needs no temporary.
//! - An array that is assembled from pieces, as by `roll` and `concatenate`, and then copied to another view, is
//!   assembled there.
//!
//! Readers keep their memory order, so a copy that was made to be contiguous stays. If a reduction reads a copy whose
//! layout differs from the source's, the copy stays, because rounding follows the layout. If a matrix product reads it,
//! it stays, because a product of a matrix with itself rounds differently.

use super::covers;
use super::single::{Single, Versions, reads, remove, view_at};
use crate::access::canonical;
use numelt_ir::{BaseId, ConstId, Instr, Op, OpKind, Operand, Program, View};

pub(crate) fn run(program: &mut Program) -> bool {
    if !program.instrs.iter().any(|i| i.op == Op::Copy) || program.instrs.len() < 2 {
        return false;
    }
    let single = Single::of(program);
    let bypassed = bypass(program, &single);
    let forwarded = forward(program, &single);
    assemble(program) | forwarded | bypassed
}

/// The source of a base that has one value and is a copy.
enum CopySource {
    View { view: View, version: u32 },
    Fill(ConstId),
}

/// Lets readers read the source of a copy, if every reader can.
fn bypass(program: &mut Program, single: &Single) -> bool {
    let mut versions = Versions::new(program);
    let mut sources: Vec<Option<CopySource>> = Vec::new();
    sources.resize_with(program.bases.len(), || None);
    let mut changes: Vec<(usize, usize, Operand, BaseId)> = Vec::new();
    let mut open = reads(program);
    for (at, instr) in program.instrs.iter().enumerate() {
        for (position, operand) in instr.ins.iter().enumerate() {
            let Operand::View(view) = operand else { continue };
            let Some(source) = &sources[view.base as usize] else { continue };
            if let Some(new) = replacement(program, instr, position, view, source, single, &versions) {
                open[view.base as usize] -= 1;
                changes.push((at, position, new, view.base));
            }
        }
        versions.written(instr.out.base);
        sources[instr.out.base as usize] = source(program, instr, single, &versions);
    }
    changes.retain(|(.., base)| open[*base as usize] == 0);
    let changed = !changes.is_empty();
    for (at, position, operand, _) in changes {
        program.instrs[at].ins[position] = operand;
    }
    changed
}

/// The source of which the instruction's output is a plain copy, if the output is not visible outside.
fn source(program: &Program, instr: &Instr, single: &Single, versions: &Versions) -> Option<CopySource> {
    let base = instr.out.base;
    if instr.op != Op::Copy || program.bases[base as usize].output || instr.ty != instr.out.dtype {
        return None;
    }
    single.definition(base)?;
    match &instr.ins[0] {
        Operand::Const(id) => Some(CopySource::Fill(*id)),
        Operand::View(view) if view.dtype == instr.ty => {
            Some(CopySource::View { view: view.clone(), version: versions.of(view.base) })
        }
        Operand::View(_) => None,
    }
}

fn replacement(
    program: &Program,
    instr: &Instr,
    position: usize,
    view: &View,
    source: &CopySource,
    single: &Single,
    versions: &Versions,
) -> Option<Operand> {
    let elementwise = instr.op.kind() == OpKind::Elementwise;
    match source {
        CopySource::Fill(id) => {
            let dtype = program.consts[*id as usize].dtype();
            let fits = elementwise && view.dtype == dtype && instr.op.input_dtype(instr.ty, position) == dtype;
            fits.then_some(Operand::Const(*id))
        }
        CopySource::View { view: from, version } => {
            single.producer(program, view)?;
            let unchanged = versions.of(from.base) == *version && !instr.op.is_product();
            (unchanged && keeps_order(from, view, elementwise)).then(|| Operand::View(from.clone()))
        }
    }
}

/// Whether reading `from` gives the same bits as reading its copy.
fn keeps_order(from: &View, copy: &View, elementwise: bool) -> bool {
    let (from, copy) = (canonical(from), canonical(copy));
    let unit = |v: &View| v.strides.last().is_none_or(|&s| s == v.dtype.size() as i64);
    from.strides == copy.strides || (elementwise && unit(&from) && unit(&copy))
}

/// Lets reductions and calls write directly where their result is copied.
fn forward(program: &mut Program, single: &Single) -> bool {
    let folds = |i: &Instr| matches!(i.op.kind(), OpKind::Reduction | OpKind::Scan) || i.op.is_product();
    if !program.instrs.iter().any(folds) {
        return false;
    }
    let count = reads(program);
    // one more than the index of the last instruction that touched the base
    let mut touched = vec![0usize; program.bases.len()];
    let mut drop = vec![false; program.instrs.len()];
    for (at, dropped) in drop.iter_mut().enumerate() {
        let instr = &program.instrs[at];
        if let Some((from, out)) = destination(program, instr, single, &count)
            && folds(&program.instrs[from])
            && touched[out.base as usize] <= from
        {
            program.instrs[from].out = out;
            *dropped = true;
        }
        let instr = &program.instrs[at];
        for view in instr.reads().chain([&instr.out]) {
            touched[view.base as usize] = at + 1;
        }
    }
    let changed = drop.contains(&true);
    if changed {
        remove(program, &drop);
    }
    changed
}

/// For a copy of a value that nothing else reads: the instruction that computes the value, and the destination.
fn destination(program: &Program, instr: &Instr, single: &Single, count: &[u32]) -> Option<(usize, View)> {
    if instr.op != Op::Copy || instr.ty != instr.out.dtype {
        return None;
    }
    let view = view_at(instr, 0)?;
    let (from, made) = single.producer(program, view)?;
    let base = program.bases[view.base as usize];
    let fits = made.out.dtype == instr.out.dtype
        && made.out.shape == instr.out.shape
        && canonical(&made.out).strides == canonical(&instr.out).strides;
    (fits && !base.output && count[view.base as usize] == 1).then(|| (from, instr.out.clone()))
}

/// If several instructions write an array that is only copied elsewhere, lets them write to the destination, provided
/// that nothing touches the destination in between.
fn assemble(program: &mut Program) -> bool {
    let count = reads(program);
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); program.bases.len()];
    // one more than the index of the last instruction that touched the base
    let mut touched = vec![0usize; program.bases.len()];
    let mut drop = vec![false; program.instrs.len()];
    for (at, dropped) in drop.iter_mut().enumerate() {
        let out = program.instrs[at].out.clone();
        let pieces = assembled(program, &program.instrs[at], &writers, &count);
        let source = pieces.filter(|&from| writers[from as usize].iter().all(|&w| touched[out.base as usize] <= w));
        if let Some(from) = source {
            // a view with negative strides starts at the end of its base
            let shift = out.offset - view_at(&program.instrs[at], 0).map_or(0, |view| view.offset);
            for writer in std::mem::take(&mut writers[from as usize]) {
                let piece = &mut program.instrs[writer].out;
                (piece.base, piece.offset) = (out.base, piece.offset + shift);
                writers[out.base as usize].push(writer);
            }
            *dropped = true;
        } else {
            writers[out.base as usize].push(at);
        }
        let instr = &program.instrs[at];
        for view in instr.reads().chain([&instr.out]) {
            touched[view.base as usize] = at + 1;
        }
    }
    let changed = drop.contains(&true);
    if changed {
        remove(program, &drop);
    }
    changed
}

/// For a copy of a whole base that was written piece by piece, that nothing else reads, and that has the layout of its
/// copy: the base.
fn assembled(program: &Program, instr: &Instr, writers: &[Vec<usize>], count: &[u32]) -> Option<BaseId> {
    if instr.op != Op::Copy || instr.ty != instr.out.dtype {
        return None;
    }
    let view = view_at(instr, 0)?;
    let (base, pieces) = (program.bases[view.base as usize], &writers[view.base as usize]);
    let alike = view.dtype == instr.out.dtype
        && view.base != instr.out.base
        && view.shape == instr.out.shape
        && canonical(view).strides == canonical(&instr.out).strides
        && covers(view, base.nbytes as i64);
    let own = !base.input && !base.output && count[view.base as usize] == 1;
    let plain = |&writer: &usize| program.instrs[writer].out.dtype == view.dtype;
    (alike && own && pieces.len() > 1 && pieces.iter().all(plain)).then_some(view.base)
}
