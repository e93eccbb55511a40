//! Scatters that join the block that computes their values or positions. The kernel then scatters each element as soon
//! as it has been computed. Values that nobody else needs are never stored.
//!
//! A scatter may join a block if
//! - it writes directly into its target, and the block's points store the operands that the block computes for it;
//! - positions that the block computes are one for each value;
//! - the block touches the target only by gathers from all of it (`a[i] += …`);
//! - no scatter there touches what this one does.

use super::accesses::{BlockAccess, on_same_bytes};
use super::legality::{Block, depend, fuse, fused_cost};
use super::units::{Call, LOOK_BACK, Scattered, Unit};
use crate::access::{AccessTable, ViewId};
use crate::plan::Gathers;
use numelt_ir::{Instr, Op, Operand, Program, View};

/// Lets a scatter join the unit that computes its values or positions; false if that is impossible.
pub(super) fn join(program: &Program, table: &AccessTable, units: &mut Vec<Unit>, call: &Block) -> bool {
    let index = call.instrs[0];
    let (instr, info) = (&program.instrs[index as usize], &table.instrs[index as usize]);
    if instr.op.scatter_step().is_none() || info.reads.len() != 3 || info.reads[0] != info.write {
        return false;
    }
    let values = producer(table, units, info.reads[1]);
    let positions = producer(table, units, info.reads[2]);
    let at = match (values, positions) {
        (Some(v), Some(p)) if v != p => merged(table, units, v, p).unwrap_or(v),
        (Some(at), _) | (None, Some(at)) => at,
        (None, None) => return false,
    };
    let (block, calls) = match &units[at] {
        Unit::One(block) => (block, &[][..]),
        Unit::Scattered(scattered) => (&scattered.block, &scattered.calls[..]),
        Unit::Pair(_) | Unit::Group(_) => return false,
    };
    let Some(gathers) = fits(program, table, block, calls, call) else { return false };
    let Some(at) = bring_together(table, units, at, call) else { return false };
    let call = Call { instr: index, block: call.clone(), gathers };
    match &mut units[at] {
        Unit::One(block) => {
            units[at] = Unit::Scattered(Scattered { block: block.clone(), calls: vec![call] });
        }
        Unit::Scattered(scattered) => scattered.calls.push(call),
        Unit::Pair(_) | Unit::Group(_) => {}
    }
    true
}

/// The unit of elementwise operations that computes a view.
fn producer(table: &AccessTable, units: &[Unit], view: ViewId) -> Option<usize> {
    let writes = |block: &Block| block.accesses_to(table.base(view)).iter().any(|a| a.written && a.view == view);
    let from = units.len().saturating_sub(LOOK_BACK);
    let at = units[from..].iter().rposition(|unit| match unit {
        Unit::One(block) => !block.alone && block.reduced.is_none() && writes(block),
        Unit::Scattered(scattered) => writes(&scattered.block),
        Unit::Pair(_) | Unit::Group(_) => false,
    })?;
    Some(from + at)
}

/// Makes one block of two, at the position of the later; `None` if that is illegal.
fn merged(table: &AccessTable, units: &mut Vec<Unit>, one: usize, other: usize) -> Option<usize> {
    let (first, second) = (one.min(other), one.max(other));
    let (Unit::One(a), Unit::One(b)) = (&units[first], &units[second]) else { return None };
    let cost = fused_cost(table, a, b)?;
    if units[first + 1..second].iter().flat_map(Unit::blocks).any(|between| depend(table, a, between)) {
        return None;
    }
    let mut both = fuse(a.clone(), b.clone(), cost);
    both.instrs.sort_unstable();
    units[second] = Unit::One(both);
    units.remove(first);
    Some(second - 1)
}

/// Moves units so that nothing lies between the unit and the call any more, and returns the unit's position; `None` if
/// some unit has to stay between.
fn bring_together(table: &AccessTable, units: &mut Vec<Unit>, at: usize, call: &Block) -> Option<usize> {
    let later = || units[at + 1..].iter().flat_map(Unit::blocks);
    if later().all(|other| !depend(table, other, call)) {
        return Some(at);
    }
    if later().any(|other| units[at].blocks().any(|own| depend(table, own, other))) {
        return None;
    }
    let unit = units.remove(at);
    units.push(unit);
    Some(units.len() - 1)
}

