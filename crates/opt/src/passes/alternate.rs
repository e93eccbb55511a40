//! Sweeps that overwrite what they read take turns between two arrays.
//!
//! In `for _ in range(m): u[1:-1, 1:-1] = f(u[:-2, 1:-1], u[2:, 1:-1], …)` a kernel must not store an element before
//! its neighbours have been computed: each result waits in scratch memory and is copied from there. A programmer would
//! use two arrays. This pass does the same if a batch has several such sweeps over one part of an array, and the rest
//! of the array does not change. The rest is copied to a second array once, and the sweeps alternate between the two
//! arrays; the last one writes to the first array. For arrays that fit into the caches this takes two thirds of the
//! time, or less. For arrays in main memory it gains nothing, because the second array has to be moved through memory,
//! too.
//!
//! If the number of sweeps is odd, the first one stays in place; or, if the batch computes all that the array held
//! before, that is computed in the second array.

use super::covers;
use crate::{AlternationLimits, Target};
use numelt_ir::{Axes, Base, BaseId, Dims, Instr, Op, OpKind, Operand, Program, View};
use smallvec::{SmallVec, smallvec};

/// Sweeps over one part of a base.
struct Sweeps {
    part: View,
    /// The instructions that overwrite the part after others have read elements of it.
    at: Vec<usize>,
}

pub(crate) fn run(program: &mut Program, target: &Target) -> bool {
    let Some(limits) = &target.alternation else { return false };
    let bases = candidates(program, limits);
    let mut changed = false;
    for base in bases {
        let Some(sweeps) = longest(program, base) else { continue };
        changed |= alternate(program, base, sweeps, limits);
    }
    changed
}

/// The bases of which a part is written several times.
fn candidates(program: &Program, limits: &AlternationLimits) -> Vec<BaseId> {
    let mut writes = vec![0; program.bases.len()];
    for instr in &program.instrs {
        let nbytes = program.bases[instr.out.base as usize].nbytes;
        let part = nbytes <= limits.largest_bytes && instr.out.nbytes() < nbytes as i64;
        writes[instr.out.base as usize] += usize::from(part && instr.op.kind() == OpKind::Elementwise);
    }
    (0..).zip(writes).filter(|&(_, count)| count >= 2).map(|(base, _)| base).collect()
}

/// The longest series of sweeps over one part of a base, with no other write to the base between them.
fn longest(program: &Program, base: BaseId) -> Option<Sweeps> {
    let (mut best, mut now) = (None::<Sweeps>, None::<Sweeps>);
    // the views that have been read since the last write
    let mut read: SmallVec<[&View; 8]> = SmallVec::new();
    for (at, instr) in program.instrs.iter().enumerate() {
        read.extend(instr.reads().filter(|view| view.base == base));
        if instr.out.base != base {
            continue;
        }
        let part = &instr.out;
        if now.as_ref().is_none_or(|now| now.part != *part) || instr.op.kind() != OpKind::Elementwise {
            best = [best, now.take()].into_iter().flatten().max_by_key(|sweeps| sweeps.at.len());
            let suits = instr.op.kind() == OpKind::Elementwise && part.is_injective();
            now = suits.then(|| Sweeps { part: part.clone(), at: Vec::new() });
        }
        let elsewhere = read.iter().any(|view| *view != part && view.shape == part.shape && ranges_overlap(view, part));
        if let Some(now) = now.as_mut().filter(|_| elsewhere) {
            now.at.push(at);
        }
        read.clear();
    }
    [best, now].into_iter().flatten().max_by_key(|sweeps| sweeps.at.len())
}

/// Whether the byte ranges of two views of one base overlap.
fn ranges_overlap(a: &View, b: &View) -> bool {
    matches!((a.byte_range(), b.byte_range()), (Some(a), Some(b)) if a.0 < b.1 && b.0 < a.1)
}

