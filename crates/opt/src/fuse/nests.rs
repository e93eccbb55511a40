//! Nests: blocks that share a loop that is not reduced run one after the other for each stretch of that loop, while the
//! data are in cache.
//!
//! The blocks of a partition, in execution order, are combined into [`Unit`]s: single blocks, [`Group`]s (nests), pairs
//! of blocks that may overwrite in place what they read, and blocks with the scatters of their results (`scatters`).
//! Row softmax is the model of a nest: the maximum of a row, the exponentials and their sum, and the quotients are
//! three loop nests. They cannot be one, because each needs the complete result of the one before; but they can take
//! turns row by row.
//!
//! A group is legal if each pair of accesses of which one writes is *local*: the elements that step `i` of the shared
//! loop touches in one block, no other step touches in the other block. Two views are local if
//! - they move by the same stride along the shared loop, and everything that one step touches of either lies within one
//!   stride; or
//! - they are the same elements (broadcast axes aside), traversed along the same axis.
//!
//! A base that lives only inside the group is in scratch memory, one stretch at a time.

use super::accesses::BlockAccess;
use super::footprint::{Along, Footprint, along, moving, view};
use super::legality::{Block, depend, each_meeting, overwriting};
use super::scatters;
use super::units::{Group, LOOK_BACK, Pair, Unit};
use crate::access::AccessTable;
use crate::options::Fuse;
use crate::plan::Scratch;
use crate::target::NestLimits;
use numelt_ir::{BaseId, Instr, Op, Operand, Program, View};
use smallvec::SmallVec;

/// Combines blocks into units if that saves bytes. If nothing is to be fused, each block is a unit.
pub(crate) fn units(program: &Program, table: &AccessTable, blocks: Vec<Block>, fuse: Fuse) -> Vec<Unit> {
    match fuse {
        Fuse::Singleton | Fuse::Naive => blocks.into_iter().map(Unit::One).collect(),
        Fuse::Greedy | Fuse::Unintrusive | Fuse::Optimal => group(program, table, blocks),
    }
}

fn group(program: &Program, table: &AccessTable, blocks: Vec<Block>) -> Vec<Unit> {
    let target = &table.target;
    let mut units: Vec<Unit> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if block.alone && target.puts && scatters::join(program, table, &mut units, &block) {
            continue;
        }
        if let Some(at) =
            (!block.alone && target.delays.is_some()).then(|| overwritten(table, &units, &block)).flatten()
        {
            pair_up(table, &mut units[at], block);
            continue;
        }
        let find = |limits| find_join(program, table, &units, &block, limits).map(|(at, join)| (at, join, limits));
        match target.nests.as_ref().filter(|_| !block.alone).and_then(find) {
            Some((at, join, limits)) => add(program, table, &mut units[at], block, join, limits),
            None => units.push(Unit::One(block)),
        }
    }
    let mut out = Vec::with_capacity(units.len());
    let pays = |group: &Group| target.nests.is_some_and(|limits| group.pays(limits.worth));
    for unit in units {
        match unit {
            Unit::Group(group) if !pays(&group) => out.extend(group.stages.into_iter().map(|(b, _)| Unit::One(b))),
            Unit::Group(mut group) => {
                group.scratch = scratch(table, &group.stages);
                out.push(Unit::Group(group));
            }
            other @ (Unit::One(_) | Unit::Pair(_) | Unit::Scattered(_)) => out.push(other),
        }
    }
    out
}

impl Group {
    /// Whether it saves at least one of `worth` bytes.
    fn pays(&self, worth: u64) -> bool {
        self.saved * worth >= self.stages.iter().map(|(b, _)| b.cost.bytes).sum::<u64>()
    }
}

/// How a block joins a unit to share a loop.
#[derive(Clone, Copy)]
struct Join {
    /// The shared axis in the unit's first block, and in the block that joins.
    theirs: u8,
    own: u8,
    /// The bytes that this saves.
    saved: u64,
}

/// The unit that a block joins: the latest one with which it saves something. A block cannot move in front of a unit on
/// which it depends.
fn find_join(
    program: &Program,
    table: &AccessTable,
    units: &[Unit],
    block: &Block,
    limits: &NestLimits,
) -> Option<(usize, Join)> {
    for (at, unit) in units.iter().enumerate().rev().take(LOOK_BACK) {
        let join = match unit {
            Unit::One(first) if !first.alone => join_block(program, table, first, block, limits),
            Unit::One(_) | Unit::Pair(_) | Unit::Scattered(_) => None,
            Unit::Group(group) => join_group(program, table, group, block, limits),
        };
        if let Some(join) = join {
            return Some((at, join));
        }
        if unit.blocks().any(|other| depend(table, other, block)) {
            return None;
        }
    }
    None
}

/// The unit that reads what a block overwrites, and that could be one kernel with it: the latest one, as in
/// [`find_join`].
fn overwritten(table: &AccessTable, units: &[Unit], block: &Block) -> Option<usize> {
    for (at, unit) in units.iter().enumerate().rev().take(LOOK_BACK) {
        if let Unit::One(first) = unit
            && !first.alone
            && overwriting(table, first, block).is_some()
        {
            return Some(at);
        }
        if unit.blocks().any(|other| depend(table, other, block)) {
            return None;
        }
    }
    None
}