/// Whether the call may join the block and its calls, and how the block gathers from the call's target.
fn fits(program: &Program, table: &AccessTable, block: &Block, calls: &[Call], call: &Block) -> Option<Gathers> {
    let index = call.instrs[0] as usize;
    let (instr, info) = (&program.instrs[index], &table.instrs[index]);
    let (values, positions) = (info.reads[1], info.reads[2]);
    let written = |view: ViewId| {
        let mut met = same_bytes(table, block, call, view).filter(|a| a.written).peekable();
        let some = met.peek().is_some();
        met.all(|a| a.view == view && !a.folded).then_some(some)
    };
    let (_, made) = (written(values)?, written(positions)?);
    let shape = |view: ViewId| &table.views[view as usize].view.shape;
    if made && shape(values) != shape(positions) || calls.iter().any(|other| depend(table, &other.block, call)) {
        return None;
    }
    // the engine distinguishes the conditions of calls from those of the kernel, but not those of several calls
    let watched = |instr: &Instr| instr.watch & instr.op.raises(instr.ty) != 0;
    if watched(instr) && calls.iter().any(|other| watched(&program.instrs[other.instr as usize])) {
        return None;
    }
    if same_bytes(table, block, call, info.write).any(|a| a.written) {
        return None;
    }
    let mut gathers = Gathers::Not;
    for &at in &block.instrs {
        let (theirs, reader) = (&table.instrs[at as usize], &program.instrs[at as usize]);
        for (position, &view) in theirs.reads.iter().enumerate() {
            if table.base(view) == table.base(info.write) && (view == info.write || table.overlap(view, info.write)) {
                if position != 0 || !theirs.gathers || !gathers_from(reader, instr) {
                    return None;
                }
                let there = theirs.reads.get(1) == Some(&positions) && gathers != Gathers::Anywhere;
                gathers = if there { Gathers::There } else { Gathers::Anywhere };
            }
        }
    }
    Some(gathers)
}

/// The accesses of a block to the bytes of one of the call's views.
fn same_bytes<'a>(
    table: &'a AccessTable,
    block: &'a Block,
    call: &'a Block,
    view: ViewId,
) -> impl Iterator<Item = &'a BlockAccess> {
    let base = table.base(view);
    let own = call.accesses_to(base).iter().find(|a| a.view == view);
    own.into_iter().flat_map(move |own| on_same_bytes(table, own, block.accesses_to(base)))
}

/// Whether a gather reads exactly the elements that a scatter writes.
fn gathers_from(reader: &Instr, scatter: &Instr) -> bool {
    let Some(Operand::View(source)) = reader.ins.first().filter(|_| reader.op == Op::Gather) else { return false };
    // the source repeats along the axes of the positions
    let moving = |view: &View| -> Vec<(i64, i64)> {
        let axes = view.shape.iter().zip(&view.strides).skip(1);
        axes.filter(|&(&n, &s)| n != 1 && s != 0).map(|(&n, &s)| (n, s)).collect()
    };
    let out = &scatter.out;
    (source.offset, source.dtype) == (out.offset, out.dtype)
        && (source.shape[0], source.strides[0]) == (out.shape[0], out.strides[0])
        && moving(source) == moving(out)
}

/// Whether only the calls read a view that the block computes, so that it needs no memory.
pub(crate) fn is_streamed(table: &AccessTable, block: &Block, calls: &[Call], view: ViewId) -> bool {
    let base = table.base(view);
    let [one] = block.accesses_to(base) else { return false };
    let reads = |call: &Call| table.instrs[call.instr as usize].reads.iter().filter(|&&v| v == view).count() as u32;
    one.view == view
        && one.made
        && !one.folded
        && table.is_inner(base)
        && table.uses[base as usize] == one.uses + calls.iter().map(reads).sum::<u32>()
}
