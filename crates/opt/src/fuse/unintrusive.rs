//! Unintrusive fusion: only pairs that an optimal partition need not keep apart (Theorem 3 of the
//! fusion paper, see docs/fusion.md).
//!
//! Two vertices fuse if one of them has no other weight edge (transitive edges are ignored), and if the set of vertices
//! that can never join them is the same before and after: neither vertex brings a restriction into the union that the
//! other did not have. By itself this saves less than the other algorithms; it makes the graph small for `optimal`.

use super::graph::Graph;
use super::legality::Block;
use super::weighted::{Edge, WINDOW, Weighted, windows};
use crate::access::AccessTable;

/// The blocks, in no particular order.
pub(super) fn partition(table: &AccessTable, graph: &Graph) -> Vec<Block> {
    let mut blocks = Vec::new();
    for window in windows(table.instrs.len()) {
        let mut weighted = Weighted::new(table, graph, window);
        reduce(&mut weighted);
        blocks.extend(weighted.into_blocks());
    }
    blocks
}

/// Fuses every unintrusively fusible pair.
pub(super) fn reduce(graph: &mut Weighted) {
    while let Some(edge) = candidate(graph) {
        graph.fuse(&edge);
    }
}

fn candidate(graph: &Weighted) -> Option<Edge> {
    let edges: Vec<&Edge> = graph.edges().iter().filter(|e| !graph.is_transitive(e)).collect();
    let mut degree = [0u32; WINDOW];
    edges.iter().for_each(|e| [e.u, e.v].into_iter().for_each(|end| degree[end] += 1));
    let mut pendant: Vec<&Edge> = edges.into_iter().filter(|e| degree[e.u] == 1 || degree[e.v] == 1).collect();
    pendant.sort_unstable_by_key(|e| (e.u, e.v));
    pendant.into_iter().find(|e| is_unintrusive(graph, e)).copied()
}

fn is_unintrusive(graph: &Weighted, edge: &Edge) -> bool {
    let pair = 1u128 << edge.u | 1 << edge.v;
    let before = graph.never_joins(edge.u) & !pair;
    if before != graph.never_joins(edge.v) & !pair {
        return false;
    }
    let mut fused = graph.clone();
    fused.fuse(edge);
    fused.never_joins(edge.u) & !pair == before
}