fn pair_up(table: &AccessTable, unit: &mut Unit, second: Block) {
    let Unit::One(first) = unit else { return };
    let Some(both) = overwriting(table, first, &second) else { return };
    *unit = Unit::Pair(Box::new(Pair { first: first.clone(), second, both }));
}

/// Whether two blocks touch a common base.
fn have_common(a: &Block, b: &Block) -> bool {
    a.accesses.chunk_by(|p, q| p.base == q.base).any(|run| !b.accesses_to(run[0].base).is_empty())
}

/// The kept axes of a block's domain along which nothing is rolled, and their extents.
fn kept_axes(program: &Program, block: &Block) -> SmallVec<[(u8, i64); 4]> {
    let domain = program.instrs[block.instrs[0] as usize].domain();
    let axes = (0u8..).zip(domain.iter().copied().filter(|&n| n != 1));
    let rolls: SmallVec<[&Instr; 8]> =
        block.instrs.iter().map(|&i| &program.instrs[i as usize]).filter(|instr| instr.op == Op::Roll).collect();
    let stays = |axis: usize| !rolls.iter().any(|roll| moves(roll, axis));
    axes.filter(|&(axis, _)| block.reduced.is_none_or(|r| !r.contains(axis as usize)) && stays(axis as usize)).collect()
}

/// Whether a roll moves its source along an axis; axes of extent one do not count.
fn moves(roll: &Instr, axis: usize) -> bool {
    let [Operand::View(source), Operand::View(corner)] = &roll.ins[..] else { return true };
    let mut axes = source.shape.iter().zip(&corner.shape).filter(|&(&n, _)| n != 1);
    axes.nth(axis).is_none_or(|(n, first)| first < n)
}

/// How two blocks share a loop: along the axes along which they share most bytes. Of several such axes, one is
/// preferred that traverses memory in long pieces and has enough steps for all threads.
fn join_block(
    program: &Program,
    table: &AccessTable,
    first: &Block,
    second: &Block,
    limits: &NestLimits,
) -> Option<Join> {
    let seconds = kept_axes(program, second);
    if seconds.is_empty() || !have_common(first, second) {
        return None;
    }
    let mut best: Option<((u64, bool, i64), Join)> = None;
    for (theirs, n) in kept_axes(program, first) {
        for &(own, _) in seconds.iter().filter(|&&(_, m)| m == n && n > 1) {
            let (a, b) = ((first, theirs), (second, own));
            if !local(table, a, b) {
                continue;
            }
            let saved = shared_bytes(table, a, b);
            let step = Footprint::of(table, n, a, limits).with(&Footprint::of(table, n, b, limits));
            let Some(grain) = step.grain(n, limits).filter(|_| saved > 0) else { continue };
            let rank = (saved, grain == 1, n.min(limits.enough_steps));
            if best.is_none_or(|(known, _)| rank > known) {
                best = Some((rank, Join { theirs, own, saved }));
            }
        }
    }
    best.map(|(_, join)| join)
}

/// How a block shares the loop of a group.
fn join_group(
    program: &Program,
    table: &AccessTable,
    group: &Group,
    block: &Block,
    limits: &NestLimits,
) -> Option<Join> {
    if group.stages.len() >= limits.stages {
        return None;
    }
    let axes = kept_axes(program, block);
    let candidates = axes.iter().filter(|&&(_, n)| n == group.extent);
    let joins = candidates.filter_map(|&(axis, _)| {
        let own = (block, axis);
        group.step.with(&Footprint::of(table, group.extent, own, limits)).grain(group.extent, limits)?;
        let saved = group.stages.iter().map(|(b, a)| shared_bytes(table, (b, *a), own)).max()?;
        let legal = saved > 0 && group.stages.iter().all(|(b, a)| local(table, (b, *a), own));
        legal.then_some(Join { theirs: 0, own: axis, saved })
    });
    joins.max_by_key(|j| j.saved)
}

/// Adds a block to a unit, which becomes a group.
fn add(program: &Program, table: &AccessTable, unit: &mut Unit, block: Block, join: Join, limits: &NestLimits) {
    if let Unit::One(first) = unit {
        let extent = kept_axes(program, first).iter().find(|a| a.0 == join.theirs).map_or(1, |a| a.1);
        let step = Footprint::of(table, extent, (first, join.theirs), limits);
        let stages = vec![(first.clone(), join.theirs)];
        *unit = Unit::Group(Group { stages, extent, grain: 1, scratch: Vec::new(), saved: 0, step });
    }
    let Unit::Group(group) = unit else { return };
    group.step = group.step.with(&Footprint::of(table, group.extent, (&block, join.own), limits));
    group.grain = group.step.grain(group.extent, limits).unwrap_or(1);
    group.stages.push((block, join.own));
    group.saved += join.saved;
}

