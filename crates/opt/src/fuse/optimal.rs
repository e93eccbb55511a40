//! Optimal fusion: branch and bound over the weight edges, within a budget.
//!
//! The unintrusive reduction comes first. Then a tree is searched, in each level of which the heaviest remaining edge
//! is either fused or given up. A subtree is skipped if fusing all of its edges, legal or not, would still cost as much
//! as the best known partition (Lemma 1). The search starts from the greedy partition, so a program that is too large
//! for the budget gets that or a better one.

use super::graph::Graph;
use super::legality::Block;
use super::weighted::{Weighted, windows};
use super::{cost_of, greedy, unintrusive};
use crate::access::AccessTable;

/// The blocks, in no particular order. `budget` bounds the nodes of the search trees of all windows together.
pub(super) fn partition(table: &AccessTable, graph: &Graph, mut budget: u32) -> Vec<Block> {
    let mut blocks = Vec::new();
    for window in windows(table.instrs.len()) {
        let mut start = Weighted::new(table, graph, window);
        unintrusive::reduce(&mut start);
        let mut search = PartitionSearch { best: start.cost(), found: start.clone(), budget: &mut budget };
        search.below(start, 0);
        blocks.extend(search.found.into_blocks());
    }
    let greedy = greedy::partition(table, graph, None);
    if cost_of(&greedy) <= cost_of(&blocks) { greedy } else { blocks }
}

struct PartitionSearch<'a, 'b> {
    /// The cost in bytes of the cheapest legal partition so far, and that partition.
    best: u64,
    found: Weighted<'a>,
    budget: &'b mut u32,
}

/// The most levels of recursion: each fuses a pair of a window's instructions.
const DEPTH: usize = super::weighted::WINDOW;

impl<'a> PartitionSearch<'a, '_> {
    /// Searches the partitions that can be reached from a graph by its edges.
    fn below(&mut self, mut graph: Weighted<'a>, depth: usize) {
        loop {
            let cost = graph.cost();
            if cost < self.best {
                (self.best, self.found) = (cost, graph.clone());
            }
            if *self.budget == 0 || depth > DEPTH {
                return;
            }
            *self.budget -= 1;
            let Some(edge) = graph.heaviest() else { return };
            if graph.bound() >= self.best {
                return;
            }
            let mut fused = graph.clone();
            fused.fuse(&edge);
            self.below(fused, depth + 1);
            graph.give_up(&edge);
        }
    }
}