/// Lets the sweeps alternate between two arrays, if that is worth it; true if it was.
fn alternate(program: &mut Program, base: BaseId, mut sweeps: Sweeps, limits: &AlternationLimits) -> bool {
    let Base { nbytes, .. } = program.bases[base as usize];
    let Some(rest) = rest(&sweeps.part, nbytes as i64) else { return false };
    let start = if sweeps.at.len() % 2 == 1 { made(program, base, sweeps.at[0]) } else { None };
    if sweeps.at.len() % 2 == 1 && start.is_none() {
        sweeps.at.remove(0);
    }
    let least = if nbytes >= limits.large_bytes { 2 } else { limits.sweeps };
    if sweeps.at.len() < least || rest.iter().map(View::nbytes).sum::<i64>() > sweeps.part.nbytes() / 2 {
        return false;
    }
    let second = program.bases.len() as BaseId;
    program.bases.push(Base { nbytes, input: false, output: false });
    let (mut here, mut there) = (base, second);
    let instrs = std::mem::take(&mut program.instrs);
    for (at, mut instr) in instrs.into_iter().enumerate() {
        if start == Some(at) {
            std::mem::swap(&mut here, &mut there);
        }
        for operand in &mut instr.ins {
            if let Operand::View(view) = operand
                && view.base == base
            {
                view.base = here;
            }
        }
        if sweeps.at.first() == Some(&at) {
            program.instrs.extend(rest.iter().map(|view| copy(view, here, there)));
        }
        if sweeps.at.binary_search(&at).is_ok() {
            std::mem::swap(&mut here, &mut there);
        }
        if instr.out.base == base {
            instr.out.base = here;
        }
        program.instrs.push(instr);
    }
    true
}

/// The last instruction before `before` that writes all of a base and reads nothing of it.
fn made(program: &Program, base: BaseId, before: usize) -> Option<usize> {
    let nbytes = program.bases[base as usize].nbytes as i64;
    let makes = |instr: &Instr| {
        instr.out.base == base
            && instr.op.kind() == OpKind::Elementwise
            && covers(&instr.out, nbytes)
            && instr.reads().all(|view| view.base != base)
    };
    program.instrs[..before].iter().rposition(makes)
}

fn copy(view: &View, from: BaseId, to: BaseId) -> Instr {
    let [source, out] = [from, to].map(|base| View { base, ..view.clone() });
    Instr { op: Op::Copy, ty: view.dtype, out, ins: smallvec![Operand::View(source)], axes: Axes::default(), watch: 0 }
}

/// The part of a dense array in C order outside a box, as boxes; `None` if `part` is not such a box.
fn rest(part: &View, nbytes: i64) -> Option<SmallVec<[View; 6]>> {
    let rank = part.rank();
    if part.strides.iter().any(|&stride| stride <= 0) || part.strides.last() != Some(&(part.dtype.size() as i64)) {
        return None;
    }
    let (mut extents, mut low, mut left, mut outer) = (Dims::new(), Dims::new(), part.offset, nbytes);
    for &stride in &part.strides {
        if outer % stride != 0 {
            return None;
        }
        extents.push(outer / stride);
        low.push(left / stride);
        (left, outer) = (left % stride, stride);
    }
    let fits = |axis: usize| low[axis] + part.shape[axis] <= extents[axis];
    if left != 0 || !(0..rank).all(fits) {
        return None;
    }
    let mut boxes = SmallVec::new();
    for axis in 0..rank {
        let end = low[axis] + part.shape[axis];
        for (first, length) in [(0, low[axis]), (end, extents[axis] - end)] {
            let mut slab = part.clone();
            slab.offset -= (axis..rank).map(|inner| low[inner] * part.strides[inner]).sum::<i64>();
            slab.offset += first * part.strides[axis];
            slab.shape[axis] = length;
            slab.shape[axis + 1..].copy_from_slice(&extents[axis + 1..]);
            if length > 0 {
                boxes.push(slab);
            }
        }
    }
    Some(boxes)
}