/// Whether all accesses of two blocks to common bases are local along their axes.
fn local(table: &AccessTable, a: (&Block, u8), b: (&Block, u8)) -> bool {
    each_meeting(table, a.0, b.0, |x, y| {
        let (Some(p), Some(q)) = (along(table, a, x), along(table, b, y)) else { return false };
        let (v, w) = (view(table, x.view), view(table, y.view));
        let ((low, high), (l, h)) = (step_range(v, p.axis), step_range(w, q.axis));
        p.stride == q.stride && (high.max(h) - low.min(l) <= p.stride.abs() || same_elements(v, p, w, q))
    })
}

/// Bytes that a view touches at step zero of the shared loop, which is its axis `shared`.
fn step_range(view: &View, shared: usize) -> (i64, i64) {
    let (mut low, mut high) = (view.offset, view.offset + view.dtype.size() as i64);
    for (axis, (&n, &s)) in view.shape.iter().zip(&view.strides).enumerate() {
        if axis != shared {
            low += (s * (n - 1)).min(0);
            high += (s * (n - 1)).max(0);
        }
    }
    (low, high)
}

/// Whether two views are the same distinct elements, broadcast axes aside, traversed along the same axis.
fn same_elements(v: &View, p: Along, w: &View, q: Along) -> bool {
    let moved_before = |view: &View, axis: usize| view.strides[..axis].iter().filter(|&&s| s != 0).count();
    let (shape, strides) = moving(v).unzip();
    v.offset == w.offset
        && v.dtype == w.dtype
        && moving(v).eq(moving(w))
        && moved_before(v, p.axis) == moved_before(w, q.axis)
        && View { shape, strides, ..v.clone() }.is_injective()
}

/// The bytes that two blocks both touch and that move along the shared loop by the same stride. They come from cache
/// the second time. An array that one block traverses by rows and the other by columns does not.
fn shared_bytes(table: &AccessTable, a: (&Block, u8), b: (&Block, u8)) -> u64 {
    let mut bytes = 0;
    for run in a.0.accesses.chunk_by(|p, q| p.base == q.base) {
        let (ours, theirs) = (moved_bytes(table, a, run), moved_bytes(table, b, b.0.accesses_to(run[0].base)));
        let shared =
            ours.iter().flat_map(|(stride, n)| theirs.iter().filter(move |t| t.0 == *stride).map(|t| t.1.min(*n)));
        bytes += shared.max().unwrap_or(0);
    }
    bytes
}

/// The strides by which accesses to a base move along the shared loop, with the bytes of the largest access each.
fn moved_bytes(table: &AccessTable, block: (&Block, u8), accesses: &[BlockAccess]) -> SmallVec<[(i64, u64); 4]> {
    let mut out: SmallVec<[(i64, u64); 4]> = SmallVec::new();
    for access in accesses {
        let Some(Along { stride, .. }) = along(table, block, access) else { continue };
        let bytes = table.views[access.view as usize].bytes;
        match out.iter_mut().find(|known| known.0 == stride) {
            Some(known) => known.1 = known.1.max(bytes),
            None => out.push((stride, bytes)),
        }
    }
    out
}

/// The bases of a group that can be in scratch memory: they live only inside the group, are written before they are
/// read, and are always accessed as the same elements, of which each step has its own range of memory.
fn scratch(table: &AccessTable, stages: &[(Block, u8)]) -> Vec<Scratch> {
    let mut out = Vec::new();
    let mut seen: SmallVec<[BaseId; 16]> = SmallVec::new();
    for (block, _) in stages {
        for run in block.accesses.chunk_by(|p, q| p.base == q.base) {
            let base = run[0].base;
            // most bases live in one block, or are visible outside
            let uses = run.iter().map(|x| x.uses).sum::<u32>();
            if !table.is_inner(base) || uses == table.uses[base as usize] {
                continue;
            }
            if !seen.contains(&base) {
                seen.push(base);
                out.extend(scratch_base(table, stages, base));
            }
        }
    }
    out
}

/// One base of [`scratch`], if it fulfills the conditions.
fn scratch_base(table: &AccessTable, stages: &[(Block, u8)], base: BaseId) -> Option<Scratch> {
    let mut all = stages.iter().flat_map(|(b, axis)| b.accesses_to(base).iter().map(move |x| (b, *axis, x)));
    let (first, axis, made) = all.next()?;
    let own = view(table, made.view);
    let own_axis = along(table, (first, axis), made).filter(|p| p.stride > 0)?;
    let (low, high) = step_range(own, own_axis.axis);
    let (mut uses, mut outside) = (made.uses, false);
    let same = all.all(|(block, axis, x)| {
        uses += x.uses;
        outside |= !std::ptr::eq(block, first);
        let there = along(table, (block, axis), x);
        there.is_some_and(|q| q.stride == own_axis.stride && same_elements(own, own_axis, view(table, x.view), q))
    });
    // written by the first block before it is read, and used by another block
    let written = first.accesses_to(base).iter().all(|x| x.made);
    let whole = table.is_inner(base) && uses == table.uses[base as usize];
    let pitch = own_axis.stride;
    (same && written && whole && outside && high - low <= pitch).then_some(Scratch { base, low, pitch })
}
