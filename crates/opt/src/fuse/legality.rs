//! Which instructions may share a block, and the properties of that block.
//!
//! Two blocks may fuse if all of the following hold (the algorithms check for cycles):
//! - neither has a scan or a library call;
//! - their iteration spaces are the same;
//! - views of one base that overlap are identical, if one of them is written (Corollary 1);
//! - nothing else accesses a reduction's result, which is complete only after the loops;
//! - nothing else writes the source of a gather or a roll, which may read any element at any point;
//! - all reductions fold the same axes, and those whose bits depend on the order of the loops require the same order
//!   and cut their runs alike;
//! - the kernel stays within the target's limits.

use super::accesses::{BlockAccess, Union, on_same_bytes};
use super::cost::{self, Traffic};
use crate::Target;
use crate::access::{AccessTable, Role, ViewId};
use crate::demands::LoopOrder;
use numelt_ir::{Axes, BaseId, Pieces};
use smallvec::SmallVec;

/// The most distinct views of one kernel, including contracted ones. It bounds the time of fusing.
const MAX_VIEWS: usize = 160;

/// A set of instructions that form one kernel or one call.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// Ascending once the partition is made.
    pub instrs: SmallVec<[u32; 4]>,
    pub alone: bool,
    pub domain: u32,
    pub reduced: Option<Axes>,
    pub order: Option<LoopOrder>,
    pub pieces: Option<Pieces>,
    pub nodes: u32,
    pub cost: Traffic,
    /// Sorted by base, then view.
    pub accesses: SmallVec<[BlockAccess; 4]>,
}

impl Block {
    /// The block of one instruction.
    pub fn single(table: &AccessTable, index: u32) -> Block {
        let info = &table.instrs[index as usize];
        let mut accesses: SmallVec<[BlockAccess; 4]> = SmallVec::new();
        let mut touch = |view: ViewId, write: bool, gathered: bool| {
            let access = BlockAccess {
                base: table.base(view),
                view,
                uses: 1,
                first_write: if write { index } else { u32::MAX },
                first_read: if write { u32::MAX } else { index },
                written: false,
                loaded: false,
                made: false,
                folded: write && matches!(info.role, Role::Reduction(_)),
                gathered,
            };
            match accesses.iter_mut().find(|a| a.view == view) {
                Some(seen) => *seen = seen.union(access),
                None => accesses.push(access.with_flags()),
            }
        };
        info.reads.iter().enumerate().for_each(|(position, &v)| touch(v, false, info.gathers && position == 0));
        touch(info.write, true, false);
        accesses.sort_unstable_by_key(|a| (a.base, a.view));
        let runs = accesses.chunk_by(|a, b| a.base == b.base);
        let cost = runs.fold(Traffic::default(), |sum, run| sum + cost::of_base(table, run.iter().copied()));
        Block {
            instrs: SmallVec::from_slice(&[index]),
            alone: info.role == Role::Alone,
            domain: info.domain,
            reduced: match info.role {
                Role::Reduction(axes) => Some(axes),
                Role::Elementwise | Role::Alone => None,
            },
            order: info.order.clone(),
            pieces: info.pieces,
            nodes: info.nodes,
            cost,
            accesses,
        }
    }
}

impl Block {
    /// The block of several instructions that may share one.
    pub fn of(table: &AccessTable, instrs: &[u32]) -> Block {
        let mut singles = instrs.iter().map(|&index| Block::single(table, index));
        let first = singles.next().expect("a block has instructions");
        let mut block = singles.fold(first, |block, next| {
            let cost = loose_cost(table, &block, &next);
            fuse(block, next, cost)
        });
        block.instrs.sort_unstable();
        block
    }

    /// The block's accesses to one base.
    pub fn accesses_to(&self, base: BaseId) -> &[BlockAccess] {
        let from = self.accesses.partition_point(|a| a.base < base);
        let len = self.accesses[from..].iter().take_while(|a| a.base == base).count();
        &self.accesses[from..from + len]
    }

    /// The part of its cost that is due to the accesses to one base.
    fn cost_of(&self, table: &AccessTable, run: &[BlockAccess]) -> Traffic {
        match run {
            _ if run.len() == self.accesses.len() => self.cost,
            [one] => cost::of_one(table, one),
            _ => cost::of_base(table, run.iter().copied()),
        }
    }
}

/// The cost of the union of two blocks; `None` if they must not fuse. Only bases that both access matter.
pub(crate) fn fused_cost(table: &AccessTable, a: &Block, b: &Block) -> Option<Traffic> {
    if !same_nest(&table.target, a, b) || a.accesses.len() + b.accesses.len() > MAX_VIEWS {
        return None;
    }
    let (small, large) = if a.accesses.len() < b.accesses.len() { (a, b) } else { (b, a) };
    let mut total = a.cost + b.cost;
    for x in small.accesses.chunk_by(|p, q| p.base == q.base) {
        let y = large.accesses_to(x[0].base);
        if y.is_empty() {
            continue;
        }
        if conflicts(table, x, y) {
            return None;
        }
        let apart = small.cost_of(table, x) + large.cost_of(table, y);
        let joint = match (x, y) {
            // a value between its writer and its reader, which is the most frequent case
            ([a], [b]) if a.view == b.view => cost::of_one(table, &a.union(*b)),
            _ => cost::of_base(table, Union { a: x, b: y }),
        };
        total = total - apart + joint.at_most(apart);
    }
    (total.args <= table.target.kernel_args).then_some(total)
}

