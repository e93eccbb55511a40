//! The partition of a program into blocks, each of which becomes one kernel or one call.
//!
//! It is made of an [`AccessTable`](crate::access::AccessTable) and the dependency [`Graph`](graph::Graph), and its
//! blocks are in an order that respects every dependency. The problem and its terms are those of the paper "Fusion of
//! Array Operations at Runtime": a partition is legal if no block holds a pair of instructions that must not fuse, and
//! no cycle runs through two blocks. Its cost is the bytes of the distinct views that each block accesses, without
//! contracted bases. docs/fusion.md compares the algorithms and says where they differ from the paper's.

mod accesses;
pub(crate) mod cost;
mod footprint;
pub(crate) mod graph;
mod greedy;
pub(crate) mod legality;
mod memory;
mod naive;
pub(crate) mod nests;
mod optimal;
mod order;
pub(crate) mod reuse;
pub(crate) mod scatters;
mod schedule;
pub(crate) mod singleton;
mod sweep;
#[cfg(test)]
mod tests;
mod unintrusive;
pub(crate) mod units;
mod weighted;
mod whole;

use crate::access::AccessTable;
use crate::options::{Fuse, Options};
use graph::Graph;
use legality::Block;

/// Blocks in execution order; instructions inside a block ascend.
pub(crate) fn partition(table: &AccessTable, options: &Options) -> Vec<Block> {
    let mut blocks = match options.fuse {
        Fuse::Singleton => singleton::partition(table),
        Fuse::Naive => naive::partition(table),
        Fuse::Greedy | Fuse::Unintrusive | Fuse::Optimal => match whole::partition(table) {
            // the cost never rises as blocks fuse, so one block for everything is as cheap as any partition
            Some(block) if options.fuse != Fuse::Unintrusive => vec![block],
            Some(_) | None => by_graph(table, &Graph::new(table), options),
        },
    };
    blocks.iter_mut().for_each(|b| b.instrs.sort_unstable());
    blocks
}

/// Cost of a partition in bytes.
pub(crate) fn cost_of(blocks: &[Block]) -> u64 {
    blocks.iter().map(|b| b.cost.bytes).sum()
}

/// The partitions that use the dependency graph.
fn by_graph(table: &AccessTable, graph: &Graph, options: &Options) -> Vec<Block> {
    let blocks = match options.fuse {
        Fuse::Optimal => optimal::partition(table, graph, options.budget),
        Fuse::Unintrusive => return schedule::topological(graph, unintrusive::partition(table, graph)),
        Fuse::Singleton | Fuse::Naive | Fuse::Greedy => return by_weight(table, graph),
    };
    let blocks = schedule::topological(graph, in_program_order(table, &blocks).unwrap_or(blocks));
    sweep::small(table, blocks)
}

/// For programs of at most this many instructions, the partition by program order is considered, too.
const MODERATE: usize = 4096;

/// The partition by program order, if it is cheaper. Taking the largest saving first can spread independent chains over
/// more kernels than they need one after the other.
fn in_program_order(table: &AccessTable, blocks: &[Block]) -> Option<Vec<Block>> {
    if blocks.len() == 1 || table.instrs.len() > MODERATE {
        return None;
    }
    let naive = naive::partition(table);
    (cost_of(&naive) < cost_of(blocks)).then_some(naive)
}

/// The most stretches into which a program is cut to save memory.
const MOST_STRETCHES: usize = 64;

/// Programs with fewer instructions are not cut to save bytes: their blocks contain most of them anyway.
const LONG: usize = 128;
/// A program that is cut to save bytes is cut into stretches of at least this many instructions.
const SHORTEST_STRETCH: usize = 32;
/// Programs that move fewer bytes are not cut: searching for a better partition would take longer than it saves.
const FEW_BYTES: u64 = 32 << 20;

/// The greedy partition, or one whose blocks stay within stretches of the program if that costs less. The largest
/// saving first may bring together instructions of many iterations of a loop, whose other results then have to wait in
/// memory for the rest of their iterations.
fn by_stretches(table: &AccessTable, graph: &Graph) -> Vec<Block> {
    let mut best = greedy::partition(table, graph, None);
    let len = table.instrs.len();
    let mut cost = cost_of(&best);
    if best.len() <= 2 || !(LONG..=MODERATE).contains(&len) || cost < FEW_BYTES {
        return best;
    }
    let mut count = 2;
    while len / count >= SHORTEST_STRETCH {
        let Some(stretches) = memory::stretches(table, count) else { break };
        let blocks = greedy::partition(table, graph, Some(&stretches));
        let own = cost_of(&blocks);
        if own < cost {
            (best, cost) = (blocks, own);
        }
        count *= 2;
    }
    best
}

/// The greedy partition within the memory that the program needs as it was written; or the partition by program order.
fn by_weight(table: &AccessTable, graph: &Graph) -> Vec<Block> {
    let ordered = |blocks| sweep::small(table, schedule::topological(graph, blocks));
    let mut best = ordered(by_stretches(table, graph));
    let limit = memory::limit(table);
    let mut peak = limit.map_or(0, |_| memory::peak(table, &best));
    let mut count = 2;
    while limit.is_some_and(|limit| peak > limit) && count <= MOST_STRETCHES {
        let Some(stretches) = memory::stretches(table, count) else { break };
        let blocks = ordered(greedy::partition(table, graph, Some(&stretches)));
        let needs = memory::peak(table, &blocks);
        if needs < peak {
            (best, peak) = (blocks, needs);
        }
        count *= 2;
    }
    let simple = in_program_order(table, &best).map(ordered);
    simple.filter(|simple| limit.is_none_or(|most| memory::peak(table, simple) <= most.max(peak))).unwrap_or(best)
}