/// The view that the second block overwrites although the first one reads elements of it at other points, if this is
/// the only reason why the two blocks cannot be one kernel. The kernel then has to write the view with a delay.
fn overwritten(table: &AccessTable, first: &Block, second: &Block) -> Option<ViewId> {
    if !same_nest(&table.target, first, second) || first.accesses.len() + second.accesses.len() > MAX_VIEWS {
        return None;
    }
    let mut target: Option<ViewId> = None;
    for x in first.accesses.chunk_by(|p, q| p.base == q.base) {
        let theirs = second.accesses_to(x[0].base);
        for (a, b) in x.iter().flat_map(|a| on_same_bytes(table, a, theirs).map(move |b| (a, b))) {
            if a.folded || b.folded {
                return None;
            }
            // whether a gather reads nearby elements is known only when the kernel is built
            let apart = a.view != b.view || a.gathered || b.gathered;
            if apart && (a.written || b.written) && (a.written || *target.get_or_insert(b.view) != b.view) {
                return None;
            }
        }
    }
    target
}

/// The union of two blocks as one kernel that overwrites what it reads. It pays only if it contracts an array between
/// the two that is as large as the overwritten one. Otherwise, while the array is in cache, the delay costs as much as
/// it saves.
pub(crate) fn overwriting(table: &AccessTable, first: &Block, second: &Block) -> Option<Block> {
    let target = overwritten(table, first, second)?;
    let cost = loose_cost(table, first, second);
    if cost.args > table.target.kernel_args {
        return None;
    }
    let mut both = fuse(first.clone(), second.clone(), cost);
    both.instrs.sort_unstable();
    let bytes = |view: ViewId| table.views[view as usize].bytes;
    let vanishes = both.accesses.chunk_by(|a, b| a.base == b.base).any(|run| {
        let between = |block: &Block| !block.accesses_to(run[0].base).is_empty();
        between(first)
            && between(second)
            && bytes(run[0].view) >= bytes(target)
            && cost::is_contracted(table, run.iter().copied())
    });
    vanishes.then_some(both)
}

/// The cost of the union of two blocks, legal or not: a lower bound on what fusing can reach.
pub(crate) fn loose_cost(table: &AccessTable, a: &Block, b: &Block) -> Traffic {
    let mut total = a.cost + b.cost;
    for x in a.accesses.chunk_by(|p, q| p.base == q.base) {
        let y = b.accesses_to(x[0].base);
        if !y.is_empty() {
            let apart = cost::of_base(table, x.iter().copied()) + cost::of_base(table, y.iter().copied());
            total = total - apart + cost::of_base(table, Union { a: x, b: y }).at_most(apart);
        }
    }
    total
}

/// The union of two blocks whose [`fused_cost`] is known.
pub(crate) fn fuse(a: Block, b: Block, cost: Traffic) -> Block {
    let (mut block, small) = if a.accesses.len() < b.accesses.len() { (b, a) } else { (a, b) };
    block.instrs.extend_from_slice(&small.instrs);
    block.reduced = block.reduced.or(small.reduced);
    block.order = block.order.or(small.order);
    block.pieces = block.pieces.or(small.pieces);
    block.nodes += small.nodes;
    block.cost = cost;
    for access in small.accesses {
        match block.accesses.binary_search_by_key(&(access.base, access.view), |a| (a.base, a.view)) {
            Ok(at) => block.accesses[at] = block.accesses[at].union(access),
            Err(at) => block.accesses.insert(at, access),
        }
    }
    block
}

/// Whether both could be bodies of one loop nest.
fn same_nest(target: &Target, a: &Block, b: &Block) -> bool {
    let agree = |x: Option<Axes>, y: Option<Axes>| x.is_none() || y.is_none() || x == y;
    !a.alone
        && !b.alone
        && a.domain == b.domain
        && agree(a.reduced, b.reduced)
        && (a.order.is_none() || b.order.is_none() || a.order == b.order)
        && (a.pieces.is_none() || b.pieces.is_none() || a.pieces == b.pieces)
        && a.nodes + b.nodes <= target.kernel_nodes
}

/// Whether the accesses of two blocks to one base violate Corollary 1 or touch a reduction's result.
fn conflicts(table: &AccessTable, x: &[BlockAccess], y: &[BlockAccess]) -> bool {
    x.iter().any(|a| {
        on_same_bytes(table, a, y).any(|b| {
            if a.view == b.view {
                a.folded || b.folded || a.gathered && b.written || b.gathered && a.written
            } else {
                a.written || b.written
            }
        })
    })
}

/// Whether the accesses of two blocks must keep their order.
pub(super) fn depend(table: &AccessTable, a: &Block, b: &Block) -> bool {
    !each_meeting(table, a, b, |_, _| false)
}

/// Whether `test` holds for all pairs of accesses of two blocks that touch a common byte and of which one writes.
pub(super) fn each_meeting(
    table: &AccessTable,
    a: &Block,
    b: &Block,
    test: impl Fn(&BlockAccess, &BlockAccess) -> bool,
) -> bool {
    a.accesses.chunk_by(|p, q| p.base == q.base).all(|run| {
        let theirs = b.accesses_to(run[0].base);
        theirs.is_empty()
            || run
                .iter()
                .all(|x| on_same_bytes(table, x, theirs).filter(|y| x.written || y.written).all(|y| test(x, y)))
    })
}
